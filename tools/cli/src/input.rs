//! The options that say how inputs are read, common to all commands that read some.

use std::str::FromStr;

use clap::ValueEnum;
use fpstore_records::{ByteOrder, Codec, Container, Format, IdWish, Options};

use crate::command_line::quoted;
use crate::memory;

/// How inputs are read.
#[derive(clap::Args, Clone, Debug)]
pub struct InputArgs {
    /// How the input is written: a format, and words such as no-header and dec, as in `csv,dec`;
    /// `fpstore --help` lists them
    #[arg(long, default_value = "auto", value_name = "FORMAT[,WORD]")]
    #[arg(help_heading = "Input")]
    format: Written,

    /// Column of the fingerprints, in tables and JSON [default: fingerprint, simhash, phash, pdq,
    /// hash, the only one, or the only one of hexadecimal digits]
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = "Input")]
    fingerprint_column: Option<String>,

    /// What to do about a bad record; skip tells each on standard error and goes on
    #[arg(long, value_enum, default_value = "stop", hide_possible_values = true)]
    #[arg(value_name = "stop|skip")]
    #[arg(help_heading = "Input", hide_short_help = true)]
    on_error: OnError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    Stop,
    Skip,
}

/// How an input is written, as far as it is said.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    container: Option<Container>,
    codec: Option<Option<Codec>>,
    no_header: bool,
    digits: Option<Format>,
    byte_order: Option<ByteOrder>,
}

const ORDERS: &[(&str, ByteOrder)] = &[("big", ByteOrder::Big), ("little", ByteOrder::Little)];
/// The name of no codec.
const UNCOMPRESSED: &str = "uncompressed";

impl FromStr for Written {
    type Err = String;

    /// Reads words such as `csv,no-header,dec,gzip`. The first may name a format; those of lists
    /// say behind another one how strings in columns are written.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut this = Self::default();
        for (index, word) in text.split(',').enumerate() {
            let is_new = match word {
                "auto" => index == 0,
                "no-header" => !std::mem::replace(&mut this.no_header, true),
                _ => match of_name(Container::NAMES, word).filter(|_| index == 0) {
                    Some(container) => this.container.replace(container).is_none(),
                    None => this.take(word)?,
                },
            };
            if !is_new {
                return Err(format!("{word} comes twice, or beside another word of its kind"));
            }
        }
        Ok(this)
    }
}

impl Written {
    /// Takes a word behind the format; false if one of its kind was there.
    fn take(&mut self, word: &str) -> Result<bool, String> {
        let codec = match word {
            UNCOMPRESSED => Some(None),
            "none" => None,
            _ => of_name(Codec::NAMES, word),
        };
        if let Some(codec) = codec {
            return Ok(self.codec.replace(codec).is_none());
        }
        if let Some(digits) = of_name(Format::NAMES, word) {
            return Ok(self.digits.replace(digits).is_none());
        }
        if let Some(order) = of_name(ORDERS, word) {
            return Ok(self.byte_order.replace(order).is_none());
        }
        let formats = Container::NAMES.iter().map(|(name, _)| *name);
        let digits = Format::NAMES.iter().map(|(name, _)| *name);
        let codecs = Codec::NAMES.iter().map(|(name, _)| *name).filter(|name| *name != "none");
        let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
        Err(format!(
            "{word:?} is no format, which is auto, {}, and no word behind one: no-header; {}; {}; \
             {UNCOMPRESSED}, {}",
            names(&mut formats.into_iter()),
            names(&mut digits.into_iter()),
            names(&mut ORDERS.iter().map(|(name, _)| *name)),
            names(&mut codecs.into_iter()),
        ))
    }

    /// The words, or none where nothing is said.
    fn words(&self) -> Option<String> {
        let mut words = Vec::new();
        words.extend(self.no_header.then_some("no-header"));
        words.extend(self.digits.map(|it| name_of(Format::NAMES, &it)));
        words.extend(self.byte_order.map(|it| name_of(ORDERS, &it)));
        words.extend(self.codec.map(|it| match it {
            None => UNCOMPRESSED,
            Some(_) => name_of(Codec::NAMES, &it),
        }));
        let format = self.container.map_or("auto", |it| name_of(Container::NAMES, &it));
        match (self.container, words.is_empty()) {
            (None, true) => None,
            _ => Some([&[format][..], &words].concat().join(",")),
        }
    }
}

fn of_name<T: Copy>(names: &[(&str, T)], given: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == given).map(|(_, value)| *value)
}

/// The name of a value.
fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    names.iter().find(|(_, other)| other == value).map_or("auto", |(name, _)| name)
}

impl InputArgs {
    /// How inputs are read: with these ids, and at most so many bytes of memory for a piece of one,
    /// or what is usual.
    pub fn options(&self, ids: Option<IdWish>, memory: Option<u64>) -> Options {
        Options {
            format: self.format.container,
            compression: self.format.codec,
            column: self.fingerprint_column.clone(),
            ids,
            header: !self.format.no_header,
            digits: self.format.digits,
            prefers_hex: false,
            byte_order: self.format.byte_order,
            skip: self.on_error == OnError::Skip,
            memory: memory.unwrap_or_else(memory::default_limit),
        }
    }

    /// The same for the inputs of a store that is there: digits that may be hexadecimal or decimal
    /// are hexadecimal, as those that it gives.
    pub fn beside_store(&self, ids: Option<IdWish>, memory: Option<u64>) -> Options {
        Options { prefers_hex: true, ..self.options(ids, memory) }
    }

    /// The options that are not as they are by default, as a shell takes them, each behind a space:
    /// for a command that reads the same input.
    pub fn given(&self) -> String {
        let mut given = String::new();
        let mut push = |option: &str, value: &str| given += &format!(" {option} {}", quoted(value));
        if let Some(words) = self.format.words() {
            push("--format", &words);
        }
        if let Some(column) = &self.fingerprint_column {
            push("--fingerprint-column", column);
        }
        if self.on_error == OnError::Skip {
            push("--on-error", "skip");
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_format_are_read_and_written_alike() {
        for text in ["hex", "auto,dec", "csv,no-header,base64,gzip", "u64le,big,uncompressed"] {
            assert_eq!(text.parse::<Written>().unwrap().words().as_deref(), Some(text));
        }
        assert_eq!("auto".parse::<Written>().unwrap().words(), None);
        // The format may be left out before what is none.
        assert_eq!("gzip".parse::<Written>().unwrap().words().as_deref(), Some("auto,gzip"));
        for wrong in ["", "xml", "csv,tsv", "csv,auto", "csv,hex,dec", "csv,gzip,zstd", "csv,none"]
        {
            assert!(wrong.parse::<Written>().is_err(), "{wrong}");
        }
    }
}
