//! Writes an id map, front to back.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fpstore::IdMapTag;

use super::{
    GROUP_STRINGS, MAGIC, MapError, PAGE_GROUPS, VERSION_MAJOR, VERSION_MINOR, crc, entry, footer,
    header, numbered_crc,
};

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes strings in the order of their numbers. Memory: a group, an index, 12 bytes for each 32768
/// strings, and 256 KiB.
pub struct MapWriter {
    path: PathBuf,
    out: BufWriter<File>,
    /// Bytes written.
    at: u64,
    page_start: u64,
    string_count: u64,
    text_bytes: u64,
    group: Vec<u8>,
    /// The string before the next one, if it is of the same group.
    before: Vec<u8>,
    index: Vec<u8>,
    directory: Vec<u8>,
}

impl MapWriter {
    /// Starts a map in an empty file; `path` is for messages.
    pub fn new(file: File, path: &Path) -> Result<Self, MapError> {
        let mut writer = Self {
            path: path.to_path_buf(),
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            at: 0,
            page_start: header::END as u64,
            string_count: 0,
            text_bytes: 0,
            group: Vec::new(),
            before: Vec::new(),
            index: Vec::new(),
            directory: Vec::new(),
        };
        writer.write(&head())?;
        Ok(writer)
    }

    /// The number that the next string gets.
    pub fn next_number(&self) -> u64 {
        self.string_count
    }

    /// Appends a string.
    pub fn push(&mut self, text: &str) -> Result<(), MapError> {
        let text = text.as_bytes();
        let shared = self.before.iter().zip(text).take_while(|(a, b)| a == b).count();
        let rest = &text[shared..];
        push_integer(&mut self.group, shared as u64);
        push_integer(&mut self.group, rest.len() as u64);
        self.group.extend_from_slice(rest);
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
        self.string_count += 1;
        self.text_bytes += text.len() as u64;
        if self.string_count.is_multiple_of(GROUP_STRINGS) { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), MapError> {
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
        if (number + 1).is_multiple_of(PAGE_GROUPS) { self.end_page() } else { Ok(()) }
    }

    fn end_page(&mut self) -> Result<(), MapError> {
        let number = (self.string_count - 1) / (GROUP_STRINGS * PAGE_GROUPS);
        let index = std::mem::take(&mut self.index);
        self.write(&index)?;
        self.directory.extend(entry(self.at, numbered_crc(number, &index)));
        self.page_start = self.at;
        Ok(())
    }

    /// Writes what is left, and makes the file durable.
    pub fn finish(mut self) -> Result<(IdMapTag, File), MapError> {
        if !self.group.is_empty() {
            self.end_group()?;
        }
        if !self.index.is_empty() {
            self.end_page()?;
        }
        let directory = std::mem::take(&mut self.directory);
        self.write(&directory)?;
        let mut foot = [0; footer::END];
        foot[footer::STRING_COUNT].copy_from_slice(&self.string_count.to_le_bytes());
        foot[footer::TEXT_BYTES].copy_from_slice(&self.text_bytes.to_le_bytes());
        foot[footer::DIRECTORY_CRC].copy_from_slice(&crc(&[&directory]).to_le_bytes());
        let footer_crc = crc(&[&head()[header::CRC], &foot[..footer::CRC.start]]);
        foot[footer::CRC].copy_from_slice(&footer_crc.to_le_bytes());
        self.write(&foot)?;
        let tag = IdMapTag { string_count: self.string_count, file_bytes: self.at, footer_crc };
        let path = self.path;
        let fail = |source| MapError::Io { path: path.clone(), action: "write the id map", source };
        let file = self.out.into_inner().map_err(|error| fail(error.into_error()))?;
        file.sync_all().map_err(fail)?;
        Ok((tag, file))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), MapError> {
        let fail = |source: io::Error| {
            let path = self.path.clone();
            MapError::Io { path, action: "write the id map", source }
        };
        self.out.write_all(bytes).map_err(fail)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// The header, which all maps of this version share.
fn head() -> [u8; header::END] {
    let mut head = [0; header::END];
    head[header::MAGIC].copy_from_slice(&MAGIC);
    head[header::VERSION_MAJOR].copy_from_slice(&VERSION_MAJOR.to_le_bytes());
    head[header::VERSION_MINOR].copy_from_slice(&VERSION_MINOR.to_le_bytes());
    head[header::HEADER_BYTES].copy_from_slice(&(header::END as u32).to_le_bytes());
    let crc = crc(&[&head[..header::CRC.start]]);
    head[header::CRC].copy_from_slice(&crc.to_le_bytes());
    head
}

/// Appends an integer in LEB128.
fn push_integer(to: &mut Vec<u8>, mut n: u64) {
    while n >= 128 {
        to.push(n as u8 | 128);
        n >>= 7;
    }
    to.push(n as u8);
}
