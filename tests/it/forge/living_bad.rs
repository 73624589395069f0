//! Cases of sections 2, 3.7 to 3.10 and 9: the manifest of a living store, and its deletions files.

use super::living_good::{A, B, C, D, F, logs, several, small, with_ids, with_windows};
use super::living_writer::{
    BOTH, DELETIONS, Deleted, LAYOUT, LOG, LivingSpec, Op, WINDOWS, WRITERS, deletions_name,
    living_parts, log, log_name, put_deletions, reseal_deletions_file, seal_deletions_entry,
};
use super::writer::Parts;
use super::written::rejected;
use super::{WrittenVector, lengthen_header};

/// Name, rule, what it is, and what is changed in the store of [`base`].
type Row = (&'static str, &'static str, &'static str, fn(&mut Parts));

/// A store with windows, a segment without ids, a deletions file and a log.
fn base() -> Parts {
    living_parts(&LivingSpec {
        segments: vec![small(3, &[A, D], None)],
        deletions: vec![(3, 9, vec![(B, None, 5), (C, None, 8), (F, None, 9)])],
        sequence: 10,
        windows: Some((60, vec![7])),
        layout: Some("design=halves"),
        ..logs(vec![log(&[&[Op::Insert(C, 0, 8)]], 0)])
    })
}

/// No segments, no windows: an empty log.
fn bare() -> Parts {
    living_parts(&logs(vec![log(&[], 0)]))
}

pub fn vectors() -> Vec<WrittenVector> {
    let made = |base: fn() -> Parts, rows: Vec<Row>| {
        rows.into_iter().map(move |(name, rule, sentence, change)| {
            let mut parts = base();
            change(&mut parts);
            rejected(name, rule, sentence, parts.assemble())
        })
    };
    let mut vectors: Vec<_> = made(bare, bare_rows()).collect();
    vectors.extend(made(base, rows()));
    vectors.extend(made(base, file_rows()));
    vectors.extend(made(|| living_parts(&with_windows()), window_rows()));
    vectors.extend(made(|| living_parts(&several()), several_rows()));
    vectors.extend(lists().into_iter().map(|(name, sentence, list)| {
        let deletions = vec![(3, 9, list)];
        let segments = vec![small(3, &[], None)];
        let empty = LivingSpec { segments, deletions, sequence: 10, ..logs(vec![log(&[], 0)]) };
        rejected(name, "DEL-8", sentence, living_parts(&empty).assemble())
    }));
    vectors.extend(ids_and_flags());
    vectors
}

fn twice(parts: &mut Parts, kind: u32, flags: u32) {
    let payload = parts.payload(kind).clone();
    parts.sections.push((kind, flags, payload));
}

fn set_flags(parts: &mut Parts, kind: u32, flags: u32) {
    let section = parts.sections.iter_mut().find(|(other, _, _)| *other == kind);
    section.expect("there is such a section").1 = flags;
}

#[rustfmt::skip]
fn bare_rows() -> Vec<Row> {
    vec![
        ("bad-dir-02-no-log", "DIR-2", "The log first_log is missing.", |p| drop(p.files.remove(&log_name(1)))),
        ("bad-dir-02-first-log-is-next", "DIR-2", "first_log is 1, and log 2 is there.", |p| {
            let log = p.files.remove(&log_name(1)).expect("the log is there");
            p.files.insert(log_name(2), log);
        }),
        ("bad-man-08-log-not-critical", "MAN-8", "The LOG section is not critical.", |p| set_flags(p, LOG, WRITERS)),
        ("bad-man-08-deletions-not-for-writers", "MAN-8", "The DELETIONS section lacks the flag *writers*.", |p| set_flags(p, DELETIONS, 1)),
        ("bad-lgs-01-too-short", "LGS-1", "The payload of the LOG section has 47 bytes.", |p| p.payload(LOG).truncate(47)),
        ("bad-lgs-02-twice", "LGS-2", "There are two LOG sections.", |p| twice(p, LOG, BOTH)),
        ("bad-lgs-03-first-log-0", "LGS-3", "first_log is 0.", |p| p.set(LOG, "first_log", 0)),
        ("bad-lgs-03-first-log-too-great", "LGS-3", "first_log is 2^62.", |p| p.set(LOG, "first_log", 1 << 62)),
        ("bad-lgs-03-sequence-too-great", "LGS-3", "sequence is 2^62.", |p| p.set(LOG, "sequence", 1 << 62)),
        ("bad-lgs-03-sequence-greatest", "LGS-3", "sequence is 2^64 - 1: one more is 0.", |p| p.set(LOG, "sequence", u64::MAX)),
        ("unsupported-lgs-04-flag-8", "LGS-4", "The reserved flag 2^3 of LOG is set.", |p| p.set(LOG, "flags", 8)),
        ("unsupported-lgs-04-flag-31", "LGS-4", "The reserved flag 2^31 of LOG is set.", |p| p.set(LOG, "flags", 1 << 31)),
        ("bad-lgs-06-names-without-section", "LGS-6", "The flag *names* of LOG is set, and there is no NAMES section.", |p| p.set(LOG, "flags", 4)),
        ("unsupported-lgs-04-reserved", "LGS-4", "The reserved bytes of LOG are in use.", |p| p.set(LOG, "reserved", 1 << 24)),
        ("unsupported-man-10-log-tail", "MAN-10", "The tail of the LOG payload is not zero.", |p| p.payload(LOG).extend([0, 0, 1])),
        ("unsupported-man-10-deletions-tail", "MAN-10", "The tail of the DELETIONS payload is not zero: entry_count is one less than there are entries.", |p| p.payload(DELETIONS).extend([1; 32])),
        ("bad-dls-01-too-short", "DLS-1", "The payload of the DELETIONS section has 7 bytes.", |p| p.payload(DELETIONS).truncate(7)),
        ("bad-dls-01-count-huge", "DLS-1", "entry_count of DELETIONS is 2^32 - 1.", |p| p.set(DELETIONS, "entry_count", u32::MAX.into())),
        ("bad-dls-02-entry-bytes-0", "DLS-2", "entry_bytes of DELETIONS is 0, and there is no entry.", |p| p.set(DELETIONS, "entry_bytes", 0)),
        ("bad-dls-02-entry-bytes-24", "DLS-2", "entry_bytes of DELETIONS is 24.", |p| p.set(DELETIONS, "entry_bytes", 24)),
        ("bad-dls-02-entry-bytes-36", "DLS-2", "entry_bytes of DELETIONS is 36, no multiple of 8.", |p| p.set(DELETIONS, "entry_bytes", 36)),
        ("bad-dls-03-twice", "DLS-3", "There are two DELETIONS sections.", |p| twice(p, DELETIONS, BOTH)),
        ("bad-dls-03-without-log", "DLS-3", "There is a DELETIONS section, and no LOG section.", |p| p.sections.retain(|(kind, _, _)| *kind != LOG)),
        ("unsupported-dls-04-reserved", "DLS-4", "The reserved bytes of DELETIONS are in use.", |p| p.set(DELETIONS, "reserved", 256)),
    ]
}

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    vec![
        ("bad-man-08-windows-critical", "MAN-8", "The WINDOWS section is critical.", |p| set_flags(p, WINDOWS, BOTH)),
        ("bad-man-08-layout-for-writers", "MAN-8", "The LAYOUT section has the flag *writers*.", |p| set_flags(p, LAYOUT, WRITERS)),
        ("unsupported-man-10-deletions-entry", "MAN-10", "The entries of DELETIONS have 40 bytes, the last of which is not zero.", |p| p.lengthen_entries(DELETIONS, 1)),
        ("unsupported-man-10-windows-entry", "MAN-10", "The entries of WINDOWS have 24 bytes, the last of which is not zero.", |p| p.lengthen_entries(WINDOWS, 1)),
        ("unsupported-man-10-windows-tail", "MAN-10", "The tail of the WINDOWS payload is not zero.", |p| p.payload(WINDOWS).push(1)),
        ("bad-dls-01-entry-missing", "DLS-1", "entry_count of DELETIONS is one more than there are entries.", |p| p.set(DELETIONS, "entry_count", 2)),
        ("bad-dls-05-no-segment", "DLS-5", "An entry of DELETIONS is of segment 4, which is none.", |p| p.set_entry(0, "segment_number", 4)),
        ("bad-dls-05-twice", "DLS-5", "Two entries of DELETIONS are of the same segment.", |p| {
            let entry = p.payload(DELETIONS)[8..].to_vec();
            p.payload(DELETIONS).extend(entry);
            p.set(DELETIONS, "entry_count", 2);
        }),
        ("bad-dls-05-beyond-log", "DLS-5", "The sequence of a segment is one more than that of LOG.", |p| p.set_entry(0, "sequence", 11)),
        ("bad-dls-05-before-man-10", "DLS-5", "An entry of DELETIONS is of no segment, and has a tail that is not zero.", |p| {
            p.set_entry(0, "segment_number", 4);
            p.lengthen_entries(DELETIONS, 1);
        }),
        ("bad-dls-01-windows-too-short", "DLS-1", "The payload of the WINDOWS section has 15 bytes.", |p| p.payload(WINDOWS).truncate(15)),
        ("bad-dls-01-windows-entry-missing", "DLS-1", "entry_count of WINDOWS is one more than there are entries.", |p| p.set(WINDOWS, "entry_count", 2)),
        ("bad-dls-02-windows-entry-bytes-8", "DLS-2", "entry_bytes of WINDOWS is 8.", |p| p.set(WINDOWS, "entry_bytes", 8)),
        ("bad-dls-02-windows-entry-bytes-20", "DLS-2", "entry_bytes of WINDOWS is 20.", |p| {
            p.set(WINDOWS, "entry_bytes", 20);
            p.payload(WINDOWS).extend([0; 4]);
        }),
        ("bad-wns-01-twice", "WNS-1", "There are two WINDOWS sections.", |p| twice(p, WINDOWS, WRITERS)),
        ("bad-wns-01-no-seconds", "WNS-1", "window_seconds is 0.", |p| p.set(WINDOWS, "window_seconds", 0)),
        ("unsupported-wns-02-reserved", "WNS-2", "The reserved bytes of WINDOWS are in use.", |p| p.set(WINDOWS, "reserved", 1)),
        ("bad-wns-03-other-segment", "WNS-3", "The entry of WINDOWS is of segment 4, which is none.", |p| p.payload(WINDOWS)[16] = 4),
        ("bad-wns-03-too-many", "WNS-3", "WINDOWS has two entries of the only segment.", |p| {
            let entry = p.payload(WINDOWS)[16..].to_vec();
            p.payload(WINDOWS).extend(entry);
            p.set(WINDOWS, "entry_count", 2);
        }),
        ("bad-lay-01-twice", "LAY-1", "There are two LAYOUT sections.", |p| twice(p, LAYOUT, 0)),
        ("bad-lay-01-no-text", "LAY-1", "The LAYOUT section is no UTF-8.", |p| p.payload(LAYOUT)[3] = 0xFF),
    ]
}

#[rustfmt::skip]
fn file_rows() -> Vec<Row> {
    vec![
        ("bad-dir-02-no-deletions", "DIR-2", "The deletions file is missing.", |p| drop(p.files.remove(&deletions_name(3)))),
        ("bad-del-01-cut", "DEL-1", "The deletions file lacks its last byte.", |p| {
            p.file(&deletions_name(3)).pop();
        }),
        ("bad-del-01-longer", "DEL-1", "A byte follows the deletions file.", |p| p.file(&deletions_name(3)).push(0)),
        ("bad-pre-02-deletions-magic", "PRE-2", "The deletions file has the magic of a log.", |p| p.change_deletions(3, |file| file[4] = b'L')),
        ("bad-pre-04-deletions-header", "PRE-4", "A bit of the header of the deletions file is flipped.", |p| p.file(&deletions_name(3))[16] ^= 1),
        ("unsupported-pre-05-deletions-version-2", "PRE-5", "version_major of the deletions file is 2.", |p| p.change_deletions(3, |file| file[8] = 2)),
        ("bad-pre-06-deletions-header-32", "PRE-6", "The header of the deletions file has 32 bytes, and is sound.", |p| p.change_deletions(3, |file| drop(file.splice(8..20, [1, 0, 0, 0, 32, 0, 0, 0])))),
        ("unsupported-pre-07-deletions-tail", "PRE-7", "The tail of the header of the deletions file is not zero.", |p| p.change_deletions(3, |file| {
            lengthen_header(file, 8);
            file[43] = 1;
        })),
        ("bad-del-02-other-file", "DEL-2", "The manifest means another deletions file.", |p| p.set_entry(0, "header_crc", 0)),
        ("unsupported-del-03-reserved", "DEL-3", "The reserved bytes of the deletions file are in use.", |p| p.change_deletions(3, |file| put_deletions(file, "reserved", 1 << 31))),
        ("bad-del-04-other-segment", "DEL-4", "The deletions file says that it is of segment 2.", |p| p.change_deletions(3, |file| put_deletions(file, "segment_number", 2))),
        ("bad-del-05-one-more", "DEL-5", "count of the deletions file is one more than there are deletions.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 4))),
        ("bad-del-05-one-less", "DEL-5", "count of the deletions file is one less than there are deletions.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 2))),
        ("bad-del-05-length-wraps", "DEL-5", "count of the deletions file is 2^61 too great, by which 24 count wraps to the same.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 3 + (1 << 61)))),
        ("bad-del-05-no-footer", "DEL-5", "The deletions file is a header and 2 bytes, and the manifest says so.", |p| {
            let file = p.file(&deletions_name(3));
            put_deletions(file, "count", 0);
            reseal_deletions_file(file);
            file.truncate(42);
            let file = file.clone();
            seal_deletions_entry(p.payload(DELETIONS), 0, &file);
        }),
        ("bad-del-06-flipped", "DEL-6", "A bit of a deletion is flipped.", |p| p.file(&deletions_name(3))[50] ^= 1),
        ("bad-del-07-other-deletions", "DEL-7", "The manifest means a file with other deletions.", |p| p.set_entry(0, "footer_crc", 0)),
        ("bad-del-06-before-log-04", "DEL-6", "A bit of a deletion is flipped, and a seal of the log does not end it.", |p| {
            let mut log = super::living_writer::Log::new(1, 11, false, true);
            log.seal();
            log.bytes.push(0);
            p.files.insert(log_name(1), log.bytes);
            p.file(&deletions_name(3))[50] ^= 1;
        }),
        ("bad-log-01-before-blk-01", "LOG-1", "The log is of another store, and a block of the table is broken: logs are opened before any block is read.", |p| {
            p.files.get_mut("segment-0000000000000003-table-000.fpt").expect("it is there")[4100] ^= 1;
            super::living_writer::put_log(p.file(&log_name(1)), "store_id", 7);
        }),
    ]
}

#[rustfmt::skip]
fn window_rows() -> Vec<Row> {
    vec![
        ("bad-wns-03-other-order", "WNS-3", "The entries of WINDOWS have another order than the segments.", |p| {
            p.payload(WINDOWS)[16..].rotate_left(16);
        }),
        ("bad-wns-03-missing", "WNS-3", "A segment has no entry in WINDOWS.", |p| {
            p.set(WINDOWS, "entry_count", 1);
            p.payload(WINDOWS).truncate(32);
        }),
    ]
}

#[rustfmt::skip]
fn several_rows() -> Vec<Row> {
    vec![
        ("bad-dls-05-descending", "DLS-5", "The entries of DELETIONS do not ascend.", |p| p.payload(DELETIONS)[8..72].rotate_left(32)),
    ]
}

type List = (&'static str, &'static str, Vec<Deleted>);

/// Deletions files of which the deletions are wrong.
#[rustfmt::skip]
fn lists() -> Vec<List> {
    vec![
        ("bad-del-08-twice", "The same deletion stands twice.", vec![(A, None, 3), (A, None, 3)]),
        ("bad-del-08-fingerprints-descend", "Fingerprints of deletions descend.", vec![(B, None, 3), (A, None, 4)]),
        ("bad-del-08-ids-descend", "Ids of deletions of a fingerprint descend.", vec![(A, Some(3), 3), (A, Some(2), 4)]),
        ("bad-del-08-pair-twice", "The same pair is deleted twice.", vec![(A, Some(3), 3), (A, Some(3), 4)]),
        ("bad-del-08-whole-last", "The deletion of all ids of a fingerprint follows that of one.", vec![(A, Some(3), 3), (A, None, 4)]),
        ("bad-del-08-sequence-0", "The sequence of a deletion is 0.", vec![(A, None, 0)]),
        ("bad-del-08-sequence-of-pair-0", "The sequence of the deletion of a pair is 0.", vec![(A, Some(1), 0)]),
        ("bad-del-08-sequence-too-great", "The sequence of a deletion is one more than that of its segment.", vec![(A, None, 9), (B, None, 10)]),
    ]
}

/// [LGS-5], in both directions.
fn ids_and_flags() -> Vec<WrittenVector> {
    let segments = || vec![small(1, &[A], Some(&[&[1]])), small(2, &[B], None)];
    let with = LivingSpec { segments: segments(), ..with_ids(vec![log(&[], 0)]) };
    let without = LivingSpec { segments: vec![segments().remove(0)], ..logs(vec![log(&[], 0)]) };
    vec![
        rejected(
            "bad-lgs-05-segment-without-ids",
            "LGS-5",
            "LOG has the flag *ids*, and one of two segments has none.",
            living_parts(&with).assemble(),
        ),
        rejected(
            "bad-lgs-05-segment-with-ids",
            "LGS-5",
            "LOG does not have the flag *ids*, and a segment has some.",
            living_parts(&without).assemble(),
        ),
    ]
}
