//! Reads strings of an id map by their numbers.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::text::Texts;
use crate::error::{Corruption, Error, IdMapProblem, Result};
use crate::files::{Destination, open_regular, read_exact_at};
use crate::fingerprint::Fingerprint;
use crate::format::{
    Defect, ENTRY_BYTES, GROUP_STRINGS, ID_MAP_FILE, IdMapFooter, IdMapTag, MOST_HEADER_BYTES,
    PAGE_GROUPS, PAGE_STRINGS, entries, id_map_footer, numbered_crc,
};
use crate::store::Store;

/// The name of a map while its store comes to be.
pub(super) fn pending_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    PathBuf::from(name)
}

/// Where the map called `path` stands: behind the links at the end of that name.
pub(super) fn place_of(path: &Path) -> PathBuf {
    match Destination::of(path) {
        Ok(Destination::File(place)) => place,
        // What is no file is refused where it is opened.
        _ => path.to_path_buf(),
    }
}

/// An open id map: the strings of the ids of a store, by their numbers.
///
/// Cheap to clone, and shared by any number of threads, each with a [reader](Self::reader) of its
/// own. Memory: 24 bytes for each 32768 strings.
///
/// # Examples
///
/// ```
/// use fpstore::{IdMap, IdMapWriter, Packer, Store};
///
/// let directory = tempfile::tempdir()?;
/// let (pages, names) = (directory.path().join("pages.fps"), directory.path().join("pages.ids"));
/// let mut map = IdMapWriter::create(&names, &pages, false)?;
/// let mut session = Packer::new().start(&pages)?;
/// for (fingerprint, url) in [(7, "https://a.example/"), (4, "https://b.example/")] {
///     session.extend_with_ids(&[(fingerprint, map.push(url)?)])?;
/// }
/// map.commit(session)?;
///
/// let store = Store::open(&pages)?;
/// let mut strings = IdMap::of_store(&names, &store)?.reader();
/// for id in store.ids(7)? {
///     assert_eq!(strings.string(id?)?, "https://a.example/");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IdMap {
    open: Arc<Open>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    tag: IdMapTag,
    text_bytes: u64,
    header_bytes: u64,
    /// Where each page ends, and the CRC of its index.
    directory: Vec<(u64, u32)>,
}

impl IdMap {
    /// Opens the map of `store` at `path`, or the one that stands beside it until the pack that wrote
    /// it ends.
    ///
    /// # Errors
    ///
    /// As [`Self::open`]; [`IdMapProblem::OfOtherStore`] if the store means another map,
    /// [`IdMapProblem::NotMeant`] if it means none.
    pub fn of_store<F: Fingerprint>(path: impl AsRef<Path>, store: &Store<F>) -> Result<Self> {
        let Some(expected) = store.id_map() else {
            return Err(IdMapProblem::NotMeant.at(store.path()));
        };
        let open = |path: &Path| {
            let map = Self::open(path)?;
            match map.tag() {
                found if found == expected => Ok(map),
                found => Err(IdMapProblem::OfOtherStore { found, expected }.at(path)),
            }
        };
        let path = path.as_ref();
        open(path).or_else(|error| open(&pending_path(&place_of(path))).map_err(|_| error))
    }

    /// Opens a map, and checks header, footer and directory. Reads 12 bytes for each 32768 strings, and
    /// 64 KiB.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the file system refuses, [`IdMapProblem::Directory`] for a directory,
    /// [`Error::Corrupt`] for damage ([PRE-1] to [IDM-5]), [`Error::Unsupported`] for what a newer
    /// version wrote.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(IdMapProblem::Directory.at(path));
        }
        let file = open_regular(path).map_err(Error::io(path, "open the id map"))?;
        let metadata = file.metadata().map_err(Error::io(path, "open the id map"))?;
        let mut open = Open {
            path: path.to_path_buf(),
            file,
            tag: IdMapTag { string_count: 0, file_bytes: metadata.len(), footer_crc: 0 },
            text_bytes: 0,
            header_bytes: 0,
            directory: Vec::new(),
        };
        open.read_ends()?;
        Ok(Self { open: Arc::new(open) })
    }

    /// Where the map is.
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    /// What the manifest of a store says of this map.
    pub fn tag(&self) -> IdMapTag {
        self.open.tag
    }

    /// Number of strings.
    pub fn len(&self) -> u64 {
        self.open.tag.string_count
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of a number. Who asks for many takes a [reader](Self::reader).
    ///
    /// # Errors
    ///
    /// As [`IdMapReader::string`].
    pub fn string(&self, number: u64) -> Result<String> {
        self.reader().string(number).map(str::to_string)
    }

    /// A reader for one thread, which keeps the map open.
    pub fn reader(&self) -> IdMapReader {
        let map = self.clone();
        IdMapReader {
            map,
            pages: HashMap::new(),
            groups: HashMap::new(),
            held: 0,
            texts: Texts::default(),
        }
    }

    /// Reads and checks all strings.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the file system refuses, [`Error::Corrupt`] for damage ([IDM-6] to
    /// [IDM-11]).
    pub fn verify(&self) -> Result<()> {
        let mut reader = self.reader();
        let mut found = 0u64;
        for number in (0..self.len()).step_by(GROUP_STRINGS as usize) {
            reader.string(number)?;
            found += reader.texts_of(number / GROUP_STRINGS).group_bytes;
        }
        let open = &self.open;
        match open.text_bytes {
            stated if stated == found => Ok(()),
            stated => {
                let at = open.tag.file_bytes - id_map_footer::END as u64;
                Err(open.corrupt(at, Corruption::IdMapTextBytes { found, stated }))
            }
        }
    }
}

impl Open {
    fn read_ends(&mut self) -> Result<()> {
        let bytes = self.tag.file_bytes;
        let start = self.read(0..bytes.min(MOST_HEADER_BYTES.into()))?;
        let header = ID_MAP_FILE.header_at_start(&start, bytes);
        let (header, header_crc) = header.map_err(|defect| self.error(defect))?;
        self.header_bytes = header.len() as u64;
        let least = self.header_bytes + id_map_footer::END as u64;
        if bytes < least {
            return Err(self.corrupt(0, Corruption::IdMapLength { found: bytes, least }));
        }
        let footer_at = bytes - id_map_footer::END as u64;
        let mut footer = [0; id_map_footer::END];
        self.read_into(&mut footer, footer_at)?;
        let (footer, footer_crc) = IdMapFooter::decode(&footer, footer_at as usize, header_crc)
            .map_err(|defect| self.error(defect))?;
        self.tag.footer_crc = footer_crc;
        self.tag.string_count = footer.string_count;
        self.text_bytes = footer.text_bytes;
        self.read_directory(&footer, footer_at)
    }

    fn read_directory(&mut self, footer: &IdMapFooter, footer_at: u64) -> Result<()> {
        let directory_at = (footer.string_count.div_ceil(PAGE_STRINGS))
            .checked_mul(ENTRY_BYTES as u64)
            .and_then(|bytes| footer_at.checked_sub(bytes))
            .filter(|&at| at >= self.header_bytes);
        let Some(directory_at) = directory_at else {
            let (strings, file_bytes) = (footer.string_count, self.tag.file_bytes);
            let corruption = Corruption::IdMapTooShort { strings, file_bytes };
            return Err(self.corrupt(footer_at, corruption));
        };
        let directory = self.read(directory_at..footer_at)?;
        let (found, computed) = (footer.directory_crc, crc32fast::hash(&directory));
        if found != computed {
            let corruption = Corruption::IdMapDirectoryChecksum { found, computed };
            return Err(self.corrupt(directory_at, corruption));
        }
        self.directory = entries(&directory).collect();
        let mut start = self.header_bytes;
        for (page, &(end, _)) in (0u64..).zip(&self.directory) {
            let index = self.groups_of(page) * ENTRY_BYTES as u64;
            if end > directory_at || end.checked_sub(start).is_none_or(|bytes| bytes <= index) {
                return Err(self.corrupt(directory_at, Corruption::IdMapPage { page, end }));
            }
            start = end;
        }
        if start != directory_at {
            let corruption = Corruption::IdMapPagesEnd { found: start, expected: directory_at };
            return Err(self.corrupt(directory_at, corruption));
        }
        Ok(())
    }

    /// Number of groups of a page.
    fn groups_of(&self, page: u64) -> u64 {
        let groups = self.tag.string_count.div_ceil(GROUP_STRINGS);
        (groups - page * PAGE_GROUPS).min(PAGE_GROUPS)
    }

    /// The first string of a group, and how many it has.
    fn strings_of(&self, group: u64) -> (u64, u64) {
        let first = group * GROUP_STRINGS;
        (first, (self.tag.string_count - first).min(GROUP_STRINGS))
    }

    /// The index of a page, checked: where the groups end in the file, and their CRCs.
    fn index(&self, page: u64) -> Result<Page> {
        let (end, found) = self.directory[page as usize];
        let start = match page {
            0 => self.header_bytes,
            _ => self.directory[page as usize - 1].0,
        };
        let groups_end = end - self.groups_of(page) * ENTRY_BYTES as u64;
        let index = self.read(groups_end..end)?;
        let computed = numbered_crc(page, &index);
        if found != computed {
            let corruption = Corruption::IdMapIndexChecksum { page, found, computed };
            return Err(self.corrupt(groups_end, corruption));
        }
        let mut before = start;
        let mut groups = Vec::with_capacity(PAGE_GROUPS as usize);
        for (group, (end, crc)) in (page * PAGE_GROUPS..).zip(entries(&index)) {
            let end = start.saturating_add(end);
            if end <= before || end > groups_end {
                return Err(self.corrupt(groups_end, Corruption::IdMapGroup { group, end }));
            }
            groups.push((end, crc));
            before = end;
        }
        if before != groups_end {
            let group = page * PAGE_GROUPS + groups.len() as u64 - 1;
            return Err(self.corrupt(groups_end, Corruption::IdMapGroup { group, end: before }));
        }
        Ok(Page { start, groups })
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read_into(&mut bytes, range.start)?;
        Ok(bytes)
    }

    fn read_into(&self, bytes: &mut [u8], at: u64) -> Result<()> {
        read_exact_at(&self.file, bytes, at).map_err(Error::io(&self.path, "read the id map"))
    }

    fn corrupt(&self, at: u64, corruption: Corruption) -> Error {
        self.error(Defect::corrupt(at as usize, corruption))
    }

    fn error(&self, defect: Defect) -> Error {
        defect.in_file(&self.path)
    }
}

/// A page, as its index tells.
#[derive(Debug)]
struct Page {
    start: u64,
    groups: Vec<(u64, u32)>,
}

/// Indexes of pages that a reader keeps: those of 8 million strings, in 2 MiB.
const KEPT_PAGES: usize = 256;
/// Bytes of decoded groups that a reader keeps. Ids come in the order of fingerprints, which is
/// none: to decode a group takes some 5 us, and each of its strings would take as long.
const KEPT_GROUP_BYTES: usize = 32 << 20;

/// Reads strings for one thread. It keeps the indexes and the groups that it has read, so that
/// numbers that follow one another are cheap, and so are those of a small map in any order.
///
/// Memory: the bytes of a group, as they stand in the file, up to three times, and some 36 MiB.
/// Strings that share what stands there once are not all kept, however long they become.
#[derive(Debug)]
pub struct IdMapReader {
    map: IdMap,
    pages: HashMap<u64, Page>,
    /// Groups of which all strings are kept, and the bytes that these take.
    groups: HashMap<u64, Texts>,
    held: usize,
    /// The group that was decoded last, where it is too large to be kept.
    texts: Texts,
}

impl IdMapReader {
    /// The string of a number. Takes at most two reads: of 6 KiB, and of a group of 64 strings.
    ///
    /// # Errors
    ///
    /// [`IdMapProblem::NoString`] for a number that is not below [`IdMap::len`], [`Error::Io`] where
    /// the file system refuses, [`Error::Corrupt`] for damage ([IDM-6] to [IDM-10]).
    pub fn string(&mut self, number: u64) -> Result<&str> {
        let strings = self.map.len();
        if number >= strings {
            return Err(IdMapProblem::NoString { number, strings }.at(self.map.path()));
        }
        let (group, place) = (number / GROUP_STRINGS, (number % GROUP_STRINGS) as usize);
        if !self.groups.contains_key(&group) && !self.load(group, place)? {
            return Ok(self.texts.get(0));
        }
        Ok(self.texts_of(group).get(place))
    }

    /// Bytes of strings that are held.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.held + self.texts.bytes()
    }

    /// The strings of a group that was read last.
    fn texts_of(&self, group: u64) -> &Texts {
        self.groups.get(&group).unwrap_or(&self.texts)
    }

    /// Decodes a group; tells whether it is kept, or only its string number `wanted`.
    fn load(&mut self, group: u64, wanted: usize) -> Result<bool> {
        let (open, number) = (&*self.map.open, group / PAGE_GROUPS);
        if !self.pages.contains_key(&number) {
            let page = open.index(number)?;
            if self.pages.len() >= KEPT_PAGES {
                self.pages.clear();
            }
            self.pages.insert(number, page);
        }
        let Some(page) = self.pages.get(&number) else { return Err(Error::Ended) };
        let place = (group % PAGE_GROUPS) as usize;
        let start = if place == 0 { page.start } else { page.groups[place - 1].0 };
        let (end, found) = page.groups[place];
        let bytes = open.read(start..end)?;
        let computed = numbered_crc(group, &bytes);
        if found != computed {
            let corruption = Corruption::IdMapGroupChecksum { group, found, computed };
            return Err(open.corrupt(start, corruption));
        }
        let decoded = self.texts.decode(&bytes, open.strings_of(group), wanted);
        let is_whole = decoded.map_err(|corruption| open.corrupt(start, corruption))?;
        if is_whole {
            let texts = std::mem::take(&mut self.texts).shrunk();
            if self.held + texts.bytes() > KEPT_GROUP_BYTES {
                self.groups.clear();
                self.held = 0;
            }
            self.held += texts.bytes();
            self.groups.insert(group, texts);
        }
        Ok(is_whole)
    }
}
