//! Tables of results: what commands that write rows have in common.

#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "parquet")]
pub use parquet::{Kind, ParquetTable};

use std::io::Write;

use clap::ValueEnum;
use fpstore::Fingerprint;
use fpstore_records::write::push_hex;

use crate::failure::Failure;

/// The formats of rows of a command.
pub trait Shape: ValueEnum + PartialEq + Send + Sync + 'static {
    /// What may be said of them beside the name.
    const WORDS: &'static [&'static str];
    /// That of `--json`.
    const JSON: Option<Self>;
}

/// Words of fingerprints and of a header.
pub const TABLE_WORDS: &[&str] = &["header", "hex", "u64", "i64"];
/// The same, and of ids.
pub const ID_WORDS: &[&str] = &["header", "hex", "u64", "i64", "ids"];

/// How rows are written, as `--as` says: a format, and words behind it, as in `tsv,header,u64`.
#[derive(Clone, Copy, Debug)]
pub struct As<S> {
    /// The format; the first of the command where none is named.
    pub shape: S,
    named: bool,
    /// How tables are written.
    pub table: TableForm,
    /// Ids stand behind fingerprints.
    pub ids: bool,
    /// A row for each id.
    pub per_id: bool,
    /// Only whether there is something.
    pub any: bool,
}

impl<S: Shape> As<S> {
    /// Reads the words of `--as`.
    ///
    /// # Errors
    ///
    /// A word that the command does not know, or two that say different things.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shapes = S::value_variants();
        let mut this = Self {
            shape: shapes[0].clone(),
            named: false,
            table: TableForm::default(),
            ids: false,
            per_id: false,
            any: false,
        };
        for word in text.split(',') {
            if let Ok(shape) = S::from_str(word, false) {
                if this.named && shape != this.shape {
                    return Err("names two formats; give one".to_string());
                }
                (this.shape, this.named) = (shape, true);
                continue;
            }
            match (word, S::WORDS.contains(&word)) {
                ("header", true) => this.table.header = true,
                ("ids", true) => this.ids = true,
                ("per-id", true) => this.per_id = true,
                ("any", true) => this.any = true,
                (form, true) => this.table.take(form)?,
                (_, false) => {
                    let names = shapes.iter().filter_map(ValueEnum::to_possible_value);
                    let names: Vec<String> = names.map(|it| it.get_name().to_string()).collect();
                    return Err(format!(
                        "{word:?} is none of {}",
                        [&names[..], &S::WORDS.iter().map(ToString::to_string).collect::<Vec<_>>()]
                            .concat()
                            .join(", ")
                    ));
                }
            }
        }
        Ok(this)
    }

    /// Takes the format of `--json`, if that is given.
    ///
    /// # Errors
    ///
    /// `--as` names another one, or there is none.
    pub fn take_json(&mut self, command: &str, json: bool) -> Result<(), Failure> {
        match S::JSON {
            _ if !json => Ok(()),
            Some(shape) if !self.named || self.shape == shape => {
                self.shape = shape;
                Ok(())
            }
            Some(_) => Err(Failure::Usage(format!(
                "{command}: --as names another format than --json; leave one of them out"
            ))),
            None => Err(Failure::Usage(format!("{command}: prints no JSON; leave --json out"))),
        }
    }
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableForm {
    /// TSV begins with a line of the names of the columns.
    pub header: bool,
    /// How fingerprints are written, if that is said.
    form: Option<Form>,
}

/// How fingerprints are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Hexadecimal digits, lower-case.
    #[default]
    Hex,
    /// An integer from 0 on.
    U64,
    /// The signed integer of the same bits.
    I64,
    /// Bytes, which only files have.
    #[cfg_attr(
        not(feature = "arrow"),
        allow(dead_code, reason = "for writers that were not built")
    )]
    Bytes,
}

impl TableForm {
    fn take(&mut self, word: &str) -> Result<(), String> {
        let form = match word {
            "u64" => Form::U64,
            "i64" => Form::I64,
            _ => Form::Hex,
        };
        if self.form.is_some_and(|other| other != form) {
            return Err("names two forms of fingerprints; give one".to_string());
        }
        self.form = Some(form);
        Ok(())
    }

    /// How fingerprints are written in text.
    pub fn text(&self) -> Form {
        self.form.unwrap_or(Form::Hex)
    }

    /// How fingerprints are written in Parquet.
    #[cfg(feature = "parquet")]
    pub fn parquet<F: Fingerprint>(&self) -> Form {
        self.form.unwrap_or(if F::BITS > u64::BITS { Form::Bytes } else { Form::U64 })
    }

    /// Refuses integers for fingerprints of so many bits that have none.
    pub fn check_width(&self, command: &str, bits: u32) -> Result<(), Failure> {
        match self.form {
            Some(Form::U64 | Form::I64) if bits > u64::BITS => Err(Failure::Usage(format!(
                "{command}: fingerprints of {bits} bits are no integers of 64; take \
                 hex (--as)"
            ))),
            _ => Ok(()),
        }
    }

    /// Finds options that the output has no use for: `name` is its, if it is neither text nor a
    /// table.
    pub fn check(&self, command: &str, is_tsv: bool, raw: Option<&str>) -> Result<(), Failure> {
        let message = match (raw, self.header, self.form) {
            (Some(name), _, Some(_)) => {
                format!("{command}: {name} has one form; leave hex, u64 and i64 out (--as)")
            }
            (_, true, _) if !is_tsv => {
                format!("{command}: a header is for tsv; leave it out, or give --as tsv,header")
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(message))
    }
}

impl Form {
    /// Appends a fingerprint as text.
    pub fn push<F: Fingerprint>(self, to: &mut Vec<u8>, fingerprint: F) {
        // Writing to memory does not fail.
        let _ = match (self, number(fingerprint)) {
            (Form::U64, Some(number)) => write!(to, "{number}"),
            (Form::I64, Some(number)) => write!(to, "{}", signed::<F>(number)),
            _ => {
                push_hex(to, fingerprint);
                Ok(())
            }
        };
    }
}

/// A fingerprint of up to 64 bits as a number.
#[inline(always)]
fn number<F: Fingerprint>(fingerprint: F) -> Option<u64> {
    (F::BITS <= u64::BITS).then(|| fingerprint.bits(0, F::BITS))
}

/// The signed number of the same bits.
#[inline(always)]
fn signed<F: Fingerprint>(number: u64) -> i64 {
    let above = u64::BITS.saturating_sub(F::BITS);
    (number << above) as i64 >> above
}

/// The line of the names of columns.
pub fn header(names: &[&str]) -> Vec<u8> {
    let mut line = names.join("\t").into_bytes();
    line.push(b'\n');
    line
}

/// What is noted in a file of Parquet about the store, the distance and the recipe that it comes
/// from.
#[cfg(feature = "parquet")]
pub fn notes(
    store: impl std::fmt::Display,
    k: u32,
    recipe: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut notes = vec![("k", k.to_string()), ("store", store.to_string())];
    notes.extend(recipe.map(|line| (fpstore_records::RECIPE, line.to_string())));
    notes
}

/// Refuses Parquet where it cannot be written.
pub fn check_parquet(command: &str, has_file: bool) -> Result<(), Failure> {
    let what = match (cfg!(feature = "parquet"), has_file) {
        (false, _) => "this fpstore was built without Parquet; build it with default features",
        (true, false) => "parquet goes to a file; give -o FILE",
        (true, true) => return Ok(()),
    };
    Err(Failure::Usage(format!("{command}: {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_have_three_forms() {
        let text = |form: Form, fingerprint: u64| {
            let mut text = Vec::new();
            form.push(&mut text, fingerprint);
            String::from_utf8(text).unwrap()
        };
        for (fingerprint, hex, unsigned, signed) in [
            (0, "0000000000000000", "0", "0"),
            (u64::MAX, "ffffffffffffffff", "18446744073709551615", "-1"),
            (1 << 63, "8000000000000000", "9223372036854775808", "-9223372036854775808"),
        ] {
            assert_eq!(text(Form::Hex, fingerprint), hex);
            assert_eq!(text(Form::U64, fingerprint), unsigned);
            assert_eq!(text(Form::I64, fingerprint), signed);
        }
        let mut text = Vec::new();
        Form::I64.push(&mut text, u32::MAX);
        Form::U64.push(&mut text, u32::MAX);
        Form::Hex.push(&mut text, 0xabcu32);
        // Wider ones have no number.
        Form::U64.push(&mut text, 1u128);
        assert_eq!(text, b"-1429496729500000abc00000000000000000000000000000001");
    }
}
