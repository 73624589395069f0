//! Good stores that the library does not write, and must read.

use super::Base::{Ids, One, Tiny};
use super::manifest_cases::{RECIPE, WRITERS};
use super::{Case, Forge, Place, case};

/// A kind that this document never assigns, and one for private use.
pub const NEVER: u64 = u32::MAX as u64;
pub const PRIVATE: u64 = (1 << 31) + 66;

/// Stores with the fingerprints of their base; `rule` is empty.
#[rustfmt::skip]
pub fn good_variants() -> Vec<Case> {
    vec![
        case("good-unknown-section", "", One, "Sections of unknown kind, not critical, stand between and after the known ones and are to be skipped: kinds 6 (for later versions), 2^31 + 66 (private) and 2^32 - 1 (never assigned).", |f| {
            f.insert_section(1, PRIVATE, 0, b"66");
            f.insert_section(2, 6, WRITERS, b"");
            f.insert_section(4, NEVER, 0, b"12345678");
        }),
        case("good-section-of-kind-0", "", One, "A section of kind 0, which is never assigned and not critical, is to be skipped.", |f| {
            f.insert_section(2, 0, 0, b"nothing");
        }),
        case("good-radius-64", "", One, "planned_radius is 64, the width of the fingerprints.", |f| {
            f.set(Place::Store, "planned_radius", 64);
            f.reseal_manifest();
        }),
        case("good-section-for-writers", "", Ids, "A section of a kind that is never assigned has the flag *writers*: the store is read, and not edited by those who do not know the kind.", |f| {
            f.insert_section(2, NEVER, WRITERS, b"made up");
        }),
        case("good-unused-flags", "", One, "The unused flags of all sections are set.", |f| {
            f.insert_section(2, NEVER, 0xFFFF_0000, b"66");
            for section in [0, 1] {
                f.set(Place::Section(section), "flags", 0xFFFF_0003);
            }
            f.reseal_manifest();
        }),
        case("good-further-files", "", One, "Files of further kinds lie in the directory; one has the prefix of all files, a section that is to be skipped names it.", |f| {
            f.insert_section(2, NEVER, 0, b"segment-0000000000000001-extra-000.fpx");
            f.files.insert("segment-0000000000000001-extra-000.fpx".into(), made_up(b'X', 2, 64));
            f.files.insert("words.fpw".into(), b"made up".to_vec());
        }),
        case("good-version-minor-7", "", Tiny, "version_minor is 7 in the manifest and in the tables.", |f| {
            f.set(Place::Manifest, "version_minor", 7);
            for table in f.tables() {
                f.set(Place::Table(table), "version_minor", 7);
                f.reseal(table);
            }
        }),
        case("good-adjacent-ranges", "", Tiny, "The tops are cut into two adjacent ranges each, which changes no permutation.", |f| {
            f.set_ranges(0, &[(0, 8), (8, 24)]);
            f.set_ranges(1, &[(32, 31), (63, 1)]);
            f.reseal(0);
            f.reseal(1);
        }),
        case("good-range-of-64", "", One, "The top of table 0 is the whole fingerprint.", |f| {
            f.set_ranges(0, &[(0, 64)]);
            f.reseal(0);
        }),
        case("good-two-segments", "", Tiny, "Segments 1 and 171 hold the same set; the number of the latter has digits above 9.", |f| {
            for table in f.tables() {
                let copy = f.table(table).clone();
                f.files.insert(format!("segment-00000000000000ab-table-{table:03}.fpt"), copy);
            }
            let first = f.payload(1).to_vec();
            set_number(f, 171);
            f.insert_section(1, 2, 3, &first);
            f.set(Place::Store, "segment_count", 2);
            f.reseal_manifest();
        }),
        case("good-other-files", "", One, "Lock, a temporary file and a table that the manifest does not name lie in the directory.", |f| {
            f.files.insert("lock".into(), vec![]);
            f.files.insert(".tmp-fpstore-manifest".into(), b"cut off".to_vec());
            f.files.insert("segment-0000000000000002-table-000.fpt".into(), b"cut off".to_vec());
        }),
        case("good-recipe", "", One, "A RECIPE section with characters of two to four bytes, one of them U+00A0, the first behind the control characters.", |f| {
            f.insert_section(2, RECIPE, WRITERS, " größe=1\u{a0}語=\u{1f600}~".as_bytes());
        }),
        case("good-recipe-of-4096", "", One, "A RECIPE section of 4096 bytes stands between STORE and SEGMENT.", |f| {
            f.insert_section(1, RECIPE, WRITERS, &[b'x'; 4096]);
        }),
        case("good-recipe-mark", "", One, "A recipe that begins with U+FEFF, which is a character as any other.", |f| {
            f.insert_section(2, RECIPE, WRITERS, "\u{feff}text/1".as_bytes());
        }),
        case("good-recipe-twice", "", One, "There are two RECIPE sections, which say nothing.", |f| {
            f.insert_section(2, RECIPE, WRITERS, b"text/1");
            f.insert_section(3, RECIPE, WRITERS, b"text/1");
        }),
        case("good-recipe-empty", "", One, "An empty RECIPE section, which says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, b"")),
        case("good-recipe-too-long", "", One, "A RECIPE section of 4097 bytes, in 2049 characters, which says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, format!("{}x", "ß".repeat(2048)).as_bytes())),
        case("good-recipe-of-no-text", "", One, "A RECIPE section that is no UTF-8, which says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\xFF")),
        case("good-recipe-overlong", "", One, "A RECIPE section with an overlong form, which is no UTF-8.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\xC0\xAF")),
        case("good-recipe-surrogate", "", One, "A RECIPE section with a surrogate, which is no UTF-8.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\xED\xA0\x80")),
        case("good-recipe-of-two-lines", "", One, "A RECIPE section that ends with a line feed, and says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/1\n")),
        case("good-recipe-delete", "", One, "A RECIPE section with the character U+007F, which says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, b"text/\x7F1")),
        case("good-recipe-next-line", "", One, "A RECIPE section with the control character U+0085, which says nothing.", |f| f.insert_section(2, RECIPE, WRITERS, "text/\u{85}1".as_bytes())),
        case("good-ids-minor-7", "", Ids, "version_minor of the ids file is 7.", |f| {
            f.set(Place::IdsHeader, "version_minor", 7);
            f.reseal_ids();
        }),
        case("good-greatest-segment-number", "", One, "segment_number is 2^64 - 2 and next_segment 2^64 - 1.", |f| {
            let file = f.files.remove(&f.table_name(0)).expect("the table is there");
            set_number(f, u64::MAX - 1);
            f.files.insert(f.table_name(0), file);
        }),
    ]
}

/// A file of a made-up kind or version: a sound header, and then bytes that mean nothing here.
pub fn made_up(kind: u8, version_major: u16, header_bytes: usize) -> Vec<u8> {
    let mut file = vec![0xA5; header_bytes];
    file[..8].copy_from_slice(&[0x89, 0x46, 0x50, 0x53, kind, 0x0D, 0x0A, 0x1A]);
    file[8..10].copy_from_slice(&version_major.to_le_bytes());
    file[12..16].copy_from_slice(&(header_bytes as u32).to_le_bytes());
    super::reseal_header(&mut file);
    file.extend(b"nothing that version 1 knows");
    file
}

/// Gives the segment another number, and the next one the one after it.
fn set_number(f: &mut Forge, number: u64) {
    f.set(Place::Store, "next_segment", number + 1);
    f.set(Place::Segment, "segment_number", number);
    f.reseal_manifest();
}
