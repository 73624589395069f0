//! Joins middles with their low parts from the column of a block.

use super::lanes::{CHUNK, Lane, Streams};

/// Keys that are joined at a time.
pub(super) const JOINED: usize = 16;

/// Joins middles with their low parts.
pub(super) trait Join: Copy {
    /// Entries `at` and behind of the planes are the low parts.
    fn join<const PLANES: usize>(
        self,
        middles: &[u64; JOINED],
        planes: &[&[u8]; PLANES],
        at: usize,
        keys: &mut [u64; JOINED],
    );
}

/// Joins byte by byte.
#[derive(Clone, Copy)]
pub(super) struct Bytewise;

impl Join for Bytewise {
    #[inline(always)]
    fn join<const PLANES: usize>(
        self,
        middles: &[u64; JOINED],
        planes: &[&[u8]; PLANES],
        at: usize,
        keys: &mut [u64; JOINED],
    ) {
        for (i, (key, middle)) in keys.iter_mut().zip(middles).enumerate() {
            *key = joined(*middle, planes, at + i);
        }
    }
}

/// A middle and its low part.
#[inline(always)]
fn joined<const PLANES: usize>(middle: u64, planes: &[&[u8]; PLANES], i: usize) -> u64 {
    planes.iter().rev().fold(middle, |key, plane| key << 8 | u64::from(plane[i]))
}

impl Lane<'_> {
    /// Joins the first `count` of some middles with their low parts to the keys from number `from`
    /// on. May change the keys behind them.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        streams: &Streams<'_>,
        join: impl Join,
        middles: &[u64; CHUNK],
        count: usize,
        from: usize,
    ) {
        match streams.geometry.planes() {
            0 => self.keys[from..from + count].copy_from_slice(&middles[..count]),
            1 => self.fill_planes::<1>(join, middles, count, from),
            2 => self.fill_planes::<2>(join, middles, count, from),
            3 => self.fill_planes::<3>(join, middles, count, from),
            _ => self.fill_planes::<4>(join, middles, count, from),
        }
    }

    #[inline(always)]
    fn fill_planes<const PLANES: usize>(
        &mut self,
        join: impl Join,
        middles: &[u64; CHUNK],
        count: usize,
        from: usize,
    ) {
        let others = self.keys.len() - 1;
        let mut planes: [&[u8]; PLANES] = [&[]; PLANES];
        for (plane, bytes) in planes.iter_mut().enumerate() {
            *bytes = &self.column[plane * others..][from - 1..others];
        }
        let keys = &mut self.keys[from..];
        let mut at = 0;
        // What is joined too many is overwritten later.
        for middles in middles.as_chunks::<JOINED>().0.iter().take(count.div_ceil(JOINED)) {
            let Some(keys) = keys[at..].first_chunk_mut::<JOINED>() else { break };
            join.join(middles, &planes, at, keys);
            at += JOINED;
        }
        for i in at..count {
            keys[i] = joined(middles[i], &planes, i);
        }
    }
}
