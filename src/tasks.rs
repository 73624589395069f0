//! Tasks that the threads of the current pool share: each goes to the thread that is free next.
//!
//! Outside of any pool the current thread does them one by one. Rayon would start a pool of its own
//! there, and panic where the system refuses its threads; so nothing in this crate calls rayon but
//! through this module.
//!
//! What a task does stands behind a pointer, so that the machinery of a pool is compiled once, and
//! not for every use and every width of fingerprints.

use std::cmp::Ordering;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// How many threads share tasks: those of the current pool, or the current thread alone.
pub(crate) fn threads() -> usize {
    // Rayon's own count starts its own pool where there is none.
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads())
}

/// Does both, side by side where there is a further thread.
pub(crate) fn join<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    match rayon::current_thread_index() {
        Some(_) => rayon::join(one, other),
        None => (one(), other()),
    }
}

/// Sorts, by all threads.
pub(crate) fn sort_unstable<T: Ord + Send>(items: &mut [T]) {
    match rayon::current_thread_index() {
        Some(_) => items.par_sort_unstable(),
        None => items.sort_unstable(),
    }
}

/// Sorts by a comparison, by all threads.
pub(crate) fn sort_unstable_by<T: Send>(
    items: &mut [T],
    compare: impl Fn(&T, &T) -> Ordering + Sync,
) {
    match rayon::current_thread_index() {
        Some(_) => items.par_sort_unstable_by(compare),
        None => items.sort_unstable_by(compare),
    }
}

/// Calls `work` on the threads of the current pool with what gives the numbers below `count`, each
/// to one of them.
fn share(count: usize, work: &(dyn Fn(&mut dyn Iterator<Item = usize>) + Sync)) {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Relaxed)).filter(|&number| number < count);
    let threads = threads().min(count);
    if threads <= 1 {
        return work(&mut iter::from_fn(take));
    }
    let threads = (0..threads).into_par_iter().with_max_len(1);
    threads.for_each(|_| work(&mut iter::from_fn(take)));
}

/// What `task` makes of each of `items` with a state, which each thread makes for itself; in the
/// order of the items.
pub(crate) fn map_with<I: Send, S, T: Send>(
    items: impl IntoIterator<Item = I>,
    state: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, I) -> T + Sync,
) -> Vec<T> {
    // Loops, of which the compiler makes less than of chains of iterators.
    let mut slots = Vec::new();
    for item in items {
        slots.push(Mutex::new((Some(item), None)));
    }
    share(slots.len(), &|numbers| {
        let mut own = None;
        for number in numbers {
            let lock = || slots[number].lock().unwrap_or_else(PoisonError::into_inner);
            let item = lock().0.take();
            if let Some(item) = item {
                let made = task(own.get_or_insert_with(&state), item);
                lock().1 = Some(made);
            }
        }
    });
    let mut made = Vec::with_capacity(slots.len());
    for slot in slots {
        if let (_, Some(one)) = slot.into_inner().unwrap_or_else(PoisonError::into_inner) {
            made.push(one);
        }
    }
    made
}

/// What `task` makes of each of `items`, in their order.
pub(crate) fn map<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    task: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    map_with(items, || (), |(), item| task(item))
}

/// As [`map`], where tasks may fail: the error is the first by the order of the items, not of time.
/// All tasks are done.
pub(crate) fn try_map<I: Send, T: Send, E: Send>(
    items: impl IntoIterator<Item = I>,
    task: impl Fn(I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    map(items, task).into_iter().collect()
}

/// Calls `task` with each of `items`, until it fails: what has not begun by then is left out. Gives
/// one of the errors.
pub(crate) fn try_each<I: Send, E: Send>(
    items: impl IntoIterator<Item = I>,
    task: impl Fn(I) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = AtomicBool::new(false);
    let done = try_map(items, |item| {
        if failed.load(Relaxed) {
            return Ok(());
        }
        task(item).inspect_err(|_| failed.store(true, Relaxed))
    });
    done.map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
    }

    #[test]
    fn what_is_made_stands_in_the_order_of_the_items() {
        for (threads, items) in [(1, 100), (2, 0), (2, 1), (3, 1000), (7, 5)] {
            let states = AtomicUsize::new(0);
            let state = || states.fetch_add(1, Relaxed);
            let made = with_threads(threads, || {
                map_with(0..items, state, |_, item: usize| map(0..item, |inner| inner * inner))
            });
            let expected = (0..items).map(|item| (0..item).map(|inner| inner * inner).collect());
            assert_eq!(made, expected.collect::<Vec<Vec<usize>>>());
            assert!(states.into_inner() <= threads.min(items));
        }
    }

    #[test]
    fn a_state_serves_all_tasks_of_a_thread() {
        let made = with_threads(1, || {
            let next = |state: &mut usize, item: usize| {
                *state += item;
                *state
            };
            map_with(1..=4, || 0, next)
        });
        assert_eq!(made, [1, 3, 6, 10]);
    }

    #[test]
    fn two_threads_work_side_by_side() {
        let begun = AtomicUsize::new(0);
        let task = |_| {
            begun.fetch_add(1, Relaxed);
            let start = Instant::now();
            while begun.load(Relaxed) < 2 && start.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            begun.load(Relaxed)
        };
        assert_eq!(with_threads(2, || map(0..2, task)), [2, 2]);
    }

    #[test]
    fn no_task_begins_after_an_error() {
        let begun = AtomicUsize::new(0);
        let task = |item: usize| {
            begun.fetch_add(1, Relaxed);
            if item == 3 { Err(item) } else { Ok(()) }
        };
        assert_eq!(with_threads(1, || try_each(0..10, task)), Err(3));
        assert_eq!(begun.into_inner(), 4);
        assert_eq!(with_threads(2, || try_each(0..10, |_| Ok::<_, ()>(()))), Ok(()));
    }
}
