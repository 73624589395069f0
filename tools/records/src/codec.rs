//! How a file is compressed as a whole, told from its first bytes.

use std::fmt;

/// So many bytes of an input can be looked at before they are read.
pub const HEAD_BYTES: usize = 1 << 16;

/// A way to compress a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// gzip; several members one after the other are one text.
    Gzip,
    /// Zstandard; several frames one after the other are one text.
    Zstd,
    /// bzip2; several streams one after the other are one text.
    Bzip2,
    /// xz; several streams one after the other are one text.
    Xz,
    /// The frames of LZ4; several one after the other are one text.
    Lz4,
}

/// So many bytes tell the codec.
pub const MAGIC_BYTES: usize = 10;
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = b"\xfd7zXZ\0";
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
/// Stands before a number of 100 kB, and that before a block or the end.
const BZIP2: &[u8] = b"BZh";
const BZIP2_BLOCKS: [&[u8]; 2] = [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"];

impl Codec {
    /// The ways by the names that users give them.
    pub const NAMES: &[(&str, Option<Self>)] = &[
        ("none", None),
        ("gzip", Some(Self::Gzip)),
        ("zstd", Some(Self::Zstd)),
        ("bzip2", Some(Self::Bzip2)),
        ("xz", Some(Self::Xz)),
        ("lz4", Some(Self::Lz4)),
    ];

    /// The codec of an input that begins with these bytes.
    pub fn judge(head: &[u8]) -> Option<Self> {
        match head {
            // Deflate, and none of the reserved flags.
            [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => Some(Codec::Gzip),
            head if head.starts_with(ZSTD) => Some(Codec::Zstd),
            head if head.starts_with(XZ) => Some(Codec::Xz),
            head if head.starts_with(LZ4) => Some(Codec::Lz4),
            // The first of these is text as well, so all of it must be there.
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
                if BZIP2_BLOCKS.iter().any(|block| rest.starts_with(block)) =>
            {
                Some(Codec::Bzip2)
            }
            // A frame to be skipped, which some compressors write first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Codec::Zstd),
            _ => None,
        }
    }

    /// Whether these may be the first bytes of a codec, where they are too few to tell.
    pub fn may_follow(head: &[u8]) -> bool {
        let is_first = |magic: &[u8]| magic.starts_with(head) || head.starts_with(magic);
        head.len() < MAGIC_BYTES && [GZIP, ZSTD, XZ, LZ4, BZIP2].into_iter().any(is_first)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
            Codec::Lz4 => "lz4",
        })
    }
}

/// Why bytes could not be decompressed; an error of reading that is not the disk's.
#[derive(Debug, thiserror::Error)]
#[error("{codec}: {cause}")]
pub struct Undecodable {
    /// What the bytes should be.
    pub codec: Codec,
    /// The words of the decoder.
    pub cause: String,
    /// What to do.
    pub advice: &'static str,
}

/// The text without the byte order mark that some editors put before UTF-8.
pub fn skip_bom(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}
