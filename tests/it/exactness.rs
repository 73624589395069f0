//! Every design, codec, block size, column width and radius against brute force and the plain
//! decoder.

use fpstore::stats::{AccessPath, BitRange};
use fpstore::{Codec, Design, Layout, Packer, Store};
use proptest::prelude::*;

use crate::oracle;
use crate::sets::{Random, brute_force, clustered, sorted};

fn designs() -> impl Strategy<Value = Design> {
    let parsed = |text: String| text.parse::<Design>().unwrap();
    // Any tops at all: overlapping, split, longer than what stands above the column.
    let top = prop::collection::vec((0u8..64, 1u8..=40), 1..4).prop_map(|ranges| {
        let mut free = u64::MAX;
        let fits = ranges.into_iter().filter(|&(start, bits)| {
            let mask = (u64::MAX << (64 - bits)) >> start;
            let fits = start + bits <= 64 && free & mask == mask;
            free &= if fits { !mask } else { u64::MAX };
            fits
        });
        let top: Vec<_> = fits.map(|(start, bits)| BitRange { start, bits }).collect();
        if top.is_empty() { vec![BitRange { start: 3, bits: 9 }] } else { top }
    });
    let tops = (1u8..=64, prop::collection::vec(top, 0..7)).prop_map(|(bits, mut tops)| {
        tops.insert(0, vec![BitRange { start: 0, bits }]);
        Design::from_tops(tops).unwrap()
    });
    prop_oneof![
        4 => prop::sample::select(Design::NAMES).prop_map(|name| Design::named(name).unwrap()),
        2 => tops,
        // Custom widths, which need not use up all 64 bits.
        1 => prop::collection::vec(1u32..=24, 1..=5).prop_filter_map("over 64 bits", |widths| {
            let fits = widths.iter().sum::<u32>() <= 64;
            fits.then(|| widths.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
        }).prop_map(parsed),
    ]
}

/// The paths that searches take.
const FORCED: [Option<AccessPath>; 3] = [Some(AccessPath::Tables), Some(AccessPath::Filters), None];

/// Sets with long shared prefixes, dense runs, and near duplicates.
fn sets() -> impl Strategy<Value = Vec<u64>> {
    let shaped = (0usize..1500, any::<u64>(), 0u32..56).prop_map(|(count, seed, shift)| {
        let mut set = clustered(count, seed);
        let (kept, dense) = (count - count / 3, count / 8);
        set[kept..].iter_mut().for_each(|fp| *fp >>= shift);
        let start = seed ^ 0xFFFF;
        set.extend((0..dense as u64).map(|i| start.wrapping_add(i)));
        set
    });
    prop_oneof![9 => shaped, 1 => Just(vec![]), 1 => Just(vec![0, u64::MAX])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn searches_are_exact(
        set in sets(), seed in any::<u64>(), design in designs(),
        codec in prop::option::of(prop::sample::select(&Codec::ALL[..])),
        low_bits in prop::option::of(prop::sample::select(vec![0u32, 8, 16, 24, 32, 40, 48])),
        size in 8u32..=13, k in prop_oneof![4 => 0u32..12, 1 => 12u32..=70], short in any::<bool>(),
    ) {
        // A single table is whole.
        let short = short && design.table_count() > 1;
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("store");
        let layout = Layout::new().design(design).codec(codec).low_bits(low_bits);
        let layout = layout.block_bytes(1 << size).short_tables(short);
        let summary = Packer::new().layout(layout).pack(&path, set.iter().copied()).unwrap();
        let expected = sorted(&set);
        prop_assert_eq!(summary.distinct as usize, expected.len());

        // The plain decoder, written from the specification, reads the same set from every table.
        let plain = oracle::read_store(&path).unwrap();
        for table in plain.segments.iter().flat_map(|segment| &segment.tables) {
            if table.bits < 64 {
                prop_assert!(short, "{} bits", table.bits);
                let known = oracle::fingerprint(table, u64::MAX >> (64 - table.bits));
                let mut cut: Vec<u64> = expected.iter().map(|one| one & known).collect();
                cut.sort_unstable();
                prop_assert_eq!(&table.fingerprints, &cut);
            } else {
                prop_assert_eq!(&table.fingerprints, &expected);
            }
        }

        let store = Store::open(&path).unwrap();
        let listed: Vec<u64> = store.iter().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&listed, &expected);
        prop_assert_eq!(store.verify().unwrap().fingerprints, expected.len() as u64);

        // The edges of blocks, where routing can go wrong, in every table.
        let edges: Vec<u64> = plain.segments[0].tables.iter().flat_map(|table| {
            let edge = |block: &Vec<u64>| [block[0], block[block.len() - 1]];
            table.blocks.iter().flat_map(edge).map(|key| oracle::fingerprint(table, key))
        }).collect();
        let mut random = Random(seed);
        let mut searcher = store.searcher();
        searcher.force(FORCED[(seed % 3) as usize]);
        for i in 0..48 {
            let query = if i % 4 == 0 || expected.is_empty() {
                random.next()
            } else {
                let from = if i % 4 == 1 { &expected } else { &edges };
                let stored = from[random.next() as usize % from.len()];
                let flips = random.next() as u32 % (k.min(63) + 2);
                // Half of them flip bits near the start of some part, which the router sees first.
                if i % 2 == 0 {
                    random.flip(stored, flips)
                } else {
                    let mask = 0xF800_F800_F800_F800u64.rotate_right(random.next() as u32 % 64);
                    random.flip_inside(stored, flips, mask | 0xFC00_0000_0000_0000)
                }
            };
            let near = brute_force(&expected, query, k);
            prop_assert_eq!(searcher.search(query, k).unwrap(), &near[..], "{:016x}", query);
            prop_assert_eq!(searcher.search_by_scan(query, k).unwrap(), &near[..]);
            prop_assert_eq!(searcher.any_within(query, k).unwrap(), !near.is_empty());
            prop_assert_eq!(store.contains(query).unwrap(), expected.binary_search(&query).is_ok());
        }
    }
}
