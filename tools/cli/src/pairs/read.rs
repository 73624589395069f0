//! Reads pairs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{PairFormat, RAW_BYTES, distance};
use crate::failure::Failure;
use crate::input::{is_stdin, is_text};

/// Bytes of input that are read together.
const BUFFER_BYTES: usize = 1 << 16;
/// A row has at most so many bytes: ids may be many.
const MAX_LINE_BYTES: u64 = 1 << 24;
const PARQUET: &[u8] = b"PAR1";
/// Bytes before the distance in a row of TSV: two fingerprints, and a tab behind each.
const KEYS: usize = 34;

/// A row of a file of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The first fingerprint.
    pub a: u64,
    /// The second one.
    pub b: u64,
    /// What follows the distance: nothing, or a tab and the ids of both.
    pub rest: &'a [u8],
}

/// Reads the rows of a file or of standard input. Memory: 64 KiB and the longest row; of Parquet a
/// page of each column, and some rows.
pub struct PairReader {
    name: String,
    from: From,
    /// What follows the distance in the row; a row of TSV as a whole.
    line: Vec<u8>,
    /// Rows that were read, with a line of names, and their bytes.
    rows: u64,
    bytes: u64,
    has_ids: Option<bool>,
}

enum From {
    Tsv(Bytes),
    Raw(Bytes),
    /// The bytes of the file are for progress.
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::ParquetPairs>, u64),
}

type Bytes = BufReader<Box<dyn Read + Send>>;

impl PairReader {
    /// Opens a file, or standard input where `path` is `-`. TSV and Parquet are recognised; raw
    /// integers, which anything could be, must be said to be some. A piece of Parquet may take so
    /// much memory.
    pub fn open(path: &Path, format: Option<PairFormat>, memory: u64) -> Result<Self, Failure> {
        let (name, file): (_, Option<File>) = if is_stdin(path) {
            ("standard input".to_string(), None)
        } else {
            let file = File::open(path).map_err(crate::target::failure(path, "open"))?;
            (path.display().to_string(), Some(file))
        };
        let again = file.as_ref().and_then(|file| file.try_clone().ok());
        let from: Box<dyn Read + Send> = match file {
            Some(file) => Box::new(file),
            None => Box::new(io::stdin()),
        };
        // A pipe may bring less than a row at once.
        let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
        let mut head = Vec::new();
        let read = from.by_ref().take(KEYS as u64).read_to_end(&mut head);
        read.map_err(|source| Failure::File { path: name.clone().into(), action: "read", source })?;
        let format = Self::format_of(&head, format).map_err(|what| Failure::Pairs {
            name: name.clone(),
            place: "byte 0".to_string(),
            what,
        })?;
        let from: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(from));
        let from = BufReader::with_capacity(BUFFER_BYTES, from);
        let from = match format {
            PairFormat::Tsv => From::Tsv(from),
            PairFormat::U64le => From::Raw(from),
            PairFormat::Parquet => Self::parquet(path, again, memory)?,
        };
        Ok(Self { name, from, line: Vec::new(), rows: 0, bytes: 0, has_ids: None })
    }

    /// The format of a file with these first bytes, if it is what the user says.
    fn format_of(head: &[u8], given: Option<PairFormat>) -> Result<PairFormat, String> {
        let is_row = head.len() == KEYS && row_keys(head).is_some();
        let is_parquet = head.starts_with(PARQUET);
        let is_text = is_text(head, false);
        match given {
            Some(PairFormat::U64le) if is_row => {
                Err("these are rows of TSV, not raw integers; leave --format out".to_string())
            }
            Some(PairFormat::Parquet) if !is_parquet => {
                Err("this is no Parquet; leave --format out".to_string())
            }
            Some(format) => Ok(format),
            None if is_parquet => Ok(PairFormat::Parquet),
            // What is wrong with a text is told with its line.
            None if is_text => Ok(PairFormat::Tsv),
            None => Err("neither rows of TSV nor Parquet; give --format u64le if these are raw \
                         integers, as `join --output u64le` writes them"
                .to_string()),
        }
    }

    #[cfg(feature = "parquet")]
    fn parquet(path: &Path, file: Option<File>, memory: u64) -> Result<From, Failure> {
        let file = file.and_then(|file| Some((file.metadata().ok()?, file)));
        match file.filter(|(data, _)| data.is_file()) {
            Some((data, file)) => {
                let pairs = super::parquet::ParquetPairs::open(path, file, memory)?;
                Ok(From::Parquet(Box::new(pairs), data.len()))
            }
            None => Err(Failure::Usage(format!(
                "{}: Parquet is read from its end and cannot come through a pipe; give a file",
                path.display()
            ))),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(path: &Path, _: Option<File>, _: u64) -> Result<From, Failure> {
        Err(Failure::Usage(format!(
            "{}: is Parquet, and this fpstore was built without its reader; build it with default \
             features, or join with --output tsv",
            path.display()
        )))
    }

    /// The name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is written.
    pub fn format(&self) -> PairFormat {
        match self.from {
            From::Tsv(_) => PairFormat::Tsv,
            From::Raw(_) => PairFormat::U64le,
            #[cfg(feature = "parquet")]
            From::Parquet(..) => PairFormat::Parquet,
        }
    }

    /// Whether ids are strings, where the file says so.
    pub fn id_strings(&self) -> Option<bool> {
        match &self.from {
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, _) => pairs.id_strings(),
            _ => None,
        }
    }

    /// By which recipe the fingerprints were made, where the file says so.
    pub fn recipe(&self) -> Option<String> {
        match &self.from {
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, _) => pairs.recipe(),
            _ => None,
        }
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        match &self.from {
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, bytes) => (*bytes as f64 * pairs.share()) as u64,
            _ => self.bytes,
        }
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with it, with its line, row or byte.
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Failure> {
        match &mut self.from {
            From::Tsv(_) => self.next_line(),
            From::Raw(_) => self.next_raw(),
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, _) => {
                let pair = pairs.next(&mut self.line)?;
                Ok(pair.map(|(a, b)| Row { a, b, rest: &self.line }))
            }
        }
    }

    fn next_line(&mut self) -> Result<Option<Row<'_>>, Failure> {
        if !self.read_line()? {
            return Ok(None);
        }
        // `join --header` begins with the names.
        if self.rows == 0 && self.line.starts_with(b"a\tb\tdistance") {
            self.rows = 1;
            if !self.read_line()? {
                return Ok(None);
            }
        }
        match row(&self.line) {
            Ok((a, b, rest)) => {
                let ids = rest < self.line.len();
                if *self.has_ids.get_or_insert(ids) != ids {
                    let what = "has other columns than the row before; give files of one join";
                    return Err(self.fault(what));
                }
                self.rows += 1;
                Ok(Some(Row { a, b, rest: &self.line[rest..] }))
            }
            Err(what) => Err(self.fault(what)),
        }
    }

    /// Reads a line without its end; gives whether there is one.
    fn read_line(&mut self) -> Result<bool, Failure> {
        self.line.clear();
        let From::Tsv(from) = &mut self.from else { return Ok(false) };
        let read = from.take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut self.line);
        let bytes = read.map_err(|error| self.failure(error))? as u64;
        if bytes == 0 {
            return Ok(false);
        }
        self.bytes += bytes;
        if bytes > MAX_LINE_BYTES {
            return Err(self.fault(&format!(
                "a row of more than {MAX_LINE_BYTES} bytes; check the file, or join with \
                 --limit-ids"
            )));
        }
        let is_whole = self.line.pop_if(|last| *last == b'\n').is_some();
        if !is_whole && (self.rows > 0 || row(&self.line).is_ok()) {
            // Digits of the distance, or ids, may be missing.
            return Err(self.fault("the file ends within this row; write it again"));
        }
        self.line.pop_if(|last| *last == b'\r');
        Ok(true)
    }

    fn next_raw(&mut self) -> Result<Option<Row<'_>>, Failure> {
        let From::Raw(from) = &mut self.from else { return Ok(None) };
        let mut pair = [0; RAW_BYTES];
        let mut there = 0;
        while there < RAW_BYTES {
            match from.read(&mut pair[there..]) {
                Ok(0) if there == 0 => return Ok(None),
                Ok(0) => {
                    let what = "the file ends within this pair of 16 bytes; give files that `join \
                                --output u64le` or tsv wrote";
                    return Err(self.fault(what));
                }
                Ok(bytes) => there += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + RAW_BYTES as u64);
        let (integers, _) = pair.as_chunks::<8>();
        let [a, b] = [0, 1].map(|at| u64::from_le_bytes(integers[at]));
        Ok(Some(Row { a, b, rest: &[] }))
    }

    fn failure(&self, source: io::Error) -> Failure {
        Failure::File { path: self.name.clone().into(), action: "read", source }
    }

    fn fault(&self, what: &str) -> Failure {
        let place = match self.format() {
            PairFormat::Tsv => format!("line {}", self.rows + 1),
            _ => format!("byte {}", self.rows * RAW_BYTES as u64),
        };
        Failure::Pairs { name: self.name.clone(), place, what: what.to_string() }
    }
}

/// The fingerprints of a row of TSV, and where what follows the distance begins.
fn row(line: &[u8]) -> Result<(u64, u64, usize), &'static str> {
    const SHAPE: &str = "is no pair: two fingerprints of 16 hexadecimal digits and their distance, \
                         and the ids of both or of none, separated by tabs; give files that `join` \
                         wrote, without --fingerprints";
    let Some((a, b)) = row_keys(line) else { return Err(SHAPE) };
    let distance_digits = line[KEYS..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = KEYS + distance_digits;
    let stated = line[KEYS..rest].iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    });
    let fields = line[rest..].iter().filter(|&&byte| byte == b'\t').count();
    let is_shape = line.get(rest).is_none_or(|&byte| byte == b'\t') && matches!(fields, 0 | 2);
    match stated {
        Some(_) if distance_digits == 0 || !is_shape => Err(SHAPE),
        Some(stated) if stated == distance(a, b) => Ok((a, b, rest)),
        _ => Err("the distance is not that of these fingerprints; write the file again"),
    }
}

/// The fingerprints that a row begins with, each with a tab behind it.
fn row_keys(line: &[u8]) -> Option<(u64, u64)> {
    let keys = digits(line.get(..16)).zip(digits(line.get(17..33)));
    keys.filter(|_| line.get(16) == Some(&b'\t') && line.get(33) == Some(&b'\t'))
}

/// The fingerprint that 16 digits stand for.
pub fn digits(text: Option<&[u8]>) -> Option<u64> {
    text?.iter().try_fold(0, |number: u64, &byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_pairs_with_their_distance_and_ids_of_both_or_none() {
        let row = |text: &str| row(text.as_bytes());
        let keys = "000000000000000a\tffffffffffffffff";
        let distance = 62;
        assert_eq!(row(&format!("{keys}\t{distance}")), Ok((10, u64::MAX, 36)));
        assert_eq!(row(&format!("{keys}\t{distance}\t1,2\t")), Ok((10, u64::MAX, 36)));
        for bad in ["", "\t", "\t6x", "\t62\t", "\t62\ta", "\t62\ta\tb\tc", "\t62 \ta\tb"] {
            assert!(row(&format!("{keys}{bad}")).unwrap_err().contains("is no pair"), "{bad:?}");
        }
        for wrong in ["\t61", "\t99999999999"] {
            let error = row(&format!("{keys}{wrong}")).unwrap_err();
            assert!(error.contains("the distance is not"), "{wrong:?}: {error}");
        }
        for keys in ["000000000000000A\tffffffffffffffff\t62", "a\tb\t1", "", "000000000000000a"] {
            assert!(row(keys).unwrap_err().contains("is no pair"), "{keys:?}");
        }
    }
}
