//! How searches go through the segments of a store, beside what they were predicted to take.

use fpstore::{Fingerprint, Hex, Snapshot};

use crate::failure::Failure;
use crate::output::Output;
use crate::units;

/// The names of the columns, which are as wide as numbers mostly are.
const HEADER: &str = "  segment  fingerprints  path       predicted        took  blocks  decoded   \
                      runs     keys     rows  matches";

/// Searches for each query, and prints a line for each segment. Tells whether anything matched.
pub fn explain<F: Fingerprint>(
    store: &Snapshot<F>,
    queries: &[F],
    radius: u32,
) -> Result<bool, Failure> {
    let mut searcher = store.searcher();
    let mut output = Output::stdout();
    let mut matched = false;
    for &query in queries {
        output.line(&format!("{} within {radius}", Hex::of(query)))?;
        output.line(HEADER)?;
        for of in searcher.explain(query, radius)? {
            matched |= of.matches > 0;
            let work = of.work;
            output.line(&format!(
                "  {:>7}  {:>12}  {:<9}  {:>9}  {:>10}  {:>6}  {:>7}  {:>5}  {:>7}  {:>7}  {:>7}",
                of.segment,
                units::count(of.fingerprints),
                of.path,
                units::time(of.predicted_ns),
                units::time(of.ns),
                work.blocks_scanned,
                work.blocks_decoded,
                work.runs_looked_up,
                work.keys_compared,
                work.rows_compared,
                of.matches,
            ))?;
        }
    }
    output.flush()?;
    Ok(matched)
}
