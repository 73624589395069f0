//! How large a table will be.

use super::sample::Sample;
use crate::codec::profile::Profile;
use crate::error::Result;
use crate::format::{Codec, Geometry};

/// The coding that a table is expected to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded {
    /// Bits of a key.
    pub(super) bits: u32,
    pub(super) codec: Codec,
    pub(super) low_bits: u32,
    bits_per_key: f64,
}

/// The expected size of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableSize {
    pub(super) blocks: u64,
    pub(super) keys_per_block: f64,
    pub(super) file_bytes: u64,
}

impl TableSize {
    /// The size of a table of `count` keys.
    pub(super) fn of_table(count: u64, geometry: &Geometry) -> Self {
        Self {
            blocks: geometry.block_count,
            keys_per_block: count as f64 / geometry.block_count.max(1) as f64,
            file_bytes: geometry.file_bytes(),
        }
    }
}

impl Coded {
    /// Chooses codec and column for `count` keys of so many bits as a pack would, from what uniform
    /// keys cost. A sample adds what it costs less than as many uniform keys.
    pub(super) fn new(
        (bits, count): (u32, u64),
        (codec, low_bits): (Option<Codec>, Option<u32>),
        sample: Option<&Sample>,
    ) -> Result<Self> {
        let uniform = Profile::uniform(bits, count).choose(codec, low_bits)?;
        let mut coded = Self {
            bits,
            codec: uniform.codec,
            low_bits: uniform.low_bits,
            bits_per_key: uniform.bits_per_key(),
        };
        if let Some(sample) = sample {
            let real = sample.profile.choose(codec, low_bits)?;
            let coding = |count| Profile::uniform(bits, count).coding(real.codec, real.low_bits);
            let as_uniform = coding(sample.count);
            let saved = as_uniform.bits_per_key() - real.bits_per_key();
            let uniform = coding(count);
            coded = Self {
                bits,
                codec: real.codec,
                low_bits: real.low_bits,
                bits_per_key: (uniform.bits_per_key() - saved).max(1.0),
            };
        }
        Ok(coded)
    }

    /// Chooses codec and column from runs of the set.
    pub(super) fn of_runs(
        runs: &Profile,
        (codec, low_bits): (Option<Codec>, Option<u32>),
    ) -> Result<Self> {
        let real = runs.choose(codec, low_bits)?;
        let bits_per_key = real.bits_per_key().max(1.0);
        Ok(Self { bits: real.bits, codec: real.codec, low_bits: real.low_bits, bits_per_key })
    }

    /// That of a table of `count` keys.
    pub(super) fn of_table(count: u64, codec: Codec, geometry: &Geometry) -> Self {
        let bits_per_key = 8.0 * geometry.file_bytes() as f64 / count.max(1) as f64;
        Self { bits: geometry.bits, codec, low_bits: geometry.low_bits, bits_per_key }
    }

    /// Where everything stands in a table with so many blocks.
    pub(super) fn geometry(&self, block_bytes: u32, block_count: u64) -> Geometry {
        Geometry { bits: self.bits, block_bytes, low_bits: self.low_bits, block_count }
    }

    /// The size of a table of `count` keys in blocks of `block_bytes`.
    pub(super) fn table(&self, count: u64, block_bytes: u32) -> TableSize {
        let geometry = |block_count| self.geometry(block_bytes, block_count);
        // The first key stands in the header. On average half a key more would have fitted.
        let room = f64::from(8 * (block_bytes - geometry(0).column_at() as u32));
        let full = 1.0 + (room / self.bits_per_key.max(1.0) - 0.5).max(0.0);
        let blocks = (count as f64 / full).ceil() as u64;
        TableSize {
            blocks,
            keys_per_block: full.min(count as f64),
            file_bytes: geometry(blocks).file_bytes(),
        }
    }
}
