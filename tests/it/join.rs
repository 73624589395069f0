//! Joins of stores of every design against brute force, and of sets too large for it against the
//! pigeonhole principle.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use fpstore::query::{JoinEvent, JoinSummary, Keep, Pair};
use fpstore::{Design, Error, Execution, Join, Layout, Packer, Store};
use proptest::prelude::*;

use crate::sets::{Random, clustered, sorted};

/// The pairs of a join in order, and what it says it did.
fn run(join: Join) -> (Vec<Pair>, JoinSummary) {
    let mut pairs = Vec::new();
    let summary = join.run(|event| {
        if let JoinEvent::Pairs(some) = event {
            pairs.extend_from_slice(some);
        }
        ControlFlow::Continue(())
    });
    pairs.sort_unstable();
    (pairs, summary.unwrap())
}

fn pair(a: u64, b: u64) -> Pair {
    Pair { a, b, distance: (a ^ b).count_ones() }
}

fn brute_force(set: &[u64], k: u32) -> Vec<Pair> {
    let of = |i: usize| set[i + 1..].iter().map(move |&b| pair(set[i], b));
    (0..set.len()).flat_map(of).filter(|pair| pair.distance <= k).collect()
}

fn brute_force_between(a: &[u64], b: &[u64], k: u32) -> Vec<Pair> {
    let pairs = a.iter().flat_map(|&a| b.iter().map(move |&b| pair(a, b)));
    pairs.filter(|pair| pair.distance <= k).collect()
}

/// All pairs within k of a large set: two that near agree in one of k + 1 parts.
fn pigeonhole(set: &[u64], k: u32) -> Vec<Pair> {
    let mut pairs = BTreeSet::new();
    for part in 0..=k {
        let (start, end) = (64 * part / (k + 1), 64 * (part + 1) / (k + 1));
        let mask = (u64::MAX << start) & (u64::MAX >> (64 - end));
        let mut groups: HashMap<u64, Vec<u64>> = HashMap::new();
        set.iter().for_each(|&fp| groups.entry(fp & mask).or_default().push(fp));
        groups.values().for_each(|group| pairs.extend(brute_force(group, k)));
    }
    pairs.into_iter().collect()
}

fn store(directory: &tempfile::TempDir, name: &str, design: &Design, set: &[u64]) -> Store {
    let path = directory.path().join(name);
    Packer::new()
        .layout(Layout::new().design(design.clone()).block_bytes(256))
        .pack(&path, set)
        .unwrap();
    Store::open(path).unwrap()
}

/// Sets with long shared prefixes, dense runs, clusters, and bits that are nearly always set.
fn sets() -> impl Strategy<Value = Vec<u64>> {
    let shaped = (0usize..900, any::<u64>(), 0u32..60, any::<u64>(), any::<u64>()).prop_map(
        |(count, seed, shift, one, other)| {
            let mut set = clustered(count, seed);
            set[count - count / 3..].iter_mut().for_each(|fp| *fp >>= shift);
            set[..count / 4].iter_mut().for_each(|fp| *fp |= one | other);
            set.extend((0..count as u64 / 8).map(|i| seed.wrapping_add(i << (shift / 2))));
            sorted(&set)
        },
    );
    prop_oneof![9 => shaped, 1 => Just(vec![]), 1 => Just(vec![0, u64::MAX])]
}

fn design() -> impl Strategy<Value = Design> {
    prop::sample::select(Design::NAMES).prop_map(|name| Design::named(name).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn joins_are_exact(
        a in sets(), b in sets(), designs in (design(), design()),
        k in prop_oneof![6 => 0u32..=12, 1 => 13u32..=70], threads in 0usize..4, keep in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let one = store(&directory, "one", &designs.0, &a);
        let other = store(&directory, "other", &designs.1, &b);
        let within = brute_force(&a, k);
        let (found, summary) = run(one.self_join(k).execution(Execution::new().threads(threads)));
        prop_assert_eq!(&found, &within);
        prop_assert_eq!((summary.pairs, summary.ranges), (within.len() as u64, 1));
        prop_assert_eq!((summary.fingerprints, summary.stopped), (a.len() as u64, false));
        let (found, _) = run(one.join(&other, k).execution(Execution::new().threads(threads)));
        prop_assert_eq!(found, brute_force_between(&a, &b, k));

        // Clusters, by painting.
        let keep = if keep { Keep::Central } else { Keep::SmallestId };
        let clusters = one.clusters(k).keep(keep).run().unwrap();
        let mut colours: HashMap<u64, u64> = a.iter().map(|&fp| (fp, fp)).collect();
        // A colour is the least of its fingerprints.
        loop {
            let mut changed = false;
            for pair in &within {
                let least = colours[&pair.a].min(colours[&pair.b]);
                changed |= colours.insert(pair.a, least) != Some(least);
                changed |= colours.insert(pair.b, least) != Some(least);
            }
            if !changed { break }
        }
        let mut numbers: Vec<u64> = colours.values().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let degree = |fp: u64| within.iter().filter(|pair| pair.a == fp || pair.b == fp).count();
        let mut listed = Vec::new();
        for at in clusters.iter() {
            let colour = colours[&at.fingerprint];
            prop_assert_eq!(numbers[at.cluster as usize], colour);
            let members = || a.iter().copied().filter(|fp| colours[fp] == colour);
            prop_assert_eq!(clusters.size(at.cluster), Some(members().count() as u64));
            if at.fingerprint == colour {
                let central = members().max_by_key(|&fp| (degree(fp), !fp)).unwrap();
                let expected = if keep == Keep::Central { central } else { colour };
                prop_assert_eq!(at.representative, expected);
            }
            prop_assert_eq!(clusters.get(at.fingerprint), Some(at));
            listed.push(at.fingerprint);
        }
        prop_assert_eq!(&listed, &a);
        let summary = clusters.summary();
        prop_assert_eq!(summary.clusters, numbers.len() as u64);
        prop_assert_eq!(summary.near_duplicates as usize, a.len() - numbers.len());
        prop_assert_eq!((summary.documents, summary.exact_duplicates), (a.len() as u64, 0));
        prop_assert_eq!(summary.sizes.iter().map(|(size, count)| size * count).sum::<u64>(), listed.len() as u64);
        // The same from pairs that were found before.
        let again = one.clusters(k).keep(keep).of_pairs(within.into_iter().map(Ok::<_, Error>)).unwrap();
        prop_assert!(again.iter().eq(clusters.iter()));
    }
}

/// Large sets, which are split by all threads.
fn large_sets() -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(11);
    let uniform: Vec<u64> = (0..150_000).map(|_| random.next()).collect();
    let planted = uniform.iter().enumerate().map(|(i, &fp)| match i % 10 {
        0 => random.flip(uniform[i / 2], 1 + i as u32 % 3),
        _ => fp,
    });
    let planted = planted.collect();
    // A bit that is always set, one that nearly is, and half of the bits rarely set.
    let rare = |fp: &u64| {
        fp & (fp.rotate_left(17) | 0xFFFF_FFFF) | 1 << 63 | u64::from(!fp.is_multiple_of(50)) << 40
    };
    // Enough for all threads; brute force inside of groups takes long on these.
    let near = |i: usize| if i % 10 == 9 { uniform[i - 1] ^ 0b1001 } else { uniform[i] };
    let skewed = (0..80_000).map(|i| rare(&near(i))).collect();
    // Everything of interest in 34 bits, spread over the word.
    let narrow = uniform[..80_000].iter().map(|fp| fp & 0x5555_0000_FFF0_55F5).collect();
    vec![("planted", planted), ("skewed", skewed), ("narrow", narrow)]
}

#[test]
fn large_sets_have_the_pairs_that_the_pigeonhole_principle_finds() {
    let directory = tempfile::tempdir().unwrap();
    let single = Design::named("single").unwrap();
    for (name, set) in large_sets() {
        let set = sorted(&set);
        let store = store(&directory, name, &single, &set);
        for (k, threads) in [(1, 1), (3, 2)] {
            let expected = pigeonhole(&set, k);
            assert!(k < 3 || !expected.is_empty(), "{name}");
            let (found, _) = run(store.self_join(k).execution(Execution::new().threads(threads)));
            assert_eq!(found.len(), expected.len(), "{name}, k = {k}");
            assert!(found == expected, "{name}, k = {k}");
        }
        let (evens, odds): (Vec<u64>, Vec<u64>) =
            set.iter().partition(|&fp| fp.count_ones() % 2 == 0);
        let expected = pigeonhole(&set, 2).into_iter().filter(|pair| pair.distance == 1);
        let mut expected: Vec<Pair> = expected
            .map(|Pair { a, b, distance }| match a.count_ones() % 2 {
                0 => Pair { a, b, distance },
                _ => Pair { a: b, b: a, distance },
            })
            .collect();
        expected.sort_unstable();
        let evens = self::store(&directory, &format!("{name} evens"), &single, &evens);
        let odds = self::store(&directory, &format!("{name} odds"), &single, &odds);
        let (found, _) = run(evens.join(&odds, 2));
        assert!(found == expected, "{name}: pairs of two stores");
    }
}

#[test]
fn thresholds_over_zero_find_the_same_pairs() {
    // At these radii parts are joined with their neighbours.
    let set = sorted(&clustered(9000, 5));
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory, "store", &Design::named("single").unwrap(), &set);
    for k in [6, 9, 12] {
        let expected = brute_force(&set, k);
        assert!(run(store.self_join(k)).0 == expected, "k = {k}");
        let half = set.len() / 2;
        let (a, b) = set.split_at(half);
        let (a, b) = (
            self::store(&directory, &format!("a{k}"), &Design::named("single").unwrap(), a),
            self::store(&directory, &format!("b{k}"), &Design::named("single").unwrap(), b),
        );
        let between: Vec<Pair> =
            expected.into_iter().filter(|pair| pair.a < set[half] && pair.b >= set[half]).collect();
        assert!(run(a.join(&b, k)).0 == between, "two stores, k = {k}");
    }
}

/// A count after this name in the given answers to a set, which other programs computed.
fn given(answers: &str, name: &str) -> u64 {
    let behind = answers.split_once("\"self_join\"").and_then(|(_, rest)| rest.split_once(name));
    let digits = behind.unwrap().1.trim_start_matches([':', ' ']);
    digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn real_sets_have_the_given_pairs_and_components() {
    let directory = crate::answers::directory();
    let mut checked = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".u64").filter(|name| !name.ends_with(".queries"))
        else {
            continue;
        };
        let set = sorted(&crate::answers::read_u64s(&path));
        let temporary = tempfile::tempdir().unwrap();
        for design in ["single", "quarters"] {
            let store = store(&temporary, design, &Design::named(design).unwrap(), &set);
            let (found, _) = run(store.self_join(3));
            assert!(found == pigeonhole(&set, 3), "{name}, {design}");
            let clusters = store.clusters(3).run().unwrap();
            let summary = clusters.summary();
            let answers = std::fs::read_to_string(directory.join(format!("{name}.meta.json")));
            if let Some(answers) = answers.ok().filter(|answers| answers.contains("self_join")) {
                assert_eq!(found.len() as u64, given(&answers, "\"pairs\""), "{name}");
                assert_eq!(summary.clusters, given(&answers, "\"components_all\""), "{name}");
                let largest = *summary.sizes.last_key_value().unwrap().0;
                assert_eq!(
                    largest,
                    given(&answers.replace([' ', '['], ""), "\"largest\""),
                    "{name}"
                );
            }
        }
        checked += 1;
    }
    assert!(checked > 0, "{} holds no sets", directory.display());
}

/// All values within three flips of one: the heaviest cluster there can be at this radius.
#[test]
fn the_heaviest_cluster_is_joined_exactly() {
    const CENTRE: u64 = 0x9d18_dc59_2abf_a1bb;
    let bit = |i: u32| 1u64 << i;
    let mut ball = vec![CENTRE];
    for i in 0..64 {
        ball.push(CENTRE ^ bit(i));
        for j in 0..i {
            ball.push(CENTRE ^ bit(i) ^ bit(j));
            ball.extend((0..j).map(|l| CENTRE ^ bit(i) ^ bit(j) ^ bit(l)));
        }
    }
    assert_eq!(ball.len(), 43_745);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ball");
    // 200,000 records with ids on these values.
    let records = (0..200_000u64).map(|i| (ball[(i * 7919 % 43_745) as usize], i));
    Packer::new().layout(Layout::new().block_bytes(1024)).pack_with_ids(&path, records).unwrap();
    let store = Store::open(path).unwrap();
    let mut degrees: HashMap<u64, u32> = ball.iter().map(|&fp| (fp, 0)).collect();
    let mut pairs = 0u64;
    let summary = store.self_join(3).run(|event| {
        if let JoinEvent::Pairs(some) = event {
            for Pair { a, b, distance } in some {
                assert!(a < b && (a ^ b).count_ones() == *distance && *distance <= 3);
                *degrees.get_mut(a).unwrap() += 1;
                *degrees.get_mut(b).unwrap() += 1;
            }
            pairs += some.len() as u64;
        }
        ControlFlow::Continue(())
    });
    assert_eq!((pairs, summary.unwrap().pairs), (11_986_528, pairs));
    // Of w flips take back i and make j others: at most three in all, and three are left at most.
    let choose = |n: u32, r: u32| (0..r).fold(1, |product, i| product * (n - i) / (i + 1));
    let near = |w: u32| -> u32 {
        let ways = (0..=w).flat_map(|i| (0..=3 - i).map(move |j| (i, j)));
        let ways = ways.filter(|&(i, j)| i + j > 0 && w - i + j <= 3);
        ways.map(|(i, j)| choose(w, i) * choose(64 - w, j)).sum()
    };
    for (fingerprint, degree) in degrees {
        assert_eq!(degree, near((fingerprint ^ CENTRE).count_ones()));
    }
    let clusters = store.clusters(3).keep(Keep::Central).max_cluster(1000).run().unwrap();
    let summary = clusters.summary();
    assert_eq!((summary.clusters, summary.oversized), (1, 1));
    assert_eq!((summary.documents, summary.exact_duplicates), (200_000, 200_000 - 43_745));
    assert_eq!(clusters.get(ball[1]).unwrap().representative, CENTRE);
}

#[test]
fn the_smallest_id_of_a_cluster_is_kept_and_documents_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut random = Random(3);
    let centres: Vec<u64> = (0..500).map(|_| random.next()).collect();
    // Line numbers as ids, some documents several times.
    let lines: Vec<u64> = (0..6000)
        .map(|_| {
            let centre = centres[random.next() as usize % centres.len()];
            let flips = random.next() as u32 % 2;
            random.flip(centre, flips)
        })
        .collect();
    let pairs = lines.iter().copied().zip(0u64..);
    Packer::new().pack_with_ids(&path, pairs).unwrap();
    let store = Store::open(path).unwrap();
    let clusters = store.clusters(2).run().unwrap();
    let summary = clusters.summary();
    let distinct = sorted(&lines);
    assert_eq!(summary.documents, 6000);
    assert_eq!(summary.exact_duplicates, 6000 - distinct.len() as u64);
    assert_eq!(summary.near_duplicates + summary.clusters, distinct.len() as u64);
    // The first line of each cluster is the one that is kept.
    let mut seen = BTreeSet::new();
    for line in &lines {
        let at = clusters.get(*line).unwrap();
        if seen.insert(at.cluster) {
            assert_eq!(at.representative, *line);
        }
    }
    assert_eq!(seen.len() as u64, summary.clusters);
    // In the order of the fingerprints, ids are those that a look-up finds.
    let mut listed = Vec::new();
    for next in store.iter_with_ids::<u64>() {
        let (fingerprint, ids) = next.unwrap();
        let ids: Vec<u64> = ids.map(Result::unwrap).collect();
        let looked_up = store.ids::<u64>(fingerprint).unwrap().map(Result::unwrap);
        assert!(looked_up.eq(ids.iter().copied()));
        listed.push(fingerprint);
    }
    assert_eq!(listed, distinct);
    let foreign = store.clusters(2).of_pairs([Ok::<_, Error>(pair(1, 2))]).unwrap_err();
    assert!(foreign.to_string().contains("0000000000000001"), "{foreign}");
    let little = store.clusters(2).execution(Execution::new().memory(1 << 20)).run().unwrap_err();
    assert!(little.to_string().contains("memory"), "{little}");
}
