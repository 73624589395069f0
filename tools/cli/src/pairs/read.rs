//! Reads pairs.

use std::fs::File;
use std::io::BufRead;
use std::path::Path;

use fpstore::Fingerprint;
use fpstore_records::cell::Cell;
#[cfg(feature = "parquet")]
use fpstore_records::rows::arrays::{bits_of, is_text as are_strings};
use fpstore_records::rows::{self, Kind, Limits, Lookup, Piece, Rows, Want};
use fpstore_records::{
    ColumnProblem, Counter, Layout, Origin, Problem, RECIPE, RawParser, RecordProblem, Stream,
    full_hex, is_stdin, is_text, signed, stdin, unsigned,
};

use super::{NAMES, PairFormat};
use crate::failure::Failure;
use crate::target::failure;

const PARQUET: &[u8] = b"PAR1";
/// What a line of names begins with, which `join --as tsv,header` writes.
const HEADER: &[u8] = b"a\tb\tdistance";
/// Bytes that a file is judged by: a line of names, and a row up to its distance.
const HEAD_BYTES: usize = 256;
/// The places of the columns among those that are wanted.
const A: usize = 0;
const B: usize = 1;
const DISTANCE: usize = 2;
const IDS: [usize; 2] = [3, 4];
const WANTED: &str = "give files that `join --as parquet` wrote";

/// A row of a file of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a, F> {
    /// The first fingerprint.
    pub a: F,
    /// The second one.
    pub b: F,
    /// What follows the distance: nothing, or a tab and the ids of both.
    pub rest: &'a [u8],
}

/// A file, or standard input, of which the first bytes are read.
pub struct PairSource {
    name: String,
    format: PairFormat,
    from: From,
    bits: Option<u32>,
    is_empty: bool,
    counter: Counter,
}

/// Reads the rows of a file or of standard input. Memory: some hundred KiB, or the longest row; of
/// Parquet a page of each column, and some rows.
pub struct PairReader<F> {
    source: PairSource,
    /// The pairs of a piece, each with the end of what follows it in `rests`.
    pairs: Vec<(F, F, usize)>,
    rests: Vec<u8>,
    /// The next one of them.
    next: usize,
    /// Rows that were read.
    rows: u64,
    /// What ends the reading once the pairs before it are taken.
    failed: Option<Failure>,
}

enum From {
    /// Rows of TSV or Parquet, and the first piece of them.
    Rows(Box<Rows>, Option<Piece>),
    /// Raw integers.
    Raw(Stream),
}

impl PairSource {
    /// Opens a file, or standard input where `path` is `-`. TSV and Parquet are recognised; raw
    /// integers, which anything could be, must be said to be some. A piece of Parquet may take so
    /// much memory.
    pub fn open(path: &Path, format: Option<PairFormat>, memory: u64) -> Result<Self, Failure> {
        let (origin, file) = match is_stdin(path) {
            true => (Origin::Stdin, stdin()),
            false => (Origin::File(path.to_path_buf()), File::open(path)),
        };
        let name = origin.to_string();
        let file = file.map_err(failure(path, "open"))?;
        let again = file.try_clone().map_err(failure(path, "open"))?;
        let fault = |problem| Failure::from(origin.error(problem));
        let mut stream = Stream::new(file);
        let mut counter = stream.counter();
        if let Some(codec) = stream.codec().map_err(fault)? {
            stream = stream.decompressed(codec).map_err(failure(path, "read"))?;
        }
        // As many bytes as tell what they are: a pipe may bring less than a row at once, and no
        // more for long.
        while stream.head().len() < HEAD_BYTES
            && !stream.has_ended()
            && bits_of_row(stream.head()).is_none()
            && !stream.head().starts_with(PARQUET)
        {
            stream.grow().map_err(|error| fault(stream.problem(error)))?;
        }
        let refused = |place: &str, what: String| Failure::Pairs {
            name: name.clone(),
            place: place.to_string(),
            what,
        };
        let head = stream.head();
        let told = bits_of_row(head);
        let format = format_of(head, format).map_err(|what| refused("byte 0", what))?;
        if format.raw().is_some() {
            let bits = (format == PairFormat::U32le).then_some(32);
            let (is_empty, from) = (head.is_empty(), From::Raw(stream));
            return Ok(Self { name, format, from, bits, is_empty, counter });
        }
        let mut rows = if format == PairFormat::Parquet {
            if !again.metadata().is_ok_and(|data| data.is_file()) {
                return Err(Failure::Usage(format!(
                    "{}: Parquet is read from its end and cannot come through a pipe; give a file",
                    path.display()
                )));
            }
            counter = Counter::default();
            let rows =
                Rows::of_parquet(origin.clone(), again, memory, wants(&NAMES), counter.clone());
            let rows = rows.map_err(|problem| match problem {
                Problem::Column(ColumnProblem::Type { name, found, .. }) => {
                    refused("columns", format!("\"{name}\" is of type {found}; {WANTED}"))
                }
                problem => fault(problem),
            })?;
            if let Some(absent) = [A, B].into_iter().find(|&column| !rows.has(column)) {
                let what = format!("there is no \"{}\"; {WANTED}", NAMES[absent]);
                return Err(refused("columns", what));
            }
            rows
        } else {
            let header = head.starts_with(HEADER);
            let names = if header { NAMES } else { ["1", "2", "3", "4", "5"] };
            let (of, limits) = (origin.clone(), Limits::default());
            Rows::of_text(of, stream, Layout::Tsv, wants(&names), limits, header)
                .map_err(|problem| failed(problem, &name, &origin))?
        };
        // A pipe may bring no more than what has told all that is asked here.
        let piece = match told {
            Some(_) if format == PairFormat::Tsv => None,
            _ => rows.next_piece().map_err(|problem| failed(problem, &name, &origin))?,
        };
        let bits = told_by_type(&rows).or_else(|| match format {
            PairFormat::Parquet => {
                let mut lookup = Lookup::default();
                let row = piece.as_ref()?.row(0, &mut lookup).ok()?;
                told_bits(row.cell(A).text()?)
            }
            _ => told,
        });
        // A file of Parquet without a row may still say what its columns are.
        let is_empty = piece.is_none() && bits.is_none();
        let from = From::Rows(Box::new(rows), piece);
        let source = Self { name, format, from, bits, is_empty, counter };
        source.check_ids()?;
        Ok(source)
    }

    /// Finds ids of one side alone, and of two kinds.
    fn check_ids(&self) -> Result<(), Failure> {
        let From::Rows(rows, _) = &self.from else { return Ok(()) };
        let is_pair = match self.format {
            PairFormat::Parquet => {
                rows.has(IDS[0]) == rows.has(IDS[1])
                    && are_strings_of(rows, IDS[0]) == are_strings_of(rows, IDS[1])
            }
            _ => return Ok(()),
        };
        match is_pair {
            true => Ok(()),
            false => Err(Failure::Pairs {
                name: self.name.clone(),
                place: "columns".to_string(),
                what: format!("the ids of a and b are not of one kind; {WANTED}"),
            }),
        }
    }

    /// How it is written.
    pub fn format(&self) -> PairFormat {
        self.format
    }

    /// Bits of its fingerprints, if it tells that: raw integers of 8 bytes do not.
    pub fn bits(&self) -> Option<u32> {
        self.bits
    }

    /// Whether it holds no row, and tells nothing.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Reads its rows.
    ///
    /// # Errors
    /// It tells that its fingerprints have another width.
    pub fn reader<F: Fingerprint>(self) -> Result<PairReader<F>, Failure> {
        // Integers of 8 bytes are words of anything but 32 bits.
        let of_words = (F::BITS == 32 && self.format == PairFormat::U64le).then_some(64);
        if let Some(found) = self.bits.or(of_words).filter(|&bits| bits != F::BITS) {
            let what = format!(
                "pairs of fingerprints of {found} bits, where {} are wanted; give pairs of those",
                F::BITS
            );
            let place = match self.format {
                PairFormat::Parquet => "columns",
                PairFormat::Tsv => "first row",
                PairFormat::U64le | PairFormat::U32le => "byte 0",
            };
            return Err(Failure::Pairs { name: self.name, place: place.to_string(), what });
        }
        let (pairs, rests) = (Vec::new(), Vec::new());
        Ok(PairReader { source: self, pairs, rests, next: 0, rows: 0, failed: None })
    }
}

/// The columns of pairs by their names; none of them must be there, so that what is wrong is told
/// here.
fn wants(names: &[&str; 5]) -> Vec<Want> {
    let kinds = [Kind::AnyFingerprint, Kind::AnyFingerprint, Kind::Id, Kind::Ids, Kind::Ids];
    names.iter().zip(kinds).map(|(name, kind)| Want::new(*name, kind).or_none()).collect()
}

/// What is wrong with an input of rows.
fn failed(problem: Problem, name: &str, origin: &Origin) -> Failure {
    match problem {
        Problem::Record(at, RecordProblem::Long { limit }) => Failure::Pairs {
            name: name.to_string(),
            place: at.to_string(),
            what: format!(
                "a row of more than {limit} bytes; check the file, or join with --limit-ids"
            ),
        },
        problem => origin.error(problem).into(),
    }
}

/// Bits of the fingerprints, as the type of the column of `a` tells.
#[cfg(feature = "parquet")]
fn told_by_type(rows: &Rows) -> Option<u32> {
    bits_of(rows.data_type(A)?)?
}

/// Whether the ids of a column are strings, where its type tells.
#[cfg(feature = "parquet")]
fn are_strings_of(rows: &Rows, column: usize) -> Option<bool> {
    match rows.data_type(column)? {
        arrow_schema::DataType::List(item) => Some(are_strings(item.data_type())),
        _ => None,
    }
}

/// Texts have no types.
#[cfg(not(feature = "parquet"))]
fn told_by_type(_: &Rows) -> Option<u32> {
    None
}

#[cfg(not(feature = "parquet"))]
fn are_strings_of(_: &Rows, _: usize) -> Option<bool> {
    None
}

/// The fingerprint of all of its digits, in lower case.
fn digits<F: Fingerprint>(text: &[u8]) -> Option<F> {
    let is_own = text.len() == F::BITS as usize / 4 && !text.iter().any(u8::is_ascii_uppercase);
    is_own.then(|| full_hex(text)).flatten()
}

/// Bits of the fingerprint that a text is all the digits of.
fn told_bits(text: &[u8]) -> Option<u32> {
    match text.len() {
        8 => digits::<u32>(text).map(|_| 32),
        16 => digits::<u64>(text).map(|_| 64),
        32 => digits::<u128>(text).map(|_| 128),
        64 => digits::<[u64; 4]>(text).map(|_| 256),
        _ => None,
    }
}

/// Bits of the fingerprints of the first row of TSV, if there is one.
fn bits_of_row(head: &[u8]) -> Option<u32> {
    let rows = match head.starts_with(HEADER) {
        true => &head[head.iter().position(|&byte| byte == b'\n')? + 1..],
        false => head,
    };
    let mut fields = rows.splitn(3, |&byte| byte == b'\t');
    let bits = told_bits(fields.next()?)?;
    (told_bits(fields.next()?)? == bits && fields.next().is_some()).then_some(bits)
}

/// The format of a file with these first bytes, if it is what the user says.
fn format_of(head: &[u8], given: Option<PairFormat>) -> Result<PairFormat, String> {
    let is_parquet = head.starts_with(PARQUET);
    match given {
        Some(format) if format.raw().is_some() && bits_of_row(head).is_some() => {
            Err("these are rows of TSV, not raw integers; leave --format out".to_string())
        }
        Some(PairFormat::Parquet) if !is_parquet => {
            Err("this is no Parquet; leave --format out".to_string())
        }
        Some(format) => Ok(format),
        None if is_parquet => Ok(PairFormat::Parquet),
        // What is wrong with a text is told with its line.
        None if is_text(&head[..head.len().min(HEAD_BYTES)], false) => Ok(PairFormat::Tsv),
        None => Err("neither rows of TSV nor Parquet; give --format u64le if these are raw \
                     integers, as `join --as u64le` writes them"
            .to_string()),
    }
}

impl<F: Fingerprint> PairReader<F> {
    /// The name, for messages.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Whether ids are strings, where the file says so.
    pub fn id_strings(&self) -> Option<bool> {
        are_strings_of(self.rows_of()?, IDS[0])
    }

    /// By which recipe the fingerprints were made, where the file says so.
    pub fn recipe(&self) -> Option<String> {
        self.note(RECIPE)
    }

    /// What `join` has noted in the file under a name, where it can hold notes.
    pub fn note(&self, name: &str) -> Option<String> {
        self.rows_of()?.note(name)
    }

    fn rows_of(&self) -> Option<&Rows> {
        match &self.source.from {
            From::Rows(rows, _) => Some(rows),
            From::Raw(_) => None,
        }
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.source.counter.bytes()
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with it, with its line, row or byte.
    pub fn next(&mut self) -> Result<Option<Row<'_, F>>, Failure> {
        while self.next == self.pairs.len() {
            if let Some(failure) = self.failed.take() {
                return Err(failure);
            }
            (self.next, self.rests) = (0, Vec::new());
            self.pairs.clear();
            let more = match &self.source.from {
                From::Raw(_) => self.fill_raw()?,
                From::Rows(..) => self.fill()?,
            };
            if !more {
                return Ok(None);
            }
        }
        let start = self.next.checked_sub(1).map_or(0, |before| self.pairs[before].2);
        let (a, b, end) = self.pairs[self.next];
        self.next += 1;
        Ok(Some(Row { a, b, rest: &self.rests[start..end] }))
    }

    /// Takes the pairs of the next piece up to a fault; tells whether there was one.
    fn fill(&mut self) -> Result<bool, Failure> {
        let source = &mut self.source;
        let From::Rows(rows, first) = &mut source.from else { return Ok(false) };
        let piece = match first.take() {
            Some(piece) => piece,
            None => {
                let (name, origin) = (&source.name, Origin::File(source.name.clone().into()));
                let piece = rows.next_piece().map_err(|problem| failed(problem, name, &origin))?;
                let Some(piece) = piece else { return Ok(false) };
                piece
            }
        };
        let is_text = source.format == PairFormat::Tsv;
        let columns = rows.columns();
        let has_ids = if is_text { columns == 5 } else { rows.has(IDS[0]) };
        let mut lookup = Lookup::default();
        for index in 0..piece.len() {
            let row = match piece.row(index, &mut lookup) {
                _ if is_text && !matches!(columns, 3 | 5) => Err(shape::<F>()),
                Err(RecordProblem::Fields { found: 3 | 5, .. }) => {
                    Err("has other columns than the row before; give files of one join".to_string())
                }
                Err(_) => Err(shape::<F>()),
                Ok(row) => pair::<F>(&row, is_text, has_ids, &mut self.rests),
            };
            let is_whole = piece.raw(index).is_none_or(|line| line.ends_with(b"\n"));
            let row = match row {
                // Digits of the distance, or ids, may be missing.
                row if !is_whole && (row.is_ok() || self.rows > 0) => {
                    drop(row);
                    Err("the file ends within this row; write it again".to_string())
                }
                row => row,
            };
            match row {
                Ok((a, b)) => self.pairs.push((a, b, self.rests.len())),
                Err(what) => {
                    let (name, place) = (source.name.clone(), piece.at(index).to_string());
                    self.failed = Some(Failure::Pairs { name, place, what });
                    break;
                }
            }
            self.rows += 1;
        }
        Ok(true)
    }

    fn fill_raw(&mut self) -> Result<bool, Failure> {
        let source = &mut self.source;
        let From::Raw(stream) = &mut source.from else { return Ok(false) };
        let (mut parser, mut words) = (RawParser::<F>::of_words(), Vec::new());
        // Pieces end where a pair does.
        let each = 2 * (F::BITS as usize / 8);
        let origin = Origin::File(source.name.clone().into());
        let mut rest = 0;
        loop {
            let piece = stream.piece().map_err(|problem| origin.error(problem))?;
            let bytes = if piece.len() + rest < each {
                piece.len()
            } else {
                piece.len() - (piece.len() + rest) % each
            };
            let has_ended = piece.is_empty();
            parser.feed(&piece[..bytes], &mut words);
            stream.consume(bytes);
            rest = (rest + bytes) % each;
            if has_ended || rest == 0 {
                break;
            }
        }
        self.pairs.extend(words.as_chunks().0.iter().map(|&[a, b]| (a, b, 0)));
        self.rows += self.pairs.len() as u64;
        if rest > 0 {
            let place = format!("byte {}", self.rows * each as u64);
            let what = format!(
                "the file ends within this pair of {each} bytes; give files that `join --output \
                 u64le` or tsv wrote"
            );
            self.failed = Some(Failure::Pairs { name: source.name.clone(), place, what });
        }
        Ok(!self.pairs.is_empty() || self.failed.is_some())
    }
}

/// What is wrong with a row of TSV that is none.
fn shape<F: Fingerprint>() -> String {
    format!(
        "is no pair: two fingerprints of {} hexadecimal digits and their distance, and the ids of \
         both or of none, separated by tabs; give files that `join` wrote, without --as u64 or i64",
        F::BITS / 4
    )
}

/// The fingerprints of a row, whose ids are appended as TSV has them.
fn pair<F: Fingerprint>(
    row: &rows::Row<'_>,
    is_text: bool,
    has_ids: bool,
    rests: &mut Vec<u8>,
) -> Result<(F, F), String> {
    let of = |column| {
        fingerprint::<F>(&row.cell(column)).ok_or_else(|| match is_text {
            true => shape::<F>(),
            false => {
                format!("\"{}\" is no fingerprint of {} bits; {WANTED}", NAMES[column], F::BITS)
            }
        })
    };
    let (a, b) = (of(A)?, of(B)?);
    let stated = match row.cell(DISTANCE) {
        Cell::Missing => Some(a.distance(b).into()),
        Cell::Number(stated) => Some(stated),
        Cell::Bytes(text) if text.is_empty() || !text.iter().all(u8::is_ascii_digit) => {
            return Err(shape::<F>());
        }
        Cell::Bytes(text) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()),
        _ => None,
    };
    if stated != Some(u64::from(a.distance(b))) {
        let what = "the distance is not that of these fingerprints; write the file again";
        return Err(what.to_string());
    }
    for column in IDS.into_iter().filter(|_| has_ids) {
        rests.push(b'\t');
        match row.cell(column) {
            Cell::Bytes(ids) => rests.extend_from_slice(&ids),
            Cell::Null => {}
            other => return Err(format!("\"{}\" is {other}; {WANTED}", NAMES[column])),
        }
    }
    Ok((a, b))
}

fn fingerprint<F: Fingerprint>(cell: &Cell<'_>) -> Option<F> {
    match cell {
        Cell::Number(number) => unsigned(*number),
        Cell::Negative(number) => signed(*number),
        Cell::Binary(bytes) => F::from_be_slice(bytes),
        other => digits(other.text()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids of the only row of a file.
    fn row(text: &str) -> Result<(u64, u64, Vec<u8>), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{text}\n")).unwrap();
        let source = PairSource::open(file.path(), Some(PairFormat::Tsv), 1 << 24).unwrap();
        let mut reader = source.reader::<u64>().map_err(|error| error.to_string())?;
        let row = reader.next().map_err(|error| error.to_string())?;
        Ok(row.map_or((0, 0, b"none".to_vec()), |row| (row.a, row.b, row.rest.to_vec())))
    }

    #[test]
    fn rows_are_pairs_with_their_distance_and_ids_of_both_or_none() {
        let keys = "000000000000000a\tffffffffffffffff";
        let expected = |rest: &[u8]| Ok((10, u64::MAX, rest.to_vec()));
        assert_eq!(row(&format!("{keys}\t62")), expected(b""));
        assert_eq!(row(&format!("{keys}\t62\t1,2\t")), expected(b"\t1,2\t"));
        assert_eq!(row(&format!("{keys}\t62\ta\\,\\tb\tc\\\\")), expected(b"\ta\\,\\tb\tc\\\\"));
        for bad in ["", "\t", "\t6x", "\t62\t", "\t62\ta", "\t62\ta\tb\tc", "\t62 \ta\tb"] {
            assert!(row(&format!("{keys}{bad}")).unwrap_err().contains("is no pair"), "{bad:?}");
        }
        for wrong in ["\t61", "\t99999999999999999999999"] {
            let error = row(&format!("{keys}{wrong}")).unwrap_err();
            assert!(error.contains("the distance is not"), "{wrong:?}: {error}");
        }
        for keys in ["000000000000000A\tffffffffffffffff\t62", "a\tb\t1", "000000000000000a"] {
            assert!(row(keys).unwrap_err().contains("is no pair"), "{keys:?}");
        }
    }
}
