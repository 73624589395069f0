//! A plain writer of what makes a store living: sections, deletions files and logs.
//!
//! It writes what it is told, however wrong that is. Cases change [`Parts`] before they are put
//! together.

use std::collections::BTreeSet;

use super::names_writer::{Name, NamesSpec};
use super::wide_writer::widen;
use super::writer::{
    DELETIONS, NAMES, Parts, STORE_ID, SegmentSpec, StoreSpec, add_file, entry_of_file, put,
    start_header,
};
use super::{end, reseal_header};
use crate::oracle::crc;
use crate::spec;

pub const LOG: u32 = 3;
pub const LAYOUT: u32 = 4;
/// The flags *critical* and *writers*.
pub const BOTH: u32 = 3;
pub const WRITERS: u32 = 2;

/// Bytes of the note of a log, behind its header.
pub const NOTE: usize = 32;

/// An operation.
#[derive(Clone, Copy)]
pub enum Op {
    /// Fingerprint, id and window; the last two where the log has them.
    Insert(u64, u64, u64),
    /// Fingerprint and id.
    Delete(u64, u64),
    /// Fingerprint.
    DeleteAll(u64),
}

/// What a store is to be made of.
#[derive(Clone, Default)]
pub struct LivingSpec {
    /// Those of a fingerprint; 0 for 64. Others are [widened](widen).
    pub bits: u16,
    pub segments: Vec<SegmentSpec>,
    /// Segment, sequence, and its deletions: fingerprint, id or all, sequence.
    pub deletions: Vec<(u64, u64, Vec<Deleted>)>,
    pub first_log: u64,
    pub sequence: u64,
    pub ids: bool,
    /// What ids are places in, where they are names, ascending.
    pub names: Vec<Name>,
    /// Length of windows, and that of each segment.
    pub windows: Option<(u64, Vec<u64>)>,
    pub layout: Option<&'static str>,
    /// From first_log on; none for a store that is not living.
    pub logs: Vec<LogSpec>,
}

pub type Deleted = (u64, Option<u64>, u64);

/// A log to write.
#[derive(Clone, Default)]
pub struct LogSpec {
    pub records: Vec<RecordSpec>,
    /// Whether a seal follows them.
    pub sealed: bool,
}

/// A record to write.
#[derive(Clone)]
pub struct RecordSpec {
    pub operations: Vec<Op>,
    /// How many of the operations before it are not known to be durable.
    pub behind: u64,
}

/// A log of records of which each calls durable what is `behind` operations before its first.
pub fn log(records: &[&[Op]], behind: u64) -> LogSpec {
    let record = |operations: &&[Op]| RecordSpec { operations: operations.to_vec(), behind };
    LogSpec { records: records.iter().map(record).collect(), sealed: false }
}

impl LogSpec {
    pub fn sealed(self) -> Self {
        Self { sealed: true, ..self }
    }
}

/// A log file in the making.
#[derive(Clone)]
pub struct Log {
    number: u64,
    /// The sequence of the next operation.
    pub next: u64,
    ids: bool,
    names: Vec<Name>,
    windows: bool,
    bits: u16,
    pub bytes: Vec<u8>,
}

impl Log {
    /// A log of nothing but a header and a note that says nothing.
    pub fn new(number: u64, next: u64, ids: bool, windows: bool) -> Self {
        Self::named(number, next, ids, windows, &[])
    }

    /// As [`Self::new`]; ids are places in these names, if there are some.
    fn named(number: u64, next: u64, ids: bool, windows: bool, names: &[Name]) -> Self {
        let (bits, bytes, names) = (64, vec![0; end("log-header")], names.to_vec());
        let mut log = Self { number, next, ids, names, windows, bits, bytes };
        let table = "log-header";
        start_header(&mut log.bytes, table, b'L');
        put(&mut log.bytes, table, "store_id", STORE_ID);
        put(&mut log.bytes, table, "log_number", number.into());
        put(&mut log.bytes, table, "sequence", next.into());
        let flags = u128::from(ids) + 2 * u128::from(windows);
        put(&mut log.bytes, table, "flags", flags + 4 * u128::from(!log.names.is_empty()));
        reseal_header(&mut log.bytes);
        log.bytes.extend([0; NOTE]);
        log
    }

    /// Notes that all operations so far are durable: the first bytes of a seal, behind the header.
    pub fn note(&mut self) {
        let mut seal = self.clone();
        seal.bytes.clear();
        seal.seal();
        let start = super::header_bytes_of(&self.bytes);
        self.bytes[start..start + NOTE].copy_from_slice(&seal.bytes[..NOTE]);
    }

    fn payload(&self, operations: &[Op]) -> Vec<u8> {
        let mut payload = Vec::new();
        for &operation in operations {
            let (tag, fingerprint, id, window) = match operation {
                Op::Insert(fingerprint, id, window) => {
                    let id = Some(id).filter(|_| self.ids);
                    (1, fingerprint, id, Some(window).filter(|_| self.windows))
                }
                Op::Delete(fingerprint, id) => (2, fingerprint, Some(id), None),
                Op::DeleteAll(fingerprint) => (3, fingerprint, None, None),
            };
            payload.push(tag);
            payload.extend(widen(fingerprint, self.bits));
            match id {
                Some(id) if !self.names.is_empty() => {
                    let name = &self.names[id as usize];
                    payload.extend((name.len() as u16).to_le_bytes());
                    payload.extend(name);
                }
                id => payload.extend(id.into_iter().flat_map(u64::to_le_bytes)),
            }
            payload.extend(window.into_iter().flat_map(u64::to_le_bytes));
        }
        payload
    }

    /// Appends a record whose fields differ from the usual ones as `change` says, which gets header
    /// and payload with its padding.
    pub fn push_changed(
        &mut self,
        operations: &[Op],
        behind: u64,
        change: impl FnOnce(&mut [u8], &mut Vec<u8>),
    ) {
        let mut header = vec![0; end("log-record")];
        let mut payload = self.payload(operations);
        for (field, value) in [
            ("payload_bytes", payload.len() as u64),
            ("first_sequence", self.next),
            ("durable_sequence", (self.next - 1).saturating_sub(behind)),
            ("operation_count", operations.len() as u64),
            ("kind", if operations.is_empty() { 2 } else { 1 }),
        ] {
            put(&mut header, "log-record", field, value.into());
        }
        self.next += operations.len() as u64;
        payload.resize((payload.len() + 4).next_multiple_of(8) - 4, 0);
        change(&mut header, &mut payload);
        let parts = [&STORE_ID.to_le_bytes()[..], &self.number.to_le_bytes(), &header[4..]];
        let header_crc = crc(&parts);
        put(&mut header, "log-record", "header_crc", header_crc.into());
        let payload_crc = crc(&[&header_crc.to_le_bytes(), &payload]);
        self.bytes.extend([header, payload, payload_crc.to_le_bytes().to_vec()].concat());
    }

    pub fn push(&mut self, operations: &[Op], behind: u64) {
        self.push_changed(operations, behind, |_, _| {});
    }

    /// Appends a seal that calls all durable.
    pub fn seal(&mut self) {
        self.push(&[], 0);
    }

    pub fn name(&self) -> String {
        log_name(self.number)
    }
}

pub fn log_name(number: u64) -> String {
    format!("log-{number:016x}.fpl")
}

pub fn deletions_name(segment: u64) -> String {
    format!("segment-{segment:016x}-deletions.fpd")
}

/// Sections and files of a store.
impl LivingSpec {
    pub fn width(&self) -> u16 {
        if self.bits == 0 { 64 } else { self.bits }
    }
}

pub fn living_parts(spec: &LivingSpec) -> Parts {
    let next_segment = spec.segments.iter().map(|segment| segment.number + 1).max().unwrap_or(1);
    let mut spec = spec.clone();
    let lists = name_segments(&mut spec);
    let spec = &spec;
    let segments = spec.segments.clone();
    let bits = spec.width();
    let store = StoreSpec { bits, segments, next_segment, generation: 5 };
    let mut parts = Parts::of(&store);
    if !spec.logs.is_empty() {
        let mut payload = vec![0; end("log-section")];
        let flags = u128::from(spec.ids) + 2 * u128::from(spec.windows.is_some());
        let flags = flags + 4 * u128::from(!spec.names.is_empty());
        for (field, value) in [
            ("first_log", spec.first_log.into()),
            ("sequence", spec.sequence.into()),
            ("flags", flags),
            ("written_bytes", 123_456),
            ("inserted_bytes", 65_432),
            ("next_id", 1_000_000),
        ] {
            put(&mut payload, "log-section", field, value);
        }
        parts.sections.push((LOG, BOTH, payload));
    }
    if !spec.names.is_empty() {
        parts.set(1, "name_kind", 1);
    }
    for (place, file) in lists.into_iter().enumerate() {
        let number = spec.segments[place].number;
        add_file(parts.segment(place), NAMES, &file);
        parts.files.insert(format!("segment-{number:016x}-names.fpn"), file);
    }
    for (segment, sequence, deletions) in &spec.deletions {
        let place = spec.segments.iter().position(|at| at.number == *segment);
        let place = place.expect("deletions are of a segment");
        parts.set_segment(place, "sequence", *sequence);
        if !deletions.is_empty() {
            let file = deletions_file(*segment, deletions, spec.width());
            add_file(parts.segment(place), DELETIONS, &file);
            parts.files.insert(deletions_name(*segment), file);
        }
    }
    if let Some((seconds, windows)) = &spec.windows {
        parts.set(1, "window_seconds", *seconds);
        for (place, window) in windows.iter().enumerate() {
            parts.set_segment(place, "window", *window);
        }
    }
    if let Some(layout) = spec.layout {
        parts.sections.push((LAYOUT, 0, layout.as_bytes().to_vec()));
    }
    let mut next = spec.sequence + 1;
    for (number, log_spec) in (spec.first_log..).zip(&spec.logs) {
        let mut log = Log::named(number, next, spec.ids, spec.windows.is_some(), &spec.names);
        log.bits = spec.width();
        log_spec.records.iter().for_each(|record| log.push(&record.operations, record.behind));
        if log_spec.sealed {
            log.seal();
        }
        next = log.next;
        parts.files.insert(log.name(), log.bytes);
    }
    parts
}

/// Makes of ids of segments and of their deletions places in lists of their own; gives the names
/// files of all segments, none where ids are numbers.
fn name_segments(spec: &mut LivingSpec) -> Vec<Vec<u8>> {
    let LivingSpec { segments, deletions, names, .. } = spec;
    if names.is_empty() {
        return Vec::new();
    }
    let list = |segment: &mut SegmentSpec| {
        let (ids, _) = segment.ids.as_mut().expect("a store with names has ids");
        let of_segment = deletions.iter_mut().filter(|(number, _, _)| *number == segment.number);
        let deleted = of_segment.flat_map(|(_, _, list)| list.iter_mut());
        let mut all: Vec<&mut u64> = ids.iter_mut().flatten().collect();
        all.extend(deleted.filter_map(|(_, id, _)| id.as_mut()));
        let used: BTreeSet<u64> = all.iter().map(|id| **id).collect();
        for id in all {
            *id = used.range(..*id).count() as u64;
        }
        let own: Vec<Name> = used.into_iter().map(|id| names[id as usize].clone()).collect();
        NamesSpec::new(&own).write()
    };
    segments.iter_mut().map(list).collect()
}

fn deletions_file(segment: u64, deletions: &[Deleted], bits: u16) -> Vec<u8> {
    let mut file = vec![0; end("deletions-header")];
    start_header(&mut file, "deletions-header", b'D');
    put(&mut file, "deletions-header", "count", deletions.len() as u128);
    put(&mut file, "deletions-header", "segment_number", segment.into());
    for &(fingerprint, id, sequence) in deletions {
        let whole = u64::from(id.is_none()) << 63;
        file.extend(widen(fingerprint, bits));
        let words = [id.unwrap_or(0), sequence | whole];
        file.extend(words.map(u64::to_le_bytes).concat());
    }
    file.extend([0; 4]);
    reseal_deletions_file(&mut file);
    file
}

/// Recomputes both checksums of a deletions file.
pub fn reseal_deletions_file(file: &mut [u8]) {
    reseal_header(file);
    let header_bytes = super::header_bytes_of(file);
    let footer = file.len() - 4;
    let footer_crc = crc(&[&file[header_bytes - 4..footer]]);
    file[footer..].copy_from_slice(&footer_crc.to_le_bytes());
}

impl Parts {
    /// The payload of the first section of this kind.
    pub fn payload(&mut self, kind: u32) -> &mut Vec<u8> {
        let mut sections = self.sections.iter_mut();
        let section = sections.find(|(other, _, _)| *other == kind);
        &mut section.expect("there is such a section").2
    }

    /// Sets a field of the section of this kind, which is described by this table.
    pub fn set(&mut self, kind: u32, field: &str, value: u64) {
        let table = match kind {
            1 => "store-section",
            LOG => "log-section",
            _ => panic!("kind {kind} has no fields"),
        };
        put(self.payload(kind), table, field, value.into());
    }

    /// The payload of a segment, by its place.
    pub fn segment(&mut self, place: usize) -> &mut Vec<u8> {
        let mut segments = self.sections.iter_mut().filter(|(kind, _, _)| *kind == 2);
        &mut segments.nth(place).expect("there is such a segment").2
    }

    /// Sets a field of that payload.
    pub fn set_segment(&mut self, place: usize, field: &str, value: u64) {
        put(self.segment(place), "segment-section", field, value.into());
    }

    /// The entry of the last file of a segment: its deletions file, where it has one.
    pub fn last_entry(&mut self, place: usize) -> &mut [u8] {
        let payload = self.segment(place);
        let start = payload.len() - end("file-entry");
        &mut payload[start..]
    }

    /// A file.
    pub fn file(&mut self, name: &str) -> &mut Vec<u8> {
        self.files.get_mut(name).expect("there is such a file")
    }

    /// Changes the deletions file of the first segment, and what the manifest says of it.
    pub fn change_deletions(&mut self, segment: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let file = self.file(&deletions_name(segment));
        change(file);
        reseal_deletions_file(file);
        self.entry_anew(segment);
    }

    /// Takes what the manifest says of the deletions file of the first segment from the file.
    pub fn entry_anew(&mut self, segment: u64) {
        let entry = entry_of_file(self.file(&deletions_name(segment)));
        self.last_entry(0).copy_from_slice(&entry);
    }
}

/// Sets a field of a deletions file.
pub fn put_deletions(file: &mut [u8], field: &str, value: u64) {
    put(file, "deletions-header", field, value.into());
}

/// Sets a field of the header of a log, and its checksum.
pub fn put_log(file: &mut [u8], field: &str, value: u128) {
    put(file, "log-header", field, value);
    reseal_header(file);
}

/// Where a field of a record stands in it.
pub fn record_field(field: &str) -> usize {
    spec::offsets("log-record")[field].0
}
