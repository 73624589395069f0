//! Reads pairs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;

use fpstore::Fingerprint;
use fpstore_records::{Codec, Stream, is_stdin, is_text, of_words};

use super::PairFormat;
use super::digits::{digits, full_digits, told_bits};
use crate::failure::Failure;

/// Bytes of input that are read together.
const BUFFER_BYTES: usize = 1 << 16;
/// A row has at most so many bytes: ids may be many.
const MAX_LINE_BYTES: u64 = 1 << 24;
const PARQUET: &[u8] = b"PAR1";
/// What a line of names begins with, which `join --header` writes.
const HEADER: &[u8] = b"a\tb\tdistance";
/// Bytes that a file is judged by: a line of names, and a row up to its distance.
const HEAD_BYTES: usize = 256;

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
    from: From,
    bits: Option<u32>,
    is_empty: bool,
}

/// Reads the rows of a file or of standard input. Memory: 64 KiB and the longest row; of Parquet a
/// page of each column, and some rows.
pub struct PairReader<F> {
    name: String,
    from: From,
    /// What follows the distance in the row; a row of TSV as a whole.
    line: Vec<u8>,
    /// Rows that were read, with a line of names, and their bytes.
    rows: u64,
    bytes: u64,
    has_ids: Option<bool>,
    width: PhantomData<F>,
}

enum From {
    Tsv(Bytes),
    Raw(Bytes, PairFormat),
    /// The bytes of the file are for progress.
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::ParquetPairs>, u64),
}

type Bytes = BufReader<Box<dyn Read + Send>>;

impl From {
    fn format(&self) -> PairFormat {
        match self {
            From::Tsv(_) => PairFormat::Tsv,
            From::Raw(_, format) => *format,
            #[cfg(feature = "parquet")]
            From::Parquet(..) => PairFormat::Parquet,
        }
    }
}

impl PairSource {
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
        let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
        let failure = |source| Failure::File { path: name.clone().into(), action: "read", source };
        let mut head = read_head(&mut from).map_err(failure)?;
        if let Some(codec) = Codec::judge(&head) {
            let stream = Stream::new(io::Cursor::new(head).chain(from));
            let stream = stream.decompressed(codec).map_err(failure)?;
            from = BufReader::with_capacity(BUFFER_BYTES, Box::new(stream));
            head = read_head(&mut from).map_err(failure)?;
        }
        let format = format_of(&head, format).map_err(|what| Failure::Pairs {
            name: name.clone(),
            place: "byte 0".to_string(),
            what,
        })?;
        let (bits, is_empty) = (bits_of_row(&head), without_header(&head).is_empty());
        let from: Box<dyn Read + Send> = Box::new(io::Cursor::new(head).chain(from));
        let from = BufReader::with_capacity(BUFFER_BYTES, from);
        Ok(match format {
            PairFormat::Tsv => Self { name, from: From::Tsv(from), bits, is_empty },
            PairFormat::U32le => {
                Self { name, from: From::Raw(from, format), bits: Some(32), is_empty }
            }
            PairFormat::U64le => Self { name, from: From::Raw(from, format), bits: None, is_empty },
            PairFormat::Parquet => Self::parquet(path, name, again, memory)?,
        })
    }

    #[cfg(feature = "parquet")]
    fn parquet(
        path: &Path,
        name: String,
        file: Option<File>,
        memory: u64,
    ) -> Result<Self, Failure> {
        let file = file.and_then(|file| Some((file.metadata().ok()?, file)));
        match file.filter(|(data, _)| data.is_file()) {
            Some((data, file)) => {
                let mut pairs = super::parquet::ParquetPairs::open(path, file, memory)?;
                let bits = pairs.bits()?;
                let from = From::Parquet(Box::new(pairs), data.len());
                // A file without a row may still say what its columns are.
                Ok(Self { name, from, bits, is_empty: bits.is_none() })
            }
            None => Err(Failure::Usage(format!(
                "{}: Parquet is read from its end and cannot come through a pipe; give a file",
                path.display()
            ))),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(path: &Path, _: String, _: Option<File>, _: u64) -> Result<Self, Failure> {
        Err(Failure::Usage(format!(
            "{}: is Parquet, and this fpstore was built without its reader; build it with default \
             features, or join with --output tsv",
            path.display()
        )))
    }

    /// How it is written.
    pub fn format(&self) -> PairFormat {
        self.from.format()
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
        let Self { name, from, bits, .. } = self;
        // Integers of 8 bytes are words of anything but 32 bits.
        let of_words = (F::BITS == 32 && from.format() == PairFormat::U64le).then_some(64);
        if let Some(found) = bits.or(of_words).filter(|&bits| bits != F::BITS) {
            let what = format!(
                "pairs of fingerprints of {found} bits, where {} are wanted; give pairs of those",
                F::BITS
            );
            let place = match from.format() {
                PairFormat::Parquet => "columns",
                PairFormat::Tsv => "first row",
                PairFormat::U64le | PairFormat::U32le => "byte 0",
            };
            return Err(Failure::Pairs { name, place: place.to_string(), what });
        }
        let line = Vec::new();
        Ok(PairReader { name, from, line, rows: 0, bytes: 0, has_ids: None, width: PhantomData })
    }
}

/// Reads the first bytes, as many as tell what they are: a pipe may bring less than a row at once, and no more for long.
fn read_head(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES && bits_of_row(&head).is_none() && !head.starts_with(PARQUET) {
        let piece = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            break;
        }
        let bytes = piece.len().min(HEAD_BYTES - head.len());
        head.extend_from_slice(&piece[..bytes]);
        from.consume(bytes);
    }
    Ok(head)
}

/// What follows a line of names, if there is one.
fn without_header(head: &[u8]) -> &[u8] {
    if !head.starts_with(HEADER) {
        return head;
    }
    let end = head.iter().position(|&byte| byte == b'\n').map_or(head.len(), |end| end + 1);
    &head[end..]
}

/// Bits of the fingerprints of the first row of TSV, if there is one.
fn bits_of_row(head: &[u8]) -> Option<u32> {
    let mut fields = without_header(head).splitn(3, |&byte| byte == b'\t');
    let bits = told_bits(fields.next()?)?;
    (told_bits(fields.next()?)? == bits && fields.next().is_some()).then_some(bits)
}

/// The format of a file with these first bytes, if it is what the user says.
fn format_of(head: &[u8], given: Option<PairFormat>) -> Result<PairFormat, String> {
    let is_parquet = head.starts_with(PARQUET);
    let is_text = is_text(head, false);
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
        None if is_text => Ok(PairFormat::Tsv),
        None => Err("neither rows of TSV nor Parquet; give --format u64le if these are raw \
                     integers, as `join --output u64le` writes them"
            .to_string()),
    }
}

impl<F: Fingerprint> PairReader<F> {
    /// The name, for messages.
    pub fn name(&self) -> &str {
        &self.name
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

    /// What `join` has noted in the file under a name, where it can hold notes.
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables, reason = "nothing has notes"))]
    pub fn note(&self, name: &str) -> Option<String> {
        match &self.from {
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, _) => pairs.note(name),
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
    pub fn next(&mut self) -> Result<Option<Row<'_, F>>, Failure> {
        match &mut self.from {
            From::Tsv(_) => self.next_line(),
            From::Raw(..) => self.next_raw(),
            #[cfg(feature = "parquet")]
            From::Parquet(pairs, _) => {
                let pair = pairs.next(&mut self.line)?;
                Ok(pair.map(|(a, b)| Row { a, b, rest: &self.line }))
            }
        }
    }

    fn next_line(&mut self) -> Result<Option<Row<'_, F>>, Failure> {
        if !self.read_line()? {
            return Ok(None);
        }
        // `join --header` begins with the names.
        if self.rows == 0 && self.line.starts_with(HEADER) {
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
            Err(what) => Err(self.fault(&what)),
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
        if !is_whole && (self.rows > 0 || row::<F>(&self.line).is_ok()) {
            // Digits of the distance, or ids, may be missing.
            return Err(self.fault("the file ends within this row; write it again"));
        }
        self.line.pop_if(|last| *last == b'\r');
        Ok(true)
    }

    fn next_raw(&mut self) -> Result<Option<Row<'_, F>>, Failure> {
        let From::Raw(from, _) = &mut self.from else { return Ok(None) };
        let mut pair = [F::Bytes::default(); 2];
        let mut there = 0;
        for one in &mut pair {
            let mut rest = one.as_mut();
            while !rest.is_empty() {
                match from.read(rest) {
                    Ok(0) if there == 0 => return Ok(None),
                    Ok(0) => {
                        return Err(self.fault(&format!(
                            "the file ends within this pair of {} bytes; give files that `join \
                             --output u64le` or tsv wrote",
                            raw_bytes::<F>()
                        )));
                    }
                    Ok(bytes) => {
                        there += bytes;
                        rest = &mut rest[bytes..];
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(self.failure(error)),
                }
            }
        }
        (self.rows, self.bytes) = (self.rows + 1, self.bytes + raw_bytes::<F>());
        let [a, b] = pair.map(|one| of_words(one.as_ref()).unwrap_or_default());
        Ok(Some(Row { a, b, rest: &[] }))
    }

    fn failure(&self, source: io::Error) -> Failure {
        Failure::File { path: self.name.clone().into(), action: "read", source }
    }

    fn fault(&self, what: &str) -> Failure {
        let place = match self.from.format() {
            PairFormat::Tsv => format!("line {}", self.rows + 1),
            _ => format!("byte {}", self.rows * raw_bytes::<F>()),
        };
        Failure::Pairs { name: self.name.clone(), place, what: what.to_string() }
    }
}

/// Bytes of a pair as raw integers.
fn raw_bytes<F: Fingerprint>() -> u64 {
    u64::from(F::BITS) / 4
}

/// The fingerprints of a row of TSV, and where what follows the distance begins.
fn row<F: Fingerprint>(line: &[u8]) -> Result<(F, F, usize), String> {
    let shape = || {
        format!(
            "is no pair: two fingerprints of {} hexadecimal digits and their distance, and the ids \
             of both or of none, separated by tabs; give files that `join` wrote, without \
             --fingerprints",
            full_digits::<F>()
        )
    };
    let (a, b, behind) = row_keys::<F>(line).ok_or_else(shape)?;
    let distance_digits = line[behind..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = behind + distance_digits;
    let stated = line[behind..rest].iter().try_fold(0u32, |number, digit| {
        number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
    });
    let fields = line[rest..].iter().filter(|&&byte| byte == b'\t').count();
    let is_shape = line.get(rest).is_none_or(|&byte| byte == b'\t') && matches!(fields, 0 | 2);
    match stated {
        Some(_) if distance_digits == 0 || !is_shape => Err(shape()),
        Some(stated) if stated == a.distance(b) => Ok((a, b, rest)),
        _ => {
            Err("the distance is not that of these fingerprints; write the file again".to_string())
        }
    }
}

/// The fingerprints that a row begins with, each with a tab behind it, and where these end.
fn row_keys<F: Fingerprint>(line: &[u8]) -> Option<(F, F, usize)> {
    let each = full_digits::<F>();
    let key = |from: usize| {
        let key = digits(line.get(from..from + each)?);
        key.filter(|_| line.get(from + each) == Some(&b'\t'))
    };
    Some((key(0)?, key(each + 1)?, 2 * each + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_pairs_with_their_distance_and_ids_of_both_or_none() {
        let row = |text: &str| row::<u64>(text.as_bytes());
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
