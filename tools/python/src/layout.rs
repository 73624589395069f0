//! How a store is laid out, as packs and created stores say it.

use fpstore::Layout;
use fpstore_text::{Recipe, Rule};
use pyo3::PyResult;

use super::errors;

/// What is said of it.
pub struct Wish<'a> {
    pub k: Option<u32>,
    pub prefer: &'a str,
    pub design: Option<&'a str>,
    pub block_bytes: Option<u32>,
}

/// The distance of a store: as given, else that of the recipe, if it is known to have one, else 3.
pub fn distance(given: Option<u32>, recipe: Option<&str>) -> u32 {
    let of_recipe = || match recipe?.parse::<Recipe>().ok()?.rule() {
        Rule::Within { k } => Some(k),
        _ => None,
    };
    given.or_else(of_recipe).unwrap_or(3)
}

impl Wish<'_> {
    /// The layout of fingerprints of so many bits, made by this recipe.
    pub fn layout(&self, bits: u32, recipe: Option<&str>) -> PyResult<Layout> {
        let prefer = self.prefer.parse().map_err(errors::of)?;
        let layout = Layout::new().k(distance(self.k, recipe)).prefer(prefer);
        let layout = self.block_bytes.into_iter().fold(layout, Layout::block_bytes);
        match self.design {
            Some(design) => layout.index(bits, design).map_err(errors::of),
            None => Ok(layout),
        }
    }
}
