//! The Pareto front of space and time, and which of it is worth having.

/// Bytes per fingerprint and latency of a configuration; less of each is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub bytes: f64,
    pub latency: f64,
}

/// The weight of the other of space and time for the smallest and the fastest configuration: the
/// smallest has the least `bytes * latency^(1/8)`, so that it gives away a hundredth of space where
/// that saves more than a twelfth of the time; the fastest likewise.
const OTHER: f64 = 1.0 / 8.0;

impl Point {
    /// Whether it is at least as good as `other` in both, and not equal.
    fn dominates(self, other: Self) -> bool {
        self.bytes <= other.bytes && self.latency <= other.latency && self != other
    }

    fn score(self, space: f64, time: f64) -> f64 {
        space * self.bytes.ln() + time * self.latency.ln()
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

/// The numbers of the points that are worth having, with their roles, from small to fast: those
/// with the best products of space and time that weigh space or time more, and the knee of the
/// front between them, which lies farthest below the straight line from the one to the other, both
/// on logarithmic scales. Each is on the front. Where they coincide there are fewer than three.
pub fn recommend(points: &[Point]) -> Vec<(&'static str, usize)> {
    let best = |space: f64, time: f64| {
        let score = |&number: &usize| points[number].score(space, time);
        (0..points.len()).min_by(|a, b| score(a).total_cmp(&score(b)))
    };
    let (Some(smallest), Some(fastest)) = (best(1.0, OTHER), best(OTHER, 1.0)) else {
        return Vec::new();
    };
    let (small, fast) = (points[smallest], points[fastest]);
    if small == fast {
        return vec![("balanced", smallest)];
    }
    // Shares of the way from the better end to the worse one, on logarithmic scales.
    let way = |value: f64, from: f64, to: f64| (value / from).ln() / (to / from).ln();
    let cost = |&number: &usize| {
        let point = points[number];
        way(point.bytes, small.bytes, fast.bytes) + way(point.latency, fast.latency, small.latency)
    };
    let between = |&number: &usize| {
        let point = points[number];
        small.bytes < point.bytes
            && point.bytes < fast.bytes
            && fast.latency < point.latency
            && point.latency < small.latency
    };
    let inside = (0..points.len()).filter(between);
    let knee = inside.min_by(|a, b| cost(a).total_cmp(&cost(b)));
    let mut chosen = vec![("smallest", smallest)];
    chosen.extend(knee.map(|knee| ("balanced", knee)));
    chosen.push(("fastest", fastest));
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
        fn what_is_recommended_is_on_the_front_once_and_from_small_to_fast(points in points()) {
            let front = front(&points);
            let chosen = recommend(&points);
            prop_assert!((1..=3).contains(&chosen.len()));
            for pair in chosen.windows(2) {
                let (small, fast) = (points[pair[0].1], points[pair[1].1]);
                prop_assert!(small.bytes <= fast.bytes && small.latency >= fast.latency);
                prop_assert!(small != fast);
            }
            prop_assert!(chosen.iter().all(|&(_, number)| front[number]));
        }
    }

    #[test]
    fn knees_of_a_front_get_the_roles() {
        let at = |bytes, latency| Point { bytes, latency };
        // The ends gain nothing over their neighbours.
        let points =
            [at(4.99, 400.0), at(5.0, 100.0), at(10.0, 8.0), at(20.0, 5.0), at(30.0, 4.99)];
        assert_eq!(recommend(&points), [("smallest", 1), ("balanced", 2), ("fastest", 3)]);
        assert_eq!(recommend(&points[..1]), [("balanced", 0)]);
    }
}
