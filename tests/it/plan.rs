//! Predictions of the planner against what packs write and searches touch.

use fpstore::plan::{Plan, Planner};
use fpstore::stats::AccessPath;
use fpstore::{Design, Execution, Layout, Packer, Prefer, Store};

use crate::sets::{Random, sorted};

/// Queries of each comparison.
const QUERIES: usize = 100;

/// What a pack wrote and its searches did.
struct Counted {
    bytes: u64,
    /// Bytes of routers, mapped and on the heap.
    memory: u64,
    blocks: f64,
    decoded: f64,
    scans: usize,
}

fn count_in(set: &[u64], plan: &Plan, queries: &[u64], k: u32) -> Counted {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let packer = Packer::new()
        .layout(Layout::new().design(plan.design.clone()).block_bytes(plan.block_bytes));
    let summary = packer.pack(&path, set.iter().copied()).unwrap();
    let store = Store::open(&path).unwrap();
    let (blocks, decoded, scans) = search(&store, queries, k);
    let router: u64 = summary.tables.iter().map(|table| table.router_bytes).sum();
    Counted { bytes: summary.bytes, memory: router + store.heap_bytes(), blocks, decoded, scans }
}

/// Blocks scanned and decoded per query, and the number of scans.
fn search(store: &Store, queries: &[u64], k: u32) -> (f64, f64, usize) {
    let mut searcher = store.searcher();
    searcher.force(Some(AccessPath::Tables));
    let (mut blocks, mut decoded, mut scans) = (0, 0, 0);
    for &query in queries {
        searcher.search(query, k).unwrap();
        let work = searcher.work();
        blocks += work.blocks_scanned;
        decoded += work.blocks_decoded;
        scans += work.full_scans as usize;
    }
    let mean = |sum: u64| sum as f64 / queries.len().max(1) as f64;
    (mean(blocks), mean(decoded), scans)
}

fn uniform(count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    sorted(&(0..count).map(|_| random.next()).collect::<Vec<_>>())
}

#[test]
fn predicted_blocks_are_within_15_percent_of_those_counted_on_uniform_sets() {
    let mut random = Random(7);
    let queries: Vec<u64> = (0..QUERIES).map(|_| random.next()).collect();
    let (mut compared, mut worst) = (0, 0f64);
    for (exponent, sizes) in [(16, &[256u32, 1024, 4096][..]), (18, &[256, 2048]), (20, &[512])] {
        let set = uniform(1 << exponent, exponent as u64);
        for design in Design::NAMES.iter().map(|name| Design::named(name).unwrap()) {
            // The largest designs are packed at the smallest size only.
            if design.table_count() > 4 && exponent > 16 {
                continue;
            }
            for &block_bytes in sizes {
                let temporary = tempfile::tempdir().unwrap();
                let path = temporary.path().join("store");
                let packer = Packer::new()
                    .layout(Layout::new().design(design.clone()).block_bytes(block_bytes));
                packer.pack(&path, set.iter().copied()).unwrap();
                let store = Store::open(&path).unwrap();
                for k in 1..=6 {
                    let planner = Planner::new(set.len() as u64).radius(k);
                    let planner = planner.designs([design.clone()]);
                    let plan = &planner.block_bytes(Some(block_bytes)).plans().unwrap()[0];
                    let (blocks, _, scans) = search(&store, &queries, k);
                    if plan.scans || scans > 0 {
                        continue;
                    }
                    let error = plan.blocks / blocks - 1.0;
                    assert!(
                        error.abs() < 0.15,
                        "2^{exponent} {design} B={block_bytes} k={k}: {} predicted, {blocks} counted",
                        plan.blocks
                    );
                    compared += 1;
                    worst = worst.max(error.abs());
                }
            }
        }
    }
    println!("{compared} comparisons, the worst {:.1}%", 100.0 * worst);
    assert!(compared > 50, "{compared}");
}

#[test]
fn predicted_sizes_and_memory_are_those_of_the_files() {
    for (count, block_bytes) in [(1000, 256), (30_000, 512), (1 << 18, 1024), (1 << 18, 8192)] {
        let set = uniform(count, 3);
        let planner = Planner::new(set.len() as u64).block_bytes(Some(block_bytes));
        let plan = &planner.designs(["thirds".parse().unwrap()]).plans().unwrap()[0];
        let counted = count_in(&set, plan, &[], 3);
        let error = plan.store_bytes as f64 / counted.bytes as f64 - 1.0;
        // A set of a few blocks may need one block more or less in each table.
        let a_block = f64::from(3 * block_bytes) / counted.bytes as f64;
        assert!(error.abs() < 0.005 + a_block, "{count}: {error}");
        let memory = plan.router_bytes as f64 / counted.memory as f64 - 1.0;
        assert!(memory.abs() < 0.1, "{count}: {} {}", plan.router_bytes, counted.memory);
    }
}

#[test]
fn runs_of_a_clustered_set_tell_how_it_is_coded_where_a_sample_cannot() {
    let mut random = Random(11);
    let mut set = Vec::new();
    for _ in 0..20_000 {
        let centre = random.next();
        // Members that differ in low bits only, so that they stand together.
        set.extend((0..8).map(|_| random.flip_inside(centre, 2, 0xFFFF)));
    }
    let set = sorted(&set);
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("store");
    let design: Design = "single".parse().unwrap();
    let packer = Packer::new().layout(Layout::new().design(design.clone()).block_bytes(1024));
    let summary = packer.pack(&path, set.iter().copied()).unwrap();
    let planner = Planner::new(set.len() as u64).designs([design]).block_bytes(Some(1024));
    let sample: Vec<u64> = set.iter().copied().step_by(100).collect();
    let planner = planner.sample(&sample);
    let runs = set.chunk_by(|a, b| a >> 55 == b >> 55).step_by(20);
    let (torn, whole) = (planner.plans().unwrap(), planner.runs(runs).plans().unwrap());
    let error = |plan: &Plan| (plan.store_bytes as f64 / summary.bytes as f64 - 1.0).abs();
    assert!(error(&torn[0]) > 0.1 && error(&whole[0]) < 0.02, "{torn:?} {whole:?}");
    assert_eq!(whole[0].low_bits, summary.tables[0].low_bits);
    assert_ne!(torn[0].low_bits, whole[0].low_bits);
}

#[test]
fn the_bytes_that_a_search_touches_are_counted_where_asked_and_as_predicted() {
    let set = uniform(1 << 16, 5);
    let temporary = tempfile::tempdir().unwrap();
    let mut random = Random(8);
    let queries: Vec<u64> = (0..QUERIES).map(|_| random.next()).collect();
    for design in ["single", "quarters"] {
        for block_bytes in [256, 2048] {
            let design: Design = design.parse().unwrap();
            let path = temporary.path().join(format!("{design}-{block_bytes}"));
            let packer =
                Packer::new().layout(Layout::new().design(design.clone()).block_bytes(block_bytes));
            packer.pack(&path, set.iter().copied()).unwrap();
            let store = Store::open(&path).unwrap();
            let mut searcher = store.searcher();
            searcher.force(Some(AccessPath::Tables));
            searcher.search(queries[0], 3).unwrap();
            assert_eq!(searcher.work().bytes_touched, 0, "nobody asked");
            searcher.count_bytes(true);
            let mut mean = |queries: &[u64]| {
                let mut sum = 0;
                for &query in queries {
                    searcher.search(query, 3).unwrap();
                    sum += searcher.work().bytes_touched;
                }
                sum as f64 / queries.len() as f64
            };
            let planner = Planner::new(set.len() as u64).designs([design.clone()]);
            let planner = planner.block_bytes(Some(block_bytes));
            let plan = &planner.plans().unwrap()[0];
            let touched = mean(&queries);
            assert!((plan.bytes_touched / touched - 1.0).abs() < 0.2, "{touched} {plan:?}");
            // A match decodes a block, of which the planner takes half the stream.
            let matching = &planner.matches(1.0).plans().unwrap()[0];
            assert!((matching.blocks_decoded - plan.blocks_decoded - 1.0).abs() < 1e-9);
            assert!(matching.warm_ns > plan.warm_ns);
            let decoded = mean(&set[..QUERIES]) - touched;
            let stream = 2.0 * (matching.bytes_touched - plan.bytes_touched);
            assert!((decoded - stream).abs() < 0.2 * touched, "{decoded} {stream}");
        }
    }
    assert!(Planner::new(9).matches(-1.0).plans().is_err());
}

/// Real fingerprints, whose blocks lie nearly as those of uniform ones.
#[test]
fn predictions_from_a_sample_hold_on_real_fingerprints() {
    let read = |name: &str| -> Vec<u64> {
        let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).unwrap();
        bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
    };
    let set = sorted(&read("devset-100k.u64"));
    // The queries are stored fingerprints with up to five bits flipped, and a third random ones.
    let queries = read("devset-100k.queries.u64");
    let mut errors = [Vec::new(), Vec::new()];
    for design in ["single", "halves", "thirds", "quarters", "2of5"] {
        for (block_bytes, k) in [(256, 1), (256, 3), (256, 6), (1024, 3), (1024, 6)] {
            let planner = Planner::new(set.len() as u64)
                .radius(k)
                .block_bytes(Some(block_bytes))
                .designs([design.parse().unwrap()]);
            let plan = &planner.clone().sample(&set).plans().unwrap()[0];
            let counted = count_in(&set, plan, &queries, k);
            if plan.scans {
                continue;
            }
            let error = |plan: &Plan| plan.blocks / counted.blocks - 1.0;
            let blind = error(&planner.plans().unwrap()[0]);
            println!(
                "{design} B={block_bytes} k={k}: {:.1} predicted, {:.1} counted, {:+.1}% ({:+.1}% \
                 for uniform ones); decoded {:.1}, {:.1}; {} scans",
                plan.blocks,
                counted.blocks,
                100.0 * error(plan),
                100.0 * blind,
                plan.blocks_decoded,
                counted.decoded,
                counted.scans,
            );
            errors[0].push(error(plan).abs());
            errors[1].push(blind.abs());
            let size = plan.store_bytes as f64 / counted.bytes as f64 - 1.0;
            assert!(size.abs() < 0.03, "{design}: {size}");
        }
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    println!("mean error {:.3} with the sample, {:.3} without", mean(&errors[0]), mean(&errors[1]));
    assert!(errors[0].iter().all(|&error| error < 0.15) && mean(&errors[0]) < 0.05);
}

/// Fingerprints of which half share 10 bits, and a quarter 20.
#[test]
fn a_sample_tells_of_skew() {
    let mut random = Random(11);
    let shapes = [0, 0, 10, 20];
    let mut fingerprint = |i: usize| random.next() >> shapes[i % 4] | (i as u64 & 1) << 63;
    let set = sorted(&(0..100_000).map(&mut fingerprint).collect::<Vec<_>>());
    let (mut sampled, mut blind) = (Vec::new(), Vec::new());
    for design in ["single", "halves", "thirds", "quarters"] {
        for (block_bytes, k) in [(256, 3), (512, 2), (1024, 4)] {
            let queries: Vec<u64> = (0..200)
                .map(|i| {
                    let stored = set[random.next() as usize % set.len()];
                    random.flip(stored, i % (k + 1))
                })
                .collect();
            let planner = Planner::new(set.len() as u64)
                .radius(k)
                .block_bytes(Some(block_bytes))
                .designs([design.parse().unwrap()]);
            let sample: Vec<u64> = set.iter().copied().step_by(3).collect();
            let plan = &planner.clone().sample(&sample).plans().unwrap()[0];
            let counted = count_in(&set, plan, &queries, k);
            let error = |plan: &Plan| plan.blocks / counted.blocks - 1.0;
            let uniform = error(&planner.plans().unwrap()[0]);
            println!(
                "{design} B={block_bytes} k={k}: {:.1} predicted, {:.1} counted, {:+.1}% ({:+.1}% \
                 without a sample)",
                plan.blocks,
                counted.blocks,
                100.0 * error(plan),
                100.0 * uniform,
            );
            sampled.push(error(plan).abs());
            blind.push(uniform.abs());
        }
    }
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    println!("mean error {:.3} with the sample, {:.3} without", mean(&sampled), mean(&blind));
    assert!(mean(&sampled) < 0.15 && mean(&sampled) < mean(&blind) / 2.0);
}

#[test]
fn a_pack_that_may_choose_takes_the_plan_for_its_set_whatever_the_threads() {
    let set = uniform(40_000, 9);
    let named = ["single", "halves", "thirds", "quarters"].map(|name| name.parse().unwrap());
    for k in [1, 3, 8] {
        let planner = Planner::new(set.len() as u64).radius(k).designs(named.clone());
        let plan = planner.sample(&set).best().unwrap().unwrap();
        for threads in [1, 3] {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path().join("store");
            let packer = Packer::new()
                .layout(Layout::new().k(k))
                .execution(Execution::new().threads(threads));
            let summary = packer.pack(&path, set.iter().copied()).unwrap();
            assert_eq!(summary.tables[0].block_bytes, plan.block_bytes, "k={k}");
            let stats = Store::open(&path).unwrap().stats().unwrap();
            assert_eq!(stats.segments[0].design.as_ref(), Some(&plan.design), "k={k}");
        }
        // What is given stays.
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        let packer = Packer::new().layout(Layout::new().k(k).block_bytes(8192));
        assert_eq!(packer.pack(&path, [1, 2]).unwrap().tables[0].block_bytes, 8192);
    }
}

/// The first plan is what a pack chooses, also where larger designs and such of other widths are
/// looked at.
#[test]
fn the_recommended_plan_is_what_a_pack_chooses() {
    for (bits, count, k) in
        [(64, 20_000, 3), (64, 12_000_000, 3), (64, 1 << 26, 1), (32, 12_000_000, 3)]
    {
        for prefer in [Prefer::Size, Prefer::Balanced, Prefer::Speed] {
            let layout = Layout::new().k(k).prefer(prefer);
            let packed = match bits {
                64 => Packer::new().layout(layout).estimate(count).unwrap(),
                _ => Packer::new().width::<u32>().layout(layout).estimate(count).unwrap(),
            };
            let planner = Planner::for_bits(bits, count).radius(k).prefer(prefer);
            let plan = &planner.plans().unwrap()[0];
            let planned = (Some(&plan.design), Some(plan.block_bytes), plan.short_tables);
            let chosen = (packed.design.as_ref(), packed.block_bytes, packed.short_tables);
            assert_eq!(planned, chosen, "{bits} bits, {count}, k = {k}, {prefer:?}");
        }
    }
    for (bits, count, k) in [(128, 1 << 20, 8), (256, 1 << 20, 31), (256, 10_000_000, 40)] {
        let layout = Layout::new().k(k);
        let packed = match bits {
            128 => Packer::new().width::<u128>().layout(layout).estimate(count).unwrap(),
            _ => Packer::new().width::<[u64; 4]>().layout(layout).estimate(count).unwrap(),
        };
        assert_eq!(packed.parts, Some(fpstore::plan::recommended_parts(bits, count, k).unwrap()));
    }
}
