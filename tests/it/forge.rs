//! Makes damaged stores out of good ones, for the vectors and for the tests of [`crate::oracle`]
//! and of the library.
//!
//! A deep rule can be broken only while every checksum above it is right. So damage is done in two
//! steps: set a field, then reseal from the inside out (block, parts, footer, entry, manifest).
//! Offsets come from [`crate::spec`]; nothing here repeats one. The forge expects that what it
//! loads is sound, and panics where it is not. The lists of cases are kept from rustfmt so that
//! they read as the tables that they are.

mod bases;
mod block_cases;
mod good_variants;
mod ids_cases;
mod living_bad;
mod living_good;
mod living_writer;
mod log_bad;
mod manifest_cases;
mod named;
mod names;
mod names_writer;
mod narrow;
mod pairs_of_defects;
mod short;
mod table_cases;
mod wide_bad;
mod wide_good;
pub mod wide_writer;
pub mod writer;
mod written;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

pub use bases::{Base, BaseSpec, base_spec, good_specs};
pub use names::names;
pub use names_writer::{NamesVector, entry_of};
pub use wide_good::{PackedSpec, changed as changed_wide, packed_specs, wide_segment};
pub use writer::SegmentSpec;
pub use written::{WrittenVector, written};

/// What ids are places in, of the good cases of stores with names.
pub fn names_of_case() -> Vec<names_writer::Name> {
    named::urls(named::ENOUGH)
}

use crate::oracle::crc;
use crate::spec;

/// One store that breaks one rule, or, among the good variants, none.
pub struct Case {
    /// The directory in `vectors/`: `bad-pre-04-table-header-crc`, `unsupported-tab-04-codec-3`.
    pub name: &'static str,
    /// The rule that it breaks, such as `PRE-4`; empty in a good variant.
    pub rule: &'static str,
    pub base: Base,
    /// What the store is, in one sentence.
    pub sentence: &'static str,
    pub damage: fn(&mut Forge),
}

fn case(
    name: &'static str,
    rule: &'static str,
    base: Base,
    sentence: &'static str,
    damage: fn(&mut Forge),
) -> Case {
    Case { name, rule, base, sentence, damage }
}

/// At least one store for each rule.
pub fn cases() -> Vec<Case> {
    let mut cases = manifest_cases::cases();
    cases.extend(table_cases::cases());
    cases.extend(block_cases::cases());
    cases.extend(ids_cases::cases());
    cases.extend(named::cases());
    cases.extend(pairs_of_defects::cases());
    cases
}

/// A structure of the document, somewhere in the store.
#[derive(Clone, Copy)]
pub enum Place {
    Manifest,
    /// The header of a section, counted from 0.
    Section(usize),
    /// The payload of section 0.
    Store,
    /// The payload of section 2.
    Segment,
    /// The entry of a table in that payload.
    Entry(usize),
    Table(usize),
    Footer(usize),
    /// The entry of the ids file in that payload, in a store with ids.
    IdsEntry,
    IdsHeader,
    /// A block of a table.
    Block(usize, usize),
}

/// A part of a table file that is an array.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    Blocks,
    Router,
    Codes,
    Histogram,
}

pub const MANIFEST: &str = "manifest.fps";

/// Where the blocks of every table start (section 6).
const BLOCKS_START: usize = 4096;

/// The lengths in a table file as it was loaded, whatever its fields say later.
#[derive(Clone, Copy)]
struct Shape {
    blocks: usize,
    block_bytes: usize,
    classes: usize,
    low_bits: usize,
    key_bytes: usize,
}

/// The files of a store with one segment, in memory.
pub struct Forge {
    pub files: BTreeMap<String, Vec<u8>>,
    shapes: Vec<Shape>,
    /// The parts of the ids file as it was loaded.
    ids_parts: [Range<usize>; 5],
}

impl Forge {
    /// Reads all files of a sound store with a single segment.
    pub fn load(dir: &Path) -> io::Result<Forge> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().into_string().expect("names are ASCII");
            files.insert(name, std::fs::read(entry.path())?);
        }
        let mut forge = Forge { files, shapes: Vec::new(), ids_parts: Default::default() };
        for table in 0..forge.get(Place::Segment, "table_count") as usize {
            let low_bits = forge.get(Place::Table(table), "low_bits") as usize;
            let cut = forge.get(Place::Table(table), "cut_bits") as usize;
            let bits = forge.get(Place::Table(table), "fingerprint_bits") as usize - cut;
            let shape = Shape {
                blocks: forge.get(Place::Footer(table), "block_count") as usize,
                block_bytes: forge.get(Place::Table(table), "block_bytes") as usize,
                classes: bits + 1 - low_bits,
                low_bits,
                key_bytes: bits / 8,
            };
            forge.shapes.push(shape);
        }
        if forge.files.contains_key(&forge.ids_name()) {
            forge.ids_parts = forge.locate_ids_parts();
        }
        Ok(forge)
    }

    pub fn manifest(&mut self) -> &mut Vec<u8> {
        self.files.get_mut(MANIFEST).expect("the manifest was not removed")
    }

    /// The file of a table of the segment.
    pub fn table(&mut self, table: usize) -> &mut Vec<u8> {
        self.files.get_mut(&self.table_name(table)).expect("the table was not removed")
    }

    pub fn table_name(&self, table: usize) -> String {
        format!("segment-{:016x}-table-{table:03}.fpt", self.get(Place::Segment, "segment_number"))
    }

    /// The file of the ids of the segment.
    pub fn ids(&mut self) -> &mut Vec<u8> {
        self.files.get_mut(&self.ids_name()).expect("the ids were not removed")
    }

    pub fn ids_name(&self) -> String {
        format!("segment-{:016x}-ids.fpi", self.get(Place::Segment, "segment_number"))
    }

    fn tables(&self) -> Range<usize> {
        0..self.shapes.len()
    }

    /// The file of a place, its offset there, and the name of its table in the document.
    fn locate(&self, place: Place) -> (String, usize, &'static str) {
        let manifest = |at, table| (MANIFEST.to_owned(), at, table);
        let payload = |section| self.section_start(section) + end("section-header");
        match place {
            Place::Manifest => manifest(0, "manifest-header"),
            Place::Section(section) => manifest(self.section_start(section), "section-header"),
            Place::Store => manifest(payload(0), "store-section"),
            Place::Segment => manifest(payload(1), "segment-section"),
            Place::Entry(table) => {
                let first = payload(1) + end("segment-section");
                manifest(first + table * end("file-entry"), "file-entry")
            }
            Place::Table(table) => (self.table_name(table), 0, "table-header"),
            Place::Footer(table) => {
                let name = self.table_name(table);
                let start = self.files[&name].len() - end("table-footer");
                (name, start, "table-footer")
            }
            Place::IdsEntry => {
                let tables = self.get(Place::Segment, "table_count") as usize;
                self.locate(Place::Entry(tables))
            }
            Place::IdsHeader => (self.ids_name(), 0, "ids-header"),
            Place::Block(table, block) => {
                let block_bytes = self.shapes[table].block_bytes;
                (self.table_name(table), BLOCKS_START + block * block_bytes, "block")
            }
        }
    }

    /// The bytes of a field.
    pub fn field(&mut self, place: Place, field: &str) -> &mut [u8] {
        let (file, range) = self.field_range(place, field);
        &mut self.files.get_mut(&file).expect("the file was not removed")[range]
    }

    fn field_range(&self, place: Place, field: &str) -> (String, Range<usize>) {
        let (file, start, table) = self.locate(place);
        let (offset, bytes) = spec::offsets(table)[field];
        let start = start + offset;
        (file, start..start + bytes.expect("a field has a length"))
    }

    /// The value of a field of up to 8 bytes.
    pub fn get(&self, place: Place, field: &str) -> u64 {
        let (file, range) = self.field_range(place, field);
        read(&self.files[&file][range])
    }

    /// Sets a field of up to 8 bytes.
    pub fn set(&mut self, place: Place, field: &str, value: u64) {
        write(self.field(place, field), value);
    }

    /// Adds 1 to a field of up to 8 bytes.
    pub fn increment(&mut self, place: Place, field: &str) {
        self.set(place, field, self.get(place, field) + 1);
    }

    /// Changes the lowest bit of a field.
    pub fn flip(&mut self, place: Place, field: &str) {
        self.field(place, field)[0] ^= 1;
    }

    /// The bytes of a part of a table file.
    pub fn part(&mut self, table: usize, part: Part) -> &mut [u8] {
        let Shape { blocks, block_bytes, classes, key_bytes, .. } = self.shapes[table];
        let lengths = [
            (Part::Blocks, blocks * block_bytes),
            (Part::Router, blocks * key_bytes),
            (Part::Codes, classes.next_multiple_of(8)),
            (Part::Histogram, classes * 8),
        ];
        let before = lengths.iter().take_while(|&&(other, _)| other != part);
        let start = BLOCKS_START + before.map(|(_, bytes)| bytes).sum::<usize>();
        let (_, bytes) = lengths[part as usize];
        &mut self.table(table)[start..start + bytes]
    }

    /// An entry of the router or of the histogram.
    pub fn entry(&mut self, table: usize, part: Part, index: usize) -> u64 {
        read(&self.part(table, part)[index * 8..][..8])
    }

    pub fn set_entry(&mut self, table: usize, part: Part, index: usize, value: u64) {
        write(&mut self.part(table, part)[index * 8..][..8], value);
    }

    /// The code lengths, without their padding.
    pub fn codes(&mut self, table: usize) -> &mut [u8] {
        let classes = self.shapes[table].classes;
        &mut self.part(table, Part::Codes)[..classes]
    }

    /// A class that has the longest code.
    pub fn longest_code(&mut self, table: usize) -> usize {
        let codes = self.codes(table);
        (0..codes.len()).max_by_key(|&class| codes[class]).expect("there are classes")
    }

    pub fn block(&mut self, table: usize, block: usize) -> &mut [u8] {
        let bytes = self.shapes[table].block_bytes;
        &mut self.part(table, Part::Blocks)[block * bytes..][..bytes]
    }

    /// The column of a block, as its fields say now.
    pub fn column(&mut self, table: usize, block: usize) -> &mut [u8] {
        let others = self.get(Place::Block(table, block), "key_count") as usize - 1;
        let bytes = others * self.shapes[table].low_bits / 8;
        &mut self.block(table, block)[end("block")..][..bytes]
    }

    /// What follows the column of a block, as its fields say now.
    pub fn stream(&mut self, table: usize, block: usize) -> &mut [u8] {
        let column = self.column(table, block).len();
        &mut self.block(table, block)[end("block") + column..]
    }

    /// Exchanges two blocks of tables with the same block_bytes, which may be one table.
    pub fn swap_blocks(&mut self, one: (usize, usize), other: (usize, usize)) {
        let first = self.block(one.0, one.1).to_vec();
        let second = self.block(other.0, other.1).to_vec();
        self.block(one.0, one.1).copy_from_slice(&second);
        self.block(other.0, other.1).copy_from_slice(&first);
    }

    /// Sets the top of a table. Two ranges fit into its header of 64 bytes.
    pub fn set_ranges(&mut self, table: usize, ranges: &[(u8, u8)]) {
        self.set(Place::Table(table), "range_count", ranges.len() as u64);
        let place = &mut self.table(table)[end("table-header")..][..4];
        place.fill(0);
        for (bytes, &(first, bits)) in place.chunks_mut(2).zip(ranges) {
            bytes.copy_from_slice(&[first, bits]);
        }
    }

    fn section_start(&self, section: usize) -> usize {
        let mut start = self.get(Place::Manifest, "header_bytes") as usize;
        let (offset, bytes) = spec::offsets("section-header")["payload_bytes"];
        for _ in 0..section {
            let field = start + offset..start + offset + bytes.expect("a field has a length");
            let payload_bytes = read(&self.files[MANIFEST][field]) as usize;
            start += end("section-header") + payload_bytes.next_multiple_of(8);
        }
        start
    }

    pub fn section_count(&self) -> usize {
        self.get(Place::Manifest, "section_count") as usize
    }

    /// The payload of a section, without its padding.
    pub fn payload(&mut self, section: usize) -> &mut [u8] {
        let start = self.section_start(section) + end("section-header");
        let bytes = self.get(Place::Section(section), "payload_bytes") as usize;
        &mut self.manifest()[start..start + bytes]
    }

    /// Inserts a section and reseals the manifest.
    pub fn insert_section(&mut self, section: usize, kind: u64, flags: u64, payload: &[u8]) {
        let start = self.section_start(section);
        let mut bytes = vec![0; end("section-header")];
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        self.manifest().splice(start..start, bytes);
        self.set(Place::Section(section), "kind", kind);
        self.set(Place::Section(section), "flags", flags);
        self.set(Place::Section(section), "payload_bytes", payload.len() as u64);
        self.increment(Place::Manifest, "section_count");
        self.reseal_manifest();
    }

    /// Removes a section, reseals the manifest, and gives the payload.
    pub fn remove_section(&mut self, section: usize) -> Vec<u8> {
        let payload = self.payload(section).to_vec();
        let range = self.section_start(section)..self.section_start(section + 1);
        self.manifest().drain(range);
        self.set(Place::Manifest, "section_count", self.section_count() as u64 - 1);
        self.reseal_manifest();
        payload
    }

    /// Gives section 2 another payload and reseals the manifest.
    pub fn replace_segment(&mut self, payload: &[u8]) {
        let kind = self.get(Place::Section(1), "kind");
        let flags = self.get(Place::Section(1), "flags");
        self.remove_section(1);
        self.insert_section(1, kind, flags, payload);
    }

    /// Recomputes every checksum of a table, from its header on, and those of the manifest.
    pub fn reseal(&mut self, table: usize) {
        self.reseal_file(table);
        self.reseal_entry(table);
    }

    /// Recomputes every checksum of a table file, and leaves the manifest.
    pub fn reseal_file(&mut self, table: usize) {
        let crc_start = self.header_crc_start(table);
        let header_crc = crc(&[&self.table(table)[..crc_start]]);
        write(&mut self.table(table)[crc_start..][..4], header_crc.into());
        let (_, covered) = self.field_range(Place::Block(table, 0), "block_crc");
        let covered = covered.len();
        for block in 0..self.shapes[table].blocks {
            let number = (block as u64).to_le_bytes();
            let bytes = &self.block(table, block)[covered..];
            let block_crc = crc(&[&header_crc.to_le_bytes(), &number, bytes]);
            self.set(Place::Block(table, block), "block_crc", block_crc.into());
        }
        for (part, field) in [
            (Part::Router, "router_crc"),
            (Part::Codes, "codes_crc"),
            (Part::Histogram, "histogram_crc"),
        ] {
            let part_crc = crc(&[&header_crc.to_le_bytes(), self.part(table, part)]);
            self.set(Place::Footer(table), field, part_crc.into());
        }
        self.reseal_footer_alone(table);
    }

    /// Recomputes the checksum of a footer and those of the manifest.
    pub fn reseal_footer(&mut self, table: usize) {
        self.reseal_footer_alone(table);
        self.reseal_entry(table);
    }

    fn reseal_footer_alone(&mut self, table: usize) {
        let header_crc = self.header_crc(table);
        let (_, start, _) = self.locate(Place::Footer(table));
        let (_, crc_range) = self.field_range(Place::Footer(table), "footer_crc");
        let covered = &self.table(table)[start..crc_range.start];
        let footer_crc = crc(&[&(header_crc as u32).to_le_bytes(), covered]);
        self.set(Place::Footer(table), "footer_crc", footer_crc.into());
    }

    /// Copies length and header_crc of a table file of a made-up version to its entry.
    pub fn reseal_made_up(&mut self, table: usize) {
        let file = self.table(table);
        let (bytes, end) = (file.len() as u64, header_bytes_of(file));
        let header_crc = read(&file[end - 4..end]);
        self.set(Place::Entry(table), "file_bytes", bytes);
        self.set(Place::Entry(table), "header_crc", header_crc);
        self.reseal_manifest();
    }

    /// Copies length and checksums of a table file to its entry and reseals the manifest.
    pub fn reseal_entry(&mut self, table: usize) {
        let file_bytes = self.table(table).len() as u64;
        let header_crc = self.header_crc(table);
        let footer_crc = self.get(Place::Footer(table), "footer_crc");
        self.set(Place::Entry(table), "file_bytes", file_bytes);
        self.set(Place::Entry(table), "header_crc", header_crc);
        self.set(Place::Entry(table), "end_crc", footer_crc);
        self.reseal_manifest();
    }

    fn header_crc(&mut self, table: usize) -> u64 {
        let start = self.header_crc_start(table);
        read(&self.table(table)[start..][..4])
    }

    fn header_crc_start(&self, table: usize) -> usize {
        self.get(Place::Table(table), "header_bytes") as usize - 4
    }

    /// Recomputes file_bytes and every checksum of the manifest.
    pub fn reseal_manifest(&mut self) {
        for section in 0..self.section_count() {
            let payload_crc = crc(&[self.payload(section)]);
            self.set(Place::Section(section), "payload_crc", payload_crc.into());
            self.reseal_section_header(section);
        }
        let file_bytes = self.manifest().len() as u64;
        self.set(Place::Manifest, "file_bytes", file_bytes);
        self.reseal_manifest_header();
    }

    /// Recomputes the checksum of the header of a section, and no other.
    pub fn reseal_section_header(&mut self, section: usize) {
        let (_, start, _) = self.locate(Place::Section(section));
        let (_, crc_range) = self.field_range(Place::Section(section), "header_crc");
        let header_crc = crc(&[&self.manifest()[start..crc_range.start]]);
        self.set(Place::Section(section), "header_crc", header_crc.into());
    }

    /// Recomputes the checksum of the header of the manifest, and no other.
    pub fn reseal_manifest_header(&mut self) {
        reseal_header(self.manifest());
    }

    /// Makes the header of a table longer, at the cost of its padding.
    pub fn lengthen_table_header(&mut self, table: usize, bytes: u64) {
        let place = Place::Table(table);
        let crc_start = self.header_crc_start(table);
        self.table(table)[crc_start..][..4].fill(0);
        self.set(place, "header_bytes", self.get(place, "header_bytes") + bytes);
        self.reseal(table);
    }

    /// Adds bytes to the end of a payload and reseals the manifest.
    pub fn lengthen_payload(&mut self, section: usize, tail: &[u8]) {
        let kind = self.get(Place::Section(section), "kind");
        let flags = self.get(Place::Section(section), "flags");
        let mut payload = self.remove_section(section);
        payload.extend_from_slice(tail);
        self.insert_section(section, kind, flags, &payload);
    }
}

/// Where header_bytes stands in every file.
fn header_bytes_of(file: &[u8]) -> usize {
    let (offset, bytes) = spec::offsets("header-prefix")["header_bytes"];
    read(&file[offset..offset + bytes.expect("a field has a length")]) as usize
}

/// Recomputes the checksum of the header of a file.
fn reseal_header(file: &mut [u8]) {
    let crc_start = header_bytes_of(file) - 4;
    let header_crc = crc(&[&file[..crc_start]]);
    write(&mut file[crc_start..][..4], header_crc.into());
}

/// Makes a header longer by a tail of zeros.
fn lengthen_header(file: &mut Vec<u8>, bytes: usize) {
    let header_bytes = header_bytes_of(file);
    file.splice(header_bytes - 4..header_bytes - 4, vec![0; bytes]);
    let (offset, length) = spec::offsets("header-prefix")["header_bytes"];
    let length = length.expect("a field has a length");
    write(&mut file[offset..offset + length], (header_bytes + bytes) as u64);
    reseal_header(file);
}

/// Where a structure of the document ends.
fn end(table: &str) -> usize {
    spec::offsets(table)["end"].0
}

fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn write(bytes: &mut [u8], value: u64) {
    let count = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..count]);
}

/// Stores with the fingerprints of their base; `rule` is empty.
pub fn good_variants() -> Vec<Case> {
    [good_variants::good_variants(), named::good()].into_iter().flatten().collect()
}

#[test]
fn every_rule_has_a_case_whose_name_gives_rule_and_kind() {
    let rules = spec::rules();
    let mut names = BTreeMap::new();
    let written = written().into_iter().filter(|vector| !vector.rule.is_empty());
    let written = written.map(|vector| (vector.name, vector.rule));
    let of_names = names::names().into_iter().filter(|vector| !vector.rule.is_empty());
    let written = written.chain(of_names.map(|vector| (vector.name, vector.rule)));
    for (name, tag) in cases().iter().map(|case| (case.name, case.rule)).chain(written) {
        let rule = rules.get(tag).unwrap_or_else(|| panic!("no rule [{tag}]"));
        let (kind, rest) = name.split_once('-').expect("a name starts with its kind");
        assert!(kind == "bad" || kind == "unsupported" && rule.unsupported, "{name}");
        let (group, number) = tag.split_once('-').expect("a tag is GROUP-n");
        let start = format!("{}-{number:0>2}-", group.to_lowercase());
        assert!(rest.starts_with(&start), "{name} breaks {tag}");
        assert!(names.insert(name, tag).is_none(), "{name} stands twice");
    }
    for rule in rules.keys() {
        assert!(names.values().any(|broken| broken == rule), "no case breaks [{rule}]");
    }
}
