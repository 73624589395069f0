//! The annotated files of the format document and of its examples against the vectors that they
//! show.
//!
//! `FPSTORE_BLESS=1 cargo test --test it annotated` writes them into the documents.

use std::fs;
use std::path::Path;

use crate::oracle::{self, PlainTable, block::canonical_codes};
use crate::spec;

const VECTOR: &str = "format-spec/vectors/good-annotated-xor-l8-b256";
const GAP_VECTOR: &str = "format-spec/vectors/good-annotated-gap-l0-b256";
const IDS_VECTOR: &str = "format-spec/vectors/good-ids-several";
const WIDE_VECTOR: &str = "format-spec/vectors/good-wide-annotated";
const LOG_VECTOR: &str = "format-spec/vectors/good-living-log-ids";

/// Lines of a dump: offset, bytes, meaning.
struct Dump<'a> {
    file: &'a [u8],
    at: usize,
    text: String,
}

impl Dump<'_> {
    /// Shows the next `bytes` bytes.
    fn part(&mut self, bytes: usize, meaning: &str) {
        let part = &self.file[self.at..self.at + bytes];
        let hex: Vec<String> = part.iter().map(|byte| format!("{byte:02X}")).collect();
        let zeros = part.iter().all(|&byte| byte == 0);
        if zeros && bytes > 16 {
            self.line(&format!("00 .. 00 ({bytes})"), meaning);
        } else {
            for (line, hex) in hex.chunks(16).enumerate() {
                self.line(&hex.join(" "), if line == 0 { meaning } else { "" });
                self.at += hex.len();
            }
            self.at -= bytes;
        }
        self.at += bytes;
    }

    fn line(&mut self, hex: &str, meaning: &str) {
        self.text += format!("    {:04X}  {hex:<47}  {meaning}", self.at).trim_end();
        self.text.push('\n');
    }

    /// Shows the fields of a structure of the document.
    fn fields(&mut self, table: &str) {
        let mut fields: Vec<_> = spec::offsets(table).clone().into_iter().collect();
        fields.sort_by_key(|(_, (offset, _))| *offset);
        for (name, (_, bytes)) in fields {
            let Some(bytes) = bytes else { continue };
            let part = &self.file[self.at..self.at + bytes];
            let number =
                part.iter().rev().fold(0u128, |number, &byte| number << 8 | u128::from(byte));
            let meaning = match name.as_str() {
                "magic" => name,
                _ if bytes > 2 && number > 0xFFFF => format!("{name} = {number:#X}"),
                _ => format!("{name} = {number}"),
            };
            self.part(bytes, &meaning);
        }
    }
}

/// A table file of a vector, and what the plain decoder makes of it.
fn table(vector: &str) -> (Vec<u8>, PlainTable) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(vector);
    let file = fs::read(root.join("segment-0000000000000001-table-000.fpt")).unwrap();
    let mut store = oracle::read_store(&root).unwrap();
    (file, store.segments.remove(0).tables.remove(0))
}

impl Dump<'_> {
    /// Shows the next block, `number`, in which no plane is more than a line.
    fn block(&mut self, table: &PlainTable, number: usize) {
        let keys = &table.blocks[number];
        let end = self.at + table.block_bytes as usize;
        self.fields("block");
        let low_bits = u32::from(table.low_bits);
        for plane in 0..low_bits / 8 {
            let what = format!("the low bytes of keys 1 to {}", keys.len() - 1);
            self.part(keys.len() - 1, &format!("column, plane {plane}: {what}"));
        }
        let stream_at = self.at;
        let bit = |i: usize| char::from(b'0' + (self.file[stream_at + i / 8] >> (i % 8) & 1));
        let codes = canonical_codes(&table.code_lengths);
        let middle_bits = 64 - low_bits;
        let (mut code_start, mut raw_end) = (0, 8 * (end - stream_at));
        let (mut lines, mut first_raw) = (String::new(), None);
        for (index, pair) in keys.windows(2).enumerate() {
            let (u, v) = (pair[0] >> low_bits, pair[1] >> low_bits);
            let delta = if table.codec == 1 { u ^ v } else { v - u };
            let class = (delta.leading_zeros() - low_bits) as usize;
            let (&(length, code), _) = codes.iter().find(|(_, found)| **found == class).unwrap();
            let raw_bits = (middle_bits as usize).saturating_sub(1 + class);
            let width = usize::from(length);
            let code_bits: String = (code_start..code_start + width).map(bit).collect();
            assert_eq!(code_bits, format!("{code:0width$b}"));
            let raw: String = (raw_end - raw_bits..raw_end).map(bit).collect();
            let mut what = format!("(class {class})");
            if u == v {
                what = format!("(class {class}, equal)");
            } else if raw_bits > 0 {
                first_raw.get_or_insert(index + 1);
                what += &format!(", raw bits {raw}");
            }
            if table.codec == 2 && u != v {
                let rest = delta - (1 << raw_bits);
                what += &format!(": 0x{u:X} + 2^{raw_bits} + {rest}");
            }
            lines += &format!(
                "        key {}: code {code_bits} {what}  -> 0x{:X}\n",
                index + 1,
                pair[1]
            );
            code_start += width;
            raw_end -= raw_bits;
        }
        let raw_bits = 8 * (end - stream_at) - raw_end;
        let (code_bytes, raw_at) = (code_start.div_ceil(8), stream_at + raw_end / 8);
        self.part(code_bytes, &format!("stream: {code_start} bits of codes"));
        self.text += &lines;
        self.part(raw_at - self.at, "stream: zeros");
        if let Some(first) = first_raw {
            self.part(
                end - raw_at,
                &format!("stream: {raw_bits} raw bits, those of key {first} last"),
            );
        }
        assert_eq!(self.at, end);
    }
}

fn dump() -> String {
    let (file, table) = table(VECTOR);
    let shown = (table.codec, table.low_bits, table.blocks.len());
    assert_eq!(shown, (1, 8, 1), "the text below describes this");

    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("table-header");
    dump.part(2, "bit range: first bit 0, 64 bits");
    dump.part(2, "reserved");
    dump.part(4, "header_crc");
    dump.part(4096 - 64, "padding");
    dump.block(&table, 0);
    dump.part(8, "router: the last key of block 0");
    let classes = table.code_lengths.len();
    let used: Vec<_> = (0..classes).filter(|&class| table.code_lengths[class] > 0).collect();
    dump.part(classes, &format!("codes: lengths of classes {used:?}, 0 for the others"));
    dump.part(classes.next_multiple_of(8) - classes, "padding");
    let mut class = 0;
    while class < classes {
        let zeros = table.histogram[class..].iter().take_while(|&&count| count == 0).count();
        if zeros > 0 {
            dump.part(8 * zeros, &format!("histogram, classes {class} to {}", class + zeros - 1));
            class += zeros;
        } else {
            dump.part(8, &format!("histogram, class {class}"));
            class += 1;
        }
    }
    dump.fields("table-footer");
    assert_eq!(dump.at, file.len());
    dump.text
}

/// Two blocks and the router.
fn dump_blocks() -> String {
    let (file, table) = table(GAP_VECTOR);
    let shown = (table.codec, table.low_bits, table.blocks.len());
    assert_eq!(shown, (2, 0, 2), "the text above describes this");
    let mut dump = Dump { file: &file, at: 4096, text: String::new() };
    for number in 0..2 {
        dump.block(&table, number);
    }
    for number in 0..2 {
        dump.part(8, &format!("router: the last key of block {number}"));
    }
    dump.text
}

fn dump_manifest() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(VECTOR);
    let file = fs::read(root.join("manifest.fps")).unwrap();
    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("manifest-header");
    dump.text += "    section 1: STORE, critical and for writers\n";
    dump.fields("section-header");
    dump.fields("store-section");
    dump.text += "    section 2: SEGMENT, critical and for writers\n";
    dump.fields("section-header");
    dump.fields("segment-section");
    dump.text += "    entry of table 0\n";
    dump.fields("file-entry");
    assert_eq!(dump.at, file.len());
    dump.text
}

/// The entries of a part of the body: `bits` bits each, the lowest bit first.
fn entries(part: &[u8], bits: usize, count: usize) -> Vec<u64> {
    let bit = |at: usize| u64::from(part[at / 8] >> (at % 8) & 1);
    (0..count).map(|i| (0..bits).map(|j| bit(i * bits + j) << j).sum()).collect()
}

fn dump_ids() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(IDS_VECTOR);
    let file = fs::read(root.join("segment-0000000000000001-ids.fpi")).unwrap();
    let header = spec::offsets("ids-header");
    let field = |name: &str| {
        let (offset, bytes) = header[name];
        let bytes = file[offset..offset + bytes.unwrap()].iter().rev();
        bytes.fold(0, |n, &byte| n << 8 | usize::from(byte))
    };
    let (count, blocks, ids, id_bits) =
        (field("count"), field("block_count"), field("id_count"), field("id_bits"));
    assert!(ids > count && ids <= 64, "the text below describes marks of one word");
    let rank_bits = count.next_power_of_two().ilog2() as usize;
    let words = |entries: usize, bits: usize| 8 * (entries * bits).div_ceil(64);

    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("ids-header");
    let listed =
        |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let part = |at: usize, bits, number| entries(&file[at..][..words(number, bits)], bits, number);
    let ranks = listed(part(dump.at, rank_bits, blocks));
    dump.part(words(blocks, rank_bits), &format!("ranks, {rank_bits} bits each: {ranks}"));
    let marks: String = part(dump.at, 1, ids).iter().map(u64::to_string).collect();
    dump.part(words(ids, 1), "marks, one bit each");
    dump.text += &format!("        {marks}: a 1 for the first id of each fingerprint\n");
    let numbers = listed(part(dump.at, id_bits, ids));
    dump.part(words(ids, id_bits), &format!("ids, {id_bits} bits each"));
    for line in numbers.split_inclusive(", ").collect::<Vec<_>>().chunks(12) {
        dump.text += format!("        {}", line.concat()).trim_end();
        dump.text.push('\n');
    }
    dump.part(8, "mark_counts: marks before group 0");
    dump.part(4, "chunk_crcs: that of chunk 0");
    dump.part(4, "directory_crc");
    assert_eq!(dump.at, file.len());
    dump.text
}

/// A base of few rows.
fn dump_base() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(WIDE_VECTOR);
    let file = fs::read(root.join("segment-0000000000000001-base.fpb")).unwrap();
    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("base-header");
    let store = oracle::read_store(&root).unwrap();
    for (number, row) in store.fingerprints().iter().enumerate() {
        let digits: String = row.iter().map(|byte| format!("{byte:02X}")).collect();
        dump.part(row.len(), &format!("row {number}: 0x{}", digits.trim_start_matches('0')));
    }
    dump.part(4, "chunk_crcs: that of chunk 0");
    dump.part(4, "directory_crc");
    assert_eq!(dump.at, file.len());
    dump.text
}

/// A part table of few rows, with one group.
fn dump_part() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(WIDE_VECTOR);
    let file = fs::read(root.join("segment-0000000000000001-part-001.fpp")).unwrap();
    let store = oracle::read_store(&root).unwrap();
    let count = store.fingerprints().len();
    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("part-header");
    dump.part(8, "starts, 32 bits each: 0, and padding");
    let marks = entries(&file[dump.at..][..16], 1, count + 64);
    dump.part(16, "marks, one bit each: 1 for a row, 0 behind a key");
    let mut rows = entries(&file[dump.at..][..8], 3, count).into_iter();
    for (key, run) in marks.split(|&mark| mark == 0).enumerate() {
        for row in rows.by_ref().take(run.len()) {
            dump.text += &format!("        key {key}: row {row}\n");
        }
    }
    dump.part(8, "rows, 3 bits each, as listed");
    dump.part(4, "chunk_crcs: that of chunk 0");
    dump.part(4, "directory_crc");
    assert_eq!(dump.at, file.len());
    dump.text
}

/// A log of a store with ids and without windows.
fn dump_log() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(LOG_VECTOR);
    let file = fs::read(root.join("log-0000000000000001.fpl")).unwrap();
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))
    };
    let header = spec::offsets("log-record");
    let field = |record: usize, name: &str| {
        let (offset, bytes) = header[name];
        number(record + offset, bytes.unwrap())
    };
    let mut dump = Dump { file: &file, at: 0, text: String::new() };
    dump.fields("log-header");
    dump.part(32, "note: it says nothing");
    for record in 1.. {
        let start = dump.at;
        if start == file.len() {
            break;
        }
        dump.text += &format!("    record {record}\n");
        dump.fields("log-record");
        let end = dump.at + field(start, "payload_bytes") as usize;
        let mut sequence = field(start, "first_sequence");
        while dump.at < end {
            let at = dump.at + 1;
            let fingerprint = number(at, 8);
            let (bytes, what) = match file[dump.at] {
                1 => (17, format!("insert {fingerprint:#X} with id {:#X}", number(at + 8, 8))),
                2 => (17, format!("delete id {:#X} of {fingerprint:#X}", number(at + 8, 8))),
                _ => (9, format!("delete {fingerprint:#X} with all ids")),
            };
            dump.part(bytes, &format!("operation {sequence}: {what}"));
            sequence += 1;
        }
        let padding = (end - start + 4).next_multiple_of(8) - 4 - (end - start);
        if padding > 0 {
            dump.part(padding, "padding");
        }
        dump.part(4, "payload_crc");
    }
    dump.text
}

/// The document with `dump` behind the marker, up to the next heading.
fn replaced(document: &str, marker: &str, dump: &str) -> String {
    let marker = format!("<!-- {marker} -->\n");
    let (before, after) = document.split_once(&marker).unwrap();
    let behind = after.find("\n#").map_or("", |heading| &after[heading..]);
    format!("{before}{marker}\n{dump}{behind}")
}

#[test]
fn the_annotated_files_of_the_document_are_the_vectors() {
    let of_format: &[(&str, String)] =
        &[("annotated", dump()), ("annotated manifest", dump_manifest())];
    let of_examples: &[(&str, String)] = &[
        ("annotated blocks", dump_blocks()),
        ("annotated ids", dump_ids()),
        ("annotated log", dump_log()),
        ("annotated base", dump_base()),
        ("annotated part", dump_part()),
    ];
    for (document, dumps) in [("FORMAT.md", of_format), ("EXAMPLES.md", of_examples)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec").join(document);
        let mut expected = fs::read_to_string(&path).unwrap();
        for (marker, dump) in dumps {
            expected = replaced(&expected, marker, dump);
        }
        if std::env::var_os("FPSTORE_BLESS").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap() == expected,
            "a dump of {document} is another (FPSTORE_BLESS=1 writes it)"
        );
    }
}
