//! Decodes several blocks at once.
//!
//! Each code starts where the one before it ends, so the codes of one block are a chain of
//! dependent steps: look up, shift, look up. The chains of [`LANES`] blocks are independent, and a
//! CPU works on all of them together. One load brings the codes of several keys. What a step need
//! not know to go on is checked once per block: whether codes and raw bits have run into each
//! other, and whether the last middle still has its bits.

use std::slice::Chunks;

use super::stream::{Assemble, LANES, Lane, Place, Streams};
use crate::mapped;

/// Blocks that are decoded together where each takes many registers.
const PAIR: usize = 2;
/// Keys of one look-up of any [`Step`] at most.
const MAX_KEYS: usize = 8;

/// Decodes look-up by look-up.
pub(super) trait Step {
    /// Look-ups that one load of codes serves.
    const LOOK_UPS: usize;
    /// Keys of one look-up at most, no more than [`MAX_KEYS`].
    const KEYS: usize;

    /// A place in registers.
    type State: Copy;

    fn state(&self, place: Place) -> Self::State;
    fn place(&self, state: &Self::State) -> Place;

    /// Loads the codes for the next [`Self::LOOK_UPS`] look-ups.
    fn refill(&self, state: &mut Self::State);

    /// Moves the place of the codes behind those of the look-ups since.
    fn drain(&self, state: &mut Self::State);

    /// Decodes the middles of one look-up, puts them into `out` from `at` on, and gives their
    /// number: at least 1, at most [`Self::KEYS`]. May change `out` behind them.
    fn look_up(&self, state: &mut Self::State, out: &mut [u64], at: usize) -> usize;

    /// Decodes one middle.
    fn one(&self, state: &mut Self::State) -> u64;

    /// Whether some key up to this place could not follow the one before it.
    fn is_contradictory(&self, state: &Self::State) -> bool;
}

/// [`Decode::decode`](super::decoder::Decode), by these steps.
#[inline(always)]
pub(super) fn decode<S: Step>(
    step: &S,
    assemble: impl Assemble,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; LANES],
) -> bool {
    // What comes next is asked for in small parts: a CPU has few requests under way.
    let shortest = lanes.iter().map(|lane| lane.keys.len()).min().unwrap_or(0);
    let refills = (LANES / PAIR * shortest / (S::KEYS * S::LOOK_UPS)).max(1);
    let mut next = streams.next.chunks(streams.next.len() / refills + 1);
    let mut sound = true;
    for pair in lanes.as_chunks_mut::<PAIR>().0 {
        sound &= decode_pair(step, assemble, streams, pair, &mut next);
    }
    sound
}

/// [`decode`] of two lanes. Asks for some of `next` meanwhile.
#[inline(always)]
fn decode_pair<S: Step>(
    step: &S,
    assemble: impl Assemble,
    streams: &Streams<'_>,
    lanes: &mut [Lane<'_>; PAIR],
    next: &mut Chunks<'_, u8>,
) -> bool {
    let [a, b] = &*lanes;
    let mut states = [step.state(a.place), step.state(b.place)];
    // The next key of each lane.
    let mut from = [1; PAIR];
    // As long as both lanes have keys for all that a load serves, then for a single look-up.
    go_on(step, S::LOOK_UPS, (&mut states, &mut from), lanes, next);
    go_on(step, 1, (&mut states, &mut from), lanes, next);
    let mut sound = true;
    for (lane, from) in from.into_iter().enumerate() {
        sound &= finish(step, assemble, streams, states[lane], &mut lanes[lane], from);
    }
    sound
}

/// Decodes two lanes as long as both have keys for so many look-ups, a constant.
#[inline(always)]
fn go_on<S: Step>(
    step: &S,
    look_ups: usize,
    (states, from): (&mut [S::State; PAIR], &mut [usize; PAIR]),
    lanes: &mut [Lane<'_>; PAIR],
    next: &mut Chunks<'_, u8>,
) {
    loop {
        let left = lanes.iter().zip(&*from).map(|(lane, from)| lane.keys.len() - from);
        let refills = left.fold(usize::MAX, usize::min) / (S::KEYS * look_ups);
        if refills == 0 {
            return;
        }
        // In variables of their own, the places of all lanes stay in registers.
        let [mut a, mut b] = *states;
        let [mut na, mut nb] = *from;
        let [la, lb] = lanes;
        let (ka, kb) = (&mut *la.keys, &mut *lb.keys);
        for _ in 0..refills {
            mapped::prefetch(next.next().unwrap_or_default());
            step.refill(&mut a);
            step.refill(&mut b);
            for _ in 0..look_ups {
                na += step.look_up(&mut a, ka, na);
                nb += step.look_up(&mut b, kb, nb);
            }
            step.drain(&mut a);
            step.drain(&mut b);
        }
        *states = [a, b];
        *from = [na, nb];
    }
}

/// [`Decode::decode_one`](super::decoder::Decode), by these steps.
#[inline(always)]
pub(super) fn decode_one<S: Step>(
    step: &S,
    assemble: impl Assemble,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
) -> bool {
    finish(step, assemble, streams, step.state(lane.place), lane, 1)
}

/// [`Decode::middles`](super::decoder::Decode), by these steps: some keys behind the last one too,
/// since one by one they would take longer.
#[inline(always)]
pub(super) fn middles<S: Step>(
    step: &S,
    streams: &Streams<'_>,
    lane: &mut Lane<'_>,
    last: usize,
) -> bool {
    let mut state = step.state(lane.place);
    let keys = &mut *lane.keys;
    let mut from = 1;
    while from <= last && from + S::KEYS * S::LOOK_UPS <= keys.len() {
        step.refill(&mut state);
        for _ in 0..S::LOOK_UPS {
            from += step.look_up(&mut state, keys, from);
        }
        step.drain(&mut state);
    }
    while from <= last && from + S::KEYS <= keys.len() {
        step.refill(&mut state);
        from += step.look_up(&mut state, keys, from);
        step.drain(&mut state);
    }
    while from <= last && from < keys.len() {
        keys[from] = step.one(&mut state);
        from += 1;
    }
    lane.place = step.place(&state);
    !step.is_contradictory(&state) && lane.place.is_sound(streams.code)
}

/// Decodes the keys of a lane from number `from` on.
#[inline(always)]
fn finish<S: Step>(
    step: &S,
    assemble: impl Assemble,
    streams: &Streams<'_>,
    mut state: S::State,
    lane: &mut Lane<'_>,
    mut from: usize,
) -> bool {
    let keys = &mut *lane.keys;
    while keys.len() - from >= S::KEYS * S::LOOK_UPS {
        step.refill(&mut state);
        for _ in 0..S::LOOK_UPS {
            from += step.look_up(&mut state, keys, from);
        }
        step.drain(&mut state);
    }
    while keys.len() - from >= S::KEYS {
        step.refill(&mut state);
        from += step.look_up(&mut state, keys, from);
        step.drain(&mut state);
    }
    for middle in &mut keys[from..] {
        *middle = step.one(&mut state);
    }
    assemble.assemble(lane, streams.code.planes());
    lane.place = step.place(&state);
    !step.is_contradictory(&state) && lane.place.is_sound(streams.code)
}

/// [`Decode::skip`](super::decoder::Decode), by these steps.
#[inline(always)]
pub(super) fn skip<S: Step>(
    step: &S,
    streams: &Streams<'_>,
    place: &mut Place,
    keys: usize,
) -> bool {
    let mut state = step.state(*place);
    // A look-up at 0 changes no more than its own keys.
    let mut unused = [0; MAX_KEYS];
    let mut left = keys;
    while left >= S::KEYS * S::LOOK_UPS {
        step.refill(&mut state);
        for _ in 0..S::LOOK_UPS {
            left -= step.look_up(&mut state, &mut unused, 0);
        }
        step.drain(&mut state);
    }
    while left >= S::KEYS {
        step.refill(&mut state);
        left -= step.look_up(&mut state, &mut unused, 0);
        step.drain(&mut state);
    }
    for _ in 0..left {
        step.one(&mut state);
    }
    *place = step.place(&state);
    !step.is_contradictory(&state) && place.is_sound(streams.code)
}
