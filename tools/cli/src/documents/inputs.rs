//! The files that a command is given, those in directories included.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::args::DocumentArgs;
use crate::failure::Failure;
use crate::input::{Codec, Container, Hint, Origin, Problem, is_stdin};
use crate::target::failure;

/// So many bytes tell how a file is compressed, or that it is Parquet or JSON.
const HEAD_BYTES: usize = 64;
/// Names of files that are documents by themselves.
const PLAIN: [&str; 8] = ["txt", "text", "md", "rst", "html", "htm", "xhtml", "tex"];

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An object on each line.
    Jsonl,
    /// Columns separated by commas or semicolons, with a header.
    Csv,
    /// Columns separated by tabs, with a header.
    Tsv,
    /// Rows.
    Parquet,
    /// The whole file is one document.
    Plain,
}

/// A file of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// Its name among all inputs, by which what is made of it is called.
    pub name: PathBuf,
    /// What its records are.
    pub kind: Kind,
    /// How it is compressed.
    pub codec: Option<Codec>,
    /// Its size.
    pub bytes: u64,
    /// When it was changed, in nanoseconds.
    pub modified: u128,
}

/// All files, in the order of the arguments, and by name in each directory.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The files.
    pub files: Vec<Arc<Input>>,
    /// Files in directories that were passed over, since nothing tells what they are.
    pub passed_over: Vec<PathBuf>,
}

impl Inputs {
    /// Finds the files, and looks at the first bytes of each.
    ///
    /// Of a directory those are passed over whose names begin with a dot, and, where a column is named and so tables are meant, those of which
    /// nothing tells that they are some.
    pub fn find(paths: &[PathBuf], args: &DocumentArgs) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        let mut named = Vec::new();
        for (argument, path) in paths.iter().enumerate() {
            if is_stdin(path) {
                return Err(Failure::Usage(
                    "-: documents are read twice, so that they cannot come through a pipe; write them to a file".into(),
                ));
            }
            let metadata = metadata(path)?;
            if metadata.is_dir() {
                let mut below = Vec::new();
                walk(path, Path::new(""), &mut below)?;
                for name in below {
                    let file = path.join(&name);
                    match Input::look(file.clone(), name, args, true)? {
                        Some(input) => named.push((argument, input)),
                        None => inputs.passed_over.push(file),
                    }
                }
            } else {
                let name = path.file_name().map(PathBuf::from).unwrap_or_else(|| path.clone());
                named.extend(
                    Input::look(path.clone(), name, args, false)?.map(|input| (argument, input)),
                );
            }
        }
        let names: HashSet<&Path> = named.iter().map(|(_, input)| &*input.name).collect();
        // A file cannot have the name of a directory, either.
        let is_free =
            |input: &Input| input.name.ancestors().skip(1).all(|above| !names.contains(above));
        let are_different =
            names.len() == named.len() && named.iter().all(|(_, input)| is_free(input));
        for (argument, mut input) in named {
            if !are_different {
                input.name = PathBuf::from((argument + 1).to_string()).join(&input.name);
            }
            inputs.files.push(Arc::new(input));
        }
        if inputs.files.is_empty() {
            let what =
                "there are no documents here; name files of JSON lines, CSV, Parquet or plain text";
            let first = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
            return Err(Failure::Usage(format!("{first}: {what}")));
        }
        Ok(inputs)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|input| input.bytes).sum()
    }
}

impl Input {
    /// Looks at a file; `None` if it is of a directory and nothing tells what it is.
    fn look(
        path: PathBuf,
        name: PathBuf,
        args: &DocumentArgs,
        is_below: bool,
    ) -> Result<Option<Self>, Failure> {
        let origin = Origin::File(path.clone());
        let metadata = metadata(&path)?;
        if !metadata.is_file() {
            let what = "is no regular file, and documents are read twice; write them to a file";
            return Err(Failure::Usage(format!("{origin}: {what}")));
        }
        let mut head = Vec::new();
        let file = File::open(&path).map_err(|error| origin.error(Problem::Open(error)))?;
        let read = file.take(HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|error| origin.error(Problem::Read(0, error)))?;
        let codec = Codec::judge(&head);
        let kind = args.kind().or_else(|| of_name(&path)).or_else(|| {
            let head = head.trim_ascii_start();
            match codec {
                None if head.starts_with(b"PAR1") => Some(Kind::Parquet),
                None if head.starts_with(b"{") => Some(Kind::Jsonl),
                _ if args.means_tables() => None,
                _ => Some(Kind::Plain),
            }
        });
        let Some(kind) = kind else {
            if is_below {
                return Ok(None);
            }
            let what = "nothing tells the format; give --format jsonl, csv, tsv, parquet or plain";
            return Err(Failure::Usage(format!("{origin}: {what}")));
        };
        if let (Kind::Parquet, Some(codec)) = (kind, codec) {
            return Err(origin.error(Problem::Compressed(Container::Parquet, codec)).into());
        }
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (bytes, modified) = (metadata.len(), since.map_or(0, |since| since.as_nanos()));
        Ok(Some(Self { path, name, kind, codec, bytes, modified }))
    }
}

fn metadata(path: &Path) -> Result<Metadata, Failure> {
    let origin = Origin::File(path.to_path_buf());
    Ok(fs::metadata(path).map_err(|error| origin.error(Problem::Open(error)))?)
}

/// What the name of a file says.
fn of_name(path: &Path) -> Option<Kind> {
    let hint = Hint::new(path);
    match hint.container {
        Some(Container::Jsonl) => return Some(Kind::Jsonl),
        Some(Container::Csv) => return Some(Kind::Csv),
        Some(Container::Tsv) => return Some(Kind::Tsv),
        Some(Container::Parquet) => return Some(Kind::Parquet),
        _ => {}
    }
    let inner = if hint.codec.is_some() { path.with_extension("") } else { path.to_path_buf() };
    let extension = inner.extension()?.to_str()?.to_ascii_lowercase();
    PLAIN.contains(&extension.as_str()).then_some(Kind::Plain)
}

/// The names of all files below a directory, sorted directory by directory.
fn walk(root: &Path, below: &Path, to: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let directory = root.join(below);
    let entries = fs::read_dir(&directory).map_err(failure(&directory, "read"))?;
    let mut entries: Vec<_> =
        entries.collect::<Result<_, _>>().map_err(failure(&directory, "read"))?;
    entries.sort_unstable_by_key(|entry| entry.file_name());
    for entry in entries {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let below = below.join(&name);
        // A link to a directory could lead back up.
        let kind = entry.file_type().map_err(failure(&entry.path(), "look at"))?;
        if kind.is_dir() {
            walk(root, &below, to)?;
        } else if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
            to.push(below);
        }
    }
    Ok(())
}
