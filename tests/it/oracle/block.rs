//! A block and its codes (sections 6.4 and 6.6).

use std::collections::BTreeMap;

use bitvec::prelude::*;

use super::mutation::{Wrong, is, or};
use super::{Checked, Fields, Rejection, crc, require, require_crc, require_equal};

/// What the bytes of a block mean: fields of its table that obey [TAB-4] to [TAB-6] and [COD-2].
#[derive(Clone, Copy, Debug)]
pub struct BlockShape<'a> {
    /// Those of a key.
    pub bits: u8,
    /// Whether keys may be equal.
    pub repeats: bool,
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
    let expected = block_crc_of(header_crc, number, fields.0);
    require_crc("BLK-1", &at("block_crc".into()), block_crc, expected)?;
    let key_count = usize::from(fields.u16());
    let first_key = fields.key(or(shape.bits, Wrong::FirstKeysOf8, 64));
    let planes = usize::from(shape.low_bits / 8);
    let others = key_count.saturating_sub(1);
    let bytes_left = fields.0.len().checked_sub(others * planes);
    let fits = bytes_left.is_some_and(|bytes| others <= 8 * bytes || is(Wrong::NoBitForEachKey));
    require(key_count >= 1 && fits, "BLK-2", || {
        at(format!("key_count is {key_count}, with {planes} planes"))
    })?;
    let column = fields.bytes(others * planes);
    let reversed: Vec<u8> = fields.0.iter().map(|byte| byte.reverse_bits()).collect();
    let stream = or(fields.0, Wrong::CodesFromTheTop, &reversed).view_bits::<Lsb0>();

    let mut stream = Stream::new(shape, stream);
    let mut keys = vec![first_key];
    for index in 0..others {
        let at = |what: &str| at(format!("key {}: {what}", index + 1));
        let key_before = keys[if is(Wrong::KeysOfFirst) { 0 } else { index }];
        let middle = stream
            .next(u128::from(key_before >> shape.low_bits))
            .map_err(|e| Rejection { detail: at(&e.detail), ..e })?;
        let low = (0..planes).map(|plane| {
            let in_plane = or(plane, Wrong::PlanesReversed, planes - 1 - plane) * others + index;
            let place = or(in_plane, Wrong::LowPartsTogether, index * planes + plane);
            u64::from(column[place]) << (8 * plane)
        });
        // The shift by L drops nothing, since v fits in M bits.
        let key = ((middle as u64) << shape.low_bits) | low.sum::<u64>();
        let ascends = key > keys[index] || shape.repeats && key == keys[index];
        require(ascends, "BLK-6", || at(&format!("{key:#x} after {:#x}", keys[index])))?;
        keys.push(key);
    }
    Ok(PlainBlock { keys, padding_is_zero: stream.padding_is_zero() })
}

/// What block_crc must be, of a block with these bytes behind it.
fn block_crc_of(header_crc: u32, number: u64, bytes: &[u8]) -> u32 {
    let header_crc = header_crc.to_le_bytes();
    let header_crc = or(&header_crc[..], Wrong::BlockCrcAlone, &[]);
    let number = or(number, Wrong::BlockNumberMod256, number % 256).to_le_bytes();
    let length = or(or(8, Wrong::BlockCrcWithoutNumber, 0), Wrong::BlockNumberOf4, 4);
    crc(&[header_crc, &number[..length], bytes])
}

/// The stream of a block (section 6.5), as far as it was read.
struct Stream<'a> {
    codec: u8,
    middle_bits: usize,
    codes: BTreeMap<(u8, u32), usize>,
    bits: &'a BitSlice<u8, Lsb0>,
    /// Codes end here.
    position: usize,
    /// Raw bits begin here.
    raw_start: usize,
}

impl<'a> Stream<'a> {
    fn new(shape: &BlockShape<'_>, bits: &'a BitSlice<u8, Lsb0>) -> Self {
        let codes = canonical_codes(shape.code_lengths);
        let of_key = usize::from(or(shape.bits, Wrong::MiddlesOf64, 64));
        let middle_bits = of_key - usize::from(shape.low_bits);
        Self { codec: shape.codec, middle_bits, codes, bits, position: 0, raw_start: bits.len() }
    }

    /// The middle of the next key, which follows the middle `before`.
    fn next(&mut self, before: u128) -> Checked<u128> {
        let class = self.read_class()?;
        let class = or(class, Wrong::ClassOf64Bits, (class + self.middle_bits).saturating_sub(64));
        if class >= self.middle_bits {
            return Ok(before);
        }
        let is_apart = self.position <= self.raw_start || !is(Wrong::EqualReadsRawBits);
        require(is_apart, "BLK-4", || "its code runs into the raw bits".to_owned())?;
        let r = self.middle_bits - 1 - class;
        let rest = u128::from(self.read_raw_bits(r)?);
        let fits = self.codec != 1 || before >> r & 1 == 0 || is(Wrong::XorAnyBit);
        require(fits, "BLK-5", || {
            format!("class {class}, where the middle before is {before:#x}")
        })?;
        let top = or(1 << r, Wrong::GapWithoutTop, if self.codec == 2 { 0 } else { 1 << r });
        let top = or(top, Wrong::XorFlipsNothing, if self.codec == 1 { 0 } else { top });
        let middle = match self.codec {
            1 if is(Wrong::XorOfRawBits) => before ^ (top | rest),
            1 => (before >> (r + 1) << (r + 1)) + top + rest,
            _ => before + top + rest,
        };
        let wraps = is(Wrong::GapWraps);
        let middle = if wraps { middle & ((1 << self.middle_bits) - 1) } else { middle };
        require(middle >> self.middle_bits == 0, "BLK-5", || format!("its middle is {middle:#x}"))?;
        Ok(middle)
    }

    /// The class whose code comes next.
    fn read_class(&mut self) -> Checked<usize> {
        if is(Wrong::SingleCodeOfNoBits) && self.codes.len() == 1 {
            return Ok(self.codes.values().sum());
        }
        let longest = self.codes.keys().map(|&(length, _)| length).max().unwrap_or(0);
        let end = or(self.raw_start, Wrong::CodesReadRawBits, self.bits.len());
        let end = or(end, Wrong::EqualReadsRawBits, self.bits.len());
        let (mut length, mut code) = (0, 0);
        loop {
            let turned = (0..length).map(|i| (code >> i & 1) << (length - 1 - i)).sum();
            let found = self.codes.get(&(length, or(code, Wrong::CodesReversed, turned)));
            if let Some(&class) = found.filter(|_| length > 0) {
                return Ok(class);
            }
            require(length < longest, "BLK-3", || format!("{code:b} is no code"))?;
            let has_bit = self.position < end;
            let rule = or("BLK-4", Wrong::CutCodeIsNone, "BLK-3");
            require(has_bit, rule, || "its code runs into the raw bits".to_owned())?;
            code = code << 1 | u32::from(self.bits[self.position]);
            length += 1;
            self.position += 1;
        }
    }

    fn read_raw_bits(&mut self, r: usize) -> Checked<u64> {
        if is(Wrong::RawBitsBehindCodes) || is(Wrong::RawBitsUpward) {
            // Read from where they would be without the codes, or right behind the code.
            let used = self.bits.len() - self.raw_start;
            let start = or(self.position, Wrong::RawBitsUpward, self.bits.len() / 2 + used);
            self.position += or(r, Wrong::RawBitsUpward, 0);
            let bits = &self.bits[start..start + r];
            return Ok(if r > 0 { bits.load_le::<u64>() } else { 0 });
        }
        let position = or(self.position, Wrong::RawBitsReadCodes, 0);
        let left = self.raw_start.saturating_sub(position);
        let left = or(left, Wrong::RawBitsReachOver, left + 1).min(self.raw_start);
        require(r <= left, "BLK-4", || "its raw bits run into the codes".to_owned())?;
        let bits = &self.bits[self.raw_start - r..self.raw_start];
        self.raw_start -= r;
        let rest = if r > 0 { bits.load_le::<u64>() } else { 0 };
        let turned = bits.iter().fold(0, |number, bit| number << 1 | u64::from(*bit));
        let rest = or(rest, Wrong::RawBitsReversed, turned);
        let rest = or(rest, Wrong::RawBitsOf32, rest & 0xFFFF_FFFF);
        Ok(or(rest, Wrong::RawBitsOf56, rest & (u64::MAX >> 8)))
    }

    fn padding_is_zero(&self) -> bool {
        // They meet at most, but in some wrong readers.
        self.position > self.raw_start || self.bits[self.position..self.raw_start].not_any()
    }
}

/// Section 6.6: the class of each code, by its length and bits.
pub fn canonical_codes(lengths: &[u8]) -> BTreeMap<(u8, u32), usize> {
    let mut classes: Vec<usize> = (0..lengths.len()).filter(|&class| lengths[class] > 0).collect();
    if !is(Wrong::CodesByClass) {
        classes.sort_by_key(|&class| (lengths[class], class));
    }
    if is(Wrong::LongestCodesFirst) {
        classes.sort_by_key(|&class| (u8::MAX - lengths[class], class));
    }
    let mut codes = BTreeMap::new();
    let mut next: Option<(u8, u32)> = None;
    for class in classes {
        let length = lengths[class];
        let code =
            next.map_or(0, |(length_before, code)| match length.checked_sub(length_before) {
                Some(longer) => code << longer,
                None => code.div_ceil(1 << (length_before - length)),
            });
        let bits = or(code, Wrong::CodesOfOnes, ((1u32 << length) - 1) ^ code);
        codes.insert((length, bits), class);
        next = Some((length, code + 1));
    }
    codes
}

#[test]
fn codes_are_those_of_the_documents_example() {
    let codes = canonical_codes(&[2, 1, 0, 3, 3]);
    let expected = [((1, 0b0), 1), ((2, 0b10), 0), ((3, 0b110), 3), ((3, 0b111), 4)];
    assert_eq!(codes, BTreeMap::from(expected));
}
