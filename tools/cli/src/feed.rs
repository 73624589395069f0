//! All inputs of a command, one after the other, in pieces.

use std::fs;
use std::path::{Path, PathBuf};

use fpstore::{Fingerprint, Snapshot, width_of};
use fpstore_records::{Container, Options, Records, Source, is_stdin};

use crate::failure::Failure;
use crate::output::say;
use crate::paths::{check_once, is_store, name_of};
use crate::progress::Progress;
use crate::recipes::Recipes;
use crate::skipped::Skipped;
use crate::units;
use crate::width;

/// Fingerprints that are collected before they are handed on.
const PIECE: usize = 1 << 15;
/// Bytes of ids at which that happens as well.
const PIECE_BYTES: usize = 1 << 20;

/// Inputs, and how they are read.
#[derive(Clone, Copy)]
pub struct Feed<'a> {
    /// Files; `-` is standard input.
    pub inputs: &'a [PathBuf],
    /// How they are read.
    pub reading: &'a Options,
    /// Whether of records that were skipped only the number is told.
    pub quiet: bool,
    /// Whether what comes through a pipe is handed on as soon as it is there, and of an input with
    /// a fault what stands before it.
    pub follow: bool,
    /// Whether stores among the inputs give their ids.
    pub stored_ids: bool,
}

/// What is known of inputs before they are read.
pub struct Known {
    /// The bytes of all, if all are regular files.
    pub bytes: Option<u64>,
    /// What the reader of one of them buffers, at most.
    pub buffer_bytes: u64,
    /// By which recipe their fingerprints were made.
    pub recipes: Recipes,
}

/// Inputs that were taken for the same.
pub struct TakenFor {
    /// The first of them.
    first: String,
    /// How many there are.
    inputs: u64,
    /// Their format, and the column of the fingerprints.
    what: String,
}

/// What inputs held.
#[derive(Default)]
pub struct Read {
    /// Fingerprints that were handed on.
    pub fingerprints: u64,
    /// Records that were skipped.
    pub skipped: u64,
    /// What the inputs were taken for.
    pub taken: Vec<TakenFor>,
}

impl Read {
    /// Tells what the inputs were taken for, in a line for those that are alike.
    pub fn tell_formats(&self) {
        for TakenFor { first, inputs, what } in &self.taken {
            match inputs - 1 {
                0 => say!("fpstore: {first}: {what}"),
                others => say!("fpstore: {first} and {} more: {what}", units::count(others)),
            }
        }
    }
}

fn note_taken<F: Fingerprint>(taken: &mut Vec<TakenFor>, path: &Path, source: &Source<F>) {
    let Some(what) = source.taken().map(|taken| taken.to_string()) else { return };
    match taken.iter_mut().find(|one| one.what == what) {
        Some(one) => one.inputs += 1,
        None => taken.push(TakenFor { first: name_of(path), inputs: 1, what }),
    }
}

impl Feed<'_> {
    /// Finds what is wrong with a later input before an earlier one takes its time.
    pub fn check<F: Fingerprint>(&self) -> Result<Known, Failure> {
        check_once(self.inputs)?;
        let (mut bytes, mut buffer_bytes) = (Some(0), 0);
        let mut recipes = Recipes::default();
        for path in self.inputs {
            if is_store(path) {
                let store = width::open::<F>(path)?;
                recipes.take(path.display(), store.snapshot().recipe())?;
                bytes = None;
                continue;
            }
            // To open a pipe, and to close it again, would break it for its writer.
            let pipe = fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
            let length = match pipe {
                true => {
                    recipes.take(name_of(path), None)?;
                    None
                }
                false => {
                    let mut source = Source::<F>::open(path, self.reading)?;
                    let length = source.length();
                    if length.is_some() && !is_stdin(path) {
                        buffer_bytes = source.buffer_bytes()?.max(buffer_bytes);
                        recipes.take(path.display(), source.recipe()?.as_deref())?;
                    } else {
                        recipes.take(name_of(path), None)?;
                    }
                    length
                }
            };
            bytes = bytes.zip(length).map(|(sum, length): (u64, u64)| sum.saturating_add(length));
        }
        Ok(Known { bytes, buffer_bytes, recipes })
    }

    /// Reads all inputs, of so many `bytes` where that is known, and hands their records on.
    pub fn read<F: Fingerprint>(
        &self,
        bytes: Option<u64>,
        progress: &Progress,
        mut hand_over: impl FnMut(&Records<F>) -> Result<(), Failure>,
    ) -> Result<Read, Failure> {
        progress.start_reading(bytes);
        let (mut records, mut bytes_before, mut fingerprints) = (Records::default(), 0, 0);
        let mut skipped = Skipped::new(self.quiet);
        let mut taken = Vec::new();
        for path in self.inputs {
            if is_store(path) {
                let snapshot = width::open::<F>(path)?.snapshot();
                read_store(&snapshot, self.stored_ids, &mut records, |records| {
                    fingerprints += records.fingerprints.len() as u64;
                    hand_over(records)?;
                    records.clear();
                    progress.read(bytes_before, fingerprints);
                    Ok(())
                })?;
                continue;
            }
            let mut source = match self.follow {
                true => Source::follow(path, self.reading)?,
                false => Source::open(path, self.reading)?,
            };
            loop {
                let more = source.read(&mut records);
                progress.beside(|| skipped.tell(&mut records));
                let more = if self.follow { more } else { Ok(more?) };
                let is_much =
                    records.fingerprints.len() >= PIECE || records.ids.bytes() >= PIECE_BYTES;
                if !matches!(more, Ok(true)) || is_much || source.is_live() {
                    fingerprints += records.fingerprints.len() as u64;
                    hand_over(&records)?;
                    records.clear();
                    progress.read(bytes_before + source.bytes_read(), fingerprints);
                }
                if !more? {
                    break;
                }
            }
            bytes_before += source.bytes_read();
            note_taken(&mut taken, path, &source);
        }
        progress.beside(|| skipped.tell_count(records.next_number()));
        Ok(Read { fingerprints, skipped: skipped.count(), taken })
    }
}

/// The fingerprints among the arguments of a command, all of which must be sound; none if there are
/// no arguments.
pub fn of_arguments<F: Fingerprint>(
    arguments: &[String],
    options: &Options,
) -> Result<Records<F>, Failure> {
    let mut records = Records::default();
    if arguments.is_empty() {
        return Ok(records);
    }
    if options.format.is_some_and(Container::is_raw) {
        let message = "argument 1: --format u64le is for bytes in a file; give --from FILE, or \
                       --format hex or dec for arguments";
        return Err(Failure::Usage(message.to_string()));
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "-") {
        let message =
            format!("argument {}: is no fingerprint; give --from - for standard input", at + 1);
        return Err(Failure::Usage(message));
    }
    let mut source = Source::arguments(arguments, options)?;
    while source.read(&mut records)? {}
    Ok(records)
}

/// Bits of the fingerprints of the first of these inputs that tells; 64 if none does. Pipes cannot
/// be asked.
pub fn told_width(inputs: &[PathBuf], reading: &Options) -> Result<u32, Failure> {
    for path in inputs {
        if is_store(path) {
            return Ok(width_of(path)?);
        }
        if is_stdin(path) || !fs::metadata(path).is_ok_and(|data| data.is_file()) {
            continue;
        }
        // What is wrong with it is told when it is read.
        let told = Source::<u64>::open(path, reading).ok().and_then(|mut file| file.told_width());
        if let Some(bits) = told {
            return Ok(bits);
        }
    }
    Ok(u64::BITS)
}

/// Hands on what a store holds, with its ids if they are wanted.
fn read_store<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    with_ids: bool,
    records: &mut Records<F>,
    mut hand_over: impl FnMut(&mut Records<F>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !with_ids || !snapshot.has_ids() {
        for fingerprint in snapshot.iter() {
            records.fingerprints.push(fingerprint?);
            if records.fingerprints.len() >= PIECE {
                hand_over(records)?;
            }
        }
        return hand_over(records);
    }
    for entry in snapshot.iter_with_ids::<fpstore::Id>() {
        let (fingerprint, ids) = entry?;
        for id in ids {
            records.fingerprints.push(fingerprint);
            records.ids.push(id?.as_ref());
            if records.fingerprints.len() >= PIECE || records.ids.bytes() >= PIECE_BYTES {
                hand_over(records)?;
            }
        }
    }
    hand_over(records)
}
