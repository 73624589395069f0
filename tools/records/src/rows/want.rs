//! What is wanted of each row: columns by their names, and what stands in them.

use crate::detect::{NAMES, excerpt, is_telling, is_value};
use crate::error::ColumnProblem;

/// A column that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Its name, or its number where a table has no names; `None` is the one that holds
    /// fingerprints, by the names that such columns have.
    pub name: Option<String>,
    /// What stands in it.
    pub kind: Kind,
    /// Whether there may be none.
    pub is_optional: bool,
    /// Whether the file says that its values are UUIDs.
    pub is_uuid: bool,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fingerprints of so many bits.
    Fingerprint(u32),
    /// Fingerprints of any width.
    AnyFingerprint,
    /// Texts, which need not be UTF-8.
    Text,
    /// Strings or whole numbers.
    Id,
    /// The same, of up to 128 bits, or bytes: what a store can have as ids.
    Key,
    /// Strings, numbers, true or false.
    Value,
    /// Lists of strings or of whole numbers.
    Ids,
}

impl Want {
    /// A column of this name, which must be there.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self { name: Some(name.into()), kind, is_optional: false, is_uuid: false }
    }

    /// The same, which need not be there.
    pub fn or_none(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(NAMES[0])
    }
}

/// The places of columns among those with these names.
pub fn places(wants: &[Want], there: &[String]) -> Result<Vec<Option<usize>>, ColumnProblem> {
    let of = |want: &Want| match choose_column(want.name.as_deref(), there) {
        Err(ColumnProblem::Missing { .. }) if want.is_optional => Ok(None),
        other => other.map(Some),
    };
    wants.iter().map(of).collect()
}

/// The same by the first line of a table in text, which may be data after all.
pub fn places_in_header(
    wants: &[Want],
    there: &[String],
) -> Result<Vec<Option<usize>>, ColumnProblem> {
    let bits = wants.iter().find_map(|want| match want.kind {
        Kind::Fingerprint(bits) => Some((bits, want.name.is_some())),
        _ => None,
    });
    let Some((bits, is_named)) = bits else { return places(wants, there) };
    let data = |name: &String| is_value(name.as_bytes(), bits).then(|| excerpt(name.as_bytes()));
    match (places(wants, there), there.iter().find_map(data)) {
        (Err(_), Some(token)) => Err(ColumnProblem::HeaderIsData { token }),
        (Ok(places), Some(_)) if !is_named => match places[0].and_then(|at| data(&there[at])) {
            Some(token) => Err(ColumnProblem::HeaderIsData { token }),
            None => Ok(places),
        },
        (places, _) => places,
    }
}

/// The places of columns that have numbers, from 1 on.
pub fn places_by_number(
    wants: &[Want],
    columns: usize,
) -> Result<Vec<Option<usize>>, ColumnProblem> {
    let of = |want: &Want| match &want.name {
        Some(name) => match name.parse() {
            Ok(number) if (1..=columns).contains(&number) => Ok(Some(number - 1)),
            _ if want.is_optional => Ok(None),
            _ => Err(ColumnProblem::Number { name: name.clone(), columns }),
        },
        None if columns == 1 => Ok(Some(0)),
        None => {
            let there = (1..=columns).map(|number| number.to_string()).collect();
            Err(ColumnProblem::Open { there })
        }
    };
    wants.iter().map(of).collect()
}

/// The column of fingerprints that is meant, by its index. Without a name it is the one that has a
/// known name, the best of them, or the only one.
pub fn choose_column(
    wished: Option<&str>,
    there: impl IntoIterator<Item = impl Into<String>>,
) -> Result<usize, ColumnProblem> {
    let there: Vec<String> = there.into_iter().map(Into::into).collect();
    // The names that are known, the best one first.
    let known =
        || NAMES.iter().find(|name| there.iter().any(|there| there.eq_ignore_ascii_case(name)));
    let name = wished.unwrap_or_else(|| known().unwrap_or(&NAMES[0]));
    let is = |there: &String| match wished {
        Some(name) => *there == name,
        None => there.eq_ignore_ascii_case(name),
    };
    let mut found = (0..there.len()).filter(|&index| is(&there[index]));
    match (found.next(), found.next(), wished) {
        (Some(_), Some(_), _) => Err(ColumnProblem::Twice { name: name.to_string() }),
        (Some(index), None, _) => Ok(index),
        (None, _, Some(name)) => Err(ColumnProblem::Missing { name: name.to_string(), there }),
        (None, _, None) if there.len() == 1 => Ok(0),
        (None, _, None) => Err(ColumnProblem::Open { there }),
    }
}

/// Which of several columns hold all hexadecimal digits of fingerprints, as far as was seen.
pub struct HexColumns {
    /// For each how many digits its values have, unless one was none or had others.
    digits: Vec<Option<usize>>,
    /// Whether a digit is a letter, without which they are numbers.
    has_letters: Vec<bool>,
}

impl HexColumns {
    /// So many columns, of which nothing was seen.
    pub fn new(columns: usize) -> Self {
        Self { digits: vec![Some(0); columns], has_letters: vec![false; columns] }
    }

    /// Takes the value in a column; `None` is no text.
    pub fn take(&mut self, column: usize, text: Option<&[u8]>) {
        let text = text.unwrap_or_default().trim_ascii();
        let seen = self.digits[column].filter(|&seen| seen == 0 || seen == text.len());
        let is_one = seen.is_some() && is_telling(text);
        self.digits[column] = is_one.then_some(text.len());
        self.has_letters[column] |= text.iter().any(u8::is_ascii_alphabetic);
    }

    /// The only one of them. Eight digits are those of 32 bits only if these are wanted.
    pub fn only(&self, bits: u32) -> Option<usize> {
        let is_one = |&column: &usize| {
            let digits = self.digits[column].unwrap_or(0);
            self.has_letters[column] && (digits > 8 || digits == 8 && bits == 32)
        };
        let mut found = (0..self.digits.len()).filter(is_one);
        found.next().filter(|_| found.next().is_none())
    }
}
