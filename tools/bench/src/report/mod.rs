//! `report.html`: everything in one file that needs no network, and `front.svg`, its first chart
//! alone.
//!
//! Charts are laid out here and written by templates, instead of by a library of charts: colours
//! must follow light and dark by classes of a style sheet, marks must carry the values they stand
//! for, and the same chart must stand in a page and alone. Those libraries write colours into each
//! element.

mod chart;
mod charts;

use std::fs;
use std::path::{Path, PathBuf};

use fpstore_cli::apart::Used;
use fpstore_cli::failure::Failure;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

use super::paper::Paper;
use super::results::{Measured, Results};
use super::terminal::{bytes, number, time};
use super::{noise, overlay};

const TEMPLATES: [(&str, &str); 5] = [
    ("page.html", include_str!("page.html")),
    ("chart.svg", include_str!("chart.svg")),
    ("alone.svg", include_str!("alone.svg")),
    ("chart.css", include_str!("chart.css")),
    ("page.css", include_str!("page.css")),
];
const SCRIPT: &str = include_str!("script.js");

/// The files of a report.
pub const PAGE: &str = "report.html";
pub const CHART: &str = "front.svg";

/// A row of the table.
#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    on_front: bool,
    /// What is shown, and the number that it is sorted by.
    cells: Vec<(String, f64)>,
}

/// Writes `report.html` and `front.svg` into a directory.
pub fn write(results: &Results, directory: &Path) -> Result<(), Failure> {
    for (name, text) in [(PAGE, page(results)?), (CHART, alone(results)?)] {
        let path = directory.join(name);
        super::put(&path, text.as_bytes())?;
    }
    Ok(())
}

/// Writes the report of results that were saved, with further engines in its first chart.
pub fn rewrite(results: &Path, directory: &Path, engines: &[PathBuf]) -> Result<(), Failure> {
    let used = Used::nothing().files([results]).files(engines);
    super::check_outputs(directory, &[PAGE, CHART], &used)?;
    let mut results = Results::read(results)?;
    for path in engines {
        results.overlay.extend(overlay::read(path)?);
    }
    fs::create_dir_all(directory).map_err(|error| super::written(directory, &error))?;
    write(&results, directory)
}

/// The page.
fn page(results: &Results) -> Result<String, Failure> {
    let charts = charts::all(results);
    let drawn: Vec<_> = charts.iter().map(chart::Chart::draw).collect();
    let recommended: Vec<_> = results
        .recommended
        .iter()
        .map(|r| {
            let measured = results.find(&r.id);
            context! {
                prefer => r.prefer.clone(),
                id => r.id.clone(),
                name => measured.map_or(r.id.clone(), Measured::name),
                bytes => format!("{:.2}", r.bytes_per_fingerprint),
                percent => format!("{:.0}", 12.5 * r.bytes_per_fingerprint),
                time => time(r.p50_ns),
                p99 => measured.map_or(String::new(), |m| time(m.warm.p99_ns)),
                throughput => measured.and_then(|m| m.throughput.last()).map(|most| {
                    format!("{} queries/s on {} threads", number(most.queries_per_second), most.threads)
                }),
                command => r.command.clone(),
            }
        })
        .collect();
    let mut rows: Vec<Row> = results.configurations.iter().map(row).collect();
    // What no configuration has, such as ids or cold searches, takes no room.
    let is_used: Vec<bool> = (0..COLUMNS.len())
        .map(|at| rows.iter().any(|row| row.cells.get(at).is_some_and(|cell| cell.0 != NONE)))
        .collect();
    for row in &mut rows {
        let mut used = is_used.iter();
        row.cells.retain(|_| used.next() == Some(&true));
    }
    let columns = COLUMNS.iter().zip(&is_used).filter(|(_, is_used)| **is_used);
    let columns: Vec<_> =
        columns.map(|((name, about), _)| context! { name => *name, about => *about }).collect();
    render(
        "page.html",
        context! {
            results => Value::from(Serde(results)),
            paper => Value::from(Serde(Paper::new(results)?)),
            charts => Value::from(Serde(drawn)),
            recommended,
            warning => results.noise().is_busy(),
            noise => results.noise().text(),
            predictions => noise::predictions(&results.configurations),
            rows => Value::from(Serde(rows)),
            columns,
            script => SCRIPT,
            distinct => grouped(results.data.distinct),
            seconds => format!("{:.0}", results.seconds),
            memory => results.machine.memory_bytes.map(|bytes| format!("{:.0}", bytes as f64 / 2f64.powi(30))),
        },
    )
}

/// The first chart as a file of its own.
fn alone(results: &Results) -> Result<String, Failure> {
    render("alone.svg", context! { chart => Value::from(Serde(charts::front(results).draw())) })
}

fn render(name: &str, values: Value) -> Result<String, Failure> {
    let failed = |error: minijinja::Error| {
        Failure::System(format!("cannot write the report: {error:#}; this is a defect"))
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|name| match name.ends_with(".css") {
        true => AutoEscape::None,
        false => AutoEscape::Html,
    });
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(failed)?);
    environment.add_filter("grouped", grouped);
    environment.add_filter("short", number);
    for (name, template) in TEMPLATES {
        environment.add_template(name, template).map_err(failed)?;
    }
    environment.get_template(name).and_then(|template| template.render(values)).map_err(failed)
}

/// A cell without a value.
const NONE: &str = "-";

const COLUMNS: [(&str, &str); 15] = [
    ("B/fp", "bytes of all files per fingerprint"),
    ("blocks", "of these, blocks"),
    ("router", "routers"),
    ("ids", "ids"),
    ("headers", "headers, footers, manifest"),
    ("Mfp/s", "millions of fingerprints packed per second"),
    ("p50", "median time of a search in memory, one thread"),
    ("p90", "90th percentile"),
    ("p99", "99th percentile"),
    ("p99.9", "99.9th percentile, from 10,000 samples on"),
    ("scanned", "blocks that a search scans"),
    ("decoded", "blocks that a search decodes"),
    ("touched", "bytes of blocks that a search reads"),
    ("queries/s", "searches per second of all threads"),
    ("cold", "median time of a search with a cold page cache"),
];

fn row(m: &Measured) -> Row {
    let share = |part: u64| {
        let bytes = m.size.bytes_per_fingerprint * part as f64 / (m.size.bytes as f64).max(1.0);
        (format!("{bytes:.2}"), bytes)
    };
    let ns = |ns: f64| (time(ns), ns);
    let none = || (NONE.to_string(), f64::MAX);
    let most = m.throughput.last();
    Row {
        id: m.id.clone(),
        name: m.name(),
        on_front: m.on_front,
        cells: vec![
            (format!("{:.2}", m.size.bytes_per_fingerprint), m.size.bytes_per_fingerprint),
            share(m.size.blocks),
            share(m.size.router),
            if m.size.ids == 0 { none() } else { share(m.size.ids) },
            share(m.size.headers),
            (
                format!("{:.2}", m.pack.fingerprints_per_second / 1e6),
                m.pack.fingerprints_per_second,
            ),
            ns(m.warm.p50_ns),
            ns(m.warm.p90_ns),
            ns(m.warm.p99_ns),
            m.warm.p999_ns.map_or_else(none, ns),
            (number(m.work.steps.looked_at()), m.work.steps.looked_at()),
            (number(m.work.steps.taken()), m.work.steps.taken()),
            (bytes(m.work.bytes_touched), m.work.bytes_touched),
            most.map_or_else(none, |most| {
                (number(most.queries_per_second), most.queries_per_second)
            }),
            m.cold.map_or_else(none, |cold| ns(cold.search_p50_ns)),
        ],
    }
}

/// A whole number with its digits in groups.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && place % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
