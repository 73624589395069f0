//! The ids of a pack: which there are, and how they come to the store.

use std::path::Path;

use fpstore::{Fingerprint, IdKind, IdRef, PackSession};
use fpstore_records::{IdWish, Records};

use crate::failure::Failure;
use crate::interrupt::Interruptible;
use crate::record_ids::{NO_ID, RecordIdArgs, RecordIds, id_kind};

/// The ids that records get.
#[derive(clap::Args)]
#[command(next_help_heading = "Ids")]
pub(super) struct IdArgs {
    #[command(flatten)]
    record: RecordIdArgs,

    /// What the ids of the column are; key:20 are keys of 20 bytes [default: UUIDs, integers of 128
    /// bits or bytes where the column has such a type; numbers if the first id is one from 0 to
    /// 2^64 - 1 without zeros in front; else text]
    #[arg(long, value_parser = id_kind, value_name = "number|number128|text|uuid|key:BYTES")]
    #[arg(hide_short_help = true, conflicts_with = "append")]
    id_type: Option<IdKind>,
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
}

impl IdArgs {
    /// Whether there are to be none, whatever inputs have.
    pub(super) fn are_unwanted(&self) -> bool {
        self.record.are_unwanted()
    }

    /// What the user says that ids are.
    pub(super) fn kind(&self) -> Option<IdKind> {
        self.id_type
    }

    /// What they say together.
    pub(super) fn mode(&self) -> Result<IdMode, Failure> {
        let mode = match self.record.ids()? {
            RecordIds::None => IdMode::None,
            RecordIds::Line => IdMode::Line,
            RecordIds::Column(column) => IdMode::Column(column),
        };
        match (&mode, self.id_type) {
            (IdMode::Column(_), _) | (_, None) => Ok(mode),
            _ => Err(Failure::Usage(
                "--id-type says what the ids of a column are; name it with --id-column".to_string(),
            )),
        }
    }
}

/// The ids of a pack, and of which kind they are as far as that is known before the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) mode: IdMode,
    pub(super) kind: Option<IdKind>,
    /// Whether a store says it, of which the path is this.
    pub(super) store: Option<std::path::PathBuf>,
}

impl Resolved {
    /// What readers shall give.
    pub(super) fn wish(&self) -> Option<IdWish> {
        let IdMode::Column(column) = &self.mode else { return None };
        Some(match (self.kind, &self.store) {
            (Some(kind), Some(_)) => IdWish::of_store(column, kind),
            (kind, _) => IdWish::new(column, kind),
        })
    }
}

impl IdMode {
    /// Whether records have ids.
    pub(super) fn is_some(&self) -> bool {
        *self != IdMode::None
    }
}

/// Refuses a store whose ids are of another kind than those of the one before.
pub(super) fn check_kinds(
    (one, kind): (&Path, Option<IdKind>),
    (other, found): (&Path, Option<IdKind>),
) -> Result<(), Failure> {
    match (kind, found) {
        (Some(kind), Some(found)) if kind != found => Err(Failure::Usage(format!(
            "{}: its ids are {found}, and those of {} are {kind}; one store has ids of one kind: pack \
             them apart, or give --ids none",
            other.display(),
            one.display()
        ))),
        _ => Ok(()),
    }
}

/// Hands records over to a session.
pub(super) struct Handing<F> {
    mode: IdMode,
    /// The number of the first record.
    first_id: u64,
    pairs: Vec<(F, u64)>,
    /// Whether the session knows that there are ids.
    is_told: bool,
}

impl<F: Fingerprint> Handing<F> {
    /// Gets ready.
    pub(super) fn new(mode: IdMode, first_id: u64) -> Self {
        Self { mode, first_id, pairs: Vec::new(), is_told: false }
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
        if records.fingerprints.is_empty() {
            // The first id says of which kind all are.
            return Ok(());
        }
        self.is_told = true;
        // Readers give the ids that they are asked for, or fail.
        let no_id = || Failure::System(NO_ID.to_string());
        if !matches!(self.mode, IdMode::Line)
            && !matches!(records.ids.get(0), Some(IdRef::Number(_)))
        {
            let mut pairs = Vec::with_capacity(records.fingerprints.len());
            for record in records.iter() {
                pairs.push((record.fingerprint, record.id.ok_or_else(no_id)?));
            }
            return taken(work.with(|session| session.extend_with_ids(&pairs)));
        }
        self.pairs.clear();
        for record in records.iter() {
            let id = match (&self.mode, record.id) {
                (IdMode::Line, _) => self.first_id.checked_add(record.number).ok_or_else(|| {
                    let message =
                        "no ids are left behind the greatest of the store; give them in a column";
                    Failure::Usage(message.to_string())
                })?,
                (_, Some(IdRef::Number(id))) => id,
                _ => return Err(no_id()),
            };
            self.pairs.push((record.fingerprint, id));
        }
        taken(work.with(|session| session.extend_with_ids(&self.pairs)))
    }

    /// Says that there are ids, where no record has told it.
    pub(super) fn finish(self, work: &Interruptible<PackSession<F>>) -> Result<(), Failure> {
        match self.mode.is_some() && !self.is_told {
            true => taken(work.with(|session| session.extend_with_ids::<u64>(&[]))),
            false => Ok(()),
        }
    }
}

/// What the session says, if a signal did not take it.
fn taken(result: Option<fpstore::Result<()>>) -> Result<(), Failure> {
    Ok(result.unwrap_or(Err(fpstore::Error::Cancelled))?)
}
