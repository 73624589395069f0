//! A block and its codes (sections 5 and 6).

use std::collections::BTreeMap;

use bitvec::prelude::*;

use super::{Checked, Fields, Rejection, crc, require, require_crc, require_equal};

/// What the bytes of a block mean: fields of its table that obey [TAB-8] to [TAB-10] and [COD-2].
#[derive(Clone, Copy, Debug)]
pub struct BlockShape<'a> {
    pub codec: u8,
    pub low_bits: u8,
    pub block_bytes: u32,
    pub code_lengths: &'a [u8],
}

/// A block, decoded as far as it can be without its neighbours and its router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainBlock {
    pub keys: Vec<u64>,
    /// [BLK-9], which comes after [BLK-8] and so is left to the caller.
    pub padding_is_zero: bool,
}

/// Decodes block `number` of a table and checks [BLK-1] to [BLK-6].
///
/// # Errors
///
/// The first rule broken. A block whose length is not B is reported as [BLK-1].
pub fn read_block(
    shape: &BlockShape<'_>,
    header_crc: u32,
    number: u64,
    bytes: &[u8],
) -> Checked<PlainBlock> {
    let at = |what: String| format!("block {number}: {what}");
    require_equal("BLK-1", &at("length".into()), bytes.len(), shape.block_bytes as usize)?;
    let mut fields = Fields(bytes);
    let block_crc = fields.u32();
    let expected = crc(&[&header_crc.to_le_bytes(), &number.to_le_bytes(), fields.0]);
    require_crc("BLK-1", &at("block_crc".into()), block_crc, expected)?;
    let wide = shape.block_bytes > 8192;
    let key_count = if wide { fields.u32() } else { fields.u16().into() } as usize;
    let first_key = fields.u64();
    let planes = usize::from(shape.low_bits / 8);
    let others = key_count.saturating_sub(1);
    let bytes_left = fields.0.len().checked_sub(others * planes);
    let fits = bytes_left.is_some_and(|bytes| others <= 8 * bytes);
    require(key_count >= 1 && fits, "BLK-2", || {
        at(format!("key_count is {key_count}, with {planes} planes"))
    })?;
    let column = fields.bytes(others * planes);
    let stream = fields.0.view_bits::<Lsb0>();

    let codes = canonical_codes(shape.code_lengths);
    let middle_bits = 64 - usize::from(shape.low_bits);
    let mut keys = vec![first_key];
    let mut key_before = first_key;
    // Codes up to `position`, raw bits from `raw_start` on.
    let (mut position, mut raw_start) = (0, stream.len());
    for index in 0..others {
        let at = |what: &str| at(format!("key {}: {what}", index + 1));
        let class = read_class(&stream[..raw_start], &mut position, &codes)
            .map_err(|e| Rejection { detail: at(&e.detail), ..e })?;
        let before = u128::from(key_before >> shape.low_bits);
        let mut middle = before;
        if class < middle_bits {
            let r = middle_bits - 1 - class;
            require(r <= raw_start - position, "BLK-4", || at("its raw bits run into the codes"))?;
            let bits = &stream[raw_start - r..raw_start];
            let rest = if r > 0 { bits.load_le::<u64>() } else { 0 };
            raw_start -= r;
            require(shape.codec != 1 || before >> r & 1 == 0, "BLK-5", || {
                at(&format!("class {class}, where the middle before is {before:#x}"))
            })?;
            let kept = if shape.codec == 1 { before >> (r + 1) << (r + 1) } else { before };
            middle = kept + (1 << r) + u128::from(rest);
        }
        require(middle >> middle_bits == 0, "BLK-5", || at(&format!("its middle is {middle:#x}")))?;
        let low = (0..planes).map(|plane| u64::from(column[plane * others + index]) << (8 * plane));
        // The shift by L drops nothing, since v fits in M bits.
        let key = ((middle as u64) << shape.low_bits) | low.sum::<u64>();
        require(key > key_before, "BLK-6", || at(&format!("{key:#x} after {key_before:#x}")))?;
        keys.push(key);
        key_before = key;
    }
    Ok(PlainBlock { keys, padding_is_zero: stream[position..raw_start].not_any() })
}

/// Section 6: the class of each code, by its length and bits.
pub fn canonical_codes(lengths: &[u8]) -> BTreeMap<(u8, u32), usize> {
    let mut classes: Vec<usize> = (0..lengths.len()).filter(|&class| lengths[class] > 0).collect();
    classes.sort_by_key(|&class| (lengths[class], class));
    let mut codes = BTreeMap::new();
    let mut next: Option<(u8, u32)> = None;
    for class in classes {
        let length = lengths[class];
        let code = next.map_or(0, |(length_before, code)| code << (length - length_before));
        codes.insert((length, code), class);
        next = Some((length, code + 1));
    }
    codes
}

/// The class whose code starts at `position`, which moves past it. `codes_part` ends before the
/// raw bits.
fn read_class(
    codes_part: &BitSlice<u8, Lsb0>,
    position: &mut usize,
    codes: &BTreeMap<(u8, u32), usize>,
) -> Checked<usize> {
    let longest = codes.last_key_value().map_or(0, |(&(length, _), _)| length);
    let (mut length, mut code) = (0, 0);
    loop {
        if let Some(&class) = codes.get(&(length, code)) {
            return Ok(class);
        }
        require(length < longest, "BLK-3", || format!("{code:b} is no code"))?;
        let bit = codes_part.get(*position).as_deref().copied();
        require(bit.is_some(), "BLK-4", || "its code runs into the raw bits".to_owned())?;
        code = code << 1 | u32::from(bit == Some(true));
        length += 1;
        *position += 1;
    }
}

#[test]
fn codes_are_those_of_the_documents_example() {
    let codes = canonical_codes(&[2, 1, 0, 3, 3]);
    let expected = [((1, 0b0), 1), ((2, 0b10), 0), ((3, 0b110), 3), ((3, 0b111), 4)];
    assert_eq!(codes, BTreeMap::from(expected));
}
