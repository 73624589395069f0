//! What is noted of every document while it is read, in columns.

use std::path::Path;

use fpstore_text::{Found, Signature};

use crate::column::{Ahead, Column, Reader, Runs};
use crate::error::Error;
use crate::work::{Counts, Mark, Work};

/// The columns, in the order of [`Mark::columns`].
const NAMES: [&str; 8] =
    ["kinds", "exact", "signatures", "signature-ends", "ids", "id-ends", "keys", "file-ends"];

/// The columns of the features of all documents, where they are noted. They do not stay when all is
/// done.
pub const FEATURES: [&str; 2] = ["features.ends", "features.bytes"];

/// A document that has a signature.
pub const SIGNED: u8 = 0;
/// A document with too few features for one, which is compared exactly only.
pub const TOO_FEW: u8 = 1;
/// A record that was skipped, and is no document.
pub const SKIPPED: u8 = 2;

/// A document without a text, null or empty: a duplicate of nothing, since nothing is known of it.
pub const NO_TEXT: u8 = 3;

/// What is noted of some documents that follow each other.
#[derive(Default)]
pub struct Batch {
    kinds: Vec<u8>,
    exact: Vec<u8>,
    signatures: Vec<u8>,
    // Counted from the start of the batch, as the ends of ids.
    signature_ends: Vec<u64>,
    ids: Vec<u8>,
    id_ends: Vec<u64>,
    keys: Vec<u8>,
    /// The sets of features, where they are noted.
    features: Vec<u8>,
    feature_ends: Vec<u64>,
    pub counts: Counts,
    /// Lines about records that were skipped.
    pub told: String,
}

impl Batch {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Notes a document.
    pub fn push(&mut self, id: &str, key: u128, exact: u128, found: &Found<'_>) {
        self.exact.extend_from_slice(&exact.to_be_bytes());
        match found {
            Found::Signature(Signature::Bits(fingerprint)) => {
                self.signatures.extend(fingerprint.bytes());
            }
            Found::Signature(signature) => {
                self.signatures.extend(signature.values().flat_map(u64::to_le_bytes));
            }
            Found::TooFew { .. } => self.counts.too_few += 1,
        }
        let kind = if matches!(found, Found::TooFew { .. }) { TOO_FEW } else { SIGNED };
        self.end(kind, id, key);
    }

    /// Notes a document without a text.
    pub fn push_without_text(&mut self, id: &str, key: u128) {
        self.exact.extend_from_slice(&[0; 16]);
        self.counts.without_text += 1;
        self.end(NO_TEXT, id, key);
    }

    /// Notes the features of the last document.
    pub fn push_features(&mut self, set: &[u64]) {
        self.features.extend(set.iter().flat_map(|value| value.to_le_bytes()));
        self.feature_ends.push(self.features.len() as u64);
    }

    /// Notes a record that is no document.
    pub fn skip(&mut self, told: &str) {
        self.exact.extend_from_slice(&[0; 16]);
        self.counts.skipped += 1;
        self.told.push_str(told);
        self.end(SKIPPED, "", 0);
    }

    fn end(&mut self, kind: u8, id: &str, key: u128) {
        self.kinds.push(kind);
        self.signature_ends.push(self.signatures.len() as u64);
        self.ids.extend_from_slice(id.as_bytes());
        self.id_ends.push(self.ids.len() as u64);
        self.keys.extend_from_slice(&key.to_le_bytes());
    }
}

/// The columns while they grow.
pub struct Ledger {
    columns: Vec<Column>,
    /// Of the ends of the features and of these, where they are noted.
    features: Option<[Column; 2]>,
    /// Up to where inputs were read.
    pub mark: Mark,
}

impl Ledger {
    /// Goes on behind what was noted durably.
    pub fn open(work: &Work, with_features: bool) -> Result<Self, Error> {
        let mark = work.state().read.clone();
        let features = match with_features {
            true => {
                let [ends, bytes] = FEATURES.map(|name| work.path(name));
                let noted = mark.features;
                Some([Column::open(ends, noted[0])?, Column::open(bytes, noted[1])?])
            }
            false => None,
        };
        let bytes = mark.columns.iter().copied().chain(std::iter::repeat(0));
        let columns = NAMES.iter().zip(bytes);
        let columns = columns.map(|(name, bytes)| Column::open(work.path(&file(name)), bytes));
        Ok(Self { columns: columns.collect::<Result<_, _>>()?, features, mark })
    }

    /// Appends what is noted of a piece of a file.
    pub fn append(&mut self, batch: &Batch) -> Result<(), Error> {
        let Batch { kinds, exact, signatures, signature_ends, ids, id_ends, keys, .. } = batch;
        let ends = |column: &Column, ends: &[u64]| -> Vec<u8> {
            ends.iter().flat_map(|end| (column.bytes() + end).to_le_bytes()).collect()
        };
        let signature_ends = ends(&self.columns[2], signature_ends);
        let id_ends = ends(&self.columns[4], id_ends);
        let of_columns: [&[u8]; 7] =
            [kinds, exact, signatures, &signature_ends, ids, &id_ends, keys];
        for (column, bytes) in self.columns.iter_mut().zip(of_columns) {
            column.append(bytes)?;
        }
        if let Some([feature_ends, features]) = &mut self.features {
            for end in &batch.feature_ends {
                feature_ends.append(&(features.bytes() + end).to_le_bytes())?;
            }
            features.append(&batch.features)?;
        }
        let mark = &mut self.mark;
        mark.documents += kinds.len() as u64;
        mark.pieces += 1;
        mark.counts.too_few += batch.counts.too_few;
        mark.counts.without_text += batch.counts.without_text;
        mark.counts.invalid_utf8 += batch.counts.invalid_utf8;
        mark.counts.skipped += batch.counts.skipped;
        mark.counts.text_bytes += batch.counts.text_bytes;
        mark.counts.with_column += batch.counts.with_column;
        Ok(())
    }

    /// Notes that a file has ended.
    pub fn end_file(&mut self) -> Result<(), Error> {
        self.columns[7].append(&self.mark.documents.to_le_bytes())?;
        (self.mark.file, self.mark.pieces) = (self.mark.file + 1, 0);
        Ok(())
    }

    /// Makes it durable, and gives the note about it.
    pub fn sync(&mut self) -> Result<Mark, Error> {
        let columns = self.columns.iter_mut().map(Column::sync);
        self.mark.columns = columns.collect::<Result<_, _>>()?;
        if let Some([ends, bytes]) = &mut self.features {
            self.mark.features = [ends.sync()?, bytes.sync()?];
        }
        Ok(self.mark.clone())
    }
}

/// The name of the file of a column.
fn file(name: &str) -> String {
    format!("{name}.column")
}

/// The columns once all is read.
pub struct Notes {
    /// The number of documents, those that were skipped included.
    pub documents: u32,
    /// What was counted.
    pub counts: Counts,
    /// For each its kind.
    pub kinds: Vec<u8>,
    /// For each file the number of documents up to its end.
    pub file_ends: Vec<u64>,
    exact: Reader,
    signatures: Runs,
    ids: Runs,
    keys: Reader,
}

impl Notes {
    /// Opens the columns.
    pub fn open(work: &Work) -> Result<Self, Error> {
        Self::open_in(work.directory(), &work.state().read)
    }

    /// Opens those in a directory, of which so much was noted.
    ///
    /// # Errors
    ///
    /// One that has more or less than that is damaged.
    pub fn open_in(directory: &Path, mark: &Mark) -> Result<Self, Error> {
        let path = |name| directory.join(file(name));
        for (name, &bytes) in NAMES.iter().zip(&mark.columns) {
            Reader::open(&path(name))?.check_length(bytes)?;
        }
        let documents = u32::try_from(mark.documents).ok().filter(|count| *count < u32::MAX);
        let documents = documents.ok_or_else(|| {
            let what = "documents are more than the 4,294,967,294 that are taken together; divide the inputs";
            Error::Setting(format!("{} {what}", mark.documents))
        })?;
        let fixed =
            [("kinds", 1), ("exact", 16), ("signature-ends", 8), ("id-ends", 8), ("keys", 16)];
        for (name, bytes) in fixed {
            Reader::open(&path(name))?.check_length(bytes * mark.documents)?;
        }
        Ok(Self {
            documents,
            counts: mark.counts,
            kinds: Reader::open(&path("kinds"))?.all()?,
            file_ends: Reader::open(&path("file-ends"))?.numbers()?,
            exact: Reader::open(&path("exact"))?,
            signatures: Runs::open(&path("signature-ends"), &path("signatures"))?,
            ids: Runs::open(&path("id-ends"), &path("ids"))?,
            keys: Reader::open(&path("keys"))?,
        })
    }

    /// What was noted, for those who take documents in order: 2 million in 3 seconds less than one
    /// by one.
    pub fn in_order(&self) -> Result<InOrder, Error> {
        Ok(InOrder { exact: self.exact.ahead()?, signatures: self.signatures.ahead()? })
    }

    /// The bytes of the signature of a document, in `to`; none if it has none.
    pub fn signature(&self, document: u32, to: &mut Vec<u8>) -> Result<(), Error> {
        self.signatures.read(document.into(), to)
    }

    /// The hash of the text of a document.
    pub fn exact(&self, document: u32) -> Result<u128, Error> {
        let mut bytes = [0; 16];
        self.exact.read(16 * u64::from(document), &mut bytes)?;
        Ok(u128::from_be_bytes(bytes))
    }

    /// The values of all signatures, if they take no more memory than that.
    pub fn values_within(&self, memory: u64) -> Result<Option<Values>, Error> {
        let needed = self.signatures.bytes()?.saturating_add(8 * u64::from(self.documents));
        if needed > memory {
            return Ok(None);
        }
        let (ends, values) = self.signatures.numbers()?;
        Ok(Some(Values { ends, values }))
    }

    /// The id of a document.
    pub fn id(&self, document: u32) -> Result<String, Error> {
        let mut bytes = Vec::new();
        self.ids.read(document.into(), &mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What ids take of memory, if each document has its own there.
    pub fn id_bytes(&self) -> Result<u64, Error> {
        Ok(self.ids.bytes()? + 48 * u64::from(self.documents))
    }

    /// All keys.
    pub fn keys(&self) -> Result<Vec<u128>, Error> {
        Ok(self
            .keys
            .all()?
            .as_chunks::<16>()
            .0
            .iter()
            .map(|bytes| u128::from_le_bytes(*bytes))
            .collect())
    }
}

/// The values of the signatures of all documents, in memory.
pub struct Values {
    /// Counted in bytes.
    ends: Vec<u64>,
    values: Vec<u64>,
}

impl Values {
    /// Those of a document; none if it has no signature.
    pub fn of(&self, document: u32) -> &[u64] {
        let end = |document: Option<u32>| {
            let end = document.and_then(|document| self.ends.get(document as usize));
            end.copied().unwrap_or_default() as usize / 8
        };
        self.values.get(end(document.checked_sub(1))..end(Some(document))).unwrap_or_default()
    }
}

/// What was noted, for those who take documents in order.
pub struct InOrder {
    exact: Ahead,
    signatures: Runs<Ahead>,
}

impl InOrder {
    /// The hash of the text of a document.
    pub fn exact(&mut self, document: u32) -> Result<u128, Error> {
        let mut bytes = [0; 16];
        self.exact.read(16 * u64::from(document), &mut bytes)?;
        Ok(u128::from_be_bytes(bytes))
    }

    /// The bytes of the signature of a document, in `to`; none if it has none.
    pub fn signature(&mut self, document: u32, to: &mut Vec<u8>) -> Result<(), Error> {
        self.signatures.read(document.into(), to)
    }
}
