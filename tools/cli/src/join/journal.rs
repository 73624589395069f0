//! What a join has done, so that another process can go on with it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fpstore::{Fingerprint, Snapshot, files};
use fpstore_records::write::hex;
use serde::{Deserialize, Serialize};

use super::Args;
use crate::failure::Failure;
use crate::target::{Target, beside, failure, part_of, place_of, remove_part};

/// What the name of a journal has behind that of the output.
pub const SUFFIX: &str = ".resume";
const VERSION: u32 = 1;
/// More than any journal has.
const MOST_BYTES: u64 = 1 << 20;
/// No manifest is longer.
const MOST_MANIFEST_BYTES: u64 = 64 << 20;

/// What is noted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Notes {
    version: u32,
    of: Of,
    /// The least `a` whose pairs are not written, in hexadecimal digits; `None` if all are.
    next: Option<String>,
    done: Done,
}

/// The join: another one cannot go on with the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Of {
    /// Of each store what tells its state.
    stores: Vec<State>,
    /// The times that are looked at.
    times: String,
    k: u32,
    shard: (u64, u64),
    output: String,
    /// Whether ids are written, and how many at most.
    ids: (bool, Option<u64>),
}

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// Length and CRC of the manifest, which names the checksums of all files.
    manifest: (u64, u32),
    /// What is seen: the id of the store, its generation, and the last operation in its log. A
    /// store that is being written may have another manifest by now.
    seen: (String, u64, u64),
}

/// What is done.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Pairs written.
    pub pairs: u64,
    /// Ranges.
    pub ranges: u64,
    /// Bytes of the output.
    pub bytes: u64,
}

/// The journal of a join: a file only where it is to be resumed.
pub struct Journal {
    path: Option<PathBuf>,
    notes: Notes,
    /// What is done.
    pub done: Done,
}

impl Of {
    fn new<F: Fingerprint>(
        args: &Args,
        k: u32,
        stores: [Option<&Snapshot<F>>; 2],
    ) -> Result<Self, Failure> {
        Ok(Self {
            stores: match args.resume {
                true => {
                    let paths = [Some(&args.store), args.other.as_ref()];
                    let stores = paths.into_iter().flatten().zip(stores.into_iter().flatten());
                    stores.map(|(path, store)| state(path, store)).collect::<Result<_, _>>()?
                }
                false => Vec::new(),
            },
            times: format!("{:?}", args.times),
            k,
            shard: (args.shard.index, args.shard.count),
            output: format!("{:?} {:?}", args.form.shape, args.form.table),
            ids: (args.form.ids, args.id_output.limit_ids),
        })
    }
}

impl Journal {
    /// The journal of this join if its output is whole and in its place: what a process leaves that
    /// is killed in its last moment.
    pub fn of_whole<F: Fingerprint>(
        args: &Args,
        k: u32,
        stores: [Option<&Snapshot<F>>; 2],
    ) -> Result<Option<Self>, Failure> {
        let place = args.target.file().filter(|_| args.resume).and_then(place_of);
        let Some(to) = place.filter(|to| to.exists()) else { return Ok(None) };
        let path = beside(&to, SUFFIX);
        let text = read(&path).ok();
        let notes = text.and_then(|text| serde_json::from_slice::<Notes>(&text).ok());
        let of = Of::new(args, k, stores)?;
        let is_whole = |notes: &Notes| notes.next.is_none() && notes.of == of;
        let notes = notes.filter(is_whole).filter(|_| !part_of(&to).exists());
        Ok(notes.map(|notes| Self { path: Some(path), done: notes.done, notes }))
    }

    /// Starts a journal, or reads that of the join that is to be resumed.
    pub fn open<F: Fingerprint>(
        args: &Args,
        k: u32,
        stores: [Option<&Snapshot<F>>; 2],
        target: Option<&Target>,
    ) -> Result<Self, Failure> {
        let place = target.and_then(Target::place);
        let path = place.map(|place| beside(place, SUFFIX));
        let of = Of::new(args, k, stores)?;
        let notes =
            Notes { version: VERSION, of, next: Some(hex(F::default())), done: Done::default() };
        let journal = Self { path, done: notes.done, notes };
        let (Some(path), Some(target)) = (&journal.path, target) else { return Ok(journal) };
        if !args.resume {
            // The old one was given up.
            if path.exists() {
                place.map_or(Ok(()), remove_part)?;
                journal.remove()?;
            }
            return Ok(journal);
        }
        let text = match read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return journal.start_at(target);
            }
            text => text.map_err(failure(path, "read"))?,
        };
        let fault = |what: &str| {
            let (path, part) = (path.display(), target.part().display());
            Err(Failure::Usage(format!("{path}: {what}, or remove it and {part} to start again")))
        };
        let Ok(notes) = serde_json::from_slice::<Notes>(&text) else {
            return fault("is no note of a join; name another output");
        };
        if notes.version != VERSION {
            return fault("was written by another version of fpstore; go on with that one");
        }
        let (was, is) = (&notes.of, &journal.notes.of);
        if was.stores != is.stores {
            return fault("notes what a join of other stores has done; go on with those");
        }
        if was != is {
            return fault(
                "notes what a join with other options (-k, --shard, --output, --since, --until, ids) \
                 has done; give the same, times as dates",
            );
        }
        if target.len()? < notes.done.bytes {
            return fault("says that more is written than there is; bring the file back");
        }
        Ok(Self { path: journal.path, done: notes.done, notes })
    }

    /// The first note, before the first byte of the output: a file of pairs without a note is not
    /// of a join, or of one whose note is lost.
    fn start_at(self, target: &Target) -> Result<Self, Failure> {
        if target.len()? > 0 {
            let part = target.part().display();
            return Err(Failure::Usage(format!(
                "{part}: is there without the note of a join; name another output, or move it away"
            )));
        }
        self.write()?;
        Ok(self)
    }

    /// The least `a` whose pairs are not written.
    pub fn start<F: Fingerprint>(&self) -> Option<F> {
        let next = self.notes.next.as_ref()?;
        // What is no number cannot be gone on with, so that all is done again.
        Some(of_hex(next).unwrap_or_default())
    }

    /// Notes that all pairs up to `end` are written, and durable.
    pub fn note<F: Fingerprint>(&mut self, end: F) -> Result<(), Failure> {
        self.notes.next = after(end).map(hex);
        self.notes.done = self.done;
        self.write()
    }

    fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let text = serde_json::to_vec(&self.notes).map_err(io::Error::from);
        let written = text.and_then(|text| files::replace(path, &text));
        written.map_err(failure(path, "write"))
    }

    /// Removes the file, if there is one.
    pub fn remove(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failure(path, "remove")(error))
            }
            _ => Ok(()),
        }
    }
}

/// The bytes of the journal at `path`.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open_own(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The fingerprint of its hexadecimal digits.
fn of_hex<F: Fingerprint>(digits: &str) -> Option<F> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    F::from_be_slice(&bytes?)
}

/// The next fingerprint; `None` behind the last.
fn after<F: Fingerprint>(fingerprint: F) -> Option<F> {
    let mut bytes = fingerprint.to_be_bytes();
    for byte in bytes.as_mut().iter_mut().rev() {
        let (next, carries) = byte.overflowing_add(1);
        *byte = next;
        if !carries {
            return Some(F::from_be_bytes(bytes));
        }
    }
    None
}

/// The state of a store, as it is seen.
fn state<F: Fingerprint>(path: &Path, store: &Snapshot<F>) -> Result<State, Failure> {
    let path = path.join("manifest.fps");
    let bytes = files::read_at_most(&path, MOST_MANIFEST_BYTES).map_err(failure(&path, "read"))?;
    let sequence = store.stats()?.living.map_or(0, |living| living.sequence);
    Ok(State {
        manifest: (bytes.len() as u64, crc32fast::hash(&bytes)),
        seen: (format!("{:032x}", store.id()), store.generation(), sequence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_gone_on_with_at_the_next_fingerprint() {
        assert_eq!(
            (after(0xffu32), after(u64::MAX), after(u128::MAX - 1)),
            (Some(0x100), None, Some(u128::MAX))
        );
        assert_eq!(after([1, u64::MAX, u64::MAX, u64::MAX]), Some([2, 0, 0, 0]));
        for one in [[0; 4], [1, 2, 3, u64::MAX]] {
            assert_eq!(of_hex(&hex(one)), Some(one));
        }
        assert_eq!((of_hex::<u64>("xyz"), of_hex::<u64>("00")), (None, None));
    }
}
