//! Joins of fingerprints that stand in memory and in no store.

use std::ops::ControlFlow;

use super::engine::{Engine, JoinGroup};
use super::mask::Mask;
use super::output::{Message, Output, Pair};
use super::plan::{Prices, Scope};
use crate::cover::Claim;
use crate::error::Result;
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::query::flow::{self, Flow};
use crate::simd::Level;
use crate::{memory, sort};

/// Finds all pairs within k of fingerprints in lists: of one list, or of two.
///
/// What is known of the pairs may be said: in which bits they agree, and in which they do not.
/// Others are then left out, and less is compared. So who divides a large join over machines
/// gets each pair from one of them.
///
/// Memory: twice the bytes of the fingerprints. No pair is held back.
///
/// # Examples
///
/// ```
/// let mut pairs = Vec::new();
/// let join = fpstore::query::ListJoin::new(2);
/// join.within(vec![0b0011u64, 0b1011, u64::MAX, 0b1011], |some| pairs.extend_from_slice(some))?;
/// assert_eq!(pairs, [fpstore::query::Pair { a: 0b0011, b: 0b1011, distance: 1 }]);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListJoin<F = u64> {
    k: u32,
    scope: Scope<F>,
    execution: Execution,
}

impl<F: Fingerprint> ListJoin<F> {
    /// All pairs within `k`.
    pub fn new(k: u32) -> Self {
        Self { k, scope: Scope::default(), execution: Execution::new() }
    }

    /// Its threads, and what stops it.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Only pairs that agree in all of these bits.
    pub fn equal_in(mut self, bits: F) -> Self {
        self.scope.equal = self.scope.equal | Mask::of(bits);
        self
    }

    /// Only pairs that differ in one of these bits at least. Said several times, each holds.
    pub fn different_in(mut self, bits: F) -> Self {
        self.scope.earlier.push(Claim { mask: Mask::of(bits), flips: 0 });
        self
    }

    /// Hands all pairs of distinct fingerprints of a list to `sink`, on the thread of the caller.
    /// Where the sink breaks, the join ends soon and well. Gives the number of pairs.
    ///
    /// # Errors
    ///
    /// Those of the sink; [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::Threads`](crate::Error::Threads), [`Error::Cancelled`](crate::Error::Cancelled) and
    /// [`Error::DeadlineExceeded`](crate::Error::DeadlineExceeded).
    pub fn within<R: Flow>(
        &self,
        list: Vec<F>,
        sink: impl FnMut(&[Pair<F>]) -> R,
    ) -> Result<u64, R::Error> {
        self.join([list], sink)
    }

    /// As [`within`](Self::within), for pairs of one fingerprint of each of two lists, which have
    /// none in common. The smaller of the two comes first.
    ///
    /// # Errors
    ///
    /// As [`within`](Self::within).
    pub fn between<R: Flow>(
        &self,
        left: Vec<F>,
        right: Vec<F>,
        sink: impl FnMut(&[Pair<F>]) -> R,
    ) -> Result<u64, R::Error> {
        self.join([left, right], sink)
    }

    fn join<const SIDES: usize, R: Flow>(
        &self,
        lists: [Vec<F>; SIDES],
        mut sink: impl FnMut(&[Pair<F>]) -> R,
    ) -> Result<u64, R::Error> {
        let (mut failure, mut pairs) = (None, 0);
        let work = |output: &Output<F>| {
            let level = Level::best();
            let prices = Prices::new::<F>(&self.execution.cost().join, level, self.k);
            let progress = &|_| {};
            let (k, one_set) = (self.k, true);
            let engine = Engine { k, level, prices, one_set, links: false, output, progress };
            let (mut data, mut room) = ([const { Vec::new() }; SIDES], lists);
            for (data, list) in data.iter_mut().zip(&mut room) {
                *data = distinct(list)?;
            }
            let group = JoinGroup {
                data: data.each_mut().map(|side| &mut side[..]),
                room: room.each_mut().map(|side| &mut side[..]),
            };
            engine.join_part(&self.scope, self.scope.equal, group);
            Ok(())
        };
        let done = self.execution.start_pool().and_then(|pool| {
            Output::run(&pool, self.execution.stop(), work, |message| match message {
                Message::Pairs(some) => {
                    pairs += some.len() as u64;
                    flow::control(sink(&some), &mut failure)
                }
                Message::Range { .. } => ControlFlow::Continue(()),
            })
        });
        flow::result(done.map(|()| pairs), failure)
    }
}

/// The distinct fingerprints of a list, of which as much room is left.
fn distinct<F: Fingerprint>(list: &mut Vec<F>) -> Result<Vec<F>> {
    let mut distinct = Vec::new();
    memory::reserve(&mut distinct, list.len())?;
    distinct.resize(list.len(), F::default());
    let count = sort::sort_lists(&[&list[..]], &mut distinct);
    distinct.truncate(count);
    list.truncate(count);
    Ok(distinct)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::query::join::tests::{brute_force, set};

    /// Against brute force, with what is said of the pairs as a filter.
    fn check<F: Fingerprint>(count: usize, seed: u64, k: u32, threads: usize) {
        let list: Vec<F> = set(count, seed, 3);
        let (left, right) = list.split_at(count / 3);
        let left: BTreeSet<F> = left.iter().copied().collect();
        let right: BTreeSet<F> = right.iter().copied().filter(|one| !left.contains(one)).collect();
        // Eight bits of the first centre's neighbours agree often; all others differ often.
        let bits = |from: u32, to: u32| {
            let mut bytes = F::Bytes::default();
            for bit in from..to {
                bytes.as_mut()[bit as usize / 8] |= 0x80 >> (bit % 8);
            }
            F::from_be_bytes(bytes)
        };
        let (equal, different) = (bits(3, 11), [bits(11, 32), bits(20, F::BITS)]);
        let meets = |pair: &Pair<F>| {
            let differ = |bits: F| !(Mask::difference(pair.a, pair.b) & Mask::of(bits)).is_empty();
            !differ(equal) && different.iter().all(|&bits| differ(bits))
        };
        let execution = Execution::new().threads(threads);
        let all = ListJoin::new(k).execution(execution);
        let some = different.into_iter().fold(all.clone().equal_in(equal), ListJoin::different_in);
        for (join, said) in [(&all, false), (&some, true)] {
            let expected = |mut pairs: Vec<Pair<F>>| {
                pairs.iter_mut().filter(|pair| pair.a > pair.b).for_each(|pair| {
                    std::mem::swap(&mut pair.a, &mut pair.b);
                });
                pairs.retain(|pair| !said || meets(pair));
                pairs.sort_unstable();
                pairs
            };
            let mut pairs = Vec::new();
            let one = list.iter().copied().collect();
            let count = join.within(list.clone(), |some| pairs.extend_from_slice(some)).unwrap();
            assert_eq!(count as usize, pairs.len());
            pairs.sort_unstable();
            assert_eq!(pairs, expected(brute_force(&one, None, k)));
            pairs.clear();
            let [first, second] = [&left, &right].map(|side| side.iter().copied().collect());
            join.between(first, second, |some| pairs.extend_from_slice(some)).unwrap();
            pairs.sort_unstable();
            assert_eq!(pairs, expected(brute_force(&left, Some(&right), k)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn lists_are_joined_as_brute_force_joins_them(
            count in 0usize..500, seed in any::<u64>(), k in 0u32..8, threads in 1usize..3,
        ) {
            check::<u32>(count, seed, k, threads);
            check::<u64>(count, seed, k, threads);
            check::<u128>(count / 2, seed, k, threads);
            check::<[u64; 4]>(count / 2, seed, k, threads);
        }
    }

    #[test]
    fn lists_long_enough_to_be_split_are_joined_in_the_same_way() {
        check::<u64>(6000, 5, 3, 2);
    }

    #[test]
    fn a_sink_stops_a_join_of_lists_or_fails_it() {
        let list: Vec<u64> = (0..4).collect();
        let join = ListJoin::new(3);
        assert!(join.within(list.clone(), |_| ControlFlow::Break(())).is_ok());
        let failed = join.within(list, |_| Err(crate::Error::Ended));
        assert!(matches!(failed, Err(crate::Error::Ended)));
    }
}
