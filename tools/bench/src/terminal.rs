//! What a sweep prints: a row for each configuration, a chart, and what is recommended.

use super::front;
use super::results::{Measured, QuickCheck, Recommended, Results};
use super::sweep::point;
pub use fpstore_cli::units::time;

/// Columns and rows of the plot of the chart.
const PLOT: (usize, usize) = (64, 16);

/// The names of the columns of [`row`].
pub fn header() -> String {
    format!(
        "{:<26} {:>6} {:>6} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>9} {:>8}",
        "configuration",
        "B/fp",
        "router",
        "other",
        "Mfp/s",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "blocks",
        "decoded",
        "touched",
        "queries/s",
        "cold p50"
    )
}

/// A configuration, as the table has it.
pub fn row(m: &Measured) -> String {
    let share =
        |bytes: u64| m.size.bytes_per_fingerprint * bytes as f64 / (m.size.bytes as f64).max(1.0);
    format!(
        "{:<26} {:>6.2} {:>6.2} {:>6.2} {:>7.2} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>9} {:>8}",
        m.name(),
        m.size.bytes_per_fingerprint,
        share(m.size.router),
        share(m.size.headers + m.size.ids),
        m.pack.fingerprints_per_second / 1e6,
        time(m.warm.p50_ns),
        time(m.warm.p90_ns),
        time(m.warm.p99_ns),
        m.warm.p999_ns.map_or("-".to_string(), time),
        number(m.work.steps.looked_at()),
        number(m.work.steps.taken()),
        bytes(m.work.bytes_touched),
        m.throughput.last().map_or("-".to_string(), |most| number(most.queries_per_second)),
        m.cold.map_or("-".to_string(), |cold| time(cold.search_p50_ns)),
    )
}

/// What is recommended, with the command of each.
pub fn recommendations(recommended: &[Recommended], k: u32, measured: bool) -> Vec<String> {
    let number = match recommended.len() {
        1 => "this configuration is",
        2 => "these two configurations are",
        _ => "these three configurations are",
    };
    let how = if measured { "" } else { ", as far as the planner can tell from a sample," };
    let mut lines = vec![format!("For this set and k = {k}{how} {number} worth having:")];
    for r in recommended {
        let Recommended { prefer, bytes_per_fingerprint, p50_ns, command, .. } = r;
        let latency = time(*p50_ns);
        lines.push(format!(
            "  {prefer:<15} {bytes_per_fingerprint:>6.2} B/fp {latency:>8}  {command}"
        ));
    }
    lines
}

/// How the recommendation from a sample turned out.
pub fn quick_check(quick: &[QuickCheck]) -> Vec<String> {
    let mut lines = vec!["--quick would have recommended:".to_string()];
    for QuickCheck { prefer, id, from_front, slower_than_best } in quick {
        lines.push(format!(
            "  {prefer}: {id}: {:.0}% from the front, {:.0}% slower than the best no larger",
            100.0 * from_front,
            100.0 * slower_than_best
        ));
    }
    lines
}

/// Bytes against latency, both logarithmic: a letter for each design, upper case on the front.
pub fn chart(results: &Results) -> Vec<String> {
    let points: Vec<front::Point> = results.configurations.iter().map(point).collect();
    let range = |value: fn(&front::Point) -> f64| {
        let logs = || points.iter().map(|point| value(point).max(1e-9).ln());
        let (least, most) = (logs().fold(f64::INFINITY, f64::min), logs().fold(0.0, f64::max));
        (least, (most - least).max(0.1))
    };
    if points.is_empty() {
        return Vec::new();
    }
    let (x, y) = (range(|point| point.bytes), range(|point| point.latency));
    let (columns, rows) = PLOT;
    let mut designs: Vec<&str> = Vec::new();
    let mut plot = vec![vec![' '; columns]; rows];
    let place = |value: f64, (least, span): (f64, f64), cells: usize| {
        (((value.ln() - least) / span * (cells - 1) as f64).round() as usize).min(cells - 1)
    };
    // Those of the front come last, and stay visible.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|&number| results.configurations[number].on_front);
    for number in order {
        let (m, point) = (&results.configurations[number], points[number]);
        let design = designs.iter().position(|design| *design == m.design);
        let design = design.unwrap_or_else(|| {
            designs.push(&m.design);
            designs.len() - 1
        });
        let letter = (b'a' + (design % 26) as u8) as char;
        let (column, row) = (place(point.bytes, x, columns), place(point.latency, y, rows));
        plot[rows - 1 - row][column] =
            if m.on_front { letter.to_ascii_uppercase() } else { letter };
    }
    let label = |row: usize| {
        let at = (rows - 1 - row) as f64 / (rows - 1) as f64;
        match row % 5 {
            0 => time((y.0 + at * y.1).exp()),
            _ => String::new(),
        }
    };
    let mut lines = vec![format!("p50 at k = {}", results.radius)];
    for (number, row) in plot.iter().enumerate() {
        lines.push(format!("{:>8} |{}", label(number), row.iter().collect::<String>().trim_end()));
    }
    lines.push(format!("{:>8} +{}", "", "-".repeat(columns)));
    let (least, most) = (x.0.exp(), (x.0 + x.1).exp());
    let middle = (x.0 + x.1 / 2.0).exp();
    let half = columns / 2 - 3;
    lines.push(format!(
        "{:>8}  {least:<half$.2}{middle:<half$.2}{most:>5.2} bytes per fingerprint",
        ""
    ));
    let legend: Vec<String> = designs
        .iter()
        .enumerate()
        .map(|(number, design)| format!("{} {design}", (b'a' + (number % 26) as u8) as char))
        .collect();
    lines.push(format!(
        "{:>8}  {}; capitals: nothing is smaller and faster",
        "",
        legend.join(", ")
    ));
    lines
}

/// A number in few digits.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 999_500.0 => format!("{:.2}M", value / 1e6),
        _ if value >= 9_999.5 => format!("{:.0}k", value / 1e3),
        _ if value >= 99.95 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Bytes with a unit.
pub fn bytes(value: f64) -> String {
    match value {
        _ if value >= 1048524.0 => format!("{:.1}M", value / 1048576.0),
        _ if value >= 9_999.5 => format!("{:.0}K", value / 1024.0),
        _ => format!("{value:.0}"),
    }
}
