//! The code of the bytes of names: one Huffman code for a whole file (sections 6.5 and 6.6 of the
//! specification).

use std::cmp::Ordering;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use crate::codec::huffman::{self, Code};
use crate::format::MAX_CODE_BITS;

/// Looks at so many bits find a code.
const TABLE_BITS: u32 = MAX_CODE_BITS;

/// Gives bytes their codes.
pub(super) struct Encoder {
    codes: Vec<Code>,
}

impl Encoder {
    /// The codes of these lengths.
    pub(super) fn new(lengths: &[u8; 256]) -> Self {
        Self { codes: huffman::codes(lengths) }
    }

    /// Appends the codes of `rest` to a stream.
    pub(super) fn push(&self, rest: &[u8], stream: &mut BitWriter) {
        for &byte in rest {
            let code = self.codes[usize::from(byte)];
            stream.push(u64::from(code.bits), u32::from(code.length));
        }
    }
}

/// A stream of bits, the first of them the least significant of the first byte.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    word: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends `length` bits, at most 32; all above them are zero.
    #[inline]
    fn push(&mut self, bits: u64, length: u32) {
        self.word |= bits << self.filled;
        self.filled += length;
        if self.filled >= 32 {
            self.bytes.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.filled -= 32;
        }
    }

    /// Number of bits so far.
    pub(super) fn len(&self) -> u64 {
        8 * self.bytes.len() as u64 + u64::from(self.filled)
    }

    /// Appends the bytes, the last of them filled up with zeros, to `out`, and starts anew.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        let last = self.word.to_le_bytes();
        self.bytes.extend_from_slice(&last[..self.filled.div_ceil(8) as usize]);
        out.extend_from_slice(&self.bytes);
        self.bytes.clear();
        (self.word, self.filled) = (0, 0);
    }
}

/// What the next bits of a stream say.
#[derive(Clone, Copy, Default)]
struct Step {
    byte: u8,
    /// Bits of its code; 0 where no code begins so.
    bits: u8,
    /// The byte behind it.
    second: u8,
    /// Bits of the codes of both; 0 where the second one is not whole.
    both: u8,
}

/// Finds bytes by their codes.
pub(super) struct Decoder {
    steps: Box<[Step; 1 << TABLE_BITS]>,
}

/// Bits that are not the codes of whole bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoCode;

impl Decoder {
    /// Of code lengths that are at most 11; `None` where they make no complete code for so many
    /// names [NAM-1].
    pub(super) fn new(lengths: &[u8; 256], name_count: u64) -> Option<Self> {
        huffman::check_complete(lengths, name_count).ok()?;
        let mut steps = Box::new([Step::default(); 1 << TABLE_BITS]);
        for (byte, code) in huffman::codes(lengths).into_iter().enumerate() {
            if code.length == 0 {
                continue;
            }
            let step = Step { byte: byte as u8, bits: code.length, ..Step::default() };
            steps[usize::from(code.bits)..].iter_mut().step_by(1 << code.length).for_each(|at| {
                *at = step;
            });
        }
        for at in 0..steps.len() {
            let first = steps[at];
            let second = steps[at >> first.bits];
            let both = first.bits + second.bits;
            if second.bits > 0 && u32::from(both) <= TABLE_BITS {
                (steps[at].second, steps[at].both) = (second.byte, both);
            }
        }
        Some(Self { steps })
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        size_of_val(&*self.steps) as u64
    }

    /// The bytes whose codes are some bits of `file`, one after the other.
    #[inline(always)]
    fn bytes<'a>(&'a self, file: &'a [u8], bits: Range<usize>) -> Bytes<'a> {
        Bytes { steps: &self.steps, file, at: bits.start, end: bits.end, word: 0, left: 0 }
    }

    /// Appends the bytes of a rest to a name, and stops soon behind `most` bytes of it.
    pub(super) fn append(
        &self,
        file: &[u8],
        bits: Range<usize>,
        (name, most): (&mut Vec<u8>, usize),
    ) -> Result<(), NoCode> {
        let mut bytes = self.bytes(file, bits);
        while let Some((pair, is_pair)) = bytes.next_two()? {
            name.extend_from_slice(if is_pair { &pair } else { &pair[..1] });
            if name.len() > most {
                break;
            }
        }
        Ok(())
    }

    /// Fills a part of a name with the first bytes of a rest; whether it has so many.
    pub(super) fn fill(
        &self,
        file: &[u8],
        bits: Range<usize>,
        part: &mut [u8],
    ) -> Result<bool, NoCode> {
        let mut bytes = self.bytes(file, bits);
        for place in part {
            match bytes.next()? {
                Some(byte) => *place = byte,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Compares a rest with a part of a name; gives also how many bytes are the same.
    pub(super) fn compare(
        &self,
        file: &[u8],
        bits: Range<usize>,
        part: &[u8],
    ) -> Result<(Ordering, usize), NoCode> {
        let mut bytes = self.bytes(file, bits);
        for (same, wanted) in part.iter().enumerate() {
            let Some(byte) = bytes.next()? else { return Ok((Ordering::Less, same)) };
            match byte.cmp(wanted) {
                Ordering::Equal => {}
                order => return Ok((order, same)),
            }
        }
        let ends = bytes.next()?.is_none();
        Ok((if ends { Ordering::Equal } else { Ordering::Greater }, part.len()))
    }
}

/// Reads codes one after the other.
struct Bytes<'a> {
    steps: &'a [Step; 1 << TABLE_BITS],
    file: &'a [u8],
    at: usize,
    end: usize,
    /// The next bits, of which so many are loaded.
    word: u64,
    left: u32,
}

impl Bytes<'_> {
    #[inline(always)]
    fn next(&mut self) -> Result<Option<u8>, NoCode> {
        let Some(step) = self.step() else { return Ok(None) };
        self.pass(step.bits)?;
        Ok(Some(step.byte))
    }

    /// The next two bytes, or the next one in the first place; and whether it is two.
    #[inline(always)]
    fn next_two(&mut self) -> Result<Option<([u8; 2], bool)>, NoCode> {
        let Some(step) = self.step() else { return Ok(None) };
        let is_pair = step.both > 0 && self.at + usize::from(step.both) <= self.end;
        self.pass(if is_pair { step.both } else { step.bits })?;
        Ok(Some(([step.byte, step.second], is_pair)))
    }

    /// What the next bits say; `None` at the end.
    #[inline(always)]
    fn step(&mut self) -> Option<Step> {
        if self.at >= self.end {
            return None;
        }
        if self.left < TABLE_BITS {
            self.load();
        }
        Some(self.steps[self.word as usize % (1 << TABLE_BITS)])
    }

    /// Goes behind some bits, at most [`TABLE_BITS`]; 0 are no code.
    #[inline(always)]
    fn pass(&mut self, bits: u8) -> Result<(), NoCode> {
        self.at += usize::from(bits);
        if bits == 0 || self.at > self.end {
            return Err(NoCode);
        }
        self.word >>= bits;
        self.left -= u32::from(bits);
        Ok(())
    }

    /// Loads at least 57 bits. Those behind the end of the file are zero.
    #[inline(always)]
    fn load(&mut self) {
        let first = self.at / 8;
        let word = match self.file.get(first..first + 8) {
            Some(word) => LE::read_u64(word),
            None => self.last_word(first),
        };
        self.word = word >> (self.at % 8);
        self.left = u64::BITS - (self.at % 8) as u32;
    }

    #[cold]
    fn last_word(&self, first: usize) -> u64 {
        let mut word = [0; 8];
        let bytes = self.file.get(first..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(8)];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }
}
