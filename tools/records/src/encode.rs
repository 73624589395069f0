//! Compressed outputs, as the usual programs write them if they are not told more.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::codec::Codec;
use crate::stream::is_out_of_memory;

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;
/// How hard it is compressed: what the usual programs do.
const ZSTD_LEVEL: i32 = 3;
const XZ_LEVEL: u32 = 6;

type To = BufWriter<File>;

/// Writes a file in a compression, or plain.
pub struct Encoder(Kind);

enum Kind {
    Plain(To),
    Gzip(flate2::write::GzEncoder<To>),
    Zstd(zstd::stream::write::Encoder<'static, To>),
    Bzip2(bzip2::write::BzEncoder<To>),
    Xz(liblzma::write::XzEncoder<To>),
    Lz4(lz4_flex::frame::FrameEncoder<To>),
}

impl Encoder {
    /// Starts a file, which zstd compresses by so many threads: the same bytes come of any number.
    pub fn new(file: File, codec: Option<Codec>, threads: usize) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self(match codec {
            None => Kind::Plain(file),
            Some(Codec::Gzip) => {
                Kind::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Some(Codec::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                // At least one, since without any it would come out in other bytes.
                encoder.multithread(threads.max(1) as u32)?;
                Kind::Zstd(encoder)
            }
            Some(Codec::Bzip2) => {
                Kind::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::best()))
            }
            Some(Codec::Xz) => Kind::Xz(liblzma::write::XzEncoder::new(file, XZ_LEVEL)),
            Some(Codec::Lz4) => {
                let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
                Kind::Lz4(lz4_flex::frame::FrameEncoder::with_frame_info(info, file))
            }
        }))
    }

    /// Writes bytes, sooner or later.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let to: &mut dyn Write = match &mut self.0 {
            Kind::Plain(to) => to,
            Kind::Gzip(to) => to,
            Kind::Zstd(to) => to,
            Kind::Bzip2(to) => to,
            Kind::Xz(to) => to,
            Kind::Lz4(to) => to,
        };
        to.write_all(bytes).map_err(told_as_of_system)
    }

    /// Writes what is left, and gives the file.
    pub fn finish(self) -> io::Result<File> {
        let ended = match self.0 {
            Kind::Plain(to) => Ok(to),
            Kind::Gzip(to) => to.finish(),
            Kind::Zstd(to) => to.finish(),
            Kind::Bzip2(to) => to.finish(),
            Kind::Xz(to) => to.finish(),
            Kind::Lz4(to) => to.finish().map_err(io::Error::other),
        };
        let file = ended.and_then(|to| to.into_inner().map_err(io::IntoInnerError::into_error));
        file.map_err(told_as_of_system)
    }
}

/// The error of the system, where an encoder has its own words for being refused memory.
fn told_as_of_system(error: io::Error) -> io::Error {
    match is_out_of_memory(&error) {
        true => io::ErrorKind::OutOfMemory.into(),
        false => error,
    }
}
