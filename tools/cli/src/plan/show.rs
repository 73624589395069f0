//! How plans are shown: rows of cells, and numbers as people read them.

use crate::failure::Failure;
use crate::output::Output;

/// Prints rows of as many cells, below each other.
pub fn print_rows(output: &mut Output, rows: &[Vec<String>]) -> Result<(), Failure> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column).unwrap_or(0);
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        output.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A number in few digits.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 9999.5 => scaled(value, 1000.0, &["", "k", "M", "G", "T"]).replace(' ', ""),
        _ if value >= 9.95 || value.fract() == 0.0 => format!("{value:.0}"),
        _ if value >= 0.095 => format!("{value:.1}"),
        _ => "<0.1".to_string(),
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value >= 0.9995 * step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = if value >= 9.95 || unit == 0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

/// Bytes, in the unit that fits.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Nanoseconds, in the unit that fits.
pub fn time(ns: f64) -> String {
    scaled(ns, 1000.0, &["ns", "us", "ms", "s"])
}
