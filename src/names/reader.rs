//! Reads the file of the names of a segment.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::code::Decoder;
use super::list::{Lengths, List, Missing, Numbers, shared};
use crate::access::ReadFiles;
use crate::error::{Corruption, Error, Result};
use crate::format::{
    self, Defect, GROUP_NAMES, GroupEntry, NamesEntry, NamesHeader, PAGE_NAME_GROUPS, PAGE_NAMES,
    PageEntry, chunk_crc,
};
use crate::id::IdKind;
use crate::mapped::{Bytes, prefetch};
use crate::table::Verified;

/// The open names of a segment. Any number of threads may use it.
pub(crate) struct NameColumn {
    path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) header: NamesHeader,
    header_crc: u32,
    directory: Range<usize>,
    /// The first names of all pages, in the directory.
    text: Range<usize>,
    pub(super) decoder: Decoder,
    /// Pages whose front was found sound: its CRC, and where its groups end.
    fronts: Verified,
    /// Groups whose CRC was found right.
    groups: Verified,
}

/// Where a page stands in the file.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) number: u64,
    pub(super) bytes: Range<usize>,
    /// Where its heads end, which is where its groups begin.
    front_end: usize,
    front_crc: u32,
    groups: usize,
}

impl NameColumn {
    /// Opens the names of a segment. Reads and checks the header and the directory; pages are read
    /// when they are needed. Memory: 8 KiB, and a bit for each group of 64 names and each page.
    pub(crate) fn open(
        files: &dyn ReadFiles,
        segment_number: u64,
        entry: &NamesEntry,
    ) -> Result<Self> {
        let name = format::names_name(segment_number);
        let path = files.path(&name);
        let bytes = files.bytes(&name).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Defect::corrupt(0, Corruption::NamesMissing).in_file(&path),
            _ => Error::io(&path, "open the names")(source),
        })?;
        let opened = NamesHeader::decode(&bytes, entry).and_then(|header| {
            let decoder = Decoder::new(&header.code_lengths, header.name_count);
            let decoder = decoder.ok_or_else(|| header.incomplete())?;
            header.check_directory(&bytes, entry)?;
            Ok((header, decoder))
        });
        let (header, decoder) = opened.map_err(|defect| defect.in_file(&path))?;
        // [NAM-3]: each group has an entry in the index of its page.
        let groups = header.name_count.div_ceil(GROUP_NAMES) as usize;
        let directory = header.directory(bytes.len());
        // What is read of them is asked for as a whole.
        bytes.are_random(header.header_bytes..directory.start);
        let entries = header.page_count() as usize * PageEntry::BYTES;
        Ok(Self {
            text: directory.start + entries..directory.end,
            directory,
            fronts: Verified::none_of(header.page_count() as usize),
            groups: Verified::none_of(groups),
            header_crc: entry.header_crc,
            path,
            bytes,
            header,
            decoder,
        })
    }

    /// Number of names.
    pub(crate) fn len(&self) -> u64 {
        self.header.name_count
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes in the heap, besides the file where it is in memory.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.decoder.heap_bytes() + self.fronts.heap_bytes() + self.groups.heap_bytes()
    }

    /// Checks that there is a name with this number [NAM-13].
    pub(crate) fn check_number(&self, number: u64) -> Result<()> {
        if number < self.len() {
            return Ok(());
        }
        let corruption = Corruption::NameNumber { id: number, names: self.len() };
        Err(self.error(0, corruption))
    }

    /// Puts name number `number`, which must be less than [`Self::len`], in the place of `name`.
    /// Decodes as many bytes as it has.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`]: [NAM-13], [NAM-4] to [NAM-9], as far as it reads.
    pub(crate) fn name(&self, number: u64, name: &mut Vec<u8>) -> Result<()> {
        self.check_number(number)?;
        let page = self.page(number / PAGE_NAMES)?;
        prefetch(&self.bytes[page.bytes.start..page.front_end]);
        let place = (number % PAGE_NAMES) as usize;
        let (group, place) = (place / GROUP_NAMES as usize, place % GROUP_NAMES as usize);
        let source = (&self.decoder, &self.bytes[..]);
        let mut list = List::empty();
        let mut missing = None;
        if place > 0 {
            let (at, mut lengths) = self.group_lengths(&page, group)?;
            let taken = list.take(&mut lengths, place);
            taken.map_err(|corruption| self.error(at, corruption))?;
            let decoded = list.decode(source, place - 1, name);
            missing = Some(decoded.map_err(|corruption| self.error(at, corruption))?);
        }
        if group > 0 && missing.is_none_or(|missing| missing.bytes > 0) {
            let (at, mut lengths) = self.head_lengths(&page)?;
            let taken = list.take(&mut lengths, group);
            taken.map_err(|corruption| self.error(at, corruption))?;
            let decoded = match missing {
                Some(missing) => list.fill(source, group, (name, missing)),
                None => list.decode(source, group - 1, name),
            };
            missing = Some(decoded.map_err(|corruption| self.error(at, corruption))?);
        }
        let first = self.first_name(page.number)?;
        let Some(Missing { bytes, user }) = missing else {
            name.clear();
            name.extend_from_slice(first);
            return Ok(());
        };
        let Some(first) = first.get(..bytes) else {
            let corruption = Corruption::NamesShared { name: user };
            return Err(self.error(page.bytes.start, corruption));
        };
        name[..bytes].copy_from_slice(first);
        Ok(())
    }

    /// The number of a name; `None` where it is not there. Looks at O(log n) first names of pages,
    /// and at the lengths of the up to 126 names that come before it in two lists, and decodes of
    /// these what decides.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`]: [NAM-4] to [NAM-8], as far as it reads.
    pub(crate) fn find(&self, name: &[u8]) -> Result<Option<u64>> {
        // The last page whose first name is not greater.
        let (mut start, mut end) = (0, self.header.page_count());
        while start < end {
            let middle = start + (end - start) / 2;
            if self.first_name(middle)? <= name {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        let Some(page) = start.checked_sub(1) else { return Ok(None) };
        let page = self.page(page)?;
        prefetch(&self.bytes[page.bytes.start..page.front_end]);
        let first = self.first_name(page.number)?;
        let mut common = shared(first, name);
        if common == name.len() && common == first.len() {
            return Ok(Some(page.number * PAGE_NAMES));
        }
        let source = (&self.decoder, &self.bytes[..]);
        let (at, heads) = self.head_lengths(&page)?;
        let place = heads.find(source, name, &mut common);
        let head = place.map_err(|corruption| self.error(at, corruption))?;
        let group = page.number * PAGE_NAME_GROUPS + head.before as u64;
        if head.is_there {
            return Ok(Some(group * GROUP_NAMES));
        }
        let (at, names) = self.group_lengths(&page, head.before)?;
        let place = names.find(source, name, &mut common);
        let place = place.map_err(|corruption| self.error(at, corruption))?;
        Ok(place.is_there.then_some(group * GROUP_NAMES + place.before as u64))
    }

    /// Checks that a name is of a kind [NAM-12], [NAM-14].
    pub(crate) fn check_kind(&self, number: u64, name: &[u8], kind: IdKind) -> Result<()> {
        if kind.admits(name) { Ok(()) } else { Err(self.no_such_kind(number, name, kind)) }
    }

    #[cold]
    fn no_such_kind(&self, number: u64, name: &[u8], kind: IdKind) -> Error {
        // [NAM-3]: there are not more names than the file has bits.
        let page = self.page(number / PAGE_NAMES).map_or(0, |page| page.bytes.start);
        self.error(
            page,
            match kind {
                IdKind::Text => Corruption::NamesUtf8 { name: number },
                _ => Corruption::NameWidth { name: number, found: name.len() as u64 },
            },
        )
    }

    /// The entry of a page, which there is.
    fn page_entry(&self, page: u64) -> PageEntry {
        // [NAM-2]: all entries lie in the directory.
        PageEntry::decode(&self.bytes[self.directory.start + page as usize * PageEntry::BYTES..])
    }

    /// Where a page stands. [NAM-3] was checked, but mapped bytes may change.
    pub(super) fn page(&self, number: u64) -> Result<Page> {
        let entry = self.page_entry(number);
        let start = match number.checked_sub(1) {
            Some(before) => self.page_entry(before).end as usize,
            None => self.header.header_bytes,
        };
        let end = entry.end as usize;
        let groups = self.header.groups_of(number);
        let front_end = start.checked_add(entry.front_bytes as usize).filter(|&front_end| {
            front_end <= end
                && end <= self.directory.start
                && front_end - start >= groups * GroupEntry::BYTES
        });
        let Some(front_end) = front_end else {
            let (end, front) = (entry.end, entry.front_bytes);
            let corruption = Corruption::NamesPage { page: number, end, front };
            return Err(self.error(self.directory.start, corruption));
        };
        let front_crc = entry.front_crc;
        Ok(Page { number, bytes: start..end, front_end, front_crc, groups })
    }

    /// The first name of a page, which there is.
    pub(super) fn first_name(&self, page: u64) -> Result<&[u8]> {
        let before = page.checked_sub(1);
        let start = before.map_or(0, |before| self.page_entry(before).name_end) as usize;
        let end = self.page_entry(page).name_end;
        // [NAM-3] was checked, but mapped bytes may change.
        self.bytes[self.text.clone()].get(start..end as usize).ok_or_else(|| {
            let corruption = Corruption::NamesFirst { page, end };
            self.error(self.directory.start, corruption)
        })
    }

    /// The lengths of the heads of a page, after its front was checked, and where they stand.
    pub(super) fn head_lengths(&self, page: &Page) -> Result<(usize, Lengths<'_>)> {
        if !self.fronts.contains(page.number as usize) {
            self.check_front(page)?;
        }
        let heads = page.bytes.start + page.groups * GroupEntry::BYTES..page.front_end;
        let at = heads.start;
        let first = page.number * PAGE_NAMES + GROUP_NAMES;
        let numbers = Numbers { first, step: GROUP_NAMES };
        Ok((at, Lengths::new(&self.bytes, heads, (page.groups - 1, numbers))))
    }

    /// The lengths of the names of a group but its head, after its CRC was checked, and where they
    /// stand.
    pub(super) fn group_lengths(&self, page: &Page, group: usize) -> Result<(usize, Lengths<'_>)> {
        if !self.fronts.contains(page.number as usize) {
            self.check_front(page)?;
        }
        let (bytes, crc) = self.group(page, group)?;
        prefetch(&self.bytes[bytes.clone()]);
        let number = page.number * PAGE_NAME_GROUPS + group as u64;
        if !self.groups.contains(number as usize) {
            self.bytes.will_need(bytes.clone());
            let computed = chunk_crc(self.header_crc, number, &self.bytes[bytes.clone()]);
            if computed != crc {
                let corruption =
                    Corruption::NamesGroupChecksum { group: number, found: crc, computed };
                return Err(self.error(bytes.start, corruption));
            }
            self.groups.insert(number as usize);
        }
        let at = bytes.start;
        let first = number * GROUP_NAMES + 1;
        let count = (self.header.name_count - first).min(GROUP_NAMES - 1) as usize;
        Ok((at, Lengths::new(&self.bytes, bytes, (count, Numbers { first, step: 1 }))))
    }

    /// Where a group of a page stands in the file, and its CRC.
    fn group(&self, page: &Page, group: usize) -> Result<(Range<usize>, u32)> {
        let entry = |group: usize| {
            GroupEntry::decode(&self.bytes[page.bytes.start + group * GroupEntry::BYTES..])
        };
        let start = match group.checked_sub(1) {
            Some(before) => page.bytes.start + entry(before).end as usize,
            None => page.front_end,
        };
        let GroupEntry { end, crc } = entry(group);
        let range = start..page.bytes.start + end as usize;
        if start < page.front_end || range.end < start || range.end > page.bytes.end {
            let group = page.number * PAGE_NAME_GROUPS + group as u64;
            let corruption = Corruption::NamesGroup { group, end };
            return Err(self.error(page.bytes.start, corruption));
        }
        Ok((range, crc))
    }

    /// [NAM-4] and [NAM-5].
    #[cold]
    fn check_front(&self, page: &Page) -> Result<()> {
        self.bytes.will_need(page.bytes.start..page.front_end);
        let front = &self.bytes[page.bytes.start..page.front_end];
        let (found, computed) = (page.front_crc, chunk_crc(self.header_crc, page.number, front));
        if found != computed {
            let corruption = Corruption::NamesFrontChecksum { page: page.number, found, computed };
            return Err(self.error(page.bytes.start, corruption));
        }
        let mut end = page.front_end;
        for group in 0..page.groups {
            end = self.group(page, group)?.0.end;
        }
        if end != page.bytes.end {
            let group = page.number * PAGE_NAME_GROUPS + page.groups as u64 - 1;
            let end = (end - page.bytes.start) as u32;
            return Err(self.error(page.bytes.start, Corruption::NamesGroup { group, end }));
        }
        self.fronts.insert(page.number as usize);
        Ok(())
    }

    /// Checks the stated sum of the lengths of all names [NAM-11].
    pub(super) fn check_name_bytes(&self, found: u64) -> Result<()> {
        let stated = self.header.name_bytes;
        if found != stated {
            let at = format::names_header::NAME_BYTES.start;
            return Err(self.error(at, Corruption::NamesBytes { found, stated }));
        }
        Ok(())
    }

    /// The error for a rule that the bytes at `offset` break.
    pub(super) fn error(&self, offset: usize, corruption: Corruption) -> Error {
        Defect::corrupt(offset, corruption).in_file(&self.path)
    }
}
