//! Cases of section 6.4, and of section 6.7: keys that are sound and are not those of the set.

use super::Base::{Blocks, Equal, NarrowTop, One, Steps, Tiny, Top, TopMiddle, Two};
use super::Part::Router;
use super::{Case, Forge, Place, case};

pub fn cases() -> Vec<Case> {
    let mut cases = frames();
    cases.extend(streams());
    cases.extend(keys());
    cases
}

fn set_block(f: &mut Forge, block: usize, field: &str, value: u64) {
    f.set(Place::Block(0, block), field, value);
    f.reseal(0);
}

#[rustfmt::skip]
fn frames() -> Vec<Case> {
    vec![
        case("bad-blk-01-block-crc", "BLK-1", One, "block_crc is wrong.", |f| f.flip(Place::Block(0, 0), "block_crc")),
        case("bad-blk-01-key-count-flipped", "BLK-1", One, "A bit of key_count is flipped.", |f| f.flip(Place::Block(0, 0), "key_count")),
        case("bad-blk-01-first-key-flipped", "BLK-1", One, "A bit of first_key is flipped.", |f| f.flip(Place::Block(0, 0), "first_key")),
        case("bad-blk-01-column-flipped", "BLK-1", Equal, "A bit of the column of the last block is flipped.", |f| f.column(0, 1)[0] ^= 1),
        case("bad-blk-01-stream-flipped", "BLK-1", Tiny, "A bit of the stream is flipped, in table 1.", |f| f.stream(1, 0)[0] ^= 0x80),
        case("bad-blk-01-padding-flipped", "BLK-1", One, "The last bit of a block is flipped.", |f| f.block(0, 0)[255] ^= 0x80),
        case("bad-blk-01-swapped-in-file", "BLK-1", Blocks, "Two blocks of table 0 are exchanged.", |f| f.swap_blocks((0, 0), (0, 1))),
        case("bad-blk-01-swapped-between-tables", "BLK-1", Blocks, "Block 1 of table 0 and block 1 of table 1 are exchanged.", |f| f.swap_blocks((0, 1), (1, 1))),
        case("bad-blk-01-doubled", "BLK-1", Blocks, "Block 1 of table 0 is a copy of block 0.", |f| {
            let copy = f.block(0, 0).to_vec();
            f.block(0, 1).copy_from_slice(&copy);
        }),
        case("bad-blk-01-zeros", "BLK-1", One, "The block is all zeros, as after a lost write.", |f| f.block(0, 0).fill(0)),
        case("bad-blk-02-no-key", "BLK-2", One, "key_count is 0.", |f| set_block(f, 0, "key_count", 0)),
        case("bad-blk-02-column-one-byte-beyond", "BLK-2", Equal, "The column, of 243 bytes, ends one byte after the block.", |f| set_block(f, 1, "key_count", 244)),
        case("bad-blk-02-key-count-65535", "BLK-2", Tiny, "key_count is 65535.", |f| set_block(f, 0, "key_count", 65535)),
    ]
}

#[rustfmt::skip]
fn streams() -> Vec<Case> {
    vec![
        case("bad-blk-03-bit-1", "BLK-3", Equal, "The only code is `0`, and the stream starts with the bit 1.", |f| {
            f.stream(0, 0)[0] |= 1;
            f.reseal(0);
        }),
        case("bad-blk-03-no-code", "BLK-3", One, "A table of one key, and so without a code, has a block of two keys.", |f| set_block(f, 0, "key_count", 2)),
        case("bad-blk-02-no-stream", "BLK-2", Equal, "The column ends where the block ends: no bit is left for 242 keys.", |f| set_block(f, 1, "key_count", 243)),
        case("bad-blk-02-one-bit-missing", "BLK-2", Top, "From the key 0 on, the block has bits for 1936 keys more, and key_count is 1938.", |f| {
            f.set(Place::Block(0, 0), "first_key", 0);
            set_block(f, 0, "key_count", 1938);
        }),
        case("bad-blk-04-bits", "BLK-4", Steps, "The block has bits for 322 keys of 6 bits, and 4 bits: the last of 324 keys has room for its code, and not for its raw bits.", |f| {
            set_block(f, 0, "key_count", 324);
        }),
        case("bad-blk-05-beyond-64-bits", "BLK-5", Top, "A gap leads from the greatest key to 2^64.", |f| {
            f.increment(Place::Block(0, 0), "key_count");
            f.reseal(0);
        }),
        case("bad-blk-05-beyond-32-bits", "BLK-5", NarrowTop, "A gap leads from the greatest key of 32 bits to 2^32.", |f| {
            f.increment(Place::Block(0, 0), "key_count");
            f.reseal(0);
        }),
        case("bad-blk-05-beyond-56-bits", "BLK-5", TopMiddle, "With L = 8, a gap leads from the greatest middle to 2^56.", |f| {
            f.increment(Place::Block(0, 0), "key_count");
            f.reseal(0);
        }),
    ]
}

#[rustfmt::skip]
fn keys() -> Vec<Case> {
    vec![
        case("bad-blk-06-low-parts-descend", "BLK-6", Equal, "Two keys of one middle are exchanged.", |f| {
            f.column(0, 0).swap(0, 1);
            f.reseal(0);
        }),
        case("bad-blk-06-equal", "BLK-6", Equal, "A key stands twice.", |f| {
            f.column(0, 0)[1] = f.column(0, 0)[0];
            f.reseal(0);
        }),
        case("bad-blk-05-middles-descend", "BLK-5", Two, "first_key is the greatest key, and the next key is 2^63 + 1.", |f| set_block(f, 0, "first_key", u64::MAX)),
        case("bad-blk-07-next-block-equal", "BLK-7", Equal, "Block 1 starts with the last key of block 0.", |f| {
            let last = f.entry(0, Router, 0);
            set_block(f, 1, "first_key", last);
        }),
        case("bad-blk-07-next-block-below", "BLK-7", Equal, "Block 1 starts with a key below the last key of block 0.", |f| {
            let last = f.entry(0, Router, 0);
            set_block(f, 1, "first_key", last - 1);
        }),
        case("bad-blk-08-router-above", "BLK-8", Blocks, "An entry of the router is greater by one than the last key of its block.", |f| {
            let entry = f.entry(0, Router, 0);
            f.set_entry(0, Router, 0, entry + 1);
            f.reseal(0);
        }),
        case("bad-blk-08-router-below", "BLK-8", Blocks, "An entry of the router is less by one than the last key of its block.", |f| {
            let entry = f.entry(0, Router, 0);
            f.set_entry(0, Router, 0, entry - 1);
            f.reseal(0);
        }),
        case("bad-blk-09-bit-after-last-code", "BLK-9", Steps, "The stream bit after the last code is 1.", |f| {
            // Seven codes of 1 bit.
            f.stream(0, 0)[0] |= 1 << 7;
            f.reseal(0);
        }),
        case("bad-blk-09-bit-before-last-raw-bits", "BLK-9", Steps, "The stream bit before the raw bits of the last key is 1.", |f| {
            // Seven times 5 raw bits: 35 from the end on.
            let stream = f.stream(0, 0);
            stream[stream.len() - 5] |= 1 << 4;
            f.reseal(0);
        }),
        case("bad-blk-09-one-key", "BLK-9", One, "The first stream bit of a block of one key is 1.", |f| {
            f.stream(0, 0)[0] |= 1;
            f.reseal(0);
        }),
        case("bad-blk-09-middle-byte", "BLK-9", Blocks, "A byte between codes and raw bits of the last block is not zero.", |f| {
            let last = f.get(Place::Footer(0), "block_count") as usize - 1;
            let stream = f.stream(0, last);
            let zeros = (0..stream.len()).filter(|&at| stream[at] == 0).collect::<Vec<_>>();
            stream[zeros[zeros.len() / 2]] = 0x80;
            f.reseal(0);
        }),
        case("bad-blk-05-class-not-of-delta", "BLK-5", Two, "With `xor`, the class of a key says that the first bit that differs is bit 0, which is 1 in the key before it too.", |f| {
            set_block(f, 0, "first_key", 1 << 63);
        }),
        case("bad-set-02-other-key", "SET-2", Equal, "A key was replaced by another.", |f| {
            let column = f.column(0, 1);
            let place = column.iter().position(|&low| low == 231).expect("231 is in block 1");
            column[place] = 230;
            f.reseal(0);
        }),
        case("bad-set-02-tables-differ", "SET-2", Blocks, "Table 1 holds another fingerprint in place of one of table 0.", |f| {
            f.column(1, 0)[0] ^= 1;
            f.reseal(1);
        }),
        case("bad-set-02-low-half", "SET-2", One, "The lower half of set_sum is wrong, in manifest and table.", |f| flip_set_sum(f, 0)),
        case("bad-set-02-high-half", "SET-2", Tiny, "The upper half of set_sum is wrong, in manifest and tables.", |f| flip_set_sum(f, 15)),
    ]
}

/// Changes a bit of set_sum wherever it stands.
fn flip_set_sum(f: &mut Forge, byte: usize) {
    f.field(Place::Segment, "set_sum")[byte] ^= 1;
    for table in f.tables() {
        f.field(Place::Table(table), "set_sum")[byte] ^= 1;
        f.reseal(table);
    }
}
