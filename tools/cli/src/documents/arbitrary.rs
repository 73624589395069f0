//! Whatever the bytes of an input, its readers give records or an error, and never panic.
//!
//! Files of every format are changed at random: bytes flipped, pieces cut out, doubled and
//! exchanged, tokens put in. Runs for `FPSTORE_SECONDS` seconds, one by default (600 and more
//! before a release); prints its seed, which `FPSTORE_SEED` sets again.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use fpstore_records::{Records, Source};

use super::{DocumentArgs, Documents, Inputs};
use crate::failure::Failure;
use crate::input::InputArgs;

/// What a file may take in memory.
const MEMORY: u64 = 64 << 20;

const TOKENS: [&[u8]; 26] = [
    b"\"",
    b"\\\"",
    b"\\u",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\"text\":",
    b"\"id\":",
    b"null",
    b"1e999",
    b"-",
    b"\t",
    b"text,id\n",
    b"PAR1",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
];

#[derive(Parser)]
struct DocumentLine {
    #[command(flatten)]
    args: DocumentArgs,
}

#[derive(Parser)]
struct InputLine {
    #[command(flatten)]
    args: InputArgs,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * end.max(1) as u128) >> 64) as usize
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A file that is nearly sound.
    fn changed(&mut self, sound: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.of(sound).clone();
        for _ in 0..self.below(6) {
            let at = self.below(bytes.len() + 1);
            let end = at + self.below((bytes.len() - at).min(64) + 1);
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 => drop(bytes.drain(at..end)),
                2 => bytes.truncate(at),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                4 => {
                    let other = self.of(sound);
                    let from = self.below(other.len());
                    let piece = other[from..(from + 64).min(other.len())].to_vec();
                    bytes.splice(at..end, piece);
                }
                _ => {
                    let token = self.of(&TOKENS).to_vec();
                    bytes.splice(at..at, token);
                }
            }
        }
        bytes
    }
}

/// Sound files of every format.
fn sound() -> Vec<Vec<u8>> {
    let json = b"{\"id\":\"a\",\"text\":\"one two\\u00e9\",\"fingerprint\":\"00000000000000ff\",\"n\":[1,{\"x\":null}]}\n\
                 {\"text\":\"three \\\"four\\\"\",\"id\":7,\"fingerprint\":12}\n"
        .to_vec();
    let csv =
        b"id,text,fingerprint\na,\"one, two\r\nthree\",00000000000000ff\nb,\"\"\"four\"\"\",0x1f\n"
            .to_vec();
    let tsv = b"id\ttext\tfingerprint\na\tone two\t00000000000000ff\n".to_vec();
    let list = b"00000000000000ff\nff00000000000000\n\n0x1\n".to_vec();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&json).unwrap();
    let zstd = zstd::encode_all(&csv[..], 1).unwrap();
    let mut all = vec![json, csv, tsv, list, gzip.finish().unwrap(), zstd, Vec::new()];
    #[cfg(feature = "parquet")]
    all.push(parquet());
    all
}

#[cfg(feature = "parquet")]
fn parquet() -> Vec<u8> {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};

    let column = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let fingerprints: ArrayRef = Arc::new(UInt64Array::from(vec![255, u64::MAX, 7]));
    let batch = RecordBatch::try_from_iter([
        ("id", column(&["a", "b", "c"])),
        ("text", column(&["one two", "three", "one two"])),
        ("fingerprint", fingerprints),
    ]);
    let batch = batch.unwrap();
    let mut file = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

/// Reads all documents; gives how many there are.
fn read_documents(path: &Path, options: &str) -> Result<usize, Failure> {
    let line = DocumentLine::parse_from(format!("fuzz {options}").split_whitespace());
    let inputs = Inputs::find(&[path.to_path_buf()], &line.args.options())?;
    let mut count = 0;
    for input in &inputs.files {
        let mut documents = Documents::open(input, &line.args.wanted(None), MEMORY)?;
        while let Some(piece) = documents.next_piece()? {
            let mut in_piece = 0;
            piece.documents(|document| {
                in_piece += 1;
                match document {
                    Ok(_) => Ok(()),
                    Err(_) if line.args.skips() => Ok(()),
                    Err(error) => Err(Failure::from(error)),
                }
            })?;
            assert_eq!(in_piece, piece.len(), "each record gives a document or an error");
            let raw = (0..piece.len()).filter_map(|index| piece.raw(index)).count();
            assert!(raw == piece.len() || raw == 0);
            count += in_piece;
        }
    }
    Ok(count)
}

/// Reads all fingerprints; gives how many there are.
fn read_fingerprints(path: &Path, options: &str) -> Result<usize, Failure> {
    let line = InputLine::parse_from(format!("fuzz {options}").split_whitespace());
    let mut records = Records::<u64>::default();
    let mut source = Source::open(path, &line.args.options(None, Some(MEMORY)))?;
    while source.read(&mut records)? {}
    Ok(records.fingerprints.len())
}

#[test]
fn any_bytes_are_read_or_refused() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let end = Instant::now() + Duration::from_secs(number("FPSTORE_SECONDS").unwrap_or(1));
    let clock = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
    let seed = number("FPSTORE_SEED").unwrap_or(clock);
    println!("FPSTORE_SEED={seed}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("input");
    let (sound, mut random) = (sound(), Random(seed));
    let (mut files, mut read) = (0u64, 0u64);
    while Instant::now() < end {
        fs::write(&path, random.changed(&sound)).unwrap();
        let skip = random.of(&["", "--on-error skip"]);
        let format = random.of(&["auto", "jsonl", "csv", "tsv", "parquet", "plain"]);
        let columns = random.of(&["", "--text-column text", "--text-column text --id-column id"]);
        read += u64::from(
            read_documents(&path, &format!("--format {format} {columns} {skip}")).is_ok(),
        );
        let format = random.of(&[
            "auto", "hex", "dec", "csv", "tsv", "columns", "jsonl", "parquet", "npy", "u64le",
        ]);
        read += u64::from(read_fingerprints(&path, &format!("--format {format} {skip}")).is_ok());
        files += 1;
    }
    println!("{files} files, {read} readings without an error");
    assert!(read > 0 && read < 2 * files, "some are sound, and some are not");
}
