//! Formats by name: as the user gives them, and as files are called.

use std::fmt;
use std::path::Path;

use crate::codec::Codec;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Raw little-endian integers of 8 bytes.
    U64le,
    /// Raw little-endian integers of 4 bytes.
    U32le,
    /// A list in hexadecimal digits.
    Hex,
    /// A list in binary digits.
    Bin,
    /// A list in decimal digits.
    Dec,
    /// An array of NumPy.
    Npy,
    /// Columns separated by commas or semicolons.
    Csv,
    /// Columns separated by tabs.
    Tsv,
    /// Columns separated by white space.
    Columns,
    /// JSON lines.
    Jsonl,
    /// Parquet.
    Parquet,
    /// Arrow IPC.
    Arrow,
}

impl Container {
    /// The formats by the names that users give them.
    pub const NAMES: &[(&str, Self)] = &[
        ("u64le", Self::U64le),
        ("u32le", Self::U32le),
        ("hex", Self::Hex),
        ("bin", Self::Bin),
        ("dec", Self::Dec),
        ("npy", Self::Npy),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("columns", Self::Columns),
        ("jsonl", Self::Jsonl),
        ("ndjson", Self::Jsonl),
        ("parquet", Self::Parquet),
        ("arrow", Self::Arrow),
    ];

    /// Whether it is integers without anything around them.
    pub fn is_raw(self) -> bool {
        matches!(self, Container::U64le | Container::U32le)
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Container::U64le | Container::U32le => "raw integers",
            Container::Bin => "a list in binary digits",
            Container::Hex => "a list in hexadecimal digits",
            Container::Dec => "a list in decimal digits",
            Container::Npy => "a .npy array",
            Container::Csv => "CSV",
            Container::Tsv => "TSV",
            Container::Columns => "columns separated by white space",
            Container::Jsonl => "JSON lines",
            Container::Parquet => "Parquet",
            Container::Arrow => "Arrow IPC",
        })
    }
}

/// What the name of an input says about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The format of what is inside.
    pub container: Option<Container>,
    /// How it is compressed.
    pub codec: Option<Codec>,
}

impl Hint {
    /// Takes the extensions of a file.
    pub fn new(path: &Path) -> Self {
        let codec = match extension(path).as_deref() {
            Some("gz" | "gzip") => Some(Codec::Gzip),
            Some("zst" | "zstd") => Some(Codec::Zstd),
            Some("bz2") => Some(Codec::Bzip2),
            Some("xz") => Some(Codec::Xz),
            Some("lz4") => Some(Codec::Lz4),
            _ => None,
        };
        let inner = if codec.is_some() { path.with_extension("") } else { path.to_path_buf() };
        let container = match extension(&inner).as_deref() {
            Some("u64" | "u64le" | "bin" | "raw") => Some(Container::U64le),
            Some("u32" | "u32le") => Some(Container::U32le),
            Some("npy") => Some(Container::Npy),
            Some("csv") => Some(Container::Csv),
            Some("tsv" | "tab") => Some(Container::Tsv),
            Some("json" | "jsonl" | "ndjson") => Some(Container::Jsonl),
            Some("parquet" | "pq") => Some(Container::Parquet),
            Some("arrow" | "arrows" | "feather" | "ipc") => Some(Container::Arrow),
            _ => None,
        };
        Self { container, codec }
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_format_and_compression() {
        for (name, container, codec) in [
            ("a.csv", Some(Container::Csv), None),
            ("a.b.TSV.GZ", Some(Container::Tsv), Some(Codec::Gzip)),
            ("x/a.ndjson.zst", Some(Container::Jsonl), Some(Codec::Zstd)),
            ("a.gz", None, Some(Codec::Gzip)),
            ("a.csv.bz2", Some(Container::Csv), Some(Codec::Bzip2)),
            ("a.xz", None, Some(Codec::Xz)),
            ("a.txt", None, None),
            ("csv", None, None),
        ] {
            assert_eq!(Hint::new(Path::new(name)), Hint { container, codec }, "{name}");
        }
    }
}
