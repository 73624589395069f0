//! Writes the file of the names of a segment.

use std::io::Write;

use super::code::Encoder;
use super::list::{ListWriter, shared};
use crate::codec::huffman::code_lengths;
use crate::error::{Error, Result};
use crate::format::{
    GROUP_NAMES, GroupEntry, MOST_NAME_BYTES, NamesEntry, NamesHeader, PAGE_NAMES, PageEntry,
    chunk_crc, directory_crc,
};
use crate::table::WriteError;

/// Distinct names of at most 65,535 bytes that ascend.
pub(crate) trait NameSource {
    /// Gives all names in order, the same each time it is called.
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

    /// What the header says of the names, if that is known.
    fn header(&self) -> Option<NamesHeader> {
        None
    }
}

/// Writes a names file to `out`. Goes over the source twice, once for the code and once to write;
/// or once, where the source knows what the header says. Tells `progress` after each page how many
/// names were written, and in the first pass 0, and stops with the error that it gives. Memory: one
/// page, and 24 bytes and a name for each 4096 names.
pub(crate) fn write_names(
    source: &mut dyn NameSource,
    out: &mut dyn Write,
    progress: &dyn Fn(u64) -> Result<()>,
) -> Result<NamesEntry, WriteError> {
    let header = match source.header() {
        Some(header) => header,
        None => count(source, progress).map_err(WriteError::Other)?.header(),
    };
    let (bytes, header_crc) = header.encode();
    out.write_all(&bytes)?;
    let mut writer = PageWriter::new(Encoder::new(&header.code_lengths), header_crc, out);
    let mut failure = None;
    let visited = source.visit(&mut |name| {
        let written = writer.push(name, progress);
        // Only errors of this crate can pass.
        written.map_err(|error| match error {
            WriteError::Other(error) => error,
            error @ WriteError::Io(_) => {
                failure = Some(error);
                Error::Cancelled
            }
        })
    });
    visited.map_err(|error| failure.take().unwrap_or(WriteError::Other(error)))?;
    let directory = writer.finish(progress)?;
    debug_assert_eq!(directory.len() as u64, header.directory_bytes, "the source gives the same");
    let directory_crc = directory_crc(header_crc, &directory);
    let file_bytes = writer.at + directory.len() as u64 + 4;
    writer.out.write_all(&directory)?;
    writer.out.write_all(&directory_crc.to_le_bytes())?;
    Ok(NamesEntry { file_bytes, header_crc, directory_crc })
}

/// Goes over a source.
fn count(source: &mut dyn NameSource, progress: &dyn Fn(u64) -> Result<()>) -> Result<NameCounts> {
    let (mut counts, mut before) = (NameCounts::default(), Vec::new());
    source.visit(&mut |name| {
        debug_assert!(counts.names == 0 || name > &before[..], "names ascend");
        let same = shared(&before, name);
        counts.add(name, same);
        replace(&mut before, same, name);
        if counts.names.is_multiple_of(PAGE_NAMES) { progress(0) } else { Ok(()) }
    })?;
    Ok(counts)
}

/// How a name stands in its page.
enum Rank {
    /// The first of the page.
    First,
    /// The first of another group.
    Head,
    Other,
}

impl Rank {
    fn of(number: u64) -> Self {
        match () {
            () if number.is_multiple_of(PAGE_NAMES) => Self::First,
            () if number.is_multiple_of(GROUP_NAMES) => Self::Head,
            () => Self::Other,
        }
    }
}

/// What the header of a names file is made of.
pub(super) struct NameCounts {
    /// How often each byte stands in a rest.
    histogram: [u64; 256],
    pub(super) names: u64,
    name_bytes: u64,
    /// Bytes of the first names of pages.
    first_bytes: u64,
    /// The first name of the group.
    head: Vec<u8>,
}

impl Default for NameCounts {
    fn default() -> Self {
        let head = Vec::new();
        Self { histogram: [0; 256], names: 0, name_bytes: 0, first_bytes: 0, head }
    }
}

impl NameCounts {
    /// Adds the next name, whose longest common prefix with the one before it has `same` bytes.
    pub(super) fn add(&mut self, name: &[u8], same: usize) {
        debug_assert!(name.len() <= MOST_NAME_BYTES, "a name of {} bytes", name.len());
        let rank = Rank::of(self.names);
        let rest = match rank {
            Rank::First => &[],
            Rank::Head => &name[shared(&self.head, name)..],
            Rank::Other => &name[same..],
        };
        for &byte in rest {
            self.histogram[usize::from(byte)] += 1;
        }
        self.names += 1;
        self.name_bytes += name.len() as u64;
        if let Rank::First = rank {
            self.first_bytes += name.len() as u64;
        }
        if !matches!(rank, Rank::Other) {
            replace(&mut self.head, 0, name);
        }
    }

    pub(super) fn header(&self) -> NamesHeader {
        let mut lengths = [0; 256];
        lengths.copy_from_slice(&code_lengths(&self.histogram));
        let pages = self.names.div_ceil(PAGE_NAMES);
        NamesHeader {
            header_bytes: NamesHeader::HEADER_BYTES,
            name_count: self.names,
            name_bytes: self.name_bytes,
            directory_bytes: pages * PageEntry::BYTES as u64 + self.first_bytes,
            code_lengths: lengths,
        }
    }
}

/// Puts a name in the place of another one, of which it has the first `same` bytes.
fn replace(old: &mut Vec<u8>, same: usize, name: &[u8]) {
    old.truncate(same);
    old.extend_from_slice(&name[same..]);
}

/// Writes pages.
struct PageWriter<'a> {
    encoder: Encoder,
    header_crc: u32,
    out: &'a mut dyn Write,
    /// Where the page begins in the file.
    at: u64,
    names: u64,
    head: Vec<u8>,
    before: Vec<u8>,
    /// Of the page: its heads; its groups, and where each of those that are whole ends; the
    /// group that is not whole.
    heads: ListWriter,
    groups: Vec<u8>,
    group_ends: Vec<usize>,
    group: ListWriter,
    /// The entries of all pages before, and their first names with that of this page.
    entries: Vec<u8>,
    first_names: Vec<u8>,
}

impl<'a> PageWriter<'a> {
    fn new(encoder: Encoder, header_crc: u32, out: &'a mut dyn Write) -> Self {
        Self {
            encoder,
            header_crc,
            out,
            at: NamesHeader::HEADER_BYTES as u64,
            names: 0,
            head: Vec::new(),
            before: Vec::new(),
            heads: ListWriter::default(),
            groups: Vec::new(),
            group_ends: Vec::new(),
            group: ListWriter::default(),
            entries: Vec::new(),
            first_names: Vec::new(),
        }
    }

    fn push(
        &mut self,
        name: &[u8],
        progress: &dyn Fn(u64) -> Result<()>,
    ) -> Result<(), WriteError> {
        let same = shared(&self.before, name);
        match Rank::of(self.names) {
            Rank::First => {
                self.end_page(progress)?;
                self.first_names.extend_from_slice(name);
                replace(&mut self.head, 0, name);
            }
            Rank::Head => {
                self.end_group();
                let of_head = shared(&self.head, name);
                self.heads.push(&self.encoder, of_head, name);
                replace(&mut self.head, of_head, name);
            }
            Rank::Other => self.group.push(&self.encoder, same, name),
        }
        replace(&mut self.before, same, name);
        self.names += 1;
        Ok(())
    }

    fn end_group(&mut self) {
        self.group.take(&mut self.groups);
        self.group_ends.push(self.groups.len());
    }

    /// Writes the page before the next name, if there is one.
    fn end_page(&mut self, progress: &dyn Fn(u64) -> Result<()>) -> Result<(), WriteError> {
        let Some(last) = self.names.checked_sub(1) else { return Ok(()) };
        self.end_group();
        let page = last / PAGE_NAMES;
        let mut heads = Vec::new();
        self.heads.take(&mut heads);
        let front_bytes = self.group_ends.len() * GroupEntry::BYTES + heads.len();
        let mut front = Vec::with_capacity(front_bytes);
        let (mut start, mut number) = (0, page * (PAGE_NAMES / GROUP_NAMES));
        for &end in &self.group_ends {
            let crc = chunk_crc(self.header_crc, number, &self.groups[start..end]);
            front.extend(GroupEntry { end: (front_bytes + end) as u32, crc }.encode());
            (start, number) = (end, number + 1);
        }
        front.extend_from_slice(&heads);
        self.out.write_all(&front)?;
        self.out.write_all(&self.groups)?;
        self.at += (front.len() + self.groups.len()) as u64;
        let entry = PageEntry {
            end: self.at,
            name_end: self.first_names.len() as u64,
            front_bytes: front_bytes as u32,
            front_crc: chunk_crc(self.header_crc, page, &front),
        };
        self.entries.extend(entry.encode());
        self.groups.clear();
        self.group_ends.clear();
        progress(self.names - page * PAGE_NAMES).map_err(WriteError::Other)
    }

    /// Writes the last page; gives the directory.
    fn finish(&mut self, progress: &dyn Fn(u64) -> Result<()>) -> Result<Vec<u8>, WriteError> {
        self.end_page(progress)?;
        let mut directory = std::mem::take(&mut self.entries);
        directory.append(&mut self.first_names);
        Ok(directory)
    }
}
