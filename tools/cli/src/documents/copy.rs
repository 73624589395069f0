//! Writes some records of an input again: in its format, with its compression, with all columns.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fpstore_records::{Codec, is_out_of_memory};

use super::inputs::Input;
use super::piece::Piece;
use crate::failure::Failure;
use crate::target::failure;
use crate::threads;

/// Bytes that are written together.
const BUFFER_BYTES: usize = 1 << 18;
/// How hard it is compressed: what the usual programs do if they are not told.
const ZSTD_LEVEL: i32 = 3;
const XZ_LEVEL: u32 = 6;

/// Copies records of an input of text. What it writes depends on these records alone.
pub struct Copier {
    to: Encoder,
    path: PathBuf,
}

enum Encoder {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Bzip2(bzip2::write::BzEncoder<BufWriter<File>>),
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
    Lz4(lz4_flex::frame::FrameEncoder<BufWriter<File>>),
}

impl Copier {
    /// Starts a file in the compression of `input`, by so many threads where that can be done by several.
    pub fn start(input: &Input, file: File, path: &Path, threads: usize) -> Result<Self, Failure> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let to = match input.codec {
            None => Encoder::Plain(file),
            Some(Codec::Gzip) => {
                Encoder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Some(Codec::Zstd) => {
                // The same bytes come of any number.
                let threads = threads::granted(threads.clamp(1, 16))?;
                let encoder = zstd::stream::write::Encoder::new(file, ZSTD_LEVEL);
                let encoder = encoder.and_then(|mut encoder| {
                    encoder.include_checksum(true)?;
                    // At least one, since without any it would come out in other bytes.
                    encoder.multithread(threads as u32)?;
                    Ok(encoder)
                });
                Encoder::Zstd(encoder.map_err(failure(path, "write"))?)
            }
            Some(Codec::Bzip2) => {
                Encoder::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::best()))
            }
            Some(Codec::Xz) => Encoder::Xz(liblzma::write::XzEncoder::new(file, XZ_LEVEL)),
            Some(Codec::Lz4) => {
                let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
                Encoder::Lz4(lz4_flex::frame::FrameEncoder::with_frame_info(info, file))
            }
        };
        Ok(Self { to, path: path.to_path_buf() })
    }

    /// Writes bytes as they are: the header of a table.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write(bytes).map_err(failure(&self.path, "write"))
    }

    /// Writes those records of a piece for which `keeps` holds, each asked once, in order.
    pub fn piece(&mut self, piece: &Piece, mut keeps: impl FnMut() -> bool) -> Result<(), Failure> {
        for record in piece.raw().into_iter().flatten() {
            if keeps() {
                self.write(record).map_err(failure(&self.path, "write"))?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and gives the file.
    pub fn finish(self) -> Result<File, Failure> {
        let ended = match self.to {
            Encoder::Plain(to) => Ok(to),
            Encoder::Gzip(to) => to.finish(),
            Encoder::Zstd(to) => to.finish(),
            Encoder::Bzip2(to) => to.finish(),
            Encoder::Xz(to) => to.finish(),
            Encoder::Lz4(to) => to.finish().map_err(io::Error::other),
        };
        let file = ended.and_then(|to| to.into_inner().map_err(io::IntoInnerError::into_error));
        file.map_err(told_as_of_system).map_err(failure(&self.path, "write"))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match &mut self.to {
            Encoder::Plain(to) => to.write_all(bytes),
            Encoder::Gzip(to) => to.write_all(bytes),
            Encoder::Zstd(to) => to.write_all(bytes),
            Encoder::Bzip2(to) => to.write_all(bytes),
            Encoder::Xz(to) => to.write_all(bytes),
            Encoder::Lz4(to) => to.write_all(bytes),
        };
        written.map_err(told_as_of_system)
    }
}

/// The error of the system, where an encoder has its own words for being refused memory.
fn told_as_of_system(error: io::Error) -> io::Error {
    match is_out_of_memory(&error) {
        true => io::ErrorKind::OutOfMemory.into(),
        false => error,
    }
}
