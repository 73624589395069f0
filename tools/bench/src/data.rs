//! Sets to measure: read from files, or drawn from a stated model with a fixed seed.
//!
//! The models are these. Every number comes from xoshiro256++, seeded with [`SEED`], so a model
//! gives the same set everywhere.
//!
//! * **uniform**: every fingerprint is uniform over all of its width.
//! * **clustered**: clusters of near duplicates. A centre is uniform; the size of a cluster follows
//!   the power law P(s) ~ s^-2.5 for s from 1 to 1000; every member but the centre has 1 to 4
//!   distinct random bits of the centre flipped, each number of flips as often.
//! * **skewed**: long shared prefixes. The first 16 bits are one of 2^16 prefixes, of which the one
//!   of rank r comes with the probability ~ 1/r (Zipf); ranks are spread over the prefixes by an
//!   odd factor. The other bits are uniform.

use std::path::PathBuf;

use fpstore::Fingerprint;
use fpstore_cli::command_line::quoted_path;
use fpstore_cli::failure::Failure;
use fpstore_cli::input::InputArgs;
use fpstore_cli::skipped::Skipped;
use fpstore_records::{Records, Source};
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The seed of all models.
pub const SEED: u64 = 20_070_508;
/// The exponent of the power law of cluster sizes.
const CLUSTER_EXPONENT: f64 = 2.5;
/// The largest cluster.
const LARGEST_CLUSTER: u32 = 1000;
/// The most bits in which a member differs from its centre.
const MOST_FLIPS: u32 = 4;
/// Bits of a skewed prefix.
const PREFIX_BITS: u32 = 16;

/// Random numbers that are the same everywhere.
pub type Random = Xoshiro256PlusPlus;

/// A model that sets are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Uniform fingerprints.
    Uniform,
    /// Clusters of near duplicates.
    Clustered,
    /// Long shared prefixes.
    Skewed,
}

impl Model {
    /// What the model is, in a line.
    pub fn text(self) -> String {
        match self {
            Model::Uniform => "uniform over all numbers of the width".to_string(),
            Model::Clustered => format!(
                "uniform centres; cluster sizes by P(s) ~ s^-{CLUSTER_EXPONENT}, s up to \
                 {LARGEST_CLUSTER}; members with 1 to {MOST_FLIPS} bits flipped"
            ),
            Model::Skewed => format!(
                "{PREFIX_BITS}-bit prefixes by Zipf's law with exponent 1; the other bits uniform"
            ),
        }
    }

    /// `count` fingerprints in the order in which they were drawn. Few of them coincide.
    pub fn draw<F: Fingerprint>(self, count: usize) -> Vec<F> {
        let mut random = Random::seed_from_u64(SEED);
        match self {
            Model::Uniform => (0..count).map(|_| uniform(&mut random)).collect(),
            Model::Clustered => clustered(count, &mut random),
            Model::Skewed => skewed(count, &mut random),
        }
    }
}

/// A uniform fingerprint: a number for each of its words, the most significant first.
pub fn uniform<F: Fingerprint>(random: &mut Random) -> F {
    let mut bytes = F::Bytes::default();
    for bytes in bytes.as_mut().chunks_mut(8) {
        let own = bytes.len();
        bytes.copy_from_slice(&random.next_u64().to_be_bytes()[..own]);
    }
    F::from_be_bytes(bytes)
}

fn clustered<F: Fingerprint>(count: usize, random: &mut Random) -> Vec<F> {
    let mut set = Vec::with_capacity(count);
    let Ok(sizes) = Zipf::new(f64::from(LARGEST_CLUSTER), CLUSTER_EXPONENT) else { return set };
    while set.len() < count {
        let centre = uniform(random);
        let size: f64 = sizes.sample(random);
        set.push(centre);
        for _ in 1..(size as usize).min(count - set.len() + 1) {
            let flips = random.random_range(1..=MOST_FLIPS);
            set.push(flip(centre, flips, random));
        }
    }
    set
}

fn skewed<F: Fingerprint>(count: usize, random: &mut Random) -> Vec<F> {
    let Ok(ranks) = Zipf::new(2f64.powi(PREFIX_BITS as i32), 1.0) else { return Vec::new() };
    let one = |_| {
        let rank: f64 = ranks.sample(random);
        let mut bytes = uniform::<F>(random).to_be_bytes();
        let prefix = prefix_of_rank(rank as u64).to_be_bytes();
        let prefix = &prefix[prefix.len() - PREFIX_BITS as usize / 8..];
        bytes.as_mut().rotate_right(prefix.len());
        bytes.as_mut()[..prefix.len()].copy_from_slice(prefix);
        F::from_be_bytes(bytes)
    };
    (0..count).map(one).collect()
}

/// The prefix that comes with the probability of `rank`, from 1 on.
fn prefix_of_rank(rank: u64) -> u64 {
    (rank - 1).wrapping_mul(0x9E37_79B9) & ((1 << PREFIX_BITS) - 1)
}

/// `fingerprint` with so many distinct random bits flipped, at most all.
pub fn flip<F: Fingerprint>(fingerprint: F, flips: u32, random: &mut Random) -> F {
    let (mut bytes, mut flipped) = (fingerprint.to_be_bytes(), Vec::new());
    while (flipped.len() as u32) < flips.min(F::BITS) {
        let bit = random.random_range(0..F::BITS);
        if !flipped.contains(&bit) {
            flipped.push(bit);
            // Bit 0 is the least significant one here.
            let byte = bytes.as_ref().len() - 1 - bit as usize / 8;
            bytes.as_mut()[byte] ^= 1 << (bit % 8);
        }
    }
    F::from_be_bytes(bytes)
}

/// Where a set comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// A file name, or the name of a model and its count.
    pub name: String,
    /// What `pack` takes for it.
    pub input: String,
    /// The model, in words, with the seed.
    pub model: Option<String>,
    /// Fingerprints read or drawn.
    pub read: u64,
    /// Distinct ones.
    pub distinct: u64,
    /// Their width.
    #[serde(default = "bits")]
    pub bits: u32,
}

/// The width of results that do not say it.
fn bits() -> u32 {
    u64::BITS
}

/// Inputs and how they are read, as a command that packs them takes it.
pub fn input_of(paths: &[PathBuf], reading: &InputArgs) -> String {
    let names: Vec<_> = paths.iter().map(|path| quoted_path(path)).collect();
    format!("{}{}", names.join(" "), reading.given())
}

/// A set, in ascending order and without repeats.
pub struct Data<F> {
    pub origin: Origin,
    pub set: Vec<F>,
    /// Each fingerprint with its position in the input, if these are packed as ids.
    pub pairs: Option<Vec<(F, u64)>>,
}

impl<F: Fingerprint> Data<F> {
    /// Draws `count` fingerprints from a model.
    pub fn draw(model: Model, count: u64, with_ids: bool) -> Result<Self, Failure> {
        let count = usize::try_from(count).map_err(|_| too_many(count))?;
        let name = match model {
            Model::Uniform => "uniform",
            Model::Clustered => "clustered",
            Model::Skewed => "skewed",
        };
        let size = match count.is_power_of_two() && count > 1024 {
            true => format!("2^{}", count.trailing_zeros()),
            false => count.to_string(),
        };
        let mut data = Self::new(model.draw(count), format!("{size} {name}"), with_ids);
        data.origin.model = Some(format!("{}; seed {SEED}", model.text()));
        data.origin.input = "INPUT".to_string();
        Ok(data)
    }

    /// Reads all of some files.
    pub fn read(paths: &[PathBuf], reading: &InputArgs, with_ids: bool) -> Result<Self, Failure> {
        let mut fingerprints = Vec::new();
        each_piece(paths, reading, |piece| fingerprints.extend_from_slice(piece))?;
        let file_name = |path: &PathBuf| {
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
        };
        let short: Vec<_> = paths.iter().map(file_name).collect();
        let mut data = Self::new(fingerprints, short.join(", "), with_ids);
        data.origin.input = input_of(paths, reading);
        Ok(data)
    }

    fn new(fingerprints: Vec<F>, name: String, with_ids: bool) -> Self {
        let pairs = with_ids.then(|| fingerprints.iter().copied().zip(0..).collect());
        let read = fingerprints.len() as u64;
        let mut set = fingerprints;
        set.par_sort_unstable();
        set.dedup();
        let distinct = set.len() as u64;
        let origin =
            Origin { name, input: String::new(), model: None, read, distinct, bits: F::BITS };
        Self { origin, set, pairs }
    }
}

fn too_many(count: u64) -> Failure {
    Failure::Usage(format!("{count} fingerprints do not fit into memory; give fewer"))
}

/// Calls `each` with the fingerprints of some files, piece by piece.
pub fn each_piece<F: Fingerprint>(
    paths: &[PathBuf],
    reading: &InputArgs,
    mut each: impl FnMut(&[F]),
) -> Result<(), Failure> {
    let (mut records, mut skipped) = (Records::default(), Skipped::default());
    for path in paths {
        let mut source = Source::open(path, &reading.options(None, None))?;
        loop {
            let more = source.read(&mut records);
            skipped.tell(&mut records);
            let more = more?;
            each(&records.fingerprints);
            records.clear();
            if !more {
                break;
            }
        }
    }
    skipped.tell_count(records.next_number());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const COUNT: usize = 1 << 16;

    #[test]
    fn a_model_gives_the_same_set_each_time_and_as_many_as_asked_for() {
        for model in [Model::Uniform, Model::Clustered, Model::Skewed] {
            for count in [0, 1, 2, 1000, COUNT] {
                let set = model.draw::<u64>(count);
                assert_eq!(set.len(), count, "{model:?}");
                assert_eq!(set, model.draw::<u64>(count));
            }
        }
        // The first numbers of xoshiro256++ with this seed, lest an update of a crate change a set.
        let first = [14_511_398_412_205_077_489, 13_647_655_907_837_363_492];
        assert_eq!(Model::Uniform.draw::<u64>(2), first);
    }

    #[test]
    fn bits_of_uniform_fingerprints_are_set_in_half_of_them() {
        let set = Model::Uniform.draw::<u64>(COUNT);
        for bit in 0..64 {
            let ones = set.iter().filter(|&&fingerprint| fingerprint >> bit & 1 == 1).count();
            // Five standard deviations.
            assert!(ones.abs_diff(COUNT / 2) < 5 * 128, "bit {bit}: {ones}");
        }
    }

    /// Cuts a clustered set into its clusters: two random fingerprints are never within 8 bits of
    /// each other in a set of this size, and members are at most 8 bits apart.
    fn clusters(set: &[u64]) -> Vec<&[u64]> {
        let near = |a: &u64, b: &u64| (a ^ b).count_ones() <= 2 * MOST_FLIPS;
        set.chunk_by(near).collect()
    }

    #[test]
    fn sizes_of_clusters_follow_the_power_law() {
        let set = Model::Clustered.draw::<u64>(COUNT);
        let mut of_size = HashMap::new();
        for cluster in clusters(&set) {
            *of_size.entry(cluster.len()).or_insert(0usize) += 1;
        }
        let all: usize = of_size.values().sum();
        let zeta: f64 = (1..=LARGEST_CLUSTER).map(|s| f64::from(s).powf(-CLUSTER_EXPONENT)).sum();
        for size in 1..=5usize {
            let expected = (size as f64).powf(-CLUSTER_EXPONENT) / zeta * all as f64;
            let found = of_size[&size] as f64;
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{size}: {found} {expected}");
        }
        let largest = *of_size.keys().max().unwrap();
        assert!((50..=LARGEST_CLUSTER as usize).contains(&largest), "{largest}");
    }

    #[test]
    fn members_differ_from_their_centre_in_1_to_4_bits_each_as_often() {
        let set = Model::Clustered.draw::<u64>(COUNT);
        let mut of_flips = [0usize; 65];
        for cluster in clusters(&set) {
            for member in &cluster[1..] {
                of_flips[(cluster[0] ^ member).count_ones() as usize] += 1;
            }
        }
        let members: usize = of_flips.iter().sum();
        assert!(members > COUNT / 4, "{members}");
        let expected = members as f64 / f64::from(MOST_FLIPS);
        for (flips, &found) in of_flips.iter().enumerate() {
            match (1..=MOST_FLIPS as usize).contains(&flips) {
                true => assert!((found as f64 - expected).abs() < 5.0 * expected.sqrt(), "{found}"),
                false => assert_eq!(found, 0, "{flips} flips"),
            }
        }
    }

    #[test]
    fn prefixes_of_the_skewed_model_follow_zipfs_law() {
        let set = Model::Skewed.draw::<u64>(COUNT);
        let mut of_prefix = HashMap::new();
        for fingerprint in &set {
            *of_prefix.entry(fingerprint >> (64 - PREFIX_BITS)).or_insert(0usize) += 1;
        }
        let harmonic: f64 = (1..=1u32 << PREFIX_BITS).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in 1..=20u64 {
            let expected = COUNT as f64 / harmonic / rank as f64;
            let found = of_prefix[&prefix_of_rank(rank)] as f64;
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {found} {expected}");
        }
        let low: Vec<u64> = set.iter().map(|fingerprint| fingerprint << PREFIX_BITS).collect();
        let ones = low.iter().filter(|&&bits| bits >> 63 == 1).count();
        assert!(ones.abs_diff(COUNT / 2) < 5 * 128, "{ones}");
    }

    #[test]
    fn ids_are_positions_in_the_input_and_duplicates_keep_theirs() {
        let data = Data::<u64>::new(vec![7, 3, 7], String::new(), true);
        assert_eq!(data.set, [3, 7]);
        assert_eq!(data.pairs.unwrap(), [(7, 0), (3, 1), (7, 2)]);
        assert_eq!((data.origin.read, data.origin.distinct), (3, 2));
    }
}
