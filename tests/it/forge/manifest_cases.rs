//! Cases of sections 2 and 3: directory and manifest.

use super::Base::{One, Tiny};
use super::{Case, Forge, MANIFEST, Place, case};

const STORE: u64 = 1;
const SEGMENT: u64 = 2;
const CRITICAL: u64 = 1;

pub fn cases() -> Vec<Case> {
    let mut cases = directory();
    cases.extend(header());
    cases.extend(sections());
    cases.extend(payloads());
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
        case("bad-man-01-empty", "MAN-1", One, "The manifest is empty.", |f| f.manifest().clear()),
        case("bad-man-01-cut", "MAN-1", One, "The manifest has 31 bytes.", |f| f.manifest().truncate(31)),
        case("bad-man-02-magic", "MAN-2", One, "The line feed of the manifest's magic is gone, as after a transfer as text.", |f| {
            f.field(Place::Manifest, "magic")[6] = 0x20;
            f.reseal_manifest_header();
        }),
        case("bad-man-02-table", "MAN-2", One, "The manifest is a table file.", |f| {
            *f.manifest() = f.table(0).clone();
        }),
        case("bad-man-03-header-crc", "MAN-3", One, "header_crc of the manifest is wrong.", |f| {
            f.flip(Place::Manifest, "header_crc");
        }),
        case("bad-man-03-version-flipped", "MAN-3", One, "A bit of version_major is flipped: the checksum comes first, so this is corrupt.", |f| {
            f.flip(Place::Manifest, "version_major");
        }),
        case("unsupported-man-04-version-2", "MAN-4", One, "version_major of the manifest is 2.", |f| {
            set_header(f, "version_major", 2);
        }),
        case("unsupported-man-04-version-0", "MAN-4", One, "version_major of the manifest is 0.", |f| {
            set_header(f, "version_major", 0);
        }),
        case("unsupported-man-05-reserved", "MAN-5", One, "The reserved bytes of the manifest's header are not zero.", |f| {
            set_header(f, "reserved", 1 << 31);
        }),
        case("bad-man-06-cut", "MAN-6", One, "The manifest lacks its last byte.", |f| {
            f.manifest().pop();
        }),
        case("bad-man-06-longer", "MAN-6", One, "A byte follows the manifest.", |f| f.manifest().push(0)),
        case("bad-man-06-file-bytes", "MAN-6", One, "file_bytes is 2^63 more than the length of the manifest.", |f| {
            let file_bytes = f.get(Place::Manifest, "file_bytes");
            set_header(f, "file_bytes", file_bytes | 1 << 63);
        }),
    ]
}

#[rustfmt::skip]
fn sections() -> Vec<Case> {
    vec![
        case("bad-man-07-section-missing", "MAN-7", One, "section_count is one more than the number of sections.", |f| {
            set_header(f, "section_count", 3);
        }),
        case("bad-man-07-section-count-huge", "MAN-7", One, "section_count is 2^32 - 1.", |f| {
            set_header(f, "section_count", u32::MAX.into());
        }),
        case("bad-man-07-section-too-many", "MAN-7", One, "section_count is one less than the number of sections.", |f| {
            set_header(f, "section_count", 1);
        }),
        case("bad-man-07-bytes-after", "MAN-7", One, "Eight zero bytes follow the last section.", |f| resize(f, 8)),
        case("bad-man-07-header-cut", "MAN-7", One, "A third section ends inside its header.", |f| {
            resize(f, 16);
            set_header(f, "section_count", 3);
        }),
        case("bad-man-07-payload-cut", "MAN-7", One, "The payload of the last section lacks its last 8 bytes.", |f| resize(f, -8)),
        case("bad-man-07-padding-cut", "MAN-7", One, "The padding of the last section lacks its last byte.", |f| {
            f.insert_section(2, 6, 0, b"abc");
            resize(f, -1);
        }),
        case("bad-man-07-payload-bytes-huge", "MAN-7", One, "payload_bytes is 2^64 - 1, which overflows when it is rounded up.", |f| {
            set_section(f, 1, "payload_bytes", u64::MAX);
        }),
        case("bad-man-08-header-crc", "MAN-8", One, "header_crc of a section is wrong.", |f| {
            f.flip(Place::Section(1), "header_crc");
        }),
        case("bad-man-08-payload-bytes-flipped", "MAN-8", One, "payload_bytes is 2^64 - 1 and the header_crc of its section was not made for it.", |f| {
            f.set(Place::Section(1), "payload_bytes", u64::MAX);
        }),
        case("unsupported-man-09-lowest-reserved-flag", "MAN-9", One, "The reserved flag of weight 2^1 is set.", |f| {
            set_section(f, 1, "flags", CRITICAL | 1 << 1);
        }),
        case("unsupported-man-09-highest-reserved-flag", "MAN-9", One, "The reserved flag of weight 2^15 is set, in a section that is to be skipped.", |f| {
            f.insert_section(2, 6, 1 << 15, b"abc");
        }),
        case("bad-man-10-payload-crc", "MAN-10", One, "payload_crc is wrong.", |f| {
            let payload_crc = f.get(Place::Section(1), "payload_crc");
            set_section(f, 1, "payload_crc", payload_crc ^ 1);
        }),
        case("bad-man-10-skipped-payload", "MAN-10", One, "A bit is flipped in the payload of a section that is to be skipped.", |f| {
            f.insert_section(2, 6, 0, b"abc");
            f.payload(2)[0] ^= 1;
        }),
        case("bad-man-11-padding", "MAN-11", One, "The last byte of the padding of a section is not zero.", |f| {
            f.insert_section(2, 6, 0, b"abc");
            *f.manifest().last_mut().expect("the manifest is not empty") = 1;
        }),
        case("unsupported-man-12-deletions", "MAN-12", One, "There is a critical section of kind 4, DELETIONS.", |f| {
            f.insert_section(2, 4, CRITICAL, b"abc");
        }),
        case("unsupported-man-12-log", "MAN-12", One, "There is a critical section of kind 5, LOG.", |f| {
            f.insert_section(2, 5, CRITICAL, b"");
        }),
        case("unsupported-man-12-unknown", "MAN-12", One, "There is a critical section of kind 2^32 - 1.", |f| {
            f.insert_section(1, u32::MAX.into(), CRITICAL, b"abc");
        }),
        case("bad-man-13-store-not-critical", "MAN-13", One, "The STORE section is not critical.", |f| {
            set_section(f, 0, "flags", 0);
        }),
        case("bad-man-13-segment-not-critical", "MAN-13", One, "The SEGMENT section is not critical.", |f| {
            set_section(f, 1, "flags", 0);
        }),
        case("bad-man-14-no-section", "MAN-14", One, "The manifest has no section.", |f| {
            f.remove_section(1);
            f.remove_section(0);
        }),
        case("bad-man-14-no-store", "MAN-14", One, "The STORE section is missing.", |f| {
            f.remove_section(0);
        }),
        case("bad-man-14-store-second", "MAN-14", One, "The SEGMENT section stands before the STORE section.", |f| {
            let payload = f.remove_section(1);
            f.insert_section(0, SEGMENT, CRITICAL, &payload);
        }),
        case("bad-man-14-skipped-first", "MAN-14", One, "A section that is to be skipped stands before the STORE section.", |f| {
            f.insert_section(0, 6, 0, b"abc");
        }),
        case("bad-man-14-two-stores", "MAN-14", One, "The STORE section stands twice.", |f| {
            let payload = f.payload(0).to_vec();
            f.insert_section(2, STORE, CRITICAL, &payload);
        }),
    ]
}

#[rustfmt::skip]
fn payloads() -> Vec<Case> {
    vec![
        case("bad-sto-01-shorter", "STO-1", One, "The payload of the STORE section has 15 bytes.", |f| {
            let payload = f.remove_section(0);
            f.insert_section(0, STORE, CRITICAL, &payload[..15]);
        }),
        case("bad-sto-01-longer", "STO-1", One, "The payload of the STORE section has 17 bytes.", |f| {
            let mut payload = f.remove_section(0);
            payload.push(0);
            f.insert_section(0, STORE, CRITICAL, &payload);
        }),
        case("unsupported-sto-02-32-bits", "STO-2", One, "fingerprint_bits of the manifest is 32.", |f| {
            set_payload(f, Place::Store, "fingerprint_bits", 32);
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
        case("bad-seg-01-entry-too-many", "SEG-1", Tiny, "table_count is one less than there are entries.", |f| {
            set_payload(f, Place::Segment, "table_count", 1);
        }),
        case("bad-seg-02-no-table", "SEG-2", One, "table_count is 0.", |f| {
            set_tables(f, 0);
        }),
        case("bad-seg-02-257-tables", "SEG-2", One, "table_count is 257.", |f| {
            set_tables(f, 257);
        }),
        case("unsupported-seg-03-reserved", "SEG-3", One, "The last of the reserved bytes of the SEGMENT section is not zero.", |f| {
            f.field(Place::Segment, "reserved")[5] = 1;
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
            f.insert_section(2, SEGMENT, CRITICAL, &payload);
            set_payload(f, Place::Store, "segment_count", 2);
        }),
        case("bad-seg-04-descending", "SEG-4", One, "Segment 2 stands before segment 1.", |f| {
            let first = f.payload(1).to_vec();
            f.set(Place::Store, "next_segment", 3);
            f.set(Place::Store, "segment_count", 2);
            f.set(Place::Segment, "segment_number", 2);
            f.insert_section(2, SEGMENT, CRITICAL, &first);
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
