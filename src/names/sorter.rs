//! Sorts names with what belongs to them, outside of memory where they are many.
//!
//! Names fill a buffer; when it is full they are sorted and become a run in a temporary file. In
//! the end all runs are merged into one, which is read as often as it is needed.
//!
//! A pair of a run is how many bytes its name shares with the one before, how many follow, these,
//! and the payload as it stands in memory.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use bytemuck::Pod;

use super::list::shared;
use super::writer::NameSource;
use crate::error::{Error, Result};
use crate::format::MOST_NAME_BYTES;
use crate::sort::{Create, Spill};
use crate::tasks;

/// Memory at least: some names of the greatest length.
const LEAST_BYTES: usize = 1 << 18;
/// Bytes of a run that are read at once, at least, so that reads are not too short.
const LEAST_WINDOW: usize = 1 << 14;
/// Entries at first.
const FEW_ENTRIES: usize = 64;

/// Takes pairs of a name and a payload, and gives them back sorted by name, and those of one name
/// by payload; equal ones once.
pub(crate) struct NameSorter<P, T> {
    /// The most bytes in memory.
    bytes: usize,
    pairs: Pairs<P>,
    runs: Vec<Extent>,
    /// Holds the runs.
    file: Option<T>,
    /// Most bytes of temporary files at any time.
    peak_bytes: u64,
}

/// All pairs, sorted.
pub(crate) struct SortedNames<P, T> {
    pairs: Sorted<P, T>,
    /// Most bytes of temporary files so far.
    pub(crate) peak_bytes: u64,
    /// Bytes of the names, each counted once, as the last visit of the names found.
    pub(crate) name_bytes: u64,
}

enum Sorted<P, T> {
    Memory(Pairs<P>),
    Run { file: T, run: Extent, window: usize },
}

/// One of all pairs.
struct Pair<'a, P> {
    name: &'a [u8],
    /// Whether no pair before has this name.
    is_first: bool,
    payload: P,
}

/// Pairs in memory.
struct Pairs<P> {
    /// All names, one behind the other.
    text: Vec<u8>,
    entries: Vec<Entry<P>>,
}

#[derive(Clone, Copy)]
struct Entry<P> {
    /// While they are sorted, the bytes behind those with which all names begin.
    key: u64,
    /// Where the name begins in the text, and in the lowest 16 bits its length.
    place: u64,
    payload: P,
}

/// Length of the longest common prefix of all names.
pub(super) fn common_bytes<'a>(mut names: impl Iterator<Item = &'a [u8]>) -> usize {
    let first = names.next().unwrap_or_default();
    names.fold(first.len(), |common, name| shared(&first[..common], name))
}

/// The first 8 bytes as a number: where those of two names differ, these compare as the names do.
pub(super) fn leading(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let bytes = name.len().min(8);
    first[..bytes].copy_from_slice(&name[..bytes]);
    u64::from_be_bytes(first)
}

impl<P: Payload, T: Spill> NameSorter<P, T> {
    /// A sorter that takes so many bytes of memory, and no fewer than 256 KiB. While a buffer grows
    /// the old one is there too, which may be half of that.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes: bytes.max(LEAST_BYTES),
            pairs: Pairs::new(),
            runs: Vec::new(),
            file: None,
            peak_bytes: 0,
        }
    }

    /// Takes a pair; `false` where there is no room for it, so that a run has to be
    /// [spilled](Self::spill) first.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a name of more than 65,535 bytes.
    pub(crate) fn push(&mut self, name: &[u8], payload: P) -> Result<bool> {
        if name.len() > MOST_NAME_BYTES {
            return Err(Error::InvalidOption {
                option: "a name",
                value: format!("{} bytes long", name.len()),
                expected: format!("names have at most {MOST_NAME_BYTES} bytes; give shorter ones"),
            });
        }
        if !self.pairs.make_room(name.len(), self.bytes) {
            return Ok(false);
        }
        self.pairs.push(name, payload);
        Ok(true)
    }

    /// Sorts what is in memory and writes it to a temporary file. Gives the number of bytes
    /// written.
    pub(crate) fn spill(&mut self, create: Create<'_, T>) -> Result<u64> {
        self.pairs.sort();
        let file = match self.file.take() {
            Some(file) => file,
            None => create()?,
        };
        let at = self.runs.last().map_or(0, |run| run.end);
        let mut writer = RunWriter::new(&file, at);
        self.pairs.visit(&mut |name, payload: P| writer.push(name, payload))?;
        let run = writer.finish()?;
        self.pairs.clear();
        self.peak_bytes = self.peak_bytes.max(run.end);
        let mut bytes = run.end - run.at;
        self.runs.push(run);
        self.file = Some(file);
        if self.runs.len() >= self.bytes / LEAST_WINDOW {
            // So many that their windows would be short: one run takes their place.
            self.pairs = Pairs::new();
            bytes += self.merge(create)?;
        }
        Ok(bytes)
    }

    /// Sorts what is there: in memory if nothing was spilled, else by one merge.
    pub(crate) fn finish(mut self, create: Create<'_, T>) -> Result<SortedNames<P, T>> {
        if self.file.is_some() {
            if !self.pairs.entries.is_empty() {
                self.spill(create)?;
            }
            self.pairs = Pairs::new();
            if self.runs.len() > 1 {
                self.merge(create)?;
            }
        }
        let pairs = match (self.file, self.runs.first()) {
            (Some(file), Some(&run)) => Sorted::Run { file, run, window: self.bytes },
            _ => {
                self.pairs.sort();
                Sorted::Memory(self.pairs)
            }
        };
        Ok(SortedNames { pairs, peak_bytes: self.peak_bytes, name_bytes: 0 })
    }

    /// Makes one run of all. Gives the number of bytes written.
    fn merge(&mut self, create: Create<'_, T>) -> Result<u64> {
        let Some(file) = self.file.take() else { return Ok(0) };
        let merged = create()?;
        let mut writer = RunWriter::new(&merged, 0);
        let window = self.bytes / (self.runs.len() + 1);
        merge(&file, &self.runs, window, &mut |name, payload: P| writer.push(name, payload))?;
        let run = writer.finish()?;
        let end = self.runs.last().map_or(0, |run| run.end);
        self.peak_bytes = self.peak_bytes.max(end + run.end);
        self.runs = vec![run];
        self.file = Some(merged);
        Ok(run.end)
    }
}

impl<P: Payload, T: Spill> SortedNames<P, T> {
    /// Gives all pairs in order, each as the number of its name among all and the payload.
    pub(crate) fn visit_pairs(&self, sink: &mut dyn FnMut(u64, P) -> Result<()>) -> Result<()> {
        let mut next = 0;
        self.visit_all(&mut |pair| {
            next += u64::from(pair.is_first);
            sink(next - 1, pair.payload)
        })
    }

    /// Gives all pairs in order.
    fn visit_all(&self, sink: &mut dyn FnMut(&Pair<'_, P>) -> Result<()>) -> Result<()> {
        let mut before: Option<Vec<u8>> = None;
        let mut visit = |name: &[u8], payload| {
            let is_first = before.as_deref() != Some(name);
            if is_first {
                let before = before.get_or_insert_default();
                before.clear();
                before.extend_from_slice(name);
            }
            sink(&Pair { name, is_first, payload })
        };
        match &self.pairs {
            Sorted::Memory(pairs) => pairs.visit(&mut visit),
            Sorted::Run { file, run, window } => {
                let mut reader = RunReader::new(file, *run, *window);
                let mut name = Vec::new();
                while let Some(payload) = reader.next(&mut name)? {
                    visit(&name, payload)?;
                }
                Ok(())
            }
        }
    }
}

impl<P: Payload, T: Spill> NameSource for SortedNames<P, T> {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut name_bytes = 0;
        self.visit_all(&mut |pair| {
            if !pair.is_first {
                return Ok(());
            }
            name_bytes += pair.name.len() as u64;
            sink(pair.name)
        })?;
        self.name_bytes = name_bytes;
        Ok(())
    }
}

impl<P: Payload> Pairs<P> {
    fn new() -> Self {
        Self { text: Vec::new(), entries: Vec::new() }
    }

    /// Makes room for another name of so many bytes, if both buffers stay within `most` bytes.
    fn make_room(&mut self, name_bytes: usize, most: usize) -> bool {
        let entry_bytes = size_of::<Entry<P>>();
        let (text, entries) = (self.text.capacity(), self.entries.capacity());
        let needed = self.text.len() + name_bytes;
        if needed > text {
            let room = most.saturating_sub(entry_bytes * entries);
            if needed > room {
                return false;
            }
            let grown = needed.max(2 * text).min(room);
            self.text.reserve_exact(grown - self.text.len());
        }
        let needed = self.entries.len() + 1;
        if needed > entries {
            let room = most.saturating_sub(self.text.capacity()) / entry_bytes;
            if needed > room {
                return false;
            }
            let grown = needed.max(2 * entries).max(FEW_ENTRIES).min(room);
            self.entries.reserve_exact(grown - self.entries.len());
        }
        true
    }

    fn push(&mut self, name: &[u8], payload: P) {
        let place = (self.text.len() as u64) << 16 | name.len() as u64;
        self.text.extend_from_slice(name);
        self.entries.push(Entry { key: 0, place, payload });
    }

    fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    /// Sorts, and drops repeats.
    fn sort(&mut self) {
        let Self { text, entries } = self;
        let name = |entry: &Entry<P>| name_of(text, entry);
        let common = common_bytes(entries.iter().map(name));
        for entry in entries.iter_mut() {
            entry.key = leading(&name_of(text, entry)[common..]);
        }
        tasks::sort_unstable_by(entries, |a, b| match a.key.cmp(&b.key) {
            Ordering::Equal => {
                let names = name(a)[common..].cmp(&name(b)[common..]);
                names.then_with(|| a.payload.cmp(&b.payload))
            }
            order => order,
        });
        entries.dedup_by(|a, b| {
            a.key == b.key && a.payload == b.payload && name_of(text, a) == name_of(text, b)
        });
    }

    fn visit(&self, sink: &mut dyn FnMut(&[u8], P) -> Result<()>) -> Result<()> {
        self.entries.iter().try_for_each(|entry| sink(name_of(&self.text, entry), entry.payload))
    }
}

#[inline]
fn name_of<'a, P>(text: &'a [u8], entry: &Entry<P>) -> &'a [u8] {
    let (at, bytes) = ((entry.place >> 16) as usize, (entry.place & 0xFFFF) as usize);
    &text[at..at + bytes]
}

/// Bytes that are written together.
const WRITE_BYTES: usize = 1 << 16;
/// Bytes that are read together at most.
const READ_BYTES: usize = 1 << 20;
/// Bytes of the two lengths of a pair.
const LENGTH_BYTES: usize = 4;

/// What belongs to a name: a fingerprint.
pub(crate) trait Payload: Pod + Ord + Send + Sync {}

impl<P: Pod + Ord + Send + Sync> Payload for P {}

/// The bytes of a run in its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) at: u64,
    pub(super) end: u64,
}

/// Writes a run.
pub(super) struct RunWriter<'a, T> {
    file: &'a T,
    start: u64,
    at: u64,
    piece: Vec<u8>,
    before: Vec<u8>,
}

impl<'a, T: Spill> RunWriter<'a, T> {
    pub(super) fn new(file: &'a T, at: u64) -> Self {
        Self { file, start: at, at, piece: Vec::new(), before: Vec::new() }
    }

    /// Adds a pair, which is not less than the one before.
    pub(super) fn push<P: Payload>(&mut self, name: &[u8], payload: P) -> Result<()> {
        let shared = shared(&self.before, name);
        let rest = &name[shared..];
        // No name has more bytes than 16 bits say.
        self.piece.extend((shared as u16).to_ne_bytes());
        self.piece.extend((rest.len() as u16).to_ne_bytes());
        self.piece.extend_from_slice(rest);
        self.piece.extend_from_slice(bytemuck::bytes_of(&payload));
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
        if self.piece.len() >= WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.file.write_at(&self.piece, self.at)?;
        self.at += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Writes what is left; gives where the run stands.
    pub(super) fn finish(mut self) -> Result<Extent> {
        self.write()?;
        Ok(Extent { at: self.start, end: self.at })
    }
}

/// Reads a run.
pub(super) struct RunReader<'a, T> {
    file: &'a T,
    /// What is not read yet.
    rest: Extent,
    window: Vec<u8>,
    /// Where in the window the next byte stands.
    at: usize,
    window_bytes: usize,
}

impl<'a, T: Spill> RunReader<'a, T> {
    pub(super) fn new(file: &'a T, run: Extent, window_bytes: usize) -> Self {
        let window_bytes = window_bytes.clamp(1, READ_BYTES);
        Self { file, rest: run, window: Vec::new(), at: 0, window_bytes }
    }

    /// Puts the next name in the place of the one before, and gives its payload.
    pub(super) fn next<P: Payload>(&mut self, name: &mut Vec<u8>) -> Result<Option<P>> {
        if self.at == self.window.len() && self.rest.at == self.rest.end {
            return Ok(None);
        }
        let mut lengths = [0; LENGTH_BYTES];
        self.fill(&mut lengths)?;
        let [a, b, c, d] = lengths;
        let shared = usize::from(u16::from_ne_bytes([a, b]));
        let rest = usize::from(u16::from_ne_bytes([c, d]));
        name.resize(shared + rest, 0);
        self.fill(&mut name[shared..])?;
        let mut payload = P::zeroed();
        self.fill(bytemuck::bytes_of_mut(&mut payload))?;
        Ok(Some(payload))
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.at == self.window.len() {
                self.load()?;
            }
            let here = &self.window[self.at..];
            let count = bytes.len().min(here.len());
            let (filled, left) = bytes.split_at_mut(count);
            filled.copy_from_slice(&here[..count]);
            self.at += count;
            bytes = left;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        // A run has whole pairs, so there is something left; else reading fails.
        let bytes = (self.rest.end - self.rest.at).clamp(1, self.window_bytes as u64);
        self.window.resize(bytes as usize, 0);
        self.file.read_at(&mut self.window, self.rest.at)?;
        self.rest.at += bytes;
        self.at = 0;
        Ok(())
    }
}

/// Gives the pairs of all runs in order, equal ones once.
pub(super) fn merge<P: Payload, T: Spill>(
    file: &T,
    runs: &[Extent],
    window_bytes: usize,
    sink: &mut dyn FnMut(&[u8], P) -> Result<()>,
) -> Result<()> {
    let mut readers = Vec::new();
    let mut heads = BinaryHeap::new();
    for (number, &run) in runs.iter().enumerate() {
        let mut reader = RunReader::new(file, run, window_bytes);
        let mut name = Vec::new();
        if let Some(payload) = reader.next::<P>(&mut name)? {
            heads.push(Reverse((name, payload, number)));
        }
        readers.push(reader);
    }
    let mut before: Option<(Vec<u8>, P)> = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((name, payload, number)) = &mut *head;
        if before.as_ref().is_none_or(|(before, of_it)| before != name || of_it != payload) {
            sink(name, *payload)?;
            match &mut before {
                Some((before, of_it)) => {
                    before.clone_from(name);
                    *of_it = *payload;
                }
                None => before = Some((name.clone(), *payload)),
            }
        }
        match readers[*number].next(name)? {
            Some(next) => *payload = next,
            None => drop(PeekMut::pop(head)),
        }
    }
    Ok(())
}
