//! Groups of strings: what of each is shared with the one before it, and the rest (section 1.5 of the
//! specification).

use std::str;

use crate::error::Corruption;

/// Bytes of text of a group that is kept whole.
const KEPT_BYTES: usize = 1 << 20;

/// Appends `text` to a group in which it follows `before`, and puts it in the place of that.
pub(super) fn push(group: &mut Vec<u8>, before: &mut Vec<u8>, text: &[u8]) {
    let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
    let rest = &text[shared..];
    push_integer(group, shared as u64);
    push_integer(group, rest.len() as u64);
    group.extend_from_slice(rest);
    before.truncate(shared);
    before.extend_from_slice(rest);
}

/// The strings of one group, or one of them: strings that share what stands in the file once are not
/// all kept, however long they become.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    /// One string after the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// Bytes of all strings of the group, kept or not.
    pub(super) group_bytes: u64,
}

impl Texts {
    /// String number `place` of those that are kept.
    pub(super) fn get(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }

    /// Decodes a group of so many strings, of which the first is number `first`; tells whether all are
    /// kept. If not, string `wanted` of the group is the only one.
    pub(super) fn decode(
        &mut self,
        mut bytes: &[u8],
        (first, strings): (u64, u64),
        wanted: usize,
    ) -> Result<bool, Corruption> {
        self.group_bytes = 0;
        self.text.clear();
        self.ends.clear();
        let mut kept = true;
        let mut before: Vec<u8> = Vec::new();
        for number in 0..strings as usize {
            let string = first + number as u64;
            let broken = |fault| Corruption::IdMapString { string, fault };
            let mut integer = || take_integer(&mut bytes).ok_or(broken("has no length"));
            let (shared, rest) = (integer()?, integer()?);
            if shared > before.len() as u64 {
                return Err(broken("takes over more than there is"));
            }
            let rest = bytes.split_off(..usize::try_from(rest).unwrap_or(usize::MAX));
            let rest = rest.ok_or(broken("is longer than its group"))?;
            before.truncate(shared as usize);
            before.extend_from_slice(rest);
            let text = str::from_utf8(&before).map_err(|_| Corruption::IdMapUtf8 { string })?;
            self.group_bytes += text.len() as u64;
            if kept && self.text.len() + text.len() > KEPT_BYTES {
                kept = false;
                self.keep_only(wanted);
            }
            if kept || number == wanted {
                self.text.push_str(text);
                self.ends.push(self.text.len());
            }
        }
        match bytes.len() as u64 {
            0 => Ok(kept),
            bytes => Err(Corruption::IdMapGroupRest { string: first, bytes }),
        }
    }

    /// Forgets all strings but one, if that is there.
    fn keep_only(&mut self, wanted: usize) {
        match self.ends.get(wanted) {
            Some(&end) => {
                self.text.truncate(end);
                let start = wanted.checked_sub(1).map_or(0, |before| self.ends[before]);
                self.text.drain(..start);
                self.ends = vec![end - start];
            }
            None => {
                self.text.clear();
                self.ends.clear();
            }
        }
    }

    /// The same without room for more.
    pub(super) fn shrunk(mut self) -> Self {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + size_of::<usize>() * self.ends.capacity() + size_of::<Self>()
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

/// Takes an integer in LEB128, of at most 9 bytes and no more than it needs.
fn take_integer(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..63).step_by(7) {
        let byte = bytes.split_off_first()?;
        n |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return (*byte != 0 || shift == 0).then_some(n);
        }
    }
    None
}
