//! The end of a table file: router, codes, histogram, footer (section 6.3 of the
//! specification).

use std::io::{self, Write};

use byteorder::{ByteOrder, LittleEndian as LE};

use super::{
    Defect, Geometry, MAX_BLOCKS, MAX_CODE_BITS, TableEntry, TableHeader, pad8, read_key,
    table_footer,
};
use crate::error::Corruption;

/// Keys of the router that are written together.
const ROUTER_PIECE: usize = 1 << 16;

/// The CRC of a section that is bound to the header of its table.
fn section_crc(header_crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header_crc.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// What the footer of a table file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer {
    pub(crate) block_count: u64,
    router_crc: u32,
    codes_crc: u32,
    histogram_crc: u32,
}

impl Footer {
    /// Writes everything that follows the blocks; gives the CRC of the footer.
    pub(crate) fn write_tail(
        (header_crc, bits): (u32, u32),
        last_keys: &[u64],
        code_lengths: &[u8],
        histogram: &[u64],
        out: &mut impl Write,
    ) -> io::Result<u32> {
        let mut router_crc = crc32fast::Hasher::new();
        router_crc.update(&header_crc.to_le_bytes());
        for last_keys in last_keys.chunks(ROUTER_PIECE) {
            let of_key = |key: &u64| (key >> (u64::BITS - bits)).to_le_bytes();
            let bytes = last_keys.iter().map(of_key);
            let router: Vec<u8> =
                bytes.flat_map(|key| key.into_iter().take(bits as usize / 8)).collect();
            router_crc.update(&router);
            out.write_all(&router)?;
        }
        let histogram: Vec<u8> = histogram.iter().flat_map(|n| n.to_le_bytes()).collect();
        let mut codes = code_lengths.to_vec();
        codes.resize(pad8(codes.len()), 0);
        let mut footer = [0; table_footer::END];
        LE::write_u64(&mut footer[table_footer::BLOCK_COUNT], last_keys.len() as u64);
        LE::write_u32(&mut footer[table_footer::ROUTER_CRC], router_crc.finalize());
        LE::write_u32(&mut footer[table_footer::CODES_CRC], section_crc(header_crc, &codes));
        LE::write_u32(
            &mut footer[table_footer::HISTOGRAM_CRC],
            section_crc(header_crc, &histogram),
        );
        let crc = section_crc(header_crc, &footer[..table_footer::FOOTER_CRC.start]);
        LE::write_u32(&mut footer[table_footer::FOOTER_CRC], crc);
        out.write_all(&[&codes[..], &histogram, &footer].concat())?;
        Ok(crc)
    }

    /// Decodes and checks the footer of `file`.
    pub(crate) fn decode(
        file: &[u8],
        header: &TableHeader,
        header_crc: u32,
        entry: &TableEntry,
    ) -> Result<Self, Defect> {
        let at = file.len() - table_footer::END;
        let footer = &file[at..];
        let found = LE::read_u32(&footer[table_footer::FOOTER_CRC]);
        let computed = section_crc(header_crc, &footer[..table_footer::FOOTER_CRC.start]);
        let crc_at = at + table_footer::FOOTER_CRC.start;
        if found != computed {
            return Err(Defect::corrupt(crc_at, Corruption::FooterChecksum { found, computed }));
        }
        if found != entry.footer_crc {
            let corruption = Corruption::FooterNotInManifest { found, expected: entry.footer_crc };
            return Err(Defect::corrupt(crc_at, corruption));
        }
        let blocks = LE::read_u64(&footer[table_footer::BLOCK_COUNT]);
        // The first test keeps the arithmetic of the last one from overflowing.
        if blocks > MAX_BLOCKS.min(header.count)
            || (blocks == 0) != (header.count == 0)
            || header.geometry(blocks).file_bytes() != file.len() as u64
            || header.count > blocks * header.geometry(blocks).max_block_keys()
        {
            let file_bytes = file.len() as u64;
            let corruption = Corruption::BlockCount { blocks, count: header.count, file_bytes };
            return Err(Defect::corrupt(at, corruption));
        }
        Ok(Self {
            block_count: blocks,
            router_crc: LE::read_u32(&footer[table_footer::ROUTER_CRC]),
            codes_crc: LE::read_u32(&footer[table_footer::CODES_CRC]),
            histogram_crc: LE::read_u32(&footer[table_footer::HISTOGRAM_CRC]),
        })
    }

    /// The code lengths of all classes, checked except for completeness [COD-3].
    pub(crate) fn code_lengths(
        &self,
        file: &[u8],
        geometry: &Geometry,
        header_crc: u32,
    ) -> Result<Vec<u8>, Defect> {
        let at = geometry.codes();
        let bytes = &file[at.clone()];
        let (found, computed) = (self.codes_crc, section_crc(header_crc, bytes));
        if found != computed {
            return Err(Defect::corrupt(at.start, Corruption::CodesChecksum { found, computed }));
        }
        let bad = bytes.iter().enumerate().find(|&(class, &length)| {
            u32::from(length) > MAX_CODE_BITS || (class >= geometry.classes() && length != 0)
        });
        if let Some((class, &found)) = bad {
            let corruption = Corruption::CodeLength { class: class as u32, found };
            return Err(Defect::corrupt(at.start + class, corruption));
        }
        Ok(bytes[..geometry.classes()].to_vec())
    }

    /// The histogram of classes, checked against the count and the code lengths.
    pub(crate) fn histogram(
        &self,
        file: &[u8],
        geometry: &Geometry,
        header_crc: u32,
        count: u64,
        code_lengths: &[u8],
    ) -> Result<Vec<u64>, Defect> {
        let at = geometry.histogram();
        let bytes = &file[at.clone()];
        let (found, computed) = (self.histogram_crc, section_crc(header_crc, bytes));
        if found != computed {
            let corruption = Corruption::HistogramChecksum { found, computed };
            return Err(Defect::corrupt(at.start, corruption));
        }
        let histogram: Vec<u64> = bytes.chunks_exact(8).map(LE::read_u64).collect();
        let sum = histogram.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
        let agrees =
            histogram.iter().zip(code_lengths).all(|(&n, &length)| (n == 0) == (length == 0));
        if sum != Some(count.saturating_sub(1)) || !agrees {
            return Err(Defect::corrupt(at.start, Corruption::HistogramSum { count }));
        }
        Ok(histogram)
    }

    /// Checks the router: its CRC and its order, in which keys that are `short` may be equal.
    pub(crate) fn check_router(
        &self,
        file: &[u8],
        (geometry, short): (&Geometry, bool),
        header_crc: u32,
    ) -> Result<(), Defect> {
        let at = geometry.router();
        let bytes = &file[at.clone()];
        let (found, computed) = (self.router_crc, section_crc(header_crc, bytes));
        if found != computed {
            return Err(Defect::corrupt(at.start, Corruption::RouterChecksum { found, computed }));
        }
        let mut before = None;
        let entries = bytes.chunks_exact(geometry.key_bytes());
        for (number, entry) in entries.map(|key| read_key(geometry.bits, key)).enumerate() {
            if before.is_some_and(|before| !follows(before, entry, short)) {
                let corruption = Corruption::RouterOrder { block: number as u64 };
                return Err(Defect::corrupt(at.start + geometry.key_bytes() * number, corruption));
            }
            before = Some(entry);
        }
        Ok(())
    }
}

/// Whether a key may stand behind another one: it is greater, or of keys that are `short` no less.
#[inline(always)]
pub(crate) fn follows(before: u64, key: u64, short: bool) -> bool {
    before < key || (short && before == key)
}
