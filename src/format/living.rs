//! What the manifest says of a store that is written to.

use byteorder::{ByteOrder, LittleEndian as LE};

use super::section::Section;
use super::{Defect, RecordShape, SegmentEntry, log_section};
use crate::error::{Corruption, Unsupported};
use crate::id::IdKind;

/// Sequences and numbers of logs in the manifest are less [LGS-2]. No log is long enough to lead
/// from there to 2^63, so nothing overflows, and the bit of [`super::Deletion`] that stands for all
/// ids stays free.
pub(crate) const MOST_NUMBERS: u64 = 1 << 62;

/// The LOG section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogSection {
    /// The log with the first operation that segments do not hold.
    pub(crate) first_log: u64,
    /// The sequence of the last operation that segments hold.
    pub(crate) sequence: u64,
    pub(crate) shape: RecordShape,
    /// Bytes that were written to the store since it has a log.
    pub(crate) written_bytes: u64,
    /// Bytes of the records that were inserted since.
    pub(crate) inserted_bytes: u64,
    /// Greater than all ids that segments have held so far; 2^64 - 1 if none is left.
    pub(crate) next_id: u64,
}

/// The windows of time of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowsSection {
    /// The length of a window.
    pub(crate) seconds: u64,
    /// The window of each segment, in their order.
    pub(crate) windows: Vec<u64>,
}

impl LogSection {
    pub(super) fn encode(&self) -> [u8; log_section::END] {
        let mut payload = [0; log_section::END];
        LE::write_u64(&mut payload[log_section::FIRST_LOG], self.first_log);
        LE::write_u64(&mut payload[log_section::SEQUENCE], self.sequence);
        LE::write_u32(&mut payload[log_section::FLAGS], self.shape.flags());
        LE::write_u64(&mut payload[log_section::WRITTEN_BYTES], self.written_bytes);
        LE::write_u64(&mut payload[log_section::INSERTED_BYTES], self.inserted_bytes);
        LE::write_u64(&mut payload[log_section::NEXT_ID], self.next_id);
        payload
    }

    /// Decodes the LOG section of a store with these segments, with names or not, and windows or
    /// not.
    pub(super) fn decode(
        section: &Section<'_>,
        before: Option<&Self>,
        (segments, names, windows): (&[SegmentEntry], Option<IdKind>, bool),
    ) -> Result<Self, Defect> {
        let Section { payload, at, .. } = *section;
        section.check_length(log_section::END, "LOG")?;
        section.check_reserved(log_section::RESERVED, "LOG section")?;
        let flags = LE::read_u32(&payload[log_section::FLAGS]);
        let flags_at = at + log_section::FLAGS.start;
        if !RecordShape::knows(flags) {
            return Err(Defect::unsupported(flags_at, Unsupported::Reserved { of: "LOG section" }));
        }
        if before.is_some() {
            return Err(Defect::corrupt(at, Corruption::LogTwice));
        }
        let first_log = LE::read_u64(&payload[log_section::FIRST_LOG]);
        let sequence = LE::read_u64(&payload[log_section::SEQUENCE]);
        if !(1..MOST_NUMBERS).contains(&first_log) || sequence >= MOST_NUMBERS {
            return Err(Defect::corrupt(at, Corruption::LogNumbers { first_log, sequence }));
        }
        let ids = RecordShape::has_ids(flags);
        if let Some(other) = segments.iter().find(|segment| segment.ids.is_some() != ids) {
            let corruption = Corruption::LogIds { segment: other.number, ids };
            return Err(Defect::corrupt(flags_at, corruption));
        }
        let shape = RecordShape::of_flags(flags, names).filter(|shape| shape.windows == windows);
        let Some(shape) = shape else {
            return Err(Defect::corrupt(flags_at, Corruption::LogShape { flags }));
        };
        Ok(Self {
            first_log,
            sequence,
            shape,
            written_bytes: LE::read_u64(&payload[log_section::WRITTEN_BYTES]),
            inserted_bytes: LE::read_u64(&payload[log_section::INSERTED_BYTES]),
            next_id: LE::read_u64(&payload[log_section::NEXT_ID]),
        })
    }
}
