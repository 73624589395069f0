//! A store of an earlier corpus, whose documents are not to come again.
//!
//! By a recipe with one fingerprint it holds these, and is searched within a distance; by one with
//! several values it holds keys, and is searched for equal ones.

mod bits;
mod common;
mod keys;
mod known;

use std::path::{Path, PathBuf};

use fpstore::{Execution, Fingerprint, Id, IdKind, Layout, Packer, Store, WriterOptions, width_of};
use fpstore_text::Rule;
use rayon::ThreadPool;

use self::bits::near;
use crate::error::Error;
use crate::fates::{Fates, Why};
use crate::ledger::Notes;
use crate::monitor::{Event, Monitor};
use crate::width::{for_width, open};
use crate::work::Work;

/// Documents, or keys, that are packed together.
const PIECE: usize = 1 << 13;

/// The store.
pub struct Earlier {
    path: PathBuf,
    holds: Holds,
    /// What it says of what it holds.
    recipe: String,
    /// What ids of the store are.
    kind: IdKind,
    /// Its id; `None` while it is to be created.
    id: Option<String>,
}

/// What a store holds of its documents.
#[derive(Clone, Copy)]
enum Holds {
    /// Fingerprints of so many bits, searched within a distance.
    Fingerprints { bits: u32, k: u32 },
    /// Keys.
    Keys { rule: Rule },
}

impl Holds {
    fn bits(self) -> u32 {
        match self {
            Self::Fingerprints { bits, .. } => bits,
            Self::Keys { .. } => u64::BITS,
        }
    }

    /// The distance that it is planned for.
    fn k(self) -> u32 {
        match self {
            Self::Fingerprints { k, .. } => k,
            Self::Keys { .. } => 0,
        }
    }
}

/// What a search needs beside the store.
pub struct Searching<'a> {
    pub notes: &'a Notes,
    pub work: &'a Work,
    pub pool: &'a ThreadPool,
    pub monitor: &'a Monitor,
    /// What may be taken in all.
    pub memory: u64,
    /// With one of so many shares of it.
    pub execution: &'a (dyn Fn(u64) -> Execution + Sync),
}

impl Earlier {
    /// Looks at a store for documents of a recipe, whose fingerprints have so many bits if it has
    /// one for each document. Documents are added to it in the end if `add` says so; then there
    /// need be none yet.
    pub fn open(
        path: &Path,
        (rule, bits): (Rule, Option<u32>),
        recipe: &str,
        add: bool,
        monitor: &Monitor,
    ) -> Result<Self, Error> {
        let holds = match (rule, bits) {
            (Rule::Within { k }, Some(bits)) => Holds::Fingerprints { bits, k },
            (rule, _) => Holds::Keys { rule },
        };
        let recipe = match holds {
            Holds::Fingerprints { .. } => recipe.to_string(),
            Holds::Keys { .. } => format!("{}{recipe}", keys::START),
        };
        let mut earlier =
            Self { path: path.to_path_buf(), holds, recipe, kind: IdKind::Text, id: None };
        // Nothing is there, or what a call left that was killed while it created the store.
        if add && (!earlier.path.exists() || Packer::new().check_target(&earlier.path).is_ok()) {
            return Ok(earlier);
        }
        let found = width_of(path)?;
        if found != holds.bits() {
            let makes = match holds {
                Holds::Fingerprints { bits, .. } => format!("the recipe makes some of {bits}"),
                Holds::Keys { .. } => "by this recipe a store holds keys of 64".to_string(),
            };
            return Err(Error::Setting(format!(
                "{}: has fingerprints of {found} bits, and {makes}; give the recipe of the store",
                path.display()
            )));
        }
        let (id, kind) = for_width!(found, look(&earlier, add, monitor))?;
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
            let (bits, k) = (self.holds.bits(), self.holds.k());
            self.id = Some(for_width!(bits, create(&self.path, k, &self.recipe))?);
        }
        Ok(())
    }

    /// Removes those documents that are near one of the store. The documents with too few features
    /// are compared exactly, where the store knows of such.
    pub fn remove_near(
        &self,
        documents: &[u32],
        searching: &Searching<'_>,
        fates: &mut Fates,
    ) -> Result<(), Error> {
        let found = match self.holds {
            Holds::Fingerprints { bits, k } => {
                for_width!(bits, near((&self.path, k), documents, searching))?
            }
            Holds::Keys { rule } => known::near((&self.path, rule), documents, searching)?,
        };
        for (document, old) in found {
            fates.why[document as usize] = Why::Old;
            fates.old.insert(document, old);
        }
        Ok(())
    }

    /// Whether the store knows documents with too few features for a signature.
    pub fn knows_all(&self) -> bool {
        matches!(self.holds, Holds::Keys { .. })
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
        let added = |document: u32| fates.keeps(document as usize);
        match self.holds {
            Holds::Fingerprints { bits, .. } => {
                let records = &bits::Records { notes, added: &added };
                for_width!(bits, add(self, records, begun, execution))
            }
            Holds::Keys { rule } => {
                let records = &keys::Records { notes, rule, added: &added };
                add::<u64>(self, records, begun, execution)
            }
        }
    }
}

/// What a store says of what it holds, for messages.
fn described(recipe: &str) -> String {
    match recipe.strip_prefix(keys::START) {
        Some(recipe) => format!("it holds keys of documents by the recipe `{recipe}`"),
        None => format!("its fingerprints were made by the recipe `{recipe}`"),
    }
}

/// Takes what the store says of its recipe, refuses one to which documents cannot be added if they
/// are to be, and gives its id.
fn look<F: Fingerprint>(
    earlier: &Earlier,
    add: bool,
    monitor: &Monitor,
) -> Result<(String, IdKind), Error> {
    let path = &earlier.path;
    let (store, of_keys) = (open::<F>(path)?, matches!(earlier.holds, Holds::Keys { .. }));
    let own = earlier.recipe.strip_prefix(keys::START).unwrap_or(&earlier.recipe);
    let refused = |what: &str| Err(Error::Setting(format!("{}: {what}", path.display())));
    match store.recipe() {
        Some(other) if other != earlier.recipe => {
            let makes = match of_keys {
                true => format!("it would hold keys of documents by `{own}`"),
                false => format!("by `{own}` the documents would be"),
            };
            return refused(&format!(
                "{}, and {makes}; those of different recipes are never mixed: take the recipe of \
                 the store, or another store",
                described(&other)
            ));
        }
        None if of_keys => {
            return refused(
                "does not say that it holds keys of documents, which are what documents with \
                 several values are compared by; name a store that --add has created",
            );
        }
        _ => {}
    }
    let refused = |what: &str| Err(Error::CannotAdd { path: path.clone(), what: what.to_string() });
    let living = store.stats()?.living;
    let has_ids = living.map_or(store.has_ids() || store.is_empty(), |living| living.ids);
    if (add || of_keys) && !has_ids {
        return refused("has no ids, and documents are added with theirs");
    }
    let kind = store.id_kind().unwrap_or(IdKind::Number);
    if add && !matches!(kind, IdKind::Number | IdKind::Text) {
        return refused(&format!(
            "its ids are {kind}, and documents are added with numbers or texts"
        ));
    }
    if of_keys && kind != IdKind::Text {
        return refused(&format!("its ids are {kind}, and keys go with texts"));
    }
    if store.recipe().is_none() {
        monitor.tell(Event::Warning(&format!(
            "{}: does not say by which recipe its fingerprints were made; the documents are \
             fingerprinted by `{own}`",
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

/// Takes the records of a document; whether the next ones are wanted.
type Take<'a, F> = &'a mut dyn FnMut(&[(F, Id)]) -> Result<bool, Error>;

/// What a store gets of the documents that are added.
trait Records<F> {
    /// Gives the records of each document in order, as long as `take` returns true.
    fn each(&self, kind: IdKind, take: Take<'_, F>) -> Result<(), Error>;
}

/// Whether the store holds all that is kept. Since that is added in one commit, the first document
/// mostly tells, and a record of each all.
fn holds_all<F: Fingerprint>(
    store: &Store<F>,
    kind: IdKind,
    records: &dyn Records<F>,
) -> Result<bool, Error> {
    let (snapshot, mut holds) = (store.snapshot(), true);
    records.each(kind, &mut |of_document| {
        if let Some((fingerprint, id)) = of_document.first() {
            holds = snapshot.contains_id(*fingerprint, id)?;
        }
        Ok(holds)
    })?;
    Ok(holds)
}

fn add<F: Fingerprint>(
    earlier: &Earlier,
    records: &dyn Records<F>,
    begun: bool,
    execution: Execution,
) -> Result<(), Error> {
    let store = open::<F>(&earlier.path)?;
    let kind = store.id_kind().unwrap_or(IdKind::Number);
    if begun && holds_all(&store, kind, records)? {
        return Ok(());
    }
    flush_log(&earlier.path, &store)?;
    let packer = Packer::new().width::<F>().recipe(&earlier.recipe).append(true);
    let mut session = packer.execution(execution).start(&earlier.path)?;
    let (mut piece, mut is_any) = (Vec::with_capacity(PIECE), false);
    records.each(kind, &mut |of_document| {
        piece.extend_from_slice(of_document);
        is_any |= !of_document.is_empty();
        if piece.len() >= PIECE {
            session.extend_with_ids(&piece)?;
            piece.clear();
        }
        Ok(true)
    })?;
    if is_any {
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
