//! Cases of section 11: logs that are damaged, not torn.

use super::living_good::{A, B, C, D, E, F, logs, of_log, put_witness_late, two_records, with_ids};
use super::living_writer::{
    LivingSpec, Log, LogSpec, NOTE, Op, living_parts, log, log_name, put_log, record_field,
};
use super::writer::put;
use super::written::rejected;
use super::{WrittenVector, end, good_variants::made_up, lengthen_header};
use Op::{Delete, DeleteAll, Insert};

/// Name, rule, what it is, and the log, which is log 1 and begins with operation 1.
type Row = (&'static str, &'static str, &'static str, fn(&mut Log));

pub fn vectors() -> Vec<WrittenVector> {
    let rows = headers().into_iter().chain(promises()).chain(records());
    let made = rows.map(|(name, rule, sentence, change)| {
        let mut log = two_records();
        change(&mut log);
        rejected(name, rule, sentence, of_log(log).assemble())
    });
    let mut vectors: Vec<_> = made.collect();
    vectors.extend(chains());
    vectors.extend(shapes());
    vectors
}

#[rustfmt::skip]
fn headers() -> Vec<Row> {
    vec![
        ("unsupported-pre-05-log-version-2", "PRE-5", "version_major of the log is 2.", |log| put_log(&mut log.bytes, "version_major", 2)),
        ("bad-pre-01-log-empty", "PRE-1", "The log is an empty file.", |log| log.bytes.clear()),
        ("bad-pre-01-log-8-bytes", "PRE-1", "The log is 8 bytes long.", |log| log.bytes.truncate(8)),
        ("bad-pre-02-log-zeros", "PRE-2", "All of the log is zero.", |log| log.bytes.fill(0)),
        ("bad-pre-03-log-cut", "PRE-3", "The header of the log is cut off.", |log| log.bytes.truncate(40)),
        ("bad-pre-04-log-flipped", "PRE-4", "A bit of the header of the log is flipped.", |log| log.bytes[17] ^= 1),
        ("unsupported-pre-06-log-header-48", "PRE-6", "The header of the log has 48 bytes, and is sound.", |log| log.bytes = made_up(b'L', 1, 48)),
        ("unsupported-pre-06-log-longer", "PRE-6", "The header of the log has 64 bytes, and is sound.", |log| lengthen_header(&mut log.bytes, 8)),
        ("bad-log-01-other-store", "LOG-1", "The log is of another store.", |log| put_log(&mut log.bytes, "store_id", 1 << 127)),
        ("bad-log-01-other-number", "LOG-1", "The log is log 2 in the place of log 1.", |log| put_log(&mut log.bytes, "log_number", 2)),
        ("bad-log-01-sequence-above", "LOG-1", "The log begins with operation 2, and segments hold none.", |log| put_log(&mut log.bytes, "sequence", 2)),
        ("bad-log-01-sequence-below", "LOG-1", "The log begins with operation 0.", |log| put_log(&mut log.bytes, "sequence", 0)),
        ("bad-log-01-ids", "LOG-1", "The log has the flag *ids*, and LOG does not.", |log| put_log(&mut log.bytes, "flags", 1)),
        ("bad-log-01-windows", "LOG-1", "The log has the flag *windows*, and LOG does not.", |log| put_log(&mut log.bytes, "flags", 2)),
        ("unsupported-log-02-flag-3", "LOG-2", "The reserved flag 2^3 of the log is set.", |log| put_log(&mut log.bytes, "flags", 8)),
        ("unsupported-log-02-before-log-01", "LOG-2", "The log is of another store, and its reserved flag 2^31 is set.", |log| {
            put_log(&mut log.bytes, "store_id", 7);
            put_log(&mut log.bytes, "flags", 1 << 31);
        }),
        ("bad-log-08-header-alone", "LOG-8", "The log ends behind its header.", |log| log.bytes.truncate(end("log-header"))),
        ("bad-log-01-before-log-08", "LOG-1", "The log is of another store, and ends behind its header.", |log| {
            put_log(&mut log.bytes, "store_id", 7);
            log.bytes.truncate(end("log-header"));
        }),
        ("unsupported-log-02-before-log-08", "LOG-2", "The reserved flag 2^3 of the log is set, and it ends behind its header.", |log| {
            put_log(&mut log.bytes, "flags", 8);
            log.bytes.truncate(end("log-header"));
        }),
        ("bad-log-08-note-cut", "LOG-8", "The log lacks the last byte of its note.", |log| log.bytes.truncate(end("log-header") + NOTE - 1)),
    ]
}

/// Breaks the header of a third record, behind which a record calls operation 3 durable.
fn promised(log: &mut Log) -> usize {
    let third = log.bytes.len();
    log.push(&[DeleteAll(A)], 0);
    log.push(&[Insert(D, 0, 0)], 0);
    third
}

#[rustfmt::skip]
fn promises() -> Vec<Row> {
    vec![
        ("bad-log-03-header-flipped", "LOG-3", "A bit of the header of the third record is flipped. The fourth calls operation 3 durable.", |log| {
            let third = promised(log);
            log.bytes[third + 8] ^= 4;
        }),
        ("bad-log-03-payload-flipped", "LOG-3", "A bit of the payload of the third record is flipped. The fourth calls operation 3 durable.", |log| {
            let third = promised(log);
            log.bytes[third + 33] ^= 1;
        }),
        ("bad-log-03-payload-crc", "LOG-3", "payload_crc of the third record is wrong. The fourth calls operation 3 durable.", |log| {
            let third = promised(log);
            log.bytes[third + 44] ^= 1;
        }),
        ("bad-log-03-zeros", "LOG-3", "The third record is zero. The fourth calls operation 3 durable.", |log| {
            let third = promised(log);
            log.bytes[third..third + 48].fill(0);
        }),
        ("bad-log-03-seal", "LOG-3", "The third record is broken. The seal behind it calls all durable.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.bytes[third] ^= 1;
            log.seal();
        }),
        ("bad-log-03-noted", "LOG-3", "The third record is broken. The note calls it durable.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.note();
            log.bytes[third + 40] ^= 1;
        }),
        ("bad-log-03-noted-cut", "LOG-3", "The log lost its last record, which the note calls durable.", |log| {
            log.note();
            log.bytes.truncate(log.bytes.len() - 48);
        }),
        ("bad-log-03-noted-all-cut", "LOG-3", "The log lost all its records, which the note calls durable.", |log| {
            log.note();
            log.bytes.truncate(end("log-header") + NOTE);
        }),
        ("bad-log-03-in-batch", "LOG-3", "The third record, of operations 3 and 4, is broken. Far behind it one calls operation 3 durable, and not operation 4.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0), Insert(E, 0, 0)], 0);
            log.bytes[third + 40] ^= 1;
            log.push(&[Insert(D, 0, 0)], 2);
            log.bytes.extend([0; 160]);
            log.next += 5;
            log.push(&[Insert(D, 0, 0)], log.next - 4);
        }),
        ("bad-log-03-witness-torn", "LOG-3", "The third record is broken. The fourth calls operation 3 durable, and is itself cut off behind its header.", |log| {
            let third = promised(log);
            log.bytes[third + 4] ^= 1;
            log.bytes.truncate(third + 48 + 32);
        }),
        ("bad-log-03-witness-of-2-to-24", "LOG-3", "The third record is broken. The header behind it calls operation 3 durable, and states a payload of 2^24 bytes.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.bytes[third] ^= 1;
            log.push_changed(&[Insert(F, 0, 0)], 0, |header, _| put(header, "log-record", "payload_bytes", 1 << 24));
        }),
        ("bad-log-03-witness-of-2-to-63", "LOG-3", "The third record is broken. The one behind it begins with operation 2^63 + 1, and calls operation 2^63 durable.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.bytes[third] ^= 1;
            log.next = (1 << 63) + 1;
            log.push(&[Insert(F, 0, 0)], 0);
        }),
        ("bad-log-03-witness-begins-at-2-to-63", "LOG-3", "The third record is broken. The one behind it begins with operation 2^63, and calls operation 3 durable.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.bytes[third] ^= 1;
            log.next = 1 << 63;
            log.push(&[Insert(F, 0, 0)], log.next - 4);
        }),
        ("bad-log-03-record-missing", "LOG-3", "The third record is missing: where it should stand, one calls it durable.", |log| {
            log.next = 4;
            log.push(&[Insert(F, 0, 0)], 0);
        }),
        ("bad-log-03-witness-of-kind-3", "LOG-3", "The third record is broken. One of an unknown kind calls operation 3 durable.", |log| {
            let third = log.bytes.len();
            log.push(&[Insert(F, 0, 0)], 0);
            log.bytes[third] ^= 1;
            log.push_changed(&[Insert(F, 0, 0)], 0, |header, _| header[record_field("kind")] = 3);
        }),
        ("bad-log-04-byte", "LOG-4", "A zero byte follows the seal of the log.", |log| {
            log.seal();
            log.bytes.push(0);
        }),
        ("bad-log-04-record", "LOG-4", "A record follows the seal of the log.", |log| {
            log.seal();
            log.push(&[Insert(B, 0, 0)], 0);
        }),
    ]
}

#[rustfmt::skip]
fn records() -> Vec<Row> {
    vec![
        ("bad-log-06-one-more", "LOG-6", "operation_count is one more than there are operations.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("operation_count")] = 2);
        }),
        ("bad-log-06-one-less", "LOG-6", "operation_count is one less than there are operations.", |log| {
            log.push_changed(&[Insert(B, 0, 0), DeleteAll(B)], 0, |header, _| header[record_field("operation_count")] = 1);
        }),
        ("bad-log-06-count-huge", "LOG-6", "operation_count is 2^32 - 1.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| put(header, "log-record", "operation_count", u32::MAX.into()));
        }),
        ("bad-log-06-no-operations", "LOG-6", "A record without operations is no seal.", |log| {
            log.push_changed(&[], 0, |header, _| header[record_field("kind")] = 1);
        }),
        ("bad-log-06-seal-counts", "LOG-6", "A seal has an operation_count of 1 and no payload.", |log| {
            log.push_changed(&[], 0, |header, _| header[record_field("operation_count")] = 1);
        }),
        ("bad-log-06-seal-with-operation", "LOG-6", "A seal has an operation.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("kind")] = 2);
        }),
        ("bad-log-06-seal-with-payload", "LOG-6", "A seal has a payload of 3 bytes.", |log| {
            log.push_changed(&[], 0, |header, _| header[record_field("payload_bytes")] = 3);
        }),
        ("bad-log-06-operation-0", "LOG-6", "The first byte of an operation is 0.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |_, payload| payload[0] = 0)),
        ("bad-log-06-operation-4", "LOG-6", "The first byte of an operation is 4.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |_, payload| payload[0] = 4)),
        ("bad-log-06-operation-cut", "LOG-6", "The payload ends inside an operation.", |log| {
            log.push_changed(&[Insert(B, 0, 0), Insert(B & 0xFFFF, 0, 0)], 0, |header, payload| {
                header[record_field("payload_bytes")] -= 1;
                payload.pop();
                payload.push(0);
            });
        }),
        ("bad-log-06-pair-without-ids", "LOG-6", "A pair is deleted in a store without ids.", |log| log.push(&[Delete(C, 5)], 0)),
        ("bad-log-06-padding", "LOG-6", "The padding of a record is not zero.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |_, payload| *payload.last_mut().expect("there is padding") = 1)),
        ("bad-log-06-durable-itself", "LOG-6", "A record calls its own first operation durable.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("durable_sequence")] = 3);
        }),
        ("bad-log-06-durable-2-to-63", "LOG-6", "A record calls operation 2^63 durable.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| put(header, "log-record", "durable_sequence", 1 << 63));
        }),
        ("bad-log-06-before-log-04", "LOG-6", "A seal has a payload, and a byte follows it.", |log| {
            log.push_changed(&[], 0, |header, _| header[record_field("payload_bytes")] = 3);
            log.bytes.push(0);
        }),
        ("bad-log-06-before-log-03", "LOG-6", "An operation of the third record is unknown; the fourth is broken, and the seal calls it durable.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |_, payload| payload[0] = 9);
            let fourth = promised(log);
            log.bytes[fourth] ^= 1;
        }),
        ("unsupported-log-07-kind-0", "LOG-7", "The kind of a record is 0.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("kind")] = 0)),
        ("unsupported-log-07-kind-3", "LOG-7", "The kind of a record is 3.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("kind")] = 3)),
        ("unsupported-log-07-reserved", "LOG-7", "The last reserved byte of a record is in use.", |log| log.push_changed(&[Insert(B, 0, 0)], 0, |header, _| header[record_field("reserved") + 2] = 1)),
        ("unsupported-log-07-before-log-06", "LOG-7", "A record of kind 3 has an operation that is none.", |log| {
            log.push_changed(&[Insert(B, 0, 0)], 0, |header, payload| {
                header[record_field("kind")] = 3;
                payload[0] = 77;
            });
        }),
    ]
}

/// Several logs.
fn chains() -> Vec<WrittenVector> {
    let operations: &[&[Op]] = &[&[Insert(A, 0, 0)], &[Insert(B, 0, 0)]];
    let sealed = || log(operations, 0).sealed();
    let two = |first: LogSpec| living_parts(&logs(vec![first, log(&[&[Insert(C, 0, 0)]], 1)]));
    let open = two(log(operations, 0));
    let left = living_parts(&logs(vec![log(&[], 0), log(operations, 0)]));
    let first = living_parts(&logs(vec![log(&[], 0), log(&operations[..1], 0)]));
    let mut in_note = living_parts(&logs(vec![log(operations, 0), log(&[], 0)]));
    let file = in_note.file(&log_name(2));
    file.resize(56 + NOTE + 8, 0);
    put_witness_late(2, (3, 2), file);
    let mut torn = open.clone();
    torn.file(&log_name(1)).truncate(140 + NOTE);
    let mut header_only = open.clone();
    header_only.file(&log_name(2)).truncate(56 + NOTE + 32);
    let mut header_broken = open.clone();
    header_broken.file(&log_name(2))[3] ^= 1;
    let mut later = torn.clone();
    later.file(&log_name(2)).splice(56 + NOTE..56 + NOTE, [0; 40]);
    let mut gap = two(sealed());
    put_log(gap.file(&log_name(2)), "sequence", 4);
    let mut again = two(sealed());
    put_log(again.file(&log_name(2)), "sequence", 1);
    let mut empty = two(sealed());
    empty.file(&log_name(2)).clear();
    let mut noted = two(log(&[], 0));
    noted.file(&log_name(2)).truncate(56 + NOTE);
    let mut of_second = Log::new(2, 1, false, false);
    of_second.push(&[Insert(C, 0, 0)], 0);
    of_second.note();
    noted.file(&log_name(2))[56..].copy_from_slice(&of_second.bytes[56..56 + NOTE]);
    let mut second = living_parts(&logs(vec![sealed(), log(operations, 0)]));
    second.file(&log_name(2))[56 + NOTE] ^= 1;
    let mut seal = two(sealed());
    // The seal is the end of the first log.
    *seal.file(&log_name(1)).last_mut().expect("it is not empty") ^= 1;
    vec![
        rejected(
            "bad-log-05-open",
            "LOG-5",
            "A log ends without a seal, and the next one holds a record.",
            open.assemble(),
        ),
        rejected(
            "bad-log-05-left",
            "LOG-5",
            "A log has no records, and the next one goes on with the same sequence: an expiry between them was lost.",
            left.assemble(),
        ),
        rejected(
            "bad-log-05-nothing-durable",
            "LOG-5",
            "A log has no records, and the only one of the next log calls operation 0 durable, so \
             none.",
            first.assemble(),
        ),
        rejected(
            "bad-log-05-in-note",
            "LOG-5",
            "A log ends without a seal, and a record header stands 8 bytes behind the start of the \
             note of the next one.",
            in_note.assemble(),
        ),
        rejected(
            "bad-log-05-torn",
            "LOG-5",
            "A log is torn, and the next one holds a record.",
            torn.assemble(),
        ),
        rejected(
            "bad-log-05-header-of-record",
            "LOG-5",
            "A log ends without a seal, and the next one holds the header of a record.",
            header_only.assemble(),
        ),
        rejected(
            "bad-log-05-header-of-log",
            "LOG-5",
            "A log ends without a seal, and the next one holds a record behind a broken header.",
            header_broken.assemble(),
        ),
        rejected(
            "bad-log-05-note",
            "LOG-5",
            "A log ends without a seal, and the note of the next one calls something there durable.",
            noted.assemble(),
        ),
        rejected(
            "bad-pre-01-second-log-empty",
            "PRE-1",
            "The log behind a sealed one is an empty file.",
            empty.assemble(),
        ),
        rejected(
            "bad-log-05-later-record",
            "LOG-5",
            "A log is torn, and the next one holds a record behind zeros.",
            later.assemble(),
        ),
        rejected(
            "bad-log-05-seal-flipped",
            "LOG-5",
            "A bit of a seal is flipped, and the next log holds a record.",
            seal.assemble(),
        ),
        rejected(
            "bad-log-01-gap-between-logs",
            "LOG-1",
            "A log ends with operation 2, and the next one begins with 4.",
            gap.assemble(),
        ),
        rejected(
            "bad-log-01-next-log-repeats",
            "LOG-1",
            "A log ends with operation 2, and the next one begins with 1.",
            again.assemble(),
        ),
        rejected(
            "bad-log-03-second-log",
            "LOG-3",
            "The first record of the second log is broken, and the one behind it calls that durable.",
            second.assemble(),
        ),
    ]
}

/// Records that fit other flags than those of the store.
fn shapes() -> Vec<WrittenVector> {
    let mut without = Log::new(1, 1, true, false);
    // Insertions of a log without ids.
    without.push_changed(&[Insert(A, 1, 0)], 0, |header, payload| {
        header[record_field("payload_bytes")] = 9;
        payload.truncate(12);
    });
    let mut with = living_parts(&with_ids(vec![log(&[], 0)]));
    with.files.insert(log_name(1), without.bytes);
    let of_name = |name: &[u8]| {
        let names = vec![name.to_vec()];
        living_parts(&LivingSpec { names, ..with_ids(vec![log(&[&[Insert(A, 0, 0)]], 0)]) })
    };
    let mut uuid = of_name(b"15 bytes and no");
    uuid.set(1, "name_kind", 2);
    uuid.set(1, "name_bytes", 16);
    vec![
        rejected(
            "bad-log-06-insertion-without-id",
            "LOG-6",
            "An insertion lacks the id, in a store with ids.",
            with.assemble(),
        ),
        rejected(
            "bad-log-06-name-no-utf-8",
            "LOG-6",
            "The name of an insertion is not UTF-8, in a store with text as ids.",
            of_name(b"caf\xE9").assemble(),
        ),
        rejected(
            "bad-log-06-name-15-bytes",
            "LOG-6",
            "The name of an insertion has 15 bytes, in a store with UUIDs as ids.",
            uuid.assemble(),
        ),
    ]
}
