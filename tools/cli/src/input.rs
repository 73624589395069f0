//! The options that say how inputs are read, common to all commands that read some.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use fpstore_records::{ByteOrder, Codec, Container, Format, IdWish, Options};

use crate::command_line::quoted;
use crate::memory;

/// How inputs are read.
#[derive(clap::Args, Clone, Debug)]
pub struct InputArgs {
    /// Format of the input; `fpstore --help` lists them
    #[arg(long, value_parser = auto_or(Container::NAMES), default_value = "auto")]
    #[arg(hide_possible_values = true, value_name = "FORMAT")]
    #[arg(help_heading = "Input")]
    format: Auto<Container>,

    /// How the input is compressed as a whole
    #[arg(long, value_parser = auto_or(Codec::NAMES), default_value = "auto")]
    #[arg(hide_possible_values = true, value_name = "auto|none|gzip|zstd|bzip2|xz|lz4")]
    #[arg(help_heading = "Input", hide_short_help = true)]
    compression: Auto<Option<Codec>>,

    /// Column of the fingerprints, in tables and JSON [default: fingerprint, simhash, phash, pdq,
    /// hash, the only one, or the only one of hexadecimal digits]
    #[arg(long, value_name = "NAME")]
    #[arg(help_heading = "Input")]
    fingerprint_column: Option<String>,

    /// CSV and TSV begin with data; columns have numbers, from 1 on
    #[arg(long)]
    #[arg(help_heading = "Input", hide_short_help = true)]
    no_header: bool,

    /// How strings in columns are written; auto judges the first ones, as in lists
    #[arg(long, value_parser = auto_or(Format::NAMES), default_value = "auto")]
    #[arg(hide_possible_values = true, value_name = "auto|hex|dec|bin|base64")]
    #[arg(help_heading = "Input", hide_short_help = true)]
    digits: Auto<Format>,

    /// Order of the bytes in raw integers [default: little], and in uint8 arrays and binary columns
    /// [default: big, that of the printed digits]
    #[arg(long, value_parser = one_of(ORDERS))]
    #[arg(hide_possible_values = true, value_name = "big|little")]
    #[arg(help_heading = "Input", hide_short_help = true)]
    byte_order: Option<ByteOrder>,

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

const ORDERS: &[(&str, ByteOrder)] = &[("big", ByteOrder::Big), ("little", ByteOrder::Little)];

/// What is given, unless it is to be judged.
#[derive(Clone, Copy, Debug)]
struct Auto<T>(Option<T>);

/// Takes the value of one of these names.
fn one_of<T: Copy + Send + Sync + 'static>(
    names: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names.iter().map(|(name, _)| *name))
        .try_map(|given| of_name(names, &given).ok_or("is none of them"))
}

/// The same, or `auto`.
fn auto_or<T: Copy + Send + Sync + 'static>(
    names: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = Auto<T>> {
    PossibleValuesParser::new(["auto"].into_iter().chain(names.iter().map(|(name, _)| *name)))
        .map(|given| Auto(of_name(names, &given)))
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
            format: self.format.0,
            compression: self.compression.0,
            column: self.fingerprint_column.clone(),
            ids,
            header: !self.no_header,
            digits: self.digits.0,
            prefers_hex: false,
            byte_order: self.byte_order,
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
        if let Some(format) = &self.format.0 {
            push("--format", name_of(Container::NAMES, format));
        }
        if let Some(codec) = &self.compression.0 {
            push("--compression", name_of(Codec::NAMES, codec));
        }
        if let Some(column) = &self.fingerprint_column {
            push("--fingerprint-column", column);
        }
        if let Some(digits) = &self.digits.0 {
            push("--digits", name_of(Format::NAMES, digits));
        }
        if let Some(order) = &self.byte_order {
            push("--byte-order", name_of(ORDERS, order));
        }
        if self.on_error == OnError::Skip {
            push("--on-error", "skip");
        }
        if self.no_header {
            given += " --no-header";
        }
        given
    }
}
