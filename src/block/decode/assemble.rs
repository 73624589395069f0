//! Joins middles with their low parts from the column of a block.

use super::stream::Lane;

/// Joins middles with their low parts.
pub(super) trait Assemble: Copy {
    /// Joins the middles of all keys of a lane but the first, which stand in their places, with
    /// their low parts from so many planes.
    fn assemble(self, lane: &mut Lane<'_>, planes: usize);
}

/// Joins plane by plane.
#[derive(Clone, Copy)]
pub(super) struct Bytewise;

impl Assemble for Bytewise {
    #[inline]
    fn assemble(self, lane: &mut Lane<'_>, planes: usize) {
        let keys = &mut lane.keys[1..];
        if planes == 0 || keys.is_empty() {
            return;
        }
        for key in &mut *keys {
            *key <<= 8 * planes;
        }
        for (plane, bytes) in lane.column.chunks_exact(keys.len()).take(planes).enumerate() {
            for (key, byte) in keys.iter_mut().zip(bytes) {
                *key |= u64::from(*byte) << (8 * plane);
            }
        }
    }
}
