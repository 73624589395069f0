//! What decides the result of a command, so that it can be told from another one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fpstore_text::RecipeId;
use serde::{Deserialize, Serialize};

use crate::documents::{DocumentOptions, Inputs, Kind};
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
    /// The files and directories that were given.
    pub given: Vec<String>,
    /// The format that was given for them.
    pub format: Option<Kind>,
    /// Whether a column was named, so that what is no table is left out of directories.
    pub tables: bool,
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
    /// How the files were read.
    pub fn options(&self) -> DocumentOptions {
        let mut options = DocumentOptions::new().skip_bad(self.on_error == "skip");
        if self.tables {
            options = options.text(&self.text);
        }
        if let Some(id) = &self.id {
            options = options.id(id);
        }
        if let Some(kind) = self.format {
            options = options.kind(kind);
        }
        options
    }

    /// Finds the files again.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if they are not the same any more; those of [`Inputs::find`].
    pub fn find_inputs(&self) -> Result<Inputs, Error> {
        let given: Vec<PathBuf> = self.given.iter().map(PathBuf::from).collect();
        let first = self.given.first().map_or("documents", |first| first);
        if given.is_empty() {
            let what = "the documents came from no files, and cannot be read again";
            return Err(Error::Setting(what.to_string()));
        }
        if let Some(gone) = given.iter().find(|path| !path.exists()) {
            let what = "is not there any more; bring it back, or go to the directory where corpus \
                        dedup ran, if the path leads from there";
            return Err(Error::Setting(format!("{}: {what}", gone.display())));
        }
        let inputs = Inputs::find(&given, &self.options())?;
        match digest(&inputs) == self.inputs {
            true => Ok(inputs),
            false => Err(Error::Setting(format!(
                "{first}: its files, their sizes or times have changed since they were read; bring those \
                 back, or start again with another output"
            ))),
        }
    }

    /// What differs from the settings of a command that has begun or made something, in words;
    /// `None` if that is this one.
    pub fn difference(&self, other: &Self) -> Option<String> {
        // A store that is to be created has no id yet; one that was there has to be there.
        let created = self.add && other.store.is_none();
        let store = if created { other.store.clone() } else { self.store.clone() };
        // Files are the same by their hash, whether or not a column was named to find them.
        let own = Self { store, tables: other.tables, ..self.clone() };
        if own == *other {
            return None;
        }
        let (Some(mine), Some(theirs)) = (values(&own), values(other)) else {
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
