//! Columns of numbers and bytes in files, which grow at their end.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fpstore::files::read_exact_at;

use crate::failure::Failure;
use crate::target::failure;

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;

/// A file that grows.
pub struct Column {
    file: File,
    path: PathBuf,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Column {
    /// Goes on behind the first `bytes` of a file; what follows them is cut off.
    pub fn open(path: PathBuf, bytes: u64) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.and_then(|mut file| {
            file.set_len(bytes)?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(bytes))?;
            Ok(file)
        });
        let file = file.map_err(failure(&path, "write"))?;
        Ok(Self { file, path, bytes, buffer: Vec::with_capacity(BUFFER_BYTES) })
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.bytes += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.pass_on()?;
        }
        match bytes.len() > BUFFER_BYTES {
            true => self.file.write_all(bytes).map_err(failure(&self.path, "write")),
            false => {
                self.buffer.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Bytes that were appended.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes durable what was appended, and gives how many bytes that are.
    pub fn sync(&mut self) -> Result<u64, Failure> {
        self.pass_on()?;
        self.file.sync_data().map_err(failure(&self.path, "write"))?;
        Ok(self.bytes)
    }

    fn pass_on(&mut self) -> Result<(), Failure> {
        self.file.write_all(&self.buffer).map_err(failure(&self.path, "write"))?;
        self.buffer.clear();
        Ok(())
    }
}

/// A file that does not grow any more, read anywhere.
pub struct Reader {
    file: File,
    path: PathBuf,
}

impl Reader {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = File::open(path).map_err(failure(path, "read"))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Fills `to` with what stands from byte `at` on.
    pub fn read(&self, at: u64, to: &mut [u8]) -> Result<(), Failure> {
        read_exact_at(&self.file, to, at).map_err(failure(&self.path, "read"))
    }

    /// The number with this index.
    pub fn number(&self, index: u64) -> Result<u64, Failure> {
        let mut bytes = [0; 8];
        self.read(8 * index, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// All bytes.
    pub fn all(&self) -> Result<Vec<u8>, Failure> {
        let length = self.file.metadata().map_err(failure(&self.path, "read"))?.len();
        let mut bytes = Vec::new();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(length).map_err(|_| {
            Failure::System(format!(
                "{}: memory for {length} bytes was refused",
                self.path.display()
            ))
        })?;
        bytes.resize(length, 0);
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// All numbers.
    pub fn numbers(&self) -> Result<Vec<u64>, Failure> {
        Ok(self.all()?.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }
}

/// Runs of bytes, one for each document, of which a second column has the ends.
pub struct Runs {
    ends: Reader,
    bytes: Reader,
}

impl Runs {
    /// Opens both files.
    pub fn open(ends: &Path, bytes: &Path) -> Result<Self, Failure> {
        Ok(Self { ends: Reader::open(ends)?, bytes: Reader::open(bytes)? })
    }

    /// The run with this index, in `to`.
    pub fn read(&self, index: u64, to: &mut Vec<u8>) -> Result<(), Failure> {
        let start = index.checked_sub(1).map_or(Ok(0), |before| self.ends.number(before))?;
        let length = self.ends.number(index)?.saturating_sub(start);
        to.clear();
        to.resize(length as usize, 0);
        self.bytes.read(start, to)
    }
}
