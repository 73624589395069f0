//! Results that are looked at, and decided again.

use super::*;

#[test]
fn results_are_shown_in_a_page_and_decided_again() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", jsonl(&texts(31, 200, 40)));
    let line = "a.jsonl --id-column id --removed jsonl";
    run(&scratch, &format!("{line} -k 20 --write annotated:x_ -o out"));
    scratch.run("corpus report out -o page.html -q").succeeds();
    let page = fs::read(scratch.path("page.html")).unwrap();
    let text = String::from_utf8(page.clone()).unwrap();
    let kept = counts(&scratch, "out")["kept"].as_u64().unwrap();
    assert!(text.contains(&format!("<h1>{} of 200 documents", 200 - kept)), "{text}");
    scratch.run("corpus report out -o page.html").fails_naming(&["page.html", "--force"]);
    scratch.run("corpus report out -o a.jsonl -f").fails_naming(&["a.jsonl: is an input"]);
    assert_eq!(scratch.run("corpus report out -o - -q").succeeds().stdout, text);

    run(&scratch, &format!("{line} -k 45 --keep longest --write annotated:x_ -o scratch"));
    let ran = scratch.run("corpus decide out -k 45 --keep longest").ends_with_code(0);
    assert!(ran.stderr.contains("within 45 bits"), "{}", ran.stderr);
    assert!(tree(&scratch.path("out")) == tree(&scratch.path("scratch")));
    // A summary in JSON is the report.
    let json = scratch.run("corpus decide out -k 45 --keep longest --json").succeeds().stdout;
    let report = fs::read_to_string(scratch.path("out/report.json")).unwrap();
    let [json, report] = [json, report].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(json, report);
    scratch.run("corpus report out -o - --json").fails_naming(&["corpus report", "--json"]);
    scratch.run("corpus decide out --tmp-dir .").fails_naming(&["leave --tmp-dir out"]);
    scratch.run("corpus decide out -k 257").fails_naming(&["-k 257"]);
    scratch.run("corpus decide out --keep max:rank").fails_naming(&["was decided by longest"]);
    scratch.run("corpus decide a -k 3").fails_naming(&["a: no report of corpus dedup is here"]);
    // What is noted goes, and the results stay.
    fs::remove_dir_all(scratch.path("out/notes.fpstore")).unwrap();
    scratch.run("corpus decide out -k 3").fails_naming(&["notes.fpstore/state.json: is missing"]);
    let line = format!("{line} -k 45 --keep longest --write annotated:x_ -o out");
    run(&scratch, &line);
}
