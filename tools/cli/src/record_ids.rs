//! The ids that the records of inputs have.

use std::path::Path;

use clap::ValueEnum;
use fpstore::{Id, IdKind, IdRef};
use fpstore_records::{IdWish, Record, excerpt, key, number_id, uuid};

use crate::failure::Failure;

/// The column that `--ids column` means where none is named.
const COLUMN: &str = "id";

/// What is said where a reader did not do what it should.
pub const NO_ID: &str = "an input gave a record without its id; report this as a bug";

/// The ids that records get.
#[derive(clap::Args)]
pub struct RecordIdArgs {
    /// What records have as ids: line numbers them over all inputs, from 0 on, or in a store that
    /// is there from behind its greatest id on; column takes the value of a column [default: none;
    /// column with --id-column]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "none|line|column")]
    #[arg(help_heading = "Ids")]
    ids: Option<IdsArg>,

    /// The column of the ids, in tables and JSON: numbers, or names such as URLs [default: `id`]
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = "Ids")]
    id_column: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IdsArg {
    None,
    Line,
    Column,
}

/// The ids of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordIds {
    /// None.
    None,
    /// The numbers of the records.
    Line,
    /// Those of a column.
    Column(String),
}

impl RecordIdArgs {
    /// Whether there are to be none, whatever inputs have.
    pub fn are_unwanted(&self) -> bool {
        self.ids == Some(IdsArg::None)
    }

    /// What they say together.
    pub fn ids(&self) -> Result<RecordIds, Failure> {
        let fail = |message: &str| Err(Failure::Usage(message.to_string()));
        match (self.ids, &self.id_column) {
            (Some(IdsArg::None), Some(_)) => {
                fail("--id-column names ids, and --ids none wants none; leave one of them out")
            }
            (Some(IdsArg::Line), Some(_)) => {
                fail("--id-column and --ids line are two kinds of ids; leave one of them out")
            }
            (Some(IdsArg::None) | None, None) => Ok(RecordIds::None),
            (Some(IdsArg::Line), None) => Ok(RecordIds::Line),
            (Some(IdsArg::Column), None) => Ok(RecordIds::Column(COLUMN.to_string())),
            (Some(IdsArg::Column) | None, Some(column)) => Ok(RecordIds::Column(column.clone())),
        }
    }
}

impl RecordIds {
    /// What readers shall give to a store whose ids are of this `kind`.
    pub fn wish(&self, kind: Option<IdKind>) -> Option<IdWish> {
        match (self, kind) {
            (RecordIds::Column(column), Some(kind)) => Some(IdWish::of_store(column, kind)),
            _ => None,
        }
    }

    /// Whether records have ids.
    pub fn is_some(&self) -> bool {
        *self != RecordIds::None
    }

    /// Refuses line numbers where ids are names.
    pub fn check_kind(&self, store: &Path, kind: Option<IdKind>) -> Result<(), Failure> {
        match kind {
            Some(kind) if kind.is_named() && *self == RecordIds::Line => {
                Err(Failure::Usage(format!(
                    "{}: its ids are {kind}, and --ids line gives numbers; name a column (--id-column)",
                    store.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// The id of a record; the first one has the number `first`.
    pub fn of<'a, F>(
        &self,
        record: &Record<'a, F>,
        first: u64,
    ) -> Result<Option<IdRef<'a>>, Failure> {
        match (self, record.id) {
            (RecordIds::None, _) => Ok(None),
            (RecordIds::Column(_), Some(id)) => Ok(Some(id)),
            (RecordIds::Line, _) => first
                .checked_add(record.number)
                .map(|id| Some(IdRef::Number(id)))
                .ok_or_else(|| {
                    let message = "--first-id: ids end at 2^64 - 1; give a smaller one";
                    Failure::Usage(message.to_string())
                }),
            // Readers give the ids that they are asked for, or fail.
            _ => Err(Failure::System(NO_ID.to_string())),
        }
    }
}

/// What ids are, as an option says it.
pub fn id_kind(text: &str) -> Result<IdKind, String> {
    Ok(match text {
        "number" => IdKind::Number,
        "number128" => IdKind::Number128,
        "text" => IdKind::Text,
        "uuid" => IdKind::Uuid,
        _ => {
            let bytes = text.strip_prefix("key:").and_then(|bytes| bytes.parse().ok());
            let bytes = bytes.filter(|&bytes: &u16| bytes > 0);
            IdKind::Bytes(bytes.ok_or(
                "expected number, number128, text, uuid, or key: and a number of bytes from 1 to \
                 65535, such as key:20",
            )?)
        }
    })
}

/// The id of a store whose ids are of this kind that a text on the command line is.
pub fn parse_id(kind: IdKind, text: &str, option: &str) -> Result<Id, Failure> {
    let id = match kind {
        IdKind::Number => number_id(text).map(Id::Number),
        IdKind::Text => Some(Id::Text(text.to_string())),
        IdKind::Uuid => uuid(text).map(Id::Uuid),
        IdKind::Number128 => number_id(text).map(Id::Number128),
        _ => key(text).map(Id::Bytes),
    };
    id.ok_or_else(|| {
        Failure::Usage(format!(
            "{option}: \"{}\" is no id of the store, whose ids are {kind}; give one of them as \
             `query` prints it",
            excerpt(text.as_bytes())
        ))
    })
}
