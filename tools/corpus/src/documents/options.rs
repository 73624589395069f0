//! Where the documents of inputs are.

use serde::{Deserialize, Serialize};

use super::document::Wanted;

/// The column of texts where none is named.
const TEXT: &str = "text";

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// How documents are read from files.
#[derive(Clone, Debug, Default)]
pub struct DocumentOptions {
    text: Option<String>,
    id: Option<String>,
    kind: Option<Kind>,
    skips: bool,
}

impl DocumentOptions {
    /// The texts are in the column `text`, ids are the paths of the files with the lines or rows,
    /// formats go by names and first bytes, and a bad record ends it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The column of the texts, in tables and JSON.
    #[must_use]
    pub fn text(mut self, column: impl Into<String>) -> Self {
        self.text = Some(column.into());
        self
    }

    /// The column of the ids, which are strings or whole numbers.
    #[must_use]
    pub fn id(mut self, column: impl Into<String>) -> Self {
        self.id = Some(column.into());
        self
    }

    /// The format of all files.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Whether bad records are left out, and told.
    #[must_use]
    pub fn skip_bad(mut self, skips: bool) -> Self {
        self.skips = skips;
        self
    }

    /// The columns that are read; `extra` is one that is needed beside them.
    pub fn wanted(&self, extra: Option<String>) -> Wanted {
        let text = self.text.clone().unwrap_or(TEXT.into());
        Wanted { text, id: self.id.clone(), extra, added: Vec::new() }
    }

    /// Whether documents have ids of their own.
    pub fn has_ids(&self) -> bool {
        self.id.is_some()
    }

    /// Whether bad records are left out.
    pub fn skips(&self) -> bool {
        self.skips
    }

    /// Whether a column is named, and so tables are meant.
    pub(crate) fn means_tables(&self) -> bool {
        self.text.is_some() || self.id.is_some()
    }

    /// The format, if it is given.
    pub(crate) fn given_kind(&self) -> Option<Kind> {
        self.kind
    }
}
