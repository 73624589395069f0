//! How segments are laid out: what somebody has said of it, and what is planned for the rest.

use std::fmt::Display;

use super::objective::Objective;
use super::planner::Planner;
use super::short::{self, key_bits, low_bits};
use crate::codec::profile::{Coding, Profile};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::format::{self, Codec, GROUP_BITS, low_widths};
use crate::multi_index::PartLayout;

/// Tables that are chosen at most. More copies than four take more than three times the space of the fingerprints
/// themselves, for little time, and long to predict.
const MOST_TABLES: usize = 4;

/// Quarters of the payload without a column that the column of a short table may make of it. Of uniform keys it makes more than 8 (`quarters` of 2^34); of those that differ in
/// few bits, such as consecutive numbers, a column would take most of the store.
const MOST_QUARTERS_OF_PLAIN: u128 = 9;

/// How the fingerprints of a segment are found.
#[derive(Clone, Debug)]
pub(crate) enum IndexLayout {
    /// By tables.
    Tables(Layout),
    /// By a base and part tables.
    Parts(PartLayout),
}

/// How the tables of a segment are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) design: Design,
    pub(crate) block_bytes: u32,
    /// `None` takes the smaller one for each table.
    pub(crate) codec: Option<Codec>,
    /// `None` takes the widest that costs little for each table.
    pub(crate) low_bits: Option<u32>,
    /// Whether the tables behind the first are [short](key_bits).
    pub(crate) short_tables: bool,
}

/// What is said of a layout; design and size of blocks are planned for a radius where they are left open.
#[derive(Clone, Debug)]
pub(crate) struct LayoutOptions {
    pub(crate) radius: u32,
    pub(crate) design: Option<Design>,
    pub(crate) block_bytes: Option<u32>,
    pub(crate) codec: Option<Codec>,
    pub(crate) low_bits: Option<u32>,
    /// Whether the tables behind the first keep only the bits that searches need.
    pub(crate) short_tables: bool,
    /// A base and so many part tables, in place of tables.
    pub(crate) parts: Option<u16>,
}

impl Layout {
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

impl LayoutOptions {
    /// Everything is left open.
    pub(crate) fn new(radius: u32) -> Self {
        let (design, block_bytes, codec, low_bits, parts) = (None, None, None, None, None);
        Self { radius, design, block_bytes, codec, low_bits, short_tables: false, parts }
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
    pub(crate) fn planner(&self, bits: u32, count: u64, objective: Objective) -> Planner {
        let small = Design::NAMES.iter().filter_map(|name| Design::named_for(bits, name));
        let small = small.filter(|design| design.table_count() <= MOST_TABLES).collect();
        let small = if self.short_tables { short::designs(bits, small) } else { small };
        Planner::for_bits(bits, count)
            .radius(self.radius)
            .objective(objective)
            .designs(self.design.clone().map_or(small, |design| vec![design]))
            .looking_at_small(self.design.is_none())
            .block_bytes(self.block_bytes)
            .codec(self.codec)
            .low_bits(self.low_bits)
            .short_tables(self.short_tables)
    }

    /// The part tables of so many fingerprints of so many bits; `None` if there are to be tables.
    pub(crate) fn parts(&self, bits: u32, count: u64) -> Option<PartLayout> {
        match self.parts {
            Some(count) => Some(PartLayout { count, radius: None }),
            None => (bits > u64::BITS).then(|| PartLayout::planned(bits, count, self.radius)),
        }
    }

    /// Whether there is something to plan.
    pub(crate) fn is_open(&self) -> bool {
        self.design.is_none() || self.block_bytes.is_none()
    }

    /// What is given, and for what is open the choice of its [planner](Self::planner).
    ///
    /// # Errors
    ///
    /// [`Error::TooManyBlocks`] if there are too many fingerprints for any choice.
    pub(crate) fn choose(&self, planner: &Planner) -> Result<Layout> {
        let (codec, mut low_bits, mut short_tables) =
            (self.codec, self.low_bits, self.short_tables);
        let (design, block_bytes) = match (&self.design, self.block_bytes) {
            (Some(design), Some(block_bytes)) => (design.clone(), block_bytes),
            (_, block_bytes) => {
                let plan = planner.best()?.ok_or(Error::TooManyBlocks {
                    count: planner.count(),
                    block_bytes: block_bytes.unwrap_or(4096),
                })?;
                if plan.short_tables && !short_tables {
                    (low_bits, short_tables) = (Some(plan.low_bits), true);
                }
                (plan.design, plan.block_bytes)
            }
        };
        Ok(Layout { design, block_bytes, codec, low_bits, short_tables })
    }
}
