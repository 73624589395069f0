//! Joins what a unit has received.

use super::exchange::{Exchange, Parent};
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::memory;
use crate::query::flow::{self, Flow};
use crate::query::join::engine::{Engine, JoinGroup};
use crate::query::join::output::{Message, Output};
use crate::query::join::pair::Pair;
use crate::query::join::plan::Prices;
use crate::simd::Level;
use crate::sort;

impl<F: Fingerprint> Exchange<F> {
    /// Joins a unit: all fingerprints that were sent to its sides 0 and 1, in any order, repeated or not. Hands its pairs to `sink`, the smaller
    /// fingerprint first, on the thread of the caller. Where the sink breaks, the join ends soon and well. Gives the number of pairs.
    ///
    /// Memory: twice the bytes of the fingerprints. No pair is held back.
    ///
    /// # Errors
    ///
    /// Those of the sink; [`Error::InvalidOption`] of a unit that there is not; [`Error::OutOfMemory`], [`Error::Threads`],
    /// [`Error::Cancelled`] and [`Error::DeadlineExceeded`].
    pub fn join<R: Flow>(
        &self,
        unit: u32,
        left: Vec<F>,
        right: Vec<F>,
        execution: &Execution,
        mut sink: impl FnMut(&[Pair<F>]) -> R,
    ) -> Result<u64, R::Error> {
        let Some(Parent { table, is_within }) = self.parent(unit) else {
            let expected = format!("there are {}", self.unit_count());
            return Err(
                Error::InvalidOption { option: "unit", value: unit.to_string(), expected }.into()
            );
        };
        if if is_within { left.len() < 2 } else { left.is_empty() || right.is_empty() } {
            return Ok(0);
        }
        let (mut failure, mut pairs) = (None, 0);
        let done = execution.start_pool().and_then(|pool| {
            let (scope, top) = (self.tables().scope(table), self.tables().top(table));
            let work = |output: &Output<F>| {
                let (mut left, mut right) = (Distinct::of(left)?, Distinct::of(right)?);
                let (k, level) = (self.tables().k(), Level::best());
                let prices = Prices::new::<F>(&execution.cost().join, level, k);
                let engine = Engine { k, level, prices, one_set: true, output, progress: &|_| {} };
                match is_within {
                    true => engine.join_part(
                        &scope,
                        top,
                        JoinGroup { data: [&mut left.data], room: [&mut left.room] },
                    ),
                    false => {
                        let data: [&mut [F]; 2] = [&mut left.data, &mut right.data];
                        engine.join_part(
                            &scope,
                            top,
                            JoinGroup { data, room: [&mut left.room, &mut right.room] },
                        );
                    }
                }
                Ok(())
            };
            Output::run(&pool, execution.stop(), work, |message| match message {
                Message::Pairs(some) => {
                    pairs += some.len() as u64;
                    flow::control(sink(&some), &mut failure)
                }
                Message::Range { .. } => std::ops::ControlFlow::Continue(()),
            })
        });
        flow::result(done.map(|()| pairs), failure)
    }
}

/// Distinct fingerprints, and as much room.
struct Distinct<F> {
    data: Vec<F>,
    room: Vec<F>,
}

impl<F: Fingerprint> Distinct<F> {
    /// Those of a list.
    fn of(list: Vec<F>) -> Result<Self> {
        let mut data = Vec::new();
        memory::reserve(&mut data, list.len())?;
        data.resize(list.len(), F::default());
        let distinct = sort::sort_lists(&[&list], &mut data);
        data.truncate(distinct);
        let mut room = list;
        room.truncate(distinct);
        Ok(Self { data, room })
    }
}
