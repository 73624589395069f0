//! Fingerprints that are written as texts in a column.

use fpstore::Fingerprint;

use crate::input::detect::{Judged, excerpt, judge_column};
use crate::input::error::{At, ColumnProblem, Problem, RecordProblem};
use crate::input::token::{Format, parse};

/// The texts of a column. Their digits are judged from the first that come, unless they are given.
pub struct TextColumn {
    name: String,
    format: Option<Format>,
}

impl TextColumn {
    /// The column of this name.
    pub fn new(name: impl Into<String>, given: Option<Format>) -> Self {
        Self { name: name.into(), format: given }
    }

    /// The name of the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the digits are known.
    pub fn is_judged(&self) -> bool {
        self.format.is_some()
    }

    /// Judges the digits, if that is still to be done.
    pub fn judge<'a, F: Fingerprint>(
        &mut self,
        texts: impl Iterator<Item = (At, &'a [u8])> + Clone,
    ) -> Result<(), Problem> {
        if self.format.is_some() {
            return Ok(());
        }
        let name = self.name.clone();
        match judge_column(texts.clone().map(|(_, text)| text.trim_ascii()), F::BITS) {
            Judged::Clear(format) => self.format = Some(format),
            Judged::Empty => {}
            Judged::Open(index, token) => {
                let at = texts.clone().nth(index).map_or(At::Line(1), |(at, _)| at);
                return Err(Problem::Column(ColumnProblem::Digits {
                    at,
                    name,
                    token,
                    bits: F::BITS,
                }));
            }
            Judged::Width(found) => {
                return Err(Problem::Column(ColumnProblem::Width { name, found, wanted: F::BITS }));
            }
        }
        Ok(())
    }

    /// The fingerprint of a text.
    pub fn fingerprint<F: Fingerprint>(&self, text: &[u8]) -> Result<F, RecordProblem> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Err(RecordProblem::NoField { column: self.name.clone(), near: None });
        }
        parse(text, self.format.unwrap_or(Format::HexFull)).map_err(|fault| RecordProblem::Text {
            column: self.name.clone(),
            token: excerpt(text),
            fault,
        })
    }
}
