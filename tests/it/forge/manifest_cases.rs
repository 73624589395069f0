//! Cases of sections 2 and 3: directory and manifest.

use super::Base::{FewIds, One, Tiny};
use super::good_variants::{NEVER, PRIVATE, long_entries, made_up};
use super::{Case, Forge, MANIFEST, Place, case};

const STORE: u64 = 1;
const SEGMENT: u64 = 2;
/// The flags of both: *critical* and *writers*.
const FLAGS: u64 = 3;
const CRITICAL: u64 = 1;
pub(super) const RECIPE: u64 = 9;
/// The flag *writers* alone.
pub(super) const WRITERS: u64 = 2;

pub fn cases() -> Vec<Case> {
    let mut cases = directory();
    cases.extend(header());
    cases.extend(sections());
    cases.extend(payloads());
    cases.extend(recipes());
    cases
}

fn set_header(f: &mut Forge, field: &str, value: u64) {
    f.set(Place::Manifest, field, value);
    f.reseal_manifest_header();
}

fn set_section(f: &mut Forge, section: usize, field: &str, value: u64) {
    f.set(Place::Section(section), field, value);
    f.reseal_section_header(section);
}

fn set_payload(f: &mut Forge, place: Place, field: &str, value: u64) {
    f.set(place, field, value);
    f.reseal_manifest();
}

/// Sets the length of the manifest, with zeros at the end, and says so in its header.
fn resize(f: &mut Forge, change: isize) {
    let bytes = f.manifest().len().saturating_add_signed(change);
    f.manifest().resize(bytes, 0);
    set_header(f, "file_bytes", bytes as u64);
}

#[rustfmt::skip]
fn directory() -> Vec<Case> {
    vec![
        case("bad-dir-01-no-manifest", "DIR-1", One, "A table without a manifest.", |f| {
            f.files.remove(MANIFEST);
        }),
        case("bad-dir-02-no-table", "DIR-2", Tiny, "Table 1 is missing.", |f| {
            f.files.remove(&f.table_name(1));
        }),
        case("bad-dir-02-other-segment", "DIR-2", One, "The manifest names the tables of segment 2; those of segment 1 are there.", |f| {
            f.set(Place::Store, "next_segment", 3);
            set_payload(f, Place::Segment, "segment_number", 2);
        }),
    ]
}

#[rustfmt::skip]
fn header() -> Vec<Case> {
    vec![
        case("bad-pre-01-manifest-empty", "PRE-1", One, "The manifest is empty.", |f| f.manifest().clear()),
        case("bad-pre-01-manifest-cut", "PRE-1", One, "The manifest has 23 bytes.", |f| f.manifest().truncate(23)),
        case("bad-pre-02-manifest-magic", "PRE-2", One, "The line feed of the manifest's magic is gone, as after a transfer as text.", |f| {
            f.field(Place::Manifest, "magic")[6] = 0x20;
            f.reseal_manifest_header();
        }),
        case("bad-pre-02-manifest-table", "PRE-2", One, "The manifest is a table file.", |f| {
            *f.manifest() = f.table(0).clone();
        }),
        case("bad-pre-04-manifest-header-crc", "PRE-4", One, "header_crc of the manifest is wrong.", |f| {
            f.flip(Place::Manifest, "header_crc");
        }),
        case("bad-pre-04-manifest-version-flipped", "PRE-4", One, "A bit of version_major is flipped: the checksum comes first, so this is corrupt.", |f| {
            f.flip(Place::Manifest, "version_major");
        }),
        case("unsupported-pre-05-manifest-version-2", "PRE-5", One, "version_major of the manifest is 2.", |f| {
            set_header(f, "version_major", 2);
        }),
        case("unsupported-pre-05-manifest-version-0", "PRE-5", One, "version_major of the manifest is 0.", |f| {
            set_header(f, "version_major", 0);
        }),
        case("bad-pre-03-manifest-header-bytes-20", "PRE-3", One, "header_bytes of the manifest is 20.", |f| set_header(f, "header_bytes", 20)),
        case("bad-pre-03-manifest-beyond-file", "PRE-3", One, "header_bytes of the manifest is 8 more than the file has.", |f| {
            let bytes = f.manifest().len() as u64 + 8;
            f.set(Place::Manifest, "header_bytes", bytes / 8 * 8);
        }),
        case("bad-pre-03-manifest-header-bytes-65544", "PRE-3", One, "header_bytes of the manifest is 65544, and the file is long enough.", |f| *f.manifest() = made_up(b'M', 2, 65544)),
        case("unsupported-pre-05-manifest-made-up", "PRE-5", One, "The manifest is of a made-up version 2: its header has 24 bytes, and nothing else is as in version 1.", |f| *f.manifest() = made_up(b'M', 2, 24)),
        case("unsupported-pre-05-manifest-made-up-long", "PRE-5", One, "The manifest is of a made-up version 2 with a header of 65536 bytes.", |f| *f.manifest() = made_up(b'M', 2, 65536)),
        case("bad-pre-04-manifest-made-up-flipped", "PRE-4", One, "A bit is flipped in the header of a manifest of a made-up version 2.", |f| {
            *f.manifest() = made_up(b'M', 2, 24);
            f.manifest()[16] ^= 1;
        }),
        case("bad-pre-06-manifest-header-bytes-24", "PRE-6", One, "The manifest has a sound header of 24 bytes and is of version 1.", |f| *f.manifest() = made_up(b'M', 1, 24)),
        case("unsupported-pre-07-manifest-tail", "PRE-7", One, "The tail of the manifest's header is not zero.", |f| {
            f.lengthen_manifest_header(8);
            f.manifest()[35] = 1;
            f.reseal_manifest_header();
        }),
        case("bad-man-01-cut", "MAN-1", One, "The manifest lacks its last byte.", |f| {
            f.manifest().pop();
        }),
        case("bad-man-01-longer", "MAN-1", One, "A byte follows the manifest.", |f| f.manifest().push(0)),
        case("bad-man-01-file-bytes", "MAN-1", One, "file_bytes is 2^63 more than the length of the manifest.", |f| {
            let file_bytes = f.get(Place::Manifest, "file_bytes");
            set_header(f, "file_bytes", file_bytes | 1 << 63);
        }),
    ]
}

#[rustfmt::skip]
fn sections() -> Vec<Case> {
    vec![
        case("bad-man-02-section-missing", "MAN-2", One, "section_count is one more than the number of sections.", |f| {
            set_header(f, "section_count", 3);
        }),
        case("bad-man-02-section-count-huge", "MAN-2", One, "section_count is 2^32 - 1.", |f| {
            set_header(f, "section_count", u32::MAX.into());
        }),
        case("bad-man-02-section-too-many", "MAN-2", One, "section_count is one less than the number of sections.", |f| {
            set_header(f, "section_count", 1);
        }),
        case("bad-man-02-bytes-after", "MAN-2", One, "Eight zero bytes follow the last section.", |f| resize(f, 8)),
        case("bad-man-02-header-cut", "MAN-2", One, "A third section ends inside its header.", |f| {
            resize(f, 16);
            set_header(f, "section_count", 3);
        }),
        case("bad-man-02-payload-cut", "MAN-2", One, "The payload of the last section lacks its last 8 bytes.", |f| resize(f, -8)),
        case("bad-man-02-padding-cut", "MAN-2", One, "The padding of the last section lacks its last byte.", |f| {
            f.insert_section(2, NEVER, 0, b"abc");
            resize(f, -1);
        }),
        case("bad-man-02-payload-bytes-huge", "MAN-2", One, "payload_bytes is 2^64 - 1, which overflows when it is rounded up.", |f| {
            set_section(f, 1, "payload_bytes", u64::MAX);
        }),
        case("bad-man-03-header-crc", "MAN-3", One, "header_crc of a section is wrong.", |f| {
            f.flip(Place::Section(1), "header_crc");
        }),
        case("bad-man-03-payload-bytes-flipped", "MAN-3", One, "payload_bytes is 2^64 - 1 and the header_crc of its section was not made for it.", |f| {
            f.set(Place::Section(1), "payload_bytes", u64::MAX);
        }),
        case("unsupported-man-04-lowest-reserved-flag", "MAN-4", One, "The reserved flag of weight 2^2 is set.", |f| {
            set_section(f, 1, "flags", FLAGS | 1 << 2);
        }),
        case("unsupported-man-04-highest-reserved-flag", "MAN-4", One, "The reserved flag of weight 2^15 is set, in a section that is to be skipped.", |f| {
            f.insert_section(2, NEVER, 1 << 15, b"abc");
        }),
        case("bad-man-05-payload-crc", "MAN-5", One, "payload_crc is wrong.", |f| {
            let payload_crc = f.get(Place::Section(1), "payload_crc");
            set_section(f, 1, "payload_crc", payload_crc ^ 1);
        }),
        case("bad-man-05-skipped-payload", "MAN-5", One, "A bit is flipped in the payload of a section that is to be skipped.", |f| {
            f.insert_section(2, NEVER, 0, b"abc");
            f.payload(2)[0] ^= 1;
        }),
        case("bad-man-06-padding", "MAN-6", One, "The last byte of the padding of a section is not zero.", |f| {
            f.insert_section(2, NEVER, 0, b"abc");
            *f.manifest().last_mut().expect("the manifest is not empty") = 1;
        }),
        case("unsupported-man-07-next-kind", "MAN-7", One, "There is a critical section of kind 11, the first that is unknown.", |f| f.insert_section(2, 11, FLAGS, b"")),
        case("unsupported-man-07-unknown", "MAN-7", One, "There is a critical section of kind 2^32 - 1, which is never assigned.", |f| f.insert_section(1, NEVER, FLAGS, b"abc")),
        case("unsupported-man-07-private", "MAN-7", One, "There is a critical section of kind 2^31 + 66, which is private.", |f| f.insert_section(2, PRIVATE, CRITICAL, b"abc")),
        case("bad-man-08-segment-not-for-writers", "MAN-8", One, "The SEGMENT section lacks the flag *writers*.", |f| set_section(f, 1, "flags", CRITICAL)),
        case("bad-man-08-store-not-critical", "MAN-8", One, "The STORE section is not critical.", |f| {
            set_section(f, 0, "flags", FLAGS & !CRITICAL);
        }),
        case("bad-man-08-segment-not-critical", "MAN-8", One, "The SEGMENT section is not critical.", |f| {
            set_section(f, 1, "flags", FLAGS & !CRITICAL);
        }),
        case("bad-man-09-no-section", "MAN-9", One, "The manifest has no section.", |f| {
            f.remove_section(1);
            f.remove_section(0);
        }),
        case("bad-man-09-no-store", "MAN-9", One, "The STORE section is missing.", |f| {
            f.remove_section(0);
        }),
        case("bad-man-09-store-second", "MAN-9", One, "The SEGMENT section stands before the STORE section.", |f| {
            let payload = f.remove_section(1);
            f.insert_section(0, SEGMENT, FLAGS, &payload);
        }),
        case("bad-man-09-skipped-first", "MAN-9", One, "A section that is to be skipped stands before the STORE section.", |f| {
            f.insert_section(0, NEVER, 0, b"abc");
        }),
        case("bad-man-09-two-stores", "MAN-9", One, "The STORE section stands twice.", |f| {
            let payload = f.payload(0).to_vec();
            f.insert_section(2, STORE, FLAGS, &payload);
        }),
    ]
}

/// [RCP-1] and [RCP-2], in the order of the document.
#[rustfmt::skip]
fn recipes() -> Vec<Case> {
    vec![
        case("bad-man-08-recipe-not-for-writers", "MAN-8", One, "The RECIPE section lacks the flag *writers*.", |f| f.insert_section(2, RECIPE, 0, b"text/1")),
        case("bad-man-08-recipe-critical", "MAN-8", One, "The RECIPE section is critical.", |f| f.insert_section(2, RECIPE, FLAGS, b"text/1")),
        case("bad-rcp-01-twice", "RCP-1", One, "There are two RECIPE sections, with the same line.", |f| {
            f.insert_section(2, RECIPE, WRITERS, b"text/1");
            f.insert_section(3, RECIPE, WRITERS, b"text/1");
        }),
        case("bad-rcp-01-before-rcp-02", "RCP-1", One, "There are two RECIPE sections, the second of which is empty.", |f| {
            f.insert_section(2, RECIPE, WRITERS, b"text/1");
            f.insert_section(3, RECIPE, WRITERS, b"");
        }),
        case("bad-rcp-02-before-rcp-01", "RCP-2", One, "There are two RECIPE sections, the first of which is empty.", |f| {
            f.insert_section(2, RECIPE, WRITERS, b"");
            f.insert_section(3, RECIPE, WRITERS, b"text/1");
        }),
        case("bad-rcp-02-empty", "RCP-2", One, "The RECIPE section is empty.", |f| f.insert_section(2, RECIPE, WRITERS, b"")),
        case("bad-rcp-02-too-long", "RCP-2", One, "The RECIPE section has 4097 bytes, in 2049 characters.", |f| f.insert_section(2, RECIPE, WRITERS, format!("{}x", "ß".repeat(2048)).as_bytes())),
        case("bad-rcp-02-no-text", "RCP-2", One, "The RECIPE section is no UTF-8.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\xFF")),
        case("bad-rcp-02-two-lines", "RCP-2", One, "The RECIPE section ends with a line feed.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/1\n")),
        case("bad-rcp-02-delete", "RCP-2", One, "The RECIPE section has the character U+007F.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\x7F1")),
        case("bad-rcp-02-next-line", "RCP-2", One, "The RECIPE section has the character U+0085, which is a control character as well.", |f| f.insert_section(2, RECIPE, WRITERS, "text/\u{85}1".as_bytes())),
    ]
}

#[rustfmt::skip]
fn payloads() -> Vec<Case> {
    vec![
        case("bad-sto-01-shorter", "STO-1", One, "The payload of the STORE section has 39 bytes.", |f| {
            let payload = f.remove_section(0);
            f.insert_section(0, STORE, FLAGS, &payload[..39]);
        }),
        case("unsupported-man-10-store-tail", "MAN-10", One, "The tail of the STORE payload is not zero.", |f| f.lengthen_payload(0, &[0, 1])),
        case("unsupported-man-10-segment-tail", "MAN-10", Tiny, "The tail of the SEGMENT payload is not zero.", |f| f.lengthen_payload(1, &[0, 0, 0, 0, 0, 0, 0, 128])),
        case("unsupported-man-10-entry-tail", "MAN-10", Tiny, "entry_bytes is 24, and the tails of the entries are not zero.", |f| long_entries(f, 1)),
        case("unsupported-man-10-ids-tail", "MAN-10", FewIds, "The tail of the IDS payload is not zero.", |f| f.lengthen_payload(2, &[1])),
        case("bad-sto-05-generation-0", "STO-5", One, "generation is 0.", |f| set_payload(f, Place::Store, "generation", 0)),
        case("unsupported-sto-02-512-bits", "STO-2", One, "fingerprint_bits of the manifest is 512.", |f| {
            set_payload(f, Place::Store, "fingerprint_bits", 512);
        }),
        case("unsupported-sto-02-16-bits", "STO-2", One, "fingerprint_bits of the manifest is 16.", |f| {
            set_payload(f, Place::Store, "fingerprint_bits", 16);
        }),
        case("bad-sto-03-radius-65", "STO-3", One, "planned_radius is 65.", |f| {
            set_payload(f, Place::Store, "planned_radius", 65);
        }),
        case("bad-sto-04-segment-missing", "STO-4", One, "segment_count is 1, and there is no SEGMENT section.", |f| {
            f.remove_section(1);
        }),
        case("bad-sto-04-segment-too-many", "STO-4", One, "segment_count is 0, and there is a SEGMENT section.", |f| {
            set_payload(f, Place::Store, "segment_count", 0);
        }),
        case("bad-seg-01-too-short", "SEG-1", One, "The payload of the SEGMENT section has 32 bytes: it ends before table_count.", |f| {
            let payload = f.payload(1).to_vec();
            f.replace_segment(&payload[..32]);
        }),
        case("bad-seg-01-entry-missing", "SEG-1", Tiny, "table_count is one more than there are entries.", |f| {
            set_payload(f, Place::Segment, "table_count", 3);
        }),
        case("unsupported-man-10-entry-too-many", "MAN-10", Tiny, "table_count is one less than there are entries: the last is a tail.", |f| {
            set_payload(f, Place::Segment, "table_count", 1);
        }),
        case("bad-seg-02-no-table", "SEG-2", One, "table_count is 0.", |f| {
            set_tables(f, 0);
        }),
        case("bad-seg-02-257-tables", "SEG-2", One, "table_count is 257.", |f| {
            set_tables(f, 257);
        }),
        case("bad-seg-01-without-table-count", "SEG-1", One, "The payload of the SEGMENT section has 39 bytes.", |f| {
            let payload = f.payload(1).to_vec();
            f.replace_segment(&payload[..39]);
        }),
        case("bad-seg-05-entry-bytes-0", "SEG-5", One, "entry_bytes is 0.", |f| set_payload(f, Place::Segment, "entry_bytes", 0)),
        case("bad-seg-05-entry-bytes-8", "SEG-5", One, "entry_bytes is 8.", |f| set_payload(f, Place::Segment, "entry_bytes", 8)),
        case("bad-seg-05-entry-bytes-20", "SEG-5", One, "entry_bytes is 20, no multiple of 8.", |f| {
            let payload = [&f.payload(1)[..], &[0; 4]].concat();
            f.replace_segment(&payload);
            set_payload(f, Place::Segment, "entry_bytes", 20);
        }),
        case("unsupported-seg-03-reserved", "SEG-3", One, "The last of the reserved bytes of the SEGMENT section is not zero.", |f| {
            f.field(Place::Segment, "reserved")[2] = 1;
            f.reseal_manifest();
        }),
        case("bad-seg-04-number-0", "SEG-4", One, "segment_number is 0.", |f| {
            set_payload(f, Place::Segment, "segment_number", 0);
        }),
        case("bad-seg-04-number-of-next", "SEG-4", One, "segment_number is next_segment.", |f| {
            set_payload(f, Place::Store, "next_segment", 1);
        }),
        case("bad-seg-04-twice", "SEG-4", One, "Two SEGMENT sections have the same number.", |f| {
            let payload = f.payload(1).to_vec();
            f.insert_section(2, SEGMENT, FLAGS, &payload);
            set_payload(f, Place::Store, "segment_count", 2);
        }),
        case("bad-seg-04-descending", "SEG-4", One, "Segment 2 stands before segment 1.", |f| {
            let first = f.payload(1).to_vec();
            f.set(Place::Store, "next_segment", 3);
            f.set(Place::Store, "segment_count", 2);
            f.set(Place::Segment, "segment_number", 2);
            f.insert_section(2, SEGMENT, FLAGS, &first);
        }),
    ]
}

/// Gives the segment `count` entries, the new ones all zero.
fn set_tables(f: &mut Forge, count: usize) {
    let mut payload = f.payload(1).to_vec();
    payload.resize(super::end("segment-section") + count * super::end("table-entry"), 0);
    f.replace_segment(&payload);
    set_payload(f, Place::Segment, "table_count", count as u64);
}
