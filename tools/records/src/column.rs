//! Fingerprints that are written as texts in a column.

use fpstore::Fingerprint;

use crate::detect::{Judged, excerpt, judge_column};
use crate::error::{At, ColumnProblem, Problem, RecordProblem};
use crate::token::{Format, parse};

/// The texts of a column. Their digits are judged from the first that come, unless they are given.
pub struct TextColumn {
    name: String,
    format: Option<Format>,
    /// Whether the first texts were looked at.
    is_judged: bool,
    /// Whether digits are hexadecimal where they may be either.
    prefers_hex: bool,
    /// Whether they were taken for these.
    is_either: bool,
}

impl TextColumn {
    /// The column of this name.
    pub fn new(name: impl Into<String>, given: Option<Format>, prefers_hex: bool) -> Self {
        Self { name: name.into(), format: given, is_judged: false, prefers_hex, is_either: false }
    }

    /// Whether the digits are known.
    pub fn is_judged(&self) -> bool {
        self.is_judged
    }

    /// How its texts are written, as far as it is known.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// Whether digits that may be decimal were taken for hexadecimal ones.
    pub fn is_either(&self) -> bool {
        self.is_either
    }

    /// Judges the digits, if that is still to be done.
    pub fn judge<'a, F: Fingerprint>(
        &mut self,
        texts: impl Iterator<Item = (At, &'a [u8])> + Clone,
    ) -> Result<(), Problem> {
        if self.is_judged || self.format.is_some_and(|format| format != Format::Hex) {
            self.is_judged = true;
            return Ok(());
        }
        let name = self.name.clone();
        let judged = judge_column(texts.clone().map(|(_, text)| text.trim_ascii()), F::BITS);
        self.is_judged = !matches!(judged, Judged::Empty);
        match judged {
            // Each would be told to have too many digits.
            Judged::Width(found) if self.format.is_some() && found > F::BITS => {
                return Err(Problem::Column(ColumnProblem::Width { name, found, wanted: F::BITS }));
            }
            Judged::Clear(Format::HexFull) if self.format.is_some() => {
                self.format = Some(Format::HexMostly);
            }
            _ if self.format.is_some() => {}
            Judged::Clear(format) => self.format = Some(format),
            Judged::Empty => {}
            Judged::Either if self.prefers_hex => {
                (self.format, self.is_either) = (Some(Format::HexFull), true);
            }
            Judged::Either => {
                let first = texts.clone().find(|(_, text)| !text.trim_ascii().is_empty());
                let (at, text) = first.unwrap_or((At::Line(1), b""));
                let token = excerpt(text.trim_ascii());
                return Err(Problem::Column(ColumnProblem::Either { at, name, token }));
            }
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
