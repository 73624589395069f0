//! Recipes: all that decides which fingerprint a document gets, as one line of text.

mod line;
mod parts;
mod presets;

use std::fmt;

pub use parts::{
    Antecedents, Cut, Features, Keep, Method, Recipe, RecipeId, Rule, Scheme, TableId, TextHash,
    Tokens, Weight,
};

use crate::error::Error;

impl Recipe {
    /// The recipe of a canonical line, as [`Display`](fmt::Display) prints it.
    ///
    /// # Errors
    ///
    /// What is wrong with the line; [`Error::NotCanonical`] if it means a recipe and is not its
    /// canonical line.
    pub fn from_line(line: &str) -> Result<Recipe, Error> {
        let recipe: Recipe = line::parse(line)?;
        let canonical = recipe.to_string();
        if canonical == line { Ok(recipe) } else { Err(Error::NotCanonical { canonical }) }
    }

    /// Names and canonical lines of the presets. Lines of recipes that need a table lack its id
    /// (`table=?`).
    #[must_use]
    pub fn presets() -> &'static [(&'static str, &'static str)] {
        presets::PRESETS
    }

    /// The name by which stores and outputs know it.
    #[must_use]
    pub fn id(&self) -> RecipeId {
        RecipeId::of_line(&self.to_string())
    }

    /// Whether this crate was built with what the recipe needs.
    pub(crate) fn check_built(&self) -> Result<(), Error> {
        let takes_words = !matches!(self.method, Method::Exact { .. } | Method::PythonSimhash);
        let needs_jieba = takes_words && self.features.tokens == Tokens::Words(Cut::Jieba);
        if needs_jieba && !cfg!(feature = "jieba") {
            Err(Error::NotBuilt { feature: "jieba" })
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&line::print(self))
    }
}

impl std::str::FromStr for Recipe {
    type Err = Error;

    /// Reads a line with its words in any order, or the name of a preset and words in place of
    /// those of its line.
    fn from_str(line: &str) -> Result<Recipe, Error> {
        line::parse(&presets::expand(line)?)
    }
}
