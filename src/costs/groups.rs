//! The constants, their shipped values, and what they mean; and the same as text, a line
//! `group.name = number` for each.
//!
//! The shipped values are those of one machine with AVX-512, as the benchmarks of the project
//! measured them. Plans are made from them wherever no others are given, so a changed value changes
//! what a default pack writes.

use std::fmt;

use crate::error::{Error, Result};
use crate::simd::Level;

/// Declares a group of constants: for each its name, its shipped value and what it means, which is
/// its document and the comment in a file.
macro_rules! group {
    ($(#[$doc:meta])* $group:ident { $($name:ident = $shipped:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $group {
            $(#[doc = $text] pub $name: f64,)*
        }

        impl $group {
            pub(super) const SHIPPED: Self = Self { $($name: $shipped,)* };
        }

        impl CostGroup for $group {
            const TEXTS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), $text)),*];

            fn values(&mut self) -> Vec<&mut f64> {
                vec![$(&mut self.$name),*]
            }
        }
    };
}

group! {
    /// A search in an open store whose blocks are in memory.
    SearchCosts {
        query_ns = 13.0, "A search, before any table.";
        table_ns = 74.0, "A table that is descended, and the way to one block.";
        table_dram_ns = 200.0, "What a table takes on top where its router is not in the cache.";
        path_ns = 51.0, "The way of a descent to each further block.";
        block_ns = 6.6, "A scanned block, whatever its size, from the cache.";
        block_dram_ns = 9.7, "What a scanned block takes on top where it is not in the cache.";
        column_byte_ns = 0.027, "A scanned byte of a column, from the cache.";
        column_byte_dram_ns = 0.11, "What that takes on top where it is not in the cache.";
        decode_block_ns = 76.0, "A decoded block, before its first key.";
        decode_key_ns = 3.1, "A decoded key.";
        hot_part_ns = 20.0, "A part of a hot index. Not measured.";
        hot_part_dram_ns = 40.0,
            "What that takes on top where it is not in the cache. Not measured.";
        hot_run_ns = 7.5, "A run of keys of it that is looked up, from the cache. Not measured.";
        hot_run_dram_ns = 15.0,
            "What that takes on top where it is not in the cache. Not measured.";
        hot_key_ns = 0.5, "A key of it that is compared, from the cache. Not measured.";
        hot_key_avx512_ns = 0.078, "The same with AVX-512. Not measured.";
        hot_key_dram_ns = 0.65,
            "What that takes on top where it is not in the cache. Not measured.";
        hot_build_ns = 6.0, "A key of it that is put in its place, in the cache. Not measured.";
        hot_build_dram_ns = 15.0,
            "What that takes on top where it is not in the cache. Not measured.";
        filter_key_ns = 6.0, "A key that a prefix filter is built of. Not measured.";
        group_ns = 60.0, "A group of a part table whose marks are looked at.";
        row_ns = 13.0, "A row of a base that is looked up and compared.";
        row_byte_ns = 0.073, "A byte of a base that is scanned.";
        crc_byte_ns = 0.041, "A byte of a block that is checked, at its first touch.";
        cache_bytes = 4_194_304.0,
            "Bytes of the caches that one search finds again in the next. Not measured.";
    }
}

impl SearchCosts {
    /// The share of so many bytes, to which searches come back, that is not in the caches.
    pub(crate) fn missing(&self, bytes: f64) -> f64 {
        1.0 - (self.cache_bytes / bytes.max(1.0)).min(1.0)
    }
}

group! {
    /// What comes on top where blocks are on the disk.
    DiskCosts {
        read_ns = 52_000.0, "A read, before its first byte.";
        byte_ns = 0.8, "A byte that is read.";
        reads_in_flight = 8.0, "Reads that a disk works on at a time. Not measured.";
        waited_ns = 40_000.0, "A search that takes longer than this has waited for the disk.";
        waited_block_ns = 1_000.0, "What that time is longer by for each block of the search.";
    }
}

group! {
    /// A join, and a batch of a large radius, whose queries are joined with the store as it is
    /// read.
    JoinCosts {
        pair_scalar_ns = 0.6, "A pair that is compared without vector instructions.";
        pair_avx2_ns = 0.3, "A pair that is compared with AVX2.";
        pair_avx512_ns = 0.07, "A pair that is compared with AVX-512.";
        pass_ns = 3.0, "A fingerprint in a pass of a partition.";
        pass_word_ns = 1.0, "What a pass takes on top for each further word of a wider fingerprint. Not measured.";
        pass_bits = 9.0, "Bits that one pass can tell apart. Not measured.";
        part_ns = 400.0, "A part by which a group is split, whatever it holds. Not measured.";
        visit_near_ns = 10.0,
            "A visit of a neighbouring group, its directory in the first caches. Not measured.";
        visit_far_ns = 40.0, "The same where the directory is larger. Not measured.";
        near_bits = 15.0, "Bits of a directory that stays in the first caches. Not measured.";
        read_ns = 2.5, "A fingerprint that is read from a store.";
        stream_factor = 2.2,
            "How much longer a streamed batch takes than its first splits. Not measured.";
    }
}

group! {
    /// A batch: when searches start threads, and a sweep, which reads the store past queries that
    /// are listed in memory.
    SweepCosts {
        threads_ns = 300_000.0, "Searches that are worth starting threads. Not measured.";
        start_ns = 1_000_000.0, "A sweep, before any query. Not measured.";
        read_ns = 1.6, "A fingerprint that is read in the order of a table.";
        query_ns = 65.0, "A query that is listed, with its matches. Not measured.";
        sort_query_ns = 75.0, "A query that is sorted by a further part. Not measured.";
        vector_scalar_ns = 18.0, "A fingerprint that is compared with 16 listed queries, without vector instructions.";
        vector_avx2_ns = 2.2, "The same with AVX2.";
        vector_avx512_ns = 0.6, "The same with AVX-512.";
        sift_factor = 3.3, "How much longer it takes to sift 16 queries. Not measured.";
        group_ns = 40.0, "A group of fingerprints for which a list is sifted or compared. Not measured.";
        range_ns = 3.0, "Queries with like leading bits that are put into a list. Not measured.";
        sort_ns = 9.5, "A fingerprint that is turned. Not measured.";
    }
}

group! {
    /// A pack, in time of one thread.
    PackCosts {
        memory_ns = 31.0, "A fingerprint in a table, sorted in memory.";
        spilled_ns = 80.0, "A fingerprint in a table, sorted in temporary files.";
        memory_id_ns = 60.0, "An id on top, in memory.";
        spilled_id_ns = 110.0, "An id on top, in temporary files.";
        serial_share = 0.33, "The part of it that further threads do not shorten. Not measured.";
    }
}

/// A group of constants.
pub(super) trait CostGroup {
    /// The name of each constant, and what it means.
    const TEXTS: &'static [(&'static str, &'static str)];

    /// The constants in the same order.
    fn values(&mut self) -> Vec<&mut f64>;
}

/// Writes the lines of a group, with what each constant means.
pub(super) fn write<G: CostGroup + Copy>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    mut group: G,
) -> fmt::Result {
    writeln!(f)?;
    for ((constant, text), value) in G::TEXTS.iter().zip(group.values()) {
        writeln!(f, "{name}.{constant} = {value} # {text}")?;
    }
    Ok(())
}

/// The constants of a group with their names.
pub(super) fn named<'a, G: CostGroup>(
    name: &'static str,
    group: &'a mut G,
) -> impl Iterator<Item = (String, &'a mut f64)> {
    let names = G::TEXTS.iter().map(move |(constant, _)| format!("{name}.{constant}"));
    names.zip(group.values())
}

/// Sets those constants that the lines of `text` give; `#` starts a comment.
pub(super) fn read<'a>(
    text: &str,
    constants: impl Iterator<Item = (String, &'a mut f64)>,
) -> Result<()> {
    let mut constants: Vec<_> = constants.collect();
    for line in text.lines() {
        let plain = line.split('#').next().unwrap_or_default().trim();
        if plain.is_empty() {
            continue;
        }
        let set = plain.split_once('=').and_then(|(name, number)| {
            let number: f64 = number.trim().parse().ok()?;
            let (_, constant) = constants.iter_mut().find(|(known, _)| known == name.trim())?;
            (number.is_finite() && number >= 0.0).then(|| **constant = number)
        });
        if set.is_none() {
            let names: Vec<&str> = constants.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::InvalidOption {
                option: "calibration",
                value: plain.to_string(),
                expected: format!(
                    "each line is NAME = NUMBER, the number 0 or more, the name one of {}",
                    names.join(", ")
                ),
            });
        }
    }
    Ok(())
}

impl JoinCosts {
    /// A pair that is compared at a level, in nanoseconds.
    pub(crate) fn pair_ns(mut self, level: Level) -> f64 {
        *self.pair_ns_mut(level)
    }

    /// That constant.
    pub(crate) fn pair_ns_mut(&mut self, level: Level) -> &mut f64 {
        match level {
            Level::Scalar(_) => &mut self.pair_scalar_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => &mut self.pair_avx2_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => &mut self.pair_avx512_ns,
            // A machine has one of the two.
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => &mut self.pair_avx2_ns,
        }
    }
}

impl SweepCosts {
    /// A fingerprint that is compared with 16 listed queries at a level, in nanoseconds.
    pub(crate) fn vector_ns(mut self, level: Level) -> f64 {
        *self.vector_ns_mut(level)
    }

    /// That constant.
    pub(crate) fn vector_ns_mut(&mut self, level: Level) -> &mut f64 {
        match level {
            Level::Scalar(_) => &mut self.vector_scalar_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => &mut self.vector_avx2_ns,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => &mut self.vector_avx512_ns,
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => &mut self.vector_avx2_ns,
        }
    }
}
