//! Cases of sections 3 and 5: directory and manifest.

use super::Base::{FewIds, One, Tiny};
use super::good_variants::{NEVER, PRIVATE, made_up};
use super::{Case, Forge, MANIFEST, Place, case};

const STORE: u64 = 1;
const SEGMENT: u64 = 2;
/// The flags of both: *critical* and *writers*.
const FLAGS: u64 = 3;
const CRITICAL: u64 = 1;
const LAYOUT: u64 = 4;
pub(super) const RECIPE: u64 = 5;
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
        case("unsupported-pre-06-manifest-header-bytes-24", "PRE-6", One, "The manifest has a sound header of 24 bytes and is of version 1.", |f| *f.manifest() = made_up(b'M', 1, 24)),
        case("unsupported-pre-06-manifest-longer", "PRE-6", One, "The header of the manifest has 40 bytes, and all else is right.", |f| {
            super::lengthen_header(f.manifest(), 8);
            f.reseal_manifest();
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
        case("bad-man-05-layout", "MAN-5", One, "A bit is flipped in the payload of the LAYOUT section.", |f| {
            f.insert_section(2, LAYOUT, 0, b"prefer=size");
            f.payload(2)[0] ^= 1;
        }),
        case("bad-man-06-padding", "MAN-6", One, "The last byte of the padding of a section is not zero.", |f| {
            f.insert_section(2, NEVER, 0, b"abc");
            *f.manifest().last_mut().expect("the manifest is not empty") = 1;
        }),
        case("unsupported-man-07-next-kind", "MAN-7", One, "There is a critical section of kind 6, the first that is unknown.", |f| f.insert_section(2, 6, FLAGS, b"")),
        case("unsupported-man-07-unknown", "MAN-7", One, "There is a critical section of kind 2^32 - 1, which is never assigned.", |f| f.insert_section(1, NEVER, FLAGS, b"abc")),
        case("unsupported-man-07-private", "MAN-7", One, "There is a critical section of kind 2^31 + 66, which is private.", |f| f.insert_section(2, PRIVATE, CRITICAL, b"abc")),
        case("bad-man-08-segment-not-for-writers", "MAN-8", One, "The SEGMENT section lacks the flag *writers*.", |f| set_section(f, 1, "flags", CRITICAL)),
        case("bad-man-08-store-not-for-writers", "MAN-8", One, "The STORE section lacks the flag *writers*.", |f| set_section(f, 0, "flags", CRITICAL)),
        case("bad-man-08-layout-critical", "MAN-8", One, "The LAYOUT section is critical.", |f| f.insert_section(2, LAYOUT, CRITICAL, b"prefer=size")),
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

#[rustfmt::skip]
fn recipes() -> Vec<Case> {
    vec![
        case("bad-man-08-recipe-not-for-writers", "MAN-8", One, "The RECIPE section lacks the flag *writers*.", |f| f.insert_section(2, RECIPE, 0, b"text/1")),
        case("bad-man-08-recipe-critical", "MAN-8", One, "The RECIPE section is critical.", |f| f.insert_section(2, RECIPE, FLAGS, b"text/1")),
    ]
}

#[rustfmt::skip]
fn payloads() -> Vec<Case> {
    vec![
        case("unsupported-man-10-store-shorter", "MAN-10", One, "The payload of the STORE section has 55 bytes.", |f| {
            let payload = f.remove_section(0);
            f.insert_section(0, STORE, FLAGS, &payload[..55]);
        }),
        case("unsupported-man-10-store-longer", "MAN-10", One, "The payload of the STORE section has 64 bytes.", |f| f.lengthen_payload(0, &[0; 8])),
        case("unsupported-man-10-segment-shorter", "MAN-10", One, "The payload of the SEGMENT section has 48 bytes: it ends before table_count.", |f| {
            let payload = f.payload(1).to_vec();
            f.replace_segment(&payload[..48]);
        }),
        case("unsupported-man-10-segment-longer", "MAN-10", Tiny, "An entry of zeros follows those of the SEGMENT section.", |f| f.lengthen_payload(1, &[0; 16])),
        case("unsupported-man-10-entry-missing", "MAN-10", Tiny, "table_count is one more than there are entries.", |f| set_payload(f, Place::Segment, "table_count", 3)),
        case("unsupported-man-10-entry-too-many", "MAN-10", Tiny, "table_count is one less than there are entries.", |f| set_payload(f, Place::Segment, "table_count", 1)),
        case("unsupported-man-10-no-further-entry", "MAN-10", FewIds, "*further* says of no ids, and their entry is there.", |f| set_payload(f, Place::Segment, "further", 0)),
        case("unsupported-man-11-store", "MAN-11", One, "The last of the reserved bytes of the STORE section is not zero.", |f| set_payload(f, Place::Store, "reserved", 1 << 31)),
        case("unsupported-man-11-segment", "MAN-11", One, "The last of the reserved bytes of the SEGMENT section is not zero.", |f| set_payload(f, Place::Segment, "reserved", 1 << 31)),
        case("unsupported-man-11-further", "MAN-11", One, "The flag 2^3 of *further* is set, and its entry is there.", |f| {
            f.lengthen_payload(1, &[0; 16]);
            set_payload(f, Place::Segment, "further", 8);
        }),
        case("unsupported-man-11-highest-further", "MAN-11", One, "The flag 2^7 of *further* is set, and its entry is there.", |f| {
            f.lengthen_payload(1, &[0; 16]);
            set_payload(f, Place::Segment, "further", 1 << 7);
        }),
        case("unsupported-man-11-before-sto-02", "MAN-11", One, "A reserved byte of the STORE section is in use, and planned_radius is 65.", |f| {
            f.set(Place::Store, "reserved", 1);
            set_payload(f, Place::Store, "planned_radius", 65);
        }),
        case("unsupported-man-11-before-seg-04", "MAN-11", One, "A reserved byte of the SEGMENT section is in use, and segment_number is 0.", |f| {
            f.set(Place::Segment, "reserved", 1);
            set_payload(f, Place::Segment, "segment_number", 0);
        }),
        case("unsupported-sto-01-before-sto-02", "STO-1", One, "fingerprint_bits is 16, and planned_radius is 65.", |f| {
            f.set(Place::Store, "fingerprint_bits", 16);
            set_payload(f, Place::Store, "planned_radius", 65);
        }),
        case("unsupported-sto-05-before-sto-04", "STO-5", One, "name_kind is 5, and generation is 0.", |f| {
            f.set(Place::Store, "name_kind", 5);
            set_payload(f, Place::Store, "generation", 0);
        }),
        case("unsupported-seg-01-before-seg-02", "SEG-1", One, "index is 2 and table_count 0: another form of segments may have no such files.", |f| {
            set_tables(f, 0);
            set_payload(f, Place::Segment, "index", 2);
        }),
        case("bad-sto-04-generation-0", "STO-4", One, "generation is 0.", |f| set_payload(f, Place::Store, "generation", 0)),
        case("unsupported-sto-01-512-bits", "STO-1", One, "fingerprint_bits of the manifest is 512.", |f| {
            set_payload(f, Place::Store, "fingerprint_bits", 512);
        }),
        case("unsupported-sto-01-16-bits", "STO-1", One, "fingerprint_bits of the manifest is 16.", |f| {
            set_payload(f, Place::Store, "fingerprint_bits", 16);
        }),
        case("bad-sto-02-radius-65", "STO-2", One, "planned_radius is 65.", |f| {
            set_payload(f, Place::Store, "planned_radius", 65);
        }),
        case("bad-sto-03-segment-missing", "STO-3", One, "segment_count is 1, and there is no SEGMENT section.", |f| {
            f.remove_section(1);
        }),
        case("bad-sto-03-segment-too-many", "STO-3", One, "segment_count is 0, and there is a SEGMENT section.", |f| {
            set_payload(f, Place::Store, "segment_count", 0);
        }),
        case("bad-seg-02-no-table", "SEG-2", One, "table_count is 0.", |f| {
            set_tables(f, 0);
        }),
        case("bad-seg-02-257-tables", "SEG-2", One, "table_count is 257.", |f| {
            set_tables(f, 257);
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
    payload.resize(super::end("segment-section") + count * super::end("file-entry"), 0);
    f.replace_segment(&payload);
    set_payload(f, Place::Segment, "table_count", count as u64);
}
