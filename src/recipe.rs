//! The line of text that says how fingerprints were made, and that those of different recipes are
//! not mixed.
//!
//! What stands in the line is the affair of whoever makes fingerprints; here it is compared byte
//! for byte, and no more. Where one of two sets has a recipe and the other has none, nobody knows
//! whether they go together: that is allowed.

use std::path::Path;

use crate::error::{Error, Result};

/// The most bytes of a recipe.
pub(crate) const MAX_RECIPE_BYTES: usize = 4096;

/// Whether a line can be a recipe; a section with any other says nothing.
pub(crate) fn is_recipe(line: &str) -> bool {
    (1..=MAX_RECIPE_BYTES).contains(&line.len()) && !line.chars().any(char::is_control)
}

/// Refuses a line that cannot be a recipe.
///
/// # Errors
///
/// [`Error::InvalidOption`].
pub(crate) fn check(line: Option<&str>) -> Result<()> {
    let Some(line) = line.filter(|line| !is_recipe(line)) else { return Ok(()) };
    let expected =
        format!("it is a line of 1 to {MAX_RECIPE_BYTES} bytes without control characters");
    Err(Error::invalid_option("recipe", format!("{line:?}"), expected))
}

/// Refuses fingerprints of two recipes where they would be mixed, the first those of a store, at
/// `path` if that is known.
///
/// # Errors
///
/// [`Error::Recipes`].
pub(crate) fn check_same(
    stored: Option<&str>,
    other: Option<&str>,
    path: Option<&Path>,
) -> Result<()> {
    match (stored, other) {
        (Some(stored), Some(other)) if stored != other => Err(Error::Recipes {
            path: path.map(Path::to_path_buf),
            stored: stored.to_string(),
            other: other.to_string(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_a_line_of_bounded_length() {
        for line in ["x", "größe=1", &"x".repeat(4096), " "] {
            assert!(is_recipe(line), "{line:?}");
            check(Some(line)).unwrap();
        }
        let long = "x".repeat(4097);
        for line in ["", "two\nlines", "a\ttab", "delete\u{7f}", "next\u{85}line", &long] {
            assert!(!is_recipe(line), "{line:?}");
            let error = check(Some(line)).unwrap_err();
            assert!(matches!(error, Error::InvalidOption { option: "recipe", .. }), "{error}");
        }
        check(None).unwrap();
    }

    #[test]
    fn only_two_recipes_that_differ_are_refused_and_both_are_shown() {
        check_same(None, None, None).unwrap();
        check_same(Some("a"), None, None).unwrap();
        check_same(None, Some("a"), None).unwrap();
        check_same(Some("a"), Some("a"), None).unwrap();
        let error = check_same(Some("a b=1"), Some("a b=2"), Some(Path::new("x"))).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("x: ") && message.contains("a b=1"), "{message}");
        assert!(message.contains("a b=2"), "{message}");
    }
}
