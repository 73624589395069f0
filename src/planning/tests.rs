use super::*;
use crate::codec::profile::Profile;
use crate::design::Design;

/// The plan of a named design among those of a planner.
fn plan(planner: &Planner, design: &str) -> Plan {
    let plans = planner.clone().designs([design.parse().unwrap()]).plans().unwrap();
    plans.into_iter().next().unwrap()
}

#[test]
fn the_table_of_the_paper_comes_out_at_2_to_the_34_and_k_3() {
    let planner = Planner::new(1 << 34).radius(3).block_bytes(Some(1024));
    for (design, tables, prefix, candidates) in [
        ("3of6", 20, 31..=33, 8.0),
        ("4x4", 16, 28..=28, 64.0),
        ("2of5", 10, 25..=26, 512.0),
        ("quarters", 4, 16..=16, 262_144.0),
    ] {
        let plan = plan(&planner, design);
        assert_eq!(plan.tables.len(), tables, "{design}");
        let mut most: f64 = 0.0;
        for table in &plan.tables {
            assert_eq!(table.threshold, Some(0), "{design}");
            assert!(prefix.contains(&table.top_bits), "{design}: {table:?}");
            assert_eq!(table.candidates, 2f64.powi(34 - table.top_bits as i32));
            most = most.max(table.candidates);
        }
        assert_eq!(most, candidates, "{design}");
    }
}

#[test]
fn eight_billion_fingerprints_take_half_their_size_in_each_table() {
    // The paper: 64 GB raw, 32 GB compressed.
    let plans = Planner::new(8_000_000_000).plans().unwrap();
    for plan in plans.into_iter().filter(|plan| !plan.short_tables) {
        let per_table = plan.bytes_per_fingerprint / plan.design.table_count() as f64;
        assert!((4.0..4.7).contains(&per_table), "{plan:?}");
    }
}

#[test]
fn what_is_preferred_and_budgets_order_the_plans() {
    let planner = Planner::new(1 << 26);
    let best = |prefer| planner.clone().prefer(prefer).best().unwrap().unwrap();
    let (size, speed) = (best(Prefer::Size), best(Prefer::Speed));
    let balanced = planner.clone().budget(Some(16.0)).best().unwrap().unwrap();
    assert!(size.store_bytes < balanced.store_bytes && balanced.store_bytes < speed.store_bytes);
    assert!(size.warm_ns > balanced.warm_ns && balanced.warm_ns > speed.warm_ns);
    assert_eq!(size.design.to_string(), "single");
    let bound = speed.bytes_per_fingerprint - 1.0;
    let planner = planner.prefer(Prefer::Speed).budget(Some(bound));
    let within = planner.best().unwrap().unwrap();
    assert!(within.bytes_per_fingerprint <= bound);
    assert!(planner.plans().unwrap().iter().any(|plan| !plan.within_budget));
    assert_eq!(planner.budget(Some(1.0)).best().unwrap(), None);
}

#[test]
fn a_balanced_plan_takes_half_more_than_the_fingerprints_at_most() {
    for exponent in [14, 17, 20, 26, 30, 36] {
        for k in [0, 3, 7] {
            let planner = Planner::new(1 << exponent).radius(k);
            let plans = planner.plans().unwrap();
            let best = &plans[0];
            let product = |plan: &Plan| plan.store_bytes as f64 * planner.search_ns(plan);
            let fits = |plan: &&Plan| plan.bytes_per_fingerprint <= 12.0;
            assert!(fits(&best), "2^{exponent}, k = {k}: {}", best.bytes_per_fingerprint);
            assert!(plans.iter().filter(fits).all(|plan| product(best) <= product(plan)));
        }
    }
    // What a file takes besides its fingerprints is more than these: then it is the smallest.
    let (best, size) = (Planner::new(10), Planner::new(10).prefer(Prefer::Size));
    assert_eq!(best.best().unwrap(), size.best().unwrap());
}

#[test]
fn one_table_is_enough_where_a_hot_index_answers() {
    for exponent in [10, 14, 17, 20] {
        for k in [1, 3, 8] {
            for prefer in [Prefer::Size, Prefer::Balanced, Prefer::Speed] {
                let planner = Planner::new(1 << exponent).radius(k).prefer(prefer);
                let best = planner.best().unwrap().unwrap();
                let case = format!("2^{exponent}, k = {k}, {prefer}: {best:?}");
                assert_eq!(best.design.table_count(), 1, "{case}");
                // The faster tables answer before it is there.
                let fastest = planner.plans().unwrap();
                let fastest = fastest.iter().map(|plan| plan.warm_ns).fold(f64::MAX, f64::min);
                assert!(planner.search_ns(&best) < 1.5 * fastest.max(500.0), "{case}");
            }
        }
    }
    // No usual machine has the memory for it here.
    let best = Planner::new(1 << 22).prefer(Prefer::Speed).best().unwrap().unwrap();
    assert!(best.design.table_count() > 1, "{best:?}");
    assert_eq!(Planner::new(1 << 22).search_ns(&best), best.warm_ns);
}

#[test]
fn a_short_table_beside_the_first_is_recommended_for_large_sets() {
    let planner = |exponent: u32| Planner::new(1 << exponent);
    for exponent in [22, 24, 26, 28] {
        let plans = planner(exponent).plans().unwrap();
        let (best, single) = (&plans[0], plan(&planner(exponent), "single"));
        assert!(best.short_tables && best.design.to_string() == "32,24", "2^{exponent}: {best:?}");
        assert!(best.bytes_per_fingerprint < 10.0, "2^{exponent}");
        assert!(best.warm_ns < single.warm_ns / 10.0, "2^{exponent}");
        // What was asked for is not left.
        let planner = planner(exponent);
        let others = [
            planner.clone().prefer(Prefer::Size),
            planner.clone().low_bits(Some(32)),
            planner.clone().designs(["halves".parse().unwrap()]),
        ];
        for planner in others {
            assert!(planner.plans().unwrap().iter().all(|plan| !plan.short_tables));
        }
    }
    // Fewer have a hot index, of more a whole key takes hardly more, and of 32 bits none.
    assert!(!planner(20).best().unwrap().unwrap().short_tables);
    assert_eq!(planner(32).best().unwrap().unwrap().design.to_string(), "halves");
    let narrow = Planner::for_bits(32, 1 << 26).plans().unwrap();
    assert!(narrow.iter().all(|plan| !plan.short_tables));
}

#[test]
fn where_tables_are_to_be_short_there_are_several() {
    let planner = Planner::new(1 << 24).short_tables(true);
    let plans = planner.plans().unwrap();
    let of = |name: &str| plans.iter().find(|plan| plan.design == name.parse().unwrap());
    assert!(plans.iter().all(|plan| plan.short_tables && plan.tables.len() > 1));
    let [quarters, small] = ["quarters", "32,24"].map(|name| of(name).unwrap());
    let whole = plan(&Planner::new(1 << 24).block_bytes(Some(quarters.block_bytes)), "quarters");
    let saved = quarters.store_bytes as f64 / whole.store_bytes as f64;
    assert!((0.65..0.75).contains(&saved), "{saved}");
    assert!((8.0..9.5).contains(&small.bytes_per_fingerprint), "{small:?}");
}

#[test]
fn from_radius_33_on_one_table_is_scanned() {
    let best = Planner::new(1 << 20).radius(40).best().unwrap().unwrap();
    assert_eq!((best.design.to_string().as_str(), best.scans), ("single", true));
}

#[test]
fn no_fingerprints_and_a_single_one_have_plans() {
    for count in [0, 1, 2] {
        for plan in Planner::new(count).plans().unwrap() {
            assert!(plan.warm_ns.is_finite() && plan.blocks <= plan.tables.len() as f64);
        }
    }
}

#[test]
fn parts_of_other_widths_are_proposed_only_where_they_beat_the_named_designs() {
    let planner = |count| Planner::new(count).block_bytes(Some(1024)).uneven(true);
    let plans = planner(1 << 30).radius(7).plans().unwrap();
    let score = |plan: &Plan| Prefer::Balanced.score(plan.store_bytes as f64, plan.warm_ns);
    let whole = plans.iter().filter(|plan| !plan.short_tables);
    let (named, uneven): (Vec<_>, Vec<_>) = whole.partition(|plan| plan.design.name().is_some());
    assert_eq!(named.len(), Design::NAMES.len());
    assert!(!uneven.is_empty());
    for plan in uneven {
        let design: Design = plan.design.to_string().parse().unwrap();
        assert_eq!(design, plan.design, "the printed design is read back");
        let tables = plan.tables.len();
        let rivals = named.iter().filter(|rival| rival.tables.len() <= tables);
        assert!(rivals.clone().all(|rival| score(plan) < score(rival)), "{}", plan.design);
    }
    // At k = 1 two halves need no flips, and nothing is better.
    let plans = planner(1 << 24).radius(1).plans().unwrap();
    assert!(plans.iter().all(|plan| plan.design.name().is_some() || plan.short_tables));
}

#[test]
fn options_that_no_pack_takes_are_refused() {
    let planner = Planner::new(1000);
    for (planner, part) in [
        (planner.clone().radius(65), "radius"),
        (planner.clone().budget(Some(0.0)), "budget"),
        (planner.clone().budget(Some(f64::NAN)), "budget"),
        (planner.clone().block_sizes([1024, 1000]), "block bytes"),
        (planner.clone().low_bits(Some(7)), "low bits"),
    ] {
        let error = planner.plans().unwrap_err().to_string();
        assert!(error.starts_with(part), "{error}");
    }
}

#[test]
fn columns_of_short_tables_hold_all_that_stands_behind_the_top_where_keys_are_uniform() {
    for name in ["quarters", "halves", "2of3+1of2", "2of5", "32,24"] {
        let (design, codec): (Design, _) = (name.parse().unwrap(), None);
        let (block_bytes, low_bits) = (512, None);
        let layout = TableLayout { design, block_bytes, codec, low_bits, short_tables: true };
        for exponent in 16..=36 {
            let count = 1 << exponent;
            for (table, top) in layout.design.tops().iter().enumerate().skip(1) {
                let bits = layout.key_bits(table, count);
                let coding = layout.coding(table, &Profile::uniform(bits, count), bits).unwrap();
                let widest = short::low_bits(bits, top, None);
                let case = format!("{name} {table} 2^{exponent}: {bits} bits");
                assert!(bits == 64 || coding.low_bits == widest, "{case}, {}", coding.low_bits);
            }
        }
    }
}
