//! The sections of a living store (sections 11.2 to 12), and what such a store holds (section
//! 11.7).

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Manifest, SegmentEntry, payload_length, payload_reserved};
use super::mutation::{Wrong, is, or};
use super::{Bits, Checked, Fields, PlainSegment, PlainStore, require, support};

/// A LOG payload.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry {
    /// Bytes of a fingerprint.
    pub fingerprint_bytes: usize,
    pub first_log: u64,
    pub sequence: u64,
    pub ids: bool,
    /// name_kind and name_bytes of the names that are ids, if they are names.
    pub names: Option<(u16, u16)>,
    pub windows: bool,
}

/// What is said of a deletions file.
#[derive(Clone, Copy, Debug)]
pub struct DeletionsEntry {
    pub segment: u64,
    pub sequence: u64,
    pub file_bytes: u64,
    pub header_crc: u32,
    pub footer_crc: u32,
}

/// A deletion.
#[derive(Clone, Debug)]
pub struct PlainDeletion {
    pub fingerprint: Bits,
    /// `None` for all of them.
    pub id: Option<u64>,
    pub sequence: u64,
}

/// An insertion of a log.
#[derive(Clone, Debug)]
pub struct PlainInsertion {
    pub fingerprint: Bits,
    pub id: Option<u64>,
    pub window: Option<u64>,
    pub sequence: u64,
}

/// Section 11.2.
pub fn read_log_section(payload: &[u8], manifest: &Manifest) -> Checked<LogEntry> {
    payload_length(payload, 48)?;
    payload_reserved(&payload[20..24])?;
    let flags = Fields(&payload[16..]).u32();
    support(flags < 8, "MAN-11", || format!("flags {flags:#x}"))?;
    require(manifest.log.is_none(), "LGS-1", || "a second LOG section".to_owned())?;
    let mut fields = Fields(payload);
    let (first_log, sequence) = (fields.u64(), fields.u64());
    let sequence = or(sequence, Wrong::LogSequenceOf32Bits, u64::from(sequence as u32));
    let most = or(1 << 62, Wrong::LogNumbersTo63Bits, 1 << 63);
    require((1..most).contains(&first_log) && sequence < most, "LGS-2", || {
        format!("first_log is {first_log}, sequence {sequence}")
    })?;
    let (ids, windows) = (flags & 1 == 1, flags & 2 == 2);
    let (ids, windows) = or((ids, windows), Wrong::LogFlagsSwapped, (windows, ids));
    for SegmentEntry { number, ids: of_segment, .. } in &manifest.segments {
        let is_right = of_segment.is_some() == ids || !ids && is(Wrong::IdsWithoutFlag);
        require(is_right, "LGS-3", || format!("segment {number} differs: ids are {ids}"))?;
    }
    let names = manifest.names.filter(|_| flags & 4 == 4);
    let shape = (ids && manifest.names.is_some(), manifest.window_seconds > 0);
    let shape = or(shape, Wrong::WindowsFlagFree, (shape.0, windows));
    let shape = or(shape, Wrong::WindowsFlagMissing, (shape.0, windows && shape.1));
    let shape = or(shape, Wrong::NamesFlagFree, (flags & 4 == 4, shape.1));
    let shape = or(shape, Wrong::NamesFlagByKind, (manifest.names.is_some(), shape.1));
    require((flags & 4 == 4, windows) == shape, "LGS-4", || format!("flags {flags:#x}"))?;
    let fingerprint_bytes = usize::from(manifest.bits / 8);
    Ok(LogEntry { fingerprint_bytes, first_log, sequence, ids, names, windows })
}

/// Something that a store holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    pub fingerprint: Bits,
    pub id: Option<u64>,
    pub window: Option<u64>,
}

/// Where something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Segment(u64),
    Log,
}

impl PlainSegment {
    /// Its fingerprints, in their order.
    fn fingerprints(&self) -> Vec<Bits> {
        let of_table = self.tables.iter().take(1).flat_map(|table| &table.fingerprints);
        let of_base = self.base.iter().flat_map(|base| base.rows.clone());
        let unused = 8 - self.tables.first().map_or(8, |table| usize::from(table.bits / 8));
        let of_table = of_table.map(|fingerprint| fingerprint.to_be_bytes()[unused..].to_vec());
        of_table.chain(of_base).collect()
    }
}

impl PlainStore {
    /// What the store holds, in the order in which it stands there: some of it perhaps several
    /// times.
    pub fn held(&self) -> Vec<Held> {
        let of_files = self.segments.iter().flat_map(|segment| {
            segment.deletions.iter().map(|deletion| (deletion, Place::Segment(segment.number)))
        });
        let of_logs = self.deletions.iter().map(|deletion| (deletion, Place::Log));
        let deletions: Vec<_> = of_files.chain(of_logs).collect();
        let hidden = |held: &Held, sequence, place| {
            let of = |(deletion, from): &(&PlainDeletion, Place)| {
                hides(deletion, *from, held, sequence, place)
            };
            deletions.iter().any(of)
        };
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        for segment in &self.segments {
            let (place, window) = (Place::Segment(segment.number), segment.window);
            for (number, fingerprint) in segment.fingerprints().into_iter().enumerate() {
                let ids = segment.ids.as_ref().map(|ids| &ids[number]);
                let held = |id| Held { fingerprint: fingerprint.clone(), id, window };
                let mut each: Vec<Held> = match ids {
                    None => vec![held(None)],
                    Some(_) if is(Wrong::FirstIdsOnly) && !seen.insert(fingerprint.clone()) => {
                        vec![]
                    }
                    Some(ids) => ids.iter().map(|&id| held(Some(id))).collect(),
                };
                let before = each.len();
                each.retain(|held| !hidden(held, segment.sequence, place));
                if is(Wrong::GoneWithOneId) && each.len() < before {
                    each.clear();
                }
                if is(Wrong::StaysWithoutIds) && ids.is_some() && each.is_empty() {
                    each.push(held(None));
                }
                all.extend(each);
            }
        }
        for PlainInsertion { fingerprint, id, window, sequence } in &self.insertions {
            let held = Held { fingerprint: fingerprint.clone(), id: *id, window: *window };
            if !hidden(&held, *sequence, Place::Log) {
                all.push(held);
            }
        }
        all
    }

    /// The set of the store, ascending.
    pub fn fingerprints(&self) -> Vec<Bits> {
        let all: BTreeSet<Bits> = self.held().into_iter().map(|held| held.fingerprint).collect();
        all.into_iter().collect()
    }

    /// The ids of each fingerprint that has some.
    pub fn ids(&self) -> BTreeMap<Bits, BTreeSet<u64>> {
        self.collect(|held| held.id)
    }

    /// The windows in which each fingerprint is that has some.
    pub fn windows(&self) -> BTreeMap<Bits, BTreeSet<u64>> {
        self.collect(|held| held.window)
    }

    fn collect(&self, part: impl Fn(&Held) -> Option<u64>) -> BTreeMap<Bits, BTreeSet<u64>> {
        let mut all: BTreeMap<Bits, BTreeSet<u64>> = BTreeMap::new();
        for held in self.held() {
            if let Some(part) = part(&held) {
                all.entry(held.fingerprint).or_default().insert(part);
            }
        }
        all
    }
}

/// Whether a deletion that was written at `from` hides what was written at `place`, with this
/// sequence.
fn hides(deletion: &PlainDeletion, from: Place, held: &Held, sequence: u64, place: Place) -> bool {
    let later = match (from, place) {
        (Place::Segment(from), Place::Segment(number)) if is(Wrong::HidesByNumber) => number < from,
        (Place::Segment(from), Place::Segment(number)) if is(Wrong::HidesOwnSegment) => {
            number == from && deletion.sequence > sequence
        }
        (_, Place::Segment(_)) if is(Wrong::HidesAnySegment) => true,
        (Place::Log, Place::Segment(_)) if is(Wrong::LogHidesLogOnly) => false,
        (Place::Log, Place::Log) if is(Wrong::LogHidesSegmentsOnly) => false,
        (Place::Log, Place::Log) if is(Wrong::LogHidesLater) => true,
        _ => deletion.sequence > sequence || is(Wrong::HidesSame) && deletion.sequence == sequence,
    };
    let named = match deletion.id {
        _ if is(Wrong::PairsAreWhole) => true,
        None if is(Wrong::WholeIsIdZero) => held.id.is_none_or(|id| id == 0),
        None => true,
        Some(_) if is(Wrong::PairsWithoutIds) && held.id.is_none() => true,
        id => held.id == id,
    };
    later && named && deletion.fingerprint == held.fingerprint
}
