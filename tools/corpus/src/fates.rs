//! What is decided about all documents, in a file of the work.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cluster::{Fate, NONE};
use crate::column::{Column, Reader};
use crate::error::Error;
use crate::work::Work;

const BYTES: usize = 16;
const FILE: &str = "fates.column";
const OLD: &str = "old.json";

/// Why a document is removed, or that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// It is kept.
    Kept = 0,
    /// Its prepared text is that of another document.
    Exact = 1,
    /// It is near another document.
    Near = 2,
    /// It is near a document of the earlier corpus.
    Old = 3,
    /// It is no document.
    Skipped = 4,
}

impl Why {
    /// Its name in the table of removed documents, where what is near one of an earlier corpus is
    /// near, too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exact => "exact",
            Self::Near | Self::Old => "near",
            Self::Skipped => "skipped",
        }
    }
}

/// A document of the earlier corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldMatch {
    /// What it is called there.
    pub id: String,
    /// In how many bits it differs.
    pub distance: u32,
}

/// A document that is named in a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// One of those that were given, by its number from 0 on.
    Document(u32),
    /// One of the earlier corpus, by what it is called there.
    Earlier(String),
}

/// Why a document is removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The reason.
    pub why: Why,
    /// The document that is kept instead.
    pub kept: Kept,
    /// The one that it is near: the one that is kept, but for components.
    pub matched: Kept,
    /// By how much it differs from the matched one: in bits, or for methods with several values the
    /// number that differ, or the percentage of the union that is not common.
    pub distance: u32,
    /// The Jaccard similarity of their features, where that was checked.
    pub jaccard: Option<f32>,
}

/// What is decided.
pub struct Fates {
    /// Of each document.
    pub fates: Vec<Fate>,
    pub why: Vec<Why>,
    /// What those documents are near that are near a document of the earlier corpus.
    pub old: HashMap<u32, OldMatch>,
}

impl Fates {
    /// Nothing is decided yet.
    pub fn new(documents: u32) -> Self {
        let count = documents as usize;
        Self { fates: vec![Fate::KEPT; count], why: vec![Why::Kept; count], old: HashMap::new() }
    }

    /// Whether a document is kept.
    pub fn keeps(&self, document: usize) -> bool {
        self.why.get(document) == Some(&Why::Kept)
    }

    /// Writes them durably.
    pub fn write(&self, work: &Work) -> Result<(), Error> {
        let mut column = Column::open(work.path(FILE), 0)?;
        for (fate, why) in self.fates.iter().zip(&self.why) {
            let mut bytes = [0; BYTES];
            bytes[0..4].copy_from_slice(&fate.instead.to_le_bytes());
            bytes[4..8].copy_from_slice(&fate.matched.to_le_bytes());
            bytes[8..10].copy_from_slice(&fate.difference.to_le_bytes());
            bytes[10] = *why as u8;
            bytes[12..16].copy_from_slice(&fate.jaccard.to_le_bytes());
            column.append(&bytes)?;
        }
        column.sync()?;
        let mut old: Vec<(&u32, &OldMatch)> = self.old.iter().collect();
        old.sort_unstable_by_key(|(document, _)| **document);
        let text = serde_json::to_vec(&old).map_err(|error| Error::System(error.to_string()))?;
        let mut column = Column::open(work.path(OLD), 0)?;
        column.append(&text)?;
        column.sync().map(drop)
    }

    /// Reads them.
    pub fn read(work: &Work) -> Result<Self, Error> {
        Self::read_in(work.directory(), work.state().read.documents)
    }

    /// Reads those of so many documents in a directory.
    ///
    /// # Errors
    ///
    /// Files that have more or less, or name documents that there are not, are damaged.
    pub fn read_in(directory: &Path, documents: u64) -> Result<Self, Error> {
        let column = Reader::open(&directory.join(FILE))?;
        column.check_length(BYTES as u64 * documents)?;
        let bytes = column.all()?;
        let mut read = Self::new(0);
        for bytes in bytes.as_chunks::<BYTES>().0 {
            let [i0, i1, i2, i3, m0, m1, m2, m3, d0, d1, why, _, j0, j1, j2, j3] = *bytes;
            read.fates.push(Fate {
                instead: u32::from_le_bytes([i0, i1, i2, i3]),
                matched: u32::from_le_bytes([m0, m1, m2, m3]),
                difference: u16::from_le_bytes([d0, d1]),
                jaccard: f32::from_le_bytes([j0, j1, j2, j3]),
            });
            read.why.push(match why {
                0 => Why::Kept,
                1 => Why::Exact,
                2 => Why::Near,
                3 => Why::Old,
                _ => Why::Skipped,
            });
        }
        let is_there = |document: u32| document == NONE || u64::from(document) < documents;
        let are_there = |fate: &Fate| is_there(fate.instead) && is_there(fate.matched);
        if !read.fates.iter().all(are_there) {
            let what = "is damaged; start again with another directory";
            return Err(Error::System(format!("{}: {what}", directory.join(FILE).display())));
        }
        let path = directory.join(OLD);
        let text = Reader::open(&path)?.all()?;
        let old: Vec<(u32, OldMatch)> = serde_json::from_slice(&text)
            .map_err(|error| Error::System(format!("{}: {error}; start again", path.display())))?;
        read.old = old.into_iter().collect();
        Ok(read)
    }

    /// What is decided about a document; `None` if it is kept, or is none.
    pub fn verdict(&self, document: u32) -> Option<Verdict> {
        let (&why, fate) =
            self.why.get(document as usize).zip(self.fates.get(document as usize))?;
        if matches!(why, Why::Kept | Why::Skipped) {
            return None;
        }
        let root = self.root(document);
        let kept = match self.old.get(&root) {
            Some(old) => Kept::Earlier(old.id.clone()),
            None => Kept::Document(root),
        };
        let (matched, distance) = match (why, self.old.get(&document)) {
            (Why::Old, Some(old)) => (Kept::Earlier(old.id.clone()), old.distance),
            _ => (Kept::Document(fate.matched), fate.difference.into()),
        };
        let jaccard = Some(fate.jaccard).filter(|jaccard| !jaccard.is_nan());
        Some(Verdict { why, kept, matched, distance, jaccard })
    }

    /// The document that stands for another one in the end: one that is kept, or that is near one
    /// of the earlier corpus.
    pub fn root(&self, document: u32) -> u32 {
        let instead =
            |document: u32| self.fates.get(document as usize).map_or(NONE, |fate| fate.instead);
        match instead(document) {
            NONE => document,
            first => match instead(first) {
                // Of exact duplicates the first may be near another document itself.
                NONE => first,
                second => second,
            },
        }
    }
}
