//! Columns of numbers and bytes in files, which grow at their end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use fpstore::files::read_exact_at;

use crate::error::Error;
use crate::error::failure;

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes of a run from which on its end is compared with that of the file.
const MOST_UNCHECKED: u64 = 1 << 20;

/// A file that grows.
pub struct Column {
    file: File,
    path: PathBuf,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Column {
    /// Goes on behind the first `bytes` of a file; what follows them is cut off.
    pub fn open(path: PathBuf, bytes: u64) -> Result<Self, Error> {
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
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
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
    pub fn sync(&mut self) -> Result<u64, Error> {
        self.pass_on()?;
        self.file.sync_data().map_err(failure(&self.path, "write"))?;
        Ok(self.bytes)
    }

    fn pass_on(&mut self) -> Result<(), Error> {
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
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(failure(path, "read"))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Fills `to` with what stands from byte `at` on.
    pub fn read(&self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        read_exact_at(&self.file, to, at).map_err(failure(&self.path, "read"))
    }

    /// The same file, to be read in order.
    pub fn ahead(&self) -> Result<Ahead, Error> {
        Ahead::open(&self.path)
    }

    /// How many bytes there are.
    fn length(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(failure(&self.path, "read"))?.len())
    }

    /// Fails if there are not so many bytes.
    pub fn check_length(&self, bytes: u64) -> Result<(), Error> {
        match self.length()? {
            length if length == bytes => Ok(()),
            length => Err(Error::System(format!(
                "{}: is damaged: it has {length} bytes where {bytes} were noted; start again with another directory",
                self.path.display()
            ))),
        }
    }

    /// All bytes.
    pub fn all(&self) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(self.length()?).unwrap_or(usize::MAX);
        let mut bytes = self.room(length)?;
        bytes.resize(length, 0);
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// All numbers.
    pub fn numbers(&self) -> Result<Vec<u64>, Error> {
        let length = self.length()? / 8 * 8;
        let mut numbers = self.room(usize::try_from(length / 8).unwrap_or(usize::MAX))?;
        let (mut piece, mut at) = (vec![0; BUFFER_BYTES], 0);
        while at < length {
            let read = BUFFER_BYTES.min(usize::try_from(length - at).unwrap_or(BUFFER_BYTES));
            self.read(at, &mut piece[..read])?;
            let bytes = piece[..read].as_chunks::<8>().0;
            numbers.extend(bytes.iter().map(|bytes| u64::from_le_bytes(*bytes)));
            at += read as u64;
        }
        Ok(numbers)
    }

    /// A list with room for so many items.
    fn room<T>(&self, items: usize) -> Result<Vec<T>, Error> {
        let mut list = Vec::new();
        list.try_reserve_exact(items).map_err(|_| {
            let bytes = items.saturating_mul(size_of::<T>());
            Error::System(format!(
                "{}: memory for {bytes} bytes was refused; allow more (`ulimit -v`, the limit of the container)",
                self.path.display()
            ))
        })?;
        Ok(list)
    }
}

/// What bytes can be read from, anywhere.
trait ReadAt {
    /// Fills `to` with what stands from byte `at` on.
    fn read_at(&mut self, at: u64, to: &mut [u8]) -> Result<(), Error>;

    /// Fails if there are fewer bytes.
    fn check_end(&self, end: u64) -> Result<(), Error>;
}

impl ReadAt for &Reader {
    fn check_end(&self, end: u64) -> Result<(), Error> {
        check_end(&self.file, &self.path, end)
    }

    fn read_at(&mut self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        self.read(at, to)
    }
}

fn check_end(file: &File, path: &Path, end: u64) -> Result<(), Error> {
    let bytes = file.metadata().map_err(failure(path, "read"))?.len();
    match end > bytes {
        true => Err(Error::System(format!(
            "{}: is damaged: a run ends at byte {end} of {bytes}; start again with another directory",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// A file that is read mostly in order, much at a time.
pub struct Ahead {
    file: BufReader<File>,
    at: u64,
    path: PathBuf,
}

impl Ahead {
    fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(failure(path, "read"))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, at: 0, path: path.to_path_buf() })
    }

    /// Fills `to` with what stands from byte `at` on.
    pub fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        let done = self.file.seek_relative(at.wrapping_sub(self.at) as i64);
        done.and_then(|()| self.file.read_exact(to)).map_err(failure(&self.path, "read"))?;
        self.at = at + to.len() as u64;
        Ok(())
    }
}

impl ReadAt for Ahead {
    fn check_end(&self, end: u64) -> Result<(), Error> {
        check_end(self.file.get_ref(), &self.path, end)
    }

    fn read_at(&mut self, at: u64, to: &mut [u8]) -> Result<(), Error> {
        self.read(at, to)
    }
}

/// Runs of bytes, one for each document, of which a second column has the ends.
pub struct Runs<R = Reader> {
    ends: R,
    bytes: R,
}

impl Runs {
    /// Opens both files.
    pub fn open(ends: &Path, bytes: &Path) -> Result<Self, Error> {
        Ok(Self { ends: Reader::open(ends)?, bytes: Reader::open(bytes)? })
    }

    /// The run with this index, in `to`.
    pub fn read(&self, index: u64, to: &mut Vec<u8>) -> Result<(), Error> {
        read_run(&mut &self.ends, &mut &self.bytes, index, to)
    }

    /// The ends of all runs, and their bytes as numbers.
    pub fn numbers(&self) -> Result<(Vec<u64>, Vec<u64>), Error> {
        Ok((self.ends.numbers()?, self.bytes.numbers()?))
    }

    /// Bytes of all runs.
    pub fn bytes(&self) -> Result<u64, Error> {
        self.bytes.length()
    }

    /// The same, to be read in order.
    pub fn ahead(&self) -> Result<Runs<Ahead>, Error> {
        Ok(Runs { ends: self.ends.ahead()?, bytes: self.bytes.ahead()? })
    }
}

impl Runs<Ahead> {
    /// The run with this index, in `to`.
    pub fn read(&mut self, index: u64, to: &mut Vec<u8>) -> Result<(), Error> {
        read_run(&mut self.ends, &mut self.bytes, index, to)
    }
}

fn read_run<R: ReadAt>(
    ends: &mut R,
    bytes: &mut R,
    index: u64,
    to: &mut Vec<u8>,
) -> Result<(), Error> {
    // Start and end stand side by side: one read.
    let mut bounds = [0; 16];
    match index.checked_sub(1) {
        Some(before) => ends.read_at(8 * before, &mut bounds)?,
        None => ends.read_at(0, &mut bounds[8..])?,
    }
    let bounds = u128::from_le_bytes(bounds);
    let (start, end) = (bounds as u64, (bounds >> 64) as u64);
    let length = end.saturating_sub(start);
    // What is as long as a text may be is looked at before memory is taken for it.
    if length > MOST_UNCHECKED {
        bytes.check_end(start.saturating_add(length))?;
    }
    to.clear();
    to.resize(length as usize, 0);
    bytes.read_at(start, to)
}
