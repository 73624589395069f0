//! Lists of names that are front-coded: what each shares with the name before it, and the rest
//! (section 19.4 of the specification).
//!
//! First come the lengths of all names of a list, then the codes of all rests. So a reader knows
//! where each rest stands before it decodes one, and decodes few.

use std::cmp::Ordering;
use std::ops::Range;

use super::code::{BitWriter, Decoder, Encoder};
use crate::error::Corruption;
use crate::format::{GROUP_NAMES, MOST_NAME_BYTES};

/// Names of a list at most.
pub(super) const MOST_LISTED: usize = GROUP_NAMES as usize - 1;
/// Bytes of an integer at most: no name has more bytes than 3 of these say, nor a rest more bits.
const MOST_LEB_BYTES: u32 = 3;

/// Number of bytes with which both begin.
#[inline]
pub(super) fn shared(before: &[u8], name: &[u8]) -> usize {
    before.iter().zip(name).take_while(|(a, b)| a == b).count()
}

/// Writes lists, one at a time.
#[derive(Default)]
pub(super) struct ListWriter {
    lengths: Vec<u8>,
    codes: BitWriter,
}

impl ListWriter {
    /// Adds a name that follows `before`.
    pub(super) fn push(&mut self, encoder: &Encoder, before: &[u8], name: &[u8]) {
        let shared = shared(before, name);
        let start = self.codes.len();
        encoder.push(&name[shared..], &mut self.codes);
        push_integer(&mut self.lengths, shared as u64);
        push_integer(&mut self.lengths, self.codes.len() - start);
    }

    /// Appends the list to `out`, and starts anew.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.lengths);
        self.codes.take(out);
    }
}

/// The numbers of the names of a list: the first, and how far they are apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) first: u64,
    pub(super) step: u64,
}

impl Numbers {
    fn of(self, place: usize) -> u64 {
        self.first + self.step * place as u64
    }
}

/// The lengths of a list.
pub(super) struct List {
    numbers: Numbers,
    /// Bit of the file at which the codes begin.
    codes_at: usize,
    count: usize,
    shared: [u32; MOST_LISTED],
    /// Where the codes of each name end, in bits from the start of the codes.
    ends: [u32; MOST_LISTED],
}

/// Where a name would be in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of names of the list that are not greater.
    pub(super) before: usize,
    /// Whether the last of them is the name.
    pub(super) is_there: bool,
}

/// What a name takes over from names before it that were not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// How many bytes, the first of the name.
    pub(super) bytes: usize,
    /// The number of the name behind the next one to be decoded: it takes them over from that.
    pub(super) user: u64,
}

impl List {
    /// An empty list.
    pub(super) fn empty() -> Self {
        Self {
            numbers: Numbers { first: 0, step: 0 },
            codes_at: 0,
            count: 0,
            shared: [0; MOST_LISTED],
            ends: [0; MOST_LISTED],
        }
    }

    /// Reads the lengths of the list of `count` names that takes `bytes` of the file, and checks
    /// that they fill it [NAM-12].
    pub(super) fn read(
        &mut self,
        file: &[u8],
        bytes: Range<usize>,
        (count, numbers): (usize, Numbers),
    ) -> Result<(), Corruption> {
        let list = file.get(bytes.clone()).unwrap_or_default();
        let broken = |place, fault| Corruption::NamesCoding { name: numbers.of(place), fault };
        (self.numbers, self.count) = (numbers, 0);
        let (mut at, mut bits) = (0, 0);
        let places = self.shared.iter_mut().zip(&mut self.ends).enumerate();
        for (place, (shared, end)) in places.take(count) {
            let mut integer = || take_integer(list, &mut at);
            let lengths = integer().and_then(|shared| Some((shared, integer()?)));
            let Some((taken, rest)) = lengths else {
                return Err(broken(place, "has no lengths"));
            };
            if rest == 0 {
                return Err(broken(place, "has no rest"));
            }
            bits += rest;
            (*shared, *end) = (taken, bits);
        }
        if (bits as usize).div_ceil(8) != list.len() - at {
            return Err(broken(0, "is in a list of another length than its names have"));
        }
        if bits % 8 != 0 && list.last().is_some_and(|last| last >> (bits % 8) != 0) {
            return Err(broken(0, "is in a list whose padding is not zero"));
        }
        self.codes_at = 8 * (bytes.start + at);
        self.count = count;
        Ok(())
    }

    /// The bits of the file that the rest of a name takes.
    fn rest(&self, place: usize) -> Range<usize> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.codes_at + start as usize..self.codes_at + self.ends[place] as usize
    }

    #[cold]
    fn no_code(&self, place: usize) -> Corruption {
        let name = self.numbers.of(place);
        Corruption::NamesCoding { name, fault: "has bits that are not the codes of whole bytes" }
    }

    /// Puts a name in the place of the one before it, and checks it: [NAM-12] to [NAM-15].
    pub(super) fn advance(
        &self,
        (decoder, file): (&Decoder, &[u8]),
        place: usize,
        name: &mut Vec<u8>,
    ) -> Result<(), Corruption> {
        let shared = self.shared[place] as usize;
        if shared > name.len() {
            return Err(Corruption::NamesShared { name: self.numbers.of(place) });
        }
        let behind = name.get(shared).copied();
        name.truncate(shared);
        let decoded = decoder.append(file, self.rest(place), (name, MOST_NAME_BYTES));
        decoded.map_err(|_| self.no_code(place))?;
        let number = self.numbers.of(place);
        if name.len() > MOST_NAME_BYTES {
            return Err(Corruption::NamesTooLong { name: number });
        }
        if name.get(shared).copied() <= behind {
            return Err(Corruption::NamesOrder { name: number });
        }
        Ok(())
    }

    /// Puts a name in the place of `name`, but for what is given: the bytes that it shares with
    /// what comes before the list.
    pub(super) fn decode(
        &self,
        source: (&Decoder, &[u8]),
        place: usize,
        name: &mut Vec<u8>,
    ) -> Result<Missing, Corruption> {
        let (decoder, file) = source;
        let (bytes, user) = (self.shared[place] as usize, self.numbers.of(place));
        if bytes > MOST_NAME_BYTES {
            return Err(Corruption::NamesShared { name: user });
        }
        name.clear();
        name.resize(bytes, 0);
        let decoded = decoder.append(file, self.rest(place), (name, MOST_NAME_BYTES));
        decoded.map_err(|_| self.no_code(place))?;
        if name.len() > MOST_NAME_BYTES {
            return Err(Corruption::NamesTooLong { name: user });
        }
        self.fill(source, place, (name, Missing { bytes, user }))
    }

    /// Fills in what is missing of a name with bytes of the first `place` names of the list, the
    /// last of these first. Gives what is still missing.
    pub(super) fn fill(
        &self,
        (decoder, file): (&Decoder, &[u8]),
        place: usize,
        (name, mut missing): (&mut [u8], Missing),
    ) -> Result<Missing, Corruption> {
        for earlier in (0..place).rev() {
            let shared = self.shared[earlier] as usize;
            if shared < missing.bytes {
                let part = &mut name[shared..missing.bytes];
                let filled = decoder.fill(file, self.rest(earlier), part);
                if !filled.map_err(|_| self.no_code(earlier))? {
                    return Err(Corruption::NamesShared { name: missing.user });
                }
                missing.bytes = shared;
            }
            missing.user = self.numbers.of(earlier);
        }
        Ok(missing)
    }

    /// Finds the place of `name`, which is greater than what comes before the list and begins with
    /// `common` bytes of it; makes of `common` what it begins with of the last one that is less.
    ///
    /// Only rests that decide are decoded: a name that takes over more than is common compares as
    /// the one before it does, and one that takes over less is greater.
    pub(super) fn find(
        &self,
        (decoder, file): (&Decoder, &[u8]),
        name: &[u8],
        common: &mut usize,
    ) -> Result<Place, Corruption> {
        for place in 0..self.count {
            let shared = self.shared[place] as usize;
            if shared > *common {
                continue;
            }
            if shared < *common {
                return Ok(Place { before: place, is_there: false });
            }
            let compared = decoder.compare(file, self.rest(place), &name[shared..]);
            match compared.map_err(|_| self.no_code(place))? {
                (Ordering::Less, same) => *common += same,
                (Ordering::Equal, _) => return Ok(Place { before: place + 1, is_there: true }),
                (Ordering::Greater, _) => return Ok(Place { before: place, is_there: false }),
            }
        }
        Ok(Place { before: self.count, is_there: false })
    }
}

/// Appends an integer in LEB128.
fn push_integer(to: &mut Vec<u8>, mut n: u64) {
    while n >= 128 {
        to.push(n as u8 | 128);
        n >>= 7;
    }
    to.push(n as u8);
}

/// Takes an integer in LEB128, of at most 3 bytes and no more than it needs.
#[inline(always)]
fn take_integer(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut n = 0;
    for shift in 0..MOST_LEB_BYTES {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u32::from(byte & 127) << (7 * shift);
        if byte & 128 == 0 {
            return (byte != 0 || shift == 0).then_some(n);
        }
    }
    None
}
