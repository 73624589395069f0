//! Goes through the stream of a block key by key, and says which rule a broken key breaks: what
//! decoders leave out.

use super::decode::{Code, Decode, Place, Streams, Symbol, load, raw};
use super::view::low;
use crate::error::Corruption;
use crate::format::Codec;

/// A place in the stream of a block, behind one of its keys.
pub(super) struct Walk<'a> {
    pub(super) code: &'a Code,
    /// `None` if the code is not complete.
    pub(super) decoder: Option<&'a dyn Decode>,
    pub(super) bytes: &'a [u8],
    pub(super) column: &'a [u8],
    /// Number of the block, for errors.
    pub(super) block: u64,
    /// Number of keys of the block.
    pub(super) keys: u32,
    /// Number of the key.
    pub(super) number: u32,
    /// In bits from the start of the block.
    pub(super) place: Place,
}

impl Walk<'_> {
    /// The key at this place, which is not the first, as a number.
    pub(super) fn key(&self) -> u64 {
        self.joined(self.place.middle, self.number)
    }

    /// Key `number`, which is not the first, with this middle, as a number.
    pub(super) fn joined(&self, middle: u64, number: u32) -> u64 {
        let Code { low_bits, .. } = *self.code;
        middle << low_bits | low(self.column, self.code.planes(), self.keys, number)
    }

    /// Moves on to key `number`, which is not before this one.
    ///
    /// # Errors
    ///
    /// The first of [BLK-3] to [BLK-5] that a key breaks.
    pub(super) fn advance_to(&mut self, number: u32) -> Result<(), Corruption> {
        if let Some(decoder) = self.decoder.filter(|_| self.number < number) {
            let streams = Streams { code: self.code, bytes: self.bytes, next: &[] };
            let mut place = self.place;
            if decoder.skip(&streams, &mut place, (number - self.number) as usize) {
                (self.place, self.number) = (place, number);
                return Ok(());
            }
        }
        // Key by key, to find the first that is broken.
        while self.number < number {
            self.advance()?;
        }
        Ok(())
    }

    /// Moves on by one key.
    pub(super) fn advance(&mut self) -> Result<(), Corruption> {
        let Code { codec, above_middle, ref symbols, .. } = *self.code;
        let Place { codes, raws, middle: u } = self.place;
        let symbol = symbols.find(load(self.bytes, codes));
        let codes_end = codes + symbol.code_bits();
        // Codes and raw bits so far lie inside the block.
        let room = self.place.raws_end() - codes;
        if symbol.code_bits() == 0 || symbol.code_bits() + symbol.raw_bits() > room {
            return Err(self.broken(symbol, room));
        }
        let raw = raw::<true>(self.bytes, raws, symbol);
        let (middle, fits) = match codec {
            Codec::Xor => (symbol.after_xor(u, raw), symbol.contradiction(u) == 0),
            Codec::Gap => {
                let v = symbol.after_gap(u, raw);
                (v, v >= u && v >> (63 - above_middle) <= 1)
            }
        };
        if !fits {
            return Err(Corruption::ImpossibleClass { block: self.block, key: self.number + 1 });
        }
        let raws = raws.wrapping_sub(symbol.raw_bits());
        self.place = Place { codes: codes_end, raws, middle };
        self.number += 1;
        Ok(())
    }

    /// Why the bits at this place, with `room` of them up to the raw bits, are no key.
    #[cold]
    fn broken(&self, symbol: Symbol, room: usize) -> Corruption {
        let (block, key) = (self.block, self.number + 1);
        if symbol.code_bits() == 0 && (room > 0 || self.code.symbols.is_empty()) {
            Corruption::InvalidCode { block, key }
        } else {
            Corruption::StreamOverrun { block, key }
        }
    }
}
