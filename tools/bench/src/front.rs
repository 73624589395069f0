//! The Pareto front of space and time, and what of it each `--prefer` takes.

use fpstore::Prefer;

/// Bytes per fingerprint and latency of a configuration; less of each is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub bytes: f64,
    pub latency: f64,
}

impl Point {
    /// Whether it is at least as good as `other` in both, and not equal.
    fn dominates(self, other: Self) -> bool {
        self.bytes <= other.bytes && self.latency <= other.latency && self != other
    }
}

/// For each point whether none dominates it.
pub fn front(points: &[Point]) -> Vec<bool> {
    points.iter().map(|&point| !points.iter().any(|other| other.dominates(point))).collect()
}

/// By how much a point misses the front: the least share by which its bytes and its latency both
/// have to shrink until no point of `others` is better in both. 0 on the front.
pub fn distance(point: Point, others: &[Point]) -> f64 {
    let excess = |other: &Point| f64::min(point.bytes / other.bytes, point.latency / other.latency);
    others.iter().map(excess).fold(1.0, f64::max) - 1.0
}

/// By how much the latency of a point exceeds the least latency of those that are no larger. The
/// point itself may be among the `others`.
pub fn slower_than_best(point: Point, others: &[Point]) -> f64 {
    let no_larger = others.iter().filter(|other| other.bytes <= point.bytes);
    point.latency / no_larger.map(|other| other.latency).fold(point.latency, f64::min) - 1.0
}

/// The numbers of the points that each `--prefer` of a pack takes, from small to fast: the same one
/// for several stands there once. Each is on the front. `raw_bytes` is what a fingerprint takes
/// uncompressed, and `id_bytes` what its id takes in each of them, which no preference shrinks.
pub fn recommend(points: &[Point], raw_bytes: f64, id_bytes: f64) -> Vec<(Vec<Prefer>, usize)> {
    let best = |prefer: Prefer| {
        let most_bytes = prefer.most_bytes(raw_bytes) + id_bytes;
        let score = |&number: &usize| prefer.score(points[number].bytes, points[number].latency);
        let within = (0..points.len()).filter(|&number| points[number].bytes <= most_bytes);
        within.min_by(|a, b| score(a).total_cmp(&score(b)))
    };
    let size = best(Prefer::Size);
    let (balanced, speed) = (best(Prefer::Balanced).or(size), best(Prefer::Speed));
    let mut chosen: Vec<(Vec<Prefer>, usize)> = Vec::new();
    for (prefer, number) in
        [(Prefer::Size, size), (Prefer::Balanced, balanced), (Prefer::Speed, speed)]
    {
        let Some(number) = number else { continue };
        match chosen.iter_mut().find(|(_, known)| points[*known] == points[number]) {
            Some((all, _)) => all.push(prefer),
            None => chosen.push((vec![prefer], number)),
        }
    }
    chosen.sort_by(|(_, a), (_, b)| points[*a].bytes.total_cmp(&points[*b].bytes));
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points() -> impl Strategy<Value = Vec<Point>> {
        let point = (1u32..40, 1u32..40).prop_map(|(bytes, latency)| Point {
            bytes: f64::from(bytes),
            latency: f64::from(latency),
        });
        proptest::collection::vec(point, 1..40)
    }

    proptest! {
        #[test]
        fn a_point_is_on_the_front_if_nothing_is_better(points in points()) {
            for (point, on_front) in points.iter().zip(front(&points)) {
                let better = |other: &Point| {
                    (other.bytes < point.bytes && other.latency <= point.latency)
                        || (other.bytes <= point.bytes && other.latency < point.latency)
                };
                prop_assert_eq!(on_front, !points.iter().any(better));
            }
        }

        #[test]
        fn the_distance_is_the_least_shrinking_that_reaches_the_front(points in points()) {
            for &point in &points {
                let by = 1.0 + distance(point, &points);
                let beaten = |by: f64| {
                    let (bytes, latency) = (point.bytes / by, point.latency / by);
                    points.iter().any(|other| other.bytes < bytes && other.latency < latency)
                };
                prop_assert!(!beaten(by * (1.0 + 1e-9)));
                prop_assert!(by == 1.0 || beaten(by * (1.0 - 1e-9)));
                prop_assert!(slower_than_best(point, &points) >= by - 1.0 - 1e-9);
            }
        }

        #[test]
        fn what_is_recommended_is_on_the_front_once_and_from_small_to_fast(
            points in points(),
            raw_bytes in 1u32..40,
        ) {
            let front = front(&points);
            let chosen = recommend(&points, raw_bytes.into(), 0.0);
            prop_assert_eq!(chosen.iter().map(|(prefer, _)| prefer.len()).sum::<usize>(), 3);
            for pair in chosen.windows(2) {
                let (small, fast) = (points[pair[0].1], points[pair[1].1]);
                prop_assert!(small.bytes <= fast.bytes && small.latency >= fast.latency);
                prop_assert!(small != fast);
            }
            prop_assert!(chosen.iter().all(|&(_, number)| front[number]));
            let fits = |point: &Point| point.bytes <= 1.5 * f64::from(raw_bytes);
            let balanced = chosen.iter().find(|(prefer, _)| prefer.contains(&Prefer::Balanced));
            prop_assert!(fits(&points[balanced.unwrap().1]) || !points.iter().any(fits));
        }
    }

    #[test]
    fn each_preference_has_its_point() {
        let at = |bytes, latency| Point { bytes, latency };
        // The ends gain nothing over their neighbours.
        let points =
            [at(4.99, 400.0), at(5.0, 100.0), at(7.0, 20.0), at(20.0, 5.0), at(30.0, 4.99)];
        let [size, balanced, speed] = [Prefer::Size, Prefer::Balanced, Prefer::Speed];
        let chosen = recommend(&points, 8.0, 0.0);
        assert_eq!(chosen, [(vec![size], 1), (vec![balanced], 2), (vec![speed], 3)]);
        // A balanced one takes half more than the fingerprints at most, unless all take more.
        assert_eq!(recommend(&points, 4.67, 0.0), chosen);
        assert_eq!(recommend(&points, 4.0, 1.01), chosen);
        let chosen = recommend(&points, 4.66, 0.0);
        assert_eq!(recommend(&points, 4.0, 0.99), chosen);
        assert_eq!(chosen, [(vec![size, balanced], 1), (vec![speed], 3)]);
        assert_eq!(recommend(&points, 3.0, 0.0), chosen);
        assert_eq!(recommend(&points[..1], 8.0, 0.0), [(vec![size, balanced, speed], 0)]);
    }
}
