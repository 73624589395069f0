//! The recipe of the fingerprints that a command puts together: one, or none that anybody knows of.
//!
//! Stores and files of Parquet say by which recipe their fingerprints were made; texts, raw
//! integers and pipes cannot.

use std::fmt::Display;

use fpstore_text::{Recipe, Rule};

use crate::failure::Failure;
use crate::output::say;

/// How the lines of the text crate begin.
const TEXT: &str = "text/";

/// Reads the recipe that an option gives: the name of a preset, a line of a recipe for texts, or
/// another line, which begins with a name and a version.
pub fn line(given: &str) -> Result<String, String> {
    let first = given.split(' ').next().unwrap_or_default();
    let is_own = first.contains('/') && !first.starts_with(TEXT);
    if is_own {
        return Ok(given.to_string());
    }
    match given.parse::<Recipe>() {
        Ok(recipe) => Ok(recipe.to_string()),
        Err(error) => Err(format!(
            "{error}; a line of your own begins with a name and a version, such as `pdq/1`"
        )),
    }
}

/// The bits of the fingerprints that a recipe for texts makes; `None` of other lines, of which
/// nobody here knows them.
pub fn bits(line: &str) -> Option<u32> {
    line.parse::<Recipe>().ok().map(|recipe| recipe.bits())
}

/// The distance of the near duplicates of a recipe for texts, where it is one of bits.
pub fn k(line: &str) -> Option<u32> {
    match line.parse::<Recipe>().ok()?.rule() {
        Rule::Within { k } => Some(k),
        _ => None,
    }
}

/// Fails if a line that --recipe gives makes fingerprints of other bits.
///
/// # Errors
/// As said.
pub fn check_bits(given: Option<&str>, bits: u32) -> Result<(), Failure> {
    let Some(line) = given else { return Ok(()) };
    match self::bits(line) {
        Some(of_recipe) if of_recipe != bits => Err(Failure::Usage(format!(
            "--recipe: `{line}` makes fingerprints of {of_recipe} bits, and these have {bits}"
        ))),
        _ => Ok(()),
    }
}

/// The recipe of all that a command reads.
#[derive(Clone, Debug, Default)]
pub struct Recipes {
    /// Who says which it is.
    known: Option<(String, String)>,
    /// Who was the first to say nothing.
    silent: Option<String>,
    /// Whether the user has said it of all that say nothing.
    is_given: bool,
}

impl Recipes {
    /// What the user says of all of it, if anything.
    pub fn given(line: Option<&str>) -> Self {
        let known = line.map(|line| ("--recipe".to_string(), line.to_string()));
        Self { is_given: known.is_some(), known, silent: None }
    }

    /// Takes what `who` says of its fingerprints.
    ///
    /// # Errors
    /// If somebody has said something else.
    pub fn take(&mut self, who: impl Display, line: Option<&str>) -> Result<(), Failure> {
        match (&self.known, line) {
            (Some((other, known)), Some(line)) if known != line => Err(Failure::Usage(format!(
                "{who}: its fingerprints were made by the recipe `{line}`, and by `{known}` says {other}; those of \
                 different recipes are never mixed: make one of them again by the recipe of the other"
            ))),
            (None, Some(line)) => {
                self.known = Some((who.to_string(), line.to_string()));
                Ok(())
            }
            (Some(_), Some(_)) => Ok(()),
            (_, None) => {
                self.silent.get_or_insert_with(|| who.to_string());
                Ok(())
            }
        }
    }

    /// Takes what others have said.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn join(&mut self, others: &Self) -> Result<(), Failure> {
        if let Some((who, line)) = &others.known {
            self.take(who, Some(line))?;
        }
        match &others.silent {
            Some(who) if !others.is_given => self.take(who, None),
            _ => Ok(()),
        }
    }

    /// The recipe, if one is known.
    pub fn line(&self) -> Option<&str> {
        self.known.as_ref().map(|(_, line)| line.as_str())
    }

    /// The distance of near duplicates by the recipe, if it is known to have one.
    pub fn k(&self) -> Option<u32> {
        self.line().and_then(k)
    }

    /// Tells on standard error that somebody says nothing, where somebody else does: so nobody
    /// knows whether they go together.
    pub fn tell(&self) {
        if let (Some((who, line)), Some(silent), false) = (&self.known, &self.silent, self.is_given)
        {
            say!(
                "fpstore: {silent}: does not say by which recipe its fingerprints were made; those of {who}: `{line}`"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_lines_become_canonical_and_other_lines_stay() {
        let canonical = line("simhash-64").unwrap();
        assert!(canonical.starts_with("text/1 simhash bits=64 "), "{canonical}");
        assert_eq!(line(&canonical).unwrap(), canonical);
        let other = line("simhash-64 n=5").unwrap();
        assert!(other.contains(" n=5 ") && other != canonical);
        assert_eq!(line("pdq/1 bits=256").unwrap(), "pdq/1 bits=256");
        for wrong in ["simhsh-64", "text/1 simhash", "text/2 simhash", "", "pdq bits=256"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_recipe_is_known_and_a_second_one_is_refused_with_both() {
        let mut recipes = Recipes::default();
        recipes.take("a.csv", None).unwrap();
        assert_eq!(recipes.line(), None);
        recipes.take("b.fps", Some("x/1")).unwrap();
        recipes.take("c.fps", Some("x/1")).unwrap();
        assert_eq!(recipes.line(), Some("x/1"));
        assert_eq!(recipes.silent.as_deref(), Some("a.csv"));
        let refused = recipes.take("d.fps", Some("x/2")).unwrap_err().to_string();
        for part in ["d.fps", "x/2", "x/1", "b.fps"] {
            assert!(refused.contains(part), "{refused}");
        }
        let given = Recipes::given(Some("x/2"));
        assert!(recipes.join(&given).is_err());
        let mut given = Recipes::given(Some("x/1"));
        given.join(&recipes).unwrap();
        assert_eq!(given.line(), Some("x/1"));
    }
}
