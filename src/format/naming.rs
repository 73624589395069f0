//! What ids are, where they are no numbers: two fields of the STORE section.

use super::Defect;
use crate::error::{Corruption, Unsupported};
use crate::id::IdKind;

const NUMBERS: u16 = 0;
const TEXT: u16 = 1;
const UUID: u16 = 2;
const NUMBER_128: u16 = 3;
const BYTES: u16 = 4;

/// name_kind and name_bytes.
pub(super) fn encode_names(kind: Option<IdKind>) -> (u16, u16) {
    match kind {
        None | Some(IdKind::Number) => (NUMBERS, 0),
        Some(IdKind::Text) => (TEXT, 0),
        Some(IdKind::Uuid) => (UUID, 16),
        Some(IdKind::Number128) => (NUMBER_128, 16),
        Some(IdKind::Bytes(width)) => (BYTES, width),
    }
}

/// What ids are by name_kind and name_bytes, which stand at `at`; `None` for numbers.
pub(super) fn decode_names((code, width): (u16, u16), at: usize) -> Result<Option<IdKind>, Defect> {
    let kind = match code {
        NUMBERS => None,
        TEXT => Some(IdKind::Text),
        UUID => Some(IdKind::Uuid),
        NUMBER_128 => Some(IdKind::Number128),
        BYTES => Some(IdKind::Bytes(width)),
        _ => return Err(Defect::unsupported(at, Unsupported::NameKind { found: code })),
    };
    let expected = kind.and_then(|kind| kind.width()).unwrap_or(0);
    if usize::from(width) != expected || kind == Some(IdKind::Bytes(0)) {
        return Err(Defect::corrupt(at, Corruption::NameBytes { kind: code, found: width }));
    }
    Ok(kind)
}
