//! How an input is read: what its user says of it, and what is asked of its rows.

use crate::codec::Codec;
use crate::format::Container;
use crate::reader::ByteOrder;
use crate::token::Format;
use crate::wish::IdWish;

/// How an input is read. What is `None` is judged from its first bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its format.
    pub format: Option<Container>,
    /// How it is compressed as a whole; the inner `None` says that it is not.
    pub compression: Option<Option<Codec>>,
    /// The column of the fingerprints.
    pub column: Option<String>,
    /// The ids that are wanted beside them.
    pub ids: Option<IdWish>,
    /// Whether the first line of CSV and TSV names the columns.
    pub header: bool,
    /// How texts in a column are written.
    pub digits: Option<Format>,
    /// Whether digits that may be hexadecimal as well as decimal are hexadecimal: where there is a
    /// store, whose width is known, and which gives hexadecimal ones.
    pub prefers_hex: bool,
    /// The order of the bytes of raw integers, which is little otherwise, and of fingerprints that
    /// are kept as bytes, which is big otherwise.
    pub byte_order: Option<ByteOrder>,
    /// Whether bad records are left out.
    pub skip: bool,
    /// Bytes of memory that a piece may take where the file decides how large it is.
    pub memory: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            compression: None,
            column: None,
            ids: None,
            header: true,
            digits: None,
            prefers_hex: false,
            byte_order: None,
            skip: false,
            memory: 1 << 30,
        }
    }
}

impl Options {
    /// The order of the bytes of fingerprints that are kept as such.
    pub fn bytes(&self) -> ByteOrder {
        self.byte_order.unwrap_or(ByteOrder::Big)
    }

    /// The same for arguments: they are a list, and all of them must be sound. They are
    /// hexadecimal, as all output is, unless the user says that they are decimal: what one of them
    /// means does not depend on how many digits it has, nor on the others.
    pub(crate) fn for_arguments(&self) -> Self {
        let format = match self.format {
            Some(Container::Dec) => Container::Dec,
            _ => Container::Hex,
        };
        Self { format: Some(format), column: None, skip: false, ..self.clone() }
    }
}
