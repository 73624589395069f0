//! Stores with two defects, of which one counts: a checksum comes before what it covers, and what
//! says *unsupported* before what says corrupt.

use super::Base::{Ids, One};
use super::{Case, Place, case};

#[rustfmt::skip]
pub fn cases() -> Vec<Case> {
    vec![
        case("bad-fil-03-table-before-cod-01", "FIL-3", One, "Codes and footer are both wrong.", |f| {
            f.part(0, super::Part::Codes)[0] ^= 1;
            f.flip(Place::Footer(0), "block_count");
        }),
        case("bad-pre-04-before-tab-04", "PRE-4", One, "codec is 3, and header_crc was not made for it: corrupt, not unsupported.", |f| {
            f.set(Place::Table(0), "codec", 3);
        }),
        case("bad-pre-04-before-pre-05", "PRE-4", One, "version_major of the manifest is 2, and header_crc was not made for it.", |f| {
            f.set(Place::Manifest, "version_major", 2);
        }),
        case("unsupported-pre-05-before-man-01", "PRE-5", One, "The manifest is of version 2, and file_bytes is wrong.", |f| {
            f.set(Place::Manifest, "version_major", 2);
            f.set(Place::Manifest, "file_bytes", 1);
            f.reseal_manifest_header();
        }),
        case("unsupported-pre-07-before-tab-06", "PRE-7", One, "block_bytes is 384, and the reserved bytes, which could explain that, are in use.", |f| {
            f.set(Place::Table(0), "block_bytes", 384);
            f.set(Place::Table(0), "reserved", 1);
            f.reseal(0);
        }),
        case("unsupported-tab-03-before-tab-07", "TAB-3", One, "4 bits are cut off, and table_number of table 0 is 1.", |f| {
            f.set(Place::Table(0), "cut_bits", 4);
            f.set(Place::Table(0), "table_number", 1);
            f.reseal(0);
        }),
        case("unsupported-tab-04-before-tab-07", "TAB-4", One, "codec is 3, and the header of the table says 2 keys, the manifest 1.", |f| {
            f.set(Place::Table(0), "codec", 3);
            f.set(Place::Table(0), "count", 2);
            f.reseal(0);
        }),
        case("unsupported-tab-05-before-tab-07", "TAB-5", One, "low_bits is 12, and fingerprint_bits of the table is 32 in a store of 64 bits.", |f| {
            f.set(Place::Table(0), "low_bits", 12);
            f.set(Place::Table(0), "fingerprint_bits", 32);
            f.reseal(0);
        }),
        case("unsupported-pre-07-before-ids-01", "PRE-7", Ids, "A reserved byte of the ids file is in use, and its count is one more than that of the segment.", |f| {
            f.set(Place::IdsHeader, "reserved", 1);
            f.increment(Place::IdsHeader, "count");
            f.reseal_ids();
        }),
        case("unsupported-man-10-before-seg-02", "MAN-10", One, "table_count is 0, and there is an entry.", |f| {
            f.set(Place::Segment, "table_count", 0);
            f.reseal_manifest();
        }),
        case("bad-man-05-before-man-07", "MAN-5", One, "A critical section of unknown kind has a wrong payload_crc.", |f| {
            f.insert_section(2, super::good_variants::NEVER, 1, b"abc");
            f.payload(2)[0] ^= 1;
        }),
        case("bad-blk-01-before-blk-02", "BLK-1", One, "key_count is 0, and block_crc was not made for it.", |f| {
            f.set(Place::Block(0, 0), "key_count", 0);
        }),
    ]
}
