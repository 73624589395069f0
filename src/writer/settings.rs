//! How new segments are laid out, as the store remembers it.

use crate::design::Design;
use crate::error::{Error, Result};
use crate::format::{Codec, Manifest};
use crate::plan::{Objective, Planner};
use crate::segment::Segment;
use crate::segment::writer::Layout;

/// Fingerprints below which one table is enough: to scan it takes a microsecond.
const SMALL: u64 = 1 << 12;
/// Fingerprints that a store is planned for, if nothing else is known.
const EXPECTED: u64 = 10_000_000;

/// How segments of a store are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) layout: Layout,
}

impl Settings {
    /// What is given, and for what is not, what is best for a radius.
    pub(crate) fn plan(
        radius: u32,
        design: Option<Design>,
        block_bytes: Option<u32>,
        codec: Option<Codec>,
        low_bits: Option<u32>,
    ) -> Result<Self> {
        let (design, block_bytes) = match (design, block_bytes) {
            (Some(design), Some(block_bytes)) => (design, block_bytes),
            (design, block_bytes) => {
                let small = Design::NAMES.iter().filter_map(|name| Design::named(name));
                let small = small.filter(|design| design.table_count() <= 4);
                let planner = Planner::new(EXPECTED)
                    .radius(radius)
                    .objective(Objective::Speed)
                    .designs(design.map_or_else(|| small.collect(), |design| vec![design]))
                    .block_bytes(block_bytes)
                    .codec(codec)
                    .low_bits(low_bits);
                let plan = planner.best()?;
                let plan = plan.ok_or(Error::TooManyBlocks {
                    count: EXPECTED,
                    block_bytes: block_bytes.unwrap_or(4096),
                })?;
                (plan.design, plan.block_bytes)
            }
        };
        Ok(Self { layout: Layout { design, block_bytes, codec, low_bits } })
    }

    /// What a manifest says; else that of its largest segment.
    pub(crate) fn of_store(manifest: &Manifest, largest: Option<&Segment>) -> Result<Self> {
        let radius = manifest.radius.into();
        if let Some(text) = &manifest.layout {
            return Self::of_text(radius, text);
        }
        let design = largest.map(|segment| segment.design().clone());
        let block_bytes = largest.map(|segment| segment.identity().geometry().block_bytes);
        Self::plan(radius, design, block_bytes, None, None)
    }

    /// Of the text of a LAYOUT section. What it does not know it ignores.
    fn of_text(radius: u32, text: &str) -> Result<Self> {
        let value = |wanted: &str| {
            let words = text.split(' ').filter_map(|word| word.split_once('='));
            words.filter(|(key, _)| *key == wanted).map(|(_, value)| value).next()
        };
        let number = |wanted: &str| value(wanted).and_then(|value| value.parse().ok());
        let design = value("design").map(str::parse).transpose()?;
        let codec = value("codec").map(str::parse).transpose()?;
        Self::plan(radius, design, number("block-bytes"), codec, number("low-bits"))
    }

    /// The text of a LAYOUT section.
    pub(crate) fn text(&self) -> String {
        let Layout { design, block_bytes, codec, low_bits } = &self.layout;
        let mut text = format!("design={design} block-bytes={block_bytes}");
        if let Some(codec) = codec {
            text += &format!(" codec={codec}");
        }
        if let Some(low_bits) = low_bits {
            text += &format!(" low-bits={low_bits}");
        }
        text
    }

    /// The layout of a segment of so many fingerprints.
    pub(crate) fn layout(&self, count: u64) -> Layout {
        let mut layout = self.layout.clone();
        if let Some(single) = Design::named("single").filter(|_| count < SMALL) {
            layout.design = single;
        }
        layout
    }
}
