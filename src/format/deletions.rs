//! The deletions file of a segment (section 11.3 of the specification).

use byteorder::{ByteOrder, LittleEndian as LE};

use super::segment_entry::DeletionsEntry;
use super::{CRC_BYTES, Defect, FileKind, deletions_header};
use crate::error::Corruption;
use crate::fingerprint::{Fingerprint, bytes_of, file_bytes, of_file_bytes};

const FILE: FileKind = FileKind {
    name: "deletions file",
    magic: *b"\x89FPSD\r\n\x1a",
    header_bytes: deletions_header::END,
    reserved: Some(deletions_header::RESERVED),
};
/// The bit of `sequence_and_scope` that stands for all ids of a fingerprint.
const WHOLE: u64 = 1 << 63;

/// What is deleted of a fingerprint. In the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// All of it.
    Whole,
    /// One id.
    Id(u64),
}

/// A deletion: it hides what was written before its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deletion<F = u64> {
    pub(crate) fingerprint: F,
    pub(crate) scope: Scope,
    pub(crate) sequence: u64,
}

impl<F: Fingerprint> Deletion<F> {
    /// Bytes of a deletion.
    const BYTES: usize = bytes_of::<F>() + 16;

    fn encode(&self, out: &mut Vec<u8>) {
        let (id, whole) = match self.scope {
            Scope::Whole => (0, WHOLE),
            Scope::Id(id) => (id, 0),
        };
        out.extend(file_bytes(self.fingerprint).as_ref());
        for word in [id, self.sequence | whole] {
            out.extend(word.to_le_bytes());
        }
    }

    /// Decodes as many bytes as a deletion has.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (fingerprint, words) = bytes.split_at_checked(bytes_of::<F>())?;
        let &[id, sequence] = words.as_chunks().0 else { return None };
        let [id, sequence] = [id, sequence].map(u64::from_le_bytes);
        Some(Self {
            fingerprint: of_file_bytes(fingerprint)?,
            scope: if sequence & WHOLE != 0 { Scope::Whole } else { Scope::Id(id) },
            sequence: sequence & !WHOLE,
        })
    }

    /// The id, of a deletion of one.
    pub(crate) fn id(&self) -> Option<u64> {
        if let Scope::Id(id) = self.scope { Some(id) } else { None }
    }

    /// Gives the id another number.
    pub(crate) fn renumber(&mut self, number: impl FnOnce(u64) -> u64) {
        if let Scope::Id(id) = &mut self.scope {
            *id = number(*id);
        }
    }

    /// What a list is ordered by; each comes once.
    pub(crate) fn key(&self) -> (F, Scope) {
        (self.fingerprint, self.scope)
    }
}

/// The bytes of the deletions file of a segment: deletions ascend by [`Deletion::key`]. Gives what
/// the manifest says of the file: its length and its CRCs.
pub(crate) fn encode_deletions<F: Fingerprint>(
    segment: u64,
    deletions: &[Deletion<F>],
) -> (Vec<u8>, (u64, u32, u32)) {
    let mut header = [0; deletions_header::END];
    LE::write_u64(&mut header[deletions_header::COUNT], deletions.len() as u64);
    LE::write_u64(&mut header[deletions_header::SEGMENT_NUMBER], segment);
    let header_crc = FILE.seal(&mut header);
    let mut bytes = header.to_vec();
    for deletion in deletions {
        deletion.encode(&mut bytes);
    }
    let footer_crc = footer_crc(header_crc, &bytes[deletions_header::END..]);
    bytes.extend(footer_crc.to_le_bytes());
    let file_bytes = bytes.len() as u64;
    (bytes, (file_bytes, header_crc, footer_crc))
}

/// Decodes and checks the deletions file of a segment.
pub(crate) fn decode_deletions<F: Fingerprint>(
    file: &[u8],
    entry: &DeletionsEntry,
) -> Result<Vec<Deletion<F>>, Defect> {
    let (found, expected) = (file.len() as u64, entry.file_bytes);
    if found != expected {
        return Err(Defect::corrupt(0, Corruption::DeletionsLength { found, expected }));
    }
    let (header, header_crc) = FILE.header(file)?;
    if header_crc != entry.header_crc {
        let (found, expected) = (header_crc, entry.header_crc);
        let corruption = Corruption::DeletionsNotInManifest { found, expected };
        return Err(Defect::corrupt(header.len() - CRC_BYTES, corruption));
    }
    let segment = LE::read_u64(&header[deletions_header::SEGMENT_NUMBER]);
    if segment != entry.segment {
        let corruption = Corruption::DeletionsSegment { found: segment, expected: entry.segment };
        return Err(Defect::corrupt(deletions_header::SEGMENT_NUMBER.start, corruption));
    }
    let count = LE::read_u64(&header[deletions_header::COUNT]);
    let body = (file.len() - header.len()).checked_sub(CRC_BYTES);
    if body.map(|body| body as u128) != Some(u128::from(count) * Deletion::<F>::BYTES as u128) {
        let corruption = Corruption::DeletionCount { count, file_bytes: entry.file_bytes };
        return Err(Defect::corrupt(deletions_header::COUNT.start, corruption));
    }
    let footer_at = file.len() - CRC_BYTES;
    let body = &file[header.len()..footer_at];
    let (found, computed) = (LE::read_u32(&file[footer_at..]), footer_crc(header_crc, body));
    if found != computed {
        return Err(Defect::corrupt(footer_at, Corruption::DeletionsChecksum { found, computed }));
    }
    if found != entry.footer_crc {
        let expected = entry.footer_crc;
        let corruption = Corruption::DeletionsFooterNotInManifest { found, expected };
        return Err(Defect::corrupt(footer_at, corruption));
    }
    let chunks = body.chunks_exact(Deletion::<F>::BYTES);
    let deletions: Vec<Deletion<F>> = chunks.filter_map(Deletion::decode).collect();
    let ascends = |place: usize| {
        let before = place.checked_sub(1).map(|before| deletions[before].key());
        before.is_none_or(|before| before < deletions[place].key())
    };
    let in_range = |deletion: &Deletion<F>| (1..=entry.sequence).contains(&deletion.sequence);
    let wrong = (0..deletions.len()).find(|&at| !ascends(at) || !in_range(&deletions[at]));
    match wrong {
        Some(place) => {
            let at = header.len() + place * Deletion::<F>::BYTES;
            Err(Defect::corrupt(at, Corruption::DeletionOrder { deletion: place as u64 }))
        }
        None => Ok(deletions),
    }
}

fn footer_crc(header_crc: u32, body: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header_crc.to_le_bytes());
    crc.update(body);
    crc.finalize()
}
