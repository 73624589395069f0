//! Stores with two defects: the order of section 1.2 says which one counts.

use super::Base::{Ids, One, Tiny};
use super::Part::{Histogram, Router};
use super::{Case, Place, case};

#[rustfmt::skip]
pub fn cases() -> Vec<Case> {
    vec![
        case("unsupported-pre-05-before-blk-01", "PRE-5", Tiny, "block_crc is wrong in table 0, and version_major of table 1 is 2: all files are opened before any block is read.", |f| {
            f.set(Place::Table(1), "version_major", 2);
            f.reseal(1);
            f.flip(Place::Block(0, 0), "block_crc");
        }),
        case("bad-pre-02-before-blk-01", "PRE-2", Tiny, "block_crc is wrong in table 0, and the magic in table 1.", |f| {
            f.field(Place::Table(1), "magic")[4] = b'I';
            f.reseal(1);
            f.flip(Place::Block(0, 0), "block_crc");
        }),
        case("bad-dir-02-before-his-01", "DIR-2", Tiny, "The histogram of table 0 is wrong, and table 1 is missing.", |f| {
            f.part(0, Histogram)[0] ^= 1;
            f.files.remove(&f.table_name(1));
        }),
        case("bad-ids-08-before-tab-13", "IDS-8", Ids, "The padding behind the header of table 0 is not zero, and directory_crc is wrong.", |f| {
            f.table(0)[4000] = 1;
            *f.ids().last_mut().expect("the file is not empty") ^= 1;
        }),
        case("bad-blk-01-before-ids-11", "BLK-1", Ids, "A chunk of the ids is wrong, and a block of table 1.", |f| {
            f.ids()[60] ^= 1;
            f.flip(Place::Block(1, 0), "block_crc");
        }),
        case("bad-rtr-01-before-his-01", "RTR-1", One, "Histogram and router are both wrong: a query needs only the router.", |f| {
            f.part(0, Histogram)[0] ^= 1;
            f.part(0, Router)[0] ^= 1;
        }),
        case("bad-cod-01-before-rtr-01", "COD-1", One, "Router and codes are both wrong.", |f| {
            f.part(0, Router)[0] ^= 1;
            f.part(0, super::Part::Codes)[0] ^= 1;
        }),
        case("bad-ftr-01-before-cod-01", "FTR-1", One, "Codes and footer are both wrong.", |f| {
            f.part(0, super::Part::Codes)[0] ^= 1;
            f.flip(Place::Footer(0), "block_count");
        }),
        case("bad-tab-13-before-his-01", "TAB-13", One, "Histogram and padding are both wrong.", |f| {
            f.part(0, Histogram)[0] ^= 1;
            f.table(0)[4000] = 1;
        }),
        case("bad-his-01-before-blk-01", "HIS-1", One, "A block and the histogram are both wrong.", |f| {
            f.flip(Place::Block(0, 0), "block_crc");
            f.part(0, Histogram)[0] ^= 1;
        }),
        case("bad-pre-04-before-tab-06", "PRE-4", One, "codec is 3, and header_crc was not made for it: corrupt, not unsupported.", |f| {
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
        case("unsupported-tab-04-before-tab-08", "TAB-4", One, "block_bytes is 384, and the reserved bytes, which could explain that, are in use.", |f| {
            f.set(Place::Table(0), "block_bytes", 384);
            f.set(Place::Table(0), "reserved", 1);
            f.reseal(0);
        }),
        case("bad-tab-03-before-tab-04", "TAB-3", One, "The reserved bytes are in use, and the manifest means another table.", |f| {
            f.set(Place::Table(0), "reserved", 1);
            f.reseal(0);
            f.flip(Place::Entry(0), "header_crc");
            f.reseal_manifest();
        }),
        case("bad-man-05-before-man-07", "MAN-5", One, "A critical section of unknown kind has a wrong payload_crc.", |f| {
            f.insert_section(2, super::good_variants::NEVER, 1, b"abc");
            f.payload(2)[0] ^= 1;
        }),
        case("unsupported-man-07-before-sto-03", "MAN-7", One, "planned_radius is 65, and a later section is critical and of unknown kind.", |f| {
            f.set(Place::Store, "planned_radius", 65);
            f.insert_section(2, super::good_variants::NEVER, 1, b"abc");
        }),
        case("bad-blk-01-before-blk-02", "BLK-1", One, "key_count is 0, and block_crc was not made for it.", |f| {
            f.set(Place::Block(0, 0), "key_count", 0);
        }),
    ]
}
