//! The options that say how inputs are read, common to all commands that read some.

use clap::ValueEnum;

use crate::command_line::quoted;
use crate::input::format::{Container, FormatArg};
use crate::input::reader::{ByteOrder, IdWish, Wishes};
use crate::input::stream::{Codec, CompressionArg};
use crate::input::token::Format;
use crate::memory;

/// How inputs are read.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Format of the input; `fpstore --help` lists them
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    #[arg(value_name = "FORMAT")]
    format: FormatArg,

    /// How the input is compressed as a whole
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    #[arg(value_name = "auto|none|gzip|zstd|bzip2|xz")]
    compression: CompressionArg,

    /// Column of the fingerprints, in tables and JSON [default: fingerprint, simhash, phash, pdq,
    /// hash, or the only one]
    #[arg(long, value_name = "NAME")]
    fingerprint_column: Option<String>,

    /// CSV and TSV begin with data; columns have numbers, from 1 on
    #[arg(long)]
    no_header: bool,

    /// How strings in columns are written; auto judges the first ones, as in lists
    #[arg(long, value_enum, default_value = "auto", hide_possible_values = true)]
    #[arg(value_name = "auto|hex|dec|bin|base64")]
    digits: DigitsArg,

    /// Order of the bytes in raw integers [default: little], and in uint8 arrays and binary columns
    /// [default: big, that of the printed digits]
    #[arg(long, value_enum, hide_possible_values = true)]
    #[arg(value_name = "big|little")]
    byte_order: Option<ByteOrder>,

    /// What to do about a bad record; skip tells each on standard error and goes on
    #[arg(long, value_enum, default_value = "stop", hide_possible_values = true)]
    #[arg(value_name = "stop|skip")]
    on_error: OnError,

    /// The ids that readers shall give, where a command has options for them.
    #[arg(skip)]
    pub(super) ids: Option<IdWish>,

    /// Bytes of memory, where a command has an option for them.
    #[arg(skip)]
    memory: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DigitsArg {
    Auto,
    Hex,
    Dec,
    Bin,
    Base64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    Stop,
    Skip,
}

impl InputArgs {
    /// The same, with these ids.
    pub fn with_ids(&self, ids: Option<IdWish>) -> Self {
        Self { ids, ..self.clone() }
    }

    /// The same, with at most so many bytes of memory for a piece of an input.
    pub fn with_memory(&self, memory: u64) -> Self {
        Self { memory: Some(memory), ..self.clone() }
    }

    /// The options that are not as they are by default, as a shell takes them, each behind a space:
    /// for a command that reads the same input.
    pub fn given(&self) -> String {
        fn name(value: &impl ValueEnum) -> String {
            value.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
        }
        let mut given = String::new();
        let mut push = |option: &str, value: &str| given += &format!(" {option} {}", quoted(value));
        if self.format != FormatArg::Auto {
            push("--format", &name(&self.format));
        }
        if self.compression != CompressionArg::Auto {
            push("--compression", &name(&self.compression));
        }
        if let Some(column) = &self.fingerprint_column {
            push("--fingerprint-column", column);
        }
        if self.digits != DigitsArg::Auto {
            push("--digits", &name(&self.digits));
        }
        if let Some(order) = &self.byte_order {
            push("--byte-order", &name(order));
        }
        if self.on_error != OnError::Stop {
            push("--on-error", &name(&self.on_error));
        }
        if self.no_header {
            given += " --no-header";
        }
        given
    }

    /// Whether bad records are left out.
    pub fn skips(&self) -> bool {
        self.on_error == OnError::Skip
    }

    /// Whether the format given is raw integers, which arguments cannot be.
    pub fn is_raw(&self) -> bool {
        matches!(self.format, FormatArg::U64le | FormatArg::U32le)
    }

    /// The format, if it is given.
    pub(super) fn container(&self) -> Option<Container> {
        self.format.given()
    }

    /// How the input is compressed, if that is given.
    pub(super) fn codec(&self) -> Option<Option<Codec>> {
        match self.compression {
            CompressionArg::Auto => None,
            CompressionArg::None => Some(None),
            CompressionArg::Gzip => Some(Some(Codec::Gzip)),
            CompressionArg::Zstd => Some(Some(Codec::Zstd)),
            CompressionArg::Bzip2 => Some(Some(Codec::Bzip2)),
            CompressionArg::Xz => Some(Some(Codec::Xz)),
        }
    }

    /// The column of fingerprints, if it is given.
    pub(super) fn column(&self) -> Option<&str> {
        self.fingerprint_column.as_deref()
    }

    /// The same for arguments: they are a list, and all of them must be sound. They are hexadecimal,
    /// as all output is, unless the user says that they are decimal: what one of them means does not
    /// depend on how many digits it has, nor on the others.
    pub(super) fn for_arguments(&self) -> Self {
        let format = match self.format {
            FormatArg::Dec => FormatArg::Dec,
            _ => FormatArg::Hex,
        };
        Self { format, fingerprint_column: None, on_error: OnError::Stop, ..self.clone() }
    }

    /// What readers must know.
    pub(super) fn wishes(&self) -> Wishes {
        Wishes {
            column: self.fingerprint_column.clone(),
            ids: self.ids.clone(),
            header: !self.no_header,
            digits: match self.digits {
                DigitsArg::Auto => None,
                DigitsArg::Hex => Some(Format::Hex),
                DigitsArg::Dec => Some(Format::Dec),
                DigitsArg::Bin => Some(Format::Bin),
                DigitsArg::Base64 => Some(Format::Base64),
            },
            byte_order: self.byte_order,
            memory: self.memory.unwrap_or_else(memory::default_limit),
        }
    }
}
