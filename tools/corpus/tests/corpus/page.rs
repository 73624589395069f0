//! The page that shows what was removed.

use std::collections::BTreeMap;

use fpstore_corpus::Stored;
use fpstore_text::{Found, Signature};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use serde_json::json;

use super::*;

/// What stands in texts and ids to break out of them, and what a reader is to see of it.
const HOSTILE: [(&str, &str); 20] = [
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("</p></section></details></main><h1>", "</p></section></details></main><h1>"),
    ("\"><img src=x onerror='alert(1)'>", "\"><img src=x onerror='alert(1)'>"),
    ("<!-- ", "<!-- "),
    ("</style><style>*{display:none}", "</style><style>*{display:none}"),
    ("&lt;b&gt; &amp;#60; &copy", "&lt;b&gt; &amp;#60; &copy"),
    ("]]><![CDATA[<?php", "]]><![CDATA[<?php"),
    ("</del></ins><textarea><title>", "</del></ins><textarea><title>"),
    ("\u{202e}live\u{202c}", "U+202EliveU+202C"),
    ("\u{2067}a\u{2069}\u{2066}", "U+2067aU+2069U+2066"),
    ("\u{61c}\u{200e}\u{200f}", "U+061CU+200EU+200F"),
    ("a\u{0}b\u{1b}[31m\u{7f}\u{85}", "aU+0000bU+001B[31mU+007FU+0085"),
    ("zero\u{200b}width\u{feff}\u{ad}", "zeroU+200BwidthU+FEFFU+00AD"),
    ("lone\rreturn\r\nline", "loneU+000Dreturn\nline"),
    ("tag\u{e0041}\u{e007f}", "tagU+E0041U+E007F"),
    ("\u{2028}\u{2029}", "U+2028U+2029"),
    ("می\u{200c}خواهم שלום", "می\u{200c}خواهم שלום"),
    ("👩\u{200d}👧 é 漢字", "👩\u{200d}👧 é 漢字"),
    ("<svg/onload=alert(1)>", "<svg/onload=alert(1)>"),
    ("javascript:alert`1`", "javascript:alert`1`"),
];

/// An element or a text of a page.
#[derive(Debug, Default)]
struct Node {
    name: String,
    class: String,
    text: String,
    children: Vec<Node>,
}

impl Node {
    /// All that stands in it, without what only those hear who do not see it.
    fn seen(&self) -> String {
        match &*self.class {
            "h" => String::new(),
            _ => self.text.clone() + &self.children.iter().map(Node::seen).collect::<String>(),
        }
    }

    fn all<'a>(&'a self, is: &dyn Fn(&Node) -> bool, to: &mut Vec<&'a Node>) {
        for child in &self.children {
            if is(child) {
                to.push(child);
            }
            child.all(is, to);
        }
    }

    fn named(&self, name: &str) -> Vec<&Node> {
        let mut found = Vec::new();
        self.all(&|node| node.name == name, &mut found);
        found
    }
}

/// Parses a page: every element is closed where it should be, and none is there that does anything.
fn parsed(page: &str) -> Node {
    const NAMES: [&str; 28] = [
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "h4", "p",
        "code", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "details",
        "summary", "div", "section", "bdi", "del", "ins",
    ];
    const ATTRIBUTES: [&str; 11] = [
        "tabindex",
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "scope",
        "dir",
        "open",
        "style",
    ];
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut open = vec![Node::default()];
    for token in Tokenizer::new_with_emitter(page, emitter) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                assert!(NAMES.contains(&&*name), "{name}");
                let mut node = Node { name, ..Node::default() };
                for (attribute, value) in &tag.attributes {
                    let attribute = std::str::from_utf8(attribute).unwrap();
                    let value = String::from_utf8(value.to_vec()).unwrap();
                    assert!(ATTRIBUTES.contains(&attribute), "{attribute}");
                    assert!(attribute != "style" || value.starts_with("width:"), "{value}");
                    if attribute == "class" {
                        node.class = value;
                    }
                }
                match node.name == "meta" {
                    true => open.last_mut().unwrap().children.push(node),
                    false => open.push(node),
                }
            }
            Token::EndTag(tag) => {
                let node = open.pop().unwrap();
                assert_eq!(node.name.as_bytes(), &**tag.name);
                open.last_mut().unwrap().children.push(node);
            }
            Token::String(text) => {
                let text = String::from_utf8(text.to_vec()).unwrap();
                open.last_mut().unwrap().children.push(Node { text, ..Node::default() });
            }
            Token::Doctype(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(open.len(), 1);
    open.pop().unwrap()
}

fn page_of(output: &Path, threads: usize) -> String {
    Stored::open(output).unwrap().page(threads, 1 << 28, &Monitor::new()).unwrap()
}

/// The texts of all pairs, by what is seen of their ids.
fn texts_of(page: &Node) -> BTreeMap<String, String> {
    let of = |section: &&Node| {
        let text = section.named("p").into_iter().find(|text| text.class == "t")?;
        Some((section.named("bdi").first()?.seen(), text.seen()))
    };
    page.named("section").iter().filter_map(of).collect()
}

#[test]
fn nothing_of_a_text_is_more_than_text() {
    let directory = tempfile::tempdir().unwrap();
    let base = texts(4000);
    let (mut lines, mut expected) = (String::new(), BTreeMap::new());
    for (number, (hostile, seen)) in HOSTILE.iter().enumerate() {
        let base = base[number * 100].split(' ').take(14).collect::<Vec<_>>().join(" ");
        for (copy, word) in ["one", "two"].into_iter().enumerate() {
            let id = format!("{number}{hostile}{copy}");
            let text = format!("{base} {hostile} {word}");
            lines += &format!("{}\n", json!({"id": id, "text": text}));
            expected.insert(format!("{number}{seen}{copy}"), format!("{} {seen} {word}", base));
        }
    }
    // Each ten by themselves.
    for (half, lines) in
        [lines.lines().take(20).collect::<Vec<_>>(), lines.lines().skip(20).collect()]
            .into_iter()
            .enumerate()
    {
        let input = directory.path().join(format!("<b>{half}.jsonl"));
        fs::write(&input, lines.join("\n")).unwrap();
        let output = directory.path().join(half.to_string());
        files(&by("onebit-256").k(80).unwrap(), &input, &output).unwrap();
        let html = page_of(&output, 2);
        let texts = texts_of(&parsed(&html));
        assert_eq!(texts.len(), 20, "{:?}", texts.keys());
        for (id, text) in texts {
            assert_eq!(expected.get(&id), Some(&text), "{id}");
        }
    }
}

#[test]
fn numbers_are_those_of_the_report_and_pairs_the_nearest() {
    // What is kept of complete clusters may be nearer than the threshold.
    for shape in [Shape::Star, Shape::Complete] {
        check_numbers(shape);
    }
}

fn check_numbers(shape: Shape) {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts)).unwrap();
    let output = directory.path().join("out");
    let k = 24;
    let dedup = by("onebit-256").k(k).unwrap().clusters(shape);
    let report = files(&dedup, &input, &output).unwrap();
    let html = page_of(&output, 1);
    assert_eq!(html, page_of(&output, 4), "threads change the page");
    let page = parsed(&html);
    let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
    let rows = |table: usize| -> Vec<Vec<String>> {
        let rows = page.named("table")[table].named("tbody")[0].named("tr").into_iter();
        rows.map(|row| row.children.iter().map(Node::seen).collect()).collect()
    };
    let counts: Vec<(String, u64)> =
        rows(0).iter().map(|row| (row[0].clone(), number(&row[1]))).collect();
    let totals = report.counts;
    let expected = [
        ("kept", totals.kept),
        ("exact duplicates", totals.exact_duplicates),
        ("near duplicates", totals.near_duplicates),
    ];
    assert_eq!(counts, expected.map(|(name, number)| (name.to_string(), number)));
    let title = page.named("h1")[0].seen();
    let removed = totals.documents - totals.kept;
    assert!(title.starts_with(&format!("{removed} of {} documents", totals.documents)), "{title}");
    let sum: u64 = rows(1).iter().map(|row| number(&row[1])).sum();
    assert_eq!(sum, totals.near_duplicates);
    // Every table says what it is.
    assert!(page.named("table").iter().all(|table| table.named("caption").len() == 1));

    // All pairs, by the fingerprints themselves.
    let mut one = Fingerprinter::new(dedup.recipe()).unwrap();
    let bits: Vec<Vec<bool>> = texts
        .iter()
        .map(|text| match one.fingerprint(text.as_bytes()).found {
            Found::Signature(Signature::Bits(bits)) => (0..256).map(|bit| bits.bit(bit)).collect(),
            _ => panic!("{text}"),
        })
        .collect();
    let distance =
        |a: usize, b: usize| bits[a].iter().zip(&bits[b]).filter(|(a, b)| a != b).count() as u64;
    let kept: Vec<usize> = fs::read_to_string(output.join("documents/in.jsonl"))
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64().unwrap()
                as usize
        })
        .collect();
    let mut beyond: Vec<(u64, usize, usize)> = Vec::new();
    for (place, &a) in kept.iter().enumerate() {
        beyond.extend(kept[place + 1..].iter().map(|&b| (distance(a, b), a, b)));
    }
    beyond.retain(|(distance, ..)| *distance > k.into());
    beyond.sort_unstable();
    let mut within: Vec<u64> = rows_of_files(&output)
        .iter()
        .map(|row| row.split(' ').map(str::to_string).collect::<Vec<_>>())
        .filter(|row| row[4] == "near")
        .map(|row| row[3].parse().unwrap())
        .collect();
    within.sort_unstable();
    let told: Vec<String> = page.named("summary").iter().map(|node| node.seen()).collect();
    let farthest = format!("{} bits: ", within.last().unwrap());
    assert!(told[0].starts_with(&farthest), "{told:?} {farthest}");
    let (nearest, a, b) = beyond[0];
    assert_eq!(told[10], format!("{nearest} bits: {a} and {b}"));
    let of_pairs = told[..20].iter().map(|told| number(told.split(' ').next().unwrap()));
    let of_pairs: Vec<u64> = of_pairs.collect();
    assert!(of_pairs[..10].is_sorted_by(|a, b| a >= b) && of_pairs[10..].is_sorted(), "{told:?}");
    // Every pair says what only one of its texts has.
    for pair in
        page.named("details").into_iter().filter(|pair| pair.named("details").is_empty()).take(20)
    {
        let words =
            |name: &str| pair.named(name).iter().map(|node| node.seen()).collect::<String>();
        let sides = pair.named("p");
        assert_eq!(sides.len(), 2);
        let own = |side: usize, other: usize| {
            let other = sides[other].seen();
            let has = |word: &&str| !other.split(' ').any(|own| own == *word);
            sides[side].seen().split(' ').filter(has).map(str::to_string).collect::<Vec<_>>()
        };
        for (name, words_of) in [("del", own(0, 1)), ("ins", own(1, 0))] {
            let marked = words(name);
            assert!(words_of.iter().all(|word| marked.contains(&**word)), "{marked} {words_of:?}");
        }
    }
}

#[test]
fn methods_with_several_values_have_a_page_and_what_is_gone_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts(300))).unwrap();
    for (recipe, told) in [
        ("bands-20x6", "finds only what is near"),
        ("minhash-128", "of 128 values differ"),
        ("sentences", "not in common"),
    ] {
        let output = directory.path().join(recipe);
        files(&by(recipe), &input, &output).unwrap();
        let page = parsed(&page_of(&output, 2)).seen();
        assert!(page.contains(told), "{recipe}: {page}");
    }
    let output = directory.path().join("bands-20x6");
    let refused = |told: &str| {
        let page =
            Stored::open(&output).and_then(|stored| stored.page(1, 1 << 28, &Monitor::new()));
        let error = page.err().unwrap().to_string();
        assert!(error.contains(told), "{error}");
    };
    fs::write(&input, jsonl(&texts(299))).unwrap();
    refused("have changed since they were read");
    fs::remove_file(&input).unwrap();
    refused("is not there any more");
    fs::remove_dir_all(output.join("notes.fpstore")).unwrap();
    refused("state.json: is missing");
    fs::remove_file(output.join("report.json")).unwrap();
    refused("no report of corpus dedup is here");
}
