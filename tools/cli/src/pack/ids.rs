//! The ids of a pack: which there are, and how they come to the store.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use fpstore::IdMapWriter;

use crate::failure::Failure;
use crate::input::{Id, IdKind, IdWish, Records};
use crate::interrupt::Interruptible;

/// The column that `--ids column` means where none is named.
const COLUMN: &str = "id";

const NO_ID: &str = "an input gave a record without its id; report this as a bug";

/// The ids that records get.
#[derive(clap::Args)]
#[command(next_help_heading = "Ids")]
pub(super) struct IdArgs {
    /// What records have as ids: line is their number, from 0 on over all inputs, column the value
    /// of a column [default: none; column with --id-column]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "none|line|column")]
    ids: Option<IdsArg>,

    /// The column of the ids, in tables and JSON: numbers from 0 to 2^64 - 1 [default: `id`]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,

    /// The ids of the column are strings: keep them in this file, of which `query` takes them
    #[arg(long, value_name = "FILE")]
    id_map: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum IdsArg {
    None,
    Line,
    Column,
}

/// The ids of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IdMode {
    /// None.
    None,
    /// The numbers of the records.
    Line,
    /// Those of a column.
    Column(String),
    /// The numbers of the records, of whose strings a column there is a map.
    Map(String, PathBuf),
}

impl IdArgs {
    /// What they say together.
    pub(super) fn mode(&self) -> Result<IdMode, Failure> {
        let fail = |message: &str| Err(Failure::Usage(message.to_string()));
        let column = || self.id_column.clone().unwrap_or_else(|| COLUMN.to_string());
        match (self.ids, &self.id_column, &self.id_map) {
            (Some(IdsArg::None), Some(_), _) => {
                fail("--id-column names ids, and --ids none wants none; leave one of them out")
            }
            (Some(IdsArg::Line), Some(_), _) => {
                fail("--id-column and --ids line are two kinds of ids; leave one of them out")
            }
            (Some(IdsArg::None | IdsArg::Line), None, Some(_)) | (None, None, Some(_)) => {
                fail("--id-map keeps the strings of a column; name it with --id-column")
            }
            (Some(IdsArg::None) | None, None, None) => Ok(IdMode::None),
            (Some(IdsArg::Line), None, None) => Ok(IdMode::Line),
            (Some(IdsArg::Column) | None, _, None) => Ok(IdMode::Column(column())),
            (Some(IdsArg::Column) | None, _, Some(path)) => Ok(IdMode::Map(column(), path.clone())),
        }
    }
}

impl IdMode {
    /// What readers shall give.
    pub(super) fn wish(&self) -> Option<IdWish> {
        match self {
            IdMode::None | IdMode::Line => None,
            IdMode::Column(column) => Some(IdWish::new(column, IdKind::Number)),
            IdMode::Map(column, _) => Some(IdWish::new(column, IdKind::Text)),
        }
    }

    /// Whether records have ids.
    pub(super) fn is_some(&self) -> bool {
        *self != IdMode::None
    }
}

/// Hands records over to a session.
pub(super) struct Handing {
    mode: IdMode,
    map: Option<IdMapWriter>,
    pairs: Vec<(u64, u64)>,
}

impl Handing {
    /// Gets ready, for the store at `store`.
    pub(super) fn new(mode: IdMode, store: &Path, force: bool) -> Result<Self, Failure> {
        let map = match &mode {
            IdMode::Map(_, path) => Some(IdMapWriter::create(path, store, force)?),
            _ => None,
        };
        Ok(Self { mode, map, pairs: Vec::new() })
    }

    /// A file to remove if the process ends before the session does.
    pub(super) fn temporary(&self) -> Option<PathBuf> {
        self.map.as_ref().map(|map| map.temporary().to_path_buf())
    }

    /// Gives what was read to the session.
    pub(super) fn hand_over(
        &mut self,
        records: &Records,
        work: &Interruptible,
    ) -> Result<(), Failure> {
        if !self.mode.is_some() {
            return taken(work.with(|session| session.extend(&records.fingerprints)));
        }
        self.pairs.clear();
        for record in records.iter() {
            let id = match (&self.mode, record.id, &mut self.map) {
                (IdMode::Column(_), Some(Id::Number(id)), _) => id,
                (IdMode::Map(..), Some(Id::Text(text)), Some(map)) => {
                    while map.len() < record.number {
                        map.push("")?;
                    }
                    map.push(text)?
                }
                (IdMode::Line, ..) => record.number,
                // Readers give the ids that they are asked for, or fail.
                _ => return Err(Failure::System(NO_ID.to_string())),
            };
            self.pairs.push((record.fingerprint, id));
        }
        taken(work.with(|session| session.extend_with_ids(&self.pairs)))
    }

    /// The map, if there is one.
    pub(super) fn finish(self) -> Option<IdMapWriter> {
        self.map
    }
}

/// What the session says, if a signal did not take it.
fn taken(result: Option<fpstore::Result<()>>) -> Result<(), Failure> {
    Ok(result.unwrap_or(Err(fpstore::Error::Cancelled))?)
}
