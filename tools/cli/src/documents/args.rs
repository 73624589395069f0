//! The options that say where the documents of inputs are.

use clap::ValueEnum;

use super::document::Wanted;

/// The column of texts where none is named.
const TEXT: &str = "text";

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An object on each line.
    Jsonl,
    /// Columns separated by commas or semicolons, with a header.
    Csv,
    /// Columns separated by tabs, with a header.
    Tsv,
    /// Rows.
    Parquet,
    /// The whole file is one document.
    Plain,
}

/// How documents are read.
#[derive(clap::Args, Clone, Debug)]
pub struct DocumentArgs {
    /// Column of the texts, in tables and JSON [default: text]
    #[arg(long, value_name = "COLUMN")]
    #[arg(help_heading = "Documents")]
    text: Option<String>,

    /// Column of the ids, strings or whole numbers [default: the path of the file, and the line or row]
    #[arg(long, value_name = "COLUMN")]
    #[arg(help_heading = "Documents")]
    id: Option<String>,

    /// Format of the inputs; auto goes by the name of each, then by its first bytes
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    #[arg(value_name = "auto|jsonl|csv|tsv|parquet|plain")]
    #[arg(help_heading = "Documents", hide_short_help = true)]
    format: FormatArg,

    /// What to do about a bad record; skip tells each on standard error and goes on
    #[arg(long, value_enum, default_value = "stop", hide_possible_values = true)]
    #[arg(value_name = "stop|skip")]
    #[arg(help_heading = "Documents", hide_short_help = true)]
    on_error: OnError,
}

/// A format, or that it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Auto,
    #[value(alias = "ndjson", alias = "json")]
    Jsonl,
    Csv,
    Tsv,
    Parquet,
    #[value(alias = "text")]
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    Stop,
    Skip,
}

impl DocumentArgs {
    /// The columns that are read; `extra` is one that the command needs beside them.
    pub fn wanted(&self, extra: Option<String>) -> Wanted {
        Wanted { text: self.text.clone().unwrap_or(TEXT.into()), id: self.id.clone(), extra }
    }

    /// Whether documents have ids of their own.
    pub fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Whether bad records are left out.
    pub fn skips(&self) -> bool {
        self.on_error == OnError::Skip
    }

    /// Whether the user has named a column, and so means tables.
    pub(super) fn means_tables(&self) -> bool {
        self.text.is_some() || self.id.is_some()
    }

    /// The format, if it is given.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self.format {
            FormatArg::Auto => None,
            FormatArg::Jsonl => Some(Kind::Jsonl),
            FormatArg::Csv => Some(Kind::Csv),
            FormatArg::Tsv => Some(Kind::Tsv),
            FormatArg::Parquet => Some(Kind::Parquet),
            FormatArg::Plain => Some(Kind::Plain),
        }
    }
}
