//! The texts of some documents, read from their files again.

use std::collections::{BTreeSet, HashMap};

use crate::documents::{Documents, Inputs, Wanted};
use crate::error::Error;
use crate::ledger::Notes;
use crate::monitor::{Event, Monitor};

/// Bytes of a text that are looked at.
pub const MOST: usize = 1 << 20;

/// The beginnings of the texts of these documents, what is no UTF-8 replaced.
///
/// Files without any of them are not read.
pub fn texts(
    documents: &BTreeSet<u32>,
    inputs: &Inputs,
    wanted: &Wanted,
    notes: &Notes,
    memory: u64,
    monitor: &Monitor,
) -> Result<HashMap<u32, String>, Error> {
    let mut texts = HashMap::new();
    let (mut first, mut before) = (0u32, 0);
    monitor.tell(Event::Start { bytes: inputs.bytes() });
    for (input, &end) in inputs.files.iter().zip(&notes.file_ends) {
        let end = u32::try_from(end).unwrap_or(u32::MAX).max(first);
        let last = documents.range(first..end).next_back();
        if let Some(&last) = last {
            let mut reader = Documents::open(input, wanted, memory)?;
            let mut at = first;
            while at <= last {
                let Some(piece) = reader.next_piece()? else { break };
                let behind = at.saturating_add(piece.len() as u32);
                for &document in documents.range(at..behind) {
                    texts.insert(document, shown(&piece.text((document - at) as usize)));
                }
                at = behind;
                let bytes = before + reader.bytes_read();
                monitor.tell(Event::Read { bytes, documents: at.into() });
                monitor.check()?;
            }
        }
        first = end;
        before += input.bytes;
    }
    Ok(texts)
}

/// What is looked at of a text.
fn shown(text: &[u8]) -> String {
    let mut end = text.len().min(MOST);
    // Not within a character, which has four bytes at most.
    let least = end.saturating_sub(3);
    while end > least && text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    String::from_utf8_lossy(&text[..end]).into_owned()
}
