//! Bytes of an input: buffered, decompressed, and counted where they come from the disk.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::CONCATENATED;
use lz4_flex::frame::FrameDecoder;

use crate::codec::{Codec, HEAD_BYTES, Undecodable, skip_bom};
use crate::error::Problem;

/// What the dictionary of xz may take: `xz -9` makes those of 64 MiB.
const XZ_BYTES: u64 = 128 << 20;

/// Bytes that were read from an input, compressed where it is; shared with who shows progress.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// So many.
    pub fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Tells that reading has come to byte `at`, or beyond.
    #[cfg_attr(
        not(feature = "parquet"),
        allow(dead_code, reason = "for readers that were not built")
    )]
    pub fn reach(&self, at: u64) {
        self.0.fetch_max(at, Relaxed);
    }
}

struct Counted<R>(R, Counter);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.read(to)?;
        self.1.0.fetch_add(bytes as u64, Relaxed);
        Ok(bytes)
    }
}

/// Tells failures of a decoder from those of the disk.
struct Decoded<R>(R, Codec);

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map_err(|error| undecodable(error, self.1))
    }
}

/// The members of a file of gzip. Zeros behind the last one, as tapes and blocks of disks are
/// filled up with, are none.
struct Members(Option<GzDecoder<Stream>>);

impl Read for Members {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let bytes = member.read(to)?;
            if bytes > 0 || to.is_empty() {
                return Ok(bytes);
            }
            let Some(mut rest) = self.0.take().map(GzDecoder::into_inner) else { break };
            let mut has_zeros = false;
            loop {
                let there = rest.fill_buf()?;
                let zeros = there.iter().take_while(|&&byte| byte == 0).count();
                let (is_end, is_more) = (there.is_empty(), zeros < there.len());
                rest.consume(zeros);
                has_zeros |= zeros > 0;
                if is_end {
                    return Ok(0);
                }
                if is_more && has_zeros {
                    let cause = "something stands behind the zeros that fill it up";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
                }
                if is_more {
                    break;
                }
            }
            self.0 = Some(GzDecoder::new(rest));
        }
        Ok(0)
    }
}

/// The frames of a file of LZ4. Their decoder takes a frame that is cut behind a block for a whole
/// one.
struct Frames(FrameDecoder<Asked>);

/// An input, and whether more was asked for than it has.
struct Asked(Stream, bool);

impl Read for Asked {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.read(to)?;
        self.1 |= bytes == 0 && !to.is_empty();
        Ok(bytes)
    }
}

impl Read for Frames {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.0.read(to)?;
            if bytes > 0 || to.is_empty() {
                return Ok(bytes);
            }
            let Asked(input, was_cut) = self.0.get_mut();
            if *was_cut {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
        }
    }
}

/// Whether a coder was refused memory, in its own words.
pub fn is_out_of_memory(error: &io::Error) -> bool {
    let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
    matches!(reason, Some(liblzma::stream::Error::Mem))
        || error.to_string().contains("not enough memory")
}

/// What to do where a decoder gets no memory.
const MORE_MEMORY: &str = "allow more memory (`ulimit -v`, the limit of the container)";

fn undecodable(error: io::Error, codec: Codec) -> io::Error {
    if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
        return error;
    }
    let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
    let (cause, advice) = match reason {
        Some(liblzma::stream::Error::MemLimit) => (
            format!("its dictionary takes more than {} MiB", XZ_BYTES >> 20),
            "compress it with `xz -9` or less",
        ),
        _ if is_out_of_memory(&error) => (error.to_string(), MORE_MEMORY),
        _ => (
            error.to_string(),
            "the file is cut or damaged: fetch it again, or give --format auto,uncompressed if it is not \
             compressed",
        ),
    };
    io::Error::other(Undecodable { codec, cause, advice })
}

/// A buffered input, of which the first bytes can be looked at before they are read.
pub struct Stream {
    reader: Box<dyn Read + Send>,
    counter: Counter,
    buffer: Box<[u8]>,
    /// What is in the buffer and was not consumed.
    start: usize,
    end: usize,
    ended: bool,
}

impl Stream {
    /// An input whose bytes are counted.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        let counter = Counter::default();
        Self::buffered(Box::new(Counted(reader, counter.clone())), counter)
    }

    fn buffered(reader: Box<dyn Read + Send>, counter: Counter) -> Self {
        let buffer = vec![0; HEAD_BYTES].into_boxed_slice();
        Self { reader, counter, buffer, start: 0, end: 0, ended: false }
    }

    /// The decompressed input. Bytes are still counted before that.
    pub fn decompressed(self, codec: Codec) -> io::Result<Self> {
        let counter = self.counter.clone();
        let reader: Box<dyn Read + Send> = match codec {
            Codec::Gzip => Box::new(Decoded(Members(Some(GzDecoder::new(self))), codec)),
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(self);
                Box::new(Decoded(decoder.map_err(|error| undecodable(error, codec))?, codec))
            }
            Codec::Bzip2 => Box::new(Decoded(MultiBzDecoder::new(self), codec)),
            Codec::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_BYTES, CONCATENATED);
                let stream = stream.map_err(|error| undecodable(error.into(), codec))?;
                Box::new(Decoded(XzDecoder::new_stream(self, stream), codec))
            }
            Codec::Lz4 => Box::new(Decoded(Frames(FrameDecoder::new(Asked(self, false))), codec)),
        };
        Ok(Self::buffered(reader, counter))
    }

    /// How it is compressed, of which no more is read than tells it.
    pub fn codec(&mut self) -> Result<Option<Codec>, Problem> {
        while !self.ended && (self.head().is_empty() || Codec::may_follow(self.head())) {
            if let Some(codec) = Codec::judge(self.head()) {
                return Ok(Some(codec));
            }
            self.grow().map_err(|error| self.problem(error))?;
        }
        Ok(Codec::judge(self.head()))
    }

    /// The count of bytes.
    pub fn counter(&self) -> Counter {
        self.counter.clone()
    }

    /// The bytes that are there without reading more.
    pub fn head(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes over a byte order mark at the head.
    pub fn skip_mark(&mut self) {
        let mark = self.head().len() - skip_bom(self.head()).len();
        self.consume(mark);
    }

    /// Whether all bytes are in the buffer or consumed.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the head cannot grow.
    pub fn is_full(&self) -> bool {
        self.ended || self.end == self.buffer.len()
    }

    /// Reads once, behind the head.
    pub fn grow(&mut self) -> io::Result<()> {
        while !self.is_full() {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(bytes) => {
                    self.end += bytes;
                    self.ended = bytes == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What a failed read of this input means.
    pub fn problem(&self, error: io::Error) -> Problem {
        Problem::from_io(error, self.counter.bytes())
    }

    /// The bytes that are there, read if there are none; empty at the end.
    pub fn piece(&mut self) -> Result<&[u8], Problem> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if let Err(error) = self.grow() {
                return Err(self.problem(error));
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }
}

impl BufRead for Stream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.grow()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let bytes = there.len().min(to.len());
        to[..bytes].copy_from_slice(&there[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

    use super::*;

    fn decompressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let stream = Stream::new(Cursor::new(bytes.to_vec()));
        stream.decompressed(Codec::Lz4)?.read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn frames_of_lz4_that_are_cut_anywhere_are_refused() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|i| i.wrapping_mul(i).to_le_bytes()).collect();
        let info = FrameInfo::new().block_size(BlockSize::Max64KB);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(&text).unwrap();
        let whole = encoder.finish().unwrap();
        assert_eq!(decompressed(&whole).unwrap(), text);
        assert_eq!(decompressed(&[&whole[..], &whole].concat()).unwrap(), text.repeat(2));
        // Behind a block stands the length of the next one.
        let (mut cuts, mut at) = (vec![0, 1, 4, 6, whole.len() - 1, whole.len() - 4], 7);
        while at + 4 < whole.len() {
            let length = u32::from_le_bytes(*whole[at..].first_chunk().unwrap()) << 1 >> 1;
            at += 4 + length as usize;
            cuts.extend([at - 1, at, at + 2].into_iter().filter(|&cut| cut < whole.len()));
        }
        assert!(cuts.len() > 12, "several blocks");
        for cut in cuts {
            let error = decompressed(&whole[..cut]).unwrap_err();
            assert!(error.to_string().starts_with("lz4: "), "{cut}: {error}");
        }
    }
}
