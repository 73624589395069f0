//! The report of an evaluation: one file of HTML with the curves drawn in it.

use std::fmt::Write as _;
use std::io::Write as _;

use fpstore_text::evaluate::BINS;
use plotters::prelude::*;

use super::Args;
use super::measure::{Measured, Row, Work, best_rows, recommendation, share, sorted_rows};
use crate::failure::Failure;
use crate::output::not_written;
use crate::target::Target;

const SIZE: (u32, u32) = (470, 300);

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>fpstore evaluate</title>\n<style>\n\
    body { font: 15px/1.45 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }\n\
    table { border-collapse: collapse; margin: 1em 0; font-size: 13px }\n\
    th, td { padding: .15em .6em; text-align: right; border-bottom: 1px solid #ddd }\n\
    th:first-child, td:first-child { text-align: left }\n\
    caption { text-align: left; font-weight: bold }\n\
    code { font-size: 12px; color: #555 } svg { max-width: 49%; height: auto }\n</style></head><body>\n";

/// A line of a chart.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Writes the report.
pub(super) fn write(
    work: &Work,
    all: &[Measured],
    args: &Args,
    target: &Target,
) -> Result<(), Failure> {
    let mut html = HEAD.to_string();
    html += "<h1>Near duplicates by recipe</h1>\n";
    let what = match &work.labels {
        Some(_) => "Pairs with the label are to be found".to_string(),
        None => format!(
            "Pairs with a Jaccard similarity of {} and more, by the features of {}, are to be found",
            args.threshold,
            escaped(&args.truth)
        ),
    };
    html += &format!("<p><strong>{}</strong></p>\n", escaped(&recommendation(all)));
    html += &format!("<p>{}. {what}.</p>\n", super::told(work));
    let (best, sorted) = (best_rows(all), sorted_rows(all));
    html += &best_curves(all, &best)?;
    table(&mut html, "The best recipes, each at its best k", &best);
    for name in best.iter().map(|row| &row.recipe) {
        for measured in all.iter().filter(|measured| measured.name == **name) {
            section(&mut html, measured)?;
        }
    }
    let is_best = |measured: &&Measured| best.iter().any(|row| row.recipe == measured.name);
    for measured in all.iter().filter(|measured| !is_best(measured)) {
        section(&mut html, measured)?;
    }
    html += "<h2>All rows</h2>\n";
    table(&mut html, "All recipes, the best first", &sorted);
    html += "</body></html>\n";
    let written = target.file(0)?.write_all(html.as_bytes());
    written.map_err(|error| not_written(target.path(), error))
}

/// Draws recall against precision of the best recipes, over all k.
fn best_curves(all: &[Measured], best: &[&Row]) -> Result<String, Failure> {
    let of_row = |row: &&Row| {
        let measured = all.iter().find(|measured| measured.name == row.recipe)?;
        let scores = (0..=measured.greatest()).map(|k| measured.score(k));
        let scores = scores.filter(|score| score.relevant > 0 && score.recall() > 0.0);
        let name = format!("{}, {:.0} bytes", row.recipe, row.bytes_per_document);
        let points = scores.map(|score| (score.recall(), score.precision())).collect();
        Some(Line { name, points })
    };
    let lines: Vec<Line> = best.iter().filter_map(of_row).collect();
    chart("Precision by recall, of the best recipes", "recall", 1.0, &lines)
}

fn table(html: &mut String, caption: &str, rows: &[&Row]) {
    *html += &format!("<table><caption>{caption}</caption>");
    *html += "<tr><th>recipe</th><th>k</th><th></th><th>recall</th><th>precision</th><th>F1</th>\
              <th>found under 0.5</th><th>bytes</th><th>MB/s</th></tr>\n";
    for row in rows {
        let under = row.found_under_half.map_or("-".into(), |part| format!("{:.3}%", 100.0 * part));
        let Row {
            k, which, recall, precision, f1, bytes_per_document, megabytes_per_second, ..
        } = row;
        *html += &format!(
            "<tr><td>{}</td><td>{k}</td><td>{which}</td><td>{}</td><td>{precision:.4}</td><td>{}</td>\
             <td>{under}</td><td>{bytes_per_document:.1}</td><td>{megabytes_per_second:.0}</td></tr>\n",
            escaped(&row.recipe),
            share(*recall),
            share(*f1)
        );
    }
    *html += "</table>\n";
}

/// What there is to say of one recipe.
fn section(html: &mut String, measured: &Measured) -> Result<(), Failure> {
    *html += &format!(
        "<h2>{}</h2>\n<p><code>{}</code></p>\n",
        escaped(&measured.name),
        escaped(&measured.line)
    );
    let mut ks: Vec<(u32, &str)> = measured.rows.iter().map(|row| (row.k, row.which)).collect();
    ks.dedup_by_key(|(k, _)| *k);
    let found = ks.iter().map(|(k, which)| Line {
        name: format!("k = {k} ({which})"),
        points: (0..BINS).filter_map(|bin| part_of_bin(measured, bin, *k)).collect(),
    });
    let title = "Part of the pairs that is found, by similarity";
    *html += &chart(title, "Jaccard similarity", 1.0, &found.collect::<Vec<_>>())?;
    // A point for each k is more than anybody sees.
    let most = measured.greatest().max(1);
    let step = (most as usize / 128).max(1);
    let by_k = |name: &str, value: &dyn Fn(u32) -> f64| Line {
        name: name.to_string(),
        points: (0..=most).step_by(step).map(|k| (f64::from(k), value(k))).collect(),
    };
    let lines = [
        by_k("precision", &|k| measured.score(k).precision()),
        by_k("recall", &|k| measured.score(k).recall()),
        by_k("F1", &|k| measured.score(k).f1()),
    ];
    *html += &chart("Precision and recall, by k", "k", f64::from(most), &lines)?;
    bins(html, measured, &ks);
    Ok(())
}

/// The middle of a bin, and which part of its pairs is found; `None` of an empty bin.
fn part_of_bin(measured: &Measured, bin: usize, k: u32) -> Option<(f64, f64)> {
    let (all, found) = measured.curve.bin(bin, k);
    (all > 0).then(|| ((bin as f64 + 0.5) / BINS as f64, found as f64 / all as f64))
}

/// The same in numbers, and how well pairs are found if all from a bin on should be.
fn bins(html: &mut String, measured: &Measured, ks: &[(u32, &str)]) {
    *html += "<table><tr><th>Jaccard similarity</th><th>pairs</th>";
    for (k, _) in ks {
        // Writing to a string does not fail.
        let _ = write!(
            html,
            "<th>found, k = {k}</th><th>precision from here</th><th>recall</th><th>F1</th>"
        );
    }
    *html += "</tr>\n";
    for bin in 0..BINS {
        let (low, high) = (bin as f64 / BINS as f64, (bin + 1) as f64 / BINS as f64);
        let (all, _) = measured.curve.bin(bin, 0);
        let _ = write!(html, "<tr><td>{low:.2} to {high:.2}</td><td>{all}</td>");
        for (k, _) in ks {
            let found =
                part_of_bin(measured, bin, *k).map_or("-".into(), |(_, part)| format!("{part:.4}"));
            let score = measured.curve.score(*k, bin);
            let (precision, recall, f1) = (score.precision(), score.recall(), score.f1());
            let _ = write!(
                html,
                "<td>{found}</td><td>{precision:.4}</td><td>{recall:.4}</td><td>{f1:.4}</td>"
            );
        }
        *html += "</tr>\n";
    }
    *html += "</table>\n";
}

/// Draws lines over a range from 0 on, with values from 0 to 1.
fn chart(title: &str, x_name: &str, x_end: f64, lines: &[Line]) -> Result<String, Failure> {
    let mut svg = String::new();
    draw(&mut svg, (title, x_name, x_end), lines)
        .map_err(|error| Failure::System(format!("cannot draw a curve: {error}; leave -o out")))?;
    Ok(svg)
}

fn draw(
    svg: &mut String,
    (title, x_name, x_end): (&str, &str, f64),
    lines: &[Line],
) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .caption(title, ("sans-serif", 15))
        .x_label_area_size(34)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0..x_end, 0.0..1.0)?;
    chart.configure_mesh().x_desc(x_name).light_line_style(TRANSPARENT).draw()?;
    for (number, line) in lines.iter().enumerate() {
        let style = Palette99::pick(number).stroke_width(2);
        let series = LineSeries::new(line.points.iter().copied(), style);
        chart
            .draw_series(series)?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], style));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.7))
        .border_style(BLACK.mix(0.2))
        .position(SeriesLabelPosition::MiddleLeft)
        .draw()?;
    drop(chart);
    area.present()?;
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
