//! The one grammar of TSV, which is written and read again: fields are separated by tabs and rows
//! by line ends, nothing quotes, and a backslash stands before what would separate. `\t`, `\n`,
//! `\r`, `\,` and `\\` are a tab, a line feed, a carriage return, a comma in a list of ids, and a
//! backslash; before anything else a backslash is itself.

use std::borrow::Cow;

use csv::ByteRecord;

/// Appends a string in which nothing separates fields, ids or rows.
pub fn push_escaped(to: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'\t' => to.extend_from_slice(b"\\t"),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            b',' => to.extend_from_slice(b"\\,"),
            b'\\' => to.extend_from_slice(b"\\\\"),
            _ => to.push(byte),
        }
    }
}

/// The text of a field.
pub fn unescaped(field: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', field).is_none() {
        return Cow::Borrowed(field);
    }
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = bytes.peek().filter(|_| byte == b'\\').and_then(|&next| escaped(next));
        text.push(escaped.unwrap_or(byte));
        if escaped.is_some() {
            bytes.next();
        }
    }
    Cow::Owned(text)
}

/// What a backslash before this byte means.
fn escaped(byte: u8) -> Option<u8> {
    match byte {
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b',' | b'\\' => Some(byte),
        _ => None,
    }
}

/// Takes the escapes of all fields for what they mean.
pub fn unescape(record: &mut ByteRecord) {
    if memchr::memchr(b'\\', record.as_slice()).is_some() {
        let mut plain = ByteRecord::with_capacity(record.as_slice().len(), record.len());
        plain.set_position(record.position().cloned());
        record.iter().for_each(|field| plain.push_field(&unescaped(field)));
        *record = plain;
    }
}

/// The strings of a list of ids, with commas between them.
#[cfg(feature = "parquet")]
pub fn strings(list: &[u8]) -> impl Iterator<Item = String> {
    let mut ends = Vec::new();
    let mut is_escaped = false;
    for (at, &byte) in list.iter().enumerate() {
        if byte == b',' && !is_escaped {
            ends.push(at);
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    ends.extend((!list.is_empty()).then_some(list.len()));
    let mut start = 0;
    ends.into_iter().map(move |end| {
        let text = unescaped(&list[start..end]);
        start = end + 1;
        String::from_utf8_lossy(&text).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "parquet")]
    #[test]
    fn lists_of_strings_come_back() {
        for list in [&["a"][..], &["a,b", "\t\\", "", "ü\r\n"], &[]] {
            let mut text = Vec::new();
            for (number, string) in list.iter().enumerate() {
                if number > 0 {
                    text.push(b',');
                }
                push_escaped(&mut text, string);
            }
            assert_eq!(strings(&text).collect::<Vec<_>>(), list);
        }
    }

    #[test]
    fn nothing_in_a_string_separates() {
        let mut text = Vec::new();
        push_escaped(&mut text, "a\tb\nc\rd,e\\f ü\u{1}");
        assert_eq!(String::from_utf8(text).unwrap(), "a\\tb\\nc\\rd\\,e\\\\f ü\u{1}");
    }

    #[test]
    fn fields_come_back_and_other_backslashes_stay() {
        for text in ["", "a\tb\nc\rd,e\\f \"g\"", "\\t literal", "trail\\", "\\\\", "ü\u{1}"] {
            let mut field = Vec::new();
            push_escaped(&mut field, text);
            assert_eq!(*unescaped(&field), *text.as_bytes(), "{text:?}");
        }
        assert_eq!(*unescaped(br"\N C:\dir \"), *br"\N C:\dir \");
        let mut record = ByteRecord::from(vec![&b"a\\tb"[..], b"", b"c\\\\"]);
        unescape(&mut record);
        assert_eq!(record, vec![&b"a\tb"[..], b"", b"c\\"]);
    }
}
