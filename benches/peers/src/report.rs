//! What is printed: Markdown tables on the standard output, and every figure as a line of a CSV
//! file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Result;
use crate::engines::RADIUS;

/// The CSV file, if one is wanted: `section,n,group,subject,metric,value`.
pub struct Csv {
    file: Option<BufWriter<File>>,
    count: usize,
}

impl Csv {
    /// Creates the file, for figures about sets of `count` fingerprints.
    pub fn create(path: Option<&Path>, count: usize) -> Result<Self> {
        let file = path.map(File::create).transpose()?.map(BufWriter::new);
        let mut csv = Self { file, count };
        csv.line("section,n,group,subject,metric,value")?;
        Ok(csv)
    }

    /// Writes a figure.
    pub fn row(
        &mut self,
        section: &str,
        group: usize,
        subject: &str,
        metric: &str,
        value: f64,
    ) -> Result<()> {
        let count = self.count;
        self.line(&format!("{section},{count},{group},\"{subject}\",{metric},{value}"))
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{line}")?;
            file.flush()?;
        }
        Ok(())
    }
}

/// The JSON file, if one is wanted: the engines of the search at [`RADIUS`], which
/// `fpstore bench --overlay` shows in its chart.
pub struct Json {
    path: Option<PathBuf>,
    header: Value,
    engines: Vec<Value>,
}

impl Json {
    /// A file about a set of `count` fingerprints called `set`; it is written by [`Self::finish`].
    pub fn new(path: Option<&Path>, set: &str, count: usize, queries: usize) -> Self {
        let header = json!({
            "format": "fpstore-peers",
            "version": 1,
            "set": set,
            "fingerprints": count,
            "radius": RADIUS,
            "queries": queries,
        });
        Self { path: path.map(Path::to_path_buf), header, engines: Vec::new() }
    }

    /// Adds an engine with its figures.
    pub fn engine(&mut self, name: &str, group: usize, figures: &[(&str, f64)]) {
        let mut engine = json!({ "name": name, "group": group });
        for &(metric, value) in figures {
            engine[metric] = json!(value);
        }
        self.engines.push(engine);
    }

    /// Writes the file.
    pub fn finish(mut self) -> Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        self.header["engines"] = Value::Array(self.engines);
        std::fs::write(&path, format!("{:#}\n", self.header))
            .map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

/// A Markdown table, whose first column is text and whose others are numbers.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(ToString::to_string).collect()] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints the table with its columns aligned.
    pub fn print(&self) {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(4)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
            if number == 0 {
                let rule = |(column, &width): (usize, &usize)| match column {
                    0 => "-".repeat(width),
                    _ => "-".repeat(width - 1) + ":",
                };
                let rules: Vec<String> = widths.iter().enumerate().map(rule).collect();
                println!("| {} |", rules.join(" | "));
            }
        }
        println!();
    }
}

/// Three significant digits at least, without an exponent.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
