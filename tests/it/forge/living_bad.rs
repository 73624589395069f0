//! Cases of section 3, 3.7 to 3.10 and 9: the manifest of a living store, and its deletions files.

use super::living_good::{A, B, C, D, F, logs, small, with_ids};
use super::living_writer::{
    BOTH, Deleted, LAYOUT, LOG, LivingSpec, Op, WRITERS, deletions_name, living_parts, log,
    log_name, put_deletions, put_log, reseal_deletions_file,
};
use super::writer::{Parts, put};
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
    vectors.extend(lists().into_iter().map(|(name, sentence, list)| {
        let deletions = vec![(3, 9, list)];
        let segments = vec![small(3, &[], None)];
        let empty = LivingSpec { segments, deletions, sequence: 10, ..logs(vec![log(&[], 0)]) };
        rejected(name, "DEL-3", sentence, living_parts(&empty).assemble())
    }));
    vectors.extend(ids_and_flags());
    vectors.extend(flags_of_all());
    vectors.push(second_segment());
    vectors.push(number_of_deletion());
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
        ("bad-man-08-log-not-for-writers", "MAN-8", "The LOG section lacks the flag *writers*.", |p| set_flags(p, LOG, BOTH & !WRITERS)),
        ("bad-lgs-01-twice", "LGS-1", "There are two LOG sections.", |p| twice(p, LOG, BOTH)),
        ("bad-lgs-02-first-log-0", "LGS-2", "first_log is 0.", |p| p.set(LOG, "first_log", 0)),
        ("bad-lgs-02-first-log-too-great", "LGS-2", "first_log is 2^62.", |p| p.set(LOG, "first_log", 1 << 62)),
        ("bad-lgs-02-sequence-too-great", "LGS-2", "sequence is 2^62.", |p| p.set(LOG, "sequence", 1 << 62)),
        ("bad-lgs-02-sequence-greatest", "LGS-2", "sequence is 2^64 - 1: one more is 0.", |p| p.set(LOG, "sequence", u64::MAX)),
        ("unsupported-man-11-log-flag-8", "MAN-11", "The reserved flag 2^3 of LOG is set.", |p| p.set(LOG, "flags", 8)),
        ("unsupported-man-11-log-flag-31", "MAN-11", "The reserved flag 2^31 of LOG is set.", |p| p.set(LOG, "flags", 1 << 31)),
        ("unsupported-man-10-before-lgs-02", "MAN-10", "The payload of the LOG section has 56 bytes, and first_log is 0.", |p| {
            p.payload(LOG).extend([0; 8]);
            p.set(LOG, "first_log", 0);
        }),
        ("unsupported-man-11-before-lgs-02", "MAN-11", "The reserved flag 2^3 of LOG is set, and first_log is 0.", |p| {
            p.set(LOG, "flags", 8);
            p.set(LOG, "first_log", 0);
        }),
        ("bad-lgs-04-names-without-section", "LGS-4", "The flag *names* of LOG is set, and ids are no names.", |p| p.set(LOG, "flags", 4)),
        ("bad-lgs-04-windows-without-seconds", "LGS-4", "The flag *windows* of LOG is set, and window_seconds is 0.", |p| p.set(LOG, "flags", 2)),
        ("unsupported-man-11-log-reserved", "MAN-11", "The reserved bytes of LOG are in use.", |p| p.set(LOG, "reserved", 1 << 24)),
        ("unsupported-man-10-log-longer", "MAN-10", "The payload of the LOG section has 56 bytes.", |p| p.payload(LOG).extend([0; 8])),
        ("unsupported-man-10-log-shorter", "MAN-10", "The payload of the LOG section has 47 bytes.", |p| p.payload(LOG).truncate(47)),
    ]
}

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    vec![
        ("bad-lgs-04-no-windows", "LGS-4", "window_seconds is 60, and LOG does not have the flag *windows*.", |p| p.set(LOG, "flags", 0)),
        ("bad-seg-06-beyond-log", "SEG-6", "The sequence of a segment is one more than that of LOG.", |p| p.set_segment(0, "sequence", 11)),
        ("bad-seg-06-deletions-without-log", "SEG-6", "A segment has a deletions file and the sequence 0, and there is no LOG section.", |p| {
            p.sections.retain(|(kind, _, _)| *kind != LOG);
            p.set_segment(0, "sequence", 0);
        }),
        ("bad-seg-06-empty-deletions-without-log", "SEG-6", "A segment has a deletions file without deletions and the sequence 0, and there is no LOG section.", |p| {
            p.sections.retain(|(kind, _, _)| *kind != LOG);
            p.set_segment(0, "sequence", 0);
            p.change_deletions(3, |file| {
                put_deletions(file, "count", 0);
                file.drain(40..file.len() - 4);
            });
        }),
        ("bad-seg-06-sequence-2-to-63", "SEG-6", "The sequence of a segment is 2^63.", |p| p.set_segment(0, "sequence", 1 << 63)),
        ("bad-seg-06-log-before-segment", "SEG-6", "The LOG section stands before a segment whose sequence is one more than that of LOG.", |p| {
            p.set_segment(0, "sequence", 11);
            p.sections.swap(1, 2);
            assert_eq!(p.sections[1].0, LOG);
        }),
        ("bad-seg-06-sequence-without-log", "SEG-6", "A segment has the sequence 1, and there is no LOG section.", |p| {
            p.sections.retain(|(kind, _, _)| *kind != LOG);
            p.set_segment(0, "sequence", 1);
            p.set_segment(0, "further", 0);
            let payload = p.segment(0);
            payload.truncate(payload.len() - 16);
        }),
        ("bad-man-08-layout-for-writers", "MAN-8", "The LAYOUT section has the flag *writers*.", |p| set_flags(p, LAYOUT, WRITERS)),
    ]
}

#[rustfmt::skip]
fn file_rows() -> Vec<Row> {
    vec![
        ("bad-dir-02-no-deletions", "DIR-2", "The deletions file is missing.", |p| drop(p.files.remove(&deletions_name(3)))),
        ("bad-fil-01-deletions-cut", "FIL-1", "The deletions file lacks its last byte.", |p| {
            p.file(&deletions_name(3)).pop();
        }),
        ("bad-fil-01-deletions-longer", "FIL-1", "A byte follows the deletions file.", |p| p.file(&deletions_name(3)).push(0)),
        ("bad-pre-02-deletions-magic", "PRE-2", "The deletions file has the magic of a log.", |p| p.change_deletions(3, |file| file[4] = b'L')),
        ("bad-pre-04-deletions-header", "PRE-4", "A bit of the header of the deletions file is flipped.", |p| p.file(&deletions_name(3))[16] ^= 1),
        ("unsupported-pre-05-deletions-version-2", "PRE-5", "version_major of the deletions file is 2.", |p| p.change_deletions(3, |file| file[8] = 2)),
        ("unsupported-pre-06-deletions-header-32", "PRE-6", "The header of the deletions file has 32 bytes, and is sound.", |p| p.change_deletions(3, |file| drop(file.splice(8..20, [1, 0, 0, 0, 32, 0, 0, 0])))),
        ("unsupported-pre-06-deletions-longer", "PRE-6", "The header of the deletions file has 48 bytes, and is sound.", |p| p.change_deletions(3, |file| lengthen_header(file, 8))),
        ("bad-fil-02-deletions-other-file", "FIL-2", "The manifest means another deletions file.", |p| put(p.last_entry(0), "file-entry", "header_crc", 0)),
        ("unsupported-pre-07-deletions-reserved", "PRE-7", "The reserved bytes of the deletions file are in use.", |p| p.change_deletions(3, |file| put_deletions(file, "reserved", 1 << 31))),
        ("bad-pre-01-no-deletions", "PRE-1", "The deletions file is empty, and the manifest says so.", |p| {
            p.file(&deletions_name(3)).clear();
            p.last_entry(0).fill(0);
        }),
        ("bad-del-02-no-footer", "DEL-2", "The deletions file is a header and 2 bytes, and the manifest says so.", |p| {
            let file = p.file(&deletions_name(3));
            put_deletions(file, "count", 0);
            reseal_deletions_file(file);
            file.truncate(42);
            p.entry_anew(3);
        }),
        ("bad-fil-04-other-deletions", "FIL-4", "The manifest means a file with other deletions.", |p| put(p.last_entry(0), "file-entry", "end_crc", 0)),
        ("bad-del-01-other-segment", "DEL-1", "The deletions file says that it is of segment 2.", |p| p.change_deletions(3, |file| put_deletions(file, "segment_number", 2))),
        ("unsupported-pre-07-before-del-01", "PRE-7", "The reserved bytes of the deletions file are in use, and it says that it is of segment 2.", |p| p.change_deletions(3, |file| {
            put_deletions(file, "reserved", 1);
            put_deletions(file, "segment_number", 2);
        })),
        ("bad-del-02-one-more", "DEL-2", "count of the deletions file is one more than there are deletions.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 4))),
        ("bad-del-02-one-less", "DEL-2", "count of the deletions file is one less than there are deletions.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 2))),
        ("bad-del-02-length-wraps", "DEL-2", "count of the deletions file is 2^61 too great, by which 24 count wraps to the same.", |p| p.change_deletions(3, |file| put_deletions(file, "count", 3 + (1 << 61)))),
        ("bad-fil-03-deletions-flipped", "FIL-3", "A bit of a deletion is flipped.", |p| p.file(&deletions_name(3))[50] ^= 1),
    ]
}

type List = (&'static str, &'static str, Vec<Deleted>);

/// The flag of a deletion of all ids, for one whose field id is not 0.
const ALL: u64 = 1 << 63;

/// Deletions files of which the deletions are wrong.
#[rustfmt::skip]
fn lists() -> Vec<List> {
    vec![
        ("bad-del-03-twice", "The same deletion stands twice.", vec![(A, None, 3), (A, None, 3)]),
        ("bad-del-03-fingerprints-descend", "Fingerprints of deletions descend.", vec![(B, None, 3), (A, None, 4)]),
        ("bad-del-03-ids-descend", "Ids of deletions of a fingerprint descend.", vec![(A, Some(3), 3), (A, Some(2), 4)]),
        ("bad-del-03-pair-twice", "The same pair is deleted twice.", vec![(A, Some(3), 3), (A, Some(3), 4)]),
        ("bad-del-03-whole-twice", "All ids of a fingerprint are deleted twice; in the second deletion the field id is 7.", vec![(A, None, 3), (A, Some(7), 4 | ALL)]),
        ("bad-del-03-whole-last", "The deletion of all ids of a fingerprint follows that of one.", vec![(A, Some(3), 3), (A, None, 4)]),
        ("bad-del-03-sequence-0", "The sequence of a deletion is 0.", vec![(A, None, 0)]),
        ("bad-del-03-sequence-of-pair-0", "The sequence of the deletion of a pair is 0.", vec![(A, Some(1), 0)]),
        ("bad-del-03-sequence-too-great", "The sequence of a deletion is one more than that of its segment.", vec![(A, None, 9), (B, None, 10)]),
    ]
}

/// [LGS-3], in both directions.
fn ids_and_flags() -> Vec<WrittenVector> {
    let segments = || vec![small(1, &[A], Some(&[&[1]])), small(2, &[B], None)];
    let with = LivingSpec { segments: segments(), ..with_ids(vec![log(&[], 0)]) };
    let without = LivingSpec { segments: vec![segments().remove(0)], ..logs(vec![log(&[], 0)]) };
    vec![
        rejected(
            "bad-lgs-03-segment-without-ids",
            "LGS-3",
            "LOG has the flag *ids*, and one of two segments has none.",
            living_parts(&with).assemble(),
        ),
        rejected(
            "bad-lgs-03-segment-with-ids",
            "LGS-3",
            "LOG does not have the flag *ids*, and a segment has some.",
            living_parts(&without).assemble(),
        ),
    ]
}

/// [LGS-4], where the log has the flags of LOG.
fn flags_of_all() -> Vec<WrittenVector> {
    let flagged = |mut parts: Parts, flags: u64| {
        parts.set(LOG, "flags", flags);
        put_log(parts.file(&log_name(1)), "flags", flags.into());
        parts
    };
    let inserted: &[&[Op]] = &[&[Op::Insert(B, 0, 0)]];
    let plain = living_parts(&logs(vec![log(inserted, 0)]));
    let numbers =
        LivingSpec { segments: vec![small(1, &[A], Some(&[&[0]]))], ..with_ids(vec![log(&[], 0)]) };
    let names = LivingSpec { names: vec![b"a".to_vec()], ..numbers.clone() };
    let windows =
        LivingSpec { windows: Some((0, vec![])), ..logs(vec![log(&[&[Op::Insert(B, 0, 7)]], 0)]) };
    let mut no_windows = plain.clone();
    no_windows.set(1, "window_seconds", 60);
    let mut without_ids = flagged(plain, 4);
    without_ids.set(1, "name_kind", 1);
    vec![
        rejected(
            "bad-lgs-04-windows-of-0-seconds",
            "LGS-4",
            "LOG and the log have the flag *windows*, and window_seconds is 0.",
            living_parts(&windows).assemble(),
        ),
        rejected(
            "bad-lgs-04-log-without-windows",
            "LGS-4",
            "window_seconds is 60, and neither LOG nor the log has the flag *windows*.",
            no_windows.assemble(),
        ),
        rejected(
            "bad-lgs-04-no-names",
            "LGS-4",
            "Ids are names, and LOG and the log have the flag *ids* and not the flag *names*.",
            flagged(living_parts(&names), 1).assemble(),
        ),
        rejected(
            "bad-lgs-04-names-of-numbers",
            "LGS-4",
            "LOG and the log have the flags *ids* and *names*, and name_kind is 0.",
            flagged(living_parts(&numbers), 5).assemble(),
        ),
        rejected(
            "bad-lgs-04-names-without-ids",
            "LGS-4",
            "name_kind is 1, and LOG and the log have the flag *names* and not the flag *ids*.",
            without_ids.assemble(),
        ),
    ]
}

/// [SEG-6] of a segment that is not the first.
fn second_segment() -> WrittenVector {
    let spec = LivingSpec {
        segments: vec![small(1, &[A], None), small(2, &[B], None)],
        deletions: vec![(1, 10, vec![]), (2, 11, vec![])],
        sequence: 10,
        ..logs(vec![log(&[], 0)])
    };
    rejected(
        "bad-seg-06-second-segment",
        "SEG-6",
        "The sequence of the second of two segments, which have no deletions files, is one more \
         than that of LOG.",
        living_parts(&spec).assemble(),
    )
}

/// [NAM-13] of a deletion.
fn number_of_deletion() -> WrittenVector {
    let spec = LivingSpec {
        segments: vec![small(3, &[A], Some(&[&[0]]))],
        deletions: vec![(3, 9, vec![(B, Some(1), 8)])],
        sequence: 10,
        names: vec![b"a".to_vec(), b"b".to_vec()],
        ..with_ids(vec![log(&[], 0)])
    };
    let mut parts = living_parts(&spec);
    parts.change_deletions(3, |file| put(&mut file[40..], "deletion", "id", 2));
    rejected(
        "bad-nam-13-id-of-deletion",
        "NAM-13",
        "The id of a deletion is 2, and the segment has two names.",
        parts.assemble(),
    )
}
