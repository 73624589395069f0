//! What is read of Thrift's compact protocol to check sizes before the reader of Parquet believes
//! them: page headers, and the shape of the schema. Everything else is passed over, and nothing is
//! kept.

use std::io::{self, Read};

/// Structures inside of structures; Parquet has half a dozen.
const MAX_DEPTH: u32 = 32;
/// Groups inside of groups. The reader of Parquet follows them by recursion.
const MAX_SCHEMA_DEPTH: usize = 128;
/// Bytes of the names of all columns, each with those of the groups around it: the reader keeps
/// them so, and the groups may have long names.
const MAX_PATH_BYTES: u64 = 1 << 26;

const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// The sizes of a page, as its header states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageSizes {
    /// Bytes when it is decompressed.
    pub uncompressed: i64,
    /// Bytes in the file.
    pub compressed: i64,
    /// Values of a dictionary; 0 for other pages.
    pub dictionary_values: i64,
    /// Values of data, nulls included; 0 for other pages.
    pub values: i64,
}

/// Reads the sizes in a page header.
pub fn page_sizes(from: impl Read) -> io::Result<PageSizes> {
    let mut thrift = Thrift(from);
    let mut sizes = PageSizes::default();
    let mut last = 0;
    while let Some((id, kind)) = thrift.field(&mut last)? {
        match (id, kind) {
            (2, 4..=6) => sizes.uncompressed = thrift.integer()?,
            (3, 4..=6) => sizes.compressed = thrift.integer()?,
            (7, STRUCT) => sizes.dictionary_values = thrift.first_integer()?,
            (5 | 8, STRUCT) => sizes.values = thrift.first_integer()?.max(sizes.values),
            _ => thrift.skip(kind, MAX_DEPTH)?,
        }
    }
    Ok(sizes)
}

/// Checks the schema in a footer, which is read by recursion.
pub fn check_footer(from: impl Read) -> io::Result<()> {
    let mut thrift = Thrift(from);
    let mut last = 0;
    while let Some((id, kind)) = thrift.field(&mut last)? {
        match (id, kind) {
            (2, LIST) => thrift.check_schema()?,
            _ => thrift.skip(kind, MAX_DEPTH)?,
        }
    }
    Ok(())
}

struct Thrift<R>(R);

impl<R: Read> Thrift<R> {
    fn byte(&mut self) -> io::Result<u8> {
        byte(&mut self.0)
    }

    fn varint(&mut self) -> io::Result<u64> {
        varint(&mut self.0)
    }

    fn integer(&mut self) -> io::Result<i64> {
        self.varint().map(zigzag)
    }

    /// The number and the type of the next field; `None` at the end of the structure.
    fn field(&mut self, last: &mut i64) -> io::Result<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let (step, kind) = (byte >> 4, byte & 15);
        if kind == 0 {
            return Ok(None);
        }
        *last = match step {
            0 => self.integer()?,
            step => last.saturating_add(i64::from(step)),
        };
        Ok(Some((*last, kind)))
    }

    /// The greatest integer that a structure has as its field 1, which counts the values of a page.
    fn first_integer(&mut self) -> io::Result<i64> {
        let (mut first, mut last) = (0, 0);
        while let Some((id, kind)) = self.field(&mut last)? {
            match (id, kind) {
                (1, 4..=6) => first = self.integer()?.max(first),
                _ => self.skip(kind, MAX_DEPTH)?,
            }
        }
        Ok(first)
    }

    /// The number and the type of the elements of a list.
    fn list(&mut self) -> io::Result<(u64, u8)> {
        let byte = self.byte()?;
        let count = match byte >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Ok((count, byte & 15))
    }

    fn skip_bytes(&mut self, bytes: u64) -> io::Result<()> {
        match io::copy(&mut self.0.by_ref().take(bytes), &mut io::sink())? == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Passes over a value. Each element of a list has a byte at least, so that an end comes.
    fn skip(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(invalid("structures are nested too deeply"));
        };
        match kind {
            // Of a field the type is the value.
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let bytes = self.varint()?;
                self.skip_bytes(bytes)
            }
            LIST | SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth))
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 15, depth)
                })
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            13 => self.skip_bytes(16),
            _ => Err(invalid("a value of an unknown type")),
        }
    }

    fn skip_element(&mut self, kind: u8, depth: u32) -> io::Result<()> {
        match kind {
            1 | 2 => self.skip_bytes(1),
            kind => self.skip(kind, depth),
        }
    }

    /// Checks how deep the elements of a schema are nested, and how long their paths are. Each
    /// group stands before its children.
    fn check_schema(&mut self) -> io::Result<()> {
        let (count, kind) = self.list()?;
        if kind != STRUCT {
            return Err(invalid("the schema is none"));
        }
        // Children that are still to come, and bytes of the path.
        let mut groups: Vec<(u64, u64)> = Vec::new();
        let mut paths = 0u64;
        for _ in 0..count {
            let (children, name) = self.schema_element()?;
            while groups.pop_if(|(children, _)| *children == 0).is_some() {}
            let path = groups.last().map_or(0, |(_, path)| *path).saturating_add(name);
            if let Some((children, _)) = groups.last_mut() {
                *children -= 1;
            }
            paths = paths.saturating_add(path);
            if children > 0 {
                groups.push((children, path));
            }
            if groups.len() > MAX_SCHEMA_DEPTH {
                return Err(invalid("groups of columns are nested too deeply"));
            }
            if paths > MAX_PATH_BYTES {
                return Err(invalid("the names of its columns are too long"));
            }
        }
        Ok(())
    }

    /// The number of children, and the bytes of the name.
    fn schema_element(&mut self) -> io::Result<(u64, u64)> {
        let (mut children, mut name, mut last) = (0, 0u64, 0);
        while let Some((id, kind)) = self.field(&mut last)? {
            match (id, kind) {
                (4, 8) => {
                    let bytes = self.varint()?;
                    self.skip_bytes(bytes)?;
                    name = name.max(bytes);
                }
                (5, 4..=6) => children = u64::try_from(self.integer()?).unwrap_or(0),
                _ => self.skip(kind, MAX_DEPTH)?,
            }
        }
        Ok((children, name))
    }
}

fn byte(from: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// An integer of 7 bits in each byte, the lowest first.
pub fn varint(from: &mut impl Read) -> io::Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(from)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(invalid("an integer of more than 64 bits"))
}

/// The signed integer that stands in an unsigned one with its sign in the lowest bit.
pub fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
