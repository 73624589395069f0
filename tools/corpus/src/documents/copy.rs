//! Writes some records of an input again: in its format, with its compression, with all columns.

use std::fs::File;
use std::path::{Path, PathBuf};

use fpstore_records::{Codec, Encoder};

use super::annotate::{Appender, Further};
use super::document::Piece;
use super::inputs::Input;
use crate::error::Error;
use crate::error::failure;
use crate::threads;

/// Copies records of an input of text. What it writes depends on these records alone.
pub struct Copier {
    to: Encoder,
    path: PathBuf,
}

impl Copier {
    /// Starts a file in the compression of `input`, by so many threads where that can be done by
    /// several.
    pub fn start(input: &Input, file: File, path: &Path, threads: usize) -> Result<Self, Error> {
        let threads = match input.codec {
            // The same bytes come of any number.
            Some(Codec::Zstd) => threads::granted(threads.clamp(1, 16))?,
            _ => 1,
        };
        let to = Encoder::new(file, input.codec, threads).map_err(failure(path, "write"))?;
        Ok(Self { to, path: path.to_path_buf() })
    }

    /// Writes bytes as they are: the header of a table.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.to.write(bytes).map_err(failure(&self.path, "write"))
    }

    /// Writes those records of a piece for which `keeps` holds, each asked once, in order.
    pub fn piece(&mut self, piece: &Piece, mut keeps: impl FnMut() -> bool) -> Result<(), Error> {
        for record in (0..piece.len()).filter_map(|index| piece.raw(index)) {
            if keeps() {
                self.bytes(record)?;
            }
        }
        Ok(())
    }

    /// Writes those records of a piece for which `keeps` holds, each with its annotation.
    pub fn annotated(
        &mut self,
        piece: &Piece,
        mut keeps: impl FnMut() -> bool,
        by: &Appender,
        further: &mut Further<'_>,
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for record in (0..piece.len()).filter_map(|index| piece.raw(index)) {
            if keeps() {
                bytes.clear();
                by.record(record, &(further.next)()?, &mut bytes)?;
                self.bytes(&bytes)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, and gives the file.
    pub fn finish(self) -> Result<File, Error> {
        self.to.finish().map_err(failure(&self.path, "write"))
    }
}
