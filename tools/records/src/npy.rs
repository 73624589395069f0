//! Arrays of NumPy: a header that is a literal of Python, and raw integers behind it.
//!
//! The header is parsed here, since just two shapes of array are fingerprints and everything else
//! is refused; the usual packages bring a parser generator for it.

use std::io::{BufRead, Read};

use fpstore::Fingerprint;

use crate::error::Problem;
use crate::format::Container;
use crate::raw::RawParser;
use crate::reader::{ByteOrder, Reader, Sink};
use crate::stream::Stream;

/// NumPy writes less than 1000 bytes for such arrays.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// Reads an array.
pub struct NpyReader<F: Fingerprint> {
    stream: Stream,
    parser: RawParser<F>,
    rows: u64,
    /// Bytes of rows that are still to come.
    left: u64,
}

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    /// Bytes of a fingerprint.
    each: u64,
    /// Bytes of a word with its least significant byte first; 1 where all bytes stand in order.
    swapped: usize,
    rows: u64,
}

impl<F: Fingerprint> NpyReader<F> {
    /// Reads the header.
    pub fn new(mut stream: Stream, byte_order: ByteOrder) -> Result<Self, Problem> {
        let mut start = [0; 8];
        fill(&mut stream, &mut start)?;
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                fill(&mut stream, &mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                fill(&mut stream, &mut length)?;
                usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX)
            }
            version => {
                let cause = format!("version {version} is not known; save it with a usual numpy");
                return Err(Problem::Header(Container::Npy, cause));
            }
        };
        if length > MAX_HEADER_BYTES {
            let cause = format!("a header of {length} bytes is no array of fingerprints");
            return Err(Problem::Header(Container::Npy, cause));
        }
        let mut text = vec![0; length];
        fill(&mut stream, &mut text)?;
        let header = Header::parse(&text, byte_order)
            .map_err(|cause| Problem::Header(Container::Npy, cause))?;
        let (found, wanted) = (8 * header.each as u32, F::BITS);
        if found != wanted {
            let place = "its header".to_string();
            return Err(Problem::Width { place, found, wanted });
        }
        let parser = RawParser::new(header.swapped);
        Ok(Self {
            stream,
            parser,
            rows: header.rows,
            left: header.rows.saturating_mul(header.each),
        })
    }
}

fn fill(stream: &mut Stream, to: &mut [u8]) -> Result<(), Problem> {
    stream.read_exact(to).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("the header is not whole".to_string()),
        _ => stream.problem(error),
    })
}

fn damaged(cause: String) -> Problem {
    Problem::Damaged(Container::Npy, cause)
}

impl Header {
    fn parse(text: &[u8], byte_order: ByteOrder) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the header is no text".to_string())?;
        let descr = value(text, "descr")?;
        let descr = descr
            .strip_prefix(['\'', '"'])
            .and_then(|rest| rest.split(['\'', '"']).next())
            .unwrap_or("a structure");
        let shape = shape(value(text, "shape")?)?;
        let columns_first = value(text, "fortran_order")?.starts_with("True");
        // Words of a row, and bytes of a word.
        let words = match shape[..] {
            [_] => 1,
            [_, words] => words,
            _ => 0,
        };
        let (word, swapped) = match descr {
            "<u8" | "<i8" => (8, 8),
            ">u8" | ">i8" => (8, 1),
            "<u4" | "<i4" => (4, 4),
            ">u4" | ">i4" => (4, 1),
            "|u1" | "<u1" | "u1" if shape.len() == 2 => {
                let swapped = if byte_order == ByteOrder::Little { words } else { 1 };
                (1, usize::try_from(swapped).unwrap_or(1))
            }
            _ => (0, 1),
        };
        let each = match word * words.min(32) {
            each @ (4 | 8 | 16 | 32) if words <= 32 => each,
            _ => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                return Err(format!(
                    "an array of type \"{}\" and shape ({}) holds no fingerprints; save uint64 of \
                     shape (n), or uint8 of shape (n, 8), or as many more as they have more bits",
                    descr.escape_debug(),
                    shape.join(", ")
                ));
            }
        };
        if columns_first && words > 1 {
            let advice = "save np.ascontiguousarray(a)";
            return Err(format!("the bytes of a row do not stand together; {advice}"));
        }
        let rows = shape[0];
        match rows.checked_mul(each) {
            Some(_) => Ok(Self { each, swapped, rows }),
            None => Err(format!("{rows} rows are more than any file holds")),
        }
    }
}

/// What stands behind a key of the header.
fn value<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let found = quoted.iter().find_map(|key| Some(text.split_once(key.as_str())?.1));
    let value = found.and_then(|rest| rest.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| format!("the header has no \"{key}\""))
}

fn shape(text: &str) -> Result<Vec<u64>, String> {
    let inside = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or_else(|| "the header has no whole shape".to_string())?;
    let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty());
    let numbers: Result<Vec<u64>, _> =
        numbers.map(|number| number.trim_end_matches('L').parse()).collect();
    numbers.map_err(|_| format!("the shape ({}) is none", inside.escape_debug()))
}

impl<F: Fingerprint> Reader<F> for NpyReader<F> {
    fn records(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        let piece = self.stream.piece()?;
        let there = piece.len();
        let bytes = there.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.parser.feed(&piece[..bytes], &mut to.records.fingerprints);
        self.stream.consume(bytes);
        self.left -= bytes as u64;
        match (self.left, there) {
            (0, _) if there > bytes => Err(damaged(format!(
                "bytes follow after the {} rows of which the header tells",
                self.rows
            ))),
            (0, 0) => Ok(false),
            (left, 0) => Err(damaged(format!(
                "it ends after {} of {} rows",
                self.rows - left.div_ceil(u64::from(F::BITS / 8)),
                self.rows
            ))),
            _ => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> Result<Header, String> {
        Header::parse(header.as_bytes(), ByteOrder::Big)
    }

    #[test]
    fn headers_of_fingerprints_are_understood() {
        for (header, each, swapped, rows) in [
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }", 8, 8, 3),
            ("{'shape': (3L,), 'descr': '>u8', 'fortran_order': True}", 8, 1, 3),
            ("{\"descr\":\"<i8\",\"fortran_order\":False,\"shape\":(0,1)}", 8, 8, 0),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (7, 8), }", 8, 1, 7),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (7, 32), }", 32, 1, 7),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3, 2)}", 16, 8, 3),
            ("{'descr': '>u8', 'fortran_order': False, 'shape': (3, 4)}", 32, 1, 3),
            ("{'descr': '<u4', 'fortran_order': False, 'shape': (5,)}", 4, 4, 5),
            ("{'descr': '<u4', 'fortran_order': False, 'shape': (5, 8)}", 32, 4, 5),
        ] {
            assert_eq!(parse(header), Ok(Header { each, swapped, rows }), "{header}");
        }
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (7, 16), }";
        let header = Header::parse(header.as_bytes(), ByteOrder::Little);
        assert_eq!(header, Ok(Header { each: 16, swapped: 16, rows: 7 }));
    }

    #[test]
    fn other_headers_are_refused_with_the_reason() {
        for (header, part) in [
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
                "type \"<f8\" and shape (3)",
            ),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3, 3)}", "shape (3, 3)"),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3, 8)}", "shape (3, 8)"),
            (
                "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 9223372036854775808)}",
                "shape (3, ",
            ),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': ()}", "shape ()"),
            ("{'descr': '|u1', 'fortran_order': True, 'shape': (3, 8)}", "ascontiguousarray"),
            ("{'descr': [('a', '<u8')], 'fortran_order': False, 'shape': (3,)}", "a structure"),
            ("{'descr': '<u8', 'shape': (3,)}", "no \"fortran_order\""),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (-3,)}", "shape (-3,) is none"),
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3", "no whole shape"),
            (
                "{'descr': '<u8', 'fortran_order': False, 'shape': (18446744073709551615,)}",
                "more than any file",
            ),
            ("", "no \"descr\""),
        ] {
            let cause = parse(header).unwrap_err();
            assert!(cause.contains(part), "{header}: {cause}");
        }
    }
}
