//! Values of rows, as far as they can be texts, fingerprints or ids, borrowed where they can be.
//! Numbers stay the digits of the file: none becomes a float on the way.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A value of a row.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// The row has no such column.
    Missing,
    /// Nothing.
    Null,
    /// A whole number from 0 on of up to 64 bits.
    Number(u64),
    /// Another whole number of up to 64 bits.
    Negative(i64),
    /// A whole number of a column of 128 bits.
    Wide(i128),
    /// A string.
    Text(Cow<'a, str>),
    /// A text that need not be UTF-8.
    Bytes(Cow<'a, [u8]>),
    /// The bytes of a binary column.
    Binary(&'a [u8]),
    /// Another number, true or false, as it stands in the file.
    Plain(Cow<'a, str>),
    /// An array, as it stands in the file.
    List(Cow<'a, str>),
    /// What is no value of a column, by that name.
    Other(&'static str),
}

impl<'a> Cell<'a> {
    /// The value that is written so.
    pub fn of(text: &'a str) -> Self {
        match text.as_bytes() {
            b"null" => Cell::Null,
            [b'"', ..] => string(text),
            [b'[', ..] => Cell::List(Cow::Borrowed(text)),
            [b'{', ..] => Cell::Other("an object"),
            [b'-', ..] => match text.parse() {
                // Two texts of one number would become one.
                Ok(number) if number < 0 => Cell::Negative(number),
                _ => Cell::Plain(Cow::Borrowed(text)),
            },
            _ => text.parse().map_or(Cell::Plain(Cow::Borrowed(text)), Cell::Number),
        }
    }

    /// The text, or the number, true or false as it stands in the file; `None` for null.
    ///
    /// # Errors
    /// What is none of these, by its name.
    pub fn into_text(self) -> Result<Option<Cow<'a, str>>, &'static str> {
        match self {
            Cell::Missing | Cell::Null => Ok(None),
            Cell::Text(text) | Cell::Plain(text) => Ok(Some(text)),
            Cell::Bytes(Cow::Borrowed(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(Cow::Borrowed(text))),
                Err(_) => Err(NO_UTF8),
            },
            Cell::Bytes(Cow::Owned(bytes)) => {
                String::from_utf8(bytes).map(|text| Some(text.into())).map_err(|_| NO_UTF8)
            }
            Cell::Binary(_) => Err("a value of bytes"),
            Cell::List(_) => Err("an array"),
            Cell::Other(name) => Err(name),
            Cell::Number(_) | Cell::Negative(_) | Cell::Wide(_) => {
                Ok(Some(self.to_string().into()))
            }
        }
    }

    /// The same value, borrowed from this one.
    pub fn borrowed(&self) -> Cell<'_> {
        match self {
            Cell::Text(text) => Cell::Text(Cow::Borrowed(text)),
            Cell::Bytes(bytes) => Cell::Bytes(Cow::Borrowed(bytes)),
            Cell::Plain(text) => Cell::Plain(Cow::Borrowed(text)),
            Cell::List(text) => Cell::List(Cow::Borrowed(text)),
            other => other.clone(),
        }
    }

    /// The bytes of a text, whatever they are.
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Cell::Text(text) => Some(text.as_bytes()),
            Cell::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// What is told of a text that is none.
const NO_UTF8: &str = "text that is no UTF-8";

/// The text of a string with its quotes.
fn string(quoted: &str) -> Cell<'_> {
    let inner = &quoted[1..quoted.len() - 1];
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cell::Text(Cow::Borrowed(inner));
    }
    match serde_json::from_str(quoted) {
        Ok(text) => Cell::Text(Cow::Owned(text)),
        // The string is whole, so that nothing else can be wrong with it.
        Err(_) => Cell::Other("a string with half of a pair of surrogates (\\ud83d)"),
    }
}

/// As it is told in a message.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Missing => f.write_str("nothing"),
            Cell::Null => f.write_str("null"),
            Cell::Bytes(bytes) => write!(f, "{}", String::from_utf8_lossy(bytes)),
            Cell::Binary(bytes) => write!(f, "a value of {} bytes", bytes.len()),
            Cell::List(_) => f.write_str("an array"),
            Cell::Number(number) => write!(f, "{number}"),
            Cell::Negative(number) => write!(f, "{number}"),
            Cell::Wide(number) => write!(f, "{number}"),
            Cell::Text(text) | Cell::Plain(text) => f.write_str(text),
            Cell::Other(name) => f.write_str(name),
        }
    }
}

/// Takes a string: the name of a field, which need not be UTF-8.
pub struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, [u8]>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E: de::Error>(self, name: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_bytes<E: de::Error>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_vec()))
    }
}

/// Takes a value of any type.
pub struct Any;

impl<'de> DeserializeSeed<'de> for Any {
    type Value = Cell<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        <&RawValue>::deserialize(from).map(|raw| Cell::of(raw.get()))
    }
}

/// The fields of an object and their values, in order.
pub struct Row<'a>(pub Vec<(String, Cell<'a>)>);

impl<'de> Deserialize<'de> for Row<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Cells;

        impl<'de> Visitor<'de> for Cells {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut cells = Vec::new();
                while let Some(name) = map.next_key_seed(Name)? {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    cells.push((name, map.next_value_seed(Any)?));
                }
                Ok(Row(cells))
            }
        }

        from.deserialize_map(Cells)
    }
}

/// What is wrong with a line, as the parser says it; what Python writes by default is called by its
/// name.
pub fn cause(error: &serde_json::Error, line: &[u8]) -> String {
    let text = error.to_string();
    let cause = text.split(" at line ").next().unwrap_or_default();
    let at = error.column();
    let rest = line.get(at.saturating_sub(1)..).unwrap_or_default();
    match [&b"NaN"[..], b"Infinity"].iter().find(|word| rest.starts_with(word)) {
        _ if at == 0 => cause.to_string(),
        None => format!("{cause} at byte {at}"),
        Some(word) => {
            let word = String::from_utf8_lossy(word);
            format!("{word} at byte {at} is no value of JSON, write null instead")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<(String, Result<Option<String>, &'static str>)> {
        let row: Row<'_> = serde_json::from_str(line).unwrap();
        let text = |cell: Cell<'_>| cell.into_text().map(|text| text.map(Cow::into_owned));
        row.0.into_iter().map(|(name, cell)| (name, text(cell))).collect()
    }

    #[test]
    fn numbers_are_the_digits_of_the_file() {
        for text in [
            "0",
            "-0",
            "7",
            "7.0",
            "-7",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "12345678901234567890124",
            "6.391326009969272e18",
            "1e3",
            "true",
        ] {
            let found = texts(&format!("{{\"a\": {text} }}"));
            assert_eq!(found, [("a".to_string(), Ok(Some(text.to_string())))]);
        }
    }

    #[test]
    fn strings_are_decoded_unless_they_are_no_text() {
        let half = Err("a string with half of a pair of surrogates (\\ud83d)");
        for (text, found) in [
            (r#""a \"b\" \u00e9 \ud83d\ude00""#, Ok(Some("a \"b\" é 😀".to_string()))),
            (r#""""#, Ok(Some(String::new()))),
            (r#""a \ud83d""#, half.clone()),
            (r#""\ude00 b""#, half),
            ("null", Ok(None)),
            ("[1, [2]]", Err("an array")),
            ("{\"b\":1}", Err("an object")),
        ] {
            assert_eq!(texts(&format!("{{\"\\ud83d\":1,\"a\":{text}}}"))[1].1, found, "{text}");
        }
    }
}
