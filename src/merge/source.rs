//! What a merged segment is written of: for each permutation the keys of several segments, as one
//! ascending list.

use std::collections::HashSet;
use std::sync::Arc;

use bitvec::prelude::{BitVec, bitvec};

use crate::codec::profile::Profile;
use crate::error::{Error, Result};
use crate::execution::{Meter, Phase};
use crate::fingerprint::{Fingerprint, key_of, keys_of, of_key};
use crate::format::{BitRange, Deletion, DeletionsEntry};
use crate::ids::{IdSource, Numbering};
use crate::multi_index::{EntrySource, PartOptions};
use crate::names::{MergedNames, Renumbering};
use crate::permute::Permutation;
use crate::planning::Planner;
use crate::segment::source::{KeySource, RowSource, cut};
use crate::segment::{PartEntries, Rows, Segment, sum_of};
use crate::snapshot::cursor::{Cursor, Decode};
use crate::snapshot::parts::{Base, DeletionList};
use crate::snapshot::{Snapshot, union};
use crate::sort::{Create, Spill};
use crate::table::Table;

/// Ids, or words of marks, that are handed on together.
const PIECE: usize = 1 << 13;
/// Entries of a part table that are in memory, twice; and keys that a segment lacks, sorted in
/// memory.
const SORTED: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };

/// Segments that are to become one.
pub(crate) struct Merging<F: Fingerprint = u64> {
    /// These segments alone, with all that hides something of them.
    snapshot: Snapshot<F>,
    /// For each segment the fingerprints that are hidden in it.
    dead: Vec<Arc<HashSet<F>>>,
    count: u64,
    set_sum: u128,
    id_count: u64,
    greatest_id: u64,
    /// The names of the merged segment, until they are taken.
    names: Option<MergedNames>,
    /// For each segment the numbers that its names have there; empty where ids are numbers.
    numbers: Vec<Arc<Renumbering>>,
}

impl<F: Fingerprint> Merging<F> {
    /// The segments of `base` with these numbers. Goes through them once; where ids are names and
    /// something is deleted twice, to keep only names that are needed: those of ids, and of `kept`
    /// deletions, each with the number of the segment that it belongs to.
    pub(crate) fn new(
        base: &Base<F>,
        numbers: &[u64],
        kept: &[(u64, Deletion<F>)],
        meter: &Meter,
    ) -> Result<Self> {
        let is_one = |place: usize| numbers.contains(&base.segments[place].number());
        let snapshot = Snapshot::new(Arc::new(base.restricted(is_one)), Vec::new());
        let dead = dead(&snapshot)?;
        let mut merging = Self {
            snapshot,
            dead,
            count: 0,
            set_sum: 0,
            id_count: 0,
            greatest_id: 0,
            names: None,
            numbers: Vec::new(),
        };
        let brings_deletions = |(entry, list): (&DeletionsEntry, &DeletionList<F>)| {
            numbers.contains(&entry.segment) && !list.is_empty()
        };
        let is_deleted = merging.snapshot.parts().hides() || base.lists().any(brings_deletions);
        merging.merge_names(is_deleted.then_some(kept), meter)?;
        if merging.has_ids() {
            merging.count_with_ids(meter)?;
        } else {
            merging.count_fingerprints(meter)?;
        }
        Ok(merging)
    }

    /// The segments, with all that hides something of them.
    pub(crate) fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    fn segments(&self) -> &[Arc<Segment<F>>] {
        self.snapshot.segments()
    }

    /// Whether there are ids.
    pub(crate) fn has_ids(&self) -> bool {
        self.segments().iter().any(|segment| segment.id_column().is_some())
    }

    /// Number of distinct fingerprints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of ids, and the greatest.
    pub(crate) fn ids(&self) -> (u64, u64) {
        (self.id_count, self.greatest_id)
    }

    /// Gives all fingerprints to `sink`, in pieces, in ascending order.
    fn visit_rows(&self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        visit_rows(&self.snapshot, sink)
    }

    /// Merges the names of the segments: all, or those that ids and some deletions need.
    fn merge_names(
        &mut self,
        needed_by: Option<&[(u64, Deletion<F>)]>,
        meter: &Meter,
    ) -> Result<()> {
        let columns = self.segments().iter().map(|segment| segment.names().cloned());
        let Some(columns) = columns.collect::<Option<Vec<_>>>() else { return Ok(()) };
        let mut needed: Vec<Option<BitVec>> = vec![None; columns.len()];
        if let Some(kept) = needed_by {
            let mut marks: Vec<BitVec> =
                columns.iter().map(|names| bitvec![0; names.len() as usize]).collect();
            self.mark_ids(&mut marks, meter)?;
            for (segment, deletion) in kept {
                let place = self.segments().iter().position(|at| at.number() == *segment);
                if let (Some(place), Some(id)) = (place, deletion.id()) {
                    mark(&mut marks[place], id);
                }
            }
            needed = marks.into_iter().map(Some).collect();
        }
        let inputs = columns.into_iter().zip(needed).collect();
        let names = MergedNames::new(inputs, &|| meter.check())?;
        self.numbers = names.numbers().to_vec();
        self.names = Some(names);
        Ok(())
    }

    /// Marks for each segment the names of ids that are not hidden.
    fn mark_ids(&self, marks: &mut [BitVec], meter: &Meter) -> Result<()> {
        let mut cursor = Cursor::with_numbered_ids(&self.snapshot, |_| Numbering::Common)?;
        let mut passed = 0;
        while let Some((_, mut ids)) = cursor.next_with_ids()? {
            ids.visit_numbers(|place, number| {
                mark(&mut marks[place], number);
                Ok(())
            })?;
            passed += 1;
            if passed % PIECE == 0 {
                meter.check()?;
            }
        }
        Ok(())
    }

    /// The numbers that the ids of a segment have in the merged one.
    fn numbering(&self, segment: &Segment<F>) -> Numbering {
        match self.numbers_of(segment.number()) {
            Some(numbers) => Numbering::Renumbered(Arc::clone(numbers)),
            None => Numbering::Common,
        }
    }

    /// The numbers that the names of a segment have in the merged one.
    fn numbers_of(&self, segment: u64) -> Option<&Arc<Renumbering>> {
        let place = self.segments().iter().position(|at| at.number() == segment)?;
        self.numbers.get(place)
    }

    /// Gives a deletion of the segment with this number the number that its id has in the merged
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`]: [NAM-13].
    pub(crate) fn renumber(&self, segment: u64, deletion: &mut Deletion<F>) -> Result<()> {
        let (Some(id), Some(numbers)) = (deletion.id(), self.numbers_of(segment)) else {
            return Ok(());
        };
        if let Some(number) = numbers.get(id) {
            deletion.renumber(|_| number);
            return Ok(());
        }
        let of_segment = self.segments().iter().find(|at| at.number() == segment);
        of_segment.and_then(|at| at.names()).map_or(Ok(()), |names| names.check_number(id))
    }

    /// The names of the merged segment, if its ids are names.
    pub(crate) fn take_names(&mut self) -> Option<MergedNames> {
        self.names.take()
    }

    fn count_fingerprints(&mut self, meter: &Meter) -> Result<()> {
        let (mut count, mut set_sum) = (0, 0u128);
        self.visit_rows(&mut |rows| {
            count += rows.len() as u64;
            set_sum = set_sum.wrapping_add(sum_of(rows));
            meter.advance(Phase::Merge, rows.len() as u64)
        })?;
        (self.count, self.set_sum) = (count, set_sum);
        Ok(())
    }

    fn count_with_ids(&mut self, meter: &Meter) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut cursor =
            Cursor::with_numbered_ids(&self.snapshot, |segment| self.numbering(segment))?;
        loop {
            let next = cursor.next_with_ids()?;
            if piece.len() == PIECE || (next.is_none() && !piece.is_empty()) {
                self.count += piece.len() as u64;
                self.set_sum = self.set_sum.wrapping_add(sum_of(&piece));
                meter.advance(Phase::Merge, piece.len() as u64)?;
                piece.clear();
            }
            let Some((fingerprint, mut ids)) = next else { return Ok(()) };
            piece.push(fingerprint);
            while let Some(id) = ids.next_number()? {
                self.greatest_id = self.greatest_id.max(id);
                self.id_count += 1;
            }
        }
    }
}

impl<F: Fingerprint> Merging<F> {
    /// The keys of one permutation.
    fn streams(&self, permutation: &Permutation) -> Result<Vec<Stream<F>>> {
        let with_dead = self.segments().iter().zip(&self.dead);
        with_dead
            .map(|(segment, dead)| {
                let dead = Arc::clone(dead);
                match table_of(segment, permutation) {
                    Some(table) => Ok(Stream::of_table(segment, table, dead)),
                    None if permutation.is_identity() => Ok(Stream::of_rows(segment, dead)),
                    None => Stream::sorted(segment, permutation, dead),
                }
            })
            .collect()
    }

    /// Fingerprints of the segments that do not have the keys of a permutation in order.
    fn unordered(&self, permutation: &Permutation) -> u64 {
        let lacks = |segment: &&Arc<Segment<F>>| table_of(segment, permutation).is_none();
        match permutation.is_identity() {
            true => 0,
            false => self.segments().iter().filter(lacks).map(|segment| segment.count()).sum(),
        }
    }
}

/// Gives all fingerprints to `sink`, in pieces, in ascending order.
fn visit_rows<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    sink: &mut dyn FnMut(&[F]) -> Result<()>,
) -> Result<()> {
    let mut cursor = Cursor::new(snapshot, F::default(), Decode::Alone)?;
    let mut piece = Vec::new();
    loop {
        cursor.next_piece(&mut piece)?;
        if piece.is_empty() {
            return Ok(());
        }
        sink(&piece)?;
    }
}

/// Tells a planner of the fingerprints of a snapshot, as a pack of them tells it. Goes through them
/// once, if it can plan for such.
pub(crate) fn sample<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    planner: Planner,
    meter: &Meter,
) -> Result<Planner> {
    if F::BITS > u64::BITS {
        return Ok(planner);
    }
    let (mut profile, mut kept, mut count) = (Profile::empty(F::BITS), Vec::new(), 0);
    let mut ranks = Planner::sample_ranks(planner.count()).peekable();
    visit_rows(snapshot, &mut |rows| {
        let keys = keys_of(rows);
        profile.extend(&keys);
        while let Some(rank) = ranks.next_if(|rank| *rank < count + keys.len() as u64) {
            kept.push(keys[(rank - count) as usize]);
        }
        count += keys.len() as u64;
        meter.check()
    })?;
    Ok(planner.sample_of(count, profile, kept))
}

/// Marks a name; what is damaged may have a number behind all.
fn mark(marks: &mut BitVec, number: u64) {
    if let Some(mut mark) = marks.get_mut(number as usize) {
        *mark = true;
    }
}

/// The table of a segment with whole keys of this permutation, if it has one.
fn table_of<F: Fingerprint>(segment: &Segment<F>, permutation: &Permutation) -> Option<usize> {
    let same = |table: &Table| !table.is_short() && table.permutation() == permutation;
    segment.tables().iter().position(same)
}

/// For each segment the fingerprints that are hidden in it.
fn dead<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<Vec<Arc<HashSet<F>>>> {
    let parts = snapshot.parts();
    let deletions = parts.base.hiding.deletions();
    let mut touched: Vec<F> = deletions.map(|deletion| deletion.fingerprint).collect();
    touched.sort_unstable();
    touched.dedup();
    let of_segment = |(place, segment): (usize, &Arc<Segment<F>>)| {
        let rows = segment.rows();
        let mut dead = HashSet::new();
        for &fingerprint in &touched {
            let is_there = rows.contains(fingerprint)?;
            if is_there && !union::visible_in(parts, place, fingerprint)? {
                dead.insert(fingerprint);
            }
        }
        Ok(Arc::new(dead))
    };
    snapshot.segments().iter().enumerate().map(of_segment).collect()
}

/// The keys, or the rows, of segments that become one.
pub(crate) struct MergeSource<'a, F: Fingerprint, T> {
    merging: &'a Merging<F>,
    meter: &'a Meter,
    create: Create<'a, T>,
    /// That of the table in work, and whether its keys are sorted as a whole.
    permutation: Permutation,
    is_sorted: bool,
    entries: PartEntries<T>,
}

impl<'a, F: Fingerprint, T: Spill> MergeSource<'a, F, T> {
    pub(crate) fn new(merging: &'a Merging<F>, meter: &'a Meter, create: Create<'a, T>) -> Self {
        let entries = PartEntries::new(SORTED);
        let permutation = Permutation::new(&[]);
        Self { merging, meter, create, permutation, is_sorted: false, entries }
    }
}

impl<F: Fingerprint, T: Spill> KeySource for MergeSource<'_, F, T> {
    fn count(&self) -> u64 {
        self.merging.count
    }

    fn set_sum(&self) -> u128 {
        self.merging.set_sum
    }

    fn order(&mut self, top: &[BitRange], _next: Option<&[BitRange]>) -> Result<()> {
        if F::BITS > u64::BITS {
            // Nobody writes tables of these.
            return Err(Error::Ended);
        }
        self.permutation = Permutation::new(top);
        self.is_sorted = self.merging.unordered(&self.permutation) > SORTED as u64;
        if self.is_sorted {
            let (merging, permutation) = (self.merging, &self.permutation);
            let mut visit = |sink: &mut dyn FnMut(&[F]) -> Result<()>| merging.visit_rows(sink);
            let keys = |_, fingerprints: &[F], keys: &mut [u64]| {
                for (key, &one) in keys.iter_mut().zip(fingerprints) {
                    *key = permutation.key(key_of(one));
                }
            };
            self.entries.order_by(keys, &mut visit, self.meter, self.create)?;
        }
        Ok(())
    }

    fn profile(&mut self, bits: u32) -> Result<Profile> {
        let cuts = (bits < F::BITS).then_some(bits);
        let mut profile = Profile::empty(bits);
        let meter = self.meter;
        KeySource::visit(self, None, &mut |keys| {
            cut(keys, cuts, &mut |keys| {
                profile.extend(keys);
                Ok(())
            })?;
            meter.advance(Phase::Count, keys.len() as u64)
        })?;
        Ok(profile)
    }

    fn visit(
        &mut self,
        _next: Option<&[BitRange]>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        match self.is_sorted {
            true => self.entries.visit(sink),
            false => merge(self.merging.streams(&self.permutation)?, sink),
        }
    }
}

impl<F: Fingerprint, T: Spill> RowSource<F> for MergeSource<'_, F, T> {
    fn count(&self) -> u64 {
        self.merging.count
    }

    fn set_sum(&self) -> u128 {
        self.merging.set_sum
    }

    fn visit_rows(&mut self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        self.merging.visit_rows(sink)
    }

    fn order_entries(&mut self, part: &PartOptions<F>) -> Result<()> {
        let merging = self.merging;
        let mut visit = |sink: &mut dyn FnMut(&[F]) -> Result<()>| merging.visit_rows(sink);
        self.entries.order(part, &mut visit, self.meter, self.create)
    }
}

impl<F: Fingerprint, T: Spill> EntrySource for MergeSource<'_, F, T> {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        self.entries.visit(sink)
    }
}

/// The ids of segments that become one.
pub(crate) struct MergeIds<'a, F: Fingerprint>(pub(crate) &'a Merging<F>);

impl<F: Fingerprint> IdSource for MergeIds<'_, F> {
    fn visit_marks(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let (mut words, mut word, mut filled) = (Vec::with_capacity(PIECE), 0u64, 0);
        let mut cursor = self.cursor()?;
        while let Some((_, ids)) = cursor.next_with_ids()? {
            for place in 0..ids.count_numbers()? {
                word |= u64::from(place == 0) << filled;
                filled += 1;
                if filled == u64::BITS {
                    words.push(std::mem::take(&mut word));
                    filled = 0;
                }
                if words.len() == PIECE {
                    sink(&words)?;
                    words.clear();
                }
            }
        }
        words.extend((filled > 0).then_some(word));
        if words.is_empty() { Ok(()) } else { sink(&words) }
    }

    fn visit_ids(&mut self, sink: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut cursor = self.cursor()?;
        while let Some((_, mut ids)) = cursor.next_with_ids()? {
            while let Some(id) = ids.next_number()? {
                piece.push(id);
                if piece.len() == PIECE {
                    sink(&piece)?;
                    piece.clear();
                }
            }
        }
        if piece.is_empty() { Ok(()) } else { sink(&piece) }
    }
}

impl<F: Fingerprint> MergeIds<'_, F> {
    fn cursor(&self) -> Result<Cursor<F>> {
        Cursor::with_numbered_ids(&self.0.snapshot, |segment| self.0.numbering(segment))
    }
}

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
