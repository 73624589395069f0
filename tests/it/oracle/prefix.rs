//! What every file begins with (section 4.1).

use super::mutation::{Wrong, is, or};
use super::{Checked, Fields, all_zero, crc, require, require_crc, require_equal, support};

/// The header of `file`, which is of the kind `x` and has `least` bytes or, with fields that say
/// so, more, and its CRC. Checks [PRE-1] to [PRE-6].
pub fn read_header(file: &[u8], x: u8, least: usize) -> Checked<(&[u8], u32)> {
    require(file.len() >= 24, "PRE-1", || format!("the file has {} bytes", file.len()))?;
    let mut fields = Fields(file);
    let magic = fields.bytes(8);
    let (major, minor, header_bytes) = (fields.u16(), fields.u16(), fields.u32() as usize);
    let version = |major: u16| support(major == 1, "PRE-5", || format!("version_major is {major}"));
    require_equal("PRE-2", "magic", magic, &[0x89, 0x46, 0x50, 0x53, x, 0x0D, 0x0A, 0x1A])?;
    if is(Wrong::VersionFirst) {
        version(major)?;
    }
    let longest = or(65536, Wrong::HeaderTo4096, 4096);
    let fits = header_bytes.is_multiple_of(8)
        && (24..=longest).contains(&header_bytes)
        && header_bytes <= file.len();
    require(fits, "PRE-3", || format!("header_bytes is {header_bytes}"))?;
    let (covered, after) = file.split_at(header_bytes - 4);
    let header_crc = Fields(after).u32();
    require_crc("PRE-4", "header_crc", header_crc, crc(&[covered]))?;
    version(major)?;
    support(!is(Wrong::MinorRefused) || minor == 0, "PRE-5", || format!("minor {minor}"))?;
    let is_open = x == b'T' || x == b'P';
    let fits = header_bytes == least || is_open && header_bytes > least;
    support(fits, "PRE-6", || format!("header_bytes is {header_bytes}"))?;
    Ok((&file[..header_bytes], header_crc))
}

/// [PRE-6] of a header whose length depends on its fields.
pub fn check_length(header: &[u8], bytes: usize) -> Checked<()> {
    support(header.len() == bytes, "PRE-6", || format!("header_bytes is not {bytes}"))
}

/// [PRE-7].
pub fn check_reserved(reserved: &[u8]) -> Checked<()> {
    support(all_zero(reserved), "PRE-7", || format!("reserved is {reserved:x?}"))
}
