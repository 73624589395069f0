//! Reads pairs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::{PairFormat, RAW_BYTES, distance};
use crate::failure::Failure;
use crate::input::is_stdin;

/// Bytes of input that are read together.
const BUFFER_BYTES: usize = 1 << 16;
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

/// Reads the rows of a file or of standard input. Memory: 64 KiB, and the longest row.
pub struct PairReader {
    name: String,
    from: BufReader<Box<dyn Read + Send>>,
    format: PairFormat,
    line: Vec<u8>,
    /// Rows that were read, and their bytes.
    rows: u64,
    bytes: u64,
    has_ids: bool,
}

impl PairReader {
    /// Opens a file, or standard input where `path` is `-`. Without a format it is TSV if it begins
    /// with a row of it, and raw integers if not.
    pub fn open(path: &Path, format: Option<PairFormat>) -> Result<Self, Failure> {
        let (name, from): (_, Box<dyn Read + Send>) = if is_stdin(path) {
            ("standard input".to_string(), Box::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(crate::target::failure(path, "open"))?;
            (path.display().to_string(), Box::new(file))
        };
        let line = Vec::new();
        // A pipe may bring less than a row at once.
        let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
        let mut head = Vec::new();
        let read = from.by_ref().take(KEYS as u64).read_to_end(&mut head);
        let is_tsv = head.get(16) == Some(&b'\t') && head.get(33) == Some(&b'\t');
        let judged = if is_tsv { PairFormat::Tsv } else { PairFormat::U64le };
        let from: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(from));
        let from = BufReader::with_capacity(BUFFER_BYTES, from);
        let format = format.unwrap_or(judged);
        let reader = Self { name, from, format, line, rows: 0, bytes: 0, has_ids: false };
        read.map_err(|error| reader.failure(error))?;
        Ok(reader)
    }

    /// The name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is written.
    pub fn format(&self) -> PairFormat {
        self.format
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.bytes
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with it, with its line or byte.
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Failure> {
        match self.format {
            PairFormat::Tsv => self.next_line(),
            PairFormat::U64le => self.next_raw(),
        }
    }

    fn next_line(&mut self) -> Result<Option<Row<'_>>, Failure> {
        self.line.clear();
        let read = self.from.read_until(b'\n', &mut self.line);
        let bytes = read.map_err(|error| self.failure(error))?;
        if bytes == 0 {
            return Ok(None);
        }
        self.bytes += bytes as u64;
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            // Digits of the distance, or ids, may be missing.
            return Err(self.fault("the file ends within this row; write it again"));
        }
        self.line.pop_if(|last| *last == b'\r');
        match row(&self.line) {
            Ok((a, b, rest)) => {
                let ids = rest < self.line.len();
                if self.rows > 0 && ids != self.has_ids {
                    let what = "has other columns than the row before; give files of one join";
                    return Err(self.fault(what));
                }
                (self.rows, self.has_ids) = (self.rows + 1, ids);
                Ok(Some(Row { a, b, rest: &self.line[rest..] }))
            }
            Err(what) => Err(self.fault(what)),
        }
    }

    fn next_raw(&mut self) -> Result<Option<Row<'_>>, Failure> {
        let mut pair = [0; RAW_BYTES];
        let mut there = 0;
        while there < RAW_BYTES {
            match self.from.read(&mut pair[there..]) {
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
        let place = match self.format {
            PairFormat::Tsv => format!("line {}", self.rows + 1),
            PairFormat::U64le => format!("byte {}", self.rows * RAW_BYTES as u64),
        };
        Failure::Pairs { name: self.name.clone(), place, what: what.to_string() }
    }
}

/// The fingerprints of a row of TSV, and where what follows the distance begins.
fn row(line: &[u8]) -> Result<(u64, u64, usize), &'static str> {
    const SHAPE: &str = "is no pair: two fingerprints of 16 hexadecimal digits and their distance, \
                         and the ids of both or of none, separated by tabs; give files that `join` \
                         wrote";
    let (Some(a), Some(b)) = (digits(line.get(..16)), digits(line.get(17..33))) else {
        return Err(SHAPE);
    };
    if line.get(16) != Some(&b'\t') || line.get(33) != Some(&b'\t') {
        return Err(SHAPE);
    }
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

/// The fingerprint that 16 digits stand for.
fn digits(text: Option<&[u8]>) -> Option<u64> {
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
