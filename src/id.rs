//! What identifies a record: a number, or a name.

use std::borrow::Cow;
use std::fmt;

/// Most bytes of a name [NAM-9].
pub(crate) const MOST_NAME_BYTES: usize = u16::MAX as usize;

/// What the ids of a store are, all of them alike.
///
/// Numbers stand in the files of ids as they are. All others are *names*: each segment of the store
/// keeps a sorted list of those that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdKind {
    /// Integers of 64 bits.
    Number,
    /// Text in UTF-8 of up to 65,535 bytes: URLs, paths, keys of a database.
    Text,
    /// UUIDs, 16 bytes each.
    Uuid,
    /// Integers of 128 bits, 16 bytes each.
    Number128,
    /// Keys of so many bytes each, 1 to 65,535.
    Bytes(u16),
}

impl IdKind {
    /// Whether the store keeps lists of names.
    pub fn is_named(self) -> bool {
        self != Self::Number
    }

    /// Bytes of each name, if all have the same.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Self::Number | Self::Text => None,
            Self::Uuid | Self::Number128 => Some(16),
            Self::Bytes(bytes) => Some(bytes.into()),
        }
    }

    /// Whether these bytes are a name of this kind.
    pub(crate) fn admits(self, name: &[u8]) -> bool {
        match self.width() {
            Some(width) => name.len() == width,
            None => name.len() <= MOST_NAME_BYTES && std::str::from_utf8(name).is_ok(),
        }
    }

    /// The id that a name of this kind is.
    pub(crate) fn id_of(self, name: &[u8]) -> Option<IdRef<'_>> {
        let sixteen = || name.try_into().ok();
        Some(match self {
            Self::Number => return None,
            Self::Text => IdRef::Text(std::str::from_utf8(name).ok()?),
            Self::Uuid => IdRef::Uuid(sixteen()?),
            Self::Number128 => IdRef::Number128(u128::from_be_bytes(sixteen()?)),
            Self::Bytes(_) => IdRef::Bytes(name),
        })
    }
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number => f.write_str("numbers of 64 bits"),
            Self::Text => f.write_str("text"),
            Self::Uuid => f.write_str("UUIDs"),
            Self::Number128 => f.write_str("numbers of 128 bits"),
            Self::Bytes(bytes) => write!(f, "keys of {bytes} bytes"),
        }
    }
}

/// An id, borrowed: what a caller hands to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdRef<'a> {
    /// An integer of 64 bits.
    Number(u64),
    /// Text.
    Text(&'a str),
    /// A UUID, in the order of its text.
    Uuid([u8; 16]),
    /// An integer of 128 bits.
    Number128(u128),
    /// A key.
    Bytes(&'a [u8]),
}

impl<'a> IdRef<'a> {
    /// What kind of store it can be an id of.
    pub fn kind(&self) -> IdKind {
        match self {
            Self::Number(_) => IdKind::Number,
            Self::Text(_) => IdKind::Text,
            Self::Uuid(_) => IdKind::Uuid,
            Self::Number128(_) => IdKind::Number128,
            // Longer ones are refused where they are written.
            Self::Bytes(bytes) => IdKind::Bytes(u16::try_from(bytes.len()).unwrap_or(0)),
        }
    }

    /// The number, or 0 of a name.
    pub(crate) fn number(&self) -> u64 {
        if let Self::Number(number) = *self { number } else { 0 }
    }

    /// Its bytes in a list of names, whose order is that of the ids; none of a number.
    pub(crate) fn name(&self) -> Cow<'a, [u8]> {
        match *self {
            Self::Number(_) => Cow::Borrowed(&[]),
            Self::Text(text) => Cow::Borrowed(text.as_bytes()),
            Self::Uuid(bytes) => Cow::Owned(bytes.to_vec()),
            Self::Number128(number) => Cow::Owned(number.to_be_bytes().to_vec()),
            Self::Bytes(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// The same, owned.
    pub fn to_id(&self) -> Id {
        match *self {
            Self::Number(number) => Id::Number(number),
            Self::Text(text) => Id::Text(text.to_string()),
            Self::Uuid(bytes) => Id::Uuid(bytes),
            Self::Number128(number) => Id::Number128(number),
            Self::Bytes(bytes) => Id::Bytes(bytes.to_vec()),
        }
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Uuid(bytes) => {
                for (place, byte) in bytes.iter().enumerate() {
                    let hyphen = if [4, 6, 8, 10].contains(&place) { "-" } else { "" };
                    write!(f, "{hyphen}{byte:02x}")?;
                }
                Ok(())
            }
            Self::Number128(number) => write!(f, "{number}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// An id, owned: what a store gives to a caller who takes ids of any kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// An integer of 64 bits.
    Number(u64),
    /// Text.
    Text(String),
    /// A UUID, in the order of its text.
    Uuid([u8; 16]),
    /// An integer of 128 bits.
    Number128(u128),
    /// A key.
    Bytes(Vec<u8>),
}

impl Id {
    /// The same, borrowed.
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Self::Number(number) => IdRef::Number(*number),
            Self::Text(text) => IdRef::Text(text),
            Self::Uuid(bytes) => IdRef::Uuid(*bytes),
            Self::Number128(number) => IdRef::Number128(*number),
            Self::Bytes(bytes) => IdRef::Bytes(bytes),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// What a caller can identify a record by: `u64` in a store of numbers, `&str` and `String` in one
/// of text, `&[u8]` for keys, [`IdRef`] and [`Id`] for all others and where the kind is known at
/// run time alone, and `()` or `None` in a store without ids.
pub trait AsId {
    /// The id, if there is one.
    fn as_id(&self) -> Option<IdRef<'_>>;
}

/// Implements [`AsId`] for types of which each value is an id.
macro_rules! as_id {
    ($($type:ty: $this:ident => $id:expr;)*) => {$(
        impl AsId for $type {
            #[inline]
            fn as_id(&self) -> Option<IdRef<'_>> {
                let $this = self;
                Some($id)
            }
        }
    )*};
}

as_id! {
    u64: number => IdRef::Number(*number);
    str: text => IdRef::Text(text);
    String: text => IdRef::Text(text);
    [u8]: bytes => IdRef::Bytes(bytes);
    Vec<u8>: bytes => IdRef::Bytes(bytes);
    IdRef<'_>: id => *id;
    Id: id => id.as_ref();
}

impl AsId for () {
    fn as_id(&self) -> Option<IdRef<'_>> {
        None
    }
}

impl<I: AsId> AsId for Option<I> {
    #[inline]
    fn as_id(&self) -> Option<IdRef<'_>> {
        self.as_ref().and_then(I::as_id)
    }
}

impl<I: AsId + ?Sized> AsId for &I {
    #[inline]
    fn as_id(&self) -> Option<IdRef<'_>> {
        (**self).as_id()
    }
}

/// What a caller can take ids as: `u64` from a store of numbers, `String` from one of text, `u128`
/// for numbers of 128 bits, `Vec<u8>` for the bytes of any name, and [`Id`] from every store.
pub trait FromId: Sized {
    /// Whether ids of this kind can be taken.
    fn takes(kind: IdKind) -> bool;

    /// A kind that can be taken, for messages.
    fn wanted() -> IdKind;

    /// The id, of a kind that can be taken.
    fn from_id(id: IdRef<'_>) -> Option<Self>;
}

impl FromId for u64 {
    fn wanted() -> IdKind {
        IdKind::Number
    }

    fn takes(kind: IdKind) -> bool {
        kind == IdKind::Number
    }

    #[inline]
    fn from_id(id: IdRef<'_>) -> Option<Self> {
        if let IdRef::Number(number) = id { Some(number) } else { None }
    }
}

impl FromId for u128 {
    fn wanted() -> IdKind {
        IdKind::Number128
    }

    fn takes(kind: IdKind) -> bool {
        matches!(kind, IdKind::Number | IdKind::Number128)
    }

    fn from_id(id: IdRef<'_>) -> Option<Self> {
        match id {
            IdRef::Number(number) => Some(number.into()),
            IdRef::Number128(number) => Some(number),
            _ => None,
        }
    }
}

impl FromId for String {
    fn wanted() -> IdKind {
        IdKind::Text
    }

    fn takes(kind: IdKind) -> bool {
        kind == IdKind::Text
    }

    fn from_id(id: IdRef<'_>) -> Option<Self> {
        if let IdRef::Text(text) = id { Some(text.to_string()) } else { None }
    }
}

impl FromId for Vec<u8> {
    fn wanted() -> IdKind {
        IdKind::Text
    }

    fn takes(kind: IdKind) -> bool {
        kind.is_named()
    }

    fn from_id(id: IdRef<'_>) -> Option<Self> {
        (!matches!(id, IdRef::Number(_))).then(|| id.name().into_owned())
    }
}

impl FromId for Id {
    fn wanted() -> IdKind {
        IdKind::Text
    }

    fn takes(_: IdKind) -> bool {
        true
    }

    fn from_id(id: IdRef<'_>) -> Option<Self> {
        Some(id.to_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_people_write_them_and_come_back() {
        let uuid = *b"\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\x00";
        let cases = [
            (IdRef::Number(7), "7"),
            (IdRef::Text("https://a.example/"), "https://a.example/"),
            (IdRef::Uuid(uuid), "123e4567-e89b-12d3-a456-426614174000"),
            (IdRef::Number128(1 << 100), "1267650600228229401496703205376"),
            (IdRef::Bytes(&[0, 255]), "00ff"),
        ];
        for (id, text) in cases {
            assert_eq!((id.to_string(), id.to_id().to_string()), (text.into(), text.into()));
            assert_eq!(id.to_id().as_id(), Some(id));
            assert_eq!(Id::from_id(id), Some(id.to_id()));
            let kind = id.kind();
            if kind.is_named() {
                assert!(kind.admits(&id.name()));
                assert_eq!(kind.id_of(&id.name()).map(|id| id.to_id()), Some(id.to_id()));
            }
        }
        assert!(!IdKind::Text.admits(b"\xff") && !IdKind::Uuid.admits(b"short"));
    }
}
