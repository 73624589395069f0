//! What follows from a recipe.

use fpstore_text::{Method, Recipe, Rule};

use crate::error::Error;

/// When documents are near by a recipe, and the bits of its fingerprints, for methods that have
/// one; `k` is in place of the distance that it proposes.
pub fn rule(recipe: &Recipe, k: Option<u32>) -> Result<(Rule, Option<u32>), Error> {
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
            return Err(Error::Distance { k, what: format!("{what}, {bits}; give less") });
        }
        (_, Some(k), _) => {
            let method = recipe.method().name();
            return Err(Error::Distance {
                k,
                what: format!(
                    "documents are not compared by a distance with the method {method}; leave it out"
                ),
            });
        }
        (rule, None, _) => rule,
    };
    Ok((rule, bits))
}
