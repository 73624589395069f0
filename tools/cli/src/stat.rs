//! `fpstore stat`: how a store is built, and how well it is compressed.

use std::path::{Path, PathBuf};

use fpstore::stats::{BitRange, IdStats, SegmentStats, Stats, TableStats};
use fpstore::{Design, Fingerprint, Store, width_of};
use serde::Serialize;

mod living;
mod parts;

use living::{FullMergeReport, LivingReport};
use parts::PartsReport;

use crate::counts::Count;
use crate::failure::Failure;
use crate::global::Globals;
use crate::output::Output;
use crate::report::{TableReport, bits_against_bound, per_fingerprint, short_key_bits};
use crate::times;
use crate::units;
use crate::width::{self, for_width};
use crate::writing;

const AFTER_HELP: &str = "\
The first line counts what the store holds: each fingerprint once, also where
several segments or the log have it, and none that was deleted. Of more than 16
million in several segments it says `at most`. Bytes are those of all files,
the log included.

Of each table, which is a sorted copy of all fingerprints, it tells
  bits per fingerprint  of the blocks alone, and with the router
  bound                 bits per fingerprint that a random set of this size
                        needs at least: log2(C(2^64, n)) / n; a table below it
                        has found structure in the set
  sorted by             the bits that come first in its order; bit 0 is leftmost
  keys                  of a short table: how many bits of each fingerprint, in
                        its order, it keeps; the bound is that of these
  codec                 how fingerprints are told from the one before, and how
                        many of their low bits are stored as they are
  router                what it takes in memory
Of a base, which holds every fingerprint once, and of the tables of parts of
their bits beside it, it tells
  key bits      the bits that rows are found by; bit 0 is the most significant
                one. Where a sample of the set shows that adjacent bits go
                together, these are others
  alike         pairs of fingerprints that agree in these; a search that comes to
                one reads the other for nothing, so many make it slow
--details adds
  code lengths          of the Huffman codes, for each class: the number of
                        leading bits that a key shares with the one before it
                        (xor), or leading zeros of their difference (gap)
  entropy               of the histogram of the classes: what an ideal code
                        would need

Of a store that says by which recipe its fingerprints were made it tells that
line.

Of ids it tells how many there are, and what the parts of their file take.

Of a store that is written to it tells also
  log            insertions and deletions that stand in no segment yet; every
                 process that opens the store reads them
  deletions      in segments: they hide records until a merge removes both
  written        all bytes that were written to the disk, with logs and merges,
                 for the bytes of the records that were inserted: the write
                 amplification
  writers        whether insertions and deletions wait now since there are too
                 many segments. Nothing is refused, and merges end it. Such a
                 wait also comes where records arrive faster than they become
                 segments
  full merge     what `fpstore merge --full` would bring, as predicted
`fpstore glossary` explains the words.";

/// Shows how a store is built and how well it is compressed
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The directory that `fpstore pack` wrote
    store: PathBuf,

    /// Print also how the code of each table is made
    #[arg(long, conflicts_with = "json")]
    details: bool,
}

#[derive(Serialize)]
struct StoreReport {
    store: String,
    /// Which store this is, in 32 hexadecimal digits, and how often it was written.
    store_id: String,
    generation: u64,
    /// Left out where fingerprints have 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u32>,
    radius: u32,
    /// How the fingerprints were made; null where nobody has said so.
    recipe: Option<String>,
    fingerprints: u64,
    /// Whether there are so many, else at most so many.
    exact: bool,
    /// Of all files, logs included.
    bytes: u64,
    /// Null without fingerprints.
    bytes_per_fingerprint: Option<f64>,
    /// What ids are; null where there are none.
    id_kind: Option<String>,
    /// Bytes of the files of names; 0 where ids are numbers.
    name_bytes: u64,
    segments: Vec<SegmentReport>,
    /// Null for a store that was never written in place.
    living: Option<LivingReport>,
    /// Null where there is nothing to merge.
    full_merge: Option<FullMergeReport>,
}

#[derive(Serialize)]
struct SegmentReport {
    segment: u64,
    /// Null where there are parts, which are left out otherwise.
    design: Option<String>,
    fingerprints: u64,
    tables: Vec<TableReport>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    parts: Option<PartsReport>,
    /// Null without ids.
    ids: Option<IdReport>,
    /// When its window of time begins; null without windows.
    since: Option<String>,
    deletions: u64,
}

/// The ids of a segment in JSON.
#[derive(Serialize)]
struct IdReport {
    ids: u64,
    id_bits: u32,
    file_bytes: u64,
    id_bytes: u64,
    multiplicity_bytes: u64,
    rank_bytes: u64,
    /// Header, directory and checksums.
    other_bytes: u64,
    bits_per_fingerprint: f64,
    overhead_bits_per_fingerprint: f64,
}

/// Prints the statistics.
pub fn run(args: &Args) -> Result<(), Failure> {
    for_width!(width_of(&args.store)?, stat(args))
}

fn stat<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let store = width::open::<F>(&args.store)?;
    let mut stats = store.stats()?;
    let names = name_bytes(&args.store);
    stats.bytes = stats.bytes.saturating_add(writing::log_bytes(&args.store));
    let count = Count::of(&store.snapshot())?;
    let name = args.store.display().to_string();
    let mut output = Output::stdout();
    if args.globals.json {
        output.json(&report(&store, name, (&stats, count), names)?)?;
    } else {
        print(&mut output, &store, &name, (&stats, count), names, args.details)?;
    }
    output.flush()
}

/// Bytes of the files that hold the names of a store.
fn name_bytes(store: &Path) -> u64 {
    let files = std::fs::read_dir(store).into_iter().flatten().flatten();
    let of_names = files.filter(|file| file.file_name().to_string_lossy().ends_with("-names.fpn"));
    of_names.filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum()
}

fn report<F: Fingerprint>(
    opened: &Store<F>,
    store: String,
    (stats, count): (&Stats, Count),
    name_bytes: u64,
) -> Result<StoreReport, Failure> {
    let segment = |segment: &SegmentStats| SegmentReport {
        segment: segment.number,
        design: segment.design.as_ref().map(Design::to_string),
        fingerprints: segment.count,
        tables: segment.tables.iter().map(|table| TableReport::new(table, stats.bits)).collect(),
        parts: segment.base.as_ref().map(PartsReport::new),
        ids: segment.ids.as_ref().map(id_report),
        since: segment.since.map(times::moment),
        deletions: segment.deletions,
    };
    Ok(StoreReport {
        store,
        store_id: format!("{:032x}", opened.id()),
        generation: opened.generation(),
        bits: Some(stats.bits).filter(|&bits| bits != u64::BITS),
        radius: stats.radius,
        recipe: opened.recipe(),
        fingerprints: count.fingerprints,
        exact: count.exact,
        bytes: stats.bytes,
        bytes_per_fingerprint: per_fingerprint(stats.bytes as f64, count.fingerprints),
        id_kind: opened.id_kind().map(|kind| kind.to_string()),
        name_bytes,
        segments: stats.segments.iter().map(segment).collect(),
        living: stats.living.as_ref().map(|living| LivingReport::new(opened, living)),
        full_merge: FullMergeReport::new(opened, stats)?,
    })
}

fn id_report(ids: &IdStats) -> IdReport {
    IdReport {
        ids: ids.ids,
        id_bits: ids.id_bits,
        file_bytes: ids.file_bytes,
        id_bytes: ids.id_bytes,
        multiplicity_bytes: ids.multiplicity_bytes,
        rank_bytes: ids.rank_bytes,
        other_bytes: other_bytes(ids),
        bits_per_fingerprint: ids.bits_per_fingerprint(),
        overhead_bits_per_fingerprint: ids.overhead_bits_per_fingerprint(),
    }
}

/// Bytes of the header, of what finds chunks and marks, and of checksums.
fn other_bytes(ids: &IdStats) -> u64 {
    ids.file_bytes - ids.id_bytes - ids.multiplicity_bytes - ids.rank_bytes
}

fn print<F: Fingerprint>(
    output: &mut Output,
    store: &Store<F>,
    name: &str,
    (stats, count): (&Stats, Count),
    names: u64,
    details: bool,
) -> Result<(), Failure> {
    let each = per_fingerprint(stats.bytes as f64, count.fingerprints);
    let each = each.map_or(String::new(), |each| format!(", {each:.2} bytes per fingerprint"));
    output.line(&format!(
        "{name}: {count}{}, {} bytes{each}, packed for k = {}",
        match stats.bits {
            u64::BITS => String::new(),
            bits => format!(" of {bits} bits"),
        },
        stats.bytes,
        stats.radius,
    ))?;
    if let Some(recipe) = store.recipe() {
        output.line(&format!("recipe: {recipe}"))?;
    }
    print_identity(output, store, details)?;
    for segment in &stats.segments {
        if let Some(base) = &segment.base {
            parts::print(output, segment, base)?;
        }
        if let Some(design) = &segment.design {
            output.line(&format!(
                "segment {}: design {design}, {} fingerprints in {}{}",
                segment.number,
                segment.count,
                match segment.tables.len() {
                    1 => "1 table".to_string(),
                    tables => format!("each of {tables} tables"),
                },
                living::of_segment(segment),
            ))?;
        }
        for table in &segment.tables {
            print_table(output, table, stats.bits, details)?;
        }
        if let Some(ids) = &segment.ids {
            print_ids(output, ids)?;
        }
    }
    if let Some(kind) = store.id_kind().filter(|kind| kind.is_named()) {
        output.line(&format!("ids are {kind}, in {} of names", units::bytes(names as f64)))?;
    }
    living::print(output, store, stats)
}

/// Which store this is, and what of it is not known here.
fn print_identity<F: Fingerprint>(
    output: &mut Output,
    store: &Store<F>,
    details: bool,
) -> Result<(), Failure> {
    if details {
        output.line(&format!("store {:032x}, generation {}", store.id(), store.generation()))?;
    }
    for section in store.skipped_sections() {
        let edit =
            if section.writers_must_know { "; do not edit the store without it" } else { "" };
        output.line(&format!(
            "a part of kind {} is not known to this version and was skipped{edit}",
            section.kind
        ))?;
    }
    Ok(())
}

fn print_table(
    output: &mut Output,
    table: &TableStats,
    bits: u32,
    details: bool,
) -> Result<(), Failure> {
    let top: Vec<String> = table.top.iter().map(|&range| range_text(range)).collect();
    let lengths: Vec<String> = table.code_lengths.iter().map(u8::to_string).collect();
    output.line(&format!("  table {}: {}", table.number, bits_against_bound(table)))?;
    let mut rows = vec![
        ("sorted by", format!("bits {}", top.join(", "))),
        ("fingerprints", table.count.to_string()),
        ("blocks", format!("{} of {} bytes", table.blocks, table.block_bytes)),
        ("codec", format!("{}, {} low bits as they are", table.codec, table.low_bits)),
        ("router", format!("{} bytes", table.router_bytes)),
        ("file", format!("{} bytes", table.file_bytes)),
    ];
    if let Some(key_bits) = short_key_bits(table, bits) {
        rows.insert(1, ("keys", format!("the first {key_bits} of {bits} bits in this order")));
    }
    if details {
        rows.push(("code lengths", lengths.join(" ")));
        rows.push(("entropy", format!("{:.3} bits per class", table.entropy_bits())));
    }
    for (name, value) in rows {
        output.line(&format!("    {name:<13}{value}"))?;
    }
    Ok(())
}

fn print_ids(output: &mut Output, ids: &IdStats) -> Result<(), Failure> {
    output.line(&format!(
        "  ids: {}, {:.2} bits per fingerprint, {:.2} of them beside the ids themselves",
        ids.ids,
        ids.bits_per_fingerprint(),
        ids.overhead_bits_per_fingerprint(),
    ))?;
    for (name, value) in [
        ("ids", format!("{} bytes, {} bits each", ids.id_bytes, ids.id_bits)),
        ("numbers", format!("{} bytes: how many each fingerprint has", ids.multiplicity_bytes)),
        ("ranks", format!("{} bytes: which fingerprints stand in a block", ids.rank_bytes)),
        ("checksums", format!("{} bytes, with the header", other_bytes(ids))),
        ("file", format!("{} bytes", ids.file_bytes)),
    ] {
        output.line(&format!("    {name:<13}{value}"))?;
    }
    Ok(())
}

fn range_text(range: BitRange) -> String {
    match range.bits {
        1 => range.start.to_string(),
        bits => format!("{} to {}", range.start, u32::from(range.start) + u32::from(bits) - 1),
    }
}
