//! Rows of tables as records: a fingerprint, and perhaps an id, from the columns that hold them.

#[cfg(feature = "arrow")]
use std::any::Any;

#[cfg(feature = "arrow")]
use arrow_array::cast::AsArray;
#[cfg(feature = "arrow")]
use arrow_array::types::{Int64Type, UInt64Type};
use fpstore::Fingerprint;

use crate::cell::Cell;
use crate::column::TextColumn;
use crate::error::{At, Problem, RecordProblem};
use crate::options::Options;
use crate::reader::{ByteOrder, RECIPE, Reader, Sink, TAKEN_FOR_HEX};
use crate::rows::{Kind, Lookup, Piece, Row, Rows, Want};
use crate::token::{Format, signed, unsigned};
use crate::wish::{IdFault, IdWish, OwnedId};

/// Rows and bytes of ids that are taken in one piece: a value that many rows share may be long.
const PIECE_ROWS: usize = 1 << 16;
const ID_BYTES: usize = 1 << 22;

/// Bytes of the texts from which the digits are judged.
const JUDGED_BYTES: usize = 1 << 18;

const WANTED: &str =
    "fingerprint, which is a whole number of 64 bits without point or exponent, or a string";
const WANTED_NARROW: &str =
    "fingerprint, which is a whole number of 32 bits without point or exponent, or a string";
const WANTED_WIDE: &str = "fingerprint, which is a string where it has more than 64 bits";

/// The places of the columns among those that are wanted.
const FINGERPRINT: usize = 0;
const ID: usize = 1;

/// Reads rows as records.
pub struct TableReader {
    rows: Rows,
    texts: Option<TextColumn>,
    columns: Columns,
    /// A piece of which rows are left, and the next one of them.
    piece: Option<Piece>,
    next: usize,
    has_ended: bool,
}

/// How the columns are read.
struct Columns {
    digits: Option<Format>,
    prefers_hex: bool,
    byte_order: ByteOrder,
    ids: Option<IdWish>,
}

/// The columns of fingerprints of so many bits, and of ids.
pub fn wants(options: &Options, bits: u32) -> Vec<Want> {
    let fingerprint =
        Want { name: options.column.clone(), ..Want::new("", Kind::Fingerprint(bits)) };
    let id = options.ids.as_ref().map(|wish| Want::new(&*wish.column, Kind::Key));
    [fingerprint].into_iter().chain(id).collect()
}

impl TableReader {
    /// Reads rows that were opened with [`wants`].
    pub fn new(rows: Rows, options: &Options) -> Self {
        let ids = options.ids.clone();
        let Options { digits, prefers_hex, .. } = *options;
        let columns = Columns { digits, prefers_hex, byte_order: options.bytes(), ids };
        Self { rows, texts: None, columns, piece: None, next: 0, has_ended: false }
    }

    /// Gets the next piece, and judges from the first how texts are written.
    fn fill<F: Fingerprint>(&mut self) -> Result<bool, Problem> {
        if self.piece.is_none() {
            (self.piece, self.next) = (self.rows.next_piece()?, 0);
        }
        let Some(piece) = &self.piece else { return Ok(false) };
        let named = self.rows.wants()[FINGERPRINT].name.as_ref();
        let texts = match (&mut self.texts, named) {
            (Some(texts), _) => texts,
            (None, Some(name)) => {
                let Columns { digits, prefers_hex, .. } = self.columns;
                self.texts.insert(TextColumn::new(name, digits, prefers_hex))
            }
            // No line of the piece is an object, which is told of each.
            (None, None) => return Ok(true),
        };
        if !texts.is_judged() {
            let mut lookup = Lookup::default();
            let (mut first, mut bytes): (Vec<(At, Vec<u8>)>, _) = (Vec::new(), 0);
            for index in self.next..piece.len() {
                let row = piece.row(index, &mut lookup).ok();
                let cell = row.map(|row| row.cell(FINGERPRINT));
                if let Some(text) = cell.as_ref().and_then(Cell::text) {
                    bytes += text.len();
                    first.push((piece.at(index), text.to_vec()));
                }
                if bytes > JUDGED_BYTES {
                    break;
                }
            }
            texts.judge::<F>(first.iter().map(|(at, text)| (*at, &**text)))?;
        }
        Ok(true)
    }

    /// Appends the records of the piece, of which the next row is taken first.
    fn append<F: Fingerprint>(&mut self, to: &mut Sink<'_, F>) -> Result<(), Problem> {
        let Some(piece) = &self.piece else { return Ok(()) };
        let end = piece.len().min(self.next.saturating_add(PIECE_ROWS));
        #[cfg(feature = "arrow")]
        if self.columns.ids.is_none() && append_words(piece, self.next..end, to) {
            self.next = end;
            return Ok(());
        }
        let is_uuid = self.rows.wants().get(ID).is_some_and(|want| want.is_uuid);
        let ids_before = to.records.ids.bytes();
        let mut lookup = Lookup::default();
        while self.next < end && to.records.ids.bytes() - ids_before <= ID_BYTES {
            let index = self.next;
            self.next += 1;
            let record = piece.row(index, &mut lookup).and_then(|row| {
                let texts = self.texts.as_ref().ok_or_else(|| row.missing(FINGERPRINT))?;
                let fingerprint = self.columns.fingerprint(&row, texts)?;
                Ok((fingerprint, self.columns.id(&row, is_uuid)?))
            });
            match record {
                Ok((fingerprint, id)) => to.push(fingerprint, id.as_ref().map(OwnedId::borrow)),
                Err(problem) => to.fault(Problem::Record(piece.at(index), problem))?,
            }
        }
        Ok(())
    }
}

/// Appends whole columns of integers; tells whether these are some.
#[cfg(feature = "arrow")]
fn append_words<F: Fingerprint>(
    piece: &Piece,
    rows: std::ops::Range<usize>,
    to: &mut Sink<'_, F>,
) -> bool {
    let to: &mut dyn Any = &mut to.records.fingerprints;
    let Some(to) = to.downcast_mut::<Vec<u64>>() else { return false };
    let Some(array) = piece.column(FINGERPRINT).filter(|array| array.null_count() == 0) else {
        return false;
    };
    if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
        to.extend_from_slice(&array.values()[rows]);
    } else if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        to.extend(array.values()[rows].iter().map(|&word| word as u64));
    } else {
        return false;
    }
    true
}

impl Columns {
    fn fingerprint<F: Fingerprint>(
        &self,
        row: &Row<'_>,
        texts: &TextColumn,
    ) -> Result<F, RecordProblem> {
        let found = match row.cell(FINGERPRINT) {
            Cell::Number(number) => unsigned(number),
            Cell::Negative(number) => signed(number),
            Cell::Text(text) => return texts.fingerprint(text.as_bytes()),
            Cell::Bytes(text) => return texts.fingerprint(&text),
            Cell::Binary(bytes) => match self.byte_order.fingerprint(bytes) {
                Some(fingerprint) => Some(fingerprint),
                None => {
                    let wanted = match F::BITS {
                        32 => "fingerprint, which has 4",
                        64 => "fingerprint, which has 8",
                        128 => "fingerprint, which has 16",
                        _ => "fingerprint, which has 32",
                    };
                    return Err(row.refused(FINGERPRINT, wanted));
                }
            },
            _ => None,
        };
        found.ok_or_else(|| {
            let wanted = match F::BITS {
                u64::BITS => WANTED,
                u32::BITS => WANTED_NARROW,
                _ => WANTED_WIDE,
            };
            row.refused(FINGERPRINT, wanted)
        })
    }

    fn id<'a>(&self, row: &Row<'a>, is_uuid: bool) -> Result<Option<OwnedId<'a>>, RecordProblem> {
        let Some(wish) = &self.ids else { return Ok(None) };
        match wish.id(row.cell(ID), is_uuid) {
            Ok(id) => Ok(Some(id)),
            Err(IdFault::Text(problem)) => Err(problem),
            Err(IdFault::Refused(wanted)) => Err(row.refused(ID, wanted)),
        }
    }
}

impl<F: Fingerprint> Reader<F> for TableReader {
    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        if self.has_ended || !self.fill::<F>()? {
            self.has_ended = true;
            return Ok(false);
        }
        self.append(to)?;
        if self.piece.as_ref().is_some_and(|piece| self.next == piece.len()) {
            self.piece = None;
        }
        Ok(true)
    }

    #[cfg(feature = "arrow")]
    fn records(&self) -> Option<u64> {
        self.rows.batches()?.records()
    }

    fn recipe(&self) -> Option<String> {
        self.rows.note(RECIPE)
    }

    fn column(&self) -> Option<(&str, Option<Format>)> {
        let name = self.rows.wants()[FINGERPRINT].name.as_deref()?;
        Some((name, self.texts.as_ref().and_then(TextColumn::format)))
    }

    fn warning(&self) -> Option<&'static str> {
        if self.texts.as_ref().is_some_and(TextColumn::is_either) {
            return Some(TAKEN_FOR_HEX);
        }
        #[cfg(feature = "arrow")]
        return self.rows.batches()?.warning();
        #[cfg(not(feature = "arrow"))]
        None
    }

    #[cfg(feature = "arrow")]
    fn buffer_bytes(&self) -> u64 {
        self.rows.batches().map_or(0, |batches| batches.buffer_bytes())
    }
}
