//! `evaluate`: how well recipes find near duplicates.

use serde_json::Value;

use crate::Scratch;

/// Texts that have little in common, of the words of a generator.
fn texts(scratch: &Scratch, count: u64) {
    let lines: String = (0..count)
        .map(|text| {
            let words: Vec<String> = (0..120)
                .map(|word| {
                    let mixed = (text * 1000 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let (start, end) = match word % 12 {
                        0 => ("W", ""),
                        11 => ("w", "."),
                        _ => ("w", ""),
                    };
                    format!("{start}{}{end}", mixed >> 52)
                })
                .collect();
            format!("{{\"id\":{text},\"text\":\"{}\"}}\n", words.join(" "))
        })
        .collect();
    scratch.write("texts.jsonl", lines);
}

fn rows(scratch: &Scratch, line: &str) -> Vec<Value> {
    let printed = scratch.run(&format!("{line} --json -q")).succeeds().stdout;
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recipes_are_measured_on_changed_copies() {
    let scratch = Scratch::new();
    texts(&scratch, 40);
    let line = "evaluate texts.jsonl --recipe onebit-256 --recipe projection-64 -k 7";
    let told = rows(&scratch, line);
    assert_eq!(told.len(), 6);
    assert_eq!((&told[0]["recipe"], &told[0]["k"]), (&"onebit-256".into(), &40.into()));
    assert_eq!((&told[0]["which"], &told[1]["which"]), (&"rule".into(), &"best f1".into()));
    let number = |row: &Value, name: &str| row[name].as_f64().unwrap();
    assert!(number(&told[0], "recall") > 0.9, "{}", told[0]);
    assert!(number(&told[0], "precision") > 0.5, "{}", told[0]);
    assert!(number(&told[1], "f1") >= number(&told[0], "f1"));
    assert_eq!(number(&told[0], "bytes_per_document"), 32.0);
    assert!(number(&told[0], "megabytes_per_second") > 0.0);
    // Times differ, and nothing else.
    let again = rows(&scratch, line);
    assert!(told.iter().zip(&again).all(|(one, other)| one["f1"] == other["f1"]));
    let printed = scratch.run("evaluate texts.jsonl --recipe exact -q").succeeds().stdout;
    assert!(printed.starts_with("exact is recommended: it finds "), "{printed}");
    assert_eq!(printed.lines().count(), 6, "{printed}");
    assert!(printed.contains("\nAll, the best first:\nrecipe "), "{printed}");
}

#[test]
fn the_fewest_bytes_of_nearly_the_best_are_recommended() {
    let scratch = Scratch::new();
    texts(&scratch, 40);
    let recipes = "--recipe exact --recipe minhash-128 --recipe onebit-256 --recipe bands-20x6 \
                   --recipe simhash-64 --recipe onebit-64 --recipe exact-sha256";
    let line = format!("evaluate texts.jsonl {recipes}");
    let rows = rows(&scratch, &line);
    let f1 = |row: &Value| row["f1"].as_f64().unwrap();
    let bytes = |row: &Value| row["bytes_per_document"].as_f64().unwrap();
    let recommended: Vec<&Value> = rows.iter().filter(|row| row["recommended"] == true).collect();
    assert_eq!(recommended.len(), 1);
    // Of the others the k of the rule alone can be used.
    let takes_k = |row: &Value| {
        let recipe = row["recipe"].as_str().unwrap();
        recipe.starts_with("onebit") || recipe.starts_with("simhash")
    };
    let usable = || rows.iter().filter(|row| takes_k(row) || row["which"] == "rule");
    let most = usable().map(f1).fold(0.0, f64::max);
    assert!(f1(recommended[0]) >= most - 0.01);
    let nearly = usable().filter(|row| f1(row) >= most - 0.01);
    assert_eq!(bytes(recommended[0]), nearly.map(bytes).fold(f64::MAX, f64::min));
    let printed = scratch.run(&format!("{line} -q")).succeeds().stdout;
    let name = recommended[0]["recipe"].as_str().unwrap();
    let start = match takes_k(recommended[0]) {
        true => format!("{name} with k = {} is recommended", recommended[0]["k"]),
        false => format!("{name} is recommended"),
    };
    assert!(printed.starts_with(&start), "{printed}");
    let tables: Vec<&str> = printed.split("\n\n").collect();
    let of = |table: &str| -> Vec<String> {
        table.lines().skip(2).map(|line| line[..31].trim().to_string()).collect()
    };
    // Five recipes, each once; then seven with two rows each, by F1.
    let best = of(tables[1]);
    assert_eq!(best.len(), 5);
    assert!((1..5).all(|i| !best[..i].contains(&best[i])), "{best:?}");
    let mut sorted: Vec<f64> = rows.iter().map(f1).collect();
    sorted.sort_by(|one, other| other.total_cmp(one));
    assert_eq!(of(tables[2]).len(), 14);
    for (line, f1) in tables[2].lines().skip(2).zip(sorted) {
        assert!(line.contains(&format!("{f1:.4}")), "{line} {f1}");
    }
}

#[test]
fn where_no_pair_is_to_be_found_nothing_is_recommended() {
    let scratch = Scratch::new();
    scratch.write("none.tsv", "text_a\ttext_b\tlabel\na b c d e f\tg h i j k l\tno\n");
    let printed = scratch.run("evaluate --pairs none.tsv --recipe simhash-64 -q").succeeds().stdout;
    assert!(printed.starts_with("No pair is to be found, so that nothing can"), "{printed}");
}

#[test]
fn the_report_draws_two_curves_of_each_recipe() {
    let scratch = Scratch::new();
    texts(&scratch, 10);
    let line = "evaluate texts.jsonl --recipe simhash-64 --recipe minhash-128 -q -o report.html";
    scratch.run(line).succeeds();
    let report = std::fs::read_to_string(scratch.path("report.html")).unwrap();
    assert_eq!(report.matches("<svg ").count(), 5);
    let start = report.split("</h1>").nth(1).unwrap();
    assert!(start.trim_start().starts_with("<p><strong>"), "{start}");
    let place = |what: &str| report.find(what).unwrap_or_else(|| panic!("{what}"));
    assert!(place("is recommended") < place("Precision by recall"));
    assert!(place("Precision by recall") < place("The best recipes, each"));
    assert!(place("The best recipes, each") < place("All recipes, the best first"));
    assert_eq!(report.matches("<svg ").count(), report.matches("</svg>").count());
    assert!(report.contains("text/1 minhash slots=128") && report.ends_with("</body></html>\n"));
    scratch.run(line).fails_naming(&["report.html", "--force"]);
}

#[test]
fn labelled_pairs_are_taken_from_a_file_of_ids_or_of_texts() {
    let scratch = Scratch::new();
    texts(&scratch, 6);
    let text = std::fs::read_to_string(scratch.path("texts.jsonl")).unwrap();
    // Another document with the text of the first.
    scratch.write(
        "texts.jsonl",
        format!("{text}{}", text.lines().next().unwrap().replace("\"id\":0", "\"id\":9") + "\n"),
    );
    let perfect = |rows: Vec<Value>| {
        assert_eq!(
            (&rows[0]["recall"], &rows[0]["precision"]),
            (&1.0.into(), &1.0.into()),
            "{rows:?}"
        );
    };
    let evaluate = "evaluate texts.jsonl --id-column id --recipe simhash-64";
    scratch.write("pairs.csv", "id_a,id_b,label\n0,9,1\n1,2,0\n3,4,false\n");
    perfect(rows(&scratch, &format!("{evaluate} --pairs pairs.csv")));
    scratch.write("pairs.json", "[[\"0\",\"9\"]]");
    perfect(rows(&scratch, &format!("{evaluate} --pairs pairs.json")));
    scratch.write("wrong.csv", "id_a,id_b,label\n0,9,0\n1,2,1\n");
    let wrong = rows(&scratch, &format!("{evaluate} --pairs wrong.csv"));
    assert_eq!((&wrong[0]["recall"], &wrong[0]["precision"]), (&0.0.into(), &0.0.into()));
    scratch.write("core.jsonl", "{\"core_id\":\"0\",\"labelled_duplicates\":[\"9\"]}\n{\"core_id\":\"1\",\"labelled_duplicates\":[]}\n");
    perfect(rows(&scratch, &format!("{evaluate} --pairs core.jsonl")));
    scratch.write("inline.tsv", "text_a\ttext_b\tlabel\na b c d e f g h\ta b c d e f g h\tyes\na b c d e f g h\ti j k l m n o p\tno\n");
    perfect(rows(&scratch, "evaluate --pairs inline.tsv --recipe simhash-64"));
    // Two equal texts are a pair: labelled as none, it is one that is found and should not be.
    scratch.write("equal.tsv", "text_a\ttext_b\tlabel\na b c d e f g h\ta b c d e f g h\tno\n");
    let equal = rows(&scratch, "evaluate --pairs equal.tsv --recipe simhash-64");
    assert_eq!(equal[0]["precision"], 0.0);
    scratch.run("evaluate --pairs pairs.csv").fails_naming(&["pairs.csv", "--id"]);
    scratch.write("strange.csv", "id_a,id_b\nx,y\n");
    scratch.run(&format!("{evaluate} --pairs strange.csv")).fails_naming(&["strange.csv", "--id"]);
}
