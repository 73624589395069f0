//! Checks of a message before it is decoded.
//!
//! The decoder believes what a message says of itself: it reserves the length that a compressed
//! buffer states, and a reservation that fails ends the process. So each length is compared here
//! with the bytes that are there, with the most that its codec can make of them, and with a limit.

use std::ops::Range;

use arrow_ipc::{CompressionType, Message, MetadataVersion, RecordBatch};
use arrow_schema::{DataType, Schema, UnionMode};

/// A description has at most so many bytes, and so many when all that it shares is written out.
pub const MAX_HEAD_BYTES: u64 = 1 << 24;
const MAX_APPARENT_BYTES: usize = 1 << 26;
/// Tables in a description: a column has two, and one for each of its notes.
const MAX_TABLES: usize = 1 << 18;
const MAX_DEPTH: usize = 64;

/// What a byte can stand for, at most: in LZ4 a byte of a length stands for 255, in zstd a block of
/// 128 KiB has at least 4 bytes.
const LZ4_RATIO: u64 = 255;
const ZSTD_RATIO: u64 = 1 << 15;
/// Bytes that the ratio does not count: a compressed buffer may be empty but for its frame.
const SLACK: u64 = 1 << 10;
/// Stands in front of each compressed buffer: the length of what was compressed.
const PREFIX_BYTES: u64 = 8;

/// Reads the description of a message.
pub fn message(head: &[u8]) -> Option<Message<'_>> {
    let options = flatbuffers::VerifierOptions {
        max_depth: MAX_DEPTH,
        max_tables: MAX_TABLES,
        max_apparent_size: MAX_APPARENT_BYTES,
        ignore_missing_null_terminator: false,
    };
    arrow_ipc::root_as_message_with_opts(&options, head).ok()
}

/// The bytes that the columns at `places` of a batch take when they are decoded, beside the body.
///
/// # Errors
/// What the batch says that its body does not hold.
pub fn decoded_bytes(
    batch: RecordBatch<'_>,
    version: MetadataVersion,
    schema: &Schema,
    places: &[usize],
    body: &[u8],
) -> Result<u64, String> {
    let buffers = batch.buffers().ok_or("it lists no buffers")?;
    let mut counts = batch.variadicBufferCounts().into_iter().flatten();
    let mut sum = 0u64;
    let mut next = 0usize;
    for (place, field) in schema.fields().iter().enumerate() {
        let first = next;
        next = field_buffers(field.data_type(), version, &mut counts)
            .and_then(|count| first.checked_add(count))
            .filter(|&next| next <= buffers.len())
            .ok_or_else(|| {
                let (name, there) = (field.name().escape_debug(), buffers.len());
                format!("column \"{name}\" has more buffers than the {there} that are listed")
            })?;
        if !places.contains(&place) {
            continue;
        }
        for index in first..next {
            let buffer = buffers.get(index);
            let bytes = range(buffer.offset(), buffer.length(), body)?;
            if let Some(compression) = batch.compression() {
                sum = sum.saturating_add(stated(bytes, compression.codec())?);
            }
        }
    }
    Ok(sum)
}

/// The bytes of a buffer.
fn range(offset: i64, length: i64, body: &[u8]) -> Result<&[u8], String> {
    let range = || -> Option<Range<usize>> {
        let start = usize::try_from(offset).ok()?;
        Some(start..start.checked_add(usize::try_from(length).ok()?)?)
    };
    range().and_then(|range| body.get(range)).ok_or_else(|| {
        format!("a buffer of {length} bytes at byte {offset}, in a body of {}", body.len())
    })
}

/// The length that a compressed buffer states, if it can be true.
fn stated(bytes: &[u8], codec: CompressionType) -> Result<u64, String> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let prefix = bytes.first_chunk().ok_or("a compressed buffer without its length")?;
    let stated = match i64::from_le_bytes(*prefix) {
        // It is not compressed after all, and used as it is.
        -1 => return Ok(0),
        stated => u64::try_from(stated)
            .map_err(|_| format!("a compressed buffer states {stated} bytes"))?,
    };
    let ratio = match codec {
        CompressionType::LZ4_FRAME => LZ4_RATIO,
        CompressionType::ZSTD => ZSTD_RATIO,
        _ => return Err("it is compressed in an unknown way".to_string()),
    };
    let there = bytes.len() as u64 - PREFIX_BYTES;
    if stated > there.saturating_mul(ratio).saturating_add(SLACK) {
        return Err(format!("a buffer states {stated} bytes, and has {there} compressed ones"));
    }
    Ok(stated)
}

/// The number of buffers of a field with all that is inside it, as the format lays them out.
fn field_buffers(
    data_type: &DataType,
    version: MetadataVersion,
    counts: &mut impl Iterator<Item = i64>,
) -> Option<usize> {
    let (own, inner): (usize, Vec<&DataType>) = match data_type {
        DataType::Null => (0, Vec::new()),
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
            (3, Vec::new())
        }
        DataType::BinaryView | DataType::Utf8View => {
            (usize::try_from(counts.next()?).ok()?.checked_add(2)?, Vec::new())
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            (2, vec![field.data_type()])
        }
        DataType::ListView(field) | DataType::LargeListView(field) => (3, vec![field.data_type()]),
        DataType::FixedSizeList(field, _) => (1, vec![field.data_type()]),
        DataType::Struct(fields) => (1, fields.iter().map(|field| field.data_type()).collect()),
        DataType::RunEndEncoded(ends, values) => (0, vec![ends.data_type(), values.data_type()]),
        DataType::Union(fields, mode) => {
            let nulls = usize::from(version < MetadataVersion::V5);
            let offsets = usize::from(*mode == UnionMode::Dense);
            (nulls + 1 + offsets, fields.iter().map(|(_, field)| field.data_type()).collect())
        }
        _ => (2, Vec::new()),
    };
    inner
        .into_iter()
        .try_fold(own, |sum, field| sum.checked_add(field_buffers(field, version, counts)?))
}
