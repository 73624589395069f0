//! Lists of names that are front-coded: what each shares with the name before it, and the rest
//! (section 10.5 of the specification).
//!
//! First come the lengths of all names of a list, then the codes of all rests. So a reader knows
//! where each rest stands before it decodes one, and decodes few.

use std::cmp::Ordering;
use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as LE};

use super::code::{BitWriter, Decoder, Encoder};
use crate::error::Corruption;
use crate::format::{GROUP_NAMES, MOST_NAME_BYTES};

/// Names of a list at most.
pub(super) const MOST_LISTED: usize = GROUP_NAMES as usize - 1;
/// Bytes of an integer at most: no name has more bytes than 3 of these say, nor a rest more bits.
const MOST_LEB_BYTES: u32 = 3;

/// Length of the longest common prefix.
#[inline]
pub(super) fn shared(before: &[u8], name: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in before.chunks_exact(8).zip(name.chunks_exact(8)) {
        let differing = LE::read_u64(a) ^ LE::read_u64(b);
        if differing != 0 {
            return same + differing.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    let rest = before[same..].iter().zip(&name[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

/// Writes lists, one at a time.
#[derive(Default)]
pub(super) struct ListWriter {
    lengths: Vec<u8>,
    codes: BitWriter,
}

impl ListWriter {
    /// Adds a name whose longest common prefix with the one before it has `shared` bytes.
    pub(super) fn push(&mut self, encoder: &Encoder, shared: usize, name: &[u8]) {
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

/// The lengths of a list as they stand in the file, taken one after the other.
pub(super) struct Lengths<'a> {
    numbers: Numbers,
    count: usize,
    /// All lengths, of which so many bytes were taken, and so many names.
    lengths: &'a [u8],
    at: usize,
    place: usize,
    /// Bits of the file: where the codes of the next name begin, and where the list ends.
    bit: usize,
    end: usize,
}

/// What a name has in common with the one before it, and the bits of the file that its rest takes.
pub(super) type Entry = (usize, Range<usize>);

/// The lengths of a list, or of its first names.
pub(super) struct List {
    numbers: Numbers,
    /// Bit of the file at which the codes begin.
    codes_at: usize,
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

impl<'a> Lengths<'a> {
    /// The lengths of the list of `count` names that takes `bytes` of the file.
    pub(super) fn new(
        file: &'a [u8],
        bytes: Range<usize>,
        (count, numbers): (usize, Numbers),
    ) -> Self {
        let list = file.get(bytes.clone()).unwrap_or_default();
        // Where some are missing, the first name without them is told when it is taken.
        let end = integers_end(list, 2 * count).unwrap_or(list.len());
        Self {
            numbers,
            count,
            lengths: &list[..end],
            at: 0,
            place: 0,
            bit: 8 * (bytes.start + end),
            end: 8 * (bytes.start + list.len()),
        }
    }

    /// The next name of the list [NAM-7].
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Entry>, Corruption> {
        if self.place == self.count {
            return Ok(None);
        }
        let (shared, rest) =
            (take_integer(self.lengths, &mut self.at), take_integer(self.lengths, &mut self.at));
        let start = self.bit;
        match (shared, rest) {
            (Some(shared), Some(rest)) if rest > 0 && rest as usize <= self.end - start => {
                self.bit += rest as usize;
                self.place += 1;
                Ok(Some((shared as usize, start..self.bit)))
            }
            lengths => Err(self.fault(lengths)),
        }
    }

    #[cold]
    fn fault(&self, lengths: (Option<u32>, Option<u32>)) -> Corruption {
        match lengths {
            (Some(_), Some(0)) => broken(self.numbers.of(self.place), "has no rest"),
            (Some(_), Some(_)) => self.another_length(),
            _ => broken(self.numbers.of(self.place), "has no lengths"),
        }
    }

    #[cold]
    fn another_length(&self) -> Corruption {
        broken(self.numbers.of(0), "is in a list of another length than its names have")
    }

    /// Checks that the codes of all names, which were taken, fill the list [NAM-7].
    fn check_end(&self, file: &[u8]) -> Result<(), Corruption> {
        if self.end - self.bit >= 8 {
            return Err(self.another_length());
        }
        let has_padding = !self.bit.is_multiple_of(8);
        let padded = file.get(self.bit / 8).filter(|_| has_padding);
        if padded.is_some_and(|last| last >> (self.bit % 8) != 0) {
            let fault = "is in a list whose padding is not zero";
            return Err(broken(self.numbers.of(0), fault));
        }
        Ok(())
    }

    /// Finds the place of `name`, which is greater than what comes before the list and begins with
    /// `common` bytes of it; makes of `common` what it begins with of the last one that is less.
    /// Reads the lengths of the names up to there.
    ///
    /// Only rests that decide are decoded: a name that takes over more than is common compares as
    /// the one before it does, and one that takes over less is greater.
    pub(super) fn find(
        mut self,
        (decoder, file): (&Decoder, &[u8]),
        name: &[u8],
        common: &mut usize,
    ) -> Result<Place, Corruption> {
        while let Some((shared, rest)) = self.next()? {
            if shared > *common {
                continue;
            }
            let before = self.place - 1;
            if shared < *common {
                return Ok(Place { before, is_there: false });
            }
            let compared = decoder.compare(file, rest, &name[shared..]);
            match compared.map_err(|_| no_code(self.numbers.of(before)))? {
                (Ordering::Less, same) => *common += same,
                (Ordering::Equal, _) => return Ok(Place { before: before + 1, is_there: true }),
                (Ordering::Greater, _) => return Ok(Place { before, is_there: false }),
            }
        }
        Ok(Place { before: self.count, is_there: false })
    }
}

#[cold]
fn broken(name: u64, fault: &'static str) -> Corruption {
    Corruption::NamesCoding { name, fault }
}

#[cold]
fn no_code(name: u64) -> Corruption {
    broken(name, "has bits that are not the codes of whole bytes")
}

impl List {
    /// An empty list.
    pub(super) fn empty() -> Self {
        Self {
            numbers: Numbers { first: 0, step: 0 },
            codes_at: 0,
            shared: [0; MOST_LISTED],
            ends: [0; MOST_LISTED],
        }
    }

    /// Takes the lengths of the next `count` names, at most [`MOST_LISTED`].
    pub(super) fn take(
        &mut self,
        lengths: &mut Lengths<'_>,
        count: usize,
    ) -> Result<(), Corruption> {
        (self.numbers, self.codes_at) = (lengths.numbers, lengths.bit);
        let places = self.shared.iter_mut().zip(&mut self.ends);
        for (shared, end) in places.take(count) {
            let Some((taken, rest)) = lengths.next()? else { break };
            (*shared, *end) = (taken as u32, (rest.end - self.codes_at) as u32);
        }
        Ok(())
    }

    /// As [`Self::take`] of all names, and checks that these fill the list.
    pub(super) fn take_all(
        &mut self,
        mut lengths: Lengths<'_>,
        file: &[u8],
    ) -> Result<(), Corruption> {
        self.take(&mut lengths, MOST_LISTED)?;
        lengths.check_end(file)
    }

    /// The bits of the file that the rest of a name takes.
    fn rest(&self, place: usize) -> Range<usize> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.codes_at + start as usize..self.codes_at + self.ends[place] as usize
    }

    /// Puts a name in the place of the one before it, and checks it: [NAM-7] to [NAM-10]. Gives
    /// with how many bytes both begin.
    pub(super) fn advance(
        &self,
        (decoder, file): (&Decoder, &[u8]),
        place: usize,
        name: &mut Vec<u8>,
    ) -> Result<usize, Corruption> {
        let shared = self.shared[place] as usize;
        if shared > name.len() {
            return Err(Corruption::NamesShared { name: self.numbers.of(place) });
        }
        let behind = name.get(shared).copied();
        name.truncate(shared);
        let decoded = decoder.append(file, self.rest(place), (name, MOST_NAME_BYTES));
        decoded.map_err(|_| no_code(self.numbers.of(place)))?;
        let number = self.numbers.of(place);
        if name.len() > MOST_NAME_BYTES {
            return Err(Corruption::NamesTooLong { name: number });
        }
        if name.get(shared).copied() <= behind {
            return Err(Corruption::NamesOrder { name: number });
        }
        Ok(shared)
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
        decoded.map_err(|_| no_code(self.numbers.of(place)))?;
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
                if !filled.map_err(|_| no_code(self.numbers.of(earlier)))? {
                    return Err(Corruption::NamesShared { name: missing.user });
                }
                missing.bytes = shared;
            }
            missing.user = self.numbers.of(earlier);
        }
        Ok(missing)
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

/// Where so many integers in LEB128 end, which begin with `bytes`.
#[inline]
fn integers_end(bytes: &[u8], mut integers: usize) -> Option<usize> {
    const LAST: u64 = 0x8080_8080_8080_8080;
    let mut start = 0;
    let words = bytes.chunks_exact(8);
    for word in words {
        if integers == 0 {
            return Some(start);
        }
        // A bit for each byte that ends an integer.
        let mut ends = !LE::read_u64(word) & LAST;
        let count = ((ends >> 7).wrapping_mul(LAST >> 7) >> 56) as usize;
        if count >= integers {
            (1..integers).for_each(|_| ends &= ends - 1);
            return Some(start + ends.trailing_zeros() as usize / 8 + 1);
        }
        integers -= count;
        start += 8;
    }
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if integers == 0 {
            return Some(at);
        }
        integers -= usize::from(byte & 128 == 0);
    }
    (integers == 0).then_some(bytes.len())
}
