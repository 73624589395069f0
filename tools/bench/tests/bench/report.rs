//! The report: its charts hold the points of the results.

use std::collections::BTreeMap;
use std::fs;

use roxmltree::{Document, Node};
use serde_json::{Value, json};

use crate::Scratch;
use crate::sweep::{GRID, configurations, float, sweep};

/// A point of a chart: what it stands for, and its values.
pub type Point = (String, f64, f64);

/// The points that each chart of the report should hold, in order.
pub fn expected(results: &Value) -> BTreeMap<String, Vec<Point>> {
    let mut charts: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut add = |chart: &str, id: &Value, x: f64, y: f64| {
        charts.entry(chart.into()).or_default().push((id.as_str().unwrap().to_string(), x, y));
    };
    let band = |of: &[Value], value: &Value| of.iter().position(|v| v == value).unwrap() as f64;
    let all = configurations(results);
    let sizes = [Value::from(256), Value::from(1024)];
    let mut best: BTreeMap<&str, &Value> = BTreeMap::new();
    for m in all {
        let (bytes, us) =
            (float(&m["size"]["bytes_per_fingerprint"]), float(&m["warm"]["p50_ns"]) / 1e3);
        add("front", &m["id"], bytes, us);
        add("predicted-latency", &m["id"], float(&m["predicted"]["warm_ns"]) / 1e3, us);
        let predicted = float(&m["predicted"]["bytes_per_fingerprint"]);
        add("predicted-bytes", &m["id"], predicted, bytes);
        if m["low_bits"] == "auto" {
            let x = band(&sizes, &m["block_bytes"]);
            add("blocks-bytes", &m["id"], x, bytes);
            add("blocks-latency", &m["id"], x, us);
            let score = |m: &Value| {
                float(&m["size"]["bytes_per_fingerprint"]) * float(&m["warm"]["p50_ns"])
            };
            let best = best.entry(m["design"].as_str().unwrap()).or_insert(m);
            if score(m) < score(best) {
                *best = m;
            }
        }
    }
    for m in best.values() {
        for (x, at) in m["radii"].as_array().unwrap().iter().enumerate() {
            add("radius", &m["id"], x as f64, float(&at["p50_ns"]) / 1e3);
        }
    }
    for engine in results["overlay"].as_array().unwrap() {
        let id = json!(format!("overlay:{}", engine["name"].as_str().unwrap()));
        let (x, y) = (float(&engine["bytes_per_fingerprint"]), float(&engine["p50_ns"]) / 1e3);
        add("front", &id, x, y);
    }
    for codec in ["gap", "xor"] {
        let of_codec = results["histograms"].as_array().unwrap().iter();
        let of_codec = of_codec.filter(|histogram| histogram["codec"] == codec);
        let histogram = of_codec.max_by_key(|h| h["low_bits"].as_u64().unwrap()).unwrap();
        let counts: Vec<f64> = histogram["counts"].as_array().unwrap().iter().map(float).collect();
        let sum: f64 = counts.iter().sum();
        let first = counts.iter().position(|&count| count > 0.0).unwrap();
        let last = counts.iter().rposition(|&count| count > 0.0).unwrap();
        for class in first..=last {
            let (chart, id) = (format!("classes-{codec}"), json!(format!("{codec}:{class}")));
            let x = (class - first) as f64;
            add(&chart, &id, x, 100.0 * counts[class] / sum);
            match float(&histogram["code_lengths"][class]) {
                0.0 => {}
                length => add(&chart, &id, x, length),
            }
        }
    }
    charts.values_mut().for_each(|points| points.sort_by(order));
    charts
}

/// An order in which points that are told in any order can be compared.
pub fn order(a: &Point, b: &Point) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
}

/// The charts of a page, and what stands in each.
fn charts(page: &str) -> BTreeMap<String, Vec<Point>> {
    let mut charts = BTreeMap::new();
    for part in page.split("<svg xmlns").skip(1) {
        let svg = format!("<svg xmlns{}</svg>", part.split_once("</svg>").unwrap().0);
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        let points = root.descendants().filter(|node| node.has_attribute("data-id"));
        let mut points: Vec<Point> = points.map(|node| point(&node)).collect();
        points.sort_by(order);
        charts.insert(root.attribute("data-chart").unwrap().to_string(), points);
        places_follow_values(&root);
    }
    charts
}

fn attribute(node: &Node, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

fn point(node: &Node) -> Point {
    let title = node.children().find(|child| child.has_tag_name("title")).unwrap();
    assert!(
        title.text().unwrap().contains(':') || title.text().unwrap().contains('='),
        "{title:?}"
    );
    let id = node.attribute("data-id").unwrap().to_string();
    (id, attribute(node, "data-x"), attribute(node, "data-y"))
}

/// Marks stand further to the right for larger values, and higher, inside the drawing.
fn places_follow_values(chart: &Node) {
    let marks = chart.descendants().filter(|node| node.has_attribute("transform"));
    let marks: Vec<_> = marks.filter(|node| node.has_attribute("data-id")).collect();
    let mut places: Vec<[f64; 4]> = Vec::new();
    for mark in marks {
        let place = mark.attribute("transform").unwrap();
        let place = place.strip_prefix("translate(").unwrap().strip_suffix(')').unwrap();
        let (x, y) = place.split_once(' ').unwrap();
        let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
        assert!((0.0..=440.0).contains(&x) && (0.0..=330.0).contains(&y), "{mark:?}");
        places.push([attribute(&mark, "data-x"), attribute(&mark, "data-y"), x, y]);
    }
    for a in &places {
        for b in &places {
            assert!(a[0] < b[0] || a[2] >= b[2] - 0.011, "{a:?} {b:?}");
            assert!(a[1] < b[1] || a[3] <= b[3] + 0.011, "{a:?} {b:?}");
        }
    }
}

/// The results that are embedded in a page.
pub fn embedded(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"results\">";
    let json = page.split_once(start).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(json).unwrap()
}

#[track_caller]
pub fn assert_same(found: &BTreeMap<String, Vec<Point>>, expected: &BTreeMap<String, Vec<Point>>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (chart, expected) in expected {
        let found = &found[chart];
        assert_eq!(found.len(), expected.len(), "{chart}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.0, expected.0, "{chart}");
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
            assert!(
                near(found.1, expected.1) && near(found.2, expected.2),
                "{found:?} {expected:?}"
            );
        }
    }
}

const PEERS: &str = r#"{"format": "fpstore-peers", "version": 1, "fingerprints": 2000, "radius": 3,
    "engines": [{"name": "raw <arrays> & co", "bytes_per_fingerprint": 32, "p50_us": 0.4},
                {"name": "mih", "bytes_per_fingerprint": 80.5, "p50_us": 1.25}]}"#;

/// A small sweep with engines beside it: the page and the results.
pub fn page(scratch: &Scratch) -> (String, Value) {
    scratch.write("peers.json", PEERS);
    let results = sweep(scratch, 4000, &format!("{GRID} -k 3,0,1,5 --overlay peers.json --cold 2"));
    (fs::read_to_string(scratch.path("out").join("report.html")).unwrap(), results)
}

#[test]
fn the_charts_hold_the_points_of_the_results_and_nothing_else() {
    let scratch = Scratch::new();
    let (page, results) = page(&scratch);
    assert_eq!(embedded(&page), results);
    assert_eq!(results["overlay"].as_array().unwrap().len(), 2);
    let found = charts(&page);
    assert_eq!(found.len(), 8, "{:?}", found.keys());
    assert_same(&found, &expected(&results));
    // The chart alone is the same, with colours for light and dark in itself.
    let alone = fs::read_to_string(scratch.path("out").join("front.svg")).unwrap();
    assert!(alone.contains("prefers-color-scheme: dark"));
    assert_same(&charts(&alone), &BTreeMap::from([("front".into(), found["front"].clone())]));
    // Written again from the file alone.
    scratch.run("report out/results.json -o again").succeeds();
    let again = fs::read_to_string(scratch.path("again").join("report.html")).unwrap();
    assert_same(&charts(&again), &found);
}

#[test]
fn the_report_needs_no_network_and_says_what_was_recommended() {
    let scratch = Scratch::new();
    let (page, results) = page(&scratch);
    for foreign in ["src=", "href=", "url(", "@import", "http://", "https://", "fetch("] {
        let known = page.matches("http://www.w3.org/2000/svg").count();
        let found = page.matches(foreign).count() - if foreign == "http://" { known } else { 0 };
        assert_eq!(found, 0, "{foreign}");
    }
    assert!(page.contains("raw &lt;arrays&gt; &amp; co") && !page.contains("raw <arrays>"));
    assert!(page.contains("name=\"viewport\"") && page.contains("prefers-color-scheme: dark"));
    for r in results["recommended"].as_array().unwrap() {
        assert!(page.contains(r["command"].as_str().unwrap()), "{r}");
    }
    // What was not measured has no column, and no table.
    assert!(!page.contains(">ids</button>") && page.contains(">cold</button>"));
    assert!(!page.contains("The paper beside this") && !page.contains("id=\"paper-designs\""));
}

#[test]
fn the_paper_has_a_table_where_its_designs_were_measured() {
    let scratch = Scratch::new();
    let grid = "--designs single --block-bytes 512 --codecs gap --low-bits auto -k 3 --paper";
    sweep(&scratch, 2000, grid);
    let page = fs::read_to_string(scratch.path("out").join("report.html")).unwrap();
    for part in ["id=\"paper-designs\"", "262,144", "about 32 GB", "predicted for uniform"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn noise_is_measured_and_told_and_what_is_far_off_is_marked() {
    let scratch = Scratch::new();
    let (_, mut results) = page(&scratch);
    let noise = &results["noise"];
    assert!(float(&noise["spread"]) >= 0.0 && noise["rounds"] == 32, "{noise}");
    assert_eq!(noise["load_before"].is_null(), !std::path::Path::new("/proc/loadavg").exists());
    // Rounds of a quiet machine, and all predictions right but two.
    for (number, m) in results["configurations"].as_array_mut().unwrap().iter_mut().enumerate() {
        for round in m["warm"]["rounds"].as_array_mut().unwrap() {
            round["p50_ns"] = json!(1000);
            round["reference_ns"] = json!(500);
        }
        m["warm"]["p50_ns"] = json!(1000);
        let factor = [1.6, 0.6].get(number).copied().unwrap_or(1.1);
        m["predicted"]["warm_ns"] = json!(1000.0 * factor);
    }
    let mut report = |load: f64| {
        results["noise"] = json!({"load_before": load, "cores": 2, "spread": 0.02, "long_rounds": 1,
            "rounds": 32});
        scratch.write("results.json", results.to_string());
        scratch.run("report results.json -o again").succeeds();
        fs::read_to_string(scratch.path("again").join("report.html")).unwrap()
    };
    let quiet = report(0.1);
    assert!(!quiet.contains("busy"), "nothing to warn of");
    for part in [
        "took 2% longer at times, and 1 of 32 rounds a quarter longer than usual; before the start 0.1 \
         processes ran on 2 cores",
        "searches took 0.91 times as long as predicted, in the middle; 2 of 16 predictions are off by \
         more than a factor of 1.5",
        "Hollow marks, 2 of 16, are off by more than a factor of 1.5.",
    ] {
        assert!(quiet.contains(part), "{part}");
    }
    let chart =
        quiet.split("data-chart=\"").find(|chart| chart.starts_with("predicted-latency")).unwrap();
    assert_eq!(chart.matches(" off s").count() + chart.matches(" off\"").count(), 2, "{chart}");
    let busy = report(4.0);
    assert!(busy.contains("id=\"noise\"") && busy.contains("4.0 processes ran on 2 cores"));
    assert!(busy.contains("The machine was busy, which makes measured times too long."));
}
