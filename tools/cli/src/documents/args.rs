//! The options that say where the documents of inputs are.

use clap::ValueEnum;

use fpstore_corpus::{DocumentOptions, Kind, Wanted};

/// How documents are read.
#[derive(clap::Args, Clone, Debug)]
pub struct DocumentArgs {
    /// Column of the texts, in tables and JSON [default: text]
    #[arg(long = "text-column", value_name = "COLUMN")]
    #[arg(help_heading = "Documents")]
    text: Option<String>,

    /// Column of the ids, strings or whole numbers [default: the path of the file, and the line or
    /// row]
    #[arg(long = "id-column", value_name = "COLUMN")]
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
    /// The same for those who read them.
    pub fn options(&self) -> DocumentOptions {
        let mut options = DocumentOptions::new().skip_bad(self.skips());
        if let Some(column) = &self.text {
            options = options.text(column);
        }
        if let Some(column) = &self.id {
            options = options.id(column);
        }
        match self.kind() {
            Some(kind) => options.kind(kind),
            None => options,
        }
    }

    /// The columns that are read; `extra` is one that the command needs beside them.
    pub fn wanted(&self, extra: Option<String>) -> Wanted {
        self.options().wanted(extra)
    }

    /// Whether documents have ids of their own.
    pub fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Whether bad records are left out.
    pub fn skips(&self) -> bool {
        self.on_error == OnError::Skip
    }

    /// The format, if it is given.
    fn kind(&self) -> Option<Kind> {
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
