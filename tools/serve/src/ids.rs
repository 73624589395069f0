//! Ids as JSON has them. All are strings, so that no digit is lost where numbers are floating
//! point; numbers up to 2^64 - 1 are taken as well.

use fpstore::{Id, IdKind, IdRef};
use serde::Deserialize;

use crate::refused::Refused;

/// An id in a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum IdJson {
    Number(u64),
    /// Such as 3.0, which JSON Schema calls whole.
    Floating(f64),
    Text(String),
}

/// What ids are, in a word.
pub fn kind_name(kind: Option<IdKind>) -> &'static str {
    match kind {
        None => "none",
        Some(IdKind::Number) => "number",
        Some(IdKind::Text) => "text",
        Some(IdKind::Uuid) => "uuid",
        Some(IdKind::Number128) => "number128",
        Some(IdKind::Bytes(_)) => "bytes",
        Some(_) => "other",
    }
}

/// The bytes of hexadecimal digits, two for each.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// A whole number, without a sign.
fn decimal<T: std::str::FromStr>(text: &str) -> Option<T> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

fn of_text(text: &str, kind: IdKind) -> Option<Id> {
    match kind {
        IdKind::Number => decimal(text).map(Id::Number),
        IdKind::Text => Some(Id::Text(text.to_string())),
        IdKind::Uuid => fpstore_records::uuid(text).map(Id::Uuid),
        IdKind::Number128 => decimal(text).map(Id::Number128),
        IdKind::Bytes(width) => {
            from_hex(text).filter(|bytes| bytes.len() == usize::from(width)).map(Id::Bytes)
        }
        _ => None,
    }
}

/// The id that a text is in a store whose ids are of this kind.
///
/// # Errors
///
/// 400 where it is none.
pub fn parse(text: &str, kind: IdKind) -> Result<Id, Refused> {
    of_text(text, kind).ok_or_else(|| {
        let start: String = text.chars().take(40).collect();
        let wanted = match kind {
            IdKind::Number => "a whole number up to 2^64 - 1 in decimal digits",
            IdKind::Uuid => "a UUID, such as 123e4567-e89b-12d3-a456-426614174000",
            IdKind::Number128 => "a whole number up to 2^128 - 1 in decimal digits",
            _ => "a key in hexadecimal digits",
        };
        Refused::invalid(format!("{start:?} is no id of this store: ids are {kind}; give {wanted}"))
    })
}

impl IdJson {
    /// # Errors
    ///
    /// 400 where it is no id of this kind.
    pub fn to_id(&self, kind: IdKind) -> Result<Id, Refused> {
        match (self, kind) {
            (Self::Number(number), IdKind::Number) => Ok(Id::Number(*number)),
            (Self::Number(number), IdKind::Number128) => Ok(Id::Number128((*number).into())),
            // Up to here all are exact.
            (Self::Floating(number), IdKind::Number | IdKind::Number128)
                if number.fract() == 0.0 && (0.0..(1u64 << 53) as f64).contains(number) =>
            {
                Self::Number(*number as u64).to_id(kind)
            }
            (Self::Floating(_), IdKind::Number | IdKind::Number128) => Err(Refused::invalid(
                "an id that is no whole number below 2^53; write it with all its digits, as a string",
            )),
            (Self::Number(_) | Self::Floating(_), _) => {
                Err(Refused::invalid(format!("ids of this store are {kind}; give a string")))
            }
            (Self::Text(text), kind) => parse(text, kind),
        }
    }
}

/// The id as JSON gives it.
pub fn text_of(id: IdRef<'_>) -> String {
    id.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_taken_and_gives_the_same_id() {
        let kinds = [
            (Id::Number(u64::MAX), "18446744073709551615"),
            (Id::Number((1 << 53) + 1), "9007199254740993"),
            (Id::Text("ü \"<b>\" \n".to_string()), "ü \"<b>\" \n"),
            (Id::Text(String::new()), ""),
            (Id::Number128(u128::MAX), "340282366920938463463374607431768211455"),
            (Id::Uuid([0x12; 16]), "12121212-1212-1212-1212-121212121212"),
            (Id::Bytes(vec![0, 255, 16]), "00ff10"),
        ];
        for (id, text) in kinds {
            assert_eq!(text_of(id.as_ref()), text);
            let json = serde_json::to_string(text).unwrap();
            let given: IdJson = serde_json::from_str(&json).unwrap();
            assert_eq!(given.to_id(id.as_ref().kind()).unwrap(), id);
        }
    }

    #[test]
    fn numbers_keep_all_digits_and_nothing_else_is_one() {
        let id = |json: &str, kind| {
            serde_json::from_str::<IdJson>(json).ok().and_then(|id| id.to_id(kind).ok())
        };
        let number = IdKind::Number;
        assert_eq!(id("9007199254740993", number), Some(Id::Number(9_007_199_254_740_993)));
        assert_eq!(id("18446744073709551615", number), Some(Id::Number(u64::MAX)));
        for json in [
            "18446744073709551616",
            "-1",
            "1.5",
            "\"-1\"",
            "\"+1\"",
            "\" 1\"",
            "\"\"",
            "\"0x1\"",
            "\"18446744073709551616\"",
            "true",
            "[1]",
            "{}",
        ] {
            assert_eq!(id(json, number), None, "{json}");
        }
        assert_eq!(id("7", IdKind::Text), None);
        assert_eq!(id("7", IdKind::Number128), Some(Id::Number128(7)));
        assert_eq!(id("\"00ff\"", IdKind::Bytes(3)), None);
    }
}
