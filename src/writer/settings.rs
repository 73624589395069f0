//! How new segments are laid out, as the store remembers it.

use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{self, GROUP_BITS, MOST_ROWS, Manifest, low_widths};
use crate::multi_index::PartLayout;
use crate::plan::{IndexLayout, Layout, TableLayout};
use crate::segment::{Index, Segment};

/// Fingerprints below which one table is enough: to scan it takes a microsecond.
const SMALL: u64 = 1 << 12;
/// Fingerprints that a store is planned for, if nothing else is known.
const EXPECTED: u64 = 10_000_000;

/// How segments of a store are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    bits: u32,
    radius: u32,
    /// Of segments with tables; `None` if they have bases.
    tables: Option<TableLayout>,
    /// The number of part tables beside a base; `None` if it is chosen by the number of fingerprints.
    parts: Option<u16>,
}

impl Settings {
    /// What is given for fingerprints of so many bits, and for what is not, what a pack of
    /// [`EXPECTED`] uniform ones would choose.
    pub(crate) fn plan(bits: u32, options: &Layout) -> Result<Self> {
        let Layout { radius, parts, .. } = *options;
        let tables = if options.part_layout(bits, EXPECTED).is_some() {
            None
        } else {
            let planner = options.planner(bits, EXPECTED);
            Some(options.choose(&planner)?)
        };
        Ok(Self { bits, radius, tables, parts })
    }

    /// What a manifest says; else that of its largest segment.
    pub(crate) fn of_store<F: Fingerprint>(
        manifest: &Manifest,
        largest: Option<&Segment<F>>,
    ) -> Result<Self> {
        let radius = manifest.radius.into();
        if let Some(text) = &manifest.layout {
            return Self::of_text(F::BITS, radius, text);
        }
        let design = largest.and_then(|segment| segment.design().cloned());
        let table = largest.and_then(|segment| segment.tables().first());
        let block_bytes = table.map(|table| table.geometry().block_bytes);
        let parts = match largest.map(Segment::index) {
            Some(Index::Parts(index)) if F::BITS <= u64::BITS => Some(index.part_count() as u16),
            _ => None,
        };
        let short_tables = largest.is_some_and(|segment| segment.has_short_tables());
        let options =
            Layout { design, block_bytes, short_tables, parts, ..Layout::for_radius(radius) };
        Self::plan(F::BITS, &options)
    }

    /// Of the text of a LAYOUT section. It is advice, and comes from outside: what nobody knows, and what cannot be, is
    /// passed over.
    fn of_text(bits: u32, radius: u32, text: &str) -> Result<Self> {
        let value = |wanted: &str| {
            let words = text.split(' ').filter_map(|word| word.split_once('='));
            words.filter(|(key, _)| *key == wanted).map(|(_, value)| value).next()
        };
        let number = |wanted: &str| value(wanted).and_then(|value| value.parse().ok());
        let design = value("design").and_then(|value| Design::read(bits, value).ok());
        let codec = value("codec").and_then(|value| value.parse().ok());
        let block_bytes = number("block-bytes").filter(|&bytes| format::is_block_bytes(bytes));
        let low_bits =
            number("low-bits").filter(|low_bits| low_widths(bits).any(|width| width == *low_bits));
        let parts = value("parts").and_then(|value| value.parse().ok());
        let parts = parts.filter(|&parts: &u16| u32::from(parts) <= bits / GROUP_BITS);
        let short_tables = value("tables") == Some("short");
        let options = Layout {
            design,
            block_bytes,
            codec,
            low_bits,
            short_tables,
            parts,
            ..Layout::for_radius(radius)
        };
        Self::plan(bits, &options)
    }

    /// The text of a LAYOUT section.
    pub(crate) fn text(&self) -> String {
        let Some(TableLayout { design, block_bytes, codec, low_bits, short_tables }) = &self.tables
        else {
            return self.parts.map_or(String::new(), |parts| format!("parts={parts}"));
        };
        let mut text = format!("design={design} block-bytes={block_bytes}");
        if let Some(codec) = codec {
            text += &format!(" codec={codec}");
        }
        if let Some(low_bits) = low_bits {
            text += &format!(" low-bits={low_bits}");
        }
        if *short_tables {
            text += " tables=short";
        }
        text
    }

    /// The most fingerprints that a segment takes.
    pub(crate) fn most_fingerprints(&self) -> u64 {
        match self.tables {
            Some(_) => u64::MAX,
            None => MOST_ROWS,
        }
    }

    /// The layout of a segment of so many fingerprints.
    pub(crate) fn layout(&self, count: u64) -> IndexLayout {
        let Some(mut layout) = self.tables.clone() else {
            let given = self.parts.filter(|_| count >= SMALL);
            let given = given.map(|count| PartLayout { count, radius: None });
            let planned = || PartLayout::planned(self.bits, count, self.radius);
            return IndexLayout::Parts(given.unwrap_or_else(planned));
        };
        let single = Design::named_for(self.bits, "single");
        if let Some(single) = single.filter(|_| count < SMALL) {
            layout.design = single;
        }
        IndexLayout::Tables(layout)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::format::{Codec, MANIFEST_NAME};
    use crate::{Error, Packer, Store, StoreOptions, WriterOptions};

    fn change_manifest(path: &Path, change: impl FnOnce(&mut Manifest)) {
        let path = path.join(MANIFEST_NAME);
        let mut manifest = Manifest::decode(&fs::read(&path).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(path, manifest.encode()).unwrap();
    }

    #[test]
    fn a_layout_that_cannot_be_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let options = || WriterOptions::new().background(false);
        let texts = [
            "",
            "design=",
            "design block-bytes = codec=",
            "block-bytes=0",
            "block-bytes=1",
            "block-bytes=4294967296 low-bits=-1",
            "design=quarters block-bytes=131072",
            "design=33,32 block-bytes=512",
            "design=0..16,0..65 block-bytes=512",
            "design=1,1,1,0",
            "design=quarters,quarters codec=zip",
            "codec=xor low-bits=7",
            "low-bits=64 block-bytes=3000 design=256..0 codec=\u{0} objective=\u{10FFFF}",
        ];
        for (number, text) in texts.into_iter().enumerate() {
            for living in [true, false] {
                let path = directory.path().join(format!("{number}-{living}"));
                if living {
                    let create = StoreOptions::new().ids(None).writer(options());
                    let writer = create.create(&path).unwrap();
                    writer.insert_fingerprints(&[1, 2]).unwrap();
                    writer.flush().unwrap();
                } else {
                    Packer::new().pack(&path, [1u64, 2]).unwrap();
                }
                change_manifest(&path, |manifest| {
                    manifest.layout = Some(text.to_string());
                    manifest.radius = [3, 64][number % 2];
                });
                let planned = Store::open(&path).unwrap().snapshot().full_merge().unwrap();
                assert_eq!(planned.segments, 1, "{text}");
                let writer = options().open(&path).unwrap();
                writer.insert_fingerprints(&(0..5000).collect::<Vec<_>>()).unwrap();
                writer.flush().unwrap();
                writer.merge_all().unwrap();
                writer.close().unwrap();
                let store = Store::open(&path).unwrap();
                assert_eq!(store.stats().unwrap().segments.len(), 1, "{text}");
                assert_eq!(store.iter().count(), 5000, "{text}");
                store.snapshot().full_merge().unwrap();
                store.verify().unwrap();
            }
        }
    }

    #[test]
    fn what_of_a_layout_can_be_is_used() {
        let text = "design=thirds block-bytes=0 low-bits=16 codec=zip";
        let settings = Settings::of_text(64, 3, text).unwrap();
        let TableLayout { design, block_bytes, codec, low_bits, .. } = settings.tables.unwrap();
        assert_eq!((design.name(), codec, low_bits), (Some("thirds"), None, Some(16)));
        assert!(format::is_block_bytes(block_bytes));
        let text = "design=0 block-bytes=1024 low-bits=7 codec=gap";
        let settings = Settings::of_text(64, 3, text).unwrap();
        let TableLayout { block_bytes, codec, low_bits, .. } = settings.tables.unwrap();
        assert_eq!((block_bytes, codec), (1024, Some(Codec::Gap)));
        // There are no 7 low bits; the short tables that are chosen have others.
        assert_ne!(low_bits, Some(7));
        for design in ["24,20,20", "0..16,0..16+40..48"] {
            let text = format!("design={design} block-bytes=256");
            assert_eq!(Settings::of_text(64, 3, &text).unwrap().text(), text);
        }
    }

    #[test]
    fn options_that_cannot_be_are_refused_before_anything_is_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let options = [
            ("radius", StoreOptions::new().layout(Layout::new().k(65))),
            ("block bytes", StoreOptions::new().layout(Layout::new().block_bytes(3000))),
            ("low bits", StoreOptions::new().layout(Layout::new().low_bits(Some(7)))),
        ];
        for (name, options) in options {
            let error = options.create(&path).unwrap_err();
            assert!(
                matches!(error, Error::InvalidOption { option, .. } if option == name),
                "{error}"
            );
            assert!(!path.exists());
        }
    }
}
