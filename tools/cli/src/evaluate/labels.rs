//! Labelled pairs of texts, as the public sets have them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use fpstore_records::cell::Cell;
use fpstore_records::rows::{Kind, LONGEST, Limits, Lookup, Piece, Row, Rows, Want};
use fpstore_records::{Counter, Layout, Origin, Problem, Stream, delimiter, excerpt};
use fpstore_text::Fingerprinter;
use fpstore_text::evaluate::Labelled;
use serde_json::value::RawValue;

use super::Args;
use super::measure::Work;
use super::texts::Texts;
use crate::failure::Failure;
use crate::memory;
use crate::target::failure;

/// Bytes of ids or texts at most: all are in memory.
const MAX_BYTES: usize = 1 << 30;

const IDS: [[&str; 2]; 4] = [["id_a", "id_b"], ["a", "b"], ["id1", "id2"], ["id_1", "id_2"]];
const TEXTS: [[&str; 2]; 3] = [["text_a", "text_b"], ["text1", "text2"], ["text_1", "text_2"]];
const LABEL: [&str; 4] = ["label", "duplicate", "is_duplicate", "labels"];
const LISTS: [&str; 2] = ["labelled_duplicates", "duplicates"];
const OWN: [&str; 2] = ["core_id", "id"];

/// A pair, and whether it is labelled a duplicate, where it has a label.
struct Pair {
    ends: [String; 2],
    label: Option<bool>,
}

/// What a file of pairs holds.
pub(super) struct Labels {
    path: PathBuf,
    pairs: Vec<Pair>,
    /// Whether the ends are texts, and not ids.
    are_texts: bool,
    /// Documents without any pair.
    alone: Vec<String>,
    /// Bytes of the ends of the pairs.
    bytes: usize,
}

/// All columns that may hold something of a pair.
fn wants() -> Vec<Want> {
    let of = |names: &[&str], kind| -> Vec<Want> {
        names.iter().map(|name| Want::new(*name, kind).or_none()).collect()
    };
    [
        of(&IDS.concat(), Kind::Value),
        of(&TEXTS.concat(), Kind::Value),
        of(&LABEL, Kind::Value),
        of(&LISTS, Kind::Ids),
        of(&OWN, Kind::Value),
    ]
    .concat()
}

impl Labels {
    /// Reads a file, of which pairs are taken as long as they have no more ends than `limit`.
    pub fn read(path: &Path, limit: usize) -> Result<Self, Failure> {
        let refused = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
        let mut labels = Self {
            path: path.to_path_buf(),
            pairs: Vec::new(),
            are_texts: false,
            alone: Vec::new(),
            bytes: 0,
        };
        let origin = Origin::File(path.to_path_buf());
        let file = File::open(path).map_err(failure(path, "read"))?;
        let again = file.try_clone().map_err(failure(path, "read"))?;
        let mut stream = Stream::new(file);
        let told = |problem| Failure::from(origin.error(problem));
        if let Some(codec) = stream.codec().map_err(told)? {
            stream = stream.decompressed(codec).map_err(failure(path, "read"))?;
        }
        while !stream.is_full() {
            stream.grow().map_err(|error| told(stream.problem(error)))?;
        }
        stream.skip_mark();
        let head = stream.head();
        let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let layout = match head.trim_ascii_start() {
            [b'{', ..] => Layout::Jsonl,
            _ if delimiter(first) == Some(b'\t') => Layout::Tsv,
            _ => Layout::Delimited,
        };
        match head.trim_ascii_start() {
            [] => {}
            [b'[', ..] => {
                let mut text = String::new();
                let read = stream.take(MAX_BYTES as u64).read_to_string(&mut text);
                read.map_err(failure(path, "read"))?;
                labels.json(&text).map_err(refused)?;
            }
            [b'P', b'A', b'R', b'1', ..] => {
                let (memory, counter) = (memory::default_limit(), Counter::default());
                let rows = Rows::of_parquet(origin.clone(), again, memory, wants(), counter);
                labels.rows(rows.map_err(told)?, told)?;
            }
            _ => {
                let limits = Limits { record_bytes: LONGEST, ..Limits::default() };
                let rows = Rows::of_text(origin.clone(), stream, layout, wants(), limits, true);
                labels.rows(rows.map_err(told)?, told)?;
            }
        }
        labels.cut(limit);
        if labels.pairs.is_empty() {
            return Err(refused(
                "has no pairs; `fpstore evaluate --help` says how they are written".into(),
            ));
        }
        Ok(labels)
    }

    /// Leaves out pairs and documents behind the first so many ends.
    fn cut(&mut self, limit: usize) {
        let mut ends: HashSet<&str> = HashSet::new();
        let whole = self.pairs.iter().take_while(|pair| {
            ends.extend(pair.ends.iter().map(String::as_str));
            ends.len() <= limit
        });
        let (pairs, ends) = (whole.count().max(1), ends.len());
        self.pairs.truncate(pairs);
        self.alone.truncate(limit.saturating_sub(ends));
    }

    /// A pair in each row, or a document with the ids of its duplicates.
    fn rows(
        &mut self,
        mut rows: Rows,
        told: impl Fn(Problem) -> Failure + Copy,
    ) -> Result<(), Failure> {
        while let Some(piece) = rows.next_piece().map_err(told)? {
            let mut lookup = Lookup::default();
            for index in 0..piece.len() {
                let row = piece.row(index, &mut lookup);
                let row = row.map_err(|problem| piece.error(index, problem))?;
                let taken = self.row(&piece, &row);
                taken.map_err(|what| self.refused(&format!("{}: {what}", piece.at(index))))?;
            }
        }
        Ok(())
    }

    fn row(&mut self, piece: &Piece, row: &Row<'_>) -> Result<(), String> {
        let cell = |name: &str| {
            let place = piece.wants().iter().position(|want| want.name() == name);
            place.map_or(Cell::Missing, |place| row.cell(place))
        };
        let field = |name: &str| Some(cell(name).into_text().ok()??.into_owned());
        let list = LISTS.iter().find_map(|name| match cell(name) {
            Cell::List(list) => serde_json::from_str::<Vec<Box<RawValue>>>(&list).ok(),
            _ => None,
        });
        match (list, OWN.iter().find_map(|name| field(name))) {
            (Some(list), Some(own)) if list.is_empty() => self.alone.push(own),
            (Some(list), Some(own)) => {
                for other in list.iter().filter_map(|value| string(value)) {
                    self.push([own.clone(), other], None)?;
                }
            }
            _ => self.pair(field)?,
        }
        Ok(())
    }

    fn push(&mut self, ends: [String; 2], label: Option<bool>) -> Result<(), String> {
        self.bytes += ends.iter().map(String::len).sum::<usize>();
        if self.bytes > MAX_BYTES {
            return Err("the pairs come to more than 1 GiB; give a part of them".to_string());
        }
        self.pairs.push(Pair { ends, label });
        Ok(())
    }

    /// Lists of two ids: one list of them, or one on each line.
    fn json(&mut self, text: &str) -> Result<(), String> {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
        for (number, value) in (1..).zip(values) {
            let value = value.map_err(|error| format!("list {number}: {error}"))?;
            let of =
                |value: &RawValue| serde_json::from_str::<Vec<Box<RawValue>>>(value.get()).ok();
            let lists = of(&value).unwrap_or_default();
            let are_lists = lists.iter().all(|value| value.get().starts_with('['));
            let lists = if are_lists { lists } else { vec![value] };
            for list in lists {
                let ends = of(&list).unwrap_or_default();
                let ends: Vec<String> = ends.iter().filter_map(|end| string(end)).collect();
                let ends = ends.try_into().map_err(|_| format!("list {number} has not two ids"))?;
                self.push(ends, None)?;
            }
        }
        Ok(())
    }

    /// Takes a pair with named fields.
    fn pair(&mut self, field: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        let both = |names: &[&str; 2]| Some([field(names[0])?, field(names[1])?]);
        let texts = TEXTS.iter().find_map(both);
        let are_texts = texts.is_some();
        let Some(ends) = texts.or_else(|| IDS.iter().find_map(both)) else {
            return Err("has no pair: columns id_a and id_b, or text_a and text_b".to_string());
        };
        if !self.pairs.is_empty() && are_texts != self.are_texts {
            return Err("has texts, and others have ids".to_string());
        }
        self.are_texts = are_texts;
        let label =
            LABEL.iter().find_map(|name| field(name)).map(|label| is_yes(&label)).transpose()?;
        self.push(ends, label)
    }

    /// The texts of the pairs, and which are duplicates.
    pub fn work(&self, args: &Args, truth: &mut Fingerprinter) -> Result<Work, Failure> {
        // Two equal texts are a pair as well, so each end stands for itself.
        if self.are_texts {
            return self.of_texts(truth);
        }
        if args.input.is_empty() {
            return Err(self.refused("has ids; name the files with the documents (INPUT, --id)"));
        }
        let named = self.pairs.iter().flat_map(|pair| &pair.ends);
        let wanted: HashSet<String> = named.chain(&self.alone).cloned().collect();
        let Texts { ids, texts, .. } = Texts::of_ids(args, &wanted)?;
        let place: HashMap<&str, usize> =
            ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        let mut labelled: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for Pair { ends: [a, b], label } in &self.pairs {
            let ends = place.get(a.as_str()).zip(place.get(b.as_str()));
            if let Some((&a, &b)) = ends.filter(|(a, b)| a != b) {
                let label = label.unwrap_or(true);
                let before = labelled.insert((a.min(b), a.max(b)), label);
                if before.is_some_and(|before| before != label) {
                    let what = "is labelled a duplicate and none as well; leave one of the rows";
                    let [a, b] = [a, b].map(|end| ids[end].escape_debug());
                    return Err(self.refused(&format!("the pair \"{a}\", \"{b}\" {what}")));
                }
            }
        }
        if labelled.is_empty() {
            return Err(self.refused("none of its pairs is of documents in the inputs; check --id"));
        }
        if self.pairs.iter().all(|pair| pair.label.is_none()) {
            let all = (0..texts.len()).flat_map(|a| (a + 1..texts.len()).map(move |b| (a, b)));
            for pair in all {
                labelled.entry(pair).or_insert(false);
            }
        }
        let (pairs, labels): (Vec<_>, Vec<_>) = labelled.into_iter().unzip();
        Ok(Work { set: Labelled::of_pairs(texts, &pairs, truth), labels: Some(labels) })
    }

    /// The texts of pairs that have texts. Those without a label are duplicates.
    fn of_texts(&self, truth: &mut Fingerprinter) -> Result<Work, Failure> {
        let mut seen: HashMap<[&str; 2], bool> = HashMap::new();
        for Pair { ends, label } in &self.pairs {
            let mut pair = ends.each_ref().map(String::as_str);
            pair.sort_unstable();
            let label = label.unwrap_or(true);
            if *seen.entry(pair).or_insert(label) != label {
                let what = "is labelled a duplicate and none as well; leave one of the rows";
                let [a, b] = pair.map(|text| excerpt(text.as_bytes()));
                return Err(self.refused(&format!("the pair {a:?}, {b:?} {what}")));
            }
        }
        let texts: Vec<String> = self.pairs.iter().flat_map(|pair| pair.ends.clone()).collect();
        let places: Vec<(usize, usize)> =
            (0..self.pairs.len()).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        let labels = self.pairs.iter().map(|pair| pair.label.unwrap_or(true)).collect();
        Ok(Work { set: Labelled::of_pairs(texts, &places, truth), labels: Some(labels) })
    }

    fn refused(&self, what: &str) -> Failure {
        Failure::Usage(format!("{}: {what}", self.path.display()))
    }
}

/// A string, or a number, true or false as it stands in the file.
fn string(value: &RawValue) -> Option<String> {
    Some(Cell::of(value.get()).into_text().ok()??.into_owned())
}

fn is_yes(label: &str) -> Result<bool, String> {
    match label.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "duplicate" | "dup" | "near" | "exact_dup" | "near_exact" => {
            Ok(true)
        }
        "0" | "-1" | "false" | "no" | "non_dup" | "none" | "distinct" | "different" => Ok(false),
        other => Err(format!("the label is {other:?}; it is 1 or 0, true or false, yes or no")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Labels, Failure> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pairs");
        fs::write(&path, text).unwrap();
        Labels::read(&path, 1000)
    }

    fn pairs(text: &str) -> Vec<([String; 2], Option<bool>)> {
        read(text).unwrap().pairs.into_iter().map(|pair| (pair.ends, pair.label)).collect()
    }

    #[test]
    fn pairs_are_read_in_all_shapes() {
        let ab = |label| vec![(["a".to_string(), "b".to_string()], label)];
        assert_eq!(pairs("id_a,id_b,label\na,b,1\n"), ab(Some(true)));
        assert_eq!(pairs("label\ta\tb\nfalse\ta\tb\n"), ab(Some(false)));
        assert_eq!(pairs("{\"id1\":\"a\",\"id2\":\"b\",\"label\":true}\n\n"), ab(Some(true)));
        assert_eq!(pairs("[[\"a\",\"b\"]]"), ab(None));
        assert_eq!(pairs("[\"a\",\"b\"]\n[\"a\",\"c\"]\n").len(), 2);
        let core = "{\"core_id\":\"a\",\"labelled_duplicates\":[\"b\"]}\n{\"core_id\":9,\"labelled_duplicates\":[]}\n";
        assert_eq!(pairs(core), ab(None));
        assert_eq!(read(core).unwrap().alone, ["9"]);
        // Digits are those of the file, and quotes in TSV are text.
        let [wide, other] = ["12345678901234567890123", "12345678901234567890124"];
        let list = pairs(&format!("[[{wide},{other}]]"));
        assert_eq!(list[0].0, [wide, other]);
        assert_eq!(pairs("a\tb\n\"x\ty\\tz\n")[0].0, ["\"x", "y\tz"]);
        let texts = read("text_a,text_b,label\n\"one, two\",three,no\n").unwrap();
        assert!(texts.are_texts && texts.pairs[0].ends[0] == "one, two");
    }

    #[test]
    fn what_is_no_pair_is_told_with_its_line() {
        for (text, part) in [
            ("id_a,id_b,label\na,b,1\na,b,perhaps\n", "line 3"),
            ("x,y\n1,2\n", "id_a"),
            ("{\"id_a\":1}\n", "line 1"),
            ("{\"id_a\":1,\n", "line 1"),
            ("[[\"a\"]]", "list 1"),
            ("id_a,id_b\n", "no pairs"),
            ("", "no pairs"),
        ] {
            let refused = read(text).err().unwrap().to_string();
            assert!(refused.contains(part), "{text:?}: {refused}");
        }
    }

    #[test]
    fn no_more_documents_than_the_limit_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pairs");
        let rows: String = (0..10).map(|row| format!("a{row},b{row}\n")).collect();
        fs::write(&path, format!("id_a,id_b\n{rows}")).unwrap();
        assert_eq!(Labels::read(&path, 6).unwrap().pairs.len(), 3);
    }
}
