//! Writes an id map, front to back.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::place::MapPlace;
use super::text;
use crate::error::{Error, IdMapProblem, Result};
use crate::fingerprint::Fingerprint;
use crate::format::{
    ENTRY_BYTES, GROUP_STRINGS, ID_MAP_FILE, IdMapFooter, IdMapTag, PAGE_STRINGS, entry,
    id_map_footer, id_map_header, numbered_crc,
};
use crate::store::{PackSession, PackSummary};

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes the id map of a store that is being packed: gives each string its number, and makes map and
/// store appear together.
///
/// Each string takes what it does not share with the one before it, and 2 to 4 bytes. Memory: 64
/// strings, 6 KiB, 12 bytes for each 32768 strings, and 256 KiB. Dropping it before
/// [`commit`](Self::commit) leaves what was there before. See [`IdMap`](crate::IdMap) for an example.
#[derive(Debug)]
pub struct IdMapWriter {
    place: MapPlace,
    strings: StringWriter,
}

impl IdMapWriter {
    /// Begins the map of the store that is going to be packed to `store`. It is written to a temporary
    /// file beside `path`.
    ///
    /// A map at `path` is replaced only where that is wanted, and only if it is the one of the store
    /// that stands at `store` now: any other one may be all that another store has. What a killed pack
    /// of this store left beside `path` is brought into its place, or removed.
    ///
    /// # Errors
    ///
    /// [`Error::IdMap`] where the map cannot be written there, [`Error::Io`] where the file system
    /// refuses.
    pub fn create(path: impl AsRef<Path>, store: impl AsRef<Path>, replace: bool) -> Result<Self> {
        let path = path.as_ref();
        let place = MapPlace::claim(path, store.as_ref(), replace)?;
        let file = place.file().try_clone().map_err(Error::io(path, "create the id map"))?;
        Ok(Self { strings: StringWriter::new(file, path)?, place })
    }

    /// Bytes of the map of these strings, as far as its directory is none of them.
    ///
    /// # Examples
    ///
    /// ```
    /// let bytes = fpstore::IdMapWriter::bytes_of(["https://a.example/1", "https://a.example/2"]);
    /// assert_eq!(bytes, 2 + 19 + 2 + 1 + 12 + 48);
    /// ```
    pub fn bytes_of<'a>(strings: impl IntoIterator<Item = &'a str>) -> u64 {
        let (mut group, mut before, mut bytes, mut count) = (Vec::new(), Vec::new(), 0, 0u64);
        for text in strings {
            if count.is_multiple_of(GROUP_STRINGS) {
                before.clear();
            }
            text::push(&mut group, &mut before, text.as_bytes());
            bytes += group.len();
            group.clear();
            count += 1;
        }
        let entries = count.div_ceil(GROUP_STRINGS) * ENTRY_BYTES as u64;
        bytes as u64 + entries + (id_map_header::END + id_map_footer::END) as u64
    }

    /// Takes a string; gives its number, to be the id of a fingerprint. Equal strings get a number
    /// each.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the file system refuses.
    pub fn push(&mut self, text: &str) -> Result<u64> {
        self.strings.push(text)
    }

    /// The number that the next string gets: how many there are.
    pub fn len(&self) -> u64 {
        self.strings.string_count
    }

    /// Whether there are no strings yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the map is written before it has its name, for who ends the process without dropping
    /// this.
    pub fn temporary(&self) -> &Path {
        self.place.temporary()
    }

    /// Ends the map and the pack. `session`, whose fingerprints came with ids, packs into the store
    /// that this was begun for. At every moment, and after any crash, the store that is visible has
    /// its map.
    ///
    /// # Errors
    ///
    /// As [`PackSession::finish`] and [`Self::create`]; [`IdMapProblem::OtherSession`] for a session
    /// of another store. There is neither a new store nor a new map then, unless only the last step
    /// failed, after which the map stands beside its place and is found there.
    pub fn commit<F: Fingerprint>(self, mut session: PackSession<F>) -> Result<PackSummary> {
        let Self { place, strings } = self;
        if session.path() != Some(place.store()) {
            let store = place.store().to_path_buf();
            return Err(IdMapProblem::OtherSession { store }.at(place.path()));
        }
        session.id_map(strings.finish()?);
        let prepared = session.prepare()?;
        let announced = place.announce()?;
        let summary = prepared.commit()?;
        announced.commit()?;
        Ok(summary)
    }
}

/// Writes the bytes of a map.
#[derive(Debug)]
pub(super) struct StringWriter {
    /// For messages.
    path: PathBuf,
    out: BufWriter<File>,
    /// Bytes written.
    at: u64,
    header_crc: u32,
    page_start: u64,
    string_count: u64,
    text_bytes: u64,
    group: Vec<u8>,
    /// The string before the next one, if it is of the same group.
    before: Vec<u8>,
    index: Vec<u8>,
    directory: Vec<u8>,
}

impl StringWriter {
    /// Starts a map in an empty file; `path` is for messages.
    pub(super) fn new(file: File, path: &Path) -> Result<Self> {
        let mut header = [0; id_map_header::END];
        let header_crc = ID_MAP_FILE.seal(&mut header);
        let mut writer = Self {
            path: path.to_path_buf(),
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            at: 0,
            header_crc,
            page_start: id_map_header::END as u64,
            string_count: 0,
            text_bytes: 0,
            group: Vec::new(),
            before: Vec::new(),
            index: Vec::new(),
            directory: Vec::new(),
        };
        writer.write(&header)?;
        Ok(writer)
    }

    /// Appends a string; gives its number.
    pub(super) fn push(&mut self, text: &str) -> Result<u64> {
        let number = self.string_count;
        text::push(&mut self.group, &mut self.before, text.as_bytes());
        self.string_count += 1;
        self.text_bytes += text.len() as u64;
        if self.string_count.is_multiple_of(GROUP_STRINGS) {
            self.end_group()?;
        }
        Ok(number)
    }

    fn end_group(&mut self) -> Result<()> {
        let number = (self.string_count - 1) / GROUP_STRINGS;
        let crc = numbered_crc(number, &self.group);
        let group = std::mem::take(&mut self.group);
        self.write(&group)?;
        self.index.extend(entry(self.at - self.page_start, crc));
        self.before.clear();
        // Room for the next group, but not for the longest one that ever was.
        if group.capacity() <= BUFFER_BYTES {
            self.group = group;
            self.group.clear();
        }
        if self.string_count.is_multiple_of(PAGE_STRINGS) { self.end_page() } else { Ok(()) }
    }

    fn end_page(&mut self) -> Result<()> {
        let number = (self.string_count - 1) / PAGE_STRINGS;
        let index = std::mem::take(&mut self.index);
        self.write(&index)?;
        self.directory.extend(entry(self.at, numbered_crc(number, &index)));
        self.page_start = self.at;
        Ok(())
    }

    /// Writes what is left, and passes all on to the system.
    pub(super) fn finish(mut self) -> Result<IdMapTag> {
        if !self.group.is_empty() {
            self.end_group()?;
        }
        if !self.index.is_empty() {
            self.end_page()?;
        }
        let directory = std::mem::take(&mut self.directory);
        self.write(&directory)?;
        let (string_count, text_bytes) = (self.string_count, self.text_bytes);
        let directory_crc = crc32fast::hash(&directory);
        let footer = IdMapFooter { string_count, text_bytes, directory_crc };
        let (footer, footer_crc) = footer.encode(self.header_crc);
        self.write(&footer)?;
        self.out.flush().map_err(Error::io(&self.path, "write the id map"))?;
        Ok(IdMapTag { string_count, file_bytes: self.at, footer_crc })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io(&self.path, "write the id map"))?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}
