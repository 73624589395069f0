//! Cases of sections 3.5 and 8: ids.

use super::Base::{Ids, NoIds, OneId};
use super::{Case, Forge, Place, case};

const IDS: u64 = 3;
const ID_MAP: u64 = 6;

pub fn cases() -> Vec<Case> {
    let mut cases = manifest();
    cases.extend(header());
    cases.extend(directory());
    cases.extend(body());
    cases
}

fn set_header(f: &mut Forge, field: &str, value: u64) {
    f.set(Place::IdsHeader, field, value);
    f.reseal_ids();
}

#[rustfmt::skip]
fn manifest() -> Vec<Case> {
    vec![
        case("bad-dir-02-no-ids", "DIR-2", Ids, "The ids file is missing.", |f| {
            f.files.remove(&f.ids_name());
        }),
        case("bad-man-13-critical-ids", "MAN-13", Ids, "The IDS section is critical.", |f| {
            f.set(Place::Section(2), "flags", 1);
            f.reseal_manifest();
        }),
        case("bad-ids-01-too-short", "IDS-1", Ids, "The payload of the IDS section has 16 bytes.", |f| {
            let payload = f.remove_section(2);
            f.insert_section(2, IDS, 0, &payload[..16]);
        }),
        case("bad-ids-01-too-long", "IDS-1", Ids, "The payload of the IDS section has 32 bytes.", |f| {
            let payload = f.remove_section(2);
            f.insert_section(2, IDS, 0, &[&payload[..], &[0; 8]].concat());
        }),
        case("bad-ids-02-no-segment", "IDS-2", Ids, "The IDS section is of segment 0, which is none.", |f| {
            f.set(Place::IdsEntry, "segment_number", 0);
            f.reseal_manifest();
        }),
        case("bad-ids-02-twice", "IDS-2", Ids, "Two IDS sections are of the same segment.", |f| {
            let payload = f.payload(2).to_vec();
            f.insert_section(3, IDS, 0, &payload);
        }),
        case("bad-map-01-too-short", "MAP-1", Ids, "The payload of the ID_MAP section has 16 bytes.", |f| {
            f.insert_section(3, ID_MAP, 0, &[1; 16]);
        }),
        case("bad-map-01-too-long", "MAP-1", Ids, "The payload of the ID_MAP section has 24 bytes.", |f| {
            f.insert_section(3, ID_MAP, 0, &[1; 24]);
        }),
        case("bad-map-02-twice", "MAP-2", Ids, "There are two ID_MAP sections.", |f| {
            f.insert_section(3, ID_MAP, 0, &[1; 20]);
            f.insert_section(3, ID_MAP, 0, &[1; 20]);
        }),
        case("bad-man-13-critical-id-map", "MAN-13", Ids, "The ID_MAP section is critical.", |f| {
            f.insert_section(3, ID_MAP, 1, &[1; 20]);
        }),
    ]
}

#[rustfmt::skip]
fn header() -> Vec<Case> {
    vec![
        case("bad-ids-03-cut", "IDS-3", Ids, "The ids file lacks its last byte.", |f| {
            f.ids().pop();
        }),
        case("bad-ids-03-longer", "IDS-3", Ids, "A byte follows the ids file.", |f| f.ids().push(0)),
        case("bad-ids-03-51-bytes", "IDS-3", NoIds, "The ids file has 51 bytes, and the manifest says so.", |f| {
            f.ids().truncate(51);
            f.set(Place::IdsEntry, "file_bytes", 51);
            f.reseal_manifest();
        }),
        case("bad-ids-04-magic", "IDS-4", Ids, "magic of the ids file is that of a table.", |f| {
            f.field(Place::IdsHeader, "magic")[3] = b'T';
            f.reseal_ids();
        }),
        case("bad-ids-05-header-crc", "IDS-5", Ids, "header_crc of the ids file is wrong.", |f| {
            f.flip(Place::IdsHeader, "header_crc");
        }),
        case("unsupported-ids-06-version-2", "IDS-6", Ids, "version_major of the ids file is 2.", |f| {
            set_header(f, "version_major", 2);
        }),
        case("bad-ids-07-other-file", "IDS-7", Ids, "The manifest has another header_crc of the ids file.", |f| {
            f.flip(Place::IdsEntry, "header_crc");
            f.reseal_manifest();
        }),
        case("unsupported-ids-08-reserved", "IDS-8", Ids, "The last reserved byte of the ids file is not zero.", |f| {
            f.field(Place::IdsHeader, "reserved")[2] = 1;
            f.reseal_ids();
        }),
        case("bad-ids-09-table", "IDS-9", Ids, "table_crc is that of table 1.", |f| {
            let other = f.get(Place::Entry(1), "header_crc");
            set_header(f, "table_crc", other);
        }),
        case("bad-ids-09-count", "IDS-9", Ids, "count of the ids file is one more than that of the segment.", |f| {
            f.increment(Place::IdsHeader, "count");
            f.reseal_ids();
        }),
        case("bad-ids-09-blocks", "IDS-9", OneId, "block_count of the ids file is one more than that of table 0.", |f| {
            f.increment(Place::IdsHeader, "block_count");
            f.reseal_ids();
        }),
        case("bad-ids-10-65-bits", "IDS-10", NoIds, "id_bits is 65.", |f| set_header(f, "id_bits", 65)),
        case("bad-ids-10-too-few", "IDS-10", OneId, "There are fewer ids than fingerprints.", |f| {
            let count = f.get(Place::IdsHeader, "count");
            set_header(f, "id_count", count - 1);
        }),
        case("bad-ids-10-too-many", "IDS-10", Ids, "The file is too short for 2^64 - 1 ids.", |f| {
            set_header(f, "id_count", u64::MAX);
        }),
    ]
}

#[rustfmt::skip]
fn directory() -> Vec<Case> {
    vec![
        case("bad-ids-11-directory-crc", "IDS-11", Ids, "directory_crc is wrong.", |f| {
            *f.ids().last_mut().expect("the file is not empty") ^= 1;
        }),
        case("bad-ids-12-other-file", "IDS-12", Ids, "The manifest has another directory_crc.", |f| {
            f.flip(Place::IdsEntry, "directory_crc");
            f.reseal_manifest();
        }),
        case("bad-ids-13-first", "IDS-13", Ids, "The first entry of mark_counts is 1.", |f| {
            f.ids_part(3)[0] = 1;
            f.reseal_ids();
        }),
    ]
}

#[rustfmt::skip]
fn body() -> Vec<Case> {
    vec![
        case("bad-ids-14-body", "IDS-14", Ids, "A bit of an id is wrong.", |f| {
            f.ids_part(2)[4] ^= 1;
        }),
        case("bad-ids-14-chunk-crc", "IDS-14", OneId, "The CRC of a chunk is wrong.", |f| {
            f.ids_part(4)[0] ^= 1;
            f.reseal_ids_directory();
        }),
        case("bad-ids-15-rank", "IDS-15", OneId, "The rank of block 1 is one too high.", |f| {
            let rank = f.id_entry(0, 7, 1);
            f.set_id_entry(0, 7, 1, rank + 1);
            f.reseal_ids();
        }),
        case("bad-ids-16-first", "IDS-16", Ids, "Mark 0 is 0, and mark 2 is 1 in its place.", |f| {
            f.ids_part(1)[0] ^= 0b101;
            f.reseal_ids();
        }),
        case("bad-ids-16-one-more", "IDS-16", Ids, "There is a mark more than mark_counts says.", |f| {
            f.ids_part(1)[0] ^= 0b100;
            f.reseal_ids();
        }),
        case("bad-ids-17-equal", "IDS-17", Ids, "A fingerprint has the same id twice.", |f| {
            let id = f.id_entry(2, 13, 1);
            f.set_id_entry(2, 13, 2, id);
            f.reseal_ids();
        }),
        case("bad-ids-18-ranks", "IDS-18", OneId, "A bit behind the ranks is 1.", |f| pad(f, 0)),
        case("bad-ids-18-marks", "IDS-18", Ids, "A bit behind the marks is 1.", |f| pad(f, 1)),
        case("bad-ids-18-ids", "IDS-18", Ids, "A bit behind the ids is 1.", |f| pad(f, 2)),
    ]
}

/// Sets the last bit of a part of the body.
fn pad(f: &mut Forge, part: usize) {
    *f.ids_part(part).last_mut().expect("the part is not empty") |= 0x80;
    f.reseal_ids();
}

impl Forge {
    /// Where each part of the ids file stands: ranks, marks, ids, mark_counts, chunk_crcs.
    pub(super) fn locate_ids_parts(&self) -> [std::ops::Range<usize>; 5] {
        let get = |field| self.get(Place::IdsHeader, field);
        let (count, ids) = (get("count"), get("id_count"));
        let digits = |n: u64| u64::from(64 - n.leading_zeros());
        let words = |n: u64, bits: u64| ((n * bits).div_ceil(64) * 8) as usize;
        let marks = if ids > count { ids } else { 0 };
        let ranks = words(get("block_count"), digits(count.saturating_sub(1)));
        let body = [ranks, words(marks, 1), words(ids, get("id_bits"))];
        let chunks = 4 * body.iter().sum::<usize>().div_ceil(4096);
        let groups = 8 * marks.div_ceil(32768) as usize;
        let mut end = super::end("ids-header");
        [body[0], body[1], body[2], groups, chunks].map(|bytes| {
            end += bytes;
            end - bytes..end
        })
    }

    /// The bytes of the ids file that no other bytes of it are checksums of.
    pub fn unsealed_ids(&self) -> Vec<usize> {
        let header = 0..super::end("ids-header") - 4;
        header.chain(self.ids_parts[0].start..self.ids_parts[3].end).collect()
    }

    fn ids_part(&mut self, part: usize) -> &mut [u8] {
        let range = self.ids_parts[part].clone();
        &mut self.ids()[range]
    }

    /// An entry of a part of the body.
    fn id_entry(&mut self, part: usize, bits: usize, index: usize) -> u64 {
        let bytes = self.ids_part(part);
        let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
        (0..bits).map(|i| bit(index * bits + i) << i).sum()
    }

    fn set_id_entry(&mut self, part: usize, bits: usize, index: usize, value: u64) {
        let bytes = self.ids_part(part);
        for i in 0..bits {
            let at = index * bits + i;
            bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | ((value >> i & 1) as u8) << (at % 8);
        }
    }

    /// Recomputes every checksum of the ids file, and those of the manifest.
    pub fn reseal_ids(&mut self) {
        let (_, crc_range) = self.field_range(Place::IdsHeader, "header_crc");
        let header_crc = super::crc(&[&self.ids()[..crc_range.start]]);
        self.set(Place::IdsHeader, "header_crc", header_crc.into());
        let body = self.ids_parts[0].start..self.ids_parts[2].end;
        let chunks: Vec<Vec<u8>> = self.ids()[body].chunks(4096).map(<[u8]>::to_vec).collect();
        for (number, chunk) in chunks.iter().enumerate() {
            let parts = [&header_crc.to_le_bytes()[..], &(number as u64).to_le_bytes(), chunk];
            let chunk_crc = super::crc(&parts);
            super::write(&mut self.ids_part(4)[4 * number..][..4], chunk_crc.into());
        }
        self.reseal_ids_directory();
    }

    /// Recomputes the checksum of the directory, and those of the manifest.
    fn reseal_ids_directory(&mut self) {
        let header_crc = self.get(Place::IdsHeader, "header_crc");
        let directory = self.ids_parts[3].start..self.ids_parts[4].end;
        let end = directory.end;
        let parts = [&(header_crc as u32).to_le_bytes()[..], &self.ids()[directory]];
        let directory_crc = super::crc(&parts);
        super::write(&mut self.ids()[end..end + 4], directory_crc.into());
        self.set(Place::IdsEntry, "header_crc", header_crc);
        self.set(Place::IdsEntry, "directory_crc", directory_crc.into());
        self.reseal_manifest();
    }
}
