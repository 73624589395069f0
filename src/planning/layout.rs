//! How segments are laid out: what somebody has said of it, and what is planned for the rest. A
//! store remembers the former as the text of a LAYOUT section (chapter 12 of the specification).

use std::fmt::Display;

use super::planner::{MOST_TABLES, Planner};
use super::prefer::Prefer;
use super::short::{self, key_bits, low_bits};
use crate::codec::profile::{Coding, Profile};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::format::{self, Codec, GROUP_BITS, low_widths};
use crate::multi_index::PartLayout;

/// Quarters of the payload without a column that the column of a short table may make of it. Of
/// uniform keys it makes more than 8 (`quarters` of 2^34); of those that differ in few bits, such
/// as consecutive numbers, a column would take most of the store.
const MOST_QUARTERS_OF_PLAIN: u128 = 9;

/// How the fingerprints of a segment are found.
#[derive(Clone, Debug)]
pub(crate) enum IndexLayout {
    /// By tables.
    Tables(TableLayout),
    /// By a base and part tables.
    Parts(PartLayout),
}

/// How the tables of a segment are laid out.
#[derive(Clone, Debug)]
pub(crate) struct TableLayout {
    pub(crate) design: Design,
    pub(crate) block_bytes: u32,
    /// `None` takes the smaller one for each table.
    pub(crate) codec: Option<Codec>,
    /// `None` takes the widest that costs little for each table.
    pub(crate) low_bits: Option<u32>,
    /// Whether the tables behind the first are [short](key_bits).
    pub(crate) short_tables: bool,
}

/// How a store is laid out: what is said of it. All else is chosen.
///
/// Most stores need [`k`](Self::k) alone. The rest is for experts; the manual of the tool has a
/// table of what designs cost.
///
/// # Examples
///
/// ```
/// use fpstore::{Layout, Packer, Prefer};
///
/// let directory = tempfile::tempdir()?;
/// let layout = Layout::new().k(6).prefer(Prefer::Speed);
/// let squares = (0..10_000u64).map(|i| i * i * i);
/// Packer::new().layout(layout).pack(directory.path().join("store"), squares)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub(crate) radius: u32,
    pub(crate) prefer: Prefer,
    pub(crate) design: Option<Design>,
    pub(crate) block_bytes: Option<u32>,
    pub(crate) codec: Option<Codec>,
    pub(crate) low_bits: Option<u32>,
    /// Whether the tables behind the first keep only the bits that searches need.
    pub(crate) short_tables: bool,
    /// A base and so many part tables, in place of tables.
    pub(crate) parts: Option<u16>,
}

impl Default for Layout {
    fn default() -> Self {
        Self::new()
    }
}

impl TableLayout {
    /// Bits of the keys of a table, where there are so many.
    pub(crate) fn key_bits(&self, table: usize, count: u64) -> u32 {
        match self.design.tops().get(table) {
            Some(top) if self.short_tables && table > 0 => key_bits(self.design.bits(), count, top),
            _ => self.design.bits(),
        }
    }

    /// Whether some table is short, where there are so many.
    pub(crate) fn has_short(&self, count: u64) -> bool {
        let tables = 0..self.design.table_count();
        tables.into_iter().any(|table| self.key_bits(table, count) < self.design.bits())
    }

    /// How a table with this profile is coded, whose keys have so many bits.
    ///
    /// # Errors
    ///
    /// As [`Profile::choose`].
    pub(crate) fn coding(&self, table: usize, profile: &Profile, bits: u32) -> Result<Coding> {
        let choose = |low_bits| profile.choose(self.codec, low_bits);
        let top = self.design.tops().get(table).filter(|_| bits < self.design.bits());
        let Some(top) = top else { return choose(self.low_bits) };
        let widest = low_bits(bits, top, self.low_bits);
        if self.low_bits.is_some() {
            return choose(Some(widest));
        }
        let plain = choose(Some(0))?;
        let narrower = low_widths(bits).filter(|width| *width <= widest);
        let codings = narrower.map(|width| choose(Some(width))).collect::<Result<Vec<_>>>()?;
        let most = u128::from(plain.payload_bits) * MOST_QUARTERS_OF_PLAIN;
        let fits = |coding: &Coding| 4 * u128::from(coding.payload_bits) <= most;
        Ok(codings.into_iter().rfind(fits).unwrap_or(plain))
    }
}

impl Layout {
    /// For a radius of 3, with all else chosen for the set: fast for its size, which is at most one
    /// and a half times that of the fingerprints uncompressed.
    pub fn new() -> Self {
        Self::for_radius(3)
    }

    /// The same, for another radius.
    pub(crate) fn for_radius(radius: u32) -> Self {
        Self {
            radius,
            prefer: Prefer::default(),
            design: None,
            block_bytes: None,
            codec: None,
            low_bits: None,
            short_tables: false,
            parts: None,
        }
    }

    /// The Hamming radius, in bits, that queries will mostly ask for; 0 to the width. It is
    /// remembered, the layout is chosen for it, and it limits nothing.
    pub fn k(mut self, k: u32) -> Self {
        self.radius = k;
        self
    }

    /// What to choose for, where something is left open.
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// For experts: the tables of fingerprints of 32 or 64 bits. Chosen for the set and the radius,
    /// one to four, where none are given: the same on every machine.
    pub fn design(mut self, design: Design) -> Self {
        self.design = Some(design);
        self
    }

    /// For experts: bytes of a block, a power of two from 256 to 8192. Smaller blocks answer faster
    /// and take more space. Where nothing is said 256 to 4096 are chosen.
    pub fn block_bytes(mut self, block_bytes: u32) -> Self {
        self.block_bytes = Some(block_bytes);
        self
    }

    /// For experts: whether the tables behind the first keep only the first 32 to 56 bits of their
    /// keys, as many as it takes to find matches in the first table, which holds whole
    /// fingerprints.
    ///
    /// `quarters` of 2^26 uniform fingerprints take 14.8 bytes each in place of 20.5. Searches
    /// within the radius of the design are about as fast, larger ones up to three times slower.
    /// What is damaged in the first table is in no other. Fingerprints of 32 bits keep whole
    /// tables.
    pub fn short_tables(mut self, short: bool) -> Self {
        self.short_tables = short;
        self
    }

    /// For experts: in place of tables one *base*, which holds every fingerprint once, and so many
    /// tables of parts of their bits, up to one for 6 bits; 0 writes the base alone, which searches
    /// scan. It is the index of Norouzi, Punjani and Fleet, *Fast search in Hamming space with
    /// multi-index hashing* (CVPR 2012). Fingerprints of 128 and 256 bits have no other, with a
    /// number that is chosen for the radius.
    pub fn parts(mut self, parts: u16) -> Self {
        self.parts = Some(parts);
        self
    }

    /// For experts: the index of fingerprints of so many bits by its name. `quarters`, `32,24`: a
    /// [design](Design::read); `32,24:short`: one with [short tables](Self::short_tables);
    /// `parts:9`: so many [parts](Self::parts).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] where it is none of these.
    pub fn index(mut self, bits: u32, name: &str) -> Result<Self> {
        if let Some(parts) = name.strip_prefix("parts:") {
            let wrong =
                || Error::invalid_option("design", name, "parts are a number, as in parts:9");
            self.parts = Some(parts.parse().map_err(|_| wrong())?);
            return Ok(self);
        }
        let design = name.strip_suffix(":short");
        self.short_tables = design.is_some();
        self.design = Some(Design::read(bits.min(u64::BITS), design.unwrap_or(name))?);
        Ok(self)
    }

    /// The codec; `None` takes the smaller one for each table.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn codec(mut self, codec: Option<Codec>) -> Self {
        self.codec = codec;
        self
    }

    /// Width of the low column in bits: 0, 8, 16, 24, 32, 40 or 48, less than that of a
    /// fingerprint.
    ///
    /// `None` takes, for each table, the largest whose payload is at most 1% larger than that of 0;
    /// or the widest of all at up to an eighth, if the tops of the design have 16 bits each and
    /// none in common (of 32 bits, 8), as those of `quarters`: there a search need not decode what
    /// the column shows.
    #[cfg(any(test, feature = "internals"))]
    #[doc(hidden)]
    pub fn low_bits(mut self, low_bits: Option<u32>) -> Self {
        self.low_bits = low_bits;
        self
    }

    /// Refuses what cannot be, for fingerprints of so many bits.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`].
    pub(crate) fn check(&self, bits: u32) -> Result<()> {
        let invalid = |option, value: &dyn Display, expected: &str| {
            Err(Error::invalid_option(option, value, expected))
        };
        if self.radius > bits {
            return invalid("radius", &self.radius, &format!("it is 0 to {bits} bits"));
        }
        let most_parts = bits / GROUP_BITS;
        if let Some(parts) = self.parts.map(u32::from).filter(|&parts| parts > most_parts) {
            let expected = format!("they are at most {most_parts}, of {GROUP_BITS} bits or more");
            return invalid("parts", &parts, &expected);
        }
        let of_tables = self.design.is_some() || self.block_bytes.is_some();
        if of_tables && (self.parts.is_some() || bits > u64::BITS) {
            let expected = "tables are for fingerprints of 32 and 64 bits, and in place of parts";
            let design = self.design.as_ref().map_or("given blocks", |_| "a design");
            return invalid("layout", &design, expected);
        }
        if self.short_tables && (self.parts.is_some() || bits > u64::BITS) {
            return invalid("layout", &"short tables", "tables are short, and parts are none");
        }
        let is_single = |design: &&Design| design.table_count() == 1;
        if let Some(design) = self.design.as_ref().filter(is_single).filter(|_| self.short_tables) {
            let expected = "short tables stand behind the first, and it has no other; take a design with several";
            return invalid("design", design, expected);
        }
        if let Some(design) = self.design.as_ref().filter(|design| design.bits() != bits) {
            let value = format!("{design}, for {} bits", design.bits());
            return invalid(
                "design",
                &value,
                &format!("it is one for fingerprints of {bits} bits"),
            );
        }
        if let Some(bytes) = self.block_bytes.filter(|&bytes| !format::is_block_bytes(bytes)) {
            return invalid("block bytes", &bytes, "they are a power of two from 256 to 8192");
        }
        let none = Profile::empty(bits.min(u64::BITS));
        none.choose(self.codec, self.low_bits).map(|_| ())
    }

    /// A planner of what is open, for fingerprints of so many bits.
    pub(crate) fn planner(&self, bits: u32, count: u64) -> Planner {
        let small = Design::NAMES.iter().filter_map(|name| Design::named_for(bits, name));
        let small = small.filter(|design| design.table_count() <= MOST_TABLES).collect();
        let small = if self.short_tables { short::designs(bits, small) } else { small };
        Planner::for_bits(bits, count)
            .radius(self.radius)
            .prefer(self.prefer)
            .designs(self.design.clone().map_or(small, |design| vec![design]))
            .looking_at_small(self.design.is_none())
            .block_bytes(self.block_bytes)
            .codec(self.codec)
            .low_bits(self.low_bits)
            .short_tables(self.short_tables)
    }

    /// The part tables of so many fingerprints of so many bits; `None` if there are to be tables.
    pub(crate) fn part_layout(&self, bits: u32, count: u64) -> Option<PartLayout> {
        match self.parts {
            Some(count) => Some(PartLayout { count, radius: None }),
            None => (bits > u64::BITS).then(|| PartLayout::planned(bits, count, self.radius)),
        }
    }

    /// The layout of a set for which this is the [planner](Self::planner), and of which `sample`
    /// tells the planner: as said, and what is not said as planned. Gives the planner, too.
    ///
    /// # Errors
    ///
    /// Those of `sample`, and as [`Self::choose`].
    pub(crate) fn for_set(
        &self,
        planner: Planner,
        sample: impl FnOnce(Planner) -> Result<Planner>,
    ) -> Result<(IndexLayout, Planner)> {
        if let Some(parts) = self.part_layout(planner.bits(), planner.count()) {
            return Ok((IndexLayout::Parts(parts), planner));
        }
        let is_open = self.design.is_none() || self.block_bytes.is_none();
        let planner = if is_open { sample(planner)? } else { planner };
        let layout = self.choose(&planner)?;
        let planner = planner.short_tables(layout.short_tables).low_bits(layout.low_bits);
        Ok((IndexLayout::Tables(layout), planner))
    }

    /// What is given, and for what is open the choice of its [planner](Self::planner).
    ///
    /// # Errors
    ///
    /// [`Error::TooManyBlocks`] if there are too many fingerprints for any choice.
    pub(crate) fn choose(&self, planner: &Planner) -> Result<TableLayout> {
        let (design, block_bytes, short_tables) = match (&self.design, self.block_bytes) {
            (Some(design), Some(block_bytes)) => (design.clone(), block_bytes, self.short_tables),
            (_, block_bytes) => {
                let plan = planner.best()?.ok_or(Error::TooManyBlocks {
                    count: planner.count(),
                    block_bytes: block_bytes.unwrap_or(4096),
                })?;
                (plan.design, plan.block_bytes, plan.short_tables)
            }
        };
        let (codec, low_bits) = (self.codec, self.low_bits);
        Ok(TableLayout { design, block_bytes, codec, low_bits, short_tables })
    }
}

impl Layout {
    /// What is said, but for the radius, as the text of a LAYOUT section; `None` if nothing is.
    pub(crate) fn advice(&self) -> Option<String> {
        let Self { radius: _, prefer, design, block_bytes, codec, low_bits, short_tables, parts } =
            self;
        let mut words = Vec::new();
        if *prefer != Prefer::default() {
            words.push(format!("prefer={prefer}"));
        }
        words.extend(design.as_ref().map(|design| format!("design={design}")));
        words.extend(block_bytes.map(|block_bytes| format!("block-bytes={block_bytes}")));
        words.extend(codec.map(|codec| format!("codec={codec}")));
        words.extend(low_bits.map(|low_bits| format!("low-bits={low_bits}")));
        if *short_tables {
            words.push("tables=short".to_string());
        }
        words.extend(parts.map(|parts| format!("parts={parts}")));
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// What a LAYOUT section says of a store for fingerprints of so many bits. It is advice, and
    /// comes from outside: what nobody knows, and what cannot be, is passed over.
    pub(crate) fn of_advice(bits: u32, radius: u32, text: &str) -> Self {
        let value = |wanted: &str| {
            let words = text.split(' ').filter_map(|word| word.split_once('='));
            words.filter(|(key, _)| *key == wanted).map(|(_, value)| value).next()
        };
        let number = |wanted: &str| value(wanted).and_then(|value| value.parse().ok());
        let parts = value("parts").and_then(|value| value.parse().ok());
        Self {
            radius,
            prefer: value("prefer").and_then(|value| value.parse().ok()).unwrap_or_default(),
            design: value("design").and_then(|value| Design::read(bits, value).ok()),
            block_bytes: number("block-bytes").filter(|&bytes| format::is_block_bytes(bytes)),
            codec: value("codec").and_then(|value| value.parse().ok()),
            low_bits: number("low-bits").filter(|&width| low_widths(bits).any(|at| at == width)),
            short_tables: value("tables") == Some("short"),
            parts: parts.filter(|&parts: &u16| u32::from(parts) <= bits / GROUP_BITS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Codec;

    #[test]
    fn what_of_a_layout_can_be_is_used() {
        let text = "design=thirds block-bytes=0 low-bits=16 codec=zip prefer=most";
        let layout = Layout::of_advice(64, 3, text);
        let design = layout.design.as_ref().and_then(Design::name);
        assert_eq!((design, layout.codec, layout.low_bits), (Some("thirds"), None, Some(16)));
        assert_eq!((layout.block_bytes, layout.prefer), (None, Prefer::Balanced));
        assert_eq!(layout.advice().unwrap(), "design=thirds low-bits=16");
        // There are no 7 low bits.
        let layout = Layout::of_advice(64, 3, "design=0 block-bytes=1024 low-bits=7 codec=gap");
        assert_eq!(layout.advice().unwrap(), "block-bytes=1024 codec=gap");
        assert_eq!(layout.codec, Some(Codec::Gap));
    }

    #[test]
    fn what_is_said_comes_back() {
        let said = [
            (64, "design=24,20,20 block-bytes=256"),
            (64, "design=0..16,0..16+40..48"),
            (64, "prefer=size"),
            (64, "prefer=speed design=32,24 tables=short"),
            (64, "codec=xor low-bits=32"),
            (256, "parts=9"),
            (128, "parts=0"),
        ];
        for (bits, text) in said {
            assert_eq!(Layout::of_advice(bits, 3, text).advice().as_deref(), Some(text));
        }
        for text in ["", "prefer=balanced", "parts=", "parts=65536", "parts=9"] {
            assert_eq!(Layout::of_advice(32, 3, text).advice(), None, "{text}");
        }
    }
}
