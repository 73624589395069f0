//! Good living stores, and what each of them holds, worked out by hand.

use super::WrittenVector;
use super::end;
use super::living_writer::{
    BOTH, LAYOUT, LOG, LivingSpec, Log, LogSpec, NOTE, Op, WRITERS, deletions_name, living_parts,
    log, log_name, record_field,
};
use super::wide_writer::wide_bits;
use super::writer::{Parts, STORE_ID, SegmentSpec, put};
use super::written::{XOR, segment, table};
use Op::{Delete, DeleteAll, Insert};

/// Fingerprints, ascending.
pub const A: u64 = 0x0000_0000_0000_00A7;
pub const B: u64 = 0x0B00_0000_0000_0000;
pub const C: u64 = 0x0C0F_FEE0_0000_0001;
pub const D: u64 = 0x8D00_1234_0000_0000;
pub const E: u64 = 0xE000_0000_0000_0000;
pub const F: u64 = u64::MAX;

/// What a store holds: fingerprints with their ids and windows, if it has such.
pub type Held<'a> = &'a [(u64, &'a [u64], &'a [u64])];

fn good(name: &'static str, sentence: &'static str, parts: Parts, held: Held<'_>) -> WrittenVector {
    good_of(64, name, sentence, parts, held)
}

/// A good store of fingerprints of so many bits.
pub fn good_of(
    bits: u16,
    name: &'static str,
    sentence: &'static str,
    parts: Parts,
    held: Held<'_>,
) -> WrittenVector {
    let all = |list: Vec<Vec<u64>>| list.iter().any(|of_one| !of_one.is_empty()).then_some(list);
    WrittenVector {
        name,
        rule: "",
        sentence,
        files: parts.assemble(),
        fingerprints: held.iter().map(|&(one, _, _)| wide_bits(one, bits)).collect(),
        ids: all(held.iter().map(|&(_, ids, _)| ids.to_vec()).collect()),
        windows: all(held.iter().map(|&(_, _, windows)| windows.to_vec()).collect()),
        names: None,
    }
}

/// A store of nothing but logs, the first of which is log 1.
pub fn logs(logs: Vec<LogSpec>) -> LivingSpec {
    LivingSpec { first_log: 1, logs, ..LivingSpec::default() }
}

/// A segment of one small table.
pub fn small(number: u64, fingerprints: &[u64], ids: Option<&[&[u64]]>) -> SegmentSpec {
    let ids = ids.map(|ids| (ids.iter().map(|ids| ids.to_vec()).collect(), 4));
    SegmentSpec { number, ids, ..segment(fingerprints.to_vec(), vec![table(XOR, 32, 256, 20)]) }
}

pub fn vectors() -> Vec<WrittenVector> {
    let mut vectors = operations();
    vectors.extend(several_logs());
    vectors.extend(torn());
    vectors.extend(segments());
    vectors.extend(windows());
    vectors.extend(names());
    vectors.extend(manifests());
    vectors
}

fn operations() -> Vec<WrittenVector> {
    let without_ids: &[&[Op]] = &[
        &[Insert(C, 0, 0), Insert(A, 0, 0), DeleteAll(A)],
        &[Insert(B, 0, 0)],
        &[DeleteAll(D), Insert(D, 0, 0), DeleteAll(C), Insert(E, 0, 0)],
        &[Insert(B, 0, 0), DeleteAll(E), Insert(E, 0, 0), DeleteAll(E), Insert(C, 0, 0)],
    ];
    vec![
        named_without_ids(),
        good(
            "good-living-empty",
            "A living store without segments, whose log has no record.",
            living_parts(&logs(vec![log(&[], 0)])),
            &[],
        ),
        good(
            "good-living-log",
            "A log without ids: fingerprints are inserted, deleted, and some inserted again.",
            living_parts(&logs(vec![log(without_ids, 0)])),
            &[(B, &[], &[]), (C, &[], &[]), (D, &[], &[])],
        ),
        good(
            "good-living-log-ids",
            "A log with ids: pairs are inserted and deleted, and fingerprints with all their ids. The \
             document shows it byte by byte.",
            living_parts(&with_ids(vec![log(OPERATIONS_WITH_IDS, 0)])),
            &[(B, &[8], &[]), (C, &[2], &[]), (F, &[0, u64::MAX], &[])],
        ),
    ]
}

/// A store whose ids would be names, if it had some.
fn named_without_ids() -> WrittenVector {
    let mut parts = living_parts(&logs(vec![log(&[&[Insert(C, 0, 0)]], 0)]));
    parts.set(1, "name_kind", 1);
    let sentence = "name_kind is 1, and LOG has neither the flag *ids* nor the flag *names*.";
    WrittenVector {
        names: Some(Vec::new()),
        ..good("good-living-name-kind-without-ids", sentence, parts, &[(C, &[], &[])])
    }
}

/// Operations with ids.
const OPERATIONS_WITH_IDS: &[&[Op]] = &[
    &[Insert(C, 1, 0), Insert(C, 2, 0), Insert(B, 7, 0)],
    &[Delete(C, 1), Insert(F, u64::MAX, 0), Insert(A, 3, 0), Insert(F, 0, 0)],
    &[DeleteAll(B), Insert(B, 8, 0), Delete(B, 9), Delete(A, 3), Insert(D, 5, 0), DeleteAll(D)],
];

/// A store of nothing but logs with ids.
pub fn with_ids(list: Vec<LogSpec>) -> LivingSpec {
    LivingSpec { ids: true, ..logs(list) }
}

fn several_logs() -> Vec<WrittenVector> {
    let first = log(&[&[Insert(A, 0, 0), Insert(B, 0, 0)], &[Insert(C, 0, 0)]], 0).sealed();
    let second = log(&[&[DeleteAll(B), Insert(D, 0, 0)]], 0).sealed();
    let third = log(&[&[Insert(B, 0, 0), DeleteAll(A)]], 0);
    let three = vec![first.clone(), second, third];
    let numbers = |first_log, sequence| LivingSpec { first_log, sequence, ..logs(three.clone()) };
    let held: Held<'_> = &[(B, &[], &[]), (C, &[], &[]), (D, &[], &[])];
    let mut unfinished = living_parts(&logs(vec![first.clone(), log(&[], 0)]));
    // Log 1 lost its last record and the seal; log 2 has begun where that would have ended.
    let record = 32 + 24;
    unfinished.file(&log_name(1)).truncate(end("log-header") + NOTE + record);
    let mut others = living_parts(&LivingSpec { first_log: 2, ..logs(vec![first.clone()]) });
    let around = living_parts(&LivingSpec { first_log: 4, sequence: 9, ..logs(three.clone()) });
    let stray = |number| (log_name(number), around.files[&log_name(number)].clone());
    others.files.extend([stray(4), stray(5)]);
    others.files.insert(log_name(1), b"flushed".to_vec());
    others.files.insert("log-0000000000000003.fpl.bak".into(), stray(4).1);
    others.files.insert(deletions_name(1), b"nobody names it".to_vec());
    let mut packed = Parts::of(&super::written::store(vec![small(1, &[E], None)]));
    packed.files.extend([stray(4), (log_name(1), b"left behind".to_vec())]);
    vec![
        good(
            "good-living-three-logs",
            "Two sealed logs and one that goes on. Their numbers and sequences have more than 32 bits, and \
             the former digits above 9.",
            living_parts(&numbers(0x1_0000_0009, 1 << 33)),
            held,
        ),
        good(
            "good-living-greatest-numbers",
            "first_log and sequence are 2^62 - 1.",
            living_parts(&numbers((1 << 62) - 1, (1 << 62) - 1)),
            held,
        ),
        good(
            "good-living-sealed-last",
            "The last log is sealed, and no other follows.",
            living_parts(&logs(vec![first])),
            &[(A, &[], &[]), (B, &[], &[]), (C, &[], &[])],
        ),
        good(
            "good-living-next-has-begun",
            "A log that lost its end, at the end of a record, is followed by one that has a header and no \
             record: the latter is ignored.",
            unfinished,
            &[(A, &[], &[]), (B, &[], &[])],
        ),
        good(
            "good-living-other-files",
            "Logs before the first and behind the last, and a deletions file that nothing names, lie in the \
             directory.",
            others,
            &[(A, &[], &[]), (B, &[], &[]), (C, &[], &[])],
        ),
        good(
            "good-packed-with-logs-around",
            "Logs lie in the directory of a store that is not living.",
            packed,
            &[(E, &[], &[])],
        ),
    ]
}

/// The log of most torn stores: two records of one operation, and the header of a log of its own
/// number with the next sequence.
pub fn two_records() -> Log {
    let mut log = Log::new(1, 1, false, false);
    log.push(&[Insert(C, 0, 0)], 0);
    log.push(&[Insert(A, 0, 0)], 0);
    log
}

/// A store of this log 1 only.
pub fn of_log(log: Log) -> Parts {
    let mut parts = living_parts(&logs(vec![LogSpec::default()]));
    parts.files.insert(log.name(), log.bytes);
    parts
}

fn torn_good(name: &'static str, sentence: &'static str, log: Log) -> WrittenVector {
    good(name, sentence, of_log(log), &[(A, &[], &[]), (C, &[], &[])])
}

fn torn() -> Vec<WrittenVector> {
    let cut = |bytes| {
        let mut log = two_records();
        log.push(&[Insert(D, 0, 0), DeleteAll(C)], 0);
        log.bytes.truncate(log.bytes.len() - bytes);
        log
    };
    let mut noted = two_records();
    noted.note();
    // One more record, which the note says nothing of, is torn.
    let mut noted_before = noted.clone();
    noted_before.push(&[Insert(E, 0, 0)], 0);
    noted_before.bytes.pop();
    let mut half = two_records();
    half.next += 1;
    half.note();
    half.bytes[end("log-header") + 30] = 0;
    half.bytes[end("log-header")] ^= 1;
    let mut of_other = two_records();
    let mut other = Log::new(2, 9, false, false);
    other.note();
    let start = end("log-header");
    of_other.bytes[start..start + NOTE].copy_from_slice(&other.bytes[start..]);
    let mut zeros = two_records();
    zeros.bytes.extend([0; 99]);
    // The record of operation 3 is broken; those behind it call at most 2 operations durable.
    let mut behind = two_records();
    let third = behind.bytes.len();
    behind.push(&[DeleteAll(A), Insert(D, 0, 0)], 0);
    behind.bytes[third + 34] ^= 1;
    behind.push(&[Insert(E, 0, 0)], 2);
    behind.push(&[Insert(F, 0, 0)], 3);
    behind.push_changed(&[], 4, |_, _| {});
    let mut header = two_records();
    header.push(&[DeleteAll(A)], 0);
    header.bytes[third + 12] ^= 1;
    // A record header at a multiple of 4.
    let mut shifted = two_records();
    shifted.bytes.extend([0; 4]);
    shifted.next = 4;
    shifted.push(&[Insert(E, 0, 0)], 0);
    let mut late = two_records();
    put_witness_late(1, (10, 9), &mut late.bytes);
    let skipped = |next| {
        let mut log = two_records();
        log.next = next;
        log.push(&[Insert(E, 0, 0)], 2);
        log.push(&[Insert(F, 0, 0)], 4);
        log
    };
    vec![
        torn_good(
            "good-torn-in-header",
            "The log ends inside the header of its third record.",
            cut(40),
        ),
        torn_good(
            "good-torn-in-payload",
            "The log ends inside the payload of its third record.",
            cut(10),
        ),
        torn_good(
            "good-torn-last-byte",
            "The third record of the log lacks its last byte.",
            cut(1),
        ),
        torn_good(
            "good-living-log-noted",
            "The writer has ended, and noted that all of the log is durable.",
            noted,
        ),
        torn_good(
            "good-torn-behind-note",
            "The third record of the log is torn. The note says that those before it are durable.",
            noted_before,
        ),
        torn_good(
            "good-living-log-note-broken",
            "The note of the log, which would call a missing operation durable, is half written.",
            half,
        ),
        torn_good(
            "good-living-log-note-of-other",
            "The note of the log is that of another one: it says nothing.",
            of_other,
        ),
        torn_good(
            "good-living-log-note-late",
            "A record header that calls a missing operation durable stands 8 bytes behind the \
             start of the note, and ends with the first bytes of a record: it says nothing.",
            late,
        ),
        torn_good("good-torn-zeros", "99 zero bytes follow the last record of the log.", zeros),
        torn_good(
            "good-torn-before-whole-records",
            "The payload of the third record is broken. Whole records follow it, with a seal; none of them \
             calls more durable than what stands before it.",
            behind,
        ),
        torn_good(
            "good-torn-header-flipped",
            "A bit of the header of the third record is flipped.",
            header,
        ),
        torn_good(
            "good-torn-sequence-too-great",
            "The third record is whole, and begins with operation 4 instead of 3.",
            skipped(4),
        ),
        torn_good(
            "good-torn-sequence-too-low",
            "The third record is whole, and begins with operation 2 instead of 3, as one from before the log \
             was cut.",
            skipped(2),
        ),
        torn_good(
            "good-torn-witness-at-multiple-of-4",
            "A record header that calls operation 3 durable stands 4 bytes behind the second \
             record.",
            shifted,
        ),
        torn_good(
            "good-torn-no-witness",
            "Behind a broken third record stands what looks like a witness: record headers that call \
             operation 3 durable, but have reserved bytes in use, call themselves durable, state a payload of \
             more than 2^24 bytes, stand at no multiple of 8, or are of another log or another store.",
            no_witness(),
        ),
    ]
}

/// Makes a record header of log `number` 8 bytes behind the start of the note, with these
/// sequences: its own and the durable one. Its last 8 bytes are those where records begin.
pub fn put_witness_late(number: u64, (first, durable): (u64, u64), file: &mut [u8]) {
    let start = end("log-header") + 8;
    let header = &mut file[start..start + end("log-record")];
    put(header, "log-record", "first_sequence", first.into());
    put(header, "log-record", "durable_sequence", durable.into());
    let parts = [&STORE_ID.to_le_bytes()[..], &number.to_le_bytes(), &header[4..]];
    let header_crc = crate::oracle::crc(&parts);
    put(header, "log-record", "header_crc", header_crc.into());
}

fn no_witness() -> Log {
    let mut log = two_records();
    log.bytes.extend([0xA5; 16]);
    log.next = 9;
    let change = |field: &'static str, value: u8| {
        move |header: &mut [u8], _: &mut Vec<u8>| header[record_field(field)] = value
    };
    log.push_changed(&[Insert(E, 0, 0)], 0, change("reserved", 1));
    log.push_changed(&[Insert(E, 0, 0)], 0, change("durable_sequence", log.next as u8));
    log.push_changed(&[], 0, |header, _| {
        put(header, "log-record", "payload_bytes", (1 << 24) + 1);
    });
    let record = |number, store| {
        let mut other = Log::new(number, 5, false, false);
        let start = other.bytes.len();
        other.push(&[Insert(E, 0, 0)], 0);
        let mut record = other.bytes.split_off(start);
        if store {
            // As if of store 0.
            let parts = [&[0; 16][..], &u64::to_le_bytes(number), &record[4..32]];
            let header_crc = crate::oracle::crc(&parts);
            put(&mut record, "log-record", "header_crc", header_crc.into());
        }
        record
    };
    log.bytes.extend([record(2, false), record(1, true)].concat());
    log.bytes.extend([0; 3]);
    log.bytes.extend(record(1, false));
    log
}

/// Segments whose numbers have another order than their sequences, with deletions of both scopes.
pub fn several() -> LivingSpec {
    let one =
        small(1, &[A, B, C, D, E, F], Some(&[&[1, 2], &[0, 5], &[3], &[4, 6], &[1], &[7, 9]]));
    let two = small(2, &[A, D], Some(&[&[1], &[4]]));
    let four = small(4, &[A, C, E], Some(&[&[2, 3], &[3], &[1, 9]]));
    let five = small(5, &[C], Some(&[&[3]]));
    let seven = small(7, &[B, D, F], Some(&[&[5], &[6], &[8]]));
    let of_two = vec![(A, None, 18), (A, Some(0), 12), (A, Some(2), 19), (B, Some(0), 20)];
    let of_seven =
        vec![(C, None, 30), (C, Some(3), 21), (D, Some(4), 20), (D, Some(6), 25), (E, Some(9), 15)];
    let operations: &[&[Op]] = &[&[Delete(F, 7), DeleteAll(E), Insert(E, 2, 0)], &[Delete(B, 5)]];
    LivingSpec {
        segments: vec![one, two, four, five, seven],
        deletions: vec![(2, 20, of_two), (4, 15, vec![]), (5, 30, vec![]), (7, 30, of_seven)],
        sequence: 30,
        ..with_ids(vec![log(operations, 0)])
    }
}

fn segments() -> Vec<WrittenVector> {
    let plain = |number, set: &[u64]| small(number, set, None);
    let without_ids = LivingSpec {
        segments: vec![plain(3, &[A, B, C, D]), plain(6, &[C, E]), plain(8, &[])],
        deletions: vec![
            (3, 4, vec![]),
            (6, 10, vec![(A, Some(0), 10), (B, None, 9), (C, None, 4), (D, Some(7), 6)]),
            (8, 12, vec![(C, None, 11)]),
        ],
        sequence: 12,
        ..logs(vec![log(&[&[Insert(A, 0, 0)], &[DeleteAll(E), Insert(F, 0, 0)]], 0)])
    };
    vec![
        good(
            "good-living-segments",
            "Five segments with ids: the one with number 1 has the sequence 0, number 4 is older than \
             number 2, number 5 is as new as the newest deletion. Deletions of pairs and of fingerprints hide \
             what is older, in all segments; the log deletes and inserts more.",
            living_parts(&several()),
            &[
                // 18 hides (A, 1) and (A, 2) in 1 and all of A in 4; 2 itself is newer.
                (A, &[1], &[]),
                // 20 hides (B, 0), the log (B, 5).
                // Of C, 5 has the sequence of the deletion.
                (C, &[3], &[]),
                // (D, 4) stays in 2, which has the sequence of the deletion; (D, 6) in 7.
                (D, &[4, 6], &[]),
                (E, &[2], &[]),
                (F, &[8, 9], &[]),
            ],
        ),
        good(
            "good-living-id-of-all",
            "A deletion of all ids of a fingerprint has 2^64 - 1 in its field id, which means nothing.",
            living_parts(&LivingSpec {
                segments: vec![small(1, &[A, B], Some(&[&[1, 7], &[7]])), small(2, &[], Some(&[]))],
                deletions: vec![(2, 9, vec![(A, Some(u64::MAX), 9 | 1 << 63)])],
                sequence: 9,
                ..with_ids(vec![log(&[], 0)])
            }),
            &[(B, &[7], &[])],
        ),
        good(
            "good-living-segments-without-ids",
            "Three segments without ids, of which the last is empty and brings along a deletion. Deletions \
             of pairs name nothing.",
            living_parts(&without_ids),
            &[(A, &[], &[]), (D, &[], &[]), (F, &[], &[])],
        ),
    ]
}

/// A store with ids and windows, of two segments and a log.
pub fn with_windows() -> LivingSpec {
    let one = small(2, &[A, C], Some(&[&[1], &[2, 3]]));
    let other = small(5, &[A, D], Some(&[&[1, 4], &[5]]));
    let operations: &[&[Op]] = &[
        &[Insert(A, 7, 18_000), Delete(C, 2), Insert(C, 3, 18_003)],
        &[DeleteAll(D), Insert(E, 6, 4)],
    ];
    LivingSpec {
        segments: vec![one, other],
        deletions: vec![(2, 6, vec![]), (5, 8, vec![(C, Some(3), 7)])],
        sequence: 8,
        windows: Some((86_400, vec![18_002, 18_001])),
        layout: Some("design=halves block-bytes=512"),
        ..with_ids(vec![log(operations, 0)])
    }
}

fn names() -> Vec<WrittenVector> {
    let list = ["", "a", "https://a.example/", "https://a.example/1", "https://b.example/", "é"];
    let list: Vec<Vec<u8>> = list.iter().map(|name| name.as_bytes().to_vec()).collect();
    let [empty, a, first, second, other, accent] = [0, 1, 2, 3, 4, 5];
    // The lists of the segments are others, so the same name has another number in each.
    let one = small(1, &[A, B, C], Some(&[&[first, accent], &[other], &[second]]));
    let two = small(2, &[A, D], Some(&[&[a, first], &[empty]]));
    let operations: &[&[Op]] = &[
        &[Insert(E, empty, 18_000), Insert(A, first, 18_000), Delete(C, second)],
        &[Delete(A, first), Insert(F, second, 18_001), Insert(F, a, 18_001), DeleteAll(D)],
        &[Insert(A, first, 18_001), Delete(F, accent)],
    ];
    let spec = LivingSpec {
        segments: vec![one, two],
        deletions: vec![(1, 6, vec![]), (2, 9, vec![(A, Some(accent), 8), (B, Some(first), 7)])],
        sequence: 9,
        windows: Some((86_400, vec![18_002, 18_001])),
        names: list.clone(),
        ..with_ids(vec![log(operations, 0)])
    };
    let held: Held<'_> = &[
        (A, &[a, first], &[18_001]),
        (B, &[other], &[18_002]),
        (E, &[empty], &[18_000]),
        (F, &[a, second], &[18_001]),
    ];
    let sentence = "Ids are names: each of two segments has a list of its own, with those of its deletions, \
         and the log has the names themselves. Deletions of pairs are by name, in all segments.";
    vec![WrittenVector {
        names: Some(list),
        ..good("good-living-names", sentence, living_parts(&spec), held)
    }]
}

fn windows() -> Vec<WrittenVector> {
    let ids_free = LivingSpec {
        windows: Some((1, vec![])),
        ..logs(vec![log(
            &[&[Insert(B, 0, 3), Insert(A, 0, 1 << 40)], &[Insert(B, 0, 5), DeleteAll(A)]],
            0,
        )])
    };
    let packed = LivingSpec {
        logs: vec![],
        ids: false,
        segments: vec![small(1, &[A, B], None), small(9, &[B], None)],
        windows: Some((3600, vec![500_001, 1 << 40])),
        ..LivingSpec::default()
    };
    vec![
        good(
            "good-windows",
            "A living store with ids and windows of a day.",
            living_parts(&with_windows()),
            &[(A, &[1, 4, 7], &[18_000, 18_001, 18_002]), (C, &[3], &[18_003]), (E, &[6], &[4])],
        ),
        good(
            "good-windows-without-ids",
            "A log with windows of a second and without ids.",
            living_parts(&ids_free),
            &[(B, &[], &[3, 5])],
        ),
        good(
            "good-windows-packed",
            "A store that is not living, with windows of an hour.",
            living_parts(&packed),
            &[(A, &[], &[500_001]), (B, &[], &[500_001, 1 << 40])],
        ),
    ]
}

fn manifests() -> Vec<WrittenVector> {
    let held: Held<'_> =
        &[(A, &[1, 4, 7], &[18_000, 18_001, 18_002]), (C, &[3], &[18_003]), (E, &[6], &[4])];
    let mut order = living_parts(&with_windows());
    order.sections.reverse();
    let store = order.sections.pop().expect("STORE is the first section");
    // The segments stand in order.
    let first = order.sections.iter().position(|(kind, _, _)| *kind == 2);
    let first = first.expect("there are two segments");
    order.sections.swap(first, first + 1);
    order.sections.insert(0, store);
    order.sections.insert(2, (u32::MAX, WRITERS, b"made up".to_vec()));
    order.sections.push((6, 0xFFFF_0000, b"".to_vec()));
    for (kind, flags, _) in &mut order.sections {
        if [LOG, LAYOUT].contains(kind) {
            *flags |= 0x8001_0000;
        }
    }
    assert!(order.sections.iter().all(|(kind, flags, _)| *kind != LOG || flags & BOTH == BOTH));
    let advice = |payload: &[u8]| {
        let mut parts = living_parts(&LivingSpec {
            segments: vec![small(1, &[B], None)],
            layout: Some("design=halves"),
            ..LivingSpec::default()
        });
        *parts.payload(LAYOUT) = payload.to_vec();
        parts
    };
    let mut twice = advice(b"design=halves");
    twice.sections.push((LAYOUT, 0, b"design=single".to_vec()));
    let layout = LivingSpec {
        segments: vec![small(1, &[B], None)],
        layout: Some("größe=1 nonsense objective="),
        ..LivingSpec::default()
    };
    vec![
        good(
            "good-living-sections-in-any-order",
            "good-windows with its sections in another order, unused flags, and sections of unknown kind.",
            order,
            held,
        ),
        good(
            "good-layout-of-no-text",
            "A LAYOUT section that is no UTF-8, which says nothing.",
            advice(b"design=\xFF"),
            &[(B, &[], &[])],
        ),
        good(
            "good-layout-twice",
            "Two LAYOUT sections, which say nothing.",
            twice,
            &[(B, &[], &[])],
        ),
        good(
            "good-layout",
            "A LAYOUT section with words that nobody knows; the store is not living.",
            living_parts(&layout),
            &[(B, &[], &[])],
        ),
    ]
}
