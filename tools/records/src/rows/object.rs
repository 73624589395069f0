//! The fields of an object of JSON that are wanted.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::want::{Kind, Want};
use crate::cell::{Any, Cell, Name, Row, cause};
use crate::detect::excerpt;
use crate::error::RecordProblem;

/// Takes the wanted fields of a line, in the order of `wants`; the others are passed over.
pub fn cells<'a>(
    line: &'a [u8],
    wants: &[Want],
    cells: &mut Vec<Cell<'a>>,
) -> Result<(), RecordProblem> {
    cells.clear();
    cells.resize(wants.len(), Cell::Missing);
    let mut parser = serde_json::Deserializer::from_slice(line);
    let parsed = Object(wants, cells).deserialize(&mut parser).and_then(|()| parser.end());
    parsed.map_err(|error| RecordProblem::Json(cause(&error, line)))
}

/// The names of the fields of a line; none of one that is no object.
pub fn names(line: &[u8]) -> Vec<String> {
    let fields = serde_json::from_slice(line).map_or(Vec::new(), |Row(fields)| fields);
    fields.into_iter().map(|(name, _)| name).collect()
}

struct Object<'w, 'c, 'a>(&'w [Want], &'c mut [Cell<'a>]);

impl<'de> DeserializeSeed<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(wants, cells) = self;
        while let Some(key) = map.next_key_seed(Name)? {
            let is =
                |want: &Want| want.name.as_deref().is_some_and(|name| name.as_bytes() == &*key);
            let Some(first) = wants.iter().position(is) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // Texts need not be UTF-8; what else one field is for does.
            let others = || (first + 1..wants.len()).filter(|&other| is(&wants[other]));
            let cell = match wants[first].kind == Kind::Text && others().next().is_none() {
                true => map.next_value_seed(Text)?,
                false => map.next_value_seed(Any)?,
            };
            if !matches!(cells[first], Cell::Missing) {
                let key = excerpt(&key);
                return Err(de::Error::custom(format!("\"{}\" twice", key.escape_debug())));
            }
            for other in others() {
                cells[other] = cell.clone();
            }
            cells[first] = cell;
        }
        Ok(())
    }
}

/// Takes a text, which need not be UTF-8, or nothing.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cell<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cell::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cell::Bytes(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cell::Bytes(Cow::Owned(bytes.to_vec())))
    }
}
