//! Cases of sections 5.4 and 9: ids.

use super::Base::{Ids, ManyIds, NoIds, OneId};
use super::good_variants::made_up;
use super::{Case, Forge, Place, case};

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
    ]
}

#[rustfmt::skip]
fn header() -> Vec<Case> {
    vec![
        case("bad-fil-01-ids-cut", "FIL-1", Ids, "The ids file lacks its last byte.", |f| {
            f.ids().pop();
        }),
        case("bad-fil-01-ids-longer", "FIL-1", Ids, "A byte follows the ids file.", |f| f.ids().push(0)),
        case("bad-ids-02-too-short", "IDS-2", NoIds, "The ids file is a header and 3 bytes, and the manifest says so.", |f| {
            let bytes = f.ids().len() - 1;
            f.ids().truncate(bytes);
            f.set(Place::IdsEntry, "file_bytes", bytes as u64);
            f.reseal_manifest();
        }),
        case("bad-pre-02-ids-magic", "PRE-2", Ids, "magic of the ids file is that of a table.", |f| {
            f.field(Place::IdsHeader, "magic")[3] = b'T';
            f.reseal_ids();
        }),
        case("bad-pre-04-ids-header-crc", "PRE-4", Ids, "header_crc of the ids file is wrong.", |f| {
            f.flip(Place::IdsHeader, "header_crc");
        }),
        case("unsupported-pre-05-ids-version-2", "PRE-5", Ids, "version_major of the ids file is 2.", |f| {
            set_header(f, "version_major", 2);
        }),
        case("unsupported-pre-05-ids-made-up", "PRE-5", Ids, "The ids file is of a made-up version 2, and nothing in it is as in version 1.", |f| {
            *f.ids() = made_up(b'I', 2, 32);
            let bytes = f.ids().len() as u64;
            f.set(Place::IdsEntry, "file_bytes", bytes);
            f.reseal_manifest();
        }),
        case("unsupported-pre-06-ids-header-bytes-48", "PRE-6", Ids, "header_bytes of the ids file is 48, with a right header_crc.", |f| set_header(f, "header_bytes", 48)),
        case("unsupported-pre-06-ids-longer", "PRE-6", Ids, "The header of the ids file has 64 bytes, and all else is right.", |f| f.lengthen_ids_header(8)),
        case("unsupported-pre-07-ids-reserved", "PRE-7", Ids, "The last reserved byte of the ids file is not zero.", |f| {
            f.field(Place::IdsHeader, "reserved")[6] = 1;
            f.reseal_ids();
        }),
        case("bad-fil-02-ids-other-file", "FIL-2", Ids, "The manifest has another header_crc of the ids file.", |f| {
            f.flip(Place::IdsEntry, "header_crc");
            f.reseal_manifest();
        }),
        case("bad-ids-01-table", "IDS-1", Ids, "table_crc is that of table 1.", |f| {
            let other = f.get(Place::Entry(1), "header_crc");
            set_header(f, "table_crc", other);
        }),
        case("bad-ids-01-count", "IDS-1", Ids, "count of the ids file is one more than that of the segment.", |f| {
            f.increment(Place::IdsHeader, "count");
            f.reseal_ids();
        }),
        case("bad-ids-01-blocks", "IDS-1", OneId, "block_count of the ids file is one more than that of table 0.", |f| {
            f.increment(Place::IdsHeader, "block_count");
            f.reseal_ids();
        }),
        case("bad-ids-02-65-bits", "IDS-2", NoIds, "id_bits is 65.", |f| set_header(f, "id_bits", 65)),
        case("bad-ids-02-too-few", "IDS-2", OneId, "There are fewer ids than fingerprints.", |f| {
            let count = f.get(Place::IdsHeader, "count");
            set_header(f, "id_count", count - 1);
        }),
        case("bad-ids-02-too-many", "IDS-2", Ids, "The file is too short for 2^64 - 1 ids.", |f| {
            set_header(f, "id_count", u64::MAX);
        }),
    ]
}

#[rustfmt::skip]
fn directory() -> Vec<Case> {
    vec![
        case("bad-fil-03-ids-directory-crc", "FIL-3", Ids, "directory_crc is wrong.", |f| {
            *f.ids().last_mut().expect("the file is not empty") ^= 1;
        }),
        case("bad-fil-04-ids-other-file", "FIL-4", Ids, "The manifest has another directory_crc.", |f| {
            f.flip(Place::IdsEntry, "end_crc");
            f.reseal_manifest();
        }),
        case("bad-ids-03-second-too-great", "IDS-3", ManyIds, "The second entry of mark_counts is one more than a group has marks.", |f| {
            super::write(&mut f.ids_part(3)[8..16], 32769);
            f.reseal_ids();
        }),
        case("bad-ids-03-descends", "IDS-3", ManyIds, "The second entry of mark_counts is greater than count.", |f| {
            super::write(&mut f.ids_part(3)[8..16], 4);
            f.reseal_ids();
        }),
        case("bad-ids-05-second-group", "IDS-5", ManyIds, "A mark of the second group is 1 that mark_counts do not count.", |f| {
            *f.ids_part(1).get_mut(4096).expect("there are two groups") |= 2;
            f.reseal_ids();
        }),
        case("bad-ids-03-first", "IDS-3", Ids, "The first entry of mark_counts is 1.", |f| {
            f.ids_part(3)[0] = 1;
            f.reseal_ids();
        }),
    ]
}

#[rustfmt::skip]
fn body() -> Vec<Case> {
    vec![
        case("bad-fil-05-ids-body", "FIL-5", Ids, "A bit of an id is wrong.", |f| {
            f.ids_part(2)[4] ^= 1;
        }),
        case("bad-fil-05-ids-chunk-crc", "FIL-5", OneId, "The CRC of a chunk is wrong.", |f| {
            f.ids_part(4)[0] ^= 1;
            f.reseal_ids_directory();
        }),
        case("bad-ids-04-rank", "IDS-4", OneId, "The rank of block 1 is one too high.", |f| {
            let rank = f.id_entry(0, 7, 1);
            f.set_id_entry(0, 7, 1, rank + 1);
            f.reseal_ids();
        }),
        case("bad-ids-04-first-rank", "IDS-4", OneId, "The rank of block 0 is 1.", |f| {
            f.set_id_entry(0, 7, 0, 1);
            f.reseal_ids();
        }),
        case("bad-ids-04-last-rank", "IDS-4", OneId, "The rank of the last block is one too low.", |f| {
            let last = f.get(Place::IdsHeader, "block_count") as usize - 1;
            assert!(last >= 2, "a rank behind the second");
            let rank = f.id_entry(0, 7, last);
            f.set_id_entry(0, 7, last, rank - 1);
            f.reseal_ids();
        }),
        case("bad-ids-05-first", "IDS-5", Ids, "Mark 0 is 0, and mark 2 is 1 in its place.", |f| {
            f.ids_part(1)[0] ^= 0b101;
            f.reseal_ids();
        }),
        case("bad-ids-05-one-more", "IDS-5", Ids, "There is a mark more than mark_counts says.", |f| {
            f.ids_part(1)[0] ^= 0b100;
            f.reseal_ids();
        }),
        case("bad-ids-06-equal", "IDS-6", Ids, "A fingerprint has the same id twice.", |f| {
            let id = f.id_entry(2, 13, 1);
            f.set_id_entry(2, 13, 2, id);
            f.reseal_ids();
        }),
        case("bad-ids-07-ranks", "IDS-7", OneId, "A bit behind the ranks is 1.", |f| pad(f, 0)),
        case("bad-ids-07-marks", "IDS-7", Ids, "A bit behind the marks is 1.", |f| pad(f, 1)),
        case("bad-ids-07-ids", "IDS-7", Ids, "A bit behind the ids is 1.", |f| pad(f, 2)),
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
        let mut end = get("header_bytes") as usize;
        [body[0], body[1], body[2], groups, chunks].map(|bytes| {
            end += bytes;
            end - bytes..end
        })
    }

    /// The bytes of the ids file that no other bytes of it are checksums of.
    pub fn unsealed_ids(&self) -> Vec<usize> {
        // header_bytes itself decides where the checksum stands.
        let header_bytes = self.get(Place::IdsHeader, "header_bytes") as usize;
        let header = (0..12).chain(16..header_bytes - 4);
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
        super::reseal_header(self.ids());
        let header_crc = self.ids_header_crc();
        let body = self.ids_parts[0].start..self.ids_parts[2].end;
        let chunks: Vec<Vec<u8>> = self.ids()[body].chunks(4096).map(<[u8]>::to_vec).collect();
        for (number, chunk) in chunks.iter().enumerate() {
            let parts = [&header_crc.to_le_bytes()[..], &(number as u64).to_le_bytes(), chunk];
            let chunk_crc = super::crc(&parts);
            super::write(&mut self.ids_part(4)[4 * number..][..4], chunk_crc.into());
        }
        self.reseal_ids_directory();
    }

    fn ids_header_crc(&mut self) -> u32 {
        let end = super::header_bytes_of(self.ids());
        super::read(&self.ids()[end - 4..end]) as u32
    }

    /// Makes the header of the ids file longer by a tail of zeros.
    pub fn lengthen_ids_header(&mut self, bytes: usize) {
        super::lengthen_header(self.ids(), bytes);
        self.ids_parts = self.locate_ids_parts();
        let file_bytes = self.ids().len() as u64;
        self.set(Place::IdsEntry, "file_bytes", file_bytes);
        self.reseal_ids();
    }

    /// Recomputes the checksum of the directory, and those of the manifest.
    fn reseal_ids_directory(&mut self) {
        let header_crc = self.ids_header_crc();
        let directory = self.ids_parts[3].start..self.ids_parts[4].end;
        let end = directory.end;
        let parts = [&header_crc.to_le_bytes()[..], &self.ids()[directory]];
        let directory_crc = super::crc(&parts);
        super::write(&mut self.ids()[end..end + 4], directory_crc.into());
        self.set(Place::IdsEntry, "header_crc", header_crc.into());
        self.set(Place::IdsEntry, "end_crc", directory_crc.into());
        self.reseal_manifest();
    }
}
