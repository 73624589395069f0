//! A writer over a simulated directory, and readers of what is left of it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::story::{Act, Model, Story, WINDOW_SECONDS};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::format::{
    Codec, LoggedId, MANIFEST_NAME, Manifest, Operation, RecordShape, WindowsSection,
};
use crate::hot_index;
use crate::id::{Id, IdKind};
use crate::ids::Ids;
use crate::log::Follower;
use crate::planning::Layout;
use crate::snapshot::Snapshot;
use crate::snapshot::parts::Base;
use crate::storage::Storage;
use crate::store::simulated::{Simulated, State};
use crate::writer::core::Core;
use crate::writer::create::create;
use crate::writer::settings::Settings;

/// Where messages say that it is.
const PATH: &str = "simulated";
/// Shapes of records.
pub(super) const SHAPES: [RecordShape; 6] = [
    RecordShape { ids: true, names: None, windows: true },
    RecordShape { ids: true, names: None, windows: false },
    RecordShape { ids: false, names: None, windows: false },
    RecordShape { ids: false, names: None, windows: true },
    RecordShape { ids: true, names: Some(IdKind::Text), windows: true },
    RecordShape { ids: true, names: Some(IdKind::Text), windows: false },
];

/// The name that stands for an id, of a story about numbers: their orders differ, and names begin
/// alike.
fn name_of(id: u64) -> String {
    format!("https://{}.example/{id}", 97 - id % 7 * 13)
}

/// The number of a name.
fn id_of(name: &str) -> u64 {
    name.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or(u64::MAX)
}

/// Writes operations.
pub(super) fn write(core: &Core<u64, Simulated>, operations: &[Operation]) -> Result<()> {
    let names: Vec<_> = operations.iter().map(|operation| name_of(operation.id)).collect();
    let mut logged = Vec::with_capacity(operations.len());
    for (operation, name) in operations.iter().zip(&names) {
        logged.push(operation.with_id(match core.shape.names.is_some() {
            true => LoggedId::Name(name.as_bytes()),
            false => LoggedId::Number(operation.id),
        }));
    }
    core.write(&logged)
}

/// What a test finds wrong, in words.
pub(super) type Found<T> = std::result::Result<T, String>;

/// A writer, its directory, and what it has written.
pub(super) struct Stage {
    pub(super) disk: Simulated,
    pub(super) core: Core<u64, Simulated>,
    pub(super) story: Story,
    pub(super) capacity: usize,
}

thread_local! {
    /// Of the thread that a test is [alone](alone) in.
    static EXECUTION: RefCell<Execution> = RefCell::new(Execution::new().threads(1));
}

fn execution() -> Execution {
    EXECUTION.with_borrow(Execution::clone)
}

/// Runs a test in a thread that is all of its pool: to wake another one for each segment takes
/// longer than writing it.
pub(super) fn alone<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let execution = Execution::new().pool(Arc::clone(&pool));
    pool.install(|| {
        EXECUTION.set(execution);
        let result = test();
        EXECUTION.set(Execution::new().threads(1));
        result
    })
}

/// Creates an empty store.
pub(super) fn create_in(disk: &Simulated, shape: RecordShape) -> Result<()> {
    let options = Layout {
        design: Design::named("single"),
        block_bytes: Some(256),
        codec: Some(Codec::Gap),
        low_bits: Some(32),
        ..Layout::new()
    };
    let settings = Settings::new(64, &options);
    let windows = WindowsSection { seconds: WINDOW_SECONDS, windows: Vec::new() };
    let windows = shape.windows.then_some(windows);
    let names = shape.names;
    let of_store = Manifest { names, windows, ..Manifest::empty(64, 3, 77) };
    create(Path::new(PATH), &Arc::new(disk.clone()), &settings, of_store, shape)
}

/// Opens a store for writing.
pub(super) fn open(disk: &Simulated, capacity: usize) -> Result<Core<u64, Simulated>> {
    Core::open(Path::new(PATH), disk.clone(), capacity, execution())
}

/// Opens a store for reading.
fn read(disk: &Simulated) -> Result<Snapshot> {
    let bytes = disk.read(MANIFEST_NAME).map_err(Error::io(MANIFEST_NAME, "read"))?;
    let base = Base::open(disk, &bytes, None, hot_index::default_memory())?;
    let (section, store_id) = (base.manifest.log.unwrap(), base.manifest.store_id);
    let logs: Follower = Follower::open(disk, &section, store_id)?;
    Ok(Snapshot::new(Arc::new(base), logs.views()))
}

/// What a snapshot holds: by look-ups of all that was ever stored, or now and then by going through
/// it, which makes a segment of what was written last and takes ten times as long.
fn pairs(snapshot: &Snapshot) -> Result<Vec<[u64; 2]>> {
    if snapshot.generation().is_multiple_of(4) {
        return pairs_in_order(snapshot);
    }
    let has_ids = snapshot.has_ids();
    let parts = snapshot.parts();
    let mut stored = BTreeSet::new();
    for segment in parts.base.segments.iter() {
        let (rows, mut keys) = (segment.rows(), Vec::new());
        rows.read(0..rows.block_count(), &mut keys)?;
        stored.extend(keys);
    }
    let of_tails = parts.tail_records();
    let of_tails = of_tails.iter().flat_map(|(records, _)| records);
    stored.extend(of_tails.map(|record| record.fingerprint));
    let mut pairs = Vec::new();
    for fingerprint in stored.into_iter() {
        if snapshot.contains(fingerprint)? {
            pairs.extend((!has_ids).then_some([fingerprint, 0]));
        }
        push_ids(&mut pairs, fingerprint, snapshot.ids(fingerprint)?)?;
    }
    Ok(pairs)
}

fn pairs_in_order(snapshot: &Snapshot) -> Result<Vec<[u64; 2]>> {
    let has_ids = snapshot.has_ids();
    let mut pairs = Vec::new();
    for entry in snapshot.iter_with_ids() {
        let (fingerprint, ids) = entry?;
        if !has_ids {
            pairs.push([fingerprint, 0]);
        }
        push_ids(&mut pairs, fingerprint, ids)?;
    }
    Ok(pairs)
}

/// Adds the pairs of a fingerprint and its ids, by number.
fn push_ids(pairs: &mut Vec<[u64; 2]>, fingerprint: u64, ids: Ids<Id>) -> Result<()> {
    let start = pairs.len();
    for id in ids {
        pairs.push(match id? {
            Id::Text(name) => [fingerprint, id_of(&name)],
            id => [fingerprint, id.as_ref().number()],
        });
    }
    pairs[start..].sort_unstable();
    Ok(())
}

/// Whether this is the error of somebody who looks for a store where there is none.
pub(super) fn is_no_store(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// What a store holds as a reader sees it, and which of some models that is.
pub(super) fn look(disk: &Simulated, allowed: &[Model]) -> Result<Found<Model>> {
    let snapshot = read(disk)?;
    let found = pairs(&snapshot)?;
    snapshot.verify_with(&execution())?;
    let model = allowed.iter().rev().find(|model| model.pairs() == found);
    Ok(model.cloned().ok_or_else(|| {
        let nearest = allowed.iter().map(|model| difference(&found, &model.pairs()));
        let nearest = nearest.min_by_key(|(lost, never)| lost.len() + never.len());
        format!("none of {} states; lost and not written: {nearest:x?}", allowed.len())
    }))
}

/// What is lacking, and what is there and should not be.
fn difference(found: &[[u64; 2]], expected: &[[u64; 2]]) -> (Vec<[u64; 2]>, Vec<[u64; 2]>) {
    let without = |some: &[[u64; 2]], others: &[[u64; 2]]| {
        some.iter().filter(|at| !others.contains(at)).copied().collect()
    };
    (without(expected, found), without(found, expected))
}

impl Stage {
    /// A new store, in a directory that remembers its states.
    pub(super) fn new(disk: Simulated, shape: RecordShape, capacity: usize) -> Result<Self> {
        create_in(&disk, shape)?;
        let core = open(&disk, capacity)?;
        Ok(Self { disk, core, story: Story::new(Model::default()), capacity })
    }

    /// Looks at what stands in a directory, and opens it for writing.
    pub(super) fn reopen(disk: Simulated, allowed: &[Model], capacity: usize) -> Found<Self> {
        let broken = |error: Error| format!("{error}, {error:?}");
        let model = look(&disk, allowed).map_err(broken)??;
        let core = open(&disk, capacity).map_err(broken)?;
        let stage = Self { disk, core, story: Story::new(model), capacity };
        stage.check()?;
        Ok(stage)
    }

    /// Does something.
    pub(super) fn perform(&mut self, act: &Act) -> Result<()> {
        let core = &self.core;
        match act {
            Act::Write(operations) => write(core, operations)?,
            Act::Log { durable } => core.write_log(*durable)?,
            Act::Close => {
                core.write_log(true)?;
                core.note_end();
            }
            Act::Flush => core.flush()?,
            Act::MergeStep => drop(core.merge_step()?),
            Act::MergeAll => core.merge_all()?,
            Act::Expire { .. } if core.window_seconds.is_none() => return Ok(()),
            Act::Expire { before } => drop(core.expire(*before)?),
        }
        self.story.done(act);
        Ok(())
    }

    /// As [`Self::perform`], where nothing fails.
    pub(super) fn succeed(&mut self, act: &Act) -> Found<()> {
        self.perform(act).map_err(|error| format!("{act:?}: {error}"))
    }

    /// What is seen of what was written: all of it.
    pub(super) fn check(&self) -> Found<()> {
        let snapshot = self.core.snapshot();
        let found = pairs(&snapshot).map_err(|error| error.to_string())?;
        let expected = self.story.now().pairs();
        if found != expected {
            let different = difference(&found, &expected);
            return Err(format!("the writer sees other things: lacks and has {different:x?}"));
        }
        // One that is there and one that is not, by a search.
        for fingerprint in expected.first().map(|at| [at[0], !at[0]]).into_iter().flatten() {
            let near = snapshot.search(fingerprint, 0).map_err(|error| error.to_string())?;
            let is_there = expected.iter().any(|at| at[0] == fingerprint);
            if near.is_empty() == is_there {
                return Err(format!("a search for {fingerprint:x} finds {near:?}"));
            }
        }
        Ok(())
    }

    /// Goes on for a while, and loses nothing in a crash at the end.
    pub(super) fn go_on(&mut self, acts: &[Act]) -> Found<State> {
        for act in acts {
            self.succeed(act)?;
            self.check()?;
        }
        for act in [Act::Log { durable: true }, Act::Flush, Act::MergeAll] {
            self.succeed(&act)?;
        }
        self.check()?;
        Ok(self.disk.state())
    }
}
