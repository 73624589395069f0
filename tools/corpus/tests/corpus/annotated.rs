//! All documents with what was decided about them, and no documents at all.

use std::collections::HashMap;

use fpstore_corpus::Written;
use fpstore_text::{Found, Signature};
use serde_json::{Map, Value};

use super::*;

/// The columns that documents get.
const COLUMNS: [&str; 5] = ["cluster", "cluster_size", "kept", "distance", "why"];

/// An id with what separates and quotes in it.
fn id(number: usize) -> String {
    format!("d;\"{number}\", \\")
}

/// An object without its last byte, and the end of its line.
fn lines(texts: &[String]) -> Vec<(String, String)> {
    let line = |(number, text): (usize, &String)| {
        let id = serde_json::to_string(&id(number)).unwrap();
        let (space, end) = [("", "\n"), (" ", "\r\n"), ("\t", " \n")][number % 3];
        (format!("{{\"n\":{number}.0,\"id\":{id} ,\"text\":\"{text}\"{space}"), format!("}}{end}"))
    };
    texts.iter().enumerate().map(line).collect()
}

/// By the table of removed documents, and by the fingerprints themselves.
fn by_definition(texts: &[String], table: &str, by: &Fingerprinter) -> Vec<Map<String, Value>> {
    let rows: Vec<Map<String, Value>> =
        table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let removed: HashMap<&str, &Map<String, Value>> =
        rows.iter().map(|row| (row["id"].as_str().unwrap(), row)).collect();
    let mut by = by.clone();
    let bits: Vec<Vec<bool>> = texts
        .iter()
        .map(|text| match by.fingerprint(text.as_bytes()).found {
            Found::Signature(Signature::Bits(bits)) => (0..256).map(|bit| bits.bit(bit)).collect(),
            _ => Vec::new(),
        })
        .collect();
    let ids: Vec<String> = (0..texts.len()).map(id).collect();
    let numbers: HashMap<&str, usize> =
        ids.iter().enumerate().map(|(number, id)| (&**id, number)).collect();
    let kept: Vec<&str> = ids
        .iter()
        .map(|id| removed.get(&**id).map_or(&**id, |row| row["kept"].as_str().unwrap()))
        .collect();
    let row = |(number, id): (usize, &String)| {
        let (one, other) = (&bits[number], &bits[numbers[kept[number]]]);
        let mut row = Map::new();
        let cluster = rows.iter().find(|row| row["kept"] == kept[number]);
        row.insert("cluster".into(), cluster.map_or(Value::Null, |row| row["cluster"].clone()));
        let size = kept.iter().filter(|other| **other == kept[number]).count();
        row.insert("cluster_size".into(), size.into());
        row.insert("kept".into(), kept[number].into());
        let distance = one.iter().zip(other).filter(|(one, other)| one != other).count();
        row.insert("distance".into(), distance.into());
        let why = removed.get(&**id).map_or("kept".into(), |row| row["why"].clone());
        row.insert("why".into(), why);
        row
    };
    ids.iter().enumerate().map(row).collect()
}

#[test]
fn all_documents_are_written_with_what_was_decided() {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let (json, csv) = (directory.path().join("in.jsonl"), directory.path().join("in.csv"));
    let lines = lines(&texts);
    let whole: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
    // The last one has no line end.
    let whole = whole.trim_end();
    fs::write(&json, whole).unwrap();
    let rows = texts.iter().enumerate().map(|(number, text)| {
        format!("\"{}\";{text};\"a\n\"\"b\"\"\"\r\n", id(number).replace('"', "\"\""))
    });
    let rows: Vec<String> = rows.collect();
    fs::write(&csv, format!("id;text;\"more\"\r\n{}", rows.concat())).unwrap();
    for (number, shape) in [Shape::Star, Shape::Components].into_iter().enumerate() {
        let dedup = by("onebit-256").k(40).unwrap().clusters(shape);
        let output = |name: &str| directory.path().join(format!("{name}-{number}"));
        let report = files(&dedup, &json, &output("kept")).unwrap();
        let table = fs::read_to_string(output("kept").join("removed.jsonl")).unwrap();
        let one = Fingerprinter::new(dedup.recipe()).unwrap();
        let expected = by_definition(&texts, &table, &one);
        assert!(expected.iter().filter(|row| row["why"] == "near").count() > 20);
        // Chains are longer than their links.
        let far = expected.iter().any(|row| row["distance"].as_u64().unwrap() > 40);
        assert_eq!(far, shape == Shape::Components);

        let annotated = dedup.clone().write(Written::Annotated(String::new()));
        files(&annotated, &json, &output("all")).unwrap();
        assert_eq!(fs::read_to_string(output("all").join("removed.jsonl")).unwrap(), table);
        let written = fs::read_to_string(output("all").join("documents/in.jsonl")).unwrap();
        let mut singles = Vec::new();
        let mut rest = &*written;
        for (place, ((line, end), expected)) in lines.iter().zip(&expected).enumerate() {
            rest = rest.strip_prefix(&**line).unwrap();
            let (more, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = behind;
            let end = if place + 1 == lines.len() { "}" } else { end.trim_end_matches('\n') };
            let more = more.strip_suffix(end).unwrap().strip_prefix(',').unwrap();
            let mut found: Map<String, Value> =
                serde_json::from_str(&format!("{{{more}}}")).unwrap();
            if expected["cluster"].is_null() {
                singles.push(found["cluster"].as_u64().unwrap());
                found.insert("cluster".into(), Value::Null);
            }
            assert_eq!(found, *expected);
        }
        let clusters = report.counts.clusters;
        assert!(singles.iter().copied().eq(clusters..clusters + singles.len() as u64));

        files(&annotated, &csv, &output("csv")).unwrap();
        let written = fs::read_to_string(output("csv").join("documents/in.csv")).unwrap();
        let mut rest = written
            .strip_prefix("id;text;\"more\";cluster;cluster_size;kept;distance;why\r\n")
            .unwrap();
        for row in &rows {
            rest = rest.strip_prefix(row.trim_end()).unwrap();
            rest = &rest[rest.find("\r\n").unwrap() + 2..];
        }
        assert_eq!(rest, "");
        let of_json = fs::read_to_string(output("all").join("documents/in.jsonl")).unwrap();
        let of_json = serde_json::Deserializer::from_str(&of_json).into_iter::<Value>();
        let mut table = csv::ReaderBuilder::new().delimiter(b';').from_reader(written.as_bytes());
        let of_csv = table.deserialize::<HashMap<String, String>>();
        for (one, other) in of_json.zip(of_csv) {
            let (one, other) = (one.unwrap(), other.unwrap());
            for column in COLUMNS {
                let value = one[column].as_str().map_or(one[column].to_string(), str::to_string);
                assert_eq!(other[column], value, "{column}");
            }
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_get_columns_and_keep_their_own() {
    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, RecordBatch, StringArray, types};
    use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};

    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let ids: ArrayRef = Arc::new((0..300).map(|n| Some(n.to_string())).collect::<StringArray>());
    let column: ArrayRef = Arc::new(texts.iter().map(Some).collect::<StringArray>());
    let rows = RecordBatch::try_from_iter([("id", ids), ("text", column)]).unwrap();
    let path = directory.path().join("in.parquet");
    let mut writer =
        ArrowWriter::try_new(fs::File::create(&path).unwrap(), rows.schema(), None).unwrap();
    // Several groups.
    for from in (0..300).step_by(100) {
        writer.write(&rows.slice(from, 100)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    fs::write(directory.path().join("in.jsonl"), jsonl(&texts)).unwrap();
    let dedup = by("onebit-256").write(Written::Annotated("x_".to_string()));
    let (of_rows, of_json) = (directory.path().join("rows"), directory.path().join("json"));
    files(&dedup, &path, &of_rows).unwrap();
    files(&dedup, &directory.path().join("in.jsonl"), &of_json).unwrap();
    let file = fs::File::open(of_rows.join("documents/in.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let names: Vec<&str> = reader.schema().fields().iter().map(|field| &**field.name()).collect();
    assert_eq!(
        names,
        ["id", "text", "x_cluster", "x_cluster_size", "x_kept", "x_distance", "x_why"]
    );
    assert_eq!(reader.schema().fields()[..2], rows.schema().fields()[..]);
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let lines = fs::read_to_string(of_json.join("documents/in.jsonl")).unwrap();
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for batch in batches {
        for row in 0..batch.num_rows() {
            let line = lines.next().unwrap();
            let number =
                |place: usize| batch.column(place).as_primitive::<types::UInt64Type>().value(row);
            let text = |place: usize| batch.column(place).as_string::<i32>().value(row);
            let distance = batch.column(5).as_primitive::<types::UInt16Type>().value(row);
            assert_eq!(line["text"], text(1));
            assert_eq!(
                (&line["x_cluster"], &line["x_cluster_size"]),
                (&number(2).into(), &number(3).into())
            );
            assert_eq!((&line["x_kept"], &line["x_why"]), (&text(4).into(), &text(6).into()));
            assert_eq!(line["x_distance"], distance);
        }
    }
    assert!(lines.next().is_none());
}

#[test]
fn columns_that_are_there_are_refused_and_a_prefix_helps() {
    let directory = tempfile::tempdir().unwrap();
    let all = Written::Annotated(String::new());
    for (name, text, told) in [
        (
            "a.jsonl",
            "{\"id\":1,\"text\":\"a\"}\n{\"id\":2,\"text\":\"b\",\"k\\u0065pt\":null}\n",
            "a.jsonl:2",
        ),
        ("b.csv", "id,text, why \n1,a,b\n", "b.csv"),
        ("c.tsv", "id\ttext\tcluster\n1\ta\tb\n", "c.tsv"),
    ] {
        let (path, output) = (directory.path().join(name), directory.path().join("out"));
        fs::write(&path, text).unwrap();
        let dedup = by("simhash-64").write(all.clone());
        let error = files(&dedup, &path, &output).err().unwrap().to_string();
        assert!(error.contains(told) && error.contains("such as annotated:dedup_"), "{error}");
        // As the message advises.
        files(&dedup.write("annotated:dedup_".parse().unwrap()), &path, &output).unwrap();
        let written = fs::read_to_string(output.join("documents").join(name)).unwrap();
        assert!(written.contains("dedup_cluster_size"), "{written}");
        fs::remove_dir_all(&output).unwrap();
    }
    let (path, output) = (directory.path().join("a.txt"), directory.path().join("out"));
    fs::write(&path, "plain").unwrap();
    let error = files(&by("simhash-64").write(all), &path, &output).err().unwrap().to_string();
    assert!(error.contains("plain file") && error.contains("write nothing"), "{error}");
    assert!(!output.exists());
}

#[test]
fn nothing_is_written_but_the_table_and_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts(300))).unwrap();
    let (kept, output) = (directory.path().join("kept"), directory.path().join("out"));
    let dedup = by("simhash-64");
    files(&dedup, &input, &kept).unwrap();
    let nothing = dedup.write(Written::Nothing);
    files(&nothing, &input, &output).unwrap();
    // Again it says the same, and misses no documents.
    files(&nothing, &input, &output).unwrap();
    assert!(!output.join("documents").exists());
    for name in ["removed.jsonl", "report.txt"] {
        assert_eq!(fs::read(output.join(name)).unwrap(), fs::read(kept.join(name)).unwrap());
    }
}
