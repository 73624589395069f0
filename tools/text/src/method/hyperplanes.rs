//! SimHash: Charikar, *Similarity estimation techniques from rounding algorithms*, STOC 2002.
//!
//! Bit i of limb j of the fingerprint is one if the features that have a one in bit i of their word
//! j weigh more than half of all. A tie is a zero.

use std::sync::Arc;

use super::Sketch;
use super::tally::Tally;
use crate::count::BitCounts;
use crate::hash::Stream;
use crate::recipe::Weight;
use crate::signature::Signature;
use crate::table::Table;

/// SimHash of `64 * L` bits.
#[derive(Clone, Debug)]
pub(crate) struct Hyperplanes<const L: usize> {
    counts: BitCounts<L>,
    // Features that weigh as often as they are there need not be counted first.
    tally: Option<Tally>,
}

impl<const L: usize> Hyperplanes<L> {
    pub(crate) fn new(weight: Weight, table: Option<Arc<Table>>) -> Hyperplanes<L> {
        let tally = (weight != Weight::Tf).then(|| Tally::new(weight, table));
        Hyperplanes { counts: BitCounts::new(), tally }
    }

    pub(crate) fn finish(&mut self) -> Option<Signature<'static>> {
        if let Some(tally) = &self.tally {
            tally
                .weighed()
                .for_each(|(feature, weight)| self.counts.add_weighted(words(feature), weight));
        }
        crate::fingerprint::Fingerprint::from_limbs(&self.counts.majority()).map(Signature::Bits)
    }
}

impl<const L: usize> Sketch for Hyperplanes<L> {
    fn clear(&mut self) {
        self.counts.clear();
        if let Some(tally) = &mut self.tally {
            tally.clear();
        }
    }

    #[inline]
    fn add(&mut self, feature: u64) {
        match &mut self.tally {
            None => self.counts.add(words(feature)),
            Some(tally) => tally.add(feature),
        }
    }
}

#[inline]
fn words<const L: usize>(feature: u64) -> [u64; L] {
    let mut stream = Stream::new(feature);
    std::array::from_fn(|_| stream.next())
}
