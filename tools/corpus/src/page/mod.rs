//! A page for people: what was removed and why, and whether the threshold is right.
//!
//! It is one file without scripts, and asks for nothing from anywhere; a policy in its head forbids
//! it. All that comes from documents goes through [`Html::text`].

mod html;
mod pairs;
mod texts;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use fpstore_text::Rule;
use rayon::ThreadPool;

use crate::documents::Inputs;
use crate::error::Error;
use crate::fates::{Fates, Kept, Why};
use crate::ledger::Notes;
use crate::monitor::Monitor;
use crate::report::Report;

use html::Html;
use pairs::{Beyond, Pair};
use words::{Run, beginning, compare};

/// Clusters that are shown, and documents of each.
const CLUSTERS: usize = 10;
const MEMBERS: usize = 3;
/// Rows of the table of distances.
const ROWS: u32 = 20;
/// Characters of an id.
const ID: usize = 200;

/// What is looked at, and how.
pub struct Looking<'a> {
    pub inputs: &'a Inputs,
    pub pool: &'a ThreadPool,
    pub memory: u64,
    pub monitor: &'a Monitor,
}

/// A large cluster.
struct Cluster {
    kept: u32,
    /// Documents, with the one that is kept.
    size: u64,
    /// Those that differ the most from what they match.
    members: Vec<Pair>,
}

/// Makes the page.
pub fn page(
    looking: &Looking<'_>,
    report: &Report,
    notes: &Notes,
    fates: &Fates,
    rule: Rule,
    bits: Option<u32>,
) -> Result<String, Error> {
    let within = pairs::within(notes, fates);
    let beyond = pairs::beyond(looking, notes, fates, rule, bits)?;
    let clusters = largest(notes, fates);
    let members = clusters.iter().flat_map(|cluster| &cluster.members);
    let shown = within.iter().chain(&beyond.pairs).chain(members);
    let shown = shown.flat_map(|pair| [pair.one, pair.other]);
    let shown: BTreeSet<u32> = shown.chain(clusters.iter().map(|cluster| cluster.kept)).collect();
    let wanted = report.settings.options().wanted(None);
    let (memory, monitor) = (looking.memory / 16, looking.monitor);
    let texts = texts::texts(&shown, looking.inputs, &wanted, notes, memory, monitor)?;
    let mut ids = HashMap::new();
    for &document in &shown {
        ids.insert(document, notes.id(document)?);
    }
    let mut page = Page { html: Html::default(), report, rule, fates, ids, texts };
    page.head();
    page.counts();
    page.threshold(&within, &beyond);
    page.distances(notes);
    page.clusters(&clusters);
    page.settings();
    page.html.raw("</main></body></html>\n");
    Ok(page.html.finish())
}

/// The largest clusters around a document of the inputs.
fn largest(notes: &Notes, fates: &Fates) -> Vec<Cluster> {
    let mut sizes = vec![0u32; notes.documents as usize];
    let root_of = |document: u32| match fates.verdict(document)?.kept {
        Kept::Document(kept) => Some(kept),
        Kept::Earlier(_) => None,
    };
    for kept in (0..notes.documents).filter_map(root_of) {
        if let Some(size) = sizes.get_mut(kept as usize) {
            *size += 1;
        }
    }
    let mut largest: Vec<u32> = (0..notes.documents).collect();
    largest.retain(|document| sizes[*document as usize] > 0);
    largest.sort_by_key(|document| (Reverse(sizes[*document as usize]), *document));
    largest.truncate(CLUSTERS);
    let mut clusters: BTreeMap<u32, Vec<Pair>> =
        largest.iter().map(|kept| (*kept, Vec::new())).collect();
    for document in 0..notes.documents {
        let Some(verdict) = fates.verdict(document) else { continue };
        let (Kept::Document(kept), Kept::Document(matched)) = (verdict.kept, verdict.matched)
        else {
            continue;
        };
        if let Some(members) = clusters.get_mut(&kept) {
            members.push(Pair { distance: verdict.distance, one: matched, other: document });
            members.sort_by_key(|pair| (Reverse(pair.distance), pair.other));
            members.truncate(MEMBERS);
        }
    }
    let cluster = |kept: u32| Cluster {
        kept,
        size: 1 + u64::from(sizes[kept as usize]),
        members: clusters.remove(&kept).unwrap_or_default(),
    };
    largest.into_iter().map(cluster).collect()
}

/// The page while it grows.
struct Page<'a> {
    html: Html,
    report: &'a Report,
    rule: Rule,
    fates: &'a Fates,
    ids: HashMap<u32, String>,
    texts: HashMap<u32, String>,
}

impl Page<'_> {
    fn head(&mut self) {
        let counts = &self.report.counts;
        let removed = counts.documents.saturating_sub(counts.kept);
        self.html
            .raw(concat!(
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">",
                "<meta http-equiv=\"Content-Security-Policy\" ",
                "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">",
                "<meta name=\"referrer\" content=\"no-referrer\">",
                "<title>Duplicates in a corpus</title><style>\n",
                include_str!("style.css"),
                "</style></head>\n<body><main>\n<h1>"
            ))
            .number(removed)
            .raw(" of ")
            .number(counts.documents)
            .raw(" documents are removed (")
            .percent(removed, counts.documents)
            .raw(")</h1>\n<p>They are duplicates of others, by the recipe <code>");
        let recipe = &self.report.settings.recipe;
        self.html.text(recipe.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" ").as_str());
        self.html.raw("</code>: near each other means ");
        let near = self.near();
        self.html.text(&near).raw(".</p>\n");
    }

    /// What is near, in words.
    fn near(&self) -> String {
        match self.rule {
            Rule::Within { k } => format!("within {k} bits"),
            Rule::Equal { least, of } => format!("{least} of {of} values equal"),
            Rule::Common { least } => format!("{least} values in common"),
            Rule::Jaccard { threshold } => format!("a similarity of {threshold}"),
            _ => "as the method says".to_string(),
        }
    }

    /// By how much two documents differ, in words.
    fn distance(&self, distance: u32) -> String {
        match self.rule {
            Rule::Within { .. } if distance == 1 => "1 bit".to_string(),
            Rule::Within { .. } => format!("{distance} bits"),
            Rule::Equal { of, .. } => format!("{distance} of {of} values differ"),
            _ => format!("{distance}% not in common"),
        }
    }

    fn counts(&mut self) {
        let counts = self.report.counts;
        let rows = [
            ("kept", counts.kept, "", true),
            ("exact duplicates", counts.exact_duplicates, "with the text of another one", true),
            ("near duplicates", counts.near_duplicates, "near another one", true),
            ("known", counts.in_store, "near one of the earlier corpus", counts.in_store > 0),
            ("too few features", counts.too_few_features, "compared exactly only", false),
            ("without a text", counts.without_text, "kept", false),
            ("invalid UTF-8", counts.invalid_utf8, "replaced for the comparison", false),
            ("skipped", counts.skipped, "bad records, which are no documents", false),
        ];
        self.html.raw(concat!(
            "<table><caption>What became of the documents</caption><thead><tr>",
            "<th scope=\"col\">Documents</th><th scope=\"col\" class=\"n\">Number</th>",
            "<th scope=\"col\" class=\"n\">Share</th><th scope=\"col\">Note</th></tr></thead><tbody>\n"
        ));
        for (name, number, note, is_always) in rows {
            if number == 0 && !is_always {
                continue;
            }
            let all = counts.documents + if name == "skipped" { number } else { 0 };
            self.html.raw("<tr><th scope=\"row\">").raw(name);
            self.html.raw("</th><td class=\"n\">").number(number);
            self.html.raw("</td><td class=\"n\">").percent(number, all);
            self.html.raw("</td><td>").raw(note).raw("</td></tr>\n");
        }
        self.html.raw("</tbody></table>\n");
    }

    fn threshold(&mut self, within: &[Pair], beyond: &Beyond) {
        let has_k = matches!(self.rule, Rule::Within { .. });
        self.html.raw("<h2>Is the threshold right?</h2>\n<p>");
        self.html.raw(concat!(
            "Read the pairs on both sides of it. If those that were removed are not the same to you, ",
            "it is too wide; if those that were kept are, it is too narrow."
        ));
        if has_k {
            self.html.raw(concat!(
                " Another one is tried without reading the documents again: ",
                "<code>fpstore corpus decide DIR -k K</code>"
            ));
        }
        self.html.raw("</p>\n<h3>Just within: one of each pair was removed</h3>\n");
        if within.is_empty() {
            self.html.raw("<p>There are no near duplicates.</p>\n");
        }
        for (place, pair) in within.iter().enumerate() {
            self.pair(pair, place < 2);
        }
        self.html.raw("<h3>Just beyond: both of each pair were kept</h3>\n");
        if let Some((from, of)) = beyond.sampled {
            self.html.raw("<p>Looked for from ").number(from).raw(" of ").number(of);
            self.html.raw(" documents that are kept.</p>\n");
        }
        match &beyond.reach {
            None => {
                self.html.raw(concat!(
                    "<p>This method finds only what is near, and tells nothing of what is a little ",
                    "farther away.</p>\n"
                ));
            }
            Some(reach) if beyond.pairs.is_empty() => {
                self.html.raw("<p>As far as it was looked, there is none: up to ");
                self.html.text(reach).raw(".</p>\n");
            }
            Some(_) => {}
        }
        for (place, pair) in beyond.pairs.iter().enumerate() {
            self.pair(pair, place < 2);
        }
    }

    /// Two documents, side by side.
    fn pair(&mut self, pair: &Pair, is_open: bool) {
        let (one, other) = (self.text_of(pair.one), self.text_of(pair.other));
        let sides = compare(&one, &other);
        self.html.raw(if is_open { "<details open><summary>" } else { "<details><summary>" });
        let distance = self.distance(pair.distance);
        self.html.text(&distance).raw(": ");
        self.id(pair.one);
        self.html.raw(" and ");
        self.id(pair.other);
        self.html.raw("</summary><div class=\"two\">\n");
        let marks = [
            ("<del><span class=\"h\">[only here: </span>", "<span class=\"h\">]</span></del>"),
            ("<ins><span class=\"h\">[only here: </span>", "<span class=\"h\">]</span></ins>"),
        ];
        let documents = [pair.one, pair.other];
        for ((runs, document), mark) in sides.iter().zip(documents).zip(marks) {
            let is_kept = self.fates.keeps(document as usize);
            self.html.raw("<section><h4>");
            self.id(document);
            self.html.raw(if is_kept { " (kept)</h4>" } else { " (removed)</h4>" });
            self.runs(runs, mark);
            self.html.raw("</section>\n");
        }
        self.html.raw("</div></details>\n");
    }

    fn text_of(&self, document: u32) -> String {
        self.texts.get(&document).cloned().unwrap_or_default()
    }

    fn id(&mut self, document: u32) {
        let id = self.ids.get(&document).map_or("", |id| id);
        let end = id.char_indices().nth(ID).map(|(end, _)| end);
        self.html.raw("<bdi>").text(&id[..end.unwrap_or(id.len())]);
        self.html.raw(if end.is_some() { "…</bdi>" } else { "</bdi>" });
    }

    /// Parts of a text, in whatever direction it is written.
    fn runs(&mut self, runs: &[Run], (open, close): (&'static str, &'static str)) {
        self.html.raw("<p class=\"t\" dir=\"auto\" lang=\"\" tabindex=\"0\">");
        for run in runs {
            match run {
                Run::Both(text) => self.html.text(text),
                Run::Own(text) => self.html.raw(open).text(text).raw(close),
                Run::Cut(words) => {
                    self.html.raw("<bdi class=\"c\" lang=\"en\">[… ").number(*words as u64);
                    self.html.raw(" more …]</bdi>")
                }
            };
        }
        self.html.raw("</p>");
    }

    fn distances(&mut self, notes: &Notes) {
        let fates = self.fates;
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for document in 0..notes.documents {
            if fates.why.get(document as usize) == Some(&Why::Near) {
                let distance = fates.fates.get(document as usize).map(|fate| fate.difference);
                *counts.entry(distance.unwrap_or_default().into()).or_default() += 1;
            }
        }
        let Some(farthest) = counts.last_key_value().map(|(distance, _)| *distance) else { return };
        let farthest = if let Rule::Within { k } = self.rule { k.max(farthest) } else { farthest };
        let step = farthest / ROWS + 1;
        let rows: Vec<(u32, u64)> = (0..=farthest)
            .step_by(step as usize)
            .map(|from| (from, counts.range(from..from + step).map(|(_, count)| count).sum()))
            .collect();
        let most = rows.iter().map(|(_, count)| *count).max().unwrap_or_default().max(1);
        self.html.raw(concat!(
            "<h2>Distances</h2>\n<p>Where few documents lie near the threshold, it separates ",
            "duplicates from the rest; where many do, look at them above.</p>\n<table class=\"w\">",
            "<caption>Near duplicates by the distance to the document that they match</caption>",
            "<thead><tr><th scope=\"col\" class=\"n\">"
        ));
        self.html.raw(match self.rule {
            Rule::Within { .. } => "Bits",
            Rule::Equal { .. } => "Values",
            _ => "Percent",
        });
        self.html.raw(concat!(
            "</th><th scope=\"col\" class=\"n\">Documents</th>",
            "<th scope=\"col\" class=\"b\"><span class=\"h\">Bar</span></th></tr></thead><tbody>\n"
        ));
        for (from, count) in rows {
            self.html.raw("<tr><th scope=\"row\" class=\"n\">").number(from.into());
            if step > 1 {
                self.html.raw("–").number((from + step - 1).min(farthest).into());
            }
            self.html.raw("</th><td class=\"n\">").number(count);
            self.html.raw("</td><td class=\"b\"><span style=\"width:");
            self.html.percent(count, most).raw("\"></span></td></tr>\n");
        }
        self.html.raw("</tbody></table>\n");
    }

    fn clusters(&mut self, clusters: &[Cluster]) {
        let counts = self.report.counts;
        self.html.raw("<h2>The largest clusters</h2>\n<p>").number(counts.clusters);
        self.html.raw(" clusters have two documents and more, the largest ");
        self.html.number(counts.largest_cluster).raw(".");
        if counts.in_store > 0 {
            self.html.raw(" Those around a document of the earlier corpus are not shown.");
        }
        self.html.raw("</p>\n");
        for cluster in clusters {
            self.html.raw("<details><summary>").number(cluster.size).raw(" documents: ");
            self.id(cluster.kept);
            self.html.raw(" is kept</summary><div class=\"two\"><section><h4>The text of ");
            self.id(cluster.kept);
            self.html.raw("</h4>");
            let text = self.text_of(cluster.kept);
            self.runs(&beginning(&text), ("", ""));
            self.html.raw("</section></div><div class=\"two\"><section><h4>");
            self.html.raw("Those that differ the most from what they match</h4></section></div>\n");
            for pair in &cluster.members {
                self.html.raw("<div class=\"m\">");
                self.pair(pair, false);
                self.html.raw("</div>");
            }
            self.html.raw("</details>\n");
        }
    }

    fn settings(&mut self) {
        let settings = &self.report.settings;
        let mut rows = vec![
            ("Recipe", settings.recipe.clone()),
            ("Kept of a cluster", settings.keep.clone()),
            ("Clusters", settings.clusters.clone()),
            ("Files", settings.given.join(", ")),
        ];
        rows.extend(settings.verify.clone().map(|verify| ("Verified by", verify)));
        rows.extend(settings.against.clone().map(|store| ("Earlier corpus", store)));
        self.html.raw(concat!(
            "<h2>Settings</h2>\n<table><caption>How it was decided</caption><thead><tr>",
            "<th scope=\"col\">Setting</th><th scope=\"col\">Value</th></tr></thead><tbody>\n"
        ));
        for (name, value) in rows {
            self.html.raw("<tr><th scope=\"row\">").raw(name).raw("</th><td><bdi>");
            self.html.text(&value).raw("</bdi></td></tr>\n");
        }
        self.html.raw("</tbody></table>\n");
    }
}
