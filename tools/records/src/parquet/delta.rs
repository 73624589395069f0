//! Lengths in delta-coded pages. The reader of Parquet makes as many as the page states, and puts
//! texts together that share their beginnings: a few bytes can stand for gigabytes of both.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;

use super::thrift::{varint, zigzag};

/// Bytes of a length in memory.
const LENGTH_BYTES: u64 = 4;
/// Values of a block stand in that many parts, and a part in multiples of 32.
const PART: u64 = 32;

/// Checks the page of a column of texts that its lengths, and the texts themselves, take at most
/// `limit` bytes.
pub fn check(page: &Page, levels: [i16; 2], limit: u64) -> Result<(), String> {
    let encoding = page.encoding();
    if !matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) {
        return Ok(());
    }
    let values = values(page, levels).ok_or("a page without values")?;
    let (mut sum, end) = lengths(&values, limit)?;
    if encoding == Encoding::DELTA_BYTE_ARRAY {
        // What a text shares with the one before it, and then the rest of it.
        sum = sum.saturating_add(lengths(&values[end..], limit)?.0);
    }
    match sum > limit {
        true => Err(format!(
            "texts of {sum} bytes in a page, where {limit} are allowed: give more --memory, or write \
             pages of the usual size"
        )),
        false => Ok(()),
    }
}

/// What stands behind the levels.
fn values(page: &Page, levels: [i16; 2]) -> Option<Bytes> {
    match page {
        Page::DataPage { buf, .. } => {
            let mut buf = buf.clone();
            for _ in levels.into_iter().filter(|&most| most > 0) {
                let bytes = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                let end = bytes.checked_add(4).filter(|&end| end <= buf.len())?;
                buf = buf.slice(end..);
            }
            Some(buf)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let start = def_levels_byte_len.checked_add(*rep_levels_byte_len)? as usize;
            (start <= buf.len()).then(|| buf.slice(start..))
        }
        Page::DictionaryPage { .. } => Some(Bytes::new()),
    }
}

/// The sum of lengths, and where they end.
fn lengths(bytes: &[u8], limit: u64) -> Result<(u64, usize), String> {
    let cut = || "the lengths of its texts are cut".to_string();
    let mut rest = bytes;
    let next = |rest: &mut &[u8]| varint(rest).map_err(|_| cut());
    let (block, parts, count) = (next(&mut rest)?, next(&mut rest)?, next(&mut rest)?);
    let first = next(&mut rest)?;
    if count.saturating_mul(LENGTH_BYTES) > limit {
        return Err(format!("a page states {count} lengths, which take more than {limit} bytes"));
    }
    let part = block.checked_div(parts).filter(|part| part % PART == 0 && *part > 0);
    let part = part.ok_or_else(|| "blocks of lengths are of no size".to_string())?;
    // Lengths are integers of 32 bits, which may overflow on the way.
    let mut length = zigzag(first) as i32;
    let mut sum = if count > 0 { u64::try_from(length).unwrap_or(0) } else { 0 };
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let least = zigzag(next(&mut rest)?) as i32;
        let parts = usize::try_from(parts).map_err(|_| cut())?;
        let (widths, behind) = rest.split_at_checked(parts).ok_or_else(cut)?;
        rest = behind;
        for &width in widths {
            if left == 0 {
                break;
            }
            let bits = part.checked_mul(width.into()).filter(|_| width <= 32).ok_or_else(cut)?;
            let end = usize::try_from(bits / 8).map_err(|_| cut())?;
            // The last part may end with the last value.
            let (packed_values, behind) = rest.split_at(end.min(rest.len()));
            rest = behind;
            for number in 0..part.min(left) {
                let delta = packed(packed_values, number, width).ok_or_else(cut)?;
                length = length.wrapping_add(least).wrapping_add(delta as i32);
                sum = sum.saturating_add(u64::try_from(length).unwrap_or(0));
            }
            left -= part.min(left);
        }
    }
    Ok((sum, bytes.len() - rest.len()))
}

/// The integer of `width` bits with this number.
fn packed(bytes: &[u8], number: u64, width: u8) -> Option<u32> {
    let start = number * u64::from(width);
    let first = usize::try_from(start / 8).ok()?;
    let end = usize::try_from((start + u64::from(width)).div_ceil(8)).ok()?;
    let mut value = 0u64;
    for (place, byte) in bytes.get(first..end)?.iter().enumerate() {
        value |= u64::from(*byte) << (8 * place);
    }
    Some((value >> (start % 8) & ((1 << width) - 1)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block of 128 values in 4 parts, of which the first has these bits for each.
    fn stream(count: u8, first: u8, least: u8, width: u8, packed: &[u8]) -> Vec<u8> {
        let head = [0x80, 1, 4, count, first << 1, least << 1, width, 0, 0, 0];
        [&head[..], packed].concat()
    }

    #[test]
    fn lengths_are_added_up() {
        // One value has no block.
        assert_eq!(lengths(&[0x80, 1, 4, 1, 14], 100), Ok((7, 5)));
        assert_eq!(lengths(&[0x80, 1, 4, 0, 0], 100), Ok((0, 5)));
        // 3, 3 + 1, 4 + 1 and so on.
        assert_eq!(lengths(&stream(5, 3, 1, 0, &[]), 100), Ok((3 + 4 + 5 + 6 + 7, 10)));
        // Deltas 1, 2 and 3 in 4 bits each.
        let bytes = stream(4, 3, 0, 4, &[[0x21, 0x03].to_vec(), vec![0; 14]].concat());
        assert_eq!(lengths(&bytes, 100), Ok((3 + 4 + 6 + 9, bytes.len())));
        // Deltas of 13 bits that lie across bytes.
        let deltas = 0x1fff_u64 | 1 << 13 | 2 << 26;
        let packed = [&deltas.to_le_bytes()[..], &[0; 44]].concat();
        let sum = 8191 + 8192 + 8194;
        assert_eq!(lengths(&stream(4, 0, 0, 13, &packed), 100), Ok((sum, 62)));
    }

    #[test]
    fn what_would_take_too_much_is_refused_before_it_is_counted() {
        // 2^40 lengths of no bits each.
        let bytes = [0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 0, 0, 0];
        assert!(lengths(&bytes, 1 << 28).unwrap_err().contains("states 1099511627776 lengths"));
        for cut in [&[][..], &[0x80, 1], &[0x80, 1, 4, 5, 6], &[0x80, 1, 0, 5, 6, 0], &[0x80]] {
            lengths(cut, 100).unwrap_err();
        }
        assert!(lengths(&stream(4, 0, 0, 33, &[0; 200]), 100).unwrap_err().contains("are cut"));
        assert!(lengths(&stream(4, 0, 0, 13, &[0]), 100).unwrap_err().contains("are cut"));
    }
}
