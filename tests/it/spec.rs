//! The tables and rules of `format-spec/FORMAT.md`, parsed, so that a test compares the code with
//! the document itself and no offset is written a second time.
//!
//! It parses the two things that the document marks for it (`<!-- offsets: NAME -->` and bullets
//! that start with a `[TAG-n]`) and understands no prose: conditions such as "at offset 8 if B is
//! greater than 8192" stay with the reader.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const DOCUMENT: &str = include_str!("../../format-spec/FORMAT.md");

/// Offset and number of bytes of each field of a structure.
pub type Fields = BTreeMap<String, (usize, Option<usize>)>;

/// What the document says of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The text starts with "(verify)": only a program that verifies a store must check it.
    pub verify: bool,
    /// The text has the word *unsupported*: at least one of its clauses does not mean corrupt.
    pub unsupported: bool,
}

/// Offset and length in bytes of each field of the table after `<!-- offsets: {table} -->`.
///
/// The row without a field name, the last one, stands under the key `end`: it is where the
/// structure ends and what follows it (payload, table entries, bit ranges, column) starts. A row
/// without a number of bytes has `None`.
///
/// # Panics
///
/// If the document has no such table, or a row that does not start with a number.
pub fn offsets(table: &str) -> &'static Fields {
    // Tests of damage ask for fields more often than for all else.
    static TABLES: LazyLock<BTreeMap<&str, Fields>> =
        LazyLock::new(|| table_names().into_iter().map(|table| (table, fields(table))).collect());
    TABLES.get(table).unwrap_or_else(|| panic!("no table after <!-- offsets: {table} -->"))
}

fn fields(table: &str) -> Fields {
    let marker = format!("<!-- offsets: {table} -->");
    let rows = DOCUMENT
        .lines()
        .skip_while(|line| line.trim() != marker)
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .skip(2);
    let fields: Fields = rows.map(parse_row).collect();
    assert!(!fields.is_empty(), "no table after {marker}");
    fields
}

fn parse_row(row: &str) -> (String, (usize, Option<usize>)) {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let &[_, offset, bytes, field, ..] = cells.as_slice() else {
        panic!("not a row of offsets: {row}");
    };
    let offset = offset.parse().expect("the first cell is an offset");
    let name = if field.is_empty() { "end" } else { field };
    (name.to_owned(), (offset, bytes.parse().ok()))
}

/// Every rule, by its tag without brackets, such as `PRE-4`.
pub fn rules() -> BTreeMap<String, RuleInfo> {
    let mut rules = BTreeMap::new();
    let mut lines = DOCUMENT.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((tag, text)) = line.strip_prefix("* [").and_then(|l| l.split_once("] ")) else {
            continue;
        };
        let mut text = text.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("  ")) {
            text.push(' ');
            text.push_str(more.trim());
        }
        let info = RuleInfo {
            verify: text.starts_with("(verify)"),
            unsupported: text.contains("*unsupported*"),
        };
        let twice = rules.insert(tag.to_owned(), info);
        assert!(twice.is_none(), "[{tag}] is defined twice");
    }
    rules
}

fn table_names() -> Vec<&'static str> {
    let lines = DOCUMENT.lines();
    lines.filter_map(|line| line.strip_prefix("<!-- offsets: ")?.strip_suffix(" -->")).collect()
}

#[test]
fn fields_of_every_table_are_adjacent_and_start_at_zero() {
    let names = table_names();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let fields = offsets(name);
        let mut ordered: Vec<_> = fields.iter().map(|(field, at)| (at, field)).collect();
        ordered.sort();
        let mut expected = 0;
        for (&(offset, bytes), field) in ordered {
            assert_eq!(offset, expected, "{field} of {name}");
            assert_eq!(bytes.is_none(), field == "end", "{field} of {name}");
            expected += bytes.unwrap_or(0);
        }
        assert_eq!(expected, fields["end"].0, "{name} ends at its end");
    }
}

#[test]
fn rules_are_numbered_without_gaps() {
    let rules = rules();
    assert!(rules.len() > 50, "{} rules", rules.len());
    for tag in rules.keys() {
        let (group, number) = tag.split_once('-').expect("a tag is GROUP-n");
        let number: u32 = number.parse().expect("a tag ends with a number");
        let before = format!("{group}-{}", number.saturating_sub(1));
        assert!(number == 1 || rules.contains_key(&before), "{tag} without {before}");
    }
}

#[test]
fn marks_of_rules_are_understood() {
    let info = |tag: &str| (rules()[tag].verify, rules()[tag].unsupported);
    assert_eq!(info("PRE-4"), (false, false));
    assert_eq!(info("TAB-4"), (false, true));
    assert_eq!(info("TAB-10"), (true, false));
    assert_eq!(info("SET-2"), (true, false));
}

#[test]
fn every_tag_in_the_text_is_a_rule() {
    let rules = rules();
    for piece in DOCUMENT.split('[').skip(1) {
        let tag = piece.split(']').next().expect("split gives a first piece");
        let is_tag = tag.len() <= 6
            && tag.as_bytes().get(3) == Some(&b'-')
            && tag[..3].bytes().all(|byte| byte.is_ascii_uppercase());
        assert!(!is_tag || rules.contains_key(tag), "[{tag}] is not defined");
    }
}
