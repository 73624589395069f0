//! The signatures of texts, and by how much they differ.

use crate::fingerprinter::Fingerprinter;
use crate::signature::{Found, Signature};

/// Bytes of the hash by which a text with too few features is compared.
const EXACT_BYTES: usize = 16;

/// The signatures of texts, in their order.
#[derive(Clone, Debug)]
pub struct Signatures {
    // The hash of the text where it has too few features.
    answers: Vec<Result<Signature<'static>, u128>>,
}

impl Signatures {
    /// Those of these texts, by the recipe of `fingerprinter`.
    #[must_use]
    pub fn of<S: AsRef<str>>(texts: &[S], fingerprinter: &mut Fingerprinter) -> Signatures {
        let mut answer = |text: &S| match fingerprinter.fingerprint(text.as_ref().as_bytes()).found
        {
            Found::Signature(signature) => Ok(signature.into_owned()),
            Found::TooFew { exact } => Err(exact),
        };
        Signatures { answers: texts.iter().map(&mut answer).collect() }
    }

    /// By how much the signatures of two texts differ, by their places; 0 for equal texts with too
    /// few features, and `None` if no k can find the pair, since one has a signature and the other
    /// has not, or both have none and differ.
    #[must_use]
    pub fn difference(&self, a: usize, b: usize) -> Option<u32> {
        match (self.answers.get(a)?, self.answers.get(b)?) {
            (Ok(a), Ok(b)) => a.difference(b),
            (Err(a), Err(b)) if a == b => Some(0),
            _ => None,
        }
    }

    /// How many bytes a text takes on average.
    #[must_use]
    pub fn bytes_per_document(&self) -> f64 {
        let bytes = |answer: &Result<Signature<'_>, u128>| match answer {
            Ok(signature) => signature.bytes(),
            Err(_) => EXACT_BYTES,
        };
        self.answers.iter().map(bytes).sum::<usize>() as f64 / self.answers.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_a_signature_are_compared_exactly() {
        let mut fingerprinter = Fingerprinter::new(&"simhash-64 n=1".parse().unwrap()).unwrap();
        let texts =
            ["one two three four five", "few", "few", "less", "one two three four five six"];
        let signatures = Signatures::of(&texts, &mut fingerprinter);
        assert_eq!(signatures.difference(1, 2), Some(0));
        assert_eq!(signatures.difference(1, 3), None);
        assert_eq!(signatures.difference(0, 1), None);
        assert_eq!(signatures.difference(0, 5), None);
        assert!(signatures.difference(0, 4).is_some_and(|difference| difference > 0));
        assert_eq!(signatures.bytes_per_document(), (2.0 * 8.0 + 3.0 * 16.0) / 5.0);
    }
}
