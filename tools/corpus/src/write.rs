//! The second pass: reads the inputs again, and writes what is kept of each into a file of the same
//! name.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::choice::TableShape;
use crate::documents::{Copier, Documents, Input, Kind};
use crate::error::Error;
use crate::error::failure;
use crate::fates::{Fates, Kept};
use crate::ledger::Notes;
use crate::monitor::Event;
use crate::read::Reading;
use crate::report::Clusters;
use crate::table::{Row, Table};
use crate::work::{Stage, Work};

/// Where the documents go.
pub const DOCUMENTS: &str = "documents";
/// The name of a file until it is whole.
const PART: &str = "part";

/// Writes what is kept of those files that were not written yet.
pub fn write(
    reading: &Reading<'_>,
    work: &mut Work,
    notes: &Notes,
    fates: &Fates,
    from: u64,
    threads: usize,
) -> Result<(), Error> {
    let files = &reading.inputs.files;
    let mut before: u64 = files.iter().take(from as usize).map(|input| input.bytes).sum();
    reading.monitor.tell(Event::Start { bytes: reading.inputs.bytes() });
    for (number, input) in files.iter().enumerate().skip(from as usize) {
        let end = |number: usize| notes.file_ends.get(number).copied().unwrap_or_default();
        let start = number.checked_sub(1).map_or(0, end);
        let mut next = start as usize;
        let mut keeps = || {
            next += 1;
            fates.keeps(next - 1)
        };
        let part = work.path(PART);
        let is_there = input.kind != Kind::Plain || fates.keeps(start as usize);
        if is_there {
            let file = copy(input, reading, &part, threads, before, &mut keeps)?;
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

/// Copies what is kept of a file to `part`.
fn copy(
    input: &std::sync::Arc<Input>,
    reading: &Reading<'_>,
    part: &Path,
    threads: usize,
    before: u64,
    keeps: &mut dyn FnMut() -> bool,
) -> Result<File, Error> {
    let file = File::create(part).map_err(failure(part, "write"))?;
    match input.kind {
        Kind::Plain => {
            keeps();
            let mut file = file;
            let copied =
                File::open(&input.path).and_then(|mut from| std::io::copy(&mut from, &mut file));
            let copied = copied.map_err(failure(&input.path, "copy"))?;
            if copied == input.bytes { Ok(file) } else { Err(changed(&input.path)) }
        }
        #[cfg(feature = "parquet")]
        Kind::Parquet => crate::documents::copy_rows(input, reading.memory, file, part, keeps),
        _ => {
            let mut copier = Copier::start(input, file, part, threads)?;
            let mut documents = Documents::open(input, reading.wanted, reading.memory)?;
            copier.bytes(documents.header())?;
            let mut read = 0;
            while let Some(piece) = documents.next_piece()? {
                copier.piece(&piece, &mut *keeps)?;
                read += piece.len() as u64;
                let bytes = before + documents.bytes_read();
                reading.monitor.tell(Event::Read { bytes, documents: read });
                reading.monitor.check()?;
            }
            copier.finish()
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
    let name = |kept: &Kept| match kept {
        Kept::Earlier(id) => Ok(id.clone()),
        Kept::Document(document) => notes.id(*document),
    };
    for document in 0..notes.documents {
        let Some(verdict) = fates.verdict(document) else { continue };
        let root = fates.root(document);
        let old = fates.old.get(&root);
        let (cluster, _) = clusters.add(root, old, verdict.why);
        table.row(&Row {
            cluster,
            id: &notes.id(document)?,
            kept: &name(&verdict.kept)?,
            matched: &name(&verdict.matched)?,
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
