//! What `dedup` tells in the end.

use std::collections::BTreeMap;

use fpstore::Fingerprint;
use fpstore::query::Clusters;
use fpstore_records::write::hex;

use super::Args;
use crate::output::say;

/// Clusters that a warning names.
const NAMED: usize = 3;
/// The longest bar of the histogram.
const BAR: usize = 40;

/// Tells the summary, and warns of clusters that are too large, on standard error.
pub fn tell<F: Fingerprint>(args: &Args, clusters: &Clusters<F>) {
    let summary = clusters.summary();
    if !args.globals.quiet {
        let documents = summary.documents;
        let rows = [
            ("documents", documents, ""),
            ("exact duplicates", summary.exact_duplicates, "another document has the fingerprint"),
            ("near duplicates", summary.near_duplicates, "fingerprints that are dropped"),
            ("to keep", summary.clusters, "one of each cluster"),
        ];
        for (name, count, what) in rows {
            let share = count as f64 / documents.max(1) as f64 * 100.0;
            say!("{name:<17} {count:>12} {share:>6.1}%  {what}");
        }
        say!("{} fingerprints", summary.fingerprints);
        histogram(&summary.sizes);
    }
    if summary.oversized > 0 {
        say!("fpstore: warning: {}", warning(clusters));
    }
}

/// Sizes by powers of two; the lengths of bars are logarithmic.
fn histogram(sizes: &BTreeMap<u64, u64>) {
    let mut classes: BTreeMap<u32, u64> = BTreeMap::new();
    for (&size, &count) in sizes {
        // 1, 2, 3 to 4, 5 to 8, and so on.
        *classes.entry(size.next_power_of_two().ilog2()).or_default() += count;
    }
    let most = classes.values().max().copied().unwrap_or(1) as f64;
    say!("{:>17} {:>12}", "cluster size", "clusters");
    for (class, count) in classes {
        let last = 1u64 << class;
        let first = last / 2 + 1;
        let range = if class < 2 { last.to_string() } else { format!("{first}-{last}") };
        let bar = ((count as f64 + 1.0).log2() / (most + 1.0).log2() * BAR as f64).ceil() as usize;
        say!("{range:>17} {count:>12} {}", "#".repeat(bar.clamp(1, BAR)));
    }
}

fn warning<F: Fingerprint>(clusters: &Clusters<F>) -> String {
    let oversized = clusters.summary().oversized;
    // Each cluster is met at its representative.
    let mut largest: Vec<(u64, u64, F)> = Vec::new();
    for at in clusters.iter().filter(|at| at.kept()) {
        let size = clusters.size(at.cluster).unwrap_or(0);
        if size <= super::MOST_OF_CLUSTER {
            continue;
        }
        let place = largest.partition_point(|&(other, ..)| other >= size);
        largest.insert(place, (size, at.cluster, at.fingerprint));
        largest.truncate(NAMED);
    }
    let named = largest.iter().map(|&(size, cluster, fingerprint)| {
        format!("number {cluster} has {size}, kept {}", hex(fingerprint))
    });
    format!(
        "{oversized} cluster{} of more than {} fingerprints: {}{}; these may be chains, whose ends \
         differ in more than the distance: look at some, or give a smaller -k",
        if oversized == 1 { "" } else { "s" },
        super::MOST_OF_CLUSTER,
        named.collect::<Vec<_>>().join("; "),
        if oversized > NAMED as u64 { "; ..." } else { "" },
    )
}
