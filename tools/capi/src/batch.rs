//! Many searches at once.

use fpstore::{Fingerprint, Snapshot};

use crate::error::{Failure, Result, done, fps_status};
use crate::input::{self, Given, Out};
use crate::matches::fps_match;
use crate::options::{Sized, fps_batch_options};
use crate::snapshot::fps_snapshot;
use crate::width::for_width;

/// The answers of a batch, in memory. Any number of threads may use them at once.
#[derive(Default)]
pub struct fps_answers {
    matches: Vec<fps_match>,
    answers: Vec<Answer>,
}

struct Answer {
    /// Where its matches end.
    end: usize,
    /// How many match, whatever the limit.
    count: u64,
}

/// Searches for `count` fingerprints, of `fingerprint_bytes` bytes each, one behind the other: each
/// gets what `fps_snapshot_search` gives. `options` may be NULL. Reads the store once where that
/// takes less time than to search for each. A match takes 36 bytes of memory. End the answers with
/// `fps_answers_free`.
///
/// As `fps_snapshot_search`; FPS_STOPPED and FPS_OUT_OF_RESOURCES as the options say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_snapshot_search_batch(
    snapshot: *const fps_snapshot,
    fingerprints: *const u8,
    fingerprint_bytes: usize,
    count: usize,
    k: u32,
    options: *const fps_batch_options,
    answers: *mut *mut fps_answers,
) -> fps_status {
    fn run<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        given: Given<'_>,
        k: u32,
        options: &fps_batch_options,
    ) -> Result<fps_answers> {
        let queries: Vec<F> = given.of::<F>()?.collect();
        let batch = snapshot.batch(input::radius::<F>(k)?).execution(options.execution());
        let batch = batch.limit(usize::try_from(options.limit).unwrap_or(usize::MAX));
        let mut all = fps_answers::default();
        batch.run(&queries, |answer| {
            all.matches.extend(answer.matches.iter().map(fps_match::new));
            all.answers.push(Answer { end: all.matches.len(), count: answer.count });
        })?;
        Ok(all)
    }
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (out, snapshot, options, given) = unsafe {
            (
                Out::handle(answers, "answers")?,
                input::at(snapshot, "snapshot")?,
                fps_batch_options::read(options)?,
                Given::new(fingerprints, fingerprint_bytes, count)?,
            )
        };
        out.give(for_width!(&snapshot.any, one => run(one, given, k, &options)?));
        Ok(())
    })
}

/// Points `matches` to the matches of query number `query`, from 0 on, and writes to `count` how
/// many these are, and to `total`, which may be NULL, how many there are whatever the limit. The
/// matches belong to the answers.
///
/// FPS_INVALID_INPUT if there is no such query.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_answers_get(
    answers: *const fps_answers,
    query: usize,
    matches: *mut *const fps_match,
    count: *mut usize,
    total: *mut u64,
) -> fps_status {
    done(|| {
        // SAFETY: C vouches for its pointers.
        let (answers, to_matches, to_count) = unsafe {
            (
                input::at(answers, "answers")?,
                Out::new(matches, "matches")?,
                Out::new(count, "count")?,
            )
        };
        let Some(answer) = answers.answers.get(query) else {
            return Err(Failure::input(format!(
                "there is no query {query}: there are {}, from 0 on",
                answers.answers.len()
            )));
        };
        let before = query.checked_sub(1).and_then(|before| answers.answers.get(before));
        let start = before.map_or(0, |before| before.end);
        let own = answers.matches.get(start..answer.end).unwrap_or_default();
        to_matches.set(own.as_ptr());
        to_count.set(own.len());
        if !total.is_null() {
            // SAFETY: C vouches for its pointers.
            unsafe { Out::new(total, "total") }?.set(answer.count);
        }
        Ok(())
    })
}

/// Ends answers; NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fps_answers_free(answers: *mut fps_answers) {
    // SAFETY: C vouches for it.
    unsafe { input::end(answers) }
}
