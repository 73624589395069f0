//! Fingerprints that are written as texts in a column.

use crate::input::detect::{excerpt, judge_column};
use crate::input::error::{At, ColumnProblem, Problem, RecordProblem};
use crate::input::text::{Format, parse};

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
    pub fn judge<'a>(
        &mut self,
        texts: impl Iterator<Item = (At, &'a [u8])> + Clone,
    ) -> Result<(), Problem> {
        if self.format.is_some() {
            return Ok(());
        }
        match judge_column(texts.clone().map(|(_, text)| text.trim_ascii())) {
            Ok(format) => self.format = format,
            Err((index, token)) => {
                let at = texts.clone().nth(index).map_or(At::Line(1), |(at, _)| at);
                let name = self.name.clone();
                return Err(Problem::Column(ColumnProblem::Digits { at, name, token }));
            }
        }
        Ok(())
    }

    /// The fingerprint of a text.
    pub fn fingerprint(&self, text: &[u8]) -> Result<u64, RecordProblem> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Err(RecordProblem::NoField { column: self.name.clone(), near: None });
        }
        parse(text, self.format.unwrap_or(Format::Hex16)).map_err(|fault| RecordProblem::Text {
            column: self.name.clone(),
            token: excerpt(text),
            fault,
        })
    }
}
