//! The files that a command is given, those in directories included.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use fpstore_records::cell::Row;
use fpstore_records::{Codec, Container, Hint, Origin, Problem, foreign, is_stdin, skip_bom};

use super::options::{DocumentOptions, Kind};
use super::same::check_once;
use crate::error::Error;
use crate::error::failure;

/// So many bytes tell how a file is compressed, or that it is Parquet or JSON.
const HEAD_BYTES: usize = 512;
/// Names of files that are documents by themselves.
const PLAIN: [&str; 8] = ["txt", "text", "md", "rst", "html", "htm", "xhtml", "tex"];

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
    /// What was passed over in directories, with the reason.
    pub passed_over: Vec<(PathBuf, String)>,
    /// What was given.
    pub(crate) given: Vec<PathBuf>,
    /// The directories of that.
    pub(crate) directories: Vec<PathBuf>,
}

impl Inputs {
    /// Finds the files, and looks at the first bytes of each.
    ///
    /// Of a directory those are passed over whose names begin with a dot or show that they are
    /// unfinished, and, where a column is named and so tables are meant, those of which nothing
    /// tells that they are some. A file that comes twice is refused.
    pub fn find(paths: &[PathBuf], args: &DocumentOptions) -> Result<Self, Error> {
        if paths.iter().any(|path| is_stdin(path)) {
            return Err(Error::Setting(
                "-: documents are read twice, so that they cannot come through a pipe; write them to a file".into(),
            ));
        }
        Self::find_once(paths, args)
    }

    /// The same for commands that read documents once, from standard input too.
    pub fn find_once(paths: &[PathBuf], args: &DocumentOptions) -> Result<Self, Error> {
        let mut inputs = Self { given: paths.to_vec(), ..Self::default() };
        let mut named = Vec::new();
        for (argument, path) in paths.iter().enumerate() {
            if is_stdin(path) {
                named.push((argument, Input::stdin(args)?));
                continue;
            }
            let metadata = metadata(path)?;
            if metadata.is_dir() {
                inputs.directories.push(path.clone());
                let mut below = Vec::new();
                walk(path, Path::new(""), &mut below, &mut inputs.passed_over)?;
                for name in below {
                    let file = path.join(&name);
                    match Input::look(file.clone(), name, args, true)? {
                        Ok(input) => named.push((argument, input)),
                        Err(why) => inputs.passed_over.push((file, why.to_string())),
                    }
                }
            } else {
                let name = path.file_name().map(PathBuf::from).unwrap_or_else(|| path.clone());
                let input = Input::look(path.clone(), name, args, false)?;
                named.extend(input.ok().map(|input| (argument, input)));
            }
        }
        let paths_of: Vec<&Path> = named.iter().map(|(_, input)| &*input.path).collect();
        check_once(&paths_of)?;
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
            return Err(Error::Setting(format!("{first}: {what}")));
        }
        Ok(inputs)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|input| input.bytes).sum()
    }
}

impl Input {
    /// Standard input, of which nothing is read yet.
    fn stdin(args: &DocumentOptions) -> Result<Self, Error> {
        let path = PathBuf::from("-");
        let kind = args.given_kind().unwrap_or(Kind::Jsonl);
        if kind == Kind::Parquet {
            return Err(Origin::Stdin.error(Problem::Pipe(Container::Parquet)).into());
        }
        Ok(Self { name: path.clone(), path, kind, codec: None, bytes: 0, modified: 0 })
    }

    /// What it is called in messages and ids.
    pub(super) fn origin(&self) -> Origin {
        match is_stdin(&self.path) {
            true => Origin::Stdin,
            false => Origin::File(self.path.clone()),
        }
    }

    /// Looks at a file; the inner error is why one of a directory is passed over.
    fn look(
        path: PathBuf,
        name: PathBuf,
        args: &DocumentOptions,
        is_below: bool,
    ) -> Result<Result<Self, &'static str>, Error> {
        let origin = Origin::File(path.clone());
        let metadata = metadata(&path)?;
        if !metadata.is_file() {
            let what = "is no regular file, and documents are read twice; write them to a file";
            return Err(Error::Setting(format!("{origin}: {what}")));
        }
        let mut head = Vec::new();
        let file = File::open(&path).map_err(|error| origin.error(Problem::Open(error)))?;
        let read = file.take(HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|error| origin.error(Problem::Read(0, error)))?;
        let codec = Codec::judge(&head);
        let kind = args.given_kind().or_else(|| of_name(&path)).or_else(|| {
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
                return Ok(Err("nothing tells its format"));
            }
            let what = "nothing tells the format; give --format jsonl, csv, tsv, parquet or plain";
            return Err(Error::Setting(format!("{origin}: {what}")));
        };
        if let Some((what, _)) = foreign(&head).filter(|_| codec.is_none()) {
            if is_below {
                return Ok(Err("is nothing that is read"));
            }
            let what = format!("{origin}: is {what}, in which no documents are read; name others");
            return Err(Error::Setting(what));
        }
        if is_below && kind == Kind::Jsonl && codec.is_none() && !is_table(&path, args)? {
            return Ok(Err("is JSON, and no object with a text on each line"));
        }
        if let (Kind::Parquet, Some(codec)) = (kind, codec) {
            return Err(origin.error(Problem::Compressed(Container::Parquet, codec)).into());
        }
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (bytes, modified) = (metadata.len(), since.map_or(0, |since| since.as_nanos()));
        Ok(Ok(Self { path, name, kind, codec, bytes, modified }))
    }
}

fn metadata(path: &Path) -> Result<Metadata, Error> {
    let origin = Origin::File(path.to_path_buf());
    Ok(fs::metadata(path).map_err(|error| origin.error(Problem::Open(error)))?)
}

/// Whether a file that is called JSON begins with a whole object that has a text: what comes with
/// data sets to describe them does not. A longer first line is taken for one.
fn is_table(path: &Path, args: &DocumentOptions) -> Result<bool, Error> {
    const LINE_BYTES: u64 = 1 << 20;
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("json")) {
        return Ok(true);
    }
    let mut line = Vec::new();
    let file = File::open(path).map_err(failure(path, "open"))?;
    let mut file = BufReader::new(file.take(LINE_BYTES));
    while line.trim_ascii().is_empty() {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(failure(path, "read"))? == 0 {
            return Ok(true);
        }
    }
    let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES;
    let text = args.wanted(None).text;
    Ok(match serde_json::from_slice(skip_bom(&line)) {
        Ok(Row(fields)) => fields.iter().any(|(name, _)| *name == text),
        Err(_) => !is_whole,
    })
}

/// Whether a name in a directory is that of a download or a result that is not complete, of a copy
/// that an editor keeps, or of what other programs note about the files.
fn is_unfinished(name: &str) -> bool {
    const ENDS: [&str; 9] =
        [".tmp", ".part", ".partial", ".crdownload", ".download", ".bak", ".swp", ".orig", "~"];
    const NOTES: [&str; 4] = ["_temporary", "_SUCCESS", "_metadata", "_common_metadata"];
    let lower = name.to_ascii_lowercase();
    ENDS.iter().any(|end| lower.ends_with(end)) || NOTES.contains(&name)
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
fn walk(
    root: &Path,
    below: &Path,
    to: &mut Vec<PathBuf>,
    passed_over: &mut Vec<(PathBuf, String)>,
) -> Result<(), Error> {
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
        let path = entry.path();
        let mut pass_over = |why: &str| passed_over.push((path.clone(), why.to_string()));
        let kind = entry.file_type().map_err(failure(&path, "look at"))?;
        if is_unfinished(&name.to_string_lossy()) {
            pass_over("is named as what is not complete, or a copy");
        } else if kind.is_dir() {
            walk(root, &below, to, passed_over)?;
        } else if kind.is_file() || kind.is_symlink() && path.is_file() {
            to.push(below);
        } else if kind.is_symlink() && path.is_dir() {
            pass_over("is a link to a directory, which could lead back up; name it");
        } else {
            pass_over("is no regular file");
        }
    }
    Ok(())
}
