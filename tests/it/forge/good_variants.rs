//! Good stores that the library does not write, and must read.

use super::Base::{Ids, One, Tiny};
use super::{Case, Forge, Place, case};

/// Stores with the fingerprints of their base; `rule` is empty.
#[rustfmt::skip]
pub fn good_variants() -> Vec<Case> {
    vec![
        case("good-unknown-section", "", One, "Sections of unknown kind, not critical, stand between and after the known ones and are to be skipped.", |f| {
            f.insert_section(1, 66, 0, b"66");
            f.insert_section(2, 4, 0, b"");
            f.insert_section(4, u32::MAX.into(), 0, b"12345678");
        }),
        case("good-unused-flags", "", One, "The unused flags of all sections are set.", |f| {
            f.insert_section(2, 66, 0xFFFF_0000, b"66");
            for section in [0, 1] {
                f.set(Place::Section(section), "flags", 0xFFFF_0001);
            }
            f.reseal_manifest();
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
            f.insert_section(1, 2, 1, &first);
            f.set(Place::Store, "segment_count", 2);
            f.reseal_manifest();
        }),
        case("good-other-files", "", One, "Lock, a temporary file and a table that the manifest does not name lie in the directory.", |f| {
            f.files.insert("lock".into(), vec![]);
            f.files.insert(".tmp-manifest".into(), b"cut off".to_vec());
            f.files.insert("segment-0000000000000002-table-000.fpt".into(), b"cut off".to_vec());
        }),
        case("good-ids-minor-7", "", Ids, "version_minor of the ids file is 7.", |f| {
            f.set(Place::IdsHeader, "version_minor", 7);
            f.reseal_ids();
        }),
        case("good-ids-map", "", Ids, "An ID_MAP section stands at the end.", |f| {
            f.insert_section(3, 6, 0, &id_map());
        }),
        case("good-ids-of-one-segment", "", Ids, "Segments 1 and 171 hold the same set, the first one without ids.", |f| {
            for table in f.tables() {
                let copy = f.table(table).clone();
                f.files.insert(format!("segment-00000000000000ab-table-{table:03}.fpt"), copy);
            }
            let ids = f.files.remove(&f.ids_name()).expect("the ids are there");
            f.files.insert("segment-00000000000000ab-ids.fpi".into(), ids);
            let first = f.payload(1).to_vec();
            f.set(Place::IdsEntry, "segment_number", 171);
            set_number(f, 171);
            f.insert_section(1, 2, 1, &first);
            f.set(Place::Store, "segment_count", 2);
            f.reseal_manifest();
        }),
        case("good-greatest-segment-number", "", One, "segment_number is 2^64 - 2 and next_segment 2^64 - 1.", |f| {
            let file = f.files.remove(&f.table_name(0)).expect("the table is there");
            set_number(f, u64::MAX - 1);
            f.files.insert(f.table_name(0), file);
        }),
    ]
}

/// The payload of the ID_MAP section for the map `format-spec/id-map/good.idmap`.
pub fn id_map() -> Vec<u8> {
    let map = include_bytes!("../../../format-spec/id-map/good.idmap");
    let footer = &map[map.len() - 24..];
    [&footer[..8], &(map.len() as u64).to_le_bytes(), &footer[20..]].concat()
}

/// Gives the segment another number, and the next one the one after it.
fn set_number(f: &mut Forge, number: u64) {
    f.set(Place::Store, "next_segment", number + 1);
    f.set(Place::Segment, "segment_number", number);
    f.reseal_manifest();
}
