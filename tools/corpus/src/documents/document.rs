//! The documents in the rows of a piece.

use std::borrow::Cow;
use std::ops::Deref;

use fpstore_records::cell::Cell;
use fpstore_records::rows::{self, Kind, Lookup, Row, Want};
use fpstore_records::{InputError, RecordProblem};

/// The columns that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// That of the texts.
    pub text: String,
    /// That of the ids.
    pub id: Option<String>,
    /// Another one, to compare by.
    pub extra: Option<String>,
    /// Columns that there may not be, since documents get some of these names.
    pub(crate) added: Vec<String>,
}

/// The place of the text among the wanted columns; each of the others is the only one of its kind.
const TEXT: usize = 0;

impl Wanted {
    /// What is wanted of each row.
    pub(super) fn wants(&self) -> Vec<Want> {
        let id = self.id.iter().map(|name| Want::new(name, Kind::Id));
        let extra = self.extra.iter().map(|name| Want::new(name, Kind::Value));
        let added = self.added.iter().map(|name| Want::new(name, Kind::Value).or_none());
        [Want::new(&self.text, Kind::Text)]
            .into_iter()
            .chain(id)
            .chain(extra)
            .chain(added)
            .collect()
    }
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its text, which should be UTF-8. A null is an empty one.
    pub text: Cow<'a, [u8]>,
    /// Its id: what stands in the column of ids, or the path of the file with the line or row.
    pub id: Cow<'a, str>,
    /// What stands in the other column, unless that is nothing.
    pub extra: Option<Cow<'a, str>>,
}

impl<'a> Document<'a> {
    /// A text without an id.
    pub fn of(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text.as_bytes()), id: Cow::Borrowed(""), extra: None }
    }
}

/// Some records of an input, one after the other, with memory of their own.
pub struct Piece(pub(super) rows::Piece);

impl Deref for Piece {
    type Target = rows::Piece;

    fn deref(&self) -> &rows::Piece {
        &self.0
    }
}

impl Piece {
    /// Gives `take` the document of each record in order, or why it has none.
    pub fn documents<E>(
        &self,
        mut take: impl FnMut(Result<Document<'_>, InputError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let place =
            |kind| self.wants().iter().position(|want| want.kind == kind && !want.is_optional);
        let (id, extra) = (place(Kind::Id), place(Kind::Value));
        let mut lookup = Lookup::default();
        for index in 0..self.len() {
            let row = self.row(index, &mut lookup);
            let document = row.and_then(|row| {
                let id = id.map(|column| id_of(&row, column));
                let id = id.unwrap_or_else(|| Ok(Cow::Owned(self.place(index))));
                Ok(Document { text: text(&row)?, id: id?, extra: value(&row, extra)? })
            });
            take(document.map_err(|problem| self.error(index, problem)))?;
        }
        Ok(())
    }

    /// The text of one document; of a record that is none, nothing.
    pub(crate) fn text(&self, index: usize) -> Vec<u8> {
        let mut lookup = Lookup::default();
        let text = self.row(index, &mut lookup).and_then(|row| Ok(text(&row)?.into_owned()));
        text.unwrap_or_default()
    }
}

impl Piece {
    /// The place of the first record that has a column which may not be there, and its name.
    /// Tables are looked at when they are opened.
    pub(crate) fn taken(&self) -> Option<(String, &str)> {
        let added: Vec<usize> =
            (0..self.wants().len()).filter(|&n| self.wants()[n].is_optional).collect();
        if added.is_empty() {
            return None;
        }
        let mut lookup = Lookup::default();
        (0..self.len()).find_map(|index| {
            let row = self.row(index, &mut lookup).ok()?;
            let taken = added.iter().find(|&&want| !matches!(row.cell(want), Cell::Missing))?;
            Some((self.place(index), self.wants()[*taken].name()))
        })
    }
}

fn text<'a>(row: &Row<'a>) -> Result<Cow<'a, [u8]>, RecordProblem> {
    match row.cell(TEXT) {
        Cell::Bytes(text) => Ok(text),
        Cell::Text(Cow::Borrowed(text)) => Ok(Cow::Borrowed(text.as_bytes())),
        Cell::Text(Cow::Owned(text)) => Ok(Cow::Owned(text.into_bytes())),
        Cell::Binary(text) => Ok(Cow::Borrowed(text)),
        Cell::Null => Ok(Cow::Borrowed(&[])),
        _ => Err(row.refused(TEXT, "text")),
    }
}

fn id_of<'a>(row: &Row<'a>, column: usize) -> Result<Cow<'a, str>, RecordProblem> {
    match row.id(column)? {
        id if id.is_empty() && row.has_no_nulls() => {
            Err(RecordProblem::Null { column: row.name(column).to_string() })
        }
        id => Ok(id),
    }
}

fn value<'a>(row: &Row<'a>, column: Option<usize>) -> Result<Option<Cow<'a, str>>, RecordProblem> {
    let Some(column) = column else { return Ok(None) };
    match row.cell(column).into_text() {
        Ok(Some(value)) if value.is_empty() && row.has_no_nulls() => Ok(None),
        Ok(value) => Ok(value),
        Err(_) => Err(row.refused(column, "string or number")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use fpstore_records::rows::{Limits, Rows};
    use fpstore_records::{Layout, Origin, Stream};

    use super::*;

    type Parsed = (Vec<u8>, String, Option<String>);

    fn document(line: &[u8], extra: Option<&str>) -> Result<Parsed, String> {
        let extra = extra.map(Into::into);
        let wanted =
            Wanted { text: "text".into(), id: Some("id".into()), extra, added: Vec::new() };
        let stream = Stream::new(Cursor::new(line.to_vec()));
        let (wants, limits) = (wanted.wants(), Limits::default());
        let rows = Rows::of_text(Origin::Stdin, stream, Layout::Jsonl, wants, limits, true);
        let piece = Piece(rows.unwrap().next_piece().unwrap().unwrap());
        let mut parsed = None;
        let Ok(()) = piece.documents(|document| -> Result<(), std::convert::Infallible> {
            let document = document.map(|document| {
                let Document { text, id, extra } = document;
                (text.into_owned(), id.into_owned(), extra.map(Cow::into_owned))
            });
            parsed = Some(document.map_err(|error| error.to_string()));
            Ok(())
        });
        parsed.unwrap()
    }

    fn parsed(line: &[u8]) -> Parsed {
        document(line, Some("rank")).unwrap()
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
            let problem = document(line.as_bytes(), None).unwrap_err();
            assert!(problem.contains(cause), "{line}: {problem}");
        }
    }
}
