//! The recipe of a command, and what follows from it.

use fpstore_text::{Fingerprinter, Method, Recipe, Rule};

use crate::by_recipe::RecipeArgs;
use crate::failure::Failure;

/// A recipe, and what follows from it.
pub struct Made {
    pub recipe: Recipe,
    pub fingerprinter: Fingerprinter,
    /// When documents are near, at the distance that was asked for.
    pub rule: Rule,
    /// Bits of a fingerprint, for methods that have one.
    pub bits: Option<u32>,
}

/// Makes the recipe that is given; `k` is in place of the distance that it proposes.
pub fn make(args: &RecipeArgs, k: Option<u32>) -> Result<Made, Failure> {
    if args.recipe.is_none() {
        let what = "which recipe? give --recipe, such as simhash-64, or onebit-256";
        return Err(Failure::Usage(format!("corpus dedup: {what}")));
    }
    let fingerprinter = args.fingerprinter("simhash-64")?;
    let recipe = fingerprinter.recipe().clone();
    let bits = match recipe.method() {
        Method::Simhash { width, .. }
        | Method::Projection { width, .. }
        | Method::OneBit { width, .. }
        | Method::Exact { width, .. } => Some(width.bits()),
        Method::PythonSimhash => Some(64),
        _ => None,
    };
    let rule = match (recipe.rule(), k, bits) {
        (Rule::Within { .. }, Some(k), Some(bits)) if k <= bits => Rule::Within { k },
        (Rule::Within { .. }, Some(k), Some(bits)) => {
            let what = "is more than the bits of a fingerprint of this recipe";
            return Err(Failure::Usage(format!("-k {k}: {what}, {bits}; give less")));
        }
        (_, Some(k), _) => {
            let method = recipe.method().name();
            return Err(Failure::Usage(format!(
                "-k {k}: documents are not compared by a distance with the method {method}; leave -k out"
            )));
        }
        (rule, None, _) => rule,
    };
    Ok(Made { recipe, fingerprinter, rule, bits })
}
