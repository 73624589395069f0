//! The deletions file (section 11.3).

use super::living::{DeletionsEntry, PlainDeletion};
use super::mutation::{Wrong, is, or};
use super::prefix::{check_reserved, read_header};
use super::{Checked, Fields, crc, require, require_crc, require_equal};

/// Checks the deletions file of an entry, of fingerprints of so many bits.
pub fn read_deletions(
    file: &[u8],
    entry: &DeletionsEntry,
    bits: u16,
) -> Checked<Vec<PlainDeletion>> {
    let of_fingerprint = or(usize::from(bits / 8), Wrong::DeletionsOf24Bytes, 8);
    let bytes = of_fingerprint + 16;
    require_equal("FIL-1", "length of the file", file.len() as u64, entry.file_bytes)?;
    let (header, header_crc) = read_header(file, b'D', 40)?;
    check_reserved(&header[32..36])?;
    require_crc("FIL-2", "header_crc", header_crc, entry.header_crc)?;
    let mut fields = Fields(&header[16..]);
    let (count, segment) = (fields.u64(), fields.u64());
    require_equal("DEL-1", "segment_number", segment, entry.segment)?;
    let start = header.len();
    let file_bytes = start as u128 + bytes as u128 * u128::from(count) + 4;
    let count_bytes = or(file_bytes, Wrong::DeletionsMod64, {
        u128::from((start as u64).wrapping_add(count.wrapping_mul(bytes as u64)).wrapping_add(4))
    });
    require_equal("DEL-2", "length by count", count_bytes, file.len() as u128)?;
    let (body, last) = file[start..].split_at(file.len() - start - 4);
    let footer_crc = Fields(last).u32();
    let bound = or(header_crc.to_le_bytes().to_vec(), Wrong::DeletionsCrcAlone, Vec::new());
    require_crc("FIL-3", "footer_crc", footer_crc, crc(&[&bound, body]))?;
    require_crc("FIL-4", "footer_crc", footer_crc, entry.footer_crc)?;
    let mut deletions: Vec<PlainDeletion> = Vec::new();
    for bytes in body.chunks(bytes) {
        let mut fields = Fields(bytes);
        let fingerprint = fields.fingerprint(of_fingerprint);
        let (id, word) = (fields.u64(), fields.u64());
        let whole = or(word >> 63 == 1, Wrong::WholeByIdOnly, id == 0);
        let sequence = or(word & !(1 << 63), Wrong::SequenceOf64Bits, word);
        let deletion = PlainDeletion { fingerprint, id: (!whole).then_some(id), sequence };
        let key = |at: &PlainDeletion| {
            // `None` comes before any id.
            let last = at.id.is_none() && is(Wrong::WholeLast);
            let id = at.id.filter(|_| !is(Wrong::OneDeletionEach));
            (at.fingerprint.clone(), last, id)
        };
        let follows = deletions.last().is_none_or(|before| {
            let (before, key) = (key(before), key(&deletion));
            before < key || is(Wrong::DeletionsMayRepeat) && before == key
        });
        let most = or(entry.sequence, Wrong::DeletionsBelowEntry, entry.sequence.saturating_sub(1));
        let in_range = (1..=most).contains(&sequence) || is(Wrong::DeletionsOfAnySequence);
        require(follows && in_range, "DEL-3", || format!("{deletion:x?} in {entry:?}"))?;
        deletions.push(deletion);
    }
    Ok(deletions)
}
