//! The sections of a living store (sections 3.7 to 3.10), and what such a store holds (section 10.5).

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Manifest, SegmentEntry, at_least, payload_tail};
use super::mutation::{Wrong, is, or};
use super::{Bits, Checked, Fields, PlainSegment, PlainStore, all_zero, require, support};

/// A LOG payload.
#[derive(Clone, Copy, Debug)]
pub struct LogEntry {
    /// Bytes of a fingerprint.
    pub fingerprint_bytes: usize,
    pub first_log: u64,
    pub sequence: u64,
    pub ids: bool,
    pub names: bool,
    pub windows: bool,
}

/// An entry of a DELETIONS payload.
#[derive(Clone, Copy, Debug)]
pub struct DeletionsEntry {
    pub segment: u64,
    pub sequence: u64,
    pub file_bytes: u64,
    pub header_crc: u32,
    pub footer_crc: u32,
}

/// A WINDOWS payload.
#[derive(Clone, Debug)]
pub struct WindowsEntry {
    /// Of each segment.
    pub windows: Vec<u64>,
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

/// Section 3.7.
pub fn read_log_section(payload: &[u8], manifest: &Manifest) -> Checked<LogEntry> {
    at_least("LGS-1", payload, 48)?;
    require(manifest.log.is_none(), "LGS-2", || "a second LOG section".to_owned())?;
    let mut fields = Fields(payload);
    let (first_log, sequence) = (fields.u64(), fields.u64());
    let (flags, reserved) = (fields.u32(), fields.u32());
    let sequence = or(sequence, Wrong::LogSequenceOf32Bits, u64::from(sequence as u32));
    let most = or(1 << 62, Wrong::LogNumbersTo63Bits, 1 << 63);
    require((1..most).contains(&first_log) && sequence < most, "LGS-3", || {
        format!("first_log is {first_log}, sequence {sequence}")
    })?;
    support(flags < 8 && reserved == 0, "LGS-4", || format!("flags {flags:#x}, {reserved:#x}"))?;
    let (ids, windows) = (flags & 1 == 1, flags & 2 == 2);
    let (ids, windows) = or((ids, windows), Wrong::LogFlagsSwapped, (windows, ids));
    for SegmentEntry { number, ids: of_segment, .. } in &manifest.segments {
        let is_right = of_segment.is_some() == ids || !ids && is(Wrong::IdsWithoutFlag);
        require(is_right, "LGS-5", || format!("segment {number} differs: ids are {ids}"))?;
    }
    let names = flags & 4 == 4;
    require(names == (ids && manifest.names.is_some()), "LGS-6", || format!("names are {names}"))?;
    payload_tail(payload, 48)?;
    let fingerprint_bytes = usize::from(manifest.bits / 8);
    Ok(LogEntry { fingerprint_bytes, first_log, sequence, ids, names, windows })
}

/// The entries of a payload whose fields have `header` bytes, and where they end. `fields` stands at
/// entry_count.
fn entries<'a>(
    payload: &'a [u8],
    (header, least): (usize, usize),
    mut fields: Fields<'_>,
) -> Checked<(Vec<&'a [u8]>, usize)> {
    let (entry_count, entry_bytes) = (fields.u32() as usize, usize::from(fields.u16()));
    let entry_bytes = or(entry_bytes, Wrong::LivingEntriesFixed, least);
    let end = header + entry_bytes * entry_count;
    at_least("DLS-1", payload, end)?;
    let fit = entry_bytes >= least && entry_bytes.is_multiple_of(8);
    require(fit, "DLS-2", || format!("entry_bytes is {entry_bytes}"))?;
    Ok((payload[header..end].chunks(entry_bytes).collect(), end))
}

/// [MAN-10] of entries and payload.
fn tails(entries: &[&[u8]], least: usize, payload: &[u8], end: usize) -> Checked<()> {
    let entries = or(entries, Wrong::LivingEntryTailIgnored, &[]);
    entries.iter().try_for_each(|entry| payload_tail(entry, least))?;
    payload_tail(payload, end)
}

/// Section 3.6: gives the segments their names.
pub fn read_names_section(payload: &[u8], manifest: &mut Manifest) -> Checked<()> {
    at_least("DLS-1", payload, 16)?;
    let mut fields = Fields(payload);
    let (name_kind, name_bytes) = (fields.u16(), fields.u16());
    let (all, end) = entries(payload, (16, 24), Fields(&payload[4..]))?;
    require(manifest.names.is_none(), "NMS-1", || "a second NAMES section".to_owned())?;
    support((1..=4).contains(&name_kind), "NMS-2", || format!("name_kind is {name_kind}"))?;
    let reserved = &payload[10..16];
    support(all_zero(reserved), "NMS-3", || format!("reserved is {reserved:x?}"))?;
    let fits = match name_kind {
        1 => name_bytes == 0,
        2 | 3 => name_bytes == 16,
        _ => name_bytes > 0,
    };
    require(fits, "NMS-4", || format!("name_bytes of kind {name_kind} is {name_bytes}"))?;
    let of_entries = all.iter().map(|entry| Fields(entry).u64());
    let named = manifest.segments.iter_mut().filter(|segment| segment.ids.is_some());
    let named: Vec<&mut SegmentEntry> = named.collect();
    let is_right = of_entries.eq(named.iter().map(|segment| segment.number));
    require(is_right, "NMS-5", || "the entries are not the segments with ids".to_owned())?;
    tails(&all, 24, payload, end)?;
    for (segment, entry) in named.into_iter().zip(&all) {
        let mut fields = Fields(&entry[8..]);
        segment.names = Some(super::names::NamesEntry {
            file_bytes: fields.u64(),
            header_crc: fields.u32(),
            directory_crc: fields.u32(),
            text: name_kind == 1,
        });
    }
    manifest.names = Some((name_kind, name_bytes));
    Ok(())
}

/// Section 3.8.
pub fn read_deletions_section(payload: &[u8], manifest: &Manifest) -> Checked<Vec<DeletionsEntry>> {
    at_least("DLS-1", payload, 8)?;
    let mut fields = Fields(payload);
    let (all, end) = entries(payload, (8, 32), Fields(payload))?;
    let log = manifest.log.filter(|_| manifest.deletions.is_none());
    require(log.is_some(), "DLS-3", || "without LOG, or a second one".to_owned())?;
    let reserved = fields.bytes(8);
    support(all_zero(&reserved[6..]), "DLS-4", || format!("{reserved:x?}"))?;
    let most = log.map_or(0, |log| log.sequence);
    let most = or(most, Wrong::EntriesBelowLog, most.saturating_sub(1));
    let mut decoded: Vec<DeletionsEntry> = Vec::new();
    for entry in &all {
        let mut fields = Fields(entry);
        let (segment, sequence) = (fields.u64(), fields.u64());
        let segment = or(segment, Wrong::DeletionsInOrder, {
            manifest.segments.get(decoded.len()).map_or(0, |segment| segment.number)
        });
        let (file_bytes, header_crc, footer_crc) = (fields.u64(), fields.u32(), fields.u32());
        let known = manifest.segments.iter().any(|entry| entry.number == segment);
        let follows = decoded.last().is_none_or(|before| before.segment < segment);
        let follows = follows || is(Wrong::DeletionsAnyOrder);
        require(known && follows && sequence <= most, "DLS-5", || {
            format!("segment {segment}, sequence {sequence}, at most {most}")
        })?;
        decoded.push(DeletionsEntry { segment, sequence, file_bytes, header_crc, footer_crc });
    }
    tails(&all, 32, payload, end)?;
    Ok(decoded)
}

/// Section 3.9.
pub fn read_windows(payload: &[u8], manifest: &Manifest) -> Checked<WindowsEntry> {
    at_least("DLS-1", payload, 16)?;
    let mut fields = Fields(payload);
    let window_seconds = fields.u64();
    let (all, end) = entries(payload, (16, 16), Fields(&payload[8..]))?;
    require(manifest.windows.is_none() && window_seconds > 0, "WNS-1", || {
        format!("a second one, or of {window_seconds} seconds")
    })?;
    support(all_zero(&payload[14..16]), "WNS-2", || format!("{:x?}", &payload[..16]))?;
    let (mut numbers, mut windows) = (Vec::new(), Vec::new());
    for entry in &all {
        let mut fields = Fields(entry);
        numbers.push(fields.u64());
        windows.push(fields.u64());
    }
    let mut expected: Vec<u64> = manifest.segments.iter().map(|segment| segment.number).collect();
    if is(Wrong::WindowsOfSome) {
        expected.retain(|number| numbers.contains(number));
    }
    if is(Wrong::WindowsAnyOrder) {
        numbers.sort_unstable();
    }
    require(numbers == expected, "WNS-3", || format!("{numbers:?} of {expected:?}"))?;
    tails(&all, 16, payload, end)?;
    Ok(WindowsEntry { windows })
}

/// Section 3.10.
pub fn read_layout(payload: &[u8], manifest: &Manifest) -> Checked<()> {
    let text = std::str::from_utf8(payload);
    require(!manifest.layout && text.is_ok(), "LAY-1", || format!("{payload:x?}"))?;
    let is_plain = text.is_ok_and(|text| text.split(' ').all(|word| word.contains('=')));
    require(is_plain || !is(Wrong::LayoutRead), "LAY-1", || format!("{text:?}"))
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
    /// What the store holds, in the order in which it stands there: some of it perhaps several times.
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

/// Whether a deletion that was written at `from` hides what was written at `place`, with this sequence.
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
