//! The ids that the records of inputs have.

use clap::ValueEnum;
use fpstore_records::{Id, IdKind, IdWish, Record};

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

    /// The column of the ids, in tables and JSON: numbers from 0 to 2^64 - 1 [default: `id`]
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
    /// What readers shall give.
    pub fn wish(&self) -> Option<IdWish> {
        match self {
            RecordIds::None | RecordIds::Line => None,
            RecordIds::Column(column) => Some(IdWish::new(column, IdKind::Number)),
        }
    }

    /// Whether records have ids.
    pub fn is_some(&self) -> bool {
        *self != RecordIds::None
    }

    /// The id of a record; the first one has the number `first`.
    pub fn of<F>(&self, record: &Record<'_, F>, first: u64) -> Result<Option<u64>, Failure> {
        match (self, record.id) {
            (RecordIds::None, _) => Ok(None),
            (RecordIds::Column(_), Some(Id::Number(id))) => Ok(Some(id)),
            (RecordIds::Line, _) => first.checked_add(record.number).map(Some).ok_or_else(|| {
                Failure::Usage("--first-id: ids end at 2^64 - 1; give a smaller one".to_string())
            }),
            // Readers give the ids that they are asked for, or fail.
            _ => Err(Failure::System(NO_ID.to_string())),
        }
    }
}
