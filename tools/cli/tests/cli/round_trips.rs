//! Parquet through DuckDB and back: what `query`, `dedup` and `join` write is read by another
//! program, and what that writes is packed. And through `corpus dedup`, whatever types pyarrow can
//! write.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use crate::Scratch;
use crate::oracle::fingerprints;

/// Prints the rows of three files as the tool prints them, and writes what is to be packed.
const SCRIPT: &str = r#"
import duckdb

con = duckdb.connect()


def ids(values):
    return ",".join(str(value) for value in values)


def rows(sql):
    return con.execute(sql).fetchall()


with open("matches.tsv", "w") as out:
    for name, query, match, distance, found in rows("select * from 'matches.parquet'"):
        out.write(f"{name}\t{query:016x}\t{match:016x}\t{distance}\t{ids(found)}\n")
with open("clusters.tsv", "w") as out:
    for fingerprint, found, cluster, kept, keep in rows("select * from 'clusters.parquet'"):
        word = "keep" if keep else "drop"
        out.write(f"{fingerprint:016x}\t{ids(found)}\t{cluster}\t{kept:016x}\t{word}\n")
copies = {
    "matched.parquet": "select distinct match as fingerprint from 'matches.parquet'",
    "matched.csv": "select distinct match as fingerprint from 'matches.parquet'",
    "kept.parquet": "select fingerprint, unnest(ids) as id from 'clusters.parquet' where keep",
    "pairs-again.parquet": "select * from 'pairs.parquet' order by random()",
    "queries-again.parquet": "select distinct query_id as name, query from 'matches.parquet'",
}
for name, sql in copies.items():
    con.execute(f"copy ({sql}) to '{name}'")
"#;

/// An interpreter that has a package: that of an environment which is made once, where Python and
/// its packages can be had.
fn python(package: &str) -> Result<PathBuf, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package);
    let python = place.join("bin/python");
    let works = || {
        let mut command = Command::new(&python);
        command.args(["-c", &format!("import {package}")]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if works() {
        return Ok(python);
    }
    for args in [
        vec!["python3", "-m", "venv", place.to_str().unwrap()],
        vec![python.to_str().unwrap(), "-m", "pip", "install", "--quiet", package],
    ] {
        let output = Command::new(args[0]).args(&args[1..]).output();
        let output = output.map_err(|error| format!("{}: {error}", args[0]))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(words.lines().last().unwrap_or("no reason is given").to_string());
        }
    }
    if works() { Ok(python) } else { Err(format!("{package} cannot be imported")) }
}

#[test]
fn tables_go_through_duckdb_and_back() {
    let python = match python("duckdb") {
        Ok(python) => python,
        Err(reason) => {
            println!("SKIPPED: DuckDB for Python cannot be had here: {reason}");
            return;
        }
    };
    let scratch = Scratch::new();
    let set = fingerprints(250, 4000);
    let table = |prefix: &str, set: &[u64]| -> String {
        let rows = set.iter().enumerate().map(|(row, x)| format!("{x:016x},{prefix}{row}\n"));
        std::iter::once("fingerprint,name\n".to_string()).chain(rows).collect()
    };
    scratch.write("in.csv", table("http://x/", &set));
    scratch.write("queries.csv", table("q", &set[..500]));
    scratch.run("pack in.csv -o store --quiet --id-column name").succeeds();
    let query = "query store --from queries.csv --query-id-column name -k 5";
    let dedup = "dedup store -k 5 --quiet";
    let join = "join store -k 5 --quiet --as ids";
    for (line, name) in [(query, "matches"), (dedup, "clusters"), (join, "pairs")] {
        let line = crate::tables::written_as(line, "parquet");
        scratch.run(&format!("{line} -o {name}.parquet")).succeeds();
    }
    let output = Command::new(python).args(["-c", SCRIPT]).current_dir(scratch.path(".")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let matches = scratch.run(query).succeeds().stdout;
    assert!(matches.lines().count() > 600, "{}", matches.lines().count());
    assert!(fs::read_to_string(scratch.path("matches.tsv")).unwrap() == matches);
    let clusters = scratch.run(dedup).succeeds().stdout;
    assert!(fs::read_to_string(scratch.path("clusters.tsv")).unwrap() == clusters);

    let field = |row: &str, at: usize| row.split('\t').nth(at).unwrap().to_string();
    let mut matched: Vec<String> = matches.lines().map(|row| field(row, 2)).collect();
    matched.sort_unstable();
    matched.dedup();
    for name in ["matched.parquet", "matched.csv"] {
        scratch.run(&format!("pack {name} -o matched --quiet --force")).succeeds();
        let dumped = scratch.run("dump matched").succeeds().stdout;
        assert!(dumped.lines().eq(&matched), "{name}");
    }
    scratch.run("pack kept.parquet -o kept --quiet --id-column id").succeeds();
    let kept = scratch.run("dump kept --as ids").succeeds().stdout;
    let expected = clusters.lines().filter(|row| row.ends_with("\tkeep"));
    let with_ids = |row: &str| format!("{}\t{}", field(row, 0), field(row, 1));
    assert!(kept.lines().eq(expected.map(with_ids)));

    let merge = "--as tsv --quiet";
    let pairs = scratch.run(&format!("merge-pairs pairs.parquet {merge}")).succeeds().stdout;
    let again = scratch.run(&format!("merge-pairs pairs-again.parquet {merge}")).succeeds().stdout;
    assert!(pairs.lines().count() > 100 && pairs == again);
    let line = format!("{dedup} --pairs pairs-again.parquet");
    assert!(scratch.run(&line).succeeds().stdout == clusters);

    let line = "query store --from queries-again.parquet --fingerprint-column query -k 5 \
                --query-id-column name";
    let sorted = |text: &str| {
        let mut rows: Vec<String> = text.lines().map(str::to_string).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(sorted(&scratch.run(line).succeeds().stdout), sorted(&matches));
}

#[test]
fn every_type_of_parquet_comes_out_as_it_went_in() {
    let python = match python("pyarrow") {
        Ok(python) => python,
        Err(reason) => {
            println!("SKIPPED: pyarrow cannot be had here: {reason}");
            return;
        }
    };
    let scratch = Scratch::new();
    let ran = |what: &str| {
        let script = include_str!("round_trips/every_type.py");
        let mut command = Command::new(&python);
        command.args(["-c", script, what]).current_dir(scratch.path("."));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    ran("write");
    scratch.run("corpus dedup in --recipe simhash-64 --id-column id -o out -q").succeeds();
    let told = ran("compare");
    let files: usize = told.trim_end().strip_suffix(" files").unwrap_or(&told).parse().unwrap();
    assert!(files > 250, "{told}");
}
