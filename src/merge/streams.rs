//! The keys of one permutation, of several segments, as one ascending list.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::{Fingerprint, of_key};
use crate::permute::Permutation;
use crate::segment::{Rows, Segment};

/// Blocks that are decoded at a time, and keys, unless a single block holds more.
const BLOCKS: u64 = 16;
const KEYS: u64 = 1 << 14;

/// Keys that ascend, from one segment.
pub(super) struct Stream<F: Fingerprint> {
    from: From<F>,
    /// Fingerprints that are left out.
    dead: Arc<HashSet<F>>,
    keys: Vec<u64>,
    at: usize,
}

enum From<F: Fingerprint> {
    /// A table that has the order; `None` for that of the fingerprints.
    Table {
        segment: Arc<Segment<F>>,
        table: Option<usize>,
        next_block: u64,
    },
    /// Sorted before.
    Sorted(Vec<u64>),
    End,
}

impl<F: Fingerprint> Stream<F> {
    /// Those of a table of a segment.
    pub(super) fn of_table(segment: &Arc<Segment<F>>, table: usize, dead: Arc<HashSet<F>>) -> Self {
        Self::of(segment, Some(table), dead)
    }

    /// The fingerprints of a segment.
    pub(super) fn of_rows(segment: &Arc<Segment<F>>, dead: Arc<HashSet<F>>) -> Self {
        Self::of(segment, None, dead)
    }

    fn of(segment: &Arc<Segment<F>>, table: Option<usize>, dead: Arc<HashSet<F>>) -> Self {
        let from = From::Table { segment: Arc::clone(segment), table, next_block: 0 };
        Self { from, dead, keys: Vec::new(), at: 0 }
    }

    /// Those of the fingerprints of a segment that has no such table: sorts them in memory.
    pub(super) fn sorted(
        segment: &Arc<Segment<F>>,
        permutation: &Permutation,
        dead: Arc<HashSet<F>>,
    ) -> Result<Self> {
        let mut stream = Self::of_rows(segment, dead);
        let mut keys = Vec::new();
        while stream.fill()? {
            keys.extend(stream.keys.iter().map(|&fingerprint| permutation.key(fingerprint)));
            stream.at = stream.keys.len();
        }
        keys.sort_unstable();
        Ok(Self { from: From::Sorted(keys), dead: Arc::default(), keys: Vec::new(), at: 0 })
    }

    /// Makes sure that there are keys; false at the end.
    fn fill(&mut self) -> Result<bool> {
        while self.at == self.keys.len() {
            self.at = 0;
            match &mut self.from {
                From::Table { segment, table, next_block } => {
                    let table = table.and_then(|table| segment.tables().get(table));
                    let rows = table.map_or_else(|| segment.rows(), Rows::Table);
                    let start = *next_block;
                    if start == rows.block_count() {
                        self.from = From::End;
                        self.keys.clear();
                        return Ok(false);
                    }
                    let wanted = start..(start + BLOCKS).min(rows.block_count());
                    let (end, _) = rows.blocks_within(wanted, KEYS);
                    rows.read_keys(start..end, &mut self.keys)?;
                    *next_block = end;
                    if !self.dead.is_empty() {
                        let permutation = table.map(|table| table.permutation());
                        let fingerprint = |key| permutation.map_or(key, |at| at.fingerprint(key));
                        self.keys.retain(|&key| !self.dead.contains(&of_key(fingerprint(key))));
                    }
                }
                From::Sorted(keys) => {
                    self.keys = std::mem::take(keys);
                    self.from = From::End;
                }
                From::End => {
                    self.keys.clear();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Gives the keys of several streams to `sink`, in pieces, ascending and each once.
pub(super) fn merge(
    mut streams: Vec<Stream<impl Fingerprint>>,
    sink: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let mut piece = Vec::new();
    loop {
        // Up to here all streams are known.
        let mut bound = None;
        let mut kept = Vec::with_capacity(streams.len());
        for mut stream in streams {
            if stream.fill()? {
                let last = stream.keys.last().copied();
                bound = [bound, last].into_iter().flatten().min();
                kept.push(stream);
            }
        }
        streams = kept;
        let Some(bound) = bound else { return Ok(()) };
        piece.clear();
        for stream in &mut streams {
            let ready = &stream.keys[stream.at..];
            let known = ready.partition_point(|&key| key <= bound);
            piece.extend_from_slice(&ready[..known]);
            stream.at += known;
        }
        // A stable sort merges what ascends already.
        piece.sort();
        piece.dedup();
        sink(&piece)?;
    }
}
