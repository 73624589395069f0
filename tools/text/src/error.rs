//! What can be wrong with a recipe, a table or a fingerprint that someone wrote down.

use thiserror::Error;

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that is no fingerprint.
    #[error("`{found}` is no fingerprint: 16, 32 or 64 hexadecimal digits")]
    Fingerprint {
        /// What was found, its first characters.
        found: String,
    },
    /// A line that begins with neither a preset nor `text/1`.
    #[error(
        "`{found}` is no recipe: it begins with the name of a preset ({presets}) or with `text/1`"
    )]
    NoRecipe {
        /// The first word.
        found: String,
        /// The presets there are.
        presets: String,
    },
    /// A method that there is not.
    #[error("unknown method `{found}`; there are {known}")]
    UnknownMethod {
        /// The word.
        found: String,
        /// The methods there are.
        known: String,
    },
    /// A word that recipes of this method do not have.
    #[error("`{word}` has no place in this recipe of method {method}; its words are {known}")]
    UnknownWord {
        /// The word.
        word: String,
        /// The method of the recipe.
        method: &'static str,
        /// The words that it takes.
        known: String,
    },
    /// A word that must be there and is not.
    #[error("a recipe of method {method} needs the word `{key}=`")]
    MissingWord {
        /// The word.
        key: &'static str,
        /// The method of the recipe.
        method: &'static str,
    },
    /// A word that is there twice.
    #[error("`{key}=` is there twice")]
    Twice {
        /// The word.
        key: String,
    },
    /// A value that the word cannot have.
    #[error("`{key}={found}` is not possible: {expected}")]
    Value {
        /// The word.
        key: String,
        /// Its value.
        found: String,
        /// What can stand there.
        expected: String,
    },
    /// Words that are right and do not go together.
    #[error("{problem}")]
    Contradiction {
        /// Which, and why.
        problem: &'static str,
    },
    /// A line that means a recipe but is not its canonical one.
    #[error("the line is not canonical; it has to be `{canonical}`")]
    NotCanonical {
        /// The canonical line.
        canonical: String,
    },
    /// A recipe that needs a feature that this program was built without.
    #[error("the recipe needs `{feature}`, and this program was built without it")]
    NotBuilt {
        /// The feature of the crate.
        feature: &'static str,
    },
    /// A recipe that names a table, and there was none.
    #[error("the recipe needs the table {needed}; none was given")]
    TableNeeded {
        /// The id of the table.
        needed: String,
    },
    /// A recipe that names a table, and there was another one, or one that is not needed.
    #[error("the table {found} was given, and the recipe names {needed}")]
    TableMismatch {
        /// The id of the table that was given.
        found: String,
        /// The id of the table that the recipe names, or `none`.
        needed: String,
    },
    /// Bytes that are not a table.
    #[error("no table of document frequencies: {problem}")]
    Table {
        /// What is wrong.
        problem: &'static str,
    },
}
