//! What is told of a store that is written to.

use std::collections::BTreeSet;
use std::time::Duration;

use fpstore::stats::{LivingStats, SegmentStats, Slowing, Stats};
use fpstore::{Fingerprint, Store};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::times;
use crate::units::{self, plural};
use crate::writing;

/// The least number of fingerprints of which times can be predicted.
const PREDICTABLE: u64 = 4096;

/// In JSON.
#[derive(Serialize)]
pub(super) struct LivingReport {
    ids: bool,
    /// Null without windows.
    window_seconds: Option<u64>,
    /// The number of the last insertion or deletion.
    sequence: u64,
    log_operations: u64,
    log_insertions: u64,
    log_bytes: u64,
    deletions: u64,
    written_bytes: u64,
    inserted_bytes: u64,
    /// Null before the first segment.
    write_amplification: Option<f64>,
    slowing: SlowingReport,
}

/// When writers are slowed, in JSON.
#[derive(Serialize)]
struct SlowingReport {
    segments: u64,
    free_segments: u64,
    segment_delay_ns: u64,
    free_memory: f64,
    full_delay_ns: u64,
    most_delay_ns: u64,
    /// What the segments delay each insertion and deletion now.
    delay_ns: u64,
}

/// What merging all segments would bring, in JSON.
#[derive(Serialize)]
pub(super) struct FullMergeReport {
    segments: u64,
    segments_now: u64,
    bytes: u64,
    bytes_now: u64,
    /// Null for sets that are too small to tell.
    query_ns: Option<f64>,
    query_ns_now: Option<f64>,
}

impl LivingReport {
    pub(super) fn new<F: Fingerprint>(store: &Store<F>, living: &LivingStats) -> Self {
        let slowing = store.snapshot().slowing();
        Self {
            ids: living.ids,
            window_seconds: living.window.map(|window| window.as_secs()),
            sequence: living.sequence,
            log_operations: living.log_operations,
            log_insertions: living.log_insertions,
            log_bytes: writing::log_bytes(store.path()),
            deletions: living.deletions,
            written_bytes: living.written_bytes,
            inserted_bytes: living.inserted_bytes,
            write_amplification: living.write_amplification(),
            slowing: SlowingReport {
                segments: slowing.segments,
                free_segments: slowing.free_segments,
                segment_delay_ns: ns(slowing.segment_delay),
                free_memory: slowing.free_memory,
                full_delay_ns: ns(slowing.full_delay),
                most_delay_ns: ns(slowing.most_delay),
                delay_ns: ns(slowing.delay),
            },
        }
    }
}

impl FullMergeReport {
    /// None where there is nothing to merge.
    pub(super) fn new<F: Fingerprint>(
        store: &Store<F>,
        stats: &Stats,
    ) -> Result<Option<Self>, Failure> {
        let segments_now = stats.segments.len() as u64;
        let full = store.snapshot().full_merge()?;
        if full.segments >= segments_now {
            return Ok(None);
        }
        let count = stats.segments.iter().fold(0u64, |sum, at| sum.saturating_add(at.count));
        let predicted = |ns| Some(ns).filter(|_| count >= PREDICTABLE);
        Ok(Some(Self {
            segments: full.segments,
            segments_now,
            bytes: full.bytes,
            bytes_now: stats.bytes,
            query_ns: predicted(full.search_ns),
            query_ns_now: predicted(full.search_ns_now),
        }))
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What is told of a segment beside its tables.
pub(super) fn of_segment(segment: &SegmentStats) -> String {
    let mut text = String::new();
    if let Some(since) = segment.since {
        text += &format!(", window from {}", times::moment(since));
    }
    if segment.deletions > 0 {
        text += &format!(", {}", plural(segment.deletions, "deletion"));
    }
    text
}

/// Prints what a store has besides its segments.
pub(super) fn print<F: Fingerprint>(
    output: &mut Output,
    store: &Store<F>,
    stats: &Stats,
) -> Result<(), Failure> {
    let mut rows = Vec::new();
    if let Some(living) = &stats.living {
        rows.push(("log", log(store, living)));
        if let Some(window) = living.window {
            rows.push(("windows", windows(window, &stats.segments)));
        }
        rows.push((
            "deletions",
            match living.deletions {
                0 => "none in segments".to_string(),
                some => format!(
                    "{} in segments, until a merge removes them and what they hide",
                    units::count(some)
                ),
            },
        ));
        if let Some(amplification) = living.write_amplification() {
            let bytes = |bytes: u64| units::bytes(bytes as f64);
            let (written, inserted) = (bytes(living.written_bytes), bytes(living.inserted_bytes));
            let written = format!(
                "{written} to the disk so far, {amplification:.2} times the {inserted} of its records"
            );
            rows.push(("written", written));
        }
        rows.push(("writers", writers(&store.snapshot().slowing())));
    }
    if let Some(full) = FullMergeReport::new(store, stats)? {
        rows.push(("full merge", full_merge(&full, stats.radius)));
    }
    for (name, value) in rows {
        output.line(&format!("{name:<12}{value}"))?;
    }
    Ok(())
}

fn log<F: Fingerprint>(store: &Store<F>, living: &LivingStats) -> String {
    let deletions = living.log_operations.saturating_sub(living.log_insertions);
    format!(
        "{} and {} in {}",
        plural(living.log_insertions, "insertion"),
        plural(deletions, "deletion"),
        units::bytes(writing::log_bytes(store.path()) as f64),
    )
}

fn windows(window: Duration, segments: &[SegmentStats]) -> String {
    let of_segments: BTreeSet<_> = segments.iter().filter_map(|segment| segment.since).collect();
    let range = match (of_segments.first(), of_segments.last()) {
        (Some(&first), Some(&last)) if first < last => {
            format!(", from {} to {}", times::moment(first), times::moment(last))
        }
        (Some(&first), _) => format!(", of {}", times::moment(first)),
        _ => String::new(),
    };
    format!("{} in segments, of {} each{range}", of_segments.len(), times::length(window))
}

fn writers(slowing: &Slowing) -> String {
    let time = |time: Duration| units::time(time.as_nanos() as f64);
    let waiting = match slowing.segments {
        1 => "1 segment waits for a merge".to_string(),
        some => format!("{} segments wait for a merge", units::count(some)),
    };
    let free = units::count(slowing.free_segments);
    match slowing.delay {
        Duration::ZERO => format!("at full speed; {waiting}, more than {free} slow them down"),
        delay => format!(
            "slowed down, each insertion and deletion by {}; {waiting}, more than {free}",
            time(delay)
        ),
    }
}

fn full_merge(full: &FullMergeReport, radius: u32) -> String {
    let bytes = |bytes: u64| units::bytes(bytes as f64);
    let queries = match full.query_ns.zip(full.query_ns_now) {
        Some((then, now)) => format!(
            "; queries at distance {radius} about {} each instead of {}",
            units::time(then),
            units::time(now)
        ),
        None => String::new(),
    };
    format!(
        "{} instead of {}, about {} instead of {}{queries}",
        plural(full.segments, "segment"),
        full.segments_now,
        bytes(full.bytes),
        bytes(full.bytes_now),
    )
}
