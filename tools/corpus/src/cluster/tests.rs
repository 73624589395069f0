//! Clusters of random graphs, against plain definitions.

use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::*;

/// What is near what, with differences: a matrix.
struct Graph(Vec<Vec<Option<u16>>>);

impl Index for Graph {
    fn near(&self, document: u32, found: &mut Vec<Near>) -> Result<(), Error> {
        let row = self.0[document as usize].iter().enumerate();
        found.extend(row.rev().filter_map(|(other, difference)| {
            Some(Near { document: other as u32, difference: (*difference)?, jaccard: f32::NAN })
        }));
        Ok(())
    }
}

fn graph(count: usize, edges: &[(usize, usize, u16)]) -> Graph {
    let mut rows = vec![vec![None; count]; count];
    for &(one, other, difference) in edges {
        let (one, other) = (one % count, other % count);
        if one != other {
            rows[one][other] = Some(difference);
            rows[other][one] = Some(difference);
        }
    }
    Graph(rows)
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn decided(shape: Shape, graph: &Graph, documents: &[u32], threads: usize) -> Vec<Fate> {
    let mut places = vec![NONE; graph.0.len()];
    for (place, document) in documents.iter().enumerate() {
        places[*document as usize] = place as u32;
    }
    let order = Order { documents, places: &places };
    let mut fates = vec![Fate::KEPT; graph.0.len()];
    decide(shape, graph, &order, &mut fates, &pool(threads), &mut |_| Ok(())).unwrap();
    fates
}

/// The clusters as the definitions have them: for each document the one that is kept instead,
/// itself included.
fn plain(shape: Shape, graph: &Graph, documents: &[u32]) -> Vec<u32> {
    let near = |a: u32, b: u32| graph.0[a as usize][b as usize].is_some();
    let mut clusters: Vec<Vec<u32>> = Vec::new();
    for &document in documents {
        let fits = |cluster: &Vec<u32>| match shape {
            Shape::Star => near(cluster[0], document),
            Shape::Complete => cluster.iter().all(|&member| near(member, document)),
            Shape::Components => cluster.iter().any(|&member| near(member, document)),
        };
        let mut fitting: Vec<usize> =
            (0..clusters.len()).filter(|&at| fits(&clusters[at])).collect();
        if shape != Shape::Components {
            fitting.truncate(1);
        }
        let mut joined: Vec<u32> =
            fitting.iter().flat_map(|&at| std::mem::take(&mut clusters[at])).collect();
        joined.push(document);
        match fitting.first() {
            Some(&at) => clusters[at] = joined,
            None => clusters.push(joined),
        }
        clusters.retain(|cluster| !cluster.is_empty());
    }
    let place = |document: &u32| documents.iter().position(|other| other == document);
    let mut kept = vec![0; graph.0.len()];
    for cluster in clusters {
        let first = *cluster.iter().min_by_key(|document| place(document)).unwrap();
        cluster.iter().for_each(|&document| kept[document as usize] = first);
    }
    if shape == Shape::Star {
        // The nearest of all that are kept before, of several the first.
        let firsts = kept.clone();
        for &document in documents.iter().filter(|&&document| firsts[document as usize] != document)
        {
            let before = documents.iter().filter(|&&other| {
                firsts[other as usize] == other && place(&other) < place(&document)
            });
            let difference = |other: &&u32| graph.0[document as usize][**other as usize];
            let near = before.filter(|other| difference(other).is_some());
            kept[document as usize] = *near.min_by_key(difference).unwrap();
        }
    }
    kept
}

proptest! {
    #[test]
    fn clusters_are_what_the_definitions_say(
        (count, edges, documents) in (1..24usize).prop_flat_map(|count| (
            Just(count),
            prop::collection::vec((0..count, 0..count, 0..9u16), 0..60),
            Just((0..count as u32).collect::<Vec<u32>>()).prop_shuffle(),
        )),
    ) {
        let graph = graph(count, &edges);
        for shape in [Shape::Star, Shape::Complete, Shape::Components] {
            let fates = decided(shape, &graph, &documents, 2);
            let own = |(document, fate): (usize, &Fate)| if fate.instead == NONE { document as u32 } else { fate.instead };
            let kept: Vec<u32> = fates.iter().enumerate().map(own).collect();
            prop_assert_eq!(&kept, &plain(shape, &graph, &documents), "{:?}", shape);
            for (document, fate) in fates.iter().enumerate().filter(|(_, fate)| fate.instead != NONE) {
                prop_assert_eq!(graph.0[document][fate.matched as usize], Some(fate.difference));
                if shape != Shape::Components {
                    prop_assert_eq!(fate.matched, fate.instead);
                }
            }
        }
    }
}

/// So many neighbours that searches are put off: what comes out is the same.
#[test]
fn searches_that_are_put_off_change_nothing() {
    let count = 3000;
    // A clique of most, and pairs.
    let lone = |at: usize| at.is_multiple_of(3);
    let edge = |one: usize, other: usize| !(lone(one) || lone(other)) || one / 6 == other / 6;
    let rows = (0..count).map(|one| {
        (0..count).map(|other| (one != other && edge(one, other)).then_some(1)).collect()
    });
    let graph = Graph(rows.collect());
    let documents: Vec<u32> = (0..count as u32).rev().collect();
    for shape in [Shape::Star, Shape::Components] {
        let fates = decided(shape, &graph, &documents, 3);
        let kept: Vec<u32> = fates
            .iter()
            .enumerate()
            .map(
                |(document, fate)| {
                    if fate.instead == NONE { document as u32 } else { fate.instead }
                },
            )
            .collect();
        assert_eq!(kept, plain(shape, &graph, &documents), "{shape:?}");
    }
}
