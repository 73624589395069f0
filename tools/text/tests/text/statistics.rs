//! Whether estimates are as good as the theory says.

use fpstore_text::{Fingerprinter, Found, Recipe, Signature};

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Two documents of different words of which `common` are in both and `own` in each alone.
fn documents(random: &mut Random, common: usize, own: usize) -> [String; 2] {
    let mut words = |count: usize| {
        (0..count).map(|_| format!("{:x}", random.next())).collect::<Vec<_>>().join(" ")
    };
    let (shared, a, b) = (words(common), words(own), words(own));
    [format!("{shared} {a}"), format!("{shared} {b}")]
}

fn distances(recipe: &str, common: usize, own: usize, pairs: usize) -> Vec<u32> {
    let recipe: Recipe = recipe.parse().unwrap();
    let mut fingerprinter = Fingerprinter::new(&recipe).unwrap();
    let mut random = Random(0x1234_5678 + common as u64);
    let mut bits = |document: &str| match fingerprinter.fingerprint(document.as_bytes()).found {
        Found::Signature(Signature::Bits(fingerprint)) => fingerprint,
        other => panic!("{other:?}"),
    };
    (0..pairs)
        .map(|_| {
            let [a, b] = documents(&mut random, common, own).map(|document| bits(&document));
            a.distance(&b).unwrap()
        })
        .collect()
}

#[test]
fn one_bit_minhash_of_256_bits_finds_jaccard_of_80_percent_and_not_of_50() {
    // Texts of 20, 90, 900 and 4500 features: the slots of short texts must be as independent as
    // those of long ones.
    for (scale, pairs) in [(2, 4000), (10, 3000), (100, 1000), (500, 300)] {
        // common / (common + 2 own) = 8/10, and 5/10.
        let near = distances("onebit-256 n=1", 8 * scale, scale, pairs);
        let far = distances("onebit-256 n=1", 10 * scale, 5 * scale, pairs);
        let found = near.iter().filter(|distance| **distance <= 40).count();
        let wrong = far.iter().filter(|distance| **distance <= 40).count();
        let mean = near.iter().sum::<u32>() as f64 / pairs as f64;
        let variance =
            near.iter().map(|distance| (f64::from(*distance) - mean).powi(2)).sum::<f64>()
                / pairs as f64;
        println!(
            "{scale}: found {found} of {pairs}, wrong {wrong}; mean {mean:.2}, variance {variance:.2}"
        );
        assert!(found * 1000 >= pairs * 990, "{found} of {pairs} found at {scale}");
        assert!(wrong * 1000 <= pairs + 1000, "{wrong} of {pairs} wrong at {scale}");
        // 256 bits, each with a probability of 0.1: a mean of 25.6 and a variance of 23, less for
        // slots that share features.
        assert!(
            (mean - 25.6).abs() < 20.0 / (pairs as f64).sqrt() && variance < 26.0,
            "mean {mean}, variance {variance} at {scale}"
        );
    }
}

#[test]
fn copies_make_one_permutation_worse_on_short_texts() {
    let variance = |scheme: &str| {
        let distances = distances(&format!("onebit-256 n=1 scheme={scheme}"), 80, 10, 1000);
        let mean = distances.iter().sum::<u32>() as f64 / distances.len() as f64;
        distances.iter().map(|distance| (f64::from(*distance) - mean).powi(2)).sum::<f64>()
            / distances.len() as f64
    };
    let (rounds, copies, independent) =
        (variance("rounds"), variance("one-permutation"), variance("independent"));
    println!("rounds {rounds:.1}, one-permutation {copies:.1}, independent {independent:.1}");
    assert!(rounds < independent && copies > 1.25 * independent, "{rounds} {copies} {independent}");
}

#[test]
fn slots_agree_with_the_probability_of_the_jaccard_similarity() {
    for scheme in ["rounds", "independent", "one-permutation"] {
        let recipe: Recipe = format!("minhash-128 n=1 scheme={scheme}").parse().unwrap();
        let mut fingerprinter = Fingerprinter::new(&recipe).unwrap();
        let mut random = Random(7);
        let mut equal = 0;
        for _ in 0..200 {
            let [a, b] = documents(&mut random, 60, 20).map(|document| {
                match fingerprinter.fingerprint(document.as_bytes()).found {
                    Found::Signature(Signature::Slots(slots)) => slots.into_owned(),
                    other => panic!("{other:?}"),
                }
            });
            equal += a.iter().zip(&b).filter(|(a, b)| a == b).count();
        }
        let share = equal as f64 / (200.0 * 128.0);
        assert!((share - 0.6).abs() < 0.02, "{scheme}: {share}");
    }
}
