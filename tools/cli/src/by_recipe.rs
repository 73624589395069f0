//! What commands that look at texts have in common: the recipe, and the table of document
//! frequencies that some need.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore_text::{Error, Fingerprinter, Recipe, Rule, Table};

use crate::failure::Failure;

/// The most bytes of a table.
const MAX_TABLE_BYTES: u64 = 1 << 32;

/// How texts become fingerprints.
#[derive(clap::Args, Clone, Debug)]
pub struct RecipeArgs {
    /// The recipe: the name of a preset, words that replace those of its line behind it
    /// (`simhash-64 n=5`), or a whole line; `fpstore fingerprint --list` shows them
    #[arg(long, value_name = "RECIPE")]
    pub recipe: Option<String>,

    /// The table of document frequencies, for recipes that weigh by them; `table=?` stands for it
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    pub table: Option<PathBuf>,
}

impl RecipeArgs {
    /// A fingerprinter for the recipe, or for the preset `otherwise` where none is given.
    pub fn fingerprinter(&self, otherwise: &str) -> Result<Fingerprinter, Failure> {
        let given = self.recipe.as_deref().unwrap_or(otherwise);
        let Some(path) = &self.table else {
            return Fingerprinter::new(&parse(given)?).map_err(|error| refused(given, &error));
        };
        let table = Arc::new(read_table(path)?);
        let recipe = parse_with(given, &table)?;
        Fingerprinter::with_table(&recipe, table).map_err(|error| refused(given, &error))
    }
}

/// Reads a recipe.
pub fn parse(given: &str) -> Result<Recipe, Failure> {
    given.parse().map_err(|error| refused(given, &error))
}

/// Reads a recipe whose table may be left open, and is this one then.
pub fn parse_with(given: &str, table: &Table) -> Result<Recipe, Failure> {
    let named = format!("{given} table={}", table.id());
    // A line that names its table has no place for a second one.
    named
        .parse()
        .or_else(|_| given.replace("table=?", &format!("table={}", table.id())).parse())
        .map_err(|error| refused(given, &error))
}

/// Reads a recipe whose table may be left open: then it names one that there is not, for who looks
/// at the rest of it, or makes the table.
pub fn with_any_table(given: &str) -> Result<Recipe, Failure> {
    let none = "0".repeat(32);
    let named = || format!("{given} table={none}").parse();
    let filled = || given.replace("table=?", &format!("table={none}")).parse();
    given.parse().or_else(|error| named().or_else(|_| filled()).map_err(|_| refused(given, &error)))
}

fn refused(given: &str, error: &Error) -> Failure {
    let remedy = match error {
        Error::TableNeeded { .. } => "; give the file of that table (--table)",
        Error::Value { key, .. } if key == "table" => {
            "; give the file of a table (--table), which `fpstore fingerprint --make-table` writes"
        }
        Error::NotBuilt { .. } => "; build it with --features jieba",
        _ => "",
    };
    Failure::Usage(format!("recipe `{given}`: {error}{remedy}"))
}

/// Reads a table of document frequencies.
fn read_table(path: &Path) -> Result<Table, Failure> {
    let failure = |source| Failure::File { path: path.to_path_buf(), action: "read", source };
    let length = fs::metadata(path).map_err(failure)?.len();
    if length > MAX_TABLE_BYTES {
        let message = format!("{}: has {length} bytes, and is no table", path.display());
        return Err(Failure::Usage(message));
    }
    let bytes = fs::read(path).map_err(failure)?;
    Table::from_bytes(&bytes).map_err(|error| {
        Failure::Usage(format!("{}: {error}; give the file of a table", path.display()))
    })
}

/// When documents agree, in words.
pub fn rule(rule: &Rule) -> String {
    match rule {
        Rule::Within { k: 0 } => "equal".to_string(),
        Rule::Within { k } => format!("within {k} bits"),
        Rule::Equal { least, of } => format!("{least} of {of} values equal"),
        Rule::Common { least } => format!("{least} values in common"),
        Rule::Jaccard { threshold } => format!("Jaccard similarity of {threshold}"),
        _ => "as its method says".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use fpstore_text::TableBuilder;

    use super::*;

    #[test]
    fn a_table_may_be_named_or_left_open() {
        let mut builder = TableBuilder::new(&"simhash-64 n=1".parse().unwrap()).unwrap();
        builder.add(b"one two three");
        let table = builder.finish(1);
        let open = parse_with("imatch", &table).unwrap();
        assert_eq!(open.table(), Some(table.id()));
        assert_eq!(parse_with(&open.to_string(), &table).unwrap(), open);
        let line = open.to_string().replace(&table.id().to_string(), "?");
        assert_eq!(parse_with(&line, &table).unwrap(), open);
        assert!(parse_with("simhash-64", &table).is_ok_and(|recipe| recipe.table().is_none()));
        assert_eq!(with_any_table("imatch").unwrap().table().map(|table| table.0), Some([0; 16]));
        assert!(with_any_table("simhash-64").unwrap().table().is_none());
        let needs = parse("imatch").unwrap_err().to_string();
        assert!(needs.contains("--table"), "{needs}");
    }
}
