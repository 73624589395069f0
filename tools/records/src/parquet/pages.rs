//! Pages of Parquet, whose sizes are checked before the reader believes them.
//!
//! It reserves, and mostly fills with zeros, what the header of a page states as its length when
//! decompressed, and a value for each that a dictionary states. So headers are read here first, and
//! compared with the bytes that are there, with what the codec can make of them, and with a limit.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::delta;
use super::thrift::page_sizes;

/// A page has at most so many bytes, however much memory there is: usual ones have 1 MiB.
const MAX_PAGE_BYTES: u64 = 1 << 28;
/// A header has some bytes, and perhaps the least and the greatest value.
const MAX_HEADER_BYTES: u64 = 1 << 24;
/// A column of lists may have so many values in a row group, however little memory there is: all
/// those of one row are decoded together, and a few bytes can stand for any number of them.
const LEAST_NESTED_VALUES: u64 = 1 << 24;
/// Bytes that ratios do not count.
const SLACK: u64 = 1 << 10;

/// The columns of row groups.
#[derive(Clone)]
pub struct Groups {
    file: Arc<File>,
    /// What its footer says.
    metadata: Arc<ParquetMetaData>,
    /// Those groups that are read.
    read: Range<usize>,
    /// Bytes that a page may have.
    page_bytes: u64,
    /// Values that a column of lists may have in a row group, or for each of its bytes.
    nested_values: u64,
    nested_ratio: u64,
}

impl Groups {
    /// All groups of a file, of which pages and lists may take so much memory.
    pub fn new(file: File, metadata: Arc<ParquetMetaData>, memory: u64) -> Self {
        Self {
            file: Arc::new(file),
            read: 0..metadata.num_row_groups(),
            metadata,
            page_bytes: memory.min(MAX_PAGE_BYTES),
            nested_values: (memory / 16).max(LEAST_NESTED_VALUES),
            nested_ratio: 0,
        }
    }

    /// As [`Self::new`], to copy all columns, of which lists may have as many values as their bytes
    /// on the disk have bits: those of models are longer than the texts that are looked at.
    pub fn to_copy(file: File, metadata: Arc<ParquetMetaData>, memory: u64) -> Self {
        Self { nested_ratio: 8, ..Self::new(file, metadata, memory) }
    }

    /// One of the groups.
    pub fn only(&self, group: usize) -> Self {
        Self { read: group..group + 1, ..self.clone() }
    }

    fn read(&self) -> &[RowGroupMetaData] {
        self.metadata.row_groups().get(self.read.clone()).unwrap_or_default()
    }
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        let rows = self.read().iter().map(RowGroupMetaData::num_rows);
        let rows = rows.fold(0u64, |sum, rows| sum.saturating_add(rows.try_into().unwrap_or(0)));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let groups = self.clone();
        let group = groups.read.start;
        Ok(Box::new(Chunks { groups, column, group }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.read().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The parts of a column in each row group.
struct Chunks {
    groups: Groups,
    column: usize,
    group: usize,
}

impl PageIterator for Chunks {}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.group;
        self.group += 1;
        let is_read = self.groups.read.contains(&group);
        let group = self.groups.metadata.row_groups().get(group).filter(|_| is_read)?;
        Some(self.pages(group))
    }
}

impl Chunks {
    fn pages(&self, group: &RowGroupMetaData) -> Result<Box<dyn PageReader>> {
        let column = group.columns().get(self.column).ok_or_else(|| eof("a column is missing"))?;
        let rows =
            usize::try_from(group.num_rows()).map_err(|_| eof("a negative number of rows"))?;
        let groups = &self.groups;
        let length = Length::len(&*groups.file);
        let (start, bytes) = column.byte_range();
        if start.checked_add(bytes).is_none_or(|end| end > length) {
            return Err(eof(format!(
                "a column of {bytes} bytes at byte {start}, in a file of {length}"
            )));
        }
        let is_nested = column.column_descr().max_rep_level() > 0;
        let chunk = Chunk {
            file: groups.file.clone(),
            length,
            ratio: ratio(column.compression()),
            value_bytes: match column.column_type() {
                Type::FIXED_LEN_BYTE_ARRAY => {
                    u64::try_from(column.column_descr().type_length()).unwrap_or(0).max(1)
                }
                // An integer, or the length of a text.
                _ => 4,
            },
            limit: groups.page_bytes,
            lists: is_nested.then(|| {
                let left = groups.nested_values.max(bytes.saturating_mul(groups.nested_ratio));
                Arc::new(Mutex::new(Lists { left, at: 0 }))
            }),
        };
        let pages = SerializedPageReader::new(Arc::new(chunk), column, rows, None)?;
        let descriptor = column.column_descr();
        let is_text = matches!(column.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
        let levels = [descriptor.max_rep_level(), descriptor.max_def_level()];
        Ok(match is_text {
            true => Box::new(TextPages { pages, levels, limit: groups.page_bytes }),
            false => Box::new(pages),
        })
    }
}

/// Pages of texts, which are checked when they are decompressed.
struct TextPages {
    pages: SerializedPageReader<Chunk>,
    levels: [i16; 2],
    limit: u64,
}

impl PageReader for TextPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            delta::check(page, self.levels, self.limit).map_err(eof)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for TextPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Bytes that a byte can stand for when it is decompressed, at most.
fn ratio(compression: Compression) -> u64 {
    match compression {
        Compression::UNCOMPRESSED => 1,
        // A copy of 64 bytes has 3.
        Compression::SNAPPY => 22,
        Compression::GZIP(_) => 1032,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        // A block of 128 KiB has 4. Others are not read at all.
        _ => 1 << 15,
    }
}

/// What a column of lists may still have.
struct Lists {
    left: u64,
    /// The last page that was counted: headers may be read more than once.
    at: u64,
}

/// A part of a column.
struct Chunk {
    file: Arc<File>,
    length: u64,
    ratio: u64,
    /// The least that a value of a dictionary takes.
    value_bytes: u64,
    limit: u64,
    lists: Option<Arc<Mutex<Lists>>>,
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunk {
    type T = Header;

    fn get_read(&self, start: u64) -> Result<Header> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        let (from, lists) = (BufReader::new(file), self.lists.clone());
        let Self { ratio, value_bytes, limit, .. } = *self;
        Ok(Header { from, start, ratio, value_bytes, limit, lists, checked: false })
    }

    fn get_bytes(&self, start: u64, bytes: usize) -> Result<Bytes> {
        if start.checked_add(bytes as u64).is_none_or(|end| end > self.length) {
            return Err(eof(format!("a page of {bytes} bytes at byte {start}, behind the end")));
        }
        self.file.get_bytes(start, bytes)
    }
}

/// The bytes of a page header, which is checked when they are read: the reader of pages also asks
/// for bytes that it does not want.
struct Header {
    from: BufReader<File>,
    start: u64,
    ratio: u64,
    value_bytes: u64,
    limit: u64,
    lists: Option<Arc<Mutex<Lists>>>,
    checked: bool,
}

impl Header {
    fn check(&mut self) -> io::Result<()> {
        let sizes = page_sizes(self.from.by_ref().take(MAX_HEADER_BYTES))?;
        self.from.seek(SeekFrom::Start(self.start))?;
        let place = self.start;
        let fail = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let (Ok(compressed), Ok(uncompressed)) =
            (u64::try_from(sizes.compressed), u64::try_from(sizes.uncompressed))
        else {
            return fail(format!("the page at byte {place} has a negative length"));
        };
        if uncompressed > compressed.saturating_mul(self.ratio).saturating_add(SLACK) {
            return fail(format!(
                "the page at byte {place} states {uncompressed} bytes, and has {compressed} \
                 compressed ones"
            ));
        }
        let bytes = compressed.max(uncompressed);
        if bytes > self.limit {
            return fail(format!(
                "the page at byte {place} has {bytes} bytes, where {} are allowed: give more \
                 --memory, up to {MAX_PAGE_BYTES}, or write pages of the usual size",
                self.limit
            ));
        }
        let values = u64::try_from(sizes.dictionary_values).unwrap_or(u64::MAX);
        if values > bytes / self.value_bytes {
            return fail(format!(
                "the dictionary at byte {place} states {values} values, and has {bytes} bytes"
            ));
        }
        let Some(lists) = &self.lists else { return Ok(()) };
        let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
        if place > lists.at {
            let values = u64::try_from(sizes.values).unwrap_or(u64::MAX);
            let Some(left) = lists.left.checked_sub(values) else {
                return fail(format!(
                    "the page at byte {place} adds {values} values to the lists of a row group, \
                     where {} are allowed: give more --memory, or write smaller row groups",
                    lists.left
                ));
            };
            (lists.left, lists.at) = (left, place);
        }
        Ok(())
    }
}

impl Read for Header {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.checked {
            self.check()?;
            self.checked = true;
        }
        self.from.read(to)
    }
}

fn eof(what: impl Into<String>) -> ParquetError {
    ParquetError::EOF(what.into())
}
