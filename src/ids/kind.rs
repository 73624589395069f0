//! Whether a store can have an id.

use crate::error::{Error, Result};
use crate::id::{IdKind, IdRef, MOST_NAME_BYTES};

/// Checks that an id is of the kind of a store and can be stored.
///
/// # Errors
///
/// [`Error::IdKinds`], [`Error::Name`].
pub(crate) fn check_kind(kind: IdKind, id: IdRef<'_>) -> Result<()> {
    let name = |bytes: usize, fits: bool| {
        if fits { Ok(()) } else { Err(Error::Name { bytes, kind }) }
    };
    match (kind, id) {
        (IdKind::Number, IdRef::Number(_))
        | (IdKind::Uuid, IdRef::Uuid(_))
        | (IdKind::Number128, IdRef::Number128(_)) => Ok(()),
        (IdKind::Text, IdRef::Text(text)) => name(text.len(), text.len() <= MOST_NAME_BYTES),
        (IdKind::Bytes(width), IdRef::Bytes(bytes)) => {
            name(bytes.len(), bytes.len() == usize::from(width))
        }
        _ => Err(Error::IdKinds { stored: kind, other: id.kind() }),
    }
}
