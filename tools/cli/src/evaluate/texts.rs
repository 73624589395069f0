//! The texts of an evaluation, all in memory.

use std::collections::HashSet;

use super::Args;
use crate::documents::{Documents, Inputs};
use crate::failure::Failure;
use crate::memory;
use crate::output::say;

/// Bytes of all texts at most.
const MAX_BYTES: usize = 1 << 30;

/// Texts with their ids.
#[derive(Default)]
pub(super) struct Texts {
    pub ids: Vec<String>,
    pub texts: Vec<String>,
    bytes: usize,
}

/// Takes the id and the text of a document.
type Take<'a> = dyn FnMut(&mut Texts, &str, &[u8]) -> Result<(), End> + 'a;

/// Why reading ended.
enum End {
    Enough,
    Failed(Failure),
}

impl Texts {
    /// The first so many that are not empty.
    pub fn first(args: &Args, limit: usize) -> Result<Self, Failure> {
        let mut texts = Self::default();
        texts.read(args, &mut |texts, id, text| {
            if !text.trim_ascii().is_empty() {
                texts.push(id, text)?;
            }
            if texts.texts.len() < limit { Ok(()) } else { Err(End::Enough) }
        })?;
        match texts.texts.len() {
            0 | 1 => Err(Failure::Usage(
                "evaluate: there are not two texts in the inputs; check --text, the column of the texts"
                    .to_string(),
            )),
            _ => Ok(texts),
        }
    }

    /// Those with these ids.
    pub fn of_ids(args: &Args, ids: &HashSet<String>) -> Result<Self, Failure> {
        let mut texts = Self::default();
        texts.read(args, &mut |texts, id, text| match ids.contains(id) {
            true => texts.push(id, text),
            false => Ok(()),
        })?;
        Ok(texts)
    }

    /// Adds a text.
    fn push(&mut self, id: &str, text: &[u8]) -> Result<(), End> {
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            return Err(End::Failed(Failure::Usage(
                "evaluate: the texts come to more than 1 GiB; take fewer (--limit)".to_string(),
            )));
        }
        self.ids.push(id.to_string());
        self.texts.push(String::from_utf8_lossy(text).into_owned());
        Ok(())
    }

    fn read(&mut self, args: &Args, take: &mut Take<'_>) -> Result<(), Failure> {
        let inputs = Inputs::find(&args.input, &args.documents.options())?;
        let (wanted, skips) = (args.documents.wanted(None), args.documents.skips());
        for input in &inputs.files {
            let mut documents = Documents::open(input, &wanted, memory::default_limit())?;
            while let Some(piece) = documents.next_piece()? {
                let read = piece.documents(|document| match document {
                    Ok(document) => take(self, &document.id, &document.text),
                    Err(error) if skips => {
                        say!("fpstore: {error}");
                        Ok(())
                    }
                    Err(error) => Err(End::Failed(error.into())),
                });
                match read {
                    Ok(()) => {}
                    Err(End::Enough) => return Ok(()),
                    Err(End::Failed(failure)) => return Err(failure),
                }
            }
        }
        Ok(())
    }
}
