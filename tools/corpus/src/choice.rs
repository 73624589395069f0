//! Options of what is near, and of what is kept.

use std::fmt;
use std::str::FromStr;

use fpstore_records::{RecordProblem, excerpt};

use crate::decimal;
use crate::documents::{Document, Kind};

/// Which document of a cluster is kept, and of which it is formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The longest text.
    Longest,
    /// The first one.
    #[default]
    First,
    /// The least id.
    SmallestId,
    /// The one with most others near it.
    Central,
    /// The greatest number in a column.
    Max(String),
    /// The least number in a column, or the value that stands first in a list.
    Priority(String, Vec<String>),
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let column = |name: &str| match name {
            "" => Err("a column is to be named behind the colon".to_string()),
            name => Ok(name.to_string()),
        };
        match text {
            "longest" => Ok(Self::Longest),
            "first" => Ok(Self::First),
            "smallest-id" => Ok(Self::SmallestId),
            "central" => Ok(Self::Central),
            _ => match (text.strip_prefix("max:"), text.strip_prefix("priority:")) {
                (Some(name), _) => Ok(Self::Max(column(name)?)),
                (_, Some(name)) => match name.split_once('=') {
                    None => Ok(Self::Priority(column(name)?, Vec::new())),
                    Some((name, values)) => {
                        let values = values.split(',').map(str::to_string).collect();
                        Ok(Self::Priority(column(name)?, values))
                    }
                },
                _ => Err("longest, first, smallest-id, central, max:COLUMN, priority:COLUMN or \
                          priority:COLUMN=A,B,C"
                    .to_string()),
            },
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Longest => f.write_str("longest"),
            Self::First => f.write_str("first"),
            Self::SmallestId => f.write_str("smallest-id"),
            Self::Central => f.write_str("central"),
            Self::Max(column) => write!(f, "max:{column}"),
            Self::Priority(column, values) if values.is_empty() => write!(f, "priority:{column}"),
            Self::Priority(column, values) => write!(f, "priority:{column}={}", values.join(",")),
        }
    }
}

/// Missing values come behind all others.
const LAST: u128 = u128::MAX;

impl Keep {
    /// The column that it needs.
    pub fn column(&self) -> Option<String> {
        match self {
            Self::Max(column) | Self::Priority(column, _) => Some(column.clone()),
            _ => None,
        }
    }

    /// Whether documents have a key by which they are ordered, the least first.
    pub fn has_keys(&self) -> bool {
        matches!(self, Self::Longest | Self::Max(_) | Self::Priority(..))
    }

    /// The key of a document; equal ones are ordered as they come. Without a column it is that of
    /// the longest.
    pub fn key(&self, document: &Document<'_>) -> Result<u128, RecordProblem> {
        let value = document.extra.as_deref();
        match self {
            Self::Max(column) => Ok(number(value, column)?.map_or(LAST, |key| !key)),
            Self::Priority(column, values) if values.is_empty() => {
                Ok(number(value, column)?.unwrap_or(LAST))
            }
            Self::Priority(_, values) => {
                let place = value.and_then(|value| values.iter().position(|other| other == value));
                Ok(place.map_or(LAST, |place| place as u128))
            }
            // So that it can be decided again by what is noted.
            _ => Ok(LAST - document.text.len() as u128),
        }
    }

    /// Whether what was noted for this choice serves for another one.
    pub(crate) fn serves(&self, other: &Self) -> bool {
        self == other || self.column().is_none() && other.column().is_none()
    }
}

/// The key of a number.
fn number(value: Option<&str>, column: &str) -> Result<Option<u128>, RecordProblem> {
    let Some(text) = value else { return Ok(None) };
    decimal::key(text.trim()).map(Some).ok_or_else(|| RecordProblem::Value {
        column: column.to_string(),
        found: format!("\"{}\"", excerpt(text.as_bytes())),
        wanted: "number of up to 34 digits, by which one is kept",
    })
}

/// What a cluster is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Every document is near the one that is kept.
    #[default]
    Star,
    /// Documents that are linked by pairs, directly or over others.
    Components,
    /// Every document is near every other one.
    Complete,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Star, Self::Components, Self::Complete];
        let found = all.into_iter().find(|shape| shape.name() == text);
        found.ok_or_else(|| "star, components or complete".to_string())
    }
}

impl Shape {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Components => "components",
            Self::Complete => "complete",
        }
    }
}

/// A check of pairs on the features of their texts. Pairs come from the recipe: what it does not
/// find is not checked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verify {
    /// The Jaccard similarity is at least this: what they have in common, of what both have.
    Jaccard(f64),
    /// The containment is at least this: what they have in common, of what the one has that has
    /// fewer features. So a short text inside a longer one passes.
    Containment(f64),
}

impl Verify {
    /// Whether a pair passes, by the features of both: ascending, and each once.
    pub(crate) fn passes(self, a: &[u64], b: &[u64]) -> bool {
        match self {
            Self::Jaccard(least) => fpstore_text::jaccard(a, b) >= least,
            Self::Containment(least) => fpstore_text::containment(a, b) >= least,
        }
    }
}

impl FromStr for Verify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (measure, share) = text.split_once(':').unwrap_or((text, ""));
        let share = share.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
        match (measure, share) {
            ("jaccard", Some(share)) => Ok(Self::Jaccard(share)),
            ("containment", Some(share)) => Ok(Self::Containment(share)),
            _ => Err("jaccard:SHARE or containment:SHARE, where SHARE is from 0 to 1, such as \
                      jaccard:0.8"
                .to_string()),
        }
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jaccard(share) => write!(f, "jaccard:{share}"),
            Self::Containment(share) => write!(f, "containment:{share}"),
        }
    }
}

/// Which documents are written again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written {
    /// Those that are kept.
    #[default]
    Kept,
    /// All, with columns that say what was decided. Their names begin with this prefix, which may
    /// be empty.
    Annotated(String),
    /// None: there is the table of those that are removed, and the report.
    Nothing,
}

/// What is said of each document, behind its own columns.
pub(crate) const ANNOTATED: [&str; 5] = ["cluster", "cluster_size", "kept", "distance", "why"];

impl Written {
    /// The names of the columns that documents get.
    pub(crate) fn columns(&self) -> Vec<String> {
        match self {
            Self::Annotated(prefix) => ANNOTATED.map(|name| format!("{prefix}{name}")).to_vec(),
            _ => Vec::new(),
        }
    }
}

impl FromStr for Written {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("annotated:")) {
            ("kept", _) => Ok(Self::Kept),
            ("nothing", _) => Ok(Self::Nothing),
            ("annotated", _) => Ok(Self::Annotated(String::new())),
            (_, Some(prefix)) if !prefix.is_empty() => Ok(Self::Annotated(prefix.to_string())),
            _ => Err("kept, annotated, annotated:PREFIX or nothing".to_string()),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Annotated(prefix) if prefix.is_empty() => f.write_str("annotated"),
            Self::Annotated(prefix) => write!(f, "annotated:{prefix}"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

/// How the table of removed documents is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableShape {
    /// Parquet.
    Parquet,
    /// An object on each line.
    Jsonl,
    /// Columns separated by commas, with a header.
    Csv,
}

impl FromStr for TableShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "parquet" => Ok(Self::Parquet),
            "jsonl" => Ok(Self::Jsonl),
            "csv" => Ok(Self::Csv),
            _ => Err("parquet, jsonl or csv".to_string()),
        }
    }
}

impl TableShape {
    /// That which goes with files of a kind.
    pub(crate) fn beside(kind: Kind) -> Self {
        match kind {
            Kind::Parquet if cfg!(feature = "parquet") => Self::Parquet,
            Kind::Csv | Kind::Tsv => Self::Csv,
            _ => Self::Jsonl,
        }
    }

    /// That of a file of this name.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        [Self::Parquet, Self::Jsonl, Self::Csv].into_iter().find(|shape| shape.file() == name)
    }

    /// The name of the file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Parquet => "removed.parquet",
            Self::Jsonl => "removed.jsonl",
            Self::Csv => "removed.csv",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(keep: &str, extra: Option<&str>) -> Result<u128, RecordProblem> {
        let document = Document {
            text: "text".as_bytes().into(),
            id: "id".into(),
            extra: extra.map(Into::into),
        };
        keep.parse::<Keep>().unwrap().key(&document)
    }

    #[test]
    fn numbers_order_as_they_should() {
        let numbers = [
            "-inf",
            "-2.5",
            "-1",
            "0",
            "1e-9",
            "2",
            "17",
            "9007199254740992",
            "9007199254740993",
            "inf",
        ];
        for pair in numbers.windows(2) {
            assert!(
                key("priority:x", Some(pair[0])).unwrap()
                    < key("priority:x", Some(pair[1])).unwrap()
            );
            assert!(key("max:x", Some(pair[0])).unwrap() > key("max:x", Some(pair[1])).unwrap());
        }
        assert_eq!(key("max:x", Some("-0")).unwrap(), key("max:x", Some("0")).unwrap());
        for keep in ["max:x", "priority:x", "priority:x=a,b"] {
            assert_eq!(key(keep, None).unwrap(), LAST);
        }
        assert!(key("max:x", Some("many")).is_err() && key("max:x", Some("nan")).is_err());
        assert!(
            key("priority:x=a,b", Some("a")).unwrap() < key("priority:x=a,b", Some("b")).unwrap()
        );
    }

    #[test]
    fn options_say_what_they_can_be() {
        assert!("max:".parse::<Keep>().is_err() && "shortest".parse::<Keep>().is_err());
        assert!("jaccard:1.2".parse::<Verify>().is_err() && "0.8".parse::<Verify>().is_err());
        assert!("containment".parse::<Verify>().is_err() && "overlap:1".parse::<Verify>().is_err());
        for text in ["jaccard:0.8", "containment:0.95", "containment:1"] {
            assert_eq!(text.parse::<Verify>().unwrap().to_string(), text);
        }
        for text in ["kept", "annotated", "annotated:near_", "nothing"] {
            assert_eq!(text.parse::<Written>().unwrap().to_string(), text);
        }
        assert!("annotated:".parse::<Written>().is_err() && "all".parse::<Written>().is_err());
    }
}
