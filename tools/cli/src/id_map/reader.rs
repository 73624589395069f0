//! Reads strings of an id map by their numbers.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str;

use fpstore::files::open_regular;
use fpstore::{IdMapTag, Store};

use super::place::pending_path;
use super::{
    ENTRY_BYTES, GROUP_STRINGS, MAGIC, MapError, PAGE_GROUPS, VERSION_MAJOR, crc, entries, footer,
    header, numbered_crc, u32_at, u64_at,
};

/// The longest header that there is.
const MOST_HEADER_BYTES: u64 = 1 << 16;

/// An open id map. Any number of threads may read it, each through a reader of its own. Memory: 24
/// bytes for each 32768 strings.
pub struct IdMap {
    path: PathBuf,
    file: File,
    tag: IdMapTag,
    text_bytes: u64,
    header_bytes: u64,
    /// Where each page ends, and the CRC of its index.
    directory: Vec<(u64, u32)>,
}

impl IdMap {
    /// Opens the map of `store` at `path`, or the one that stands there until the pack that wrote it
    /// ends.
    pub fn of_store(path: &Path, store: &Store) -> Result<Self, MapError> {
        let Some(expected) = store.id_map() else {
            return Err(MapError::NoMap(store.path().to_path_buf()));
        };
        let open = |path: &Path| {
            let map = Self::open(path)?;
            match map.tag == expected {
                true => Ok(map),
                false => {
                    let (path, found) = (path.to_path_buf(), map.tag);
                    Err(MapError::OfOtherStore { path, found, expected })
                }
            }
        };
        open(path).or_else(|error| open(&pending_path(path)).map_err(|_| error))
    }

    /// Opens a map, and checks header, footer and directory.
    pub fn open(path: &Path) -> Result<Self, MapError> {
        let fail =
            |source| MapError::Io { path: path.to_path_buf(), action: "open the id map", source };
        if path.is_dir() {
            return Err(MapError::Directory(path.to_path_buf()));
        }
        let file = open_regular(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        let mut map = Self {
            path: path.to_path_buf(),
            file,
            tag: IdMapTag { string_count: 0, file_bytes: metadata.len(), footer_crc: 0 },
            text_bytes: 0,
            header_bytes: 0,
            directory: Vec::new(),
        };
        map.read_ends()?;
        Ok(map)
    }

    /// Checks the header as every file of the format has it; gives its CRC.
    fn read_header(&mut self) -> Result<u32, MapError> {
        let bytes = self.tag.file_bytes;
        if bytes < header::END as u64 {
            let what = format!("{bytes} bytes, the shortest header has {}", header::END);
            return Err(self.corrupt(0, "PRE-1", what));
        }
        let head = self.read(0..header::END as u64)?;
        if head[header::MAGIC] != MAGIC {
            let found = head[header::MAGIC].escape_ascii().to_string();
            return Err(self.corrupt(0, "PRE-2", format!("starts with {found}, not as an id map")));
        }
        let stated = u64::from(u32_at(&head, header::HEADER_BYTES));
        let fits = (header::END as u64..=MOST_HEADER_BYTES.min(bytes)).contains(&stated);
        if !fits || !stated.is_multiple_of(8) {
            let what = format!("a header of {stated} bytes in a file of {bytes}");
            return Err(self.corrupt(header::HEADER_BYTES.start as u64, "PRE-3", what));
        }
        self.header_bytes = stated;
        let head = self.read(0..stated)?;
        let crc_at = head.len() - header::CRC.len();
        let header_crc = u32_at(&head, crc_at..head.len());
        self.check_crc("PRE-4", crc_at as u64, header_crc, crc(&[&head[..crc_at]]))?;
        let version = u16::from_le_bytes([head[8], head[9]]);
        let path = || self.path.clone();
        if version != VERSION_MAJOR {
            return Err(MapError::Version { path: path(), found: version });
        }
        if head[header::RESERVED.start..crc_at].iter().any(|&byte| byte != 0) {
            return Err(MapError::Tail { path: path() });
        }
        Ok(header_crc)
    }

    fn read_ends(&mut self) -> Result<(), MapError> {
        let header_crc = self.read_header()?;
        let bytes = self.tag.file_bytes;
        let least = self.header_bytes + footer::END as u64;
        if bytes < least {
            let what = format!("{bytes} bytes, and the least is {least}");
            return Err(self.corrupt(0, "IDM-1", what));
        }
        let footer_at = bytes - footer::END as u64;
        let foot = self.read(footer_at..bytes)?;
        let footer_crc = u32_at(&foot, footer::CRC);
        let computed = crc(&[&header_crc.to_le_bytes(), &foot[..footer::CRC.start]]);
        self.check_crc("IDM-2", bytes - 4, footer_crc, computed)?;
        self.tag.footer_crc = footer_crc;
        self.tag.string_count = u64_at(&foot, footer::STRING_COUNT);
        self.text_bytes = u64_at(&foot, footer::TEXT_BYTES);

        let pages = self.tag.string_count.div_ceil(GROUP_STRINGS * PAGE_GROUPS);
        let directory_at = pages
            .checked_mul(ENTRY_BYTES as u64)
            .and_then(|bytes| footer_at.checked_sub(bytes))
            .filter(|&at| at >= self.header_bytes);
        let Some(directory_at) = directory_at else {
            let strings = self.tag.string_count;
            return Err(self.corrupt(
                footer_at,
                "IDM-4",
                format!("too short for {strings} strings"),
            ));
        };
        let directory = self.read(directory_at..footer_at)?;
        let stated = u32_at(&foot, footer::DIRECTORY_CRC);
        self.check_crc("IDM-4", directory_at, stated, crc(&[&directory]))?;
        self.directory = entries(&directory).collect();
        let mut start = self.header_bytes;
        for (page, &(end, _)) in self.directory.iter().enumerate() {
            let index = self.groups_of(page as u64) * ENTRY_BYTES as u64;
            if end > directory_at || end.checked_sub(start).is_none_or(|bytes| bytes <= index) {
                let what = format!("page {page} ends at {end}");
                return Err(self.corrupt(directory_at, "IDM-5", what));
            }
            start = end;
        }
        if start != directory_at {
            let what = format!("the pages end at {start}, the directory starts at {directory_at}");
            return Err(self.corrupt(directory_at, "IDM-5", what));
        }
        Ok(())
    }

    /// What the manifest of a store says of this map.
    pub fn tag(&self) -> IdMapTag {
        self.tag
    }

    /// A reader for one thread.
    pub fn reader(&self) -> MapReader<'_> {
        MapReader {
            map: self,
            page: None,
            group: None,
            text: String::new(),
            ends: Vec::new(),
            group_bytes: 0,
        }
    }

    /// Checks all strings.
    pub fn verify(&self) -> Result<(), MapError> {
        let mut reader = self.reader();
        let mut text_bytes = 0u64;
        for number in (0..self.tag.string_count).step_by(GROUP_STRINGS as usize) {
            reader.string(number)?;
            text_bytes += reader.group_bytes;
        }
        if text_bytes != self.text_bytes {
            let what = format!("{text_bytes} bytes of text, stated {}", self.text_bytes);
            let at = self.tag.file_bytes - footer::END as u64;
            return Err(self.corrupt(at, "IDM-11", what));
        }
        Ok(())
    }

    /// Number of groups of a page.
    fn groups_of(&self, page: u64) -> u64 {
        let groups = self.tag.string_count.div_ceil(GROUP_STRINGS);
        (groups - page * PAGE_GROUPS).min(PAGE_GROUPS)
    }

    /// Number of strings of a group.
    fn strings_of(&self, group: u64) -> u64 {
        (self.tag.string_count - group * GROUP_STRINGS).min(GROUP_STRINGS)
    }

    /// The index of a page, checked: where the groups end in the file, and their CRCs.
    fn index(&self, page: u64) -> Result<Page, MapError> {
        let (end, index_crc) = self.directory[page as usize];
        let start = match page {
            0 => self.header_bytes,
            _ => self.directory[page as usize - 1].0,
        };
        let groups_end = end - self.groups_of(page) * ENTRY_BYTES as u64;
        let index = self.read(groups_end..end)?;
        self.check_crc("IDM-6", groups_end, index_crc, numbered_crc(page, &index))?;
        let mut before = start;
        let mut groups = Vec::with_capacity(PAGE_GROUPS as usize);
        for (end, crc) in entries(&index) {
            let end = start.saturating_add(end);
            if end <= before || end > groups_end {
                let what = format!("a group of page {page} ends at {end}");
                return Err(self.corrupt(groups_end, "IDM-7", what));
            }
            groups.push((end, crc));
            before = end;
        }
        if before != groups_end {
            let what = format!("the groups of page {page} end at {before}");
            return Err(self.corrupt(groups_end, "IDM-7", what));
        }
        Ok(Page { number: page, start, groups })
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>, MapError> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        read_exact_at(&self.file, &mut bytes, range.start).map_err(|source| {
            let path = self.path.clone();
            MapError::Io { path, action: "read the id map", source }
        })?;
        Ok(bytes)
    }

    fn check_crc(
        &self,
        rule: &'static str,
        at: u64,
        found: u32,
        computed: u32,
    ) -> Result<(), MapError> {
        match found == computed {
            true => Ok(()),
            false => Err(self.corrupt(at, rule, format!("CRC {computed:08x}, stated {found:08x}"))),
        }
    }

    fn corrupt(&self, at: u64, rule: &'static str, what: String) -> MapError {
        MapError::Corrupt { path: self.path.clone(), at, rule, what }
    }
}

/// A page, as its index tells.
struct Page {
    number: u64,
    start: u64,
    groups: Vec<(u64, u32)>,
}

/// Bytes of text of a group that is kept whole.
const KEPT_BYTES: usize = 1 << 20;

/// Reads strings for one thread. It keeps one index and one group, so that numbers that follow one
/// another are cheap.
///
/// Memory: the bytes of a group, as they stand in the file, up to three times, and a MiB. Strings that
/// share what stands there once are not all kept, however long they become.
pub struct MapReader<'a> {
    map: &'a IdMap,
    page: Option<Page>,
    /// The group whose strings are there.
    group: Option<u64>,
    /// The strings of the group, one after the other, and where each ends; without a group one string.
    pub(super) text: String,
    ends: Vec<usize>,
    /// Bytes of all strings of the group that was decoded last.
    group_bytes: u64,
}

impl MapReader<'_> {
    /// The string of a number. Takes at most two reads.
    pub fn string(&mut self, number: u64) -> Result<&str, MapError> {
        let strings = self.map.tag.string_count;
        if number >= strings {
            let path = self.map.path.clone();
            return Err(MapError::Number { path, number, strings });
        }
        let (group, place) = (number / GROUP_STRINGS, (number % GROUP_STRINGS) as usize);
        if self.group != Some(group) && !self.load(group, place)? {
            return Ok(&self.text);
        }
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        Ok(&self.text[start..self.ends[place]])
    }

    /// Decodes a group; tells whether it is kept, or only its string number `wanted`.
    fn load(&mut self, group: u64, wanted: usize) -> Result<bool, MapError> {
        self.group = None;
        let (map, number) = (self.map, group / PAGE_GROUPS);
        let page = match self.page.take().filter(|page| page.number == number) {
            Some(page) => page,
            None => map.index(number)?,
        };
        let place = (group % PAGE_GROUPS) as usize;
        let start = if place == 0 { page.start } else { page.groups[place - 1].0 };
        let (end, crc) = page.groups[place];
        self.page = Some(page);
        let bytes = map.read(start..end)?;
        map.check_crc("IDM-8", start, crc, numbered_crc(group, &bytes))?;
        let kept = self
            .decode(&bytes, map.strings_of(group), wanted)
            .map_err(|(rule, what)| map.corrupt(start, rule, format!("group {group}: {what}")))?;
        self.group = Some(group).filter(|_| kept);
        Ok(kept)
    }

    /// Forgets all strings but one, if that is there.
    fn keep_only(&mut self, wanted: usize) {
        match self.ends.get(wanted) {
            Some(&end) => {
                self.text.truncate(end);
                let start = wanted.checked_sub(1).map_or(0, |before| self.ends[before]);
                self.text.drain(..start);
            }
            None => self.text.clear(),
        }
        self.ends.clear();
    }

    /// Decodes the strings of a group; tells whether they are kept, or only number `wanted`.
    fn decode(
        &mut self,
        mut bytes: &[u8],
        strings: u64,
        wanted: usize,
    ) -> Result<bool, (&'static str, String)> {
        self.text.clear();
        self.ends.clear();
        self.group_bytes = 0;
        let mut kept = true;
        let mut before: Vec<u8> = Vec::new();
        for number in 0..strings as usize {
            let fault = |what: &str| ("IDM-9", format!("string {number}: {what}"));
            let mut integer = || take_integer(&mut bytes).ok_or_else(|| fault("no integer"));
            let (shared, rest) = (integer()?, integer()?);
            if shared > before.len() as u64 {
                return Err(fault("more is shared than there is"));
            }
            let rest = bytes.split_off(..usize::try_from(rest).unwrap_or(usize::MAX));
            let rest = rest.ok_or_else(|| fault("is longer than its group"))?;
            before.truncate(shared as usize);
            before.extend_from_slice(rest);
            let text = str::from_utf8(&before)
                .map_err(|_| ("IDM-10", format!("string {number}: is no UTF-8")))?;
            self.group_bytes += text.len() as u64;
            if kept && self.text.len() + text.len() > KEPT_BYTES {
                kept = false;
                self.keep_only(wanted);
            }
            if kept || number == wanted {
                self.text.push_str(text);
                self.ends.push(self.text.len());
            }
        }
        match bytes {
            [] => Ok(kept),
            _ => Err(("IDM-9", format!("{} bytes follow the strings", bytes.len()))),
        }
    }
}

/// Takes an integer in LEB128, of at most 9 bytes and no more than it needs.
fn take_integer(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..63).step_by(7) {
        let byte = bytes.split_off_first()?;
        n |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return (*byte != 0 || shift == 0).then_some(n);
        }
    }
    None
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        let read = file.seek_read(bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}
