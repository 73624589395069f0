//! Makes a segment in memory of what was written last, so that whoever reads segments sees it too.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::hiding::Hiding;
use super::parts::{Parts, sequences};
use crate::access::InMemory;
use crate::error::{Error, Result};
use crate::execution::{Execution, Meter};
use crate::files::DirectoryHandle;
use crate::fingerprint::Fingerprint;
use crate::multi_index::PartLayout;
use crate::names::{LiveList, LiveNames, NameSource, Naming};
use crate::segment::source::SourceOfIds;
use crate::segment::writer::SegmentWriter;
use crate::segment::{NewFiles, PackTimes, PackedIds, Segment, Set, SetSource, sum_of};
use crate::sort::Spill;
use crate::storage::Storage;
use crate::tail::TailRecord;

/// The same fingerprints and ids, without tails.
pub(super) fn settle<F: Fingerprint>(parts: &Parts<F>) -> Result<Parts<F>> {
    let base = &*parts.base;
    let named = base.manifest.log.is_some_and(|log| log.shape.names.is_some());
    let (records, mut names) = listed(parts.tail_records(), named);
    let mut records: Vec<F::WithId> =
        records.iter().map(|record| record.fingerprint.with_id(record.id)).collect();
    records.sort_unstable();
    records.dedup();
    // All deletions of the tails are later than what is in any segment, but this one.
    let next_sequence = parts.tails.last().map_or(0, |tail| tail.next_sequence());
    let mut of_segments = sequences(&base.manifest);
    of_segments.resize(base.segments.len(), 0);
    of_segments.push(next_sequence);
    let of_tails = parts.tails.iter().map(|tail| (Arc::new(tail.deletions()), tail.naming()));
    let lists = base.hiding.lists().iter().cloned().chain(of_tails).collect();
    let hiding = Hiding::new(of_segments, lists);
    let has_ids = base.manifest.log.is_some_and(|log| log.shape.ids);
    let segment = segment_of(records, has_ids, names.as_mut())?;
    Ok(Parts { base: Arc::new(base.extended(segment, hiding)), tails: Vec::new() })
}

/// The records of some tails in one list, with the names of their ids, whose numbers they have
/// then.
pub(crate) fn listed<F: Fingerprint>(
    of_tails: Vec<(Vec<TailRecord<F>>, Naming)>,
    named: bool,
) -> (Vec<TailRecord<F>>, Option<LiveList>) {
    if !named {
        return (of_tails.into_iter().flat_map(|(records, _)| records).collect(), None);
    }
    let names = Arc::new(LiveNames::default());
    let mut all = Vec::new();
    for (records, naming) in of_tails {
        let Naming::Live(own) = naming else { continue };
        all.extend(records.into_iter().map(|record| {
            let id = own.with(record.id, |name| names.intern(name));
            TailRecord { id, ..record }
        }));
    }
    let list = LiveList::new(names, all.iter().map(|record| record.id).collect());
    all.iter_mut().for_each(|record| record.id = list.rank(record.id));
    (all, Some(list))
}

/// A segment of pairs that ascend strictly, with the ids or without. It is read in order, so it has
/// no part tables.
fn segment_of<F: Fingerprint>(
    pairs: Vec<F::WithId>,
    has_ids: bool,
    names: Option<&mut LiveList>,
) -> Result<Segment<F>> {
    let (set, mut ids) = PackedIds::<F, NoSpill>::of_pairs(pairs);
    let (id_count, greatest) = (ids.count, ids.greatest);
    let meter: Meter = Execution::new().meter();
    let sum = sum_of(&set);
    let create = || Ok(NoSpill);
    let set = Set::Memory { set, spare: Vec::new() };
    let mut source = SetSource { set, sum, meter: &meter, create: &create };
    let storage = Arc::new(InMemory::default());
    let mut files = NewFiles::new(Path::new("memory"), Arc::clone(&storage));
    let mut times = PackTimes::default();
    let names = names.map(|names| names as &mut dyn NameSource);
    let (count, ids) = (id_count, &mut ids);
    let ids = has_ids.then_some(SourceOfIds { ids, count, greatest, names });
    let mut writer = SegmentWriter { files: &mut files, meter: &meter, times: &mut times };
    let written = writer.write_parts(u64::MAX, PartLayout::default(), &mut source, ids)?;
    files.keep();
    Segment::open(&*storage, &written.entry)
}

/// A file in memory, which is there once it is synced.
pub(crate) struct MemoryFile {
    name: String,
    bytes: Vec<u8>,
}

/// What needs no temporary files.
pub(crate) struct NoSpill;

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for InMemory {
    type File = MemoryFile;
    type Spill = NoSpill;

    fn check_held(&self) -> Result<()> {
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn read(&self, _name: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str) -> io::Result<MemoryFile> {
        Ok(MemoryFile { name: name.to_string(), bytes: Vec::new() })
    }

    fn link(&self, _from: &DirectoryHandle, _name: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn open_at(&self, _name: &str, _at: u64) -> io::Result<MemoryFile> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rewrite(&self, _name: &str, _bytes: &[u8]) -> io::Result<MemoryFile> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self, file: &mut MemoryFile) -> io::Result<()> {
        self.insert(file.name.clone(), std::mem::take(&mut file.bytes));
        Ok(())
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove_leftover(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn spill(&self) -> Result<NoSpill> {
        Ok(NoSpill)
    }
}

impl Spill for NoSpill {
    fn write_at(&self, _bytes: &[u8], _at: u64) -> Result<()> {
        Err(Error::Ended)
    }

    fn read_at(&self, _bytes: &mut [u8], _at: u64) -> Result<()> {
        Err(Error::Ended)
    }
}
