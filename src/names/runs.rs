//! Sorted runs of names with payloads in temporary files.
//!
//! A pair is how many bytes its name shares with the one before, how many follow, these, and the
//! payload as it stands in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use bytemuck::Pod;

use super::list::shared;
use crate::error::Result;
use crate::sort::Spill;

/// Bytes that are written together.
const WRITE_BYTES: usize = 1 << 16;
/// Bytes that are read together at most.
const READ_BYTES: usize = 1 << 20;
/// Bytes of the two lengths of a pair.
const LENGTH_BYTES: usize = 4;

/// What belongs to a name: a fingerprint.
pub(crate) trait Payload: Pod + Ord + Send + Sync {}

impl<P: Pod + Ord + Send + Sync> Payload for P {}

/// The bytes of a run in its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) at: u64,
    pub(super) end: u64,
}

/// Writes a run.
pub(super) struct RunWriter<'a, T> {
    file: &'a T,
    start: u64,
    at: u64,
    piece: Vec<u8>,
    before: Vec<u8>,
}

impl<'a, T: Spill> RunWriter<'a, T> {
    pub(super) fn new(file: &'a T, at: u64) -> Self {
        Self { file, start: at, at, piece: Vec::new(), before: Vec::new() }
    }

    /// Adds a pair, which is not less than the one before.
    pub(super) fn push<P: Payload>(&mut self, name: &[u8], payload: P) -> Result<()> {
        let shared = shared(&self.before, name);
        let rest = &name[shared..];
        // No name has more bytes than 16 bits say.
        self.piece.extend((shared as u16).to_ne_bytes());
        self.piece.extend((rest.len() as u16).to_ne_bytes());
        self.piece.extend_from_slice(rest);
        self.piece.extend_from_slice(bytemuck::bytes_of(&payload));
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
        if self.piece.len() >= WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.file.write_at(&self.piece, self.at)?;
        self.at += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    /// Writes what is left; gives where the run stands.
    pub(super) fn finish(mut self) -> Result<Extent> {
        self.write()?;
        Ok(Extent { at: self.start, end: self.at })
    }
}

/// Reads a run.
pub(super) struct RunReader<'a, T> {
    file: &'a T,
    /// What is not read yet.
    rest: Extent,
    window: Vec<u8>,
    /// Where in the window the next byte stands.
    at: usize,
    window_bytes: usize,
}

impl<'a, T: Spill> RunReader<'a, T> {
    pub(super) fn new(file: &'a T, run: Extent, window_bytes: usize) -> Self {
        let window_bytes = window_bytes.clamp(1, READ_BYTES);
        Self { file, rest: run, window: Vec::new(), at: 0, window_bytes }
    }

    /// Puts the next name in the place of the one before, and gives its payload.
    pub(super) fn next<P: Payload>(&mut self, name: &mut Vec<u8>) -> Result<Option<P>> {
        if self.at == self.window.len() && self.rest.at == self.rest.end {
            return Ok(None);
        }
        let mut lengths = [0; LENGTH_BYTES];
        self.fill(&mut lengths)?;
        let [a, b, c, d] = lengths;
        let shared = usize::from(u16::from_ne_bytes([a, b]));
        let rest = usize::from(u16::from_ne_bytes([c, d]));
        name.resize(shared + rest, 0);
        self.fill(&mut name[shared..])?;
        let mut payload = P::zeroed();
        self.fill(bytemuck::bytes_of_mut(&mut payload))?;
        Ok(Some(payload))
    }

    fn fill(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.at == self.window.len() {
                self.load()?;
            }
            let here = &self.window[self.at..];
            let count = bytes.len().min(here.len());
            let (filled, left) = bytes.split_at_mut(count);
            filled.copy_from_slice(&here[..count]);
            self.at += count;
            bytes = left;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        // A run has whole pairs, so there is something left; else reading fails.
        let bytes = (self.rest.end - self.rest.at).clamp(1, self.window_bytes as u64);
        self.window.resize(bytes as usize, 0);
        self.file.read_at(&mut self.window, self.rest.at)?;
        self.rest.at += bytes;
        self.at = 0;
        Ok(())
    }
}

/// Gives the pairs of all runs in order, equal ones once.
pub(super) fn merge<P: Payload, T: Spill>(
    file: &T,
    runs: &[Extent],
    window_bytes: usize,
    sink: &mut dyn FnMut(&[u8], P) -> Result<()>,
) -> Result<()> {
    let mut readers = Vec::new();
    let mut heads = BinaryHeap::new();
    for (number, &run) in runs.iter().enumerate() {
        let mut reader = RunReader::new(file, run, window_bytes);
        let mut name = Vec::new();
        if let Some(payload) = reader.next::<P>(&mut name)? {
            heads.push(Reverse((name, payload, number)));
        }
        readers.push(reader);
    }
    let mut before: Option<(Vec<u8>, P)> = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((name, payload, number)) = &mut *head;
        if before.as_ref().is_none_or(|(before, of_it)| before != name || of_it != payload) {
            sink(name, *payload)?;
            match &mut before {
                Some((before, of_it)) => {
                    before.clone_from(name);
                    *of_it = *payload;
                }
                None => before = Some((name.clone(), *payload)),
            }
        }
        match readers[*number].next(name)? {
            Some(next) => *payload = next,
            None => drop(PeekMut::pop(head)),
        }
    }
    Ok(())
}
