//! Every format of input gives the same store, whatever the file is called.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::oracle::{fingerprints, tsv};
use crate::writers::{bzip2, delimited, gzip, jsonl, lz4, npy, npy_bytes, npy_u64, xz, zstd};
use crate::{Scratch, hex, raw};

const NAMES: [&str; 3] = ["url", "fingerprint", "row"];
/// The column with line numbers as ids.
const ROW: &str = "--id-column row";

/// As many of them: more than a piece of any reader holds.
const COUNT: usize = 70_000;

/// The first shipped fingerprints, or of those in the directory that `FPSTORE_ANSWERS` names.
fn devset() -> Vec<u64> {
    let path = match std::env::var_os("FPSTORE_ANSWERS") {
        Some(directory) => Path::new(&directory).join("devset.u64"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/devset-100k.u64"),
    };
    let bytes = fs::read(path).unwrap();
    assert!(bytes.len() >= 800_000);
    bytes.as_chunks::<8>().0.iter().take(COUNT).map(|&bytes| u64::from_le_bytes(bytes)).collect()
}

/// The store of the raw integers with their line numbers as ids, with which all others are
/// compared.
struct Reference {
    scratch: Scratch,
    set: Vec<u64>,
}

impl Reference {
    fn new() -> Self {
        let scratch = Scratch::new();
        let set = devset();
        scratch.pack("raw", &set, "--ids line");
        let dump = scratch.run("dump raw --as ids").succeeds().stdout;
        let mut ids = BTreeMap::<u64, Vec<String>>::new();
        for (line, &fingerprint) in set.iter().enumerate() {
            ids.entry(fingerprint).or_default().push(line.to_string());
        }
        let rows = ids.iter().map(|(fp, ids)| format!("{fp:016x}\t{}\n", ids.join(",")));
        assert!(dump == rows.collect::<String>(), "each fingerprint with all its lines");
        Self { scratch, set }
    }

    /// Packs a file of this name, and expects the same store, file by file. Ids are those that the
    /// options say, or else line numbers.
    #[track_caller]
    fn packs_alike(&self, name: &str, bytes: impl AsRef<[u8]>, options: &str) {
        self.scratch.write(name, bytes);
        let ids = if options.contains("--id-column") { "" } else { "--ids line" };
        self.scratch.run(&format!("pack {name} -o other --quiet {options} {ids}")).succeeds();
        self.is_alike(name);
    }

    #[track_caller]
    fn is_alike(&self, what: &str) {
        let files = |store: &str| -> Vec<(String, Vec<u8>)> {
            let names = self.scratch.listing(store).into_iter().map(|(name, _)| name);
            names
                .map(|name| {
                    let bytes = fs::read(self.scratch.path(store).join(&name)).unwrap();
                    (name, bytes)
                })
                .collect()
        };
        let (raw, other) = (files("raw"), files("other"));
        assert!(raw.len() > 1);
        assert!(raw == other, "{what}: other files");
        fs::remove_dir_all(self.scratch.path("other")).unwrap();
    }

    /// The same with the file compressed, and through a pipe.
    #[track_caller]
    fn packs_alike_in_all_ways(&self, name: &str, bytes: &[u8], options: &str) {
        self.packs_alike(name, bytes, options);
        self.packs_alike(&format!("{name}.gz"), gzip(bytes), options);
        self.packs_alike(&format!("{name}.zst"), zstd(bytes), options);
        self.packs_alike(&format!("{name}.bz2"), bzip2(bytes), options);
        self.packs_alike(&format!("{name}.xz"), xz(bytes), options);
        self.packs_alike(&format!("{name}.lz4"), lz4(bytes), options);
        // Content comes before the name, but for integers, which have nothing but that.
        let raw = if name.ends_with(".u64") { "--format u64le" } else { "" };
        let options = &format!("{options} {raw}");
        self.packs_alike("misleading.txt", zstd(bytes), options);
        self.packs_alike("misleading.gz", bzip2(bytes), options);
        self.packs_alike("unnamed", bytes, options);
        let ids = if options.contains("--id-column") { "" } else { "--ids line" };
        let line = format!("pack - -o other --quiet {options} {ids}");
        self.scratch.run_with(&line, &gzip(bytes)).succeeds();
        self.is_alike(&line);
    }
}

fn signed(fingerprint: u64) -> String {
    (fingerprint as i64).to_string()
}

fn digits(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

#[test]
fn lists_and_raw_integers_give_the_same_store() {
    let reference = Reference::new();
    let set = &reference.set;
    reference.packs_alike_in_all_ways("set.u64", &raw(set), "");
    reference.packs_alike_in_all_ways("set.txt", hex(set).as_bytes(), "");
    let upper: String = set.iter().map(|x| format!("0x{x:X}\r\n")).collect();
    reference.packs_alike_in_all_ways("set.upper", upper.as_bytes(), "");
    let signed: String = set.iter().map(|&x| signed(x) + "\n").collect();
    reference.packs_alike_in_all_ways("set.dec", signed.as_bytes(), "");
    let unsigned: String = set.iter().map(|x| format!("{x} ")).collect();
    reference.packs_alike("set.unsigned", unsigned, "--format dec");
}

#[test]
fn arrays_of_numpy_give_the_same_store() {
    let reference = Reference::new();
    let set = &reference.set;
    reference.packs_alike_in_all_ways("set.npy", &npy_u64(set), "");
    reference.packs_alike_in_all_ways("bytes.npy", &npy_bytes(set), "");
    reference.packs_alike("column.npy", npy(set, &[set.len() as u64, 1]), "--format npy");
    let signed: Vec<i64> = set.iter().map(|&x| x as i64).collect();
    reference.packs_alike("signed.npy", npy(&signed, &[set.len() as u64]), "");
    let little: Vec<u8> = set.iter().flat_map(|x| x.to_le_bytes()).collect();
    reference.packs_alike(
        "little.npy",
        npy(&little, &[set.len() as u64, 8]),
        "--format auto,little",
    );
}

#[test]
fn csv_and_tsv_give_the_same_store() {
    let reference = Reference::new();
    let set = &reference.set;
    reference.packs_alike_in_all_ways("set.csv", &delimited(set, b',', &NAMES, digits), ROW);
    reference.packs_alike_in_all_ways("set.tsv", &delimited(set, b'\t', &NAMES, signed), ROW);
    reference.packs_alike(
        "set.semicolons",
        delimited(set, b';', &NAMES, digits),
        "--format csv --id-column row",
    );
    let phash = delimited(set, b',', &["url", "phash", "fingerprint"], signed);
    let options = "--fingerprint-column phash --id-column fingerprint";
    reference.packs_alike("set.phash", &phash, options);
    // Without a header the columns have numbers.
    let start = phash.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    reference.packs_alike(
        "data.csv",
        &phash[start..],
        "--format auto,no-header --fingerprint-column 2 --id-column 3",
    );
    // A byte order mark, and the line ends of another system.
    let lines: String = set.iter().map(|x| format!("\"{x:016X}\"\r\n")).collect();
    reference.packs_alike("one.csv", format!("\u{feff}phash\r\n{lines}"), "");
}

#[test]
fn json_lines_give_the_same_store() {
    let reference = Reference::new();
    let set = &reference.set;
    reference.packs_alike_in_all_ways("set.jsonl", &jsonl(set, |x| json!(digits(x))), ROW);
    reference.packs_alike("numbers.ndjson", jsonl(set, |x| json!(x)), ROW);
    reference.packs_alike("signed.json", jsonl(set, |x| json!(x as i64)), "--format jsonl");
    reference.packs_alike("texts.json", jsonl(set, |x| json!(signed(x))), ROW);
    let only: String = set.iter().map(|&x| json!({ "phash": digits(x) }).to_string()).collect();
    let lines = only.replace("}{", "}\n\n{");
    reference.packs_alike("only.jsonl", &lines, "");
    reference.packs_alike("only.txt", &lines, "--fingerprint-column phash");
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_files_and_streams_give_the_same_store() {
    use crate::writers::batches::{COLUMNS, batch, batches, file, stream};
    use arrow_ipc::CompressionType;

    let reference = Reference::new();
    let set = &reference.set;
    for (kind, column) in COLUMNS {
        let several = batches(set, column);
        assert!(several.len() > 1);
        // A file cannot have another dictionary for each batch.
        let in_file = match kind {
            "dictionary" => vec![batch(set.len(), column(set))],
            _ => several.clone(),
        };
        reference.packs_alike(&format!("{kind}.arrow"), file(&in_file, None), ROW);
        reference.packs_alike(&format!("{kind}.stream"), stream(&several, None), ROW);
    }
    let batches = batches(set, COLUMNS[0].1);
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        reference.packs_alike("set.feather", file(&batches, Some(compression)), ROW);
        reference.packs_alike("unnamed", stream(&batches, Some(compression)), "--format arrow");
    }
    reference.packs_alike_in_all_ways("set.arrow", &file(&batches, None), ROW);
    reference.packs_alike_in_all_ways("set.arrows", &stream(&batches, None), ROW);
    let other = "--fingerprint-column fingerprint --id-column row";
    reference.packs_alike("named.arrow", file(&batches, None), other);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_gives_the_same_store() {
    use crate::writers::batches::{COLUMNS, batches, parquet};
    use ::parquet::basic::{Compression, GzipLevel, ZstdLevel};

    let reference = Reference::new();
    let set = &reference.set;
    for (kind, column) in COLUMNS {
        let bytes = parquet(&batches(set, column), Compression::UNCOMPRESSED);
        reference.packs_alike(&format!("{kind}.parquet"), bytes, ROW);
    }
    let batches = batches(set, COLUMNS[0].1);
    for compression in [
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        reference.packs_alike("misleading.csv", parquet(&batches, compression), ROW);
    }
    // A regular file on standard input is as good as one with a name.
    let mut command = reference.scratch.command("pack - -o other --quiet --ids line");
    let file = fs::File::open(reference.scratch.path("misleading.csv")).unwrap();
    assert!(command.stdin(file).status().unwrap().success());
    reference.is_alike("standard input");
}

#[test]
fn every_format_of_a_query_file_gives_the_same_answers() {
    let scratch = Scratch::new();
    let set = fingerprints(70, 2000);
    scratch.pack("store", &set, "");
    let queries = &set[..300];
    let expected = tsv(&set, queries, 3);
    #[cfg_attr(not(feature = "arrow"), expect(unused_mut))]
    let mut files = vec![
        ("a.npy", npy_bytes(queries)),
        ("a.csv", delimited(queries, b',', &NAMES, digits)),
        ("a.tsv.gz", gzip(&delimited(queries, b'\t', &NAMES, signed))),
        ("a.jsonl.zst", zstd(&jsonl(queries, |x| json!(x)))),
    ];
    #[cfg(feature = "arrow")]
    {
        use crate::writers::batches::{COLUMNS, batches, file, stream};
        files.push(("a.arrow", file(&batches(queries, COLUMNS[0].1), None)));
        files.push(("a.arrows", stream(&batches(queries, COLUMNS[2].1), None)));
    }
    #[cfg(feature = "parquet")]
    {
        use crate::writers::batches::{COLUMNS, batches, parquet};
        let batches = batches(queries, COLUMNS[1].1);
        files.push(("a.parquet", parquet(&batches, ::parquet::basic::Compression::SNAPPY)));
    }
    for (name, bytes) in files {
        scratch.write(name, &bytes);
        let ran = scratch.run(&format!("query store --from {name}")).succeeds();
        assert!(ran.stdout == expected, "{name}: other rows");
        if name != "a.parquet" {
            let ran = scratch.run_with("query store --from -", &bytes).succeeds();
            assert!(ran.stdout == expected, "{name}: other rows through a pipe");
        }
    }
}

#[test]
fn a_sample_for_a_plan_may_have_any_format() {
    let scratch = Scratch::new();
    let set = fingerprints(71, 3000);
    scratch.write("raw.u64", raw(&set));
    scratch.write("set.csv", delimited(&set, b',', &NAMES, digits));
    let expected = scratch.run("plan --sample raw.u64 --json").succeeds().stdout;
    let ran = scratch.run("plan --sample set.csv --json").succeeds();
    assert_eq!(ran.stdout.replace("set.csv", "raw.u64"), expected);
}
