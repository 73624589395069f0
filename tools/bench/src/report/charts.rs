//! The charts of the report.

use super::super::front::Point;
use super::super::noise::FAR_OFF;
use super::super::results::{Histogram, Measured, Results};
use super::super::sweep::point;
use super::super::terminal::time;
use super::chart::{Axis, Bar, Chart, Line, Mark, Note, Scale};

/// All charts that the results have something for, in the order of the page.
pub fn all(results: &Results) -> Vec<Chart> {
    let mut charts = vec![
        front(results),
        of_blocks(results, "blocks-bytes", "Block size and space", bytes_axis(), |m| {
            m.size.bytes_per_fingerprint
        }),
        of_blocks(results, "blocks-latency", "Block size and time", latency_axis(results), |m| {
            m.warm.p50_ns / 1e3
        }),
        radii(results),
        prediction(results, "predicted-latency", "The planner: time", microseconds, |m| {
            (m.predicted.warm_ns / 1e3, m.warm.p50_ns / 1e3)
        }),
        prediction(results, "predicted-bytes", "The planner: space", plain, |m| {
            (m.predicted.bytes_per_fingerprint, m.size.bytes_per_fingerprint)
        }),
    ];
    // One for each codec, with the column that a pack chooses where it was measured.
    for codec in ["gap", "xor"] {
        let of_codec = results.histograms.iter().filter(|histogram| histogram.codec == codec);
        charts.extend(of_codec.max_by_key(|histogram| histogram.low_bits).map(classes));
    }
    charts.retain(|chart| !chart.marks.is_empty() || !chart.bars.is_empty());
    charts
}

/// The chart of bytes against latency.
pub fn front(results: &Results) -> Chart {
    let (mut series, designs) = designs(results);
    let mut marks: Vec<Mark> = results
        .configurations
        .iter()
        .zip(&designs)
        .map(|(m, &series)| mark(results, m, series, point(m).bytes, point(m).latency / 1e3))
        .collect();
    if !results.overlay.is_empty() {
        series.push("other engines".to_string());
    }
    let mut notes = Vec::new();
    for engine in &results.overlay {
        let (x, y) = (engine.bytes_per_fingerprint, engine.p50_ns / 1e3);
        marks.push(Mark {
            x,
            y,
            series: series.len() - 1,
            id: format!("overlay:{}", engine.name),
            title: format!(
                "{}: {x:.2} bytes per fingerprint, p50 {} ({} fingerprints, k = {}, {})",
                engine.name,
                time(engine.p50_ns),
                engine.fingerprints,
                engine.radius,
                engine.source
            ),
            class: "overlay".to_string(),
        });
        notes.push(Note { x, y, text: engine.name.clone(), left: false });
    }
    let mut corners: Vec<Point> =
        results.configurations.iter().filter(|m| m.on_front).map(point).collect();
    corners.sort_by(|a, b| a.bytes.total_cmp(&b.bytes).then(a.latency.total_cmp(&b.latency)));
    let mut points = Vec::new();
    for (number, corner) in corners.iter().enumerate() {
        if number > 0 {
            points.push((corner.bytes, corners[number - 1].latency / 1e3));
        }
        points.push((corner.bytes, corner.latency / 1e3));
    }
    let most = marks.iter().map(|mark| mark.x).fold(0.0, f64::max);
    for chosen in &results.recommended {
        let (x, y) = (chosen.bytes_per_fingerprint, chosen.p50_ns / 1e3);
        // A word near the right edge goes to the left of its mark.
        notes.push(Note { x, y, text: chosen.prefer.clone(), left: x > 0.75 * most });
    }
    Chart {
        id: "front".to_string(),
        title: "What a microsecond costs in bytes".to_string(),
        description: format!(
            "Bytes per fingerprint against the median time of a search at k = {}, both on logarithmic \
             scales. The line joins the configurations than which nothing is smaller and faster.",
            results.radius
        ),
        x: bytes_axis(),
        y: latency_axis(results),
        series,
        marks,
        lines: vec![Line { points, series: None, class: "staircase".to_string() }],
        bars: Vec::new(),
        notes,
    }
}

/// Size of blocks against something, a line for each design and codec, with the column that a pack
/// chooses.
fn of_blocks(
    results: &Results,
    id: &str,
    title: &str,
    y: Axis,
    value: fn(&Measured) -> f64,
) -> Chart {
    let (series, designs) = designs(results);
    let shown = as_packed(results);
    let mut sizes: Vec<u32> =
        shown.iter().map(|&n| results.configurations[n].block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let band = |m: &Measured| sizes.iter().position(|&size| size == m.block_bytes).unwrap_or(0);
    let mut marks = Vec::new();
    let mut lines: Vec<(String, Line)> = Vec::new();
    for &number in &shown {
        let (m, series) = (&results.configurations[number], designs[number]);
        let at = (band(m) as f64, value(m));
        marks.push(mark(results, m, series, at.0, at.1));
        let name = format!("{} {}", m.design, m.codec);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, line)) => line.points.push(at),
            None => {
                let class = if m.codec == "xor" { "dashed" } else { "" }.to_string();
                lines.push((name, Line { points: vec![at], series: Some(series), class }));
            }
        }
    }
    for (_, line) in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let label = "bytes of a block".to_string();
    let bands: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    Chart {
        id: id.to_string(),
        title: title.to_string(),
        description: format!(
            "Size of blocks against {}, by design. Solid lines are the codec gap, dashed ones xor, the \
             code of the paper.",
            y.label
        ),
        x: Axis { label, scale: Scale::Band(bands.len()), bands, format: plain, range: None },
        y,
        series,
        marks,
        lines: lines.into_iter().map(|(_, line)| line).collect(),
        bars: Vec::new(),
        notes: Vec::new(),
    }
}

/// Latency against k, for the best configuration of each design.
fn radii(results: &Results) -> Chart {
    let (series, designs) = designs(results);
    let mut best: Vec<Option<&Measured>> = vec![None; series.len()];
    for &number in &as_packed(results) {
        let m = &results.configurations[number];
        let score = |m: &Measured| m.size.bytes_per_fingerprint * m.warm.p50_ns;
        let best = &mut best[designs[number]];
        if best.is_none_or(|known| score(m) < score(known)) {
            *best = Some(m);
        }
    }
    let mut radii: Vec<u32> =
        best.iter().flatten().flat_map(|m| m.radii.iter().map(|at| at.k)).collect();
    radii.sort_unstable();
    radii.dedup();
    let (mut marks, mut lines) = (Vec::new(), Vec::new());
    for (number, m) in best.iter().enumerate().filter_map(|(n, m)| Some((n, (*m)?))) {
        let mut points = Vec::new();
        for at in &m.radii {
            let band = radii.iter().position(|&k| k == at.k).unwrap_or(0) as f64;
            let title =
                format!("{} at k = {}: p50 {}, {}", m.name(), at.k, time(at.p50_ns), at.steps);
            let y = at.p50_ns / 1e3;
            points.push((band, y));
            let (id, class) = (m.id.clone(), String::new());
            marks.push(Mark { x: band, y, series: number, id, title, class });
        }
        lines.push(Line { points, series: Some(number), class: String::new() });
    }
    let bands: Vec<String> = radii.iter().map(ToString::to_string).collect();
    let label = "radius k, bits".to_string();
    Chart {
        id: "radius".to_string(),
        title: "Latency and radius".to_string(),
        description: "The median time of a search at several radii, for the configuration of each \
                      design with the least product of space and time."
            .to_string(),
        x: Axis { label, scale: Scale::Band(bands.len()), bands, format: plain, range: None },
        y: Axis { label: "p50, us".to_string(), ..latency_axis(results) },
        series,
        marks,
        lines,
        bars: Vec::new(),
        notes: Vec::new(),
    }
}

/// What the planner said against what was measured.
fn prediction(
    results: &Results,
    id: &str,
    title: &str,
    format: fn(f64) -> String,
    values: fn(&Measured) -> (f64, f64),
) -> Chart {
    let (series, designs) = designs(results);
    let is_far_off = |(x, y): (f64, f64)| !(1.0 / FAR_OFF..=FAR_OFF).contains(&(y / x));
    let far_off = results.configurations.iter().filter(|m| is_far_off(values(m))).count();
    let marks: Vec<Mark> = results
        .configurations
        .iter()
        .zip(&designs)
        .map(|(m, &series)| {
            let (x, y) = values(m);
            let change = 100.0 * (y / x - 1.0);
            let title = format!(
                "{}: predicted {}, measured {}, {change:+.0}%",
                m.name(),
                format(x),
                format(y)
            );
            let off = if is_far_off((x, y)) { " off" } else { "" };
            let class = format!("{}{off}", emphasis(results, m));
            Mark { x, y, series, id: m.id.clone(), title, class }
        })
        .collect();
    let all = || marks.iter().flat_map(|mark| [mark.x, mark.y]).filter(|value| *value > 0.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let line = |factor: f64, class: &str| Line {
        // Clipped to the range of both axes.
        points: vec![
            (low.max(low / factor), (low * factor).max(low)),
            (high.min(high / factor), (high * factor).min(high)),
        ],
        series: None,
        class: class.to_string(),
    };
    let unit = if id.ends_with("latency") { "p50, us" } else { "bytes per fingerprint" };
    let mut description =
        "Predicted with the set as sample against measured. On the line both are \
                           equal; between the dotted lines they are within 25% of each other."
            .to_string();
    if far_off > 0 {
        description.push_str(&format!(
            " Hollow marks, {far_off} of {}, are off by more than a factor of {FAR_OFF}.",
            marks.len()
        ));
        if id.ends_with("latency") && results.noise().is_busy() {
            description.push_str(" The machine was busy, which makes measured times too long.");
        }
    }
    let axis = |what: &str| Axis {
        label: format!("{what} {unit}"),
        scale: Scale::Log,
        bands: Vec::new(),
        format,
        range: (low < high).then_some((low, high)),
    };
    Chart {
        id: id.to_string(),
        title: title.to_string(),
        description,
        x: axis("predicted"),
        y: axis("measured"),
        series,
        marks,
        lines: vec![line(1.0, "equal"), line(1.25, "within"), line(0.8, "within")],
        bars: Vec::new(),
        notes: Vec::new(),
    }
}

/// The histogram of the classes of steps, with the lengths of their codes.
fn classes(histogram: &Histogram) -> Chart {
    let all: u64 = histogram.counts.iter().sum::<u64>().max(1);
    let used = || histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let first = used().next().map_or(0, |(class, _)| class);
    let last = used().next_back().map_or(0, |(class, _)| class);
    let (mut bars, mut marks) = (Vec::new(), Vec::new());
    for class in first..=last {
        let count = histogram.counts[class];
        let length = histogram.code_lengths.get(class).copied().unwrap_or(0);
        let percent = 100.0 * count as f64 / all as f64;
        let title = format!("h = {class}: {count} keys, {percent:.2}%, a code of {length} bits");
        let (x, id) = ((class - first) as f64, format!("{}:{class}", histogram.codec));
        bars.push(Bar { x, y: percent, id: id.clone(), title: title.clone() });
        if length > 0 {
            let y = f64::from(length);
            marks.push(Mark { x, y, series: 1, id, title, class: String::new() });
        }
    }
    let bands: Vec<String> = (first..=last).map(|class| class.to_string()).collect();
    let what = match histogram.codec.as_str() {
        "xor" => "the first bit in which a key differs from the one before it",
        _ => "the leading zeros of the gap to the key before",
    };
    let axis = |label: &str, scale| Axis {
        label: label.to_string(),
        scale,
        bands: Vec::new(),
        format: plain,
        range: None,
    };
    Chart {
        id: format!("classes-{}", histogram.codec),
        title: format!("Classes of the codec {}", histogram.codec),
        description: format!(
            "The histogram of h, {what}, and the lengths of the Huffman codes, in the table in the order \
             of the set, with a column of {} bits. Entropy {:.2} bits.",
            histogram.low_bits, histogram.entropy_bits
        ),
        x: Axis { bands: bands.clone(), ..axis("class h", Scale::Band(bands.len())) },
        y: axis("bars: % of keys; marks: bits of code", Scale::Linear),
        series: vec!["keys".to_string(), "code".to_string()],
        marks,
        lines: Vec::new(),
        bars,
        notes: Vec::new(),
    }
}

/// The designs in the order of their tables, and the number of that of each configuration.
fn designs(results: &Results) -> (Vec<String>, Vec<usize>) {
    let mut designs: Vec<(usize, &str)> =
        results.configurations.iter().map(|m| (m.tables, m.design.as_str())).collect();
    designs.sort_unstable();
    designs.dedup();
    let of = |m: &Measured| designs.iter().position(|(_, design)| *design == m.design);
    let numbers = results.configurations.iter().map(|m| of(m).unwrap_or(0)).collect();
    (designs.iter().map(|(_, design)| design.to_string()).collect(), numbers)
}

/// The configurations with the column that a pack chooses, or all if there are none.
fn as_packed(results: &Results) -> Vec<usize> {
    let all = || 0..results.configurations.len();
    let auto: Vec<usize> =
        all().filter(|&number| results.configurations[number].low_bits == "auto").collect();
    if auto.is_empty() { all().collect() } else { auto }
}

fn emphasis(results: &Results, m: &Measured) -> String {
    let chosen = results.recommended.iter().any(|chosen| chosen.id == m.id);
    match (chosen, m.on_front) {
        (true, _) => "front chosen",
        (false, true) => "front",
        (false, false) => "faint",
    }
    .to_string()
}

fn mark(results: &Results, m: &Measured, series: usize, x: f64, y: f64) -> Mark {
    let title = format!(
        "{}: {:.2} bytes per fingerprint, p50 {}, p99 {}, {}",
        m.name(),
        m.size.bytes_per_fingerprint,
        time(m.warm.p50_ns),
        time(m.warm.p99_ns),
        m.work.steps
    );
    Mark { x, y, series, id: m.id.clone(), title, class: emphasis(results, m) }
}

fn bytes_axis() -> Axis {
    let label = "bytes per fingerprint".to_string();
    Axis { label, scale: Scale::Log, bands: Vec::new(), format: plain, range: None }
}

fn latency_axis(results: &Results) -> Axis {
    let label = format!("p50 at k = {}, us", results.radius);
    Axis { label, scale: Scale::Log, bands: Vec::new(), format: microseconds, range: None }
}

fn microseconds(us: f64) -> String {
    plain(us)
}

/// A number without trailing zeros, of three digits.
fn plain(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}
