//! Fingerprints and queries.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use clap::ValueEnum;
use fpstore::Fingerprint;
use rayon::prelude::*;

/// The outputs of SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The median of three of them: of the distribution beta (2, 2).
    fn median(&mut self) -> f64 {
        let mut three = [self.unit(), self.unit(), self.unit()];
        three.sort_unstable_by(f64::total_cmp);
        three[1]
    }

    /// A number of the normal distribution.
    fn normal(&mut self) -> f64 {
        let (radius, turn) = (self.unit().max(f64::MIN_POSITIVE), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }

    fn fingerprint<F: Fingerprint>(&mut self) -> F {
        let mut bytes = F::Bytes::default();
        for chunk in bytes.as_mut().chunks_mut(8) {
            let length = chunk.len();
            chunk.copy_from_slice(&self.next().to_be_bytes()[..length]);
        }
        F::from_be_bytes(bytes)
    }

    /// With so many bits flipped, some perhaps twice.
    fn near<F: Fingerprint>(&mut self, fingerprint: F, flips: u32) -> F {
        let mut bytes = fingerprint.to_be_bytes();
        for _ in 0..flips {
            let bit = (self.next() % u64::from(F::BITS)) as usize;
            bytes.as_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        F::from_be_bytes(bytes)
    }
}

/// What the bits of fingerprints are like.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Each bit is as likely 0 as 1.
    Uniform,
    /// Uniform, a third of them in clusters within an eighth of the bits.
    Clustered,
    /// Each bit is 1 with a probability of its own, the median of three uniform ones.
    Biased,
    /// Each bit equals the one before it with probability 0.8.
    Neighbours,
    /// Whether the points of a square grid lie above the mean of a smooth random field.
    Fields,
}

/// So many distinct fingerprints, ascending; a few less where some are equal.
pub fn set<F: Fingerprint>(count: usize, kind: Kind) -> Vec<F> {
    let mut random = Random(7);
    let mut set: Vec<F> = Vec::with_capacity(count);
    let ones: Vec<f64> = (0..F::BITS).map(|_| random.median()).collect();
    let grid = Grid::new(F::BITS as usize);
    while set.len() < count {
        let one = match kind {
            Kind::Uniform | Kind::Clustered => random.fingerprint(),
            Kind::Biased => of_bits(ones.iter().map(|&ones| random.unit() < ones)),
            Kind::Neighbours => {
                let mut bit = random.unit() < 0.5;
                of_bits((0..F::BITS).map(|_| {
                    bit ^= random.unit() < 0.2;
                    bit
                }))
            }
            Kind::Fields => of_bits(grid.field(&mut random).into_iter()),
        };
        set.push(one);
        // A twelfth of them begins a cluster of four on average: a third of all.
        if kind == Kind::Clustered && random.next().is_multiple_of(8) {
            for _ in 0..2 + random.next() % 5 {
                let flips = (random.next() % u64::from(F::BITS / 8)) as u32;
                let near = random.near(one, flips);
                set.push(near);
            }
        }
    }
    set.truncate(count);
    set.par_sort_unstable();
    set.dedup();
    set
}

/// The distinct fingerprints of a NumPy file of bytes, `BITS / 8` in a row, ascending.
pub fn read<F: Fingerprint>(path: &Path) -> crate::Result<Vec<F>> {
    let bytes = npyz::NpyFile::new(BufReader::new(File::open(path)?))?.into_vec::<u8>()?;
    let rows = bytes.chunks_exact(F::BITS as usize / 8).filter_map(F::from_be_slice);
    let mut set: Vec<F> = rows.collect();
    set.par_sort_unstable();
    set.dedup();
    Ok(set)
}

/// The fingerprint of bits, the most significant first.
fn of_bits<F: Fingerprint>(bits: impl Iterator<Item = bool>) -> F {
    let mut bytes = F::Bytes::default();
    for (number, bit) in bits.enumerate() {
        bytes.as_mut()[number / 8] |= u8::from(bit) << (7 - number % 8);
    }
    F::from_be_bytes(bytes)
}

/// Points in rows, and waves over them.
struct Grid {
    /// For each wave its size, and its value at each point.
    waves: Vec<(f64, Vec<f64>)>,
}

impl Grid {
    /// Of so many points.
    fn new(points: usize) -> Self {
        let side = points.isqrt().next_power_of_two();
        let wave = |waves: u32, place: usize, is_shifted: bool| {
            let turn = f64::from(waves) * place as f64 / side as f64
                + f64::from(u8::from(is_shifted)) / 4.0;
            (std::f64::consts::PI * turn).cos()
        };
        let mut waves = Vec::new();
        for (across, down) in (0..6).flat_map(|across| (0..6).map(move |down| (across, down))) {
            if (across, down) == (0, 0) {
                continue;
            }
            let size = f64::from(across * across + down * down).powf(-0.75);
            for (right, below) in [(false, false), (false, true), (true, false), (true, true)] {
                let value = |point: usize| {
                    wave(across, point % side, right) * wave(down, point / side, below)
                };
                waves.push((size, (0..points).map(value).collect()));
            }
        }
        Self { waves }
    }

    /// Which points of a field lie above its mean.
    fn field(&self, random: &mut Random) -> Vec<bool> {
        let mut field = vec![0.0; self.waves[0].1.len()];
        for (size, wave) in &self.waves {
            let size = size * random.normal();
            field.iter_mut().zip(wave).for_each(|(point, wave)| *point += size * wave);
        }
        let mean = field.iter().sum::<f64>() / field.len() as f64;
        field.into_iter().map(|point| point > mean).collect()
    }
}

/// Half of them as far from a stored fingerprint as the radius, half anywhere.
pub fn queries<F: Fingerprint>(set: &[F], k: u32, count: usize) -> Vec<F> {
    queries_of(set, k, count, |number| number % 2 == 0)
}

/// Those of which `near` says so with so many flips, others anywhere.
pub fn queries_of<F: Fingerprint>(
    set: &[F],
    flips: u32,
    count: usize,
    near: impl Fn(usize) -> bool,
) -> Vec<F> {
    let mut random = Random(99);
    let query = |number| {
        let stored = set[(random.next() % set.len() as u64) as usize];
        if near(number) { random.near(stored, flips) } else { random.fingerprint() }
    };
    (0..count).map(query).collect()
}
