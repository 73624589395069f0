//! What decides the result of a command, so that it can be told from another one.

use std::collections::BTreeMap;
use std::path::Path;

use fpstore_text::RecipeId;
use serde::{Deserialize, Serialize};

use crate::documents::Inputs;
use crate::error::Error;

/// What decides the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The canonical line of the recipe.
    pub recipe: String,
    /// The distance, for methods that have one.
    pub k: Option<u32>,
    /// Which document of a cluster is kept.
    pub keep: String,
    /// What a cluster is.
    pub clusters: String,
    /// How pairs are checked on the texts.
    pub verify: Option<String>,
    /// The column of the texts.
    pub text: String,
    /// The column of the ids.
    pub id: Option<String>,
    /// What is done about bad records.
    pub on_error: String,
    /// Which documents are written again.
    pub write: String,
    /// How the table of removed documents is written.
    pub removed: String,
    /// The store of an earlier corpus.
    pub against: Option<String>,
    /// The id of that store, once there is one.
    pub store: Option<String>,
    /// Whether what is kept is added to it.
    pub add: bool,
    /// The number of files of documents.
    pub files: u64,
    /// A hash of their paths, sizes, times and formats.
    pub inputs: String,
}

/// A hash of the files.
pub fn digest(inputs: &Inputs) -> String {
    let mut text = String::new();
    for input in &inputs.files {
        text.push_str(&format!("{input:?}\n"));
    }
    RecipeId::of_line(&text).to_string()
}

impl Settings {
    /// What differs from the settings of a command that has begun or made something, in words;
    /// `None` if that is this one.
    pub fn difference(&self, other: &Self) -> Option<String> {
        // A store that is to be created has no id yet; one that was there has to be there.
        let created = self.add && other.store.is_none();
        let store = if created { other.store.clone() } else { self.store.clone() };
        if (Self { store, ..self.clone() }) == *other {
            return None;
        }
        let (Some(mine), Some(theirs)) = (values(self), values(other)) else {
            return Some("the settings".to_string());
        };
        let differ = mine.iter().filter(|(name, value)| theirs.get(*name) != Some(value));
        let of = |value: Option<&serde_json::Value>| {
            value.map_or("nothing".to_string(), ToString::to_string)
        };
        let told = differ.map(|(name, value)| match name.as_str() {
            "inputs" => "the input files, or their times".to_string(),
            _ => format!("{name} (there {}, here {value})", of(theirs.get(name))),
        });
        Some(told.collect::<Vec<_>>().join(", "))
    }
}

/// Refuses to go on with the results of another command in a directory.
pub fn of_another(directory: &Path, differ: &str) -> Error {
    Error::OfAnother { path: directory.to_path_buf(), differ: differ.to_string() }
}

fn values(settings: &Settings) -> Option<BTreeMap<String, serde_json::Value>> {
    match serde_json::to_value(settings).ok()? {
        serde_json::Value::Object(map) => Some(map.into_iter().collect()),
        _ => None,
    }
}
