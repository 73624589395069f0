//! A store of an earlier corpus, whose documents are not to come again.

use std::path::{Path, PathBuf};

use fpstore::{Execution, Fingerprint, Id, IdKind, Layout, Packer, Store, WriterOptions, width_of};
use fpstore_records::write::hex;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::cluster::NONE;
use crate::error::Error;
use crate::fates::{Fates, OldMatch, Why};
use crate::ledger::{Notes, SIGNED};
use crate::monitor::{Event, Monitor};
use crate::per_thread::PerThread;
use crate::width::{for_width, open};

/// Documents that are packed together.
const PIECE: usize = 1 << 13;

/// The store.
pub struct Earlier {
    path: PathBuf,
    bits: u32,
    recipe: String,
    k: u32,
    /// What ids of the store are.
    kind: IdKind,
    /// Its id; `None` while it is to be created.
    id: Option<String>,
}

impl Earlier {
    /// Looks at a store for fingerprints of so many bits, to which documents are added in the end
    /// if `add` says so. Then there need be none yet.
    pub fn open(
        path: &Path,
        bits: u32,
        recipe: &str,
        k: u32,
        add: bool,
        monitor: &Monitor,
    ) -> Result<Self, Error> {
        let (path, recipe) = (path.to_path_buf(), recipe.to_string());
        let mut earlier = Self { path, bits, recipe, k, kind: IdKind::Text, id: None };
        // Nothing is there, or what a call left that was killed while it created the store.
        if add && (!earlier.path.exists() || Packer::new().check_target(&earlier.path).is_ok()) {
            return Ok(earlier);
        }
        let path = &earlier.path;
        let found = width_of(path)?;
        if found != bits {
            return Err(Error::Setting(format!(
                "{}: has fingerprints of {found} bits, and the recipe makes some of {bits}; give the recipe of the store",
                path.display()
            )));
        }
        let (id, kind) = for_width!(bits, look(path, &earlier.recipe, add, monitor))?;
        (earlier.id, earlier.kind) = (Some(id), kind);
        Ok(earlier)
    }

    /// Where the store is, or is to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id of the store, if it is there.
    pub fn id(&self) -> Option<&String> {
        self.id.as_ref()
    }

    /// What ids of the store are, so that those of documents must be.
    pub fn kind(&self) -> IdKind {
        self.kind
    }

    /// Creates the store, if it is not there.
    pub fn create(&mut self) -> Result<(), Error> {
        if self.id.is_none() {
            self.id = Some(for_width!(self.bits, create(&self.path, self.k, &self.recipe))?);
        }
        Ok(())
    }

    /// Removes those documents that are near one of the store.
    pub fn remove_near(
        &self,
        documents: &[u32],
        notes: &Notes,
        fates: &mut Fates,
        pool: &ThreadPool,
    ) -> Result<(), Error> {
        let found = for_width!(self.bits, near(self, documents, notes, pool))?;
        for (document, old) in found {
            fates.why[document as usize] = Why::Old;
            fates.old.insert(document, old);
        }
        Ok(())
    }

    /// Adds what is kept to the store, in one commit. If that was begun before, it may be there
    /// already.
    pub fn add(
        &self,
        notes: &Notes,
        fates: &Fates,
        begun: bool,
        execution: Execution,
    ) -> Result<(), Error> {
        for_width!(self.bits, add(self, notes, fates, begun, execution))
    }
}

/// Takes what the store says of its recipe, refuses one to which documents cannot be added if they
/// are to be, and gives its id.
fn look<F: Fingerprint>(
    path: &Path,
    recipe: &str,
    add: bool,
    monitor: &Monitor,
) -> Result<(String, IdKind), Error> {
    let store = open::<F>(path)?;
    match store.recipe() {
        Some(other) if other != recipe => {
            return Err(Error::Setting(format!(
                "{}: its fingerprints were made by the recipe `{other}`, and by `{recipe}` the documents would be; \
                 those of different recipes are never mixed: take the recipe of the store",
                path.display()
            )));
        }
        _ => {}
    }
    let refused =
        |what: &str| Err(Error::CannotAdd { path: path.to_path_buf(), what: what.to_string() });
    let living = store.stats()?.living;
    let has_ids = living.map_or(store.has_ids() || store.is_empty(), |living| living.ids);
    if add && !has_ids {
        return refused("has no ids, and documents are added with theirs");
    }
    let kind = store.id_kind().unwrap_or(IdKind::Number);
    if add && !matches!(kind, IdKind::Number | IdKind::Text) {
        return refused(&format!(
            "its ids are {kind}, and documents are added with numbers or texts"
        ));
    }
    if store.recipe().is_none() {
        monitor.tell(Event::Warning(&format!(
            "{}: does not say by which recipe its fingerprints were made; the documents are \
             fingerprinted by `{recipe}`",
            path.display()
        )));
    }
    Ok((id_of(&store), kind))
}

fn id_of<F: Fingerprint>(store: &Store<F>) -> String {
    format!("{:032x}", store.id())
}

fn create<F: Fingerprint>(path: &Path, k: u32, recipe: &str) -> Result<String, Error> {
    let layout = Layout::new().k(k);
    let packer = Packer::new().width::<F>().ids(IdKind::Text).layout(layout).recipe(recipe);
    let mut session = packer.start(path)?;
    session.extend_with_ids::<Id>(&[])?;
    session.finish()?;
    Ok(id_of(&open::<F>(path)?))
}

/// For each document that is near some of the store the nearest of these; of several, the least
/// fingerprint, and its least id.
fn near<F: Fingerprint>(
    earlier: &Earlier,
    documents: &[u32],
    notes: &Notes,
    pool: &ThreadPool,
) -> Result<Vec<(u32, OldMatch)>, Error> {
    let store = open::<F>(&earlier.path)?;
    let searchers = PerThread::new(pool.current_num_threads(), || store.searcher());
    let found: Vec<Option<(u32, OldMatch)>> = pool.install(|| {
        let found = documents.par_iter().map(|&document| {
            let mut bytes = Vec::new();
            notes.signature(document, &mut bytes)?;
            let fingerprint = F::from_be_slice(&bytes).unwrap_or_default();
            let nearest = searchers.with(|searcher| {
                let found = searcher.search(fingerprint, earlier.k)?;
                Ok::<_, Error>(found.first().map(|found| (found.fingerprint, found.distance)))
            })?;
            let Some((fingerprint, distance)) = nearest else { return Ok(None) };
            let id = name(&store, fingerprint)?;
            Ok(Some((document, OldMatch { id, distance })))
        });
        found.collect::<Result<_, Error>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// What the first document with a fingerprint is called.
fn name<F: Fingerprint>(store: &Store<F>, fingerprint: F) -> Result<String, Error> {
    let id = store.ids::<Id>(fingerprint)?.next().transpose()?;
    Ok(id.map_or_else(|| hex(fingerprint), |id| id.to_string()))
}

/// What of the documents is added.
fn is_added(document: u32, notes: &Notes, fates: &Fates) -> bool {
    fates.keeps(document as usize) && notes.kinds[document as usize] == SIGNED
}

/// The id of a document in a store with ids of this kind.
fn id(document: u32, notes: &Notes, kind: IdKind) -> Result<Id, Error> {
    let id = notes.id(document)?;
    Ok(match kind {
        // Ids were checked when they were read.
        IdKind::Number => Id::Number(id.parse().unwrap_or(u64::from(NONE))),
        _ => Id::Text(id.to_string()),
    })
}

/// Whether the store holds all that is kept. Since that is added in one commit, the first document
/// mostly tells.
fn holds_all<F: Fingerprint>(
    store: &Store<F>,
    notes: &Notes,
    fates: &Fates,
) -> Result<bool, Error> {
    let (mut in_order, mut bytes) = (notes.in_order()?, Vec::new());
    for document in (0..notes.documents).filter(|&document| is_added(document, notes, fates)) {
        in_order.signature(document, &mut bytes)?;
        let (fingerprint, own) = (
            F::from_be_slice(&bytes).unwrap_or_default(),
            id(document, notes, store.id_kind().unwrap_or(IdKind::Number))?,
        );
        let mut is_there = false;
        for id in store.ids::<Id>(fingerprint)? {
            is_there |= id? == own;
        }
        if !is_there {
            return Ok(false);
        }
    }
    Ok(true)
}

fn add<F: Fingerprint>(
    earlier: &Earlier,
    notes: &Notes,
    fates: &Fates,
    begun: bool,
    execution: Execution,
) -> Result<(), Error> {
    let store = open::<F>(&earlier.path)?;
    if begun && holds_all(&store, notes, fates)? {
        return Ok(());
    }
    flush_log(&earlier.path, &store)?;
    let packer = Packer::new().width::<F>().recipe(&earlier.recipe).append(true);
    let mut session = packer.execution(execution).start(&earlier.path)?;
    let (mut piece, mut bytes) = (Vec::with_capacity(PIECE), Vec::new());
    let (mut count, mut in_order) = (0u64, notes.in_order()?);
    for document in (0..notes.documents).filter(|&document| is_added(document, notes, fates)) {
        in_order.signature(document, &mut bytes)?;
        piece.push((
            F::from_be_slice(&bytes).unwrap_or_default(),
            id(document, notes, store.id_kind().unwrap_or(IdKind::Number))?,
        ));
        count += 1;
        if piece.len() == PIECE {
            session.extend_with_ids(&piece)?;
            piece.clear();
        }
    }
    if count > 0 {
        session.extend_with_ids(&piece)?;
        session.finish()?;
    }
    Ok(())
}

/// Makes a segment of what stands in the log of the store at `path`, since nothing can be appended
/// before.
fn flush_log<F: Fingerprint>(path: &Path, opened: &Store<F>) -> Result<(), Error> {
    let living = opened.stats()?.living;
    if living.is_none_or(|living| living.log_operations == 0) {
        return Ok(());
    }
    let writer = WriterOptions::new().width::<F>().background(false).open(path)?;
    writer.flush()?;
    Ok(writer.close()?)
}
