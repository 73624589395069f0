//! What the Python package `simhash` 2.1.2 gives with its defaults, bit for bit.
//!
//! The text in lower case as Python's `str.lower` has it; of that, letters and numbers (general
//! categories L and N) and underscores; all 4-grams of these characters, or the whole if there are
//! fewer than four; of each the last 8 bytes of its MD5, most significant first; the majority in
//! each bit, each 4-gram as often as it is there, a tie being a zero.
//!
//! The package gives all texts without a letter one constant; here these have too few features.
//! Characters that are not in Unicode 16 stay as they are and count as no letters, while the
//! package goes by the version of the Python that runs it.

use md5::{Digest, Md5};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::Sketch;
use crate::count::BitCounts;
use crate::fingerprint::Fingerprint;

/// The characters that the package takes of a text.
fn letters(text: &str) -> Vec<char> {
    let mut lower = String::with_capacity(text.len());
    let known = |character: char| character.general_category() != GeneralCategory::Unassigned;
    for run in text.split_inclusive(|character: char| !known(character)) {
        let end = run
            .chars()
            .next_back()
            .filter(|last| !known(*last))
            .map_or(run.len(), |last| run.len() - last.len_utf8());
        lower.push_str(&run[..end].to_lowercase());
        lower.push_str(&run[end..]);
    }
    let is_letter = |character: &char| {
        use GeneralCategoryGroup::{Letter, Number};
        *character == '_' || matches!(character.general_category_group(), Letter | Number)
    };
    lower.chars().filter(is_letter).collect()
}

/// Gives `give` each piece of `text` that is hashed, and its hash.
pub(crate) fn pieces(text: &str, mut give: impl FnMut(&[char], u64)) {
    let letters = letters(text);
    letters.windows(4.min(letters.len()).max(1)).for_each(|piece| give(piece, hash(piece)));
}

fn hash(piece: &[char]) -> u64 {
    let digest: [u8; 16] = Md5::digest(piece.iter().collect::<String>().as_bytes()).into();
    digest[8..].iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// Hashes of pieces, counted bit by bit.
pub(crate) struct Counts(BitCounts<1>);

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts(BitCounts::new())
    }

    pub(crate) fn finish(&mut self) -> Fingerprint {
        Fingerprint::from(self.0.majority()[0])
    }
}

impl Sketch for Counts {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, hash: u64) {
        self.0.add([hash]);
    }
}
