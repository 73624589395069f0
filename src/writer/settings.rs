//! How new segments are laid out, as the store remembers it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::costs::Costs;
use crate::design::Design;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::{MOST_ROWS, Manifest};
use crate::multi_index::PartLayout;
use crate::planning::{IndexLayout, Layout, Planner, TableLayout};

/// Fingerprints below which one table is enough: to scan it takes a microsecond.
const SMALL: u64 = 1 << 12;
/// Fingerprints that a store is planned for, if nothing else is known.
const EXPECTED: u64 = 10_000_000;

/// Usual layouts that are kept, for all writers of a process.
const MOST_KNOWN: usize = 8;

/// How segments of a store are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    bits: u32,
    /// What is said of it.
    said: Layout,
}

/// What was said for fingerprints of how many bits, and the layout that was chosen for it.
type Known = (u32, Layout, TableLayout);

/// The layouts of segments with tables that were chosen last. To choose one predicts all designs,
/// and the answer is always the same.
static KNOWN: Mutex<VecDeque<Known>> = Mutex::new(VecDeque::new());

impl Settings {
    /// What is said for fingerprints of so many bits.
    pub(crate) fn new(bits: u32, said: &Layout) -> Self {
        Self { bits, said: said.clone() }
    }

    /// Whether segments have tables; else they have bases.
    fn has_tables(&self) -> bool {
        self.said.parts.is_none() && self.bits <= u64::BITS
    }

    /// The layout of segments with tables, of up to [`EXPECTED`] fingerprints: what is said, and
    /// for the rest what a pack of so many uniform ones would choose. A search goes through all
    /// segments of a store, which is expected to grow.
    fn usual(&self) -> Result<TableLayout> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(bits, said, _): &&Known| *bits == self.bits && *said == self.said;
        if let Some((_, _, usual)) = known().iter().find(is_same) {
            return Ok(usual.clone());
        }
        // Nobody waits for the planner of another store.
        let usual = self.said.choose(&self.said.planner(self.bits, EXPECTED))?;
        let mut known = known();
        known.truncate(MOST_KNOWN - 1);
        known.push_front((self.bits, self.said.clone(), usual.clone()));
        Ok(usual)
    }

    /// What a manifest says.
    pub(crate) fn of_store<F: Fingerprint>(manifest: &Manifest) -> Self {
        let advice = manifest.layout.as_deref().unwrap_or_default();
        Self::new(F::BITS, &Layout::of_advice(F::BITS, manifest.radius.into(), advice))
    }

    /// The text of a LAYOUT section.
    pub(crate) fn advice(&self) -> Option<String> {
        self.said.advice()
    }

    /// The most fingerprints that a segment takes.
    pub(crate) fn most_fingerprints(&self) -> u64 {
        match self.has_tables() {
            true => u64::MAX,
            false => MOST_ROWS,
        }
    }

    /// The layout of a segment of so many fingerprints, one of several.
    pub(crate) fn layout(&self, count: u64) -> Result<IndexLayout> {
        if !self.has_tables() {
            let layout = self.said.part_layout(self.bits, count).filter(|_| count >= SMALL);
            let planned = || PartLayout::planned(self.bits, count, self.said.radius);
            return Ok(IndexLayout::Parts(layout.unwrap_or_else(planned)));
        }
        let mut layout = match count > EXPECTED {
            true => self.said.choose(&self.said.planner(self.bits, count))?,
            false => self.usual()?,
        };
        let single = Design::named_for(self.bits, "single");
        if let Some(single) = single.filter(|_| count < SMALL) {
            let (low_bits, short_tables) = (self.said.low_bits, self.said.short_tables);
            layout = TableLayout { design: single, low_bits, short_tables, ..layout };
        }
        Ok(IndexLayout::Tables(layout))
    }

    /// The layout of the only segment of a window, of so many fingerprints, of which `sample` tells
    /// the planner: the one that a pack of them has.
    pub(crate) fn layout_of_pack(
        &self,
        (count, costs): (u64, &Costs),
        sample: impl FnOnce(Planner) -> Result<Planner>,
    ) -> Result<IndexLayout> {
        let planner = self.said.planner(self.bits, count).costs(*costs);
        self.said.for_set(planner, sample).map(|(layout, _)| layout)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::format::MANIFEST_NAME;
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
