//! A batch of queries, joined with all that a store holds.

use super::engine::{Engine, JoinGroup};
use super::mask::Mask;
use super::output::Output;
use super::plan::{self, Prices};
use super::work::Side;
use crate::costs::JoinCosts;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, greatest};
use crate::simd::Level;
use crate::snapshot::Snapshot;
use crate::snapshot::cursor::{Cursor, Decode};

/// Joins `queries`, in any order, with all fingerprints of a snapshot from the first to the
/// last, which are read in pieces of `piece`; runs in the current pool. The pairs have the query
/// first.
pub(crate) fn stream<F: Fingerprint>(
    output: &Output<F>,
    queries: Vec<F>,
    snapshot: &Snapshot<F>,
    k: u32,
    piece: usize,
    costs: &JoinCosts,
) -> Result<()> {
    let level = Level::best();
    let prices = Prices::new::<F>(costs, level, k);
    let engine =
        Engine { k, level, prices, one_set: false, links: false, output, progress: &|_| {} };
    let mut side = Side { room: vec![F::default(); queries.len()], data: queries };
    let mut pieces = Side::default();
    let mut cursor = Cursor::new(snapshot, F::default(), Decode::Together)?;
    loop {
        let more = pieces.read(&mut cursor, greatest(), piece, snapshot.len(), output)?;
        let data: [&mut [F]; 2] = [&mut side.data, &mut pieces.data];
        engine.join(JoinGroup { data, room: [&mut side.room, &mut pieces.room] });
        if !more || output.stopped() {
            return Ok(());
        }
    }
}

/// Calls `take` with all fingerprints of a snapshot, ascending and each once, up to `piece` at a
/// time; runs in the current pool. Ends early once `output` is to stop.
pub(crate) fn read_all<F: Fingerprint>(
    output: &Output<F>,
    snapshot: &Snapshot<F>,
    piece: usize,
    mut take: impl FnMut(&[F]),
) -> Result<()> {
    let mut fingerprints = Vec::new();
    let mut cursor = Cursor::new(snapshot, F::default(), Decode::Together)?;
    loop {
        fingerprints.clear();
        let more = cursor.read(greatest(), piece, &mut fingerprints, || output.stopped())?;
        take(&fingerprints);
        if !more || output.stopped() {
            return Ok(());
        }
    }
}

/// The predicted time of [`stream`] with so many queries and fingerprints, in nanoseconds of one
/// thread.
pub(crate) fn stream_ns<F: Fingerprint>(
    queries: u64,
    fingerprints: u64,
    piece: u64,
    k: u32,
    costs: &JoinCosts,
) -> f64 {
    let pieces = fingerprints.div_ceil(piece.max(1)).max(1);
    let of_piece = fingerprints.div_ceil(pieces);
    let [queries, of_piece] = [queries, of_piece].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let size = plan::Size::new([queries, of_piece]);
    let prices = Prices::new::<F>(costs, Level::best(), k);
    let join = plan::predict::<F>(&plan::Scope::default(), k, Mask::all(), size, &prices);
    costs.read_ns * fingerprints as f64 + costs.stream_factor * pieces as f64 * join
}
