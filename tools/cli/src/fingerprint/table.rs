//! Tables of document frequencies, made of documents.

use std::convert::Infallible;
use std::io::Write;

use fpstore_records::InputError;
use fpstore_text::{Table, TableBuilder};

use super::Args;
use super::pieces;
use crate::by_recipe;
use crate::documents::Inputs;
use crate::failure::Failure;
use crate::output::not_written;
use crate::progress::Progress;
use crate::target::Target;
use crate::units::plural;

/// Counts the features of all documents, and writes the table; gives what is to be told.
pub(super) fn make(
    args: &Args,
    given: &str,
    inputs: &Inputs,
    progress: &Progress,
    target: &Target,
) -> Result<String, Failure> {
    let refused = |error| Failure::Usage(format!("recipe `{given}`: {error}"));
    let recipe = by_recipe::with_any_table(given)?;
    let empty = TableBuilder::new(&recipe).map_err(refused)?;
    let skips = args.documents.skips();
    let builders = super::pieces_of(args, inputs, progress).each(
        || empty.clone(),
        |builder, piece| {
            let mut errors: Vec<InputError> = Vec::new();
            let Ok(()) = piece.documents(|document| -> Result<(), Infallible> {
                match document {
                    Ok(document) => builder.add(&document.text),
                    Err(error) => errors.push(error),
                }
                Ok(())
            });
            errors
        },
        |errors| pieces::tell(errors, skips, progress),
    )?;
    let mut all = empty;
    for builder in builders {
        all.merge(builder).map_err(refused)?;
    }
    let table = all.finish(args.least);
    let written = target.file(0)?.write_all(&table.to_bytes());
    written.map_err(|error| not_written(target.path(), error))?;
    Ok(told(&table, target))
}

fn told(table: &Table, target: &Target) -> String {
    let documents = plural(table.documents(), "document");
    let features = plural(table.features() as u64, "feature");
    format!("{}: table={}, {features} of {documents}", target.path().display(), table.id())
}
