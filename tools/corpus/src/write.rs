//! The second pass: reads the inputs again, and writes what is kept of each, or all of it with what
//! was decided, into a file of the same name.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fpstore_text::Rule;

use crate::choice::{TableShape, Written};
use crate::documents::{Annotation, Appender, Copier, Documents, Further, Input, Kind};
use crate::error::Error;
use crate::error::failure;
use crate::fates::{Fates, Kept, Why};
use crate::ledger::Notes;
use crate::monitor::Event;
use crate::near::difference;
use crate::read::Reading;
use crate::report::Clusters;
use crate::table::{Row, Table};
use crate::work::{DOCUMENTS, Stage, Work};

/// The name of a file until it is whole.
const PART: &str = "part";

/// What is written.
pub struct What<'a> {
    pub notes: &'a Notes,
    pub fates: &'a Fates,
    pub written: &'a Written,
    pub rule: Rule,
}

/// What is said of each document.
struct Annotating<'a> {
    what: &'a What<'a>,
    /// For each document the number of its cluster. Those of which documents are removed come
    /// first, with the numbers that they have in the table of these.
    numbers: Vec<u32>,
    clusters: Clusters,
}

impl<'a> Annotating<'a> {
    fn new(what: &'a What<'a>) -> Self {
        let (notes, fates) = (what.notes, what.fates);
        let clusters = Clusters::of(notes.documents, fates);
        let mut next = clusters.count();
        let numbers = (0..notes.documents).map(|document| {
            let root = fates.root(document);
            let number = clusters.number(root, fates.old.get(&root)).unwrap_or(next);
            // What is skipped is no document, and no cluster.
            next += u64::from(number == next && fates.keeps(document as usize));
            number as u32
        });
        let numbers = numbers.collect();
        Self { what, numbers, clusters }
    }

    /// That of a document.
    fn of(&self, document: u32) -> Result<Annotation, Error> {
        let What { notes, fates, rule, .. } = *self.what;
        let number = self.numbers.get(document as usize).copied().unwrap_or_default().into();
        let (kept, distance, why) = match fates.verdict(document) {
            None => (Kept::Document(document), 0, Why::Kept),
            Some(verdict) => {
                let distance = match verdict.kept {
                    Kept::Document(kept) if verdict.kept != verdict.matched => {
                        difference(notes, rule, document, kept)?
                    }
                    _ => verdict.distance,
                };
                (verdict.kept, distance, verdict.why)
            }
        };
        Ok(Annotation {
            cluster: number,
            cluster_size: self.clusters.size(number),
            kept: name(notes, &kept)?,
            distance,
            why: if why == Why::Old { "known" } else { why.name() },
        })
    }
}

/// What a document of a verdict is called.
fn name(notes: &Notes, kept: &Kept) -> Result<String, Error> {
    match kept {
        Kept::Earlier(id) => Ok(id.clone()),
        Kept::Document(document) => notes.id(*document),
    }
}

/// Writes what is wanted of those files that were not written yet.
pub fn write(
    reading: &Reading<'_>,
    work: &mut Work,
    what: &What<'_>,
    from: u64,
    threads: usize,
) -> Result<(), Error> {
    let (notes, fates) = (what.notes, what.fates);
    let names = what.written.columns();
    let annotating = match what.written {
        Written::Nothing => return work.note(|state| state.stage = Stage::Removed),
        Written::Annotated(_) => Some(Annotating::new(what)),
        Written::Kept => None,
    };
    let is_written = |document: usize| match annotating {
        Some(_) => fates.why.get(document).is_some_and(|why| *why != Why::Skipped),
        None => fates.keeps(document),
    };
    let files = &reading.inputs.files;
    let mut before: u64 = files.iter().take(from as usize).map(|input| input.bytes).sum();
    reading.monitor.tell(Event::Start { bytes: reading.inputs.bytes() });
    for (number, input) in files.iter().enumerate().skip(from as usize) {
        let end = |number: usize| notes.file_ends.get(number).copied().unwrap_or_default();
        let start = number.checked_sub(1).map_or(0, end);
        let mut next = start as usize;
        let mut keeps = || {
            next += 1;
            is_written(next - 1)
        };
        let mut of = start as usize;
        let mut annotations = || {
            while of < notes.documents as usize && !is_written(of) {
                of += 1;
            }
            of += 1;
            // There is one for each document that is written.
            annotating.as_ref().map_or_else(|| Err(changed(&input.path)), |by| by.of(of as u32 - 1))
        };
        let mut further = Further { names: &names, next: &mut annotations };
        let part = work.path(PART);
        let is_there = input.kind != Kind::Plain || fates.keeps(start as usize);
        if is_there {
            let mut copying = Copying {
                reading,
                threads,
                before,
                keeps: &mut keeps,
                further: annotating.is_some().then_some(&mut further),
            };
            let file = copying.copy(input, &part)?;
            if next as u64 != end(number) {
                return Err(changed(&input.path));
            }
            work.publish(&file, &part, &PathBuf::from(DOCUMENTS).join(&input.name))?;
        }
        before += input.bytes;
        reading.monitor.tell(Event::Read { bytes: before, documents: end(number) });
        reading.monitor.check()?;
        // Of plain files, which are many, not each is worth a note: to write one again changes
        // nothing.
        let is_due = input.kind != Kind::Plain || number.is_multiple_of(1024);
        if is_due || number + 1 == files.len() {
            work.note(|state| state.stage = Stage::Write(number as u64 + 1))?;
        }
    }
    work.note(|state| state.stage = Stage::Removed)
}

/// How a file is copied.
struct Copying<'a, 'b> {
    reading: &'a Reading<'a>,
    threads: usize,
    /// Bytes of the files before it.
    before: u64,
    /// Whether each of its documents is written.
    keeps: &'a mut dyn FnMut() -> bool,
    /// The columns that these get.
    further: Option<&'a mut Further<'b>>,
}

impl Copying<'_, '_> {
    /// Copies what is written of a file to `part`.
    fn copy(&mut self, input: &Arc<Input>, part: &Path) -> Result<File, Error> {
        let file = File::create(part).map_err(failure(part, "write"))?;
        let Self { reading, threads, before, keeps, further } = self;
        let further = further.as_deref_mut();
        match input.kind {
            Kind::Plain => {
                keeps();
                let (mut file, from) = (file, File::open(&input.path));
                let copied = from.and_then(|mut from| std::io::copy(&mut from, &mut file));
                let copied = copied.map_err(failure(&input.path, "copy"))?;
                if copied == input.bytes { Ok(file) } else { Err(changed(&input.path)) }
            }
            #[cfg(feature = "parquet")]
            Kind::Parquet => {
                crate::documents::copy_rows(input, reading.memory, file, part, keeps, further)
            }
            _ => {
                let mut copier = Copier::start(input, file, part, *threads)?;
                let mut documents = Documents::open(input, reading.wanted, reading.memory)?;
                let delimiter = documents.delimiter();
                let mut by = further
                    .map(|further| (Appender::new(further.names, input.kind, delimiter), further));
                let mut header = Vec::new();
                match &by {
                    Some((by, _)) => by.header(documents.header(), &mut header)?,
                    None => header.extend_from_slice(documents.header()),
                }
                copier.bytes(&header)?;
                let mut read = 0;
                while let Some(piece) = documents.next_piece()? {
                    match &mut by {
                        Some((by, further)) => {
                            copier.annotated(&piece, &mut *keeps, by, further)?;
                        }
                        None => copier.piece(&piece, &mut *keeps)?,
                    }
                    read += piece.len() as u64;
                    let bytes = *before + documents.bytes_read();
                    reading.monitor.tell(Event::Read { bytes, documents: read });
                    reading.monitor.check()?;
                }
                copier.finish()
            }
        }
    }
}

fn changed(path: &Path) -> Error {
    let what = "has changed since it was read first; start again with another output";
    Error::Setting(format!("{}: {what}", path.display()))
}

/// Writes the table of what was removed: a row for each document, in the order of the inputs.
pub fn removed(
    work: &Work,
    notes: &Notes,
    fates: &Fates,
    shape: TableShape,
    k: Option<u32>,
    recipe: &str,
) -> Result<Clusters, Error> {
    let part = work.path(PART);
    let file = File::create(&part).map_err(failure(&part, "write"))?;
    let kept = file.try_clone().map_err(failure(&part, "write"))?;
    let mut table = Table::new(shape, file, &part, k, recipe)?;
    let mut clusters = Clusters::default();
    for document in 0..notes.documents {
        let Some(verdict) = fates.verdict(document) else { continue };
        let root = fates.root(document);
        let old = fates.old.get(&root);
        let (cluster, _) = clusters.add(root, old, verdict.why);
        table.row(&Row {
            cluster,
            id: &notes.id(document)?,
            kept: &name(notes, &verdict.kept)?,
            matched: &name(notes, &verdict.matched)?,
            distance: verdict.distance,
            why: verdict.why.name(),
            kept_in: if old.is_some() { "store" } else { "input" },
            jaccard: verdict.jaccard,
        })?;
    }
    table.finish()?;
    work.publish(&kept, &part, Path::new(shape.file()))?;
    Ok(clusters)
}
