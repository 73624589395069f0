//! What a segment is written of.

use crate::codec::profile::Profile;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::BitRange;
use crate::ids::IdSource;
use crate::multi_index::{EntrySource, PartOptions, Sampler};
use crate::names::NameSource;

/// Keys that are cut together: a sixteenth of those that are in memory, but no fewer than the
/// least, and no more than a table writes at a time.
const LEAST_CUT: usize = 1 << 16;
const MOST_CUT: usize = 1 << 18;

/// A set of fingerprints, which gives the keys of one table after another in ascending order.
///
/// Who has them sorted already, as segments that are merged do, has nothing to do in
/// [`order`](Self::order).
pub(crate) trait KeySource {
    /// Number of distinct fingerprints.
    fn count(&self) -> u64;

    /// Their set sum.
    fn set_sum(&self) -> u128;

    /// Brings the keys of the table with this top into order. `next` is that of the table that
    /// comes behind it, for who can use what it sees of the set now.
    fn order(&mut self, top: &[BitRange], next: Option<&[BitRange]>) -> Result<()>;

    /// The profile of the first `bits` bits of the keys that were ordered.
    fn profile(&mut self, bits: u32) -> Result<Profile>;

    /// Gives the keys that were ordered to `sink`, in pieces.
    fn visit(
        &mut self,
        next: Option<&[BitRange]>,
        sink: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()>;
}

/// Gives the first `bits` bits of some keys to `take`, in pieces where these are not all that they
/// have.
pub(crate) fn cut(
    keys: &[u64],
    bits: Option<u32>,
    take: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    let Some(bits) = bits else { return take(keys) };
    let mask = !u64::MAX.checked_shr(bits).unwrap_or(0);
    let length = (keys.len() / 16).clamp(LEAST_CUT, MOST_CUT);
    let mut piece = Vec::with_capacity(length.min(keys.len()));
    for keys in keys.chunks(length) {
        piece.clear();
        piece.extend(keys.iter().map(|key| key & mask));
        take(&piece)?;
    }
    Ok(())
}

/// A set of fingerprints, which gives these in order, and the entries of one part table after
/// another.
pub(crate) trait RowSource<F: Fingerprint>: EntrySource {
    /// Number of distinct fingerprints.
    fn count(&self) -> u64;

    /// Their set sum.
    fn set_sum(&self) -> u128;

    /// Gives the fingerprints to `sink`, in pieces, in ascending order.
    fn visit_rows(&mut self, sink: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()>;

    /// A sample of the fingerprints.
    fn sample(&mut self) -> Result<Sampler<F>> {
        let mut sampler = Sampler::new(self.count());
        self.visit_rows(&mut |rows| {
            sampler.pass(rows);
            Ok(())
        })?;
        Ok(sampler)
    }

    /// Brings the entries of a part table into order, for [`EntrySource::visit`].
    fn order_entries(&mut self, part: &PartOptions<F>) -> Result<()>;
}

/// The ids of such a set.
pub(crate) struct SourceOfIds<'a> {
    pub(crate) ids: &'a mut dyn IdSource,
    /// Number of pairs of a fingerprint and an id.
    pub(crate) count: u64,
    pub(crate) greatest: u64,
    /// The names that ids are numbers of, where they are.
    pub(crate) names: Option<&'a mut dyn NameSource>,
}
