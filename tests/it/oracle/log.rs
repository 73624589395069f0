//! The log (section 11).

use super::living::{LogEntry, PlainDeletion, PlainInsertion};
use super::mutation::{Wrong, is, or};
use super::prefix::read_header;
use super::{Checked, Fields, Files, all_zero, crc, in_file, require, require_equal, support};

/// The operations of all logs.
#[derive(Default)]
pub struct Logs {
    pub insertions: Vec<PlainInsertion>,
    pub deletions: Vec<PlainDeletion>,
    /// What the ids above are places in, in a store with names.
    pub names: Vec<Vec<u8>>,
    /// The sequence of the next operation.
    pub next: u64,
    /// Whether the last one is torn.
    pub torn: bool,
}

/// Reads the logs of a store and checks all rules of section 11.
pub fn read_logs(files: Files<'_>, entry: &LogEntry, store_id: u128) -> Checked<Logs> {
    let next = entry.sequence + or(1, Wrong::FirstAtSequence, 0);
    let mut logs = Logs { next, ..Logs::default() };
    let mut number = or(entry.first_log, Wrong::FirstLogIs1, 1);
    let name = |number| match number {
        number if is(Wrong::LogsInDecimal) => format!("log-{number:016}.fpl"),
        number => format!("log-{number:016x}.fpl"),
    };
    loop {
        let Ok(file) = files(&name(number)) else {
            let needed = number == entry.first_log || is(Wrong::SealNeedsNext);
            require(!needed, "DIR-2", || format!("log {number} is missing"))?;
            return Ok(logs);
        };
        let log = Log { file: &file, store_id, number };
        let sealed = logs.read(&log, entry).map_err(in_file(&name(number)))?;
        if !sealed && let Ok(file) = files(&name(number + 1)) {
            let next = Log { file: &file, store_id, number: number + 1 };
            let least = or(0, Wrong::NextByDurable, logs.next);
            let witness = next.witness(56, or(least, Wrong::NextCallsSome, 1));
            let witness = witness.filter(|&at| at == 56 || at >= 88 || !is(Wrong::NextWithoutNote));
            let written = witness.is_some();
            let written = or(written, Wrong::NextMustBeMissing, true);
            require(!written, "LOG-5", || format!("log {} goes on", number + 1))?;
        }
        if is(Wrong::FirstLogOnly) || !sealed && !is(Wrong::TornGoesOn) {
            return Ok(logs);
        }
        number += 1;
    }
}

struct Log<'a> {
    file: &'a [u8],
    store_id: u128,
    number: u64,
}

/// The header of a record that stands at a place.
struct RecordHeader {
    header_crc: u32,
    payload_bytes: usize,
    first_sequence: u64,
    durable_sequence: u64,
    operation_count: u32,
    kind: u8,
    reserved: bool,
}

/// A whole record.
struct Record<'a> {
    header: RecordHeader,
    payload: &'a [u8],
    padding: &'a [u8],
    end: usize,
}

impl<'a> Log<'a> {
    fn record_header(&self, place: usize) -> Option<RecordHeader> {
        let bytes = self.file.get(place..)?.get(..32)?;
        let mut fields = Fields(bytes);
        let (header_crc, payload_bytes) = (fields.u32(), fields.u32());
        let store_id = self.store_id.to_le_bytes();
        let store_id = or(&store_id[..], Wrong::RecordCrcWithoutStore, &[]);
        let number = self.number.to_le_bytes();
        let number = or(&number[..], Wrong::RecordCrcWithoutNumber, &[]);
        let number = or(number, Wrong::RecordNumberOf4, &number[..number.len().min(4)]);
        let computed = crc(&[store_id, number, &bytes[4..]]);
        let most = or(
            or(1 << 24, Wrong::PayloadsBelow2To24, (1 << 24) - 1),
            Wrong::PayloadsOfAnyLength,
            u32::MAX,
        );
        let is_one = header_crc == computed && payload_bytes <= most;
        is_one.then(|| RecordHeader {
            header_crc,
            payload_bytes: payload_bytes as usize,
            first_sequence: fields.u64(),
            durable_sequence: fields.u64(),
            operation_count: fields.u32(),
            kind: fields.u8(),
            reserved: !all_zero(fields.bytes(3)),
        })
    }

    fn whole_record(&self, place: usize) -> Option<Record<'a>> {
        let header = self.record_header(place)?;
        let body = self.file.get(place + 32..)?;
        let length = (header.payload_bytes + 4).next_multiple_of(8);
        let length =
            or(length, Wrong::PayloadPaddedAlone, header.payload_bytes.next_multiple_of(8) + 4);
        let (padded, payload_crc) = body.get(..length)?.split_at(length - 4);
        let bound = header.header_crc.to_le_bytes();
        let bound = or(&bound[..], Wrong::PayloadCrcAlone, &[]);
        let (payload, padding) = padded.split_at(header.payload_bytes);
        let covered = or(padding, Wrong::PayloadCrcWithoutPadding, &[]);
        let is_whole = Fields(payload_crc).u32() == crc(&[bound, payload, covered]);
        let end = place + 32 + length;
        is_whole.then_some(Record { header, payload, padding, end })
    }

    /// The first witness at `from` or behind it that says that operation `sequence` was durable.
    fn witness(&self, from: usize, sequence: u64) -> Option<usize> {
        let step = or(or(8, Wrong::WitnessAnywhere, 1), Wrong::WitnessAt4, 4);
        let from = from.max(56);
        (from..self.file.len()).step_by(step).find(|&place| {
            let Some(header) = self.record_header(place) else { return false };
            let durable = header.durable_sequence;
            let says = or(durable >= sequence, Wrong::WitnessAbove, durable > sequence);
            let says = or(says, Wrong::DurableSigned, durable as i64 >= sequence as i64);
            let says = or(says, Wrong::WitnessBelow, durable.saturating_add(1) >= sequence);
            let says = or(says, Wrong::WitnessIsAnyRecord, true);
            let sound = durable < header.first_sequence || is(Wrong::WitnessOfItself);
            let sound = sound && !(is(Wrong::FirstSigned) && header.first_sequence >> 63 == 1);
            let known = !header.reserved || is(Wrong::WitnessOfAnyKind);
            let whole = !is(Wrong::WitnessIsWhole) || self.whole_record(place).is_some();
            says && sound && known && whole
        })
    }
}

impl Logs {
    /// Reads a log; tells whether it is sealed.
    fn read(&mut self, log: &Log<'_>, entry: &LogEntry) -> Checked<bool> {
        let (header, _) = read_header(log.file, b'L', 56)?;
        self.check_header(log, header, entry)?;
        let mut place = header.len() + 32;
        let has_note = log.file.len() >= place || is(Wrong::LogsWithoutNote);
        require(has_note, "LOG-8", || format!("the log has {} bytes", log.file.len()))?;
        let note = log.record_header(header.len());
        let is_empty = all_zero(log.file.get(header.len()..place).unwrap_or(&[]));
        let is_broken = note.is_none() && !is_empty && is(Wrong::BrokenNoteRefused);
        require(!is_broken, "LOG-3", || "the note is broken".to_owned())?;
        while let Some(record) = log.whole_record(place) {
            let first = record.header.first_sequence;
            let follows = or(first == self.next, Wrong::AnySequenceFollows, true);
            if !or(follows, Wrong::SequencesMaySkip, first >= self.next) {
                break;
            }
            self.read_record(&record, entry)?;
            place = record.end;
            if record.header.kind == 2 {
                let all = place == log.file.len();
                require(all, "LOG-4", || format!("a seal ends at {place}"))?;
                self.next += or(0, Wrong::SealTakesSequence, 1);
                return Ok(true);
            }
        }
        let noted = note.filter(|note| note.durable_sequence < note.first_sequence);
        let noted = noted.filter(|_| !is(Wrong::NoteIgnored));
        let is_whole = noted.is_none_or(|note| {
            let least = or(self.next, Wrong::NoteBelow, self.next - 1);
            let least = or(least, Wrong::NoteAbove, self.next + 1);
            note.durable_sequence < least
        });
        require(is_whole, "LOG-3", || format!("operation {} was noted, at {place}", self.next))?;
        let from = or(place, Wrong::WitnessBehindOnly, place + 8);
        let from = or(from, Wrong::WitnessInNote, 56);
        let witness = log.witness(from, self.next);
        require(witness.is_none(), "LOG-3", || {
            format!("operation {} is broken, at {place}; witness at {witness:?}", self.next)
        })?;
        self.torn = place < log.file.len();
        require(!self.torn || !is(Wrong::TornRefused), "LOG-3", || format!("torn at {place}"))?;
        Ok(is(Wrong::EndIsSeal) && !self.torn)
    }

    fn check_header(&self, log: &Log<'_>, header: &[u8], entry: &LogEntry) -> Checked<()> {
        let mut fields = Fields(&header[16..]);
        let (store_id, number, sequence) = (fields.u128(), fields.u64(), fields.u64());
        let flags = fields.u32();
        support(flags < 8, "LOG-2", || format!("flags are {flags:#x}"))?;
        require_equal("LOG-1", "store_id", store_id, log.store_id)?;
        require_equal("LOG-1", "log_number", number, log.number)?;
        let expected = or(self.next, Wrong::SequencesOfLogsFree, sequence);
        require_equal("LOG-1", "sequence", sequence, expected)?;
        let of_entry = u32::from(entry.ids)
            + 2 * u32::from(entry.windows)
            + 4 * u32::from(entry.names.is_some());
        let of_entry = or(of_entry, Wrong::FlagsOfLogsFree, flags);
        require_equal("LOG-1", "flags", flags, of_entry)
    }

    /// [LOG-7], [LOG-6], and the operations.
    fn read_record(&mut self, record: &Record<'_>, entry: &LogEntry) -> Checked<()> {
        let RecordHeader { kind, operation_count, first_sequence, durable_sequence, .. } =
            record.header;
        let known = (1..=2).contains(&kind) && !record.header.reserved;
        support(known, "LOG-7", || format!("kind is {kind}, or reserved bytes are in use"))?;
        let malformed = |what: &str| format!("record of operation {first_sequence}: {what}");
        let is_before = durable_sequence < first_sequence;
        let signed = (durable_sequence as i64) < first_sequence as i64;
        let is_before = or(is_before, Wrong::DurableSigned, signed);
        require(is_before, "LOG-6", || malformed("durable too early"))?;
        require(all_zero(record.padding) || is(Wrong::RecordPaddingFree), "LOG-6", || {
            malformed("padding")
        })?;
        let is_seal = kind == 2 && is(Wrong::SealsCount);
        let operation_count = if is_seal { 0 } else { operation_count };
        let is_right = (operation_count == 0) == (kind == 2) || is(Wrong::EmptyRecords);
        require(is_right, "LOG-6", || malformed("operation_count"))?;
        let mut fields = Fields(record.payload);
        for _ in 0..operation_count {
            let tag = if fields.0.is_empty() { 0 } else { fields.u8() };
            let id =
                or(entry.ids, Wrong::OperationsWithIds, true) && !is(Wrong::OperationsWithoutIds);
            let (has_id, has_window) = match tag {
                1 => (id, entry.windows && !is(Wrong::OperationsWithoutWindows)),
                2 if entry.ids || is(Wrong::PairsAnywhere) => (true, false),
                3 => (is(Wrong::WholeWithId) && entry.ids, false),
                _ => {
                    require(false, "LOG-6", || malformed("an unknown operation"))?;
                    return Ok(());
                }
            };
            let has_window = has_window || entry.windows && is(Wrong::DeletionsWithWindows);
            let of_fingerprint = or(entry.fingerprint_bytes, Wrong::LogFingerprintsOf8, 8);
            let named = entry.names.filter(|_| has_id);
            let mut of_id = 8 * usize::from(has_id);
            if named.is_some() {
                let length = fields.0.get(of_fingerprint..).and_then(|rest| rest.get(..2));
                let length = length.map_or(0, |length| Fields(length).u16().into());
                of_id = or(2, Wrong::LoggedLengthsOf4, 4) + length;
            }
            let bytes = of_fingerprint + of_id + 8 * usize::from(has_window);
            let fits = fields.0.len() >= bytes;
            require(fits, "LOG-6", || malformed("an operation is cut off"))?;
            if !fits {
                return Ok(());
            }
            let fingerprint = fields.fingerprint(of_fingerprint);
            let mut id = match named {
                Some((kind, width)) => {
                    let name = &fields.bytes(of_id)[or(2, Wrong::LoggedLengthsOf4, 4)..];
                    let has_width = width == 0 || name.len() == usize::from(width);
                    let is_text = kind != 1 || std::str::from_utf8(name).is_ok();
                    let fits = has_width || is(Wrong::LoggedNamesOfAnyLength);
                    let fits = fits && (is_text || is(Wrong::LoggedNamesOfAnyBytes));
                    require(fits, "LOG-6", || malformed("a name of another kind"))?;
                    self.names.push(name.to_vec());
                    Some(self.names.len() as u64 - 1)
                }
                None => has_id.then(|| fields.u64()),
            };
            let mut window = has_window.then(|| fields.u64());
            if is(Wrong::WindowBeforeId) && has_id && has_window {
                (id, window) = (window, id);
            }
            let sequence = or(self.next, Wrong::SequencesOfRecords, first_sequence);
            self.next += 1;
            match tag {
                1 => self.insertions.push(PlainInsertion { fingerprint, id, window, sequence }),
                2 => self.deletions.push(PlainDeletion { fingerprint, id, sequence }),
                _ => self.deletions.push(PlainDeletion { fingerprint, id: None, sequence }),
            }
        }
        let all = fields.0.is_empty();
        require(all || is(Wrong::PayloadRest), "LOG-6", || malformed("bytes behind its operations"))
    }
}
