//! Lists of fingerprints as text.

use std::io::BufRead;

use fpstore::Fingerprint;

use crate::error::Problem;
use crate::reader::{Reader, Sink, TAKEN_FOR_HEX};
use crate::stream::Stream;
use crate::text::TextParser;
use crate::token::Format;

/// Reads a list as text.
pub struct ListReader<F> {
    stream: Stream,
    parser: TextParser<F>,
    /// Whether the digits may be decimal as well.
    is_either: bool,
}

impl<F: Fingerprint> ListReader<F> {
    /// A reader of a list that is written in this way, or perhaps in decimal digits.
    pub fn new(mut stream: Stream, format: Format, is_either: bool) -> Self {
        stream.skip_mark();
        Self { stream, parser: TextParser::new(format), is_either }
    }
}

impl<F: Fingerprint> Reader<F> for ListReader<F> {
    fn read(&mut self, to: &mut Sink<'_, F>) -> Result<bool, Problem> {
        let piece = self.stream.piece()?;
        let bytes = piece.len();
        let mut rest = piece;
        while let Err(stop) = self.parser.feed(rest, &mut to.records.fingerprints) {
            to.fault(Problem::Token(stop.place, stop.fault))?;
            rest = &rest[stop.consumed..];
        }
        self.stream.consume(bytes);
        if bytes == 0
            && let Err((place, fault)) = self.parser.finish(&mut to.records.fingerprints)
        {
            to.fault(Problem::Token(place, fault))?;
        }
        Ok(bytes > 0)
    }

    fn warning(&self) -> Option<&'static str> {
        self.is_either.then_some(TAKEN_FOR_HEX)
    }
}
