//! All fingerprints that a snapshot holds, in order, from any one on.
//!
//! This is where the segments of a store become one sorted set: what iterates, joins, streams or
//! writes a store anew reads it here.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::contents::Snapshot;
use super::union;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, bytes_of};
use crate::ids::{IdCursor, IdRuns, Numbering};
use crate::memory;
use crate::names::MergedNames;
use crate::segment::{Rows, Segment};
use crate::tasks;

/// Blocks that are decoded at a time on the thread of the caller, and fingerprints, unless a single
/// block holds more.
const ALONE_BLOCKS: u64 = 4;
const ALONE_KEYS: u64 = 1 << 16;
/// Bytes of the fingerprints that one of several tasks decodes, and of those that it decodes at
/// most, unless a single block holds more.
const TASK_BYTES: u64 = 1 << 17;
const MOST_TASK_BYTES: u64 = 1 << 18;
/// Fewest blocks that one of several tasks decodes, if they are not too many fingerprints: they are
/// decoded side by side.
const TASK_BLOCKS: u64 = 8;
/// Tasks of a thread that are decoded together.
const TASKS: u64 = 2;
/// Fingerprints of several segments after which it is looked whether to stop.
const LOOKED: usize = 1 << 14;
/// Fingerprints that are merged at a time from several segments.
const MERGED: usize = 1024;

/// Who decodes blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decode {
    /// The thread of the caller, few blocks at a time.
    Alone,
    /// All threads of the current pool.
    Together,
}

/// A place among the fingerprints of a snapshot, which ascend and come once each.
///
/// Memory: of each segment the keys of 4 blocks, or 512 KiB per thread of the current pool; or 8
/// bytes for each key of the block with most keys, whatever the headers of the tables claim.
pub(crate) struct Cursor<F: Fingerprint = u64> {
    places: Vec<SegmentCursor<F>>,
    /// What is read, without tails.
    snapshot: Snapshot<F>,
}

/// A place among the fingerprints of a segment.
struct SegmentCursor<F: Fingerprint> {
    segment: Arc<Segment<F>>,
    decode: Decode,
    start: F,
    next_block: u64,
    /// Fingerprints that were decoded.
    decoded: u64,
    /// Those of some adjacent blocks each; of the first, up to `at` they are used up.
    chunks: VecDeque<Vec<F>>,
    at: usize,
    /// Room for others.
    spare: Vec<Vec<F>>,
    /// The same place among the ids, if they are read and there are some.
    ids: Option<IdCursor>,
    /// What their numbers are.
    numbering: Numbering,
    /// What hides fingerprints of the segment, and the place of this among all, where they are left
    /// out.
    hiding: Option<(Snapshot<F>, usize)>,
}

impl<F: Fingerprint> Cursor<F> {
    /// The fingerprints from `start` on.
    pub(crate) fn new(snapshot: &Snapshot<F>, start: F, decode: Decode) -> Result<Self> {
        let mut cursor = Self::unhidden(snapshot, start, decode)?;
        if cursor.snapshot.parts().hides() {
            for (number, place) in cursor.places.iter_mut().enumerate() {
                place.hiding = Some((cursor.snapshot.clone(), number));
            }
        }
        Ok(cursor)
    }

    fn unhidden(snapshot: &Snapshot<F>, start: F, decode: Decode) -> Result<Self> {
        let snapshot = snapshot.settled()?;
        let place = |segment: &Arc<Segment<F>>| SegmentCursor::new(segment, start, decode);
        let places = snapshot.segments().iter().map(place).collect::<Result<_>>()?;
        Ok(Self { places, snapshot })
    }

    /// All fingerprints, for [`Self::next_with_ids`].
    pub(crate) fn with_ids(snapshot: &Snapshot<F>) -> Result<Self> {
        Self::with_numbered_ids(snapshot, |segment| Numbering::Of(segment.naming()))
    }

    /// As [`Self::with_ids`], with numbers that all segments have in common and that have the order
    /// of the ids. Where several segments have names, all of these are read first, and their
    /// numbers take some bits each.
    pub(crate) fn with_common_ids(snapshot: &Snapshot<F>) -> Result<Self> {
        let snapshot = snapshot.settled()?;
        let columns = snapshot.segments().iter().map(|segment| segment.names().cloned());
        let numbers: Vec<_> = match columns.collect::<Option<Vec<_>>>() {
            Some(columns) if columns.len() > 1 => {
                let all = columns.into_iter().map(|names| (names, None)).collect();
                MergedNames::new(all, &|| Ok(()))?.numbers().to_vec()
            }
            _ => Vec::new(),
        };
        let mut numbers = numbers.into_iter();
        Self::with_numbered_ids(&snapshot, |_| {
            numbers.next().map_or(Numbering::Common, Numbering::Renumbered)
        })
    }

    /// As [`Self::with_ids`], with a numbering of the ids of each segment.
    pub(crate) fn with_numbered_ids(
        snapshot: &Snapshot<F>,
        mut numbering: impl FnMut(&Segment<F>) -> Numbering,
    ) -> Result<Self> {
        let mut cursor = Self::unhidden(snapshot, F::default(), Decode::Alone)?;
        for place in &mut cursor.places {
            place.ids = place.segment.id_column().map(|column| IdCursor::new(Arc::clone(column)));
            place.numbering = numbering(&place.segment);
        }
        Ok(cursor)
    }

    /// Puts some of the next fingerprints in place of those in `piece`; none at the end.
    pub(crate) fn next_piece(&mut self, piece: &mut Vec<F>) -> Result<()> {
        if let [only] = &mut self.places[..] {
            return only.next_chunk(piece);
        }
        piece.clear();
        while piece.len() < MERGED {
            let Some(least) = self.least()? else { break };
            self.pass(least)?;
            piece.push(least);
        }
        Ok(())
    }

    /// The next fingerprint and its ids; `None` at the end.
    pub(crate) fn next_with_ids(&mut self) -> Result<Option<(F, IdRuns)>> {
        let hides = self.snapshot.parts().hides();
        while let Some(least) = self.least()? {
            let parts = self.snapshot.parts();
            let mut ids = IdRuns::default();
            let mut is_visible = false;
            for (number, place) in self.places.iter_mut().enumerate() {
                if place.ready()?.first() != Some(&least) {
                    continue;
                }
                place.at += 1;
                let of_segment = place.ids.as_mut().map(IdCursor::advance).transpose()?;
                if !hides || union::visible_in(parts, number, least)? {
                    is_visible = true;
                    if let Some(numbers) = of_segment {
                        let numbering = place.numbering.clone();
                        union::add_ids(&mut ids, parts, (number, numbering), least, numbers)?;
                    }
                }
            }
            if is_visible {
                return Ok(Some((least, ids)));
            }
        }
        Ok(None)
    }

    /// Appends up to `limit` of the next fingerprints that are not above `last` to `out`; tells
    /// whether there are more of these. Ends early, with any answer, once `stopped`.
    pub(crate) fn read(
        &mut self,
        last: F,
        limit: usize,
        out: &mut Vec<F>,
        stopped: impl Fn() -> bool,
    ) -> Result<bool> {
        let mut left = limit;
        if let [only] = &mut self.places[..] {
            loop {
                if stopped() {
                    return Ok(false);
                }
                let ready = only.ready()?;
                let run = ready.partition_point(|&fingerprint| fingerprint <= last);
                if run == 0 {
                    return Ok(false);
                }
                let taken = run.min(left);
                memory::grow(out, taken, limit)?;
                out.extend_from_slice(&ready[..taken]);
                only.at += taken;
                left -= taken;
                if taken < run {
                    return Ok(true);
                }
            }
        }
        loop {
            let Some(least) = self.least()?.filter(|&least| least <= last) else {
                return Ok(false);
            };
            if left == 0 {
                return Ok(true);
            }
            if (limit - left).is_multiple_of(LOOKED) && stopped() {
                return Ok(false);
            }
            left -= 1;
            memory::grow(out, 1, limit)?;
            out.push(least);
            self.pass(least)?;
        }
    }

    /// The least of the next fingerprints of all segments.
    fn least(&mut self) -> Result<Option<F>> {
        let mut least = None;
        for place in &mut self.places {
            least = [least, place.ready()?.first().copied()].into_iter().flatten().min();
        }
        Ok(least)
    }

    /// Goes on behind a fingerprint, which may stand in several segments.
    fn pass(&mut self, fingerprint: F) -> Result<()> {
        for place in &mut self.places {
            if place.ready()?.first() == Some(&fingerprint) {
                place.at += 1;
            }
        }
        Ok(())
    }
}

impl<F: Fingerprint> SegmentCursor<F> {
    fn new(segment: &Arc<Segment<F>>, start: F, decode: Decode) -> Result<Self> {
        Ok(Self {
            segment: Arc::clone(segment),
            decode,
            start,
            next_block: segment.rows().seek(start)?,
            decoded: 0,
            chunks: VecDeque::new(),
            at: 0,
            spare: Vec::new(),
            ids: None,
            numbering: Numbering::Common,
            hiding: None,
        })
    }

    /// Leaves out what is hidden.
    fn hide(&self, keys: &mut Vec<F>) -> Result<()> {
        let Some((snapshot, number)) = &self.hiding else { return Ok(()) };
        let parts = snapshot.parts();
        let mut fault = None;
        keys.retain(|&key| match union::visible_in(parts, *number, key) {
            Ok(visible) => visible,
            Err(error) => {
                fault = Some(error);
                false
            }
        });
        fault.map_or(Ok(()), Err)
    }

    /// Some of the next fingerprints, none at the end.
    #[inline]
    fn ready(&mut self) -> Result<&[F]> {
        while self.chunks.front().is_none_or(|chunk| self.at >= chunk.len()) {
            self.at = 0;
            self.spare.extend(self.chunks.pop_front());
            if self.chunks.is_empty() && !self.fill()? {
                return Ok(&[]);
            }
        }
        Ok(self.chunks.front().map_or(&[], |chunk| &chunk[self.at..]))
    }

    /// Puts the next chunk in place of `chunk`, whose room is used for others.
    fn next_chunk(&mut self, chunk: &mut Vec<F>) -> Result<()> {
        if self.decode == Decode::Alone
            && self.decoded > 0
            && self.chunks.is_empty()
            && self.hiding.is_none()
        {
            // Straight into its place. Queued in between it took 5% longer on real fingerprints in
            // one measurement, and no longer on uniform ones.
            return self.decode_alone(chunk);
        }
        self.spare.push(std::mem::take(chunk));
        if !self.ready()?.is_empty() {
            *chunk = self.chunks.pop_front().unwrap_or_default();
            chunk.drain(..self.at);
            self.at = 0;
        }
        Ok(())
    }

    /// Decodes the next blocks; false at the end.
    #[cold]
    fn fill(&mut self) -> Result<bool> {
        let is_first = self.decoded == 0;
        match self.decode {
            Decode::Alone => {
                let mut keys = self.spare.pop().unwrap_or_default();
                self.decode_alone(&mut keys)?;
                if !keys.is_empty() {
                    self.hide(&mut keys)?;
                    self.chunks.push_back(keys);
                }
            }
            Decode::Together => self.fill_together()?,
        }
        if is_first {
            let chunk = self.chunks.front();
            self.at = chunk.map_or(0, |keys| keys.partition_point(|&key| key < self.start));
        }
        Ok(!self.chunks.is_empty())
    }

    /// Puts the keys of the next blocks in place of `keys`; none at the end. These keep their
    /// length until then: to fill a list that was cleared with zeros first takes 5% of the time of
    /// decoding.
    fn decode_alone(&mut self, keys: &mut Vec<F>) -> Result<()> {
        let rows = self.segment.rows();
        let start = self.next_block;
        if start == rows.block_count() {
            keys.clear();
            return Ok(());
        }
        let wanted = start..(start + ALONE_BLOCKS).min(rows.block_count());
        let (mut end, _) = rows.blocks_within(wanted, ALONE_KEYS);
        if rows.read(start..end, keys).is_err() {
            // What stands before a damaged block is not lost: one by one up to it.
            end = start + 1;
            rows.read(start..end, keys)?;
        }
        self.next_block = end;
        self.count(keys.len())
    }

    /// Counts fingerprints that were decoded.
    fn count(&mut self, keys: usize) -> Result<()> {
        self.decoded += keys as u64;
        match self.segment.rows() {
            Rows::Table(table) if self.decoded > self.segment.count() => {
                Err(table.surplus_error(self.decoded))
            }
            _ => Ok(()),
        }
    }

    fn fill_together(&mut self) -> Result<()> {
        let tasks = self.tasks();
        self.spare.resize_with(tasks.len().max(self.spare.len()), Vec::new);
        let rooms = self.spare.drain(..tasks.len());
        let rows = self.segment.rows();
        let decode = |(numbers, mut keys): (Range<u64>, Vec<F>)| {
            rows.read(numbers, &mut keys)?;
            Ok(keys)
        };
        for keys in tasks::map(tasks.into_iter().zip(rooms), decode) {
            let mut keys = keys?;
            self.count(keys.len())?;
            self.hide(&mut keys)?;
            self.chunks.push_back(keys);
        }
        Ok(())
    }

    /// The blocks that are decoded next, by one task each.
    fn tasks(&mut self) -> Vec<Range<u64>> {
        let rows = self.segment.rows();
        let blocks = rows.block_count();
        let of_block = (self.segment.count() / blocks.max(1)).max(1);
        let [task_keys, most_keys] =
            [TASK_BYTES, MOST_TASK_BYTES].map(|bytes| bytes / bytes_of::<F>().max(8) as u64);
        let of_task = (task_keys / of_block).max(TASK_BLOCKS);
        let most_tasks = TASKS * tasks::threads() as u64;
        let (mut tasks, mut keys) = (Vec::new(), 0);
        while tasks.len() < most_tasks as usize && self.next_block < blocks {
            let start = self.next_block;
            let wanted = start..blocks.min(start.saturating_add(of_task));
            let (end, of_task) = rows.blocks_within(wanted, most_keys);
            keys += of_task;
            if !tasks.is_empty() && keys > most_keys * most_tasks {
                break;
            }
            tasks.push(start..end);
            self.next_block = end;
        }
        tasks
    }
}
