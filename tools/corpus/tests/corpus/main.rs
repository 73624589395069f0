//! Documents from files and from iterators, stopped and gone on with.

mod again;
mod annotated;
mod months;
mod page;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fpstore_corpus::{
    Decided, Dedup, Document, DocumentOptions, Error, Event, Inputs, Keep, Kept, Monitor, Report,
    Shape, TableShape, Verify,
};
use fpstore_text::Fingerprinter;

/// Texts of which many are those before them, or nearly.
fn texts(count: usize) -> Vec<String> {
    let mut random = 7u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % bound
    };
    let mut all: Vec<Vec<String>> = Vec::new();
    for _ in 0..count {
        let own = match below(3) {
            0 if !all.is_empty() => {
                let mut words = all[below(all.len() as u64) as usize].clone();
                for _ in 0..below(3) {
                    let at = below(words.len() as u64) as usize;
                    words[at] = format!("w{}", below(5000));
                }
                words
            }
            _ => (0..40).map(|_| format!("w{}", below(5000))).collect(),
        };
        all.push(own);
    }
    all.iter().map(|words| words.join(" ")).collect()
}

fn documents(texts: &[String]) -> impl Iterator<Item = Document<'_>> {
    texts.iter().enumerate().map(|(number, text)| Document {
        text: Cow::Borrowed(text.as_bytes()),
        id: number.to_string().into(),
        extra: Some((number % 7).to_string().into()),
    })
}

fn jsonl(texts: &[String]) -> String {
    let lines = texts.iter().enumerate().map(|(number, text)| {
        format!("{{\"id\":{number},\"rank\":{},\"text\":\"{text}\"}}\n", number % 7)
    });
    lines.collect()
}

fn by(recipe: &str) -> Dedup {
    let one = Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
    Dedup::new(one).removed(TableShape::Jsonl).threads(2)
}

/// The rows of the table of removed documents, of those fields that a session knows.
fn rows(decided: &Decided) -> Vec<String> {
    let rows = (0..decided.documents()).filter_map(|document| {
        let verdict = decided.verdict(document)?;
        assert!(!decided.keeps(document));
        let jaccard = verdict.jaccard.map_or("null".to_string(), |share| format!("{share:?}"));
        Some(format!(
            "{} {} {} {} {} {jaccard}",
            decided.id(document).unwrap(),
            decided.name(&verdict.kept).unwrap(),
            decided.name(&verdict.matched).unwrap(),
            verdict.distance,
            verdict.why.name()
        ))
    });
    rows.collect()
}

fn rows_of_files(output: &Path) -> Vec<String> {
    let text = fs::read_to_string(output.join("removed.jsonl")).unwrap();
    let rows = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_string();
        format!(
            "{} {} {} {} {} {}",
            text("id"),
            text("kept"),
            text("matched"),
            row["distance"],
            text("why"),
            row["jaccard"]
        )
    });
    rows.collect()
}

fn files(dedup: &Dedup, input: &Path, output: &Path) -> Result<Report, Error> {
    let options = DocumentOptions::new().id("id");
    let inputs = Inputs::find(&[input.to_path_buf()], &options)?;
    dedup.files(&inputs, &options, output)
}

#[test]
fn documents_of_iterators_are_decided_as_those_of_files() {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts)).unwrap();
    let jaccard: Verify = "jaccard:0.7".parse().unwrap();
    let cases = [
        by("onebit-256").k(40).unwrap(),
        by("onebit-256").k(40).unwrap().keep(Keep::Longest).clusters(Shape::Components),
        by("simhash-64").k(12).unwrap().keep("max:rank".parse().unwrap()).verify(jaccard),
        by("bands-20x6").keep(Keep::SmallestId).clusters(Shape::Complete),
    ];
    for (number, dedup) in cases.into_iter().enumerate() {
        let output = directory.path().join(number.to_string());
        let report = files(&dedup, &input, &output).unwrap();
        let mut session = dedup.session().unwrap();
        // In pieces of any size.
        session.add(documents(&texts).take(1)).unwrap();
        session.add(documents(&texts).skip(1)).unwrap();
        let decided = session.finish().unwrap();
        let expected = rows_of_files(&output);
        assert!(expected.len() > 50, "{number}");
        assert_eq!(rows(&decided), expected, "{number}");
        let (own, other) = (&decided.report().counts, &report.counts);
        assert_eq!(serde_json::to_value(own).unwrap(), serde_json::to_value(other).unwrap());
    }
}

#[test]
fn what_is_contained_in_a_longer_document_is_removed() {
    let mut texts = texts(200);
    for (number, text) in texts.iter_mut().enumerate().filter(|(number, _)| number % 3 == 0) {
        let words = text.split(' ').skip(number % 5).take(10 + number % 7);
        *text = words.collect::<Vec<_>>().join(" ");
    }
    let words: Vec<BTreeSet<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    // By the definition, where all pairs come from the recipe: the longest first.
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|document| std::cmp::Reverse(texts[*document].len()));
    let is_in = |a: usize, b: usize| {
        let common = words[a].intersection(&words[b]).count() as f64;
        common / words[a].len().min(words[b].len()) as f64 >= 0.9
    };
    let mut kept: Vec<usize> = Vec::new();
    for document in order {
        if !kept.iter().any(|other| is_in(*other, document)) {
            kept.push(document);
        }
    }
    let dedup = by("simhash-64 n=1").k(64).unwrap().keep(Keep::Longest);
    let mut session = dedup.verify("containment:0.9".parse().unwrap()).session().unwrap();
    session.add(documents(&texts)).unwrap();
    let decided = session.finish().unwrap();
    let mut short = 0;
    for document in 0..decided.documents() {
        let place = document as usize;
        assert_eq!(decided.keeps(document), kept.contains(&place), "{document}");
        let Some(verdict) = decided.verdict(document) else { continue };
        let Kept::Document(longer) = verdict.kept else { panic!("{verdict:?}") };
        let longer = longer as usize;
        assert!(texts[longer].len() >= texts[place].len() && is_in(longer, place));
        let (common, all) = (
            words[longer].intersection(&words[place]).count(),
            words[longer].union(&words[place]).count(),
        );
        assert_eq!(verdict.jaccard, Some((common as f64 / all as f64) as f32));
        short += u32::from(2 * words[place].len() < words[longer].len());
    }
    assert!(short > 20, "{short}");
}

/// Stops at an event of so great a number.
fn stopping_at(number: u64) -> Monitor {
    let cancel = Arc::new(AtomicBool::new(false));
    let (stop, seen) = (Arc::clone(&cancel), AtomicU64::new(0));
    Monitor::new().cancel(cancel).on_event(move |event| {
        let counts = matches!(event, Event::Read { .. } | Event::Step { .. });
        if counts && seen.fetch_add(1, Ordering::Relaxed) == number {
            stop.store(true, Ordering::Relaxed);
        }
    })
}

fn is_stopped(error: &Error) -> bool {
    matches!(error, Error::Stopped | Error::Store(fpstore::Error::Cancelled))
}

#[test]
fn a_session_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let dedup = by("simhash-64").checkpoint(Duration::ZERO);
    let mut whole = dedup.session().unwrap();
    whole.add(documents(&texts)).unwrap();
    let whole = whole.finish().unwrap();
    let place = directory.path().join("work");
    let decided = loop {
        // A hundred at a time, and the second hundred is the last that is noted.
        let mut session = dedup.clone().monitor(stopping_at(1)).session_in(&place).unwrap();
        let from = session.documents() as usize;
        let stopped = (from..300)
            .step_by(100)
            .try_for_each(|from| session.add(documents(&texts).skip(from).take(100)));
        match stopped.and_then(|()| session.finish()) {
            Ok(decided) => break decided,
            Err(error) => assert!(is_stopped(&error), "{error}"),
        }
        let noted = dedup.session_in(&place).unwrap().documents();
        assert!(noted > from as u64 || from == 300, "{noted}");
        if noted == 300 {
            // Deciding starts over.
            break dedup.session_in(&place).unwrap().finish().unwrap();
        }
    };
    assert_eq!(rows(&decided), rows(&whole));
    // What is decided is there again, and takes no more.
    let mut again = dedup.session_in(&place).unwrap();
    assert!(again.add(documents(&texts)).unwrap_err().to_string().contains("takes no more"));
    assert_eq!(rows(&again.finish().unwrap()), rows(&whole));
    let other = dedup.keep(Keep::Longest).session_in(&place);
    assert!(matches!(other.err(), Some(Error::OfAnother { .. })));
}

#[test]
fn files_that_were_stopped_come_out_as_if_they_had_not_been() {
    let directory = tempfile::tempdir().unwrap();
    let texts = texts(300);
    let input = directory.path().join("in.jsonl");
    fs::write(&input, jsonl(&texts)).unwrap();
    let (whole, output) = (directory.path().join("whole"), directory.path().join("out"));
    let dedup = by("simhash-64").checkpoint(Duration::ZERO);
    files(&dedup, &input, &whole).unwrap();
    let mut stops = 0;
    for number in 0..1000 {
        match files(&dedup.clone().monitor(stopping_at(number)), &input, &output) {
            Ok(_) => break,
            Err(error) => assert!(is_stopped(&error), "{error}"),
        }
        stops += 1;
    }
    assert!((3..1000).contains(&stops), "{stops}");
    for name in ["documents/in.jsonl", "removed.jsonl", "report.json", "report.txt"] {
        assert_eq!(fs::read(whole.join(name)).unwrap(), fs::read(output.join(name)).unwrap());
    }
}

#[test]
fn what_does_not_go_together_says_why() {
    let refused = |error: Option<Error>, part: &str| {
        let told = error.unwrap().to_string();
        assert!(told.contains(part), "{told}");
    };
    refused(by("onebit-256").k(257).err(), "k = 257: is more than the bits");
    refused(by("bands-20x6").k(3).err(), "not compared by a distance");
    refused(by("simhash-64").memory(1 << 20).session().err(), "memory cannot be 1 MiB");
    let mut session = by("simhash-64").keep("max:rank".parse().unwrap()).session().unwrap();
    session.add(["one two", "three four"].map(Document::of)).unwrap();
    refused(session.finish().err(), "`rank`: none of 2 documents has a value in it");
    let mut session = by("simhash-64").keep("max:rank".parse().unwrap()).session().unwrap();
    let document = Document { extra: Some("high".into()), ..Document::of("one two") };
    refused(session.add([document]).err(), "document 0, column \"rank\"");
}
