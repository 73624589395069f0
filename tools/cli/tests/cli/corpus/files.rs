//! Inputs of all formats, damaged ones, and odd documents.

use std::io::Write;

use super::*;

#[test]
fn documents_come_out_as_they_went_in() {
    let scratch = Scratch::new();
    let texts = texts(5, 120, 40);
    let lines = jsonl(&texts);
    let csv: String = texts
        .iter()
        .map(|text| format!("{},\"{}\",\"a \"\"b\"\"\n\"\r\n", text.id, text.text))
        .collect();
    let csv = format!("id,text,more\r\n{csv}");
    fs::create_dir(scratch.path("in")).unwrap();
    scratch.write("in/a.jsonl", &lines);
    scratch.write("in/b.csv", &csv);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines.as_bytes()).unwrap();
    scratch.write("in/c.jsonl.gz", gzip.finish().unwrap());
    scratch.write("in/d.jsonl.zst", zstd::stream::encode_all(lines.as_bytes(), 1).unwrap());
    scratch.write("in/e.txt", "one text that is by itself and like nothing else here");
    scratch.write("in/f.md", &texts[0].text);
    run(&scratch, "in/a.jsonl --id-column id --recipe simhash-64 -k 3 -o one");
    let alone = fs::read_to_string(scratch.path("one/documents/a.jsonl")).unwrap();
    assert!(alone.lines().all(|line| lines.contains(line)) && alone.len() < lines.len());

    // Each file by itself gives the same documents.
    for (name, unpack) in [
        (
            "c.jsonl.gz",
            (|bytes: Vec<u8>| {
                let mut text = String::new();
                std::io::Read::read_to_string(
                    &mut flate2::read::GzDecoder::new(&bytes[..]),
                    &mut text,
                )
                .unwrap();
                text
            }) as fn(Vec<u8>) -> String,
        ),
        ("d.jsonl.zst", |bytes| {
            String::from_utf8(zstd::stream::decode_all(&bytes[..]).unwrap()).unwrap()
        }),
    ] {
        run(&scratch, &format!("in/{name} --id-column id --recipe simhash-64 -k 3 -o out-{name}"));
        let bytes = fs::read(scratch.path(&format!("out-{name}/documents/{name}"))).unwrap();
        assert_eq!(unpack(bytes), alone, "{name}");
    }
    run(&scratch, "in/b.csv --id-column id --recipe simhash-64 -k 3 -o out-csv");
    let records = fs::read_to_string(scratch.path("out-csv/documents/b.csv")).unwrap();
    let expected: String = kept(&scratch, "one/documents/a.jsonl")
        .iter()
        .map(|id| texts.iter().find(|text| text.id == *id).unwrap())
        .map(|text| format!("{},\"{}\",\"a \"\"b\"\"\n\"\r\n", text.id, text.text))
        .collect();
    assert_eq!(records, format!("id,text,more\r\n{expected}"));

    // All together: what comes first is kept.
    run(&scratch, "in --recipe simhash-64 -k 3 -o all --removed jsonl");
    assert_eq!(fs::read_to_string(scratch.path("all/documents/a.jsonl")).unwrap(), alone);
    assert_eq!(
        fs::read_to_string(scratch.path("all/documents/b.csv")).unwrap(),
        "id,text,more\r\n"
    );
    assert!(
        scratch.path("all/documents/e.txt").exists()
            && !scratch.path("all/documents/f.md").exists()
    );
    let last = removed(&scratch, "all").pop().unwrap();
    assert_eq!((last["id"].as_str(), last["why"].as_str()), (Some("in/f.md"), Some("exact")));
    assert_eq!(last["kept"], "in/a.jsonl:1");
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_keep_their_columns() {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};

    let scratch = Scratch::new();
    let texts = texts(6, 300, 40);
    scratch.write("in.jsonl", jsonl(&texts));
    let column = |get: &dyn Fn(&Text) -> String| -> ArrayRef {
        Arc::new(texts.iter().map(|text| Some(get(text))).collect::<StringArray>())
    };
    let ranks: ArrayRef =
        Arc::new(texts.iter().map(|text| Some(text.rank as f64)).collect::<Float64Array>());
    let rows = RecordBatch::try_from_iter([
        ("body", column(&|text| text.text.clone())),
        ("rank", ranks),
        ("key", column(&|text| text.id.clone())),
    ]);
    let rows = rows.unwrap();
    let file = fs::File::create(scratch.path("in.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    for keep in ["first", "max:rank"] {
        let options = format!("--recipe onebit-128 --keep {keep}");
        let to = format!("-o json-{keep} --removed parquet");
        run(&scratch, &format!("in.jsonl --id-column id {options} {to}"));
        run(
            &scratch,
            &format!("in.parquet --text-column body --id-column key {options} -o rows-{keep}"),
        );
        let path = scratch.path(&format!("rows-{keep}/documents/in.parquet"));
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap();
        assert_eq!(reader.schema(), &rows.schema());
        let keys: Vec<String> = reader
            .build()
            .unwrap()
            .flat_map(|batch| {
                let batch = batch.unwrap();
                batch
                    .column(2)
                    .as_string::<i32>()
                    .iter()
                    .map(|key| key.unwrap().to_string())
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(keys, kept(&scratch, &format!("json-{keep}/documents/in.jsonl")), "{keep}");
        // The tables of what was removed say the same.
        let removed =
            |of: &str| fs::read(scratch.path(&format!("{of}-{keep}/removed.parquet"))).unwrap();
        assert_eq!(removed("rows"), removed("json"), "{keep}");
    }
}

#[test]
fn odd_documents_are_compared_exactly_and_counted() {
    let scratch = Scratch::new();
    let long = "word ".repeat(2_000_000);
    let mut lines: Vec<u8> = Vec::new();
    for text in
        ["", "", "...", "!!!", "...", "a", "a", "\u{2028}", &long, &format!("{long}s"), &long]
    {
        writeln!(lines, "{}", json!({"text": text})).unwrap();
    }
    // No UTF-8, and not the same bytes.
    lines.extend_from_slice(
        b"{\"text\":\"\xff\"}\n{\"text\":\"\xfe\"}\n{\"text\":\"\xff\"}\n{\"text\":null}\n",
    );
    scratch.write("in.jsonl", &lines);
    run(&scratch, "in.jsonl --recipe simhash-64 -o out --removed jsonl");
    let ids: Vec<(String, String)> = removed(&scratch, "out")
        .iter()
        .map(|row| {
            (row["id"].as_str().unwrap().to_string(), row["kept"].as_str().unwrap().to_string())
        })
        .collect();
    let pair = |one: u32, kept: u32| (format!("in.jsonl:{one}"), format!("in.jsonl:{kept}"));
    assert_eq!(ids, [pair(5, 3), pair(7, 6), pair(11, 9), pair(14, 12)]);
    let counts = counts(&scratch, "out");
    assert_eq!(
        (counts["invalid_utf8"].as_u64(), counts["near_duplicates"].as_u64()),
        (Some(3), Some(0))
    );
    // Null or empty: of the duplicates of nothing none is removed, and somebody is told.
    assert_eq!(counts["without_text"], 3);
    let report = fs::read_to_string(scratch.path("out/report.txt")).unwrap();
    assert!(report.contains("without a text                 3"), "{report}");
    // Kept lines are the lines of the file, whatever is in them.
    let kept = fs::read(scratch.path("out/documents/in.jsonl")).unwrap();
    let expected: Vec<&[u8]> = lines
        .split_inclusive(|byte| *byte == b'\n')
        .zip(1..)
        .filter(|(_, line)| ![5, 7, 11, 14].contains(line))
        .map(|(line, _)| line)
        .collect();
    assert_eq!(kept, expected.concat());
}

#[test]
fn damaged_inputs_are_refused_with_place_and_remedy() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",}\n{\"text\":\"c\"}\n");
    let refused = |line: &str, parts: &[&str]| {
        scratch
            .run(&format!("corpus dedup {line} --recipe simhash-64 --quiet"))
            .fails_naming(parts);
    };
    refused(
        "a.jsonl -o out",
        &["a.jsonl: line 2: no JSON object", "give one object on each line", "--on-error skip"],
    );
    scratch.write("b.csv", "id,text\n1,a\n2,b,c\n");
    refused("b.csv -o b", &["b.csv: line 3: 3 fields, where the first line has 2"]);
    refused(
        "b.csv --text-column body -o c",
        &["b.csv: no column \"body\"; there are \"id\", \"text\""],
    );
    let zst = zstd::stream::encode_all("{\"text\":\"a\"}\n".repeat(9999).as_bytes(), 3).unwrap();
    scratch.write("c.jsonl.zst", &zst[..zst.len() - 5]);
    refused(
        "c.jsonl.zst -o d",
        &["c.jsonl.zst: byte ", "cannot decompress zstd", "fetch it again"],
    );
    scratch.write("d.parquet", "PAR1 and nothing else");
    refused("d.parquet -o e", &["d.parquet"]);
    refused("none.jsonl -o f", &["none.jsonl: cannot open", "check the path"]);
    refused("- -o g", &["-: documents are read twice"]);
    refused("a.jsonl -k 65 -o h", &["-k 65", "64"]);
    refused("a.jsonl --keep max:rank --id-column id --add --against s -o i", &["a.jsonl: line 1"]);
    scratch.write("e.jsonl", "{\"text\":\"a\",\"rank\":1}\n{\"text\":\"b\"}\n");
    for keep in ["max:rnak", "priority:rnak=1"] {
        refused(
            &format!("e.jsonl --keep {keep} -o k-{}", keep.len()),
            &[keep, "none of 2 documents has a value in `rnak`"],
        );
    }
    scratch.run("corpus dedup e.jsonl --recipe simhash-64 --keep max:rank -o k -q").succeeds();
    scratch
        .run("corpus dedup a.jsonl --recipe simhash-65 -o j")
        .fails_naming(&["recipe `simhash-65`", "is no recipe"]);
    scratch
        .run("corpus dedup a.jsonl --recipe bands-20x6 -k 3 -o j")
        .fails_naming(&["-k 3", "leave it out"]);

    let ran =
        scratch.run("corpus dedup a.jsonl --recipe simhash-64 --on-error skip -o skipped --quiet");
    let ran = ran.ends_with_code(0);
    assert!(
        ran.stderr.starts_with("fpstore: skipped: a.jsonl: line 2: no JSON object"),
        "{ran:#?}"
    );
    assert_eq!(
        fs::read_to_string(scratch.path("skipped/documents/a.jsonl")).unwrap(),
        "{\"text\":\"a\"}\n{\"text\":\"c\"}\n"
    );
}

#[test]
fn a_directory_of_something_else_is_refused() {
    let scratch = Scratch::new();
    let texts = texts(7, 50, 30);
    scratch.write("in.jsonl", jsonl(&texts));
    run(&scratch, "in.jsonl --recipe simhash-64 -k 3 -o out");
    let first = tree(&scratch.path("out"));
    // The same again is done already.
    run(&scratch, "in.jsonl --recipe simhash-64 -k 3 -o out -j 1 --memory 100MiB");
    assert_eq!(tree(&scratch.path("out")), first);
    let refused = |line: &str, parts: &[&str]| {
        scratch.run(&format!("corpus dedup {line} --quiet")).fails_naming(parts);
    };
    refused(
        "in.jsonl --recipe simhash-64 -k 4 -o out",
        &["out: is the output of another command", "k (there 3, here 4)"],
    );
    refused(
        "in.jsonl --recipe onebit-64 -k 3 -o out",
        &["recipe (there", "name another directory"],
    );
    scratch.write("in.jsonl", jsonl(&texts[1..]));
    refused("in.jsonl --recipe simhash-64 -k 3 -o out", &["the input files, or their times"]);
    assert_eq!(tree(&scratch.path("out")), first);
    fs::create_dir(scratch.path("full")).unwrap();
    scratch.write("full/file", "mine");
    refused("in.jsonl --recipe simhash-64 -k 3 -o full", &["full: is not empty"]);
}

#[cfg(target_os = "linux")]
#[test]
fn documents_in_flight_are_within_the_memory() {
    let scratch = Scratch::new();
    let mut random = Random(12);
    let mut lines = String::new();
    // More by far than is allowed, so few that all of them would be in flight.
    for number in 0..24 {
        let mut text = String::new();
        while text.len() < 4 << 20 {
            text.push_str(&format!("{:x} ", random.below(u64::MAX)));
        }
        lines.push_str(&format!("{{\"text\":\"{number} {text}\"}}\n"));
    }
    scratch.write("in.jsonl", lines);
    let line = "corpus dedup in.jsonl --recipe simhash-64 -o out -j 2 --memory 64MiB --quiet";
    let peak = crate::peak::peak_of(&mut scratch.command(line));
    assert!((8 << 10..=64 << 10).contains(&peak), "{peak} KiB");
}

#[test]
fn results_among_the_inputs_are_refused() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("in")).unwrap();
    scratch.write("in/a.txt", "some text");
    for output in ["in/clean", "in/deep/er", "in", "./in/../in/clean"] {
        let line = format!("corpus dedup in --recipe simhash-64 -o {output}");
        scratch.run(&line).fails_naming(&[output, "lies in in"]);
    }
    run(&scratch, "in --recipe simhash-64 -o inside");
}
