//! The document of a line of JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::piece::Document;
use super::reader::Wanted;
use crate::input::RecordProblem;

/// What an object has in the columns that are wanted; `None` for those that it does not have.
#[derive(Default)]
struct Found<'a> {
    text: Option<Value<'a>>,
    id: Option<Value<'a>>,
    extra: Option<Value<'a>>,
}

/// A value.
enum Value<'a> {
    Null,
    Bytes(Cow<'a, [u8]>),
    Text(Cow<'a, str>),
    /// A number, or true or false, as it is printed.
    Plain(String),
    /// Something that can be no text, by its name.
    Other(&'static str),
}

/// The document of a line; `place` is the id of one that has none.
pub fn document<'a>(
    line: &'a [u8],
    wanted: &Wanted,
    place: impl FnOnce() -> String,
) -> Result<Document<'a>, RecordProblem> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    let found = Object(wanted).deserialize(&mut parser).and_then(|found| {
        parser.end()?;
        Ok(found)
    });
    let found = found.map_err(|error| RecordProblem::Json(of_line(&error.to_string())))?;
    let missing = |column: &String| RecordProblem::NoField { column: column.clone(), near: None };
    let not = |column: &String, found: &str, wanted| RecordProblem::Value {
        column: column.clone(),
        found: found.to_string(),
        wanted,
    };
    let text = match found.text {
        None => return Err(missing(&wanted.text)),
        Some(Value::Null) => Cow::Borrowed(&[][..]),
        Some(Value::Bytes(bytes)) => bytes,
        Some(Value::Text(text)) => Cow::Owned(text.into_owned().into_bytes()),
        Some(Value::Plain(found)) => return Err(not(&wanted.text, &found, "text")),
        Some(Value::Other(found)) => return Err(not(&wanted.text, found, "text")),
    };
    let id = match (&wanted.id, found.id) {
        (None, _) => Cow::Owned(place()),
        (Some(column), None) => return Err(missing(column)),
        (Some(_), Some(Value::Text(id))) => id,
        (Some(_), Some(Value::Plain(id))) => Cow::Owned(id),
        (Some(column), Some(Value::Other(found))) => {
            return Err(not(column, found, "id, which is a string or a number"));
        }
        (Some(column), Some(Value::Null | Value::Bytes(_))) => {
            return Err(RecordProblem::Null { column: column.clone() });
        }
    };
    let extra = match (found.extra, &wanted.extra) {
        (Some(Value::Text(extra)), _) => Some(extra),
        (Some(Value::Plain(extra)), _) => Some(Cow::Owned(extra)),
        (Some(Value::Other(found)), Some(column)) => {
            return Err(not(column, found, "string or number"));
        }
        _ => None,
    };
    Ok(Document { text, id, extra })
}

/// The words of the parser, which counts the line as the only one.
fn of_line(cause: &str) -> String {
    cause.replace("at line 1 column", "at byte")
}

struct Object<'w>(&'w Wanted);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Wanted { text, id, extra } = self.0;
        let mut found = Found::default();
        while let Some(key) = map.next_key_seed(Key)? {
            let key = &*key;
            let is_text = key == text;
            let is_id = id.as_deref() == Some(key);
            let is_extra = extra.as_deref() == Some(key);
            if !is_text && !is_id && !is_extra {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            // Texts need not be UTF-8; what else one column is for does.
            let value = match is_text && !is_id && !is_extra {
                true => map.next_value_seed(Text)?,
                false => map.next_value_seed(Any)?,
            };
            let copy = |value: &Value<'de>| match value {
                Value::Null | Value::Bytes(_) => Value::Null,
                Value::Text(text) => Value::Text(text.clone()),
                Value::Plain(text) => Value::Plain(text.clone()),
                Value::Other(name) => Value::Other(name),
            };
            let mut twice = is_id && found.id.replace(copy(&value)).is_some();
            twice |= is_extra && found.extra.replace(copy(&value)).is_some();
            twice |= is_text && found.text.replace(value).is_some();
            if twice {
                return Err(de::Error::custom(format!("\"{}\" twice", key.escape_debug())));
            }
        }
        Ok(found)
    }
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
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

/// A text or null; what the text has need not be UTF-8.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Value::Bytes(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Value::Bytes(Cow::Owned(bytes.to_vec())))
    }
}

/// A value of any type.
struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Plain(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Plain(number.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Plain(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Plain(number.to_string()))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("an object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(id: Option<&str>, extra: Option<&str>) -> Wanted {
        Wanted { text: "text".into(), id: id.map(Into::into), extra: extra.map(Into::into) }
    }

    fn parsed(line: &[u8]) -> (Vec<u8>, String, Option<String>) {
        let wanted = wanted(Some("id"), Some("rank"));
        let document = document(line, &wanted, || unreachable!()).unwrap();
        (document.text.into(), document.id.into(), document.extra.map(Into::into))
    }

    #[test]
    fn values_are_found_wherever_they_stand() {
        let (text, id, extra) =
            parsed(br#"{"rank":2.5,"more":{"text":"no"},"id":17,"text":"a \u00e9"}"#);
        assert_eq!((&text[..], &id[..], extra.as_deref()), ("a é".as_bytes(), "17", Some("2.5")));
        let (text, id, extra) = parsed(br#" {"id":"x","text":null} "#);
        assert_eq!((&text[..], &id[..], extra), (&b""[..], "x", None));
    }

    #[test]
    fn texts_need_not_be_utf8() {
        assert_eq!(parsed(b"{\"id\":1,\"text\":\"a\xff\"}").0, b"a\xff");
        // Half of a pair of surrogates, as some crawls have.
        assert_eq!(parsed(br#"{"id":1,"text":"\ud83d"}"#).0, b"\xed\xa0\xbd");
    }

    #[test]
    fn what_is_no_document_says_why() {
        for (line, cause) in [
            (r#"{"id":1}"#, "column \"text\": is missing"),
            (r#"{"text":"a"}"#, "column \"id\": is missing"),
            (r#"{"id":null,"text":"a"}"#, "column \"id\": is null"),
            (r#"{"id":[],"text":"a"}"#, "column \"id\": an array is no id"),
            (r#"{"id":1,"text":5}"#, "invalid type: integer `5`, expected a text"),
            (r#"{"id":1,"text":"a","text":"b"}"#, "\"text\" twice"),
            (r#"{"id":1,"text":"a""#, "no JSON object: EOF"),
            (r#"{"id":1,"text":"a"} x"#, "trailing characters at byte 21"),
            ("[1]", "invalid type: sequence, expected an object"),
        ] {
            let wanted = wanted(Some("id"), None);
            let problem = document(line.as_bytes(), &wanted, String::new).unwrap_err();
            assert!(problem.to_string().contains(cause), "{line}: {problem}");
        }
    }
}
