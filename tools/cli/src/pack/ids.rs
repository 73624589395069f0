//! The ids of a pack: which there are, and how they come to the store.

use std::path::{Path, PathBuf};

use fpstore::{Fingerprint, IdMapWriter, PackSession};
use fpstore_records::{Id, IdKind, IdWish, Records};

use crate::failure::Failure;
use crate::interrupt::Interruptible;
use crate::record_ids::{NO_ID, RecordIdArgs, RecordIds};

/// The ids that records get.
#[derive(clap::Args)]
#[command(next_help_heading = "Ids")]
pub(super) struct IdArgs {
    #[command(flatten)]
    record: RecordIdArgs,

    /// The ids of the column are strings: keep them in this file, of which `query` takes them
    #[arg(long, value_name = "FILE")]
    id_map: Option<PathBuf>,
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
    /// Those that stores have.
    Stored,
    /// The numbers of the records, of whose strings a column there is a map.
    Map(String, PathBuf),
}

impl IdArgs {
    /// Whether there are to be none, whatever inputs have.
    pub(super) fn are_unwanted(&self) -> bool {
        self.record.are_unwanted()
    }

    /// The file of strings, if there is to be one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.id_map.as_deref()
    }

    /// What they say together.
    pub(super) fn mode(&self) -> Result<IdMode, Failure> {
        match (self.record.ids()?, &self.id_map) {
            (RecordIds::Column(column), Some(path)) => Ok(IdMode::Map(column, path.clone())),
            (_, Some(_)) => {
                let message = "--id-map keeps the strings of a column; name it with --id-column";
                Err(Failure::Usage(message.to_string()))
            }
            (RecordIds::None, None) => Ok(IdMode::None),
            (RecordIds::Line, None) => Ok(IdMode::Line),
            (RecordIds::Column(column), None) => Ok(IdMode::Column(column)),
        }
    }
}

impl IdMode {
    /// What readers shall give.
    pub(super) fn wish(&self) -> Option<IdWish> {
        match self {
            IdMode::None | IdMode::Line | IdMode::Stored => None,
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
pub(super) struct Handing<F> {
    mode: IdMode,
    /// The number of the first record.
    first_id: u64,
    map: Option<IdMapWriter>,
    pairs: Vec<(F, u64)>,
}

impl<F: Fingerprint> Handing<F> {
    /// Gets ready, for the store at `store`.
    pub(super) fn new(
        (mode, first_id): (IdMode, u64),
        store: &Path,
        force: bool,
    ) -> Result<Self, Failure> {
        let map = match &mode {
            IdMode::Map(_, path) => Some(IdMapWriter::create(path, store, force)?),
            _ => None,
        };
        Ok(Self { mode, first_id, map, pairs: Vec::new() })
    }

    /// A file to remove if the process ends before the session does.
    pub(super) fn temporary(&self) -> Option<PathBuf> {
        self.map.as_ref().map(|map| map.temporary().to_path_buf())
    }

    /// Gives what was read to the session.
    pub(super) fn hand_over(
        &mut self,
        records: &Records<F>,
        work: &Interruptible<PackSession<F>>,
    ) -> Result<(), Failure> {
        if !self.mode.is_some() {
            return taken(work.with(|session| session.extend(&records.fingerprints)));
        }
        self.pairs.clear();
        for record in records.iter() {
            let id = match (&self.mode, record.id, &mut self.map) {
                (IdMode::Column(_) | IdMode::Stored, Some(Id::Number(id)), _) => id,
                (IdMode::Map(..), Some(Id::Text(text)), Some(map)) => {
                    while map.len() < record.number {
                        map.push("")?;
                    }
                    map.push(text)?
                }
                (IdMode::Line, ..) => self.first_id.checked_add(record.number).ok_or_else(|| {
                    let message = "no ids are left behind the greatest of the store; give them in a column";
                    Failure::Usage(message.to_string())
                })?,
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
