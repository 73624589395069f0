//! Joins middles with their low parts from the column of a block.

use super::lanes::{Lane, Streams};

/// Keys that are joined at a time.
pub(super) const JOINED: usize = 16;

/// Joins middles with their low parts.
pub(super) trait Join: Copy {
    /// Entries `at` and behind of the planes are the low parts.
    fn join<const PLANES: usize>(
        self,
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
        planes: &[&[u8]; PLANES],
        at: usize,
        keys: &mut [u64; JOINED],
    ) {
        for (i, key) in keys.iter_mut().enumerate() {
            *key = joined(*key, planes, at + i);
        }
    }
}

/// A middle and its low part.
#[inline(always)]
fn joined<const PLANES: usize>(middle: u64, planes: &[&[u8]; PLANES], i: usize) -> u64 {
    planes.iter().rev().fold(middle, |key, plane| key << 8 | u64::from(plane[i]))
}

impl Lane<'_> {
    /// Joins the middles of all keys but the first, which stand in their places, with their low
    /// parts.
    #[inline(always)]
    pub(super) fn fill(&mut self, streams: &Streams<'_>, join: impl Join) {
        match streams.geometry.planes() {
            0 => (),
            1 => self.fill_planes::<1>(join),
            2 => self.fill_planes::<2>(join),
            3 => self.fill_planes::<3>(join),
            _ => self.fill_planes::<4>(join),
        }
    }

    #[inline(always)]
    fn fill_planes<const PLANES: usize>(&mut self, join: impl Join) {
        let keys = &mut self.keys[1..];
        let mut planes: [&[u8]; PLANES] = [&[]; PLANES];
        for (plane, bytes) in planes.iter_mut().enumerate() {
            *bytes = &self.column[plane * keys.len()..][..keys.len()];
        }
        let (chunks, rest) = keys.as_chunks_mut::<JOINED>();
        let mut at = 0;
        for keys in chunks {
            join.join(&planes, at, keys);
            at += JOINED;
        }
        for (i, key) in rest.iter_mut().enumerate() {
            *key = joined(*key, &planes, at + i);
        }
    }
}
