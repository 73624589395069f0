//! Ids, as C has them.

use fpstore::{Id, IdKind, IdRef};

use crate::error::{Failure, Result};
use crate::input;

/// There are no ids.
pub const FPS_ID_NONE: u32 = 0;
/// Integers of 64 bits.
pub const FPS_ID_NUMBER: u32 = 1;
/// Text in UTF-8 of up to 65,535 bytes.
pub const FPS_ID_TEXT: u32 = 2;
/// UUIDs: 16 bytes, in the order of their text.
pub const FPS_ID_UUID: u32 = 3;
/// Integers of 128 bits: 16 bytes, the most significant first.
pub const FPS_ID_NUMBER128: u32 = 4;
/// Keys that all have the same number of bytes, 1 to 65,535.
pub const FPS_ID_BYTES: u32 = 5;

/// What identifies a record: a number, or a name. All ids of a store are of one kind.
///
/// `fps_id_number`, `fps_id_text`, `fps_id_uuid`, `fps_id_number128` and `fps_id_bytes` make one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fps_id {
    /// One of `FPS_ID_NUMBER` to `FPS_ID_BYTES`.
    pub kind: u32,
    /// The number, where that is the kind.
    pub number: u64,
    /// The bytes of a name; not looked at where the id is a number.
    pub bytes: *const u8,
    /// How many these are. Text that the library gives has a zero behind them, which does not
    /// count.
    pub length: usize,
}

impl fps_id {
    /// The id in the library.
    ///
    /// # Safety
    ///
    /// Where `bytes` is not null, `length` bytes stand there that nobody changes for `'a`.
    pub(crate) unsafe fn read<'a>(&self) -> Result<IdRef<'a>> {
        if self.kind == FPS_ID_NUMBER {
            return Ok(IdRef::Number(self.number));
        }
        let bytes = || -> Result<&'a [u8]> {
            // SAFETY: the caller vouches for it.
            unsafe { input::list(self.bytes, self.length, "bytes of an id") }
        };
        let sixteen = |what: &str| {
            <[u8; 16]>::try_from(bytes()?).map_err(|_| {
                Failure::input(format!("{what} of {} bytes, where all have 16", self.length))
            })
        };
        match self.kind {
            FPS_ID_TEXT => match std::str::from_utf8(bytes()?) {
                Ok(text) => Ok(IdRef::Text(text)),
                Err(error) => Err(Failure::input(format!(
                    "an id is no text: {error}; give UTF-8, or keys of bytes"
                ))),
            },
            FPS_ID_UUID => sixteen("a UUID").map(IdRef::Uuid),
            FPS_ID_NUMBER128 => sixteen("a number of 128 bits")
                .map(|bytes| IdRef::Number128(u128::from_be_bytes(bytes))),
            FPS_ID_BYTES => bytes().map(IdRef::Bytes),
            other => Err(Failure::input(format!(
                "an id of kind {other}; there are FPS_ID_NUMBER to FPS_ID_BYTES (1 to 5), and NULL where there is no id"
            ))),
        }
    }
}

/// An id that may be left out.
///
/// # Safety
///
/// Where the pointer is not null, an id stands there as [`fps_id::read`] wants it.
pub(crate) unsafe fn optional<'a>(id: *const fps_id) -> Result<Option<IdRef<'a>>> {
    if id.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller vouches for both.
    unsafe { input::at(id, "id")?.read() }.map(Some)
}

/// A kind by its number, and by the bytes of a key where these are keys; `None` for no ids.
pub(crate) fn kind_of(kind: u32, bytes: u32) -> Result<Option<IdKind>> {
    Ok(Some(match kind {
        FPS_ID_NONE => return Ok(None),
        FPS_ID_NUMBER => IdKind::Number,
        FPS_ID_TEXT => IdKind::Text,
        FPS_ID_UUID => IdKind::Uuid,
        FPS_ID_NUMBER128 => IdKind::Number128,
        FPS_ID_BYTES => match u16::try_from(bytes) {
            Ok(bytes) if bytes > 0 => IdKind::Bytes(bytes),
            _ => {
                return Err(Failure::input(format!(
                    "id_bytes cannot be {bytes}: keys have 1 to 65535 bytes"
                )));
            }
        },
        other => {
            return Err(Failure::input(format!(
                "id_kind cannot be {other}: there are FPS_ID_NONE to FPS_ID_BYTES, 0 to 5"
            )));
        }
    }))
}

/// The number of a kind, and the bytes of each id, 0 where these differ.
pub(crate) fn number_of(kind: Option<IdKind>) -> (u32, u32) {
    match kind {
        None => (FPS_ID_NONE, 0),
        Some(IdKind::Number) => (FPS_ID_NUMBER, 8),
        Some(IdKind::Text) => (FPS_ID_TEXT, 0),
        Some(IdKind::Uuid) => (FPS_ID_UUID, 16),
        Some(IdKind::Number128) => (FPS_ID_NUMBER128, 16),
        Some(IdKind::Bytes(bytes)) => (FPS_ID_BYTES, bytes.into()),
        // There is no other kind now.
        Some(_) => (u32::MAX, 0),
    }
}

/// An id of the library, whose name goes into `name` with a zero behind it.
pub(crate) fn write(id: Id, name: &mut Vec<u8>) -> fps_id {
    name.clear();
    let (kind, number) = match id {
        Id::Number(number) => (FPS_ID_NUMBER, number),
        Id::Text(text) => {
            name.extend_from_slice(text.as_bytes());
            (FPS_ID_TEXT, 0)
        }
        Id::Uuid(bytes) => {
            name.extend_from_slice(&bytes);
            (FPS_ID_UUID, 0)
        }
        Id::Number128(number) => {
            name.extend_from_slice(&number.to_be_bytes());
            (FPS_ID_NUMBER128, 0)
        }
        Id::Bytes(bytes) => {
            name.extend_from_slice(&bytes);
            (FPS_ID_BYTES, 0)
        }
    };
    let length = name.len();
    name.push(0);
    fps_id { kind, number, bytes: name.as_ptr(), length }
}
