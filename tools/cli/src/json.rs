//! Values in objects of JSON, of which only some are wanted: names and values are borrowed from the line where they
//! can be, everything else is passed over.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value of a field, as far as it can be a text, a fingerprint or an id.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    Null,
    Number(u64),
    Negative(i64),
    Text(Cow<'a, str>),
    /// Another number, true or false, as it is printed.
    Plain(String),
    /// An array or an object, by that name.
    Nested(&'static str),
}

impl<'a> Cell<'a> {
    /// The text, or the number, true or false as it is printed; `None` for null.
    ///
    /// # Errors
    /// What is nested, by its name.
    pub fn into_text(self) -> Result<Option<Cow<'a, str>>, &'static str> {
        match self {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            Cell::Nested(name) => Err(name),
            Cell::Number(_) | Cell::Negative(_) | Cell::Plain(_) => {
                Ok(Some(self.to_string().into()))
            }
        }
    }

    /// The same, borrowed from nothing.
    pub fn into_owned(self) -> Cell<'static> {
        match self {
            Cell::Null => Cell::Null,
            Cell::Number(number) => Cell::Number(number),
            Cell::Negative(number) => Cell::Negative(number),
            Cell::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
            Cell::Plain(printed) => Cell::Plain(printed),
            Cell::Nested(name) => Cell::Nested(name),
        }
    }
}

/// As it is told in a message.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Null => f.write_str("null"),
            Cell::Number(number) => write!(f, "{number}"),
            Cell::Negative(number) => write!(f, "{number}"),
            Cell::Text(text) => f.write_str(text),
            Cell::Plain(printed) => f.write_str(printed),
            Cell::Nested(name) => f.write_str(name),
        }
    }
}

/// Takes a string: the name of a field.
pub struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_string()))
    }
}

/// Takes a value of any type.
pub struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Cell<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cell::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Cell::Plain(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cell::Number(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cell::Negative(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cell::Plain(number.to_string()))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Owned(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::Nested("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cell::Nested("an object"))
    }
}
