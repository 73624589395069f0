//! The document of a line of JSON.

use std::borrow::Cow;
use std::fmt;

use fpstore_records::cell::{Any, Cell, Name, cause};
use fpstore_records::{RecordProblem, excerpt};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::piece::Document;
use super::reader::Wanted;

/// What an object has in the columns that are wanted; `None` for those that it does not have.
#[derive(Default)]
struct Found<'a> {
    text: Option<TextCell<'a>>,
    id: Option<Cell<'a>>,
    extra: Option<Cell<'a>>,
}

/// The text.
enum TextCell<'a> {
    /// The column is for nothing else: it need not be UTF-8.
    Bytes(Cow<'a, [u8]>),
    /// The column is the id as well, or the extra one.
    Shared(Cell<'a>),
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
    let found = found.map_err(|error| RecordProblem::Json(cause(&error, line)))?;
    let missing = |column: &String| RecordProblem::NoField { column: column.clone(), near: None };
    let not = |column: &String, found: &str, wanted| RecordProblem::Value {
        column: column.clone(),
        found: found.to_string(),
        wanted,
    };
    let text = match found.text {
        None => return Err(missing(&wanted.text)),
        Some(TextCell::Bytes(bytes)) => bytes,
        Some(TextCell::Shared(Cell::Null)) => Cow::Borrowed(&[][..]),
        Some(TextCell::Shared(Cell::Text(text))) => Cow::Owned(text.into_owned().into_bytes()),
        Some(TextCell::Shared(cell)) => return Err(not(&wanted.text, &cell.to_string(), "text")),
    };
    let id = match (&wanted.id, found.id.map(Cell::into_text)) {
        (None, _) => Cow::Owned(place()),
        (Some(column), None) => return Err(missing(column)),
        (Some(_), Some(Ok(Some(id)))) => id,
        (Some(column), Some(Ok(None))) => {
            return Err(RecordProblem::Null { column: column.clone() });
        }
        (Some(column), Some(Err(found))) => {
            return Err(not(column, found, "id, which is a string or a number"));
        }
    };
    let extra = match (&wanted.extra, found.extra.map(Cell::into_text)) {
        (Some(column), Some(Err(found))) => return Err(not(column, found, "string or number")),
        (Some(_), Some(Ok(extra))) => extra,
        _ => None,
    };
    Ok(Document { text, id, extra })
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
        while let Some(key) = map.next_key_seed(Name)? {
            let is = |column: &String| *key == *column.as_bytes();
            let is_text = is(text);
            let is_id = id.as_ref().is_some_and(is);
            let is_extra = extra.as_ref().is_some_and(is);
            if !is_text && !is_id && !is_extra {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            // Texts need not be UTF-8; what else one column is for does.
            let twice = if !is_id && !is_extra {
                let text = map.next_value_seed(Text)?;
                found.text.replace(TextCell::Bytes(text)).is_some()
            } else {
                let cell = map.next_value_seed(Any)?;
                let mut twice = is_id && found.id.replace(cell.clone()).is_some();
                twice |= is_extra && found.extra.replace(cell.clone()).is_some();
                twice | (is_text && found.text.replace(TextCell::Shared(cell)).is_some())
            };
            if twice {
                return Err(de::Error::custom(format!(
                    "\"{}\" twice",
                    excerpt(&key).escape_debug()
                )));
            }
        }
        Ok(found)
    }
}

/// Takes a text, which need not be UTF-8; null is an empty one.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, [u8]>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(&[]))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(bytes))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(bytes.to_vec()))
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
