//! Clean corpora: which texts of many are duplicates of others.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BooleanArray, Float32Array, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray, UInt16Array,
};
use arrow_schema::{DataType, Field, Schema};
use fpstore_corpus::{
    Decided, Dedup, Document, DocumentOptions, Inputs, Kept, Kind, Session, Stored, Why,
};
use fpstore_text::Fingerprinter;
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

use super::arrow::ArrowStream;
use super::errors::of_corpus;
use super::run::How;
use super::text::{bytes_of, refused, texts_of};

/// Texts that are taken together, between two looks for signals.
const PIECE: usize = 1 << 13;
/// Bytes that a page is made in where nothing is said.
const REPORT_MEMORY: u64 = 1 << 30;
/// Stands for none among indices.
const NONE: i64 = -1;

/// Which of some texts are kept, in their order.
///
/// `kept` (bool), `instead` and `matched` (int64: the index of the text that is kept instead, and
/// of the one that it is near; -1 where it is kept, and where that one belongs to an earlier
/// corpus), `distance` (uint16, to the matched one), `why` (kept, exact, near or known) have an
/// entry for each text. `result[i]` is the tuple (kept, instead, distance, why) of one, in which a
/// document of an earlier corpus has its id; `to_arrow()` gives all as a stream of Arrow with the
/// columns kept, instead, matched, distance, why and jaccard, where the others are named by their
/// ids or indices; `report` has settings and counts.
#[pyclass(frozen, module = "fpstore")]
pub struct Deduplicated {
    decided: Decided,
    /// Whether texts have ids of their own.
    has_ids: bool,
}

fn name_of(why: Why) -> &'static str {
    if why == Why::Old { "known" } else { why.name() }
}

impl Deduplicated {
    fn documents(&self) -> std::ops::Range<u32> {
        0..self.decided.documents()
    }

    /// The indices that verdicts name.
    fn indices(&self, of: impl Fn(fpstore_corpus::Verdict) -> Kept) -> Vec<i64> {
        let index = |document| match self.decided.verdict(document).map(&of) {
            Some(Kept::Document(other)) => other.into(),
            _ => NONE,
        };
        self.documents().map(index).collect()
    }

    /// What a text is called.
    fn name(&self, kept: &Kept) -> PyResult<String> {
        match kept {
            Kept::Document(document) if !self.has_ids => Ok(document.to_string()),
            kept => self.decided.name(kept).map_err(of_corpus),
        }
    }

    fn why_of(&self, document: u32) -> &'static str {
        self.decided.verdict(document).map_or("kept", |verdict| name_of(verdict.why))
    }
}

#[pymethods]
impl Deduplicated {
    /// Whether each text is kept: bool, shape (n,).
    #[getter]
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, self.documents().map(|document| self.decided.keeps(document)))
    }

    /// For each text the index of the one that is kept in its place; -1 for a kept text, and where
    /// that one is of an earlier corpus: int64, shape (n,).
    #[getter]
    fn instead<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.indices(|verdict| verdict.kept))
    }

    /// For each text the index of the near duplicate by which it was found, -1 as above: int64,
    /// shape (n,).
    #[getter]
    fn matched<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.indices(|verdict| verdict.matched))
    }

    /// For each text the distance to `matched`, 0 for kept ones: uint16, shape (n,).
    #[getter]
    fn distance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        let distance =
            |document| self.decided.verdict(document).map_or(0, |verdict| verdict.distance as u16);
        PyArray1::from_iter(py, self.documents().map(distance))
    }

    /// For each text `kept`, or why it is removed.
    #[getter]
    fn why(&self) -> Vec<&'static str> {
        self.documents().map(|document| self.why_of(document)).collect()
    }

    /// What was read, removed and kept, as a dictionary.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report_of(py, self.decided.report())
    }

    fn __len__(&self) -> usize {
        self.decided.documents() as usize
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyTuple>> {
        let count = self.decided.documents() as isize;
        let place = if index < 0 { index + count } else { index };
        if !(0..count).contains(&place) {
            return Err(PyIndexError::new_err(format!("{index} of {count} texts")));
        }
        let document = place as u32;
        let Some(verdict) = self.decided.verdict(document) else {
            return (true, place, 0u32, "kept").into_pyobject(py);
        };
        let why = name_of(verdict.why);
        match verdict.kept {
            Kept::Document(other) => (false, other, verdict.distance, why).into_pyobject(py),
            Kept::Earlier(id) => (false, id, verdict.distance, why).into_pyobject(py),
        }
    }

    /// A stream of Arrow with a row for each text, in their order.
    fn to_arrow(&self) -> PyResult<ArrowStream> {
        let schema = Arc::new(Schema::new(vec![
            Field::new("kept", DataType::Boolean, false),
            Field::new("instead", DataType::Utf8, true),
            Field::new("matched", DataType::Utf8, true),
            Field::new("distance", DataType::UInt16, true),
            Field::new("why", DataType::Utf8, false),
            Field::new("jaccard", DataType::Float32, true),
        ]));
        let verdicts: Vec<_> =
            self.documents().map(|document| self.decided.verdict(document)).collect();
        let mut names = [Vec::new(), Vec::new()];
        for verdict in &verdicts {
            let verdict = verdict.as_ref();
            let named = [verdict.map(|verdict| &verdict.kept), verdict.map(|own| &own.matched)];
            for (to, kept) in names.iter_mut().zip(named) {
                to.push(kept.map(|kept| self.name(kept)).transpose()?);
            }
        }
        let [instead, matched] = names.map(StringArray::from);
        let kept: Vec<bool> = verdicts.iter().map(Option::is_none).collect();
        let distance =
            verdicts.iter().map(|verdict| verdict.as_ref().map(|one| one.distance as u16));
        let jaccard = verdicts.iter().map(|verdict| verdict.as_ref()?.jaccard);
        let rows = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(BooleanArray::from(kept)),
                Arc::new(instead),
                Arc::new(matched),
                Arc::new(distance.collect::<UInt16Array>()),
                Arc::new(StringArray::from(self.why())),
                Arc::new(jaccard.collect::<Float32Array>()),
            ],
        );
        ArrowStream::new(Box::new(RecordBatchIterator::new(vec![rows], schema)))
    }

    fn __repr__(&self) -> String {
        let counts = &self.decided.report().counts;
        format!("<fpstore.Deduplicated: {} of {} texts kept>", counts.kept, counts.documents)
    }
}

fn report_of<'py>(py: Python<'py>, report: &fpstore_corpus::Report) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(report);
    let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// What of a corpus is removed.
struct Options<'a> {
    recipe: &'a str,
    k: Option<u32>,
    keep: &'a str,
    clusters: &'a str,
    verify: Option<&'a str>,
    against: Option<PathBuf>,
    add: bool,
}

impl Options<'_> {
    fn dedup(&self, how: &How) -> PyResult<Dedup> {
        let wrong = |name: &str, given: &str, what: String| {
            PyValueError::new_err(format!("{name}={given:?}: {what}"))
        };
        let recipe: fpstore_text::Recipe = self.recipe.parse().map_err(refused)?;
        let keep = self.keep.parse().map_err(|what| wrong("keep", self.keep, what))?;
        let shape = self.clusters.parse().map_err(|what| wrong("clusters", self.clusters, what))?;
        let one = Fingerprinter::new(&recipe).map_err(refused)?;
        let mut dedup = Dedup::new(one).keep(keep).clusters(shape).threads(how.threads.into());
        if let Some(k) = self.k {
            dedup = dedup.k(k).map_err(of_corpus)?;
        }
        if let Some(verify) = self.verify {
            dedup = dedup.verify(verify.parse().map_err(|what| wrong("verify", verify, what))?);
        }
        if let Some(path) = &self.against {
            dedup = dedup.against(path, self.add);
        }
        if let Some(memory) = how.memory {
            dedup = dedup.memory(memory);
        }
        Ok(dedup)
    }
}

/// Which of some texts are duplicates of others, exact or near: a `Deduplicated`. Texts are a list
/// of `str` or `bytes`, or an Arrow array of strings; null and empty ones are duplicates of
/// nothing.
///
/// `recipe` and `k` say what is near (`fpstore fingerprint --list` and `Recipe.presets()` name the
/// recipes; k in bits is for those with one fingerprint); `keep` which text of a cluster is kept:
/// "first", "longest" or "central"; `clusters` what a cluster is: "star" (each is near the one that
/// is kept), "components" or "complete"; `verify` checks pairs on the texts: "jaccard:0.8",
/// or "containment:0.9" for short ones inside longer ones. The answer is that of `fpstore corpus
/// dedup`. Memory: the texts, and some 100 bytes for each in
/// temporary files.
#[pyfunction]
#[pyo3(signature = (texts, *, recipe="onebit-256", k=None, keep="first", clusters="star", verify=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn dedup<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    recipe: &str,
    k: Option<u32>,
    keep: &str,
    clusters: &str,
    verify: Option<&str>,
    threads: u16,
    memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Deduplicated> {
    let how = How { threads, memory, progress, ..How::default() };
    let options = Options { recipe, k, keep, clusters, verify, against: None, add: false };
    let dedup = options.dedup(&how)?;
    if dedup_column(keep) {
        return Err(PyValueError::new_err(format!(
            "keep={keep:?}: texts have no columns; dedup_corpus takes tables"
        )));
    }
    if let Ok(list) = texts.cast::<PyList>() {
        let items: Vec<Bound<'_, PyAny>> = list.iter().collect();
        let texts: Vec<&[u8]> = items.iter().map(bytes_of).collect::<PyResult<_>>()?;
        return decide_texts(py, &how, dedup, &texts);
    }
    if texts.hasattr("__arrow_c_array__")? || texts.hasattr("__arrow_c_stream__")? {
        let array: AnyArray = texts.extract()?;
        let chunks: Result<Vec<_>, _> = array.into_reader()?.collect();
        let chunks = chunks.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut all = Vec::new();
        for chunk in &chunks {
            texts_of(chunk.as_ref(), &mut all)?;
        }
        return decide_texts(py, &how, dedup, &all);
    }
    let items: Vec<Bound<'_, PyAny>> = match texts.is_instance_of::<PyString>() {
        true => return Err(PyTypeError::new_err("texts are a list of them, not one str")),
        false => texts.try_iter()?.collect::<PyResult<_>>()?,
    };
    let texts: Vec<&[u8]> = items.iter().map(bytes_of).collect::<PyResult<_>>()?;
    decide_texts(py, &how, dedup, &texts)
}

/// Whether what is kept goes by a column.
fn dedup_column(keep: &str) -> bool {
    keep.starts_with("max:") || keep.starts_with("priority:")
}

fn decide_texts(
    py: Python<'_>,
    how: &How,
    dedup: Dedup,
    texts: &[&[u8]],
) -> PyResult<Deduplicated> {
    let (running, monitor) = how.watch();
    let decided = running.finish(py, move || {
        let mut session = dedup.monitor(monitor).session().map_err(of_corpus)?;
        let documents =
            texts.iter().map(|text| Document { text: (*text).into(), ..Document::of("") });
        session.add(documents).map_err(of_corpus)?;
        session.finish().map_err(of_corpus)
    })?;
    Ok(Deduplicated { decided, has_ids: false })
}

/// Removes duplicates from a corpus, as `fpstore corpus dedup` does.
///
/// `inputs` are a path or a list of paths (JSON lines, CSV, TSV, Parquet, plain text, compressed or
/// not, and directories): then what is kept of them is written into the directory `output`, with
/// the table of what is removed, and the report comes as a dict; `write="annotated"` writes all of
/// it with the columns cluster, cluster_size, kept, distance and why ("annotated:PREFIX" where such
/// names are taken), and "nothing" only the table. A call that was stopped or killed
/// is gone on with by the next one. Or `inputs` are a data frame, a table, a stream of Arrow, or a
/// list of those, with texts in the column `text`: then the answer is a `Deduplicated` for all
/// their rows, which are read once, batch by batch: `frame[result.kept]`.
///
/// Arguments as for `dedup`; `keep` may also be "smallest-id", "max:COLUMN", "priority:COLUMN" and
/// "priority:COLUMN=A,B,C". `against` is the store of an earlier corpus, whose documents are not to
/// come again; with `add` what is kept is added to it by its ids (`id`), and it is created where
/// there is none.
#[pyfunction]
#[pyo3(signature = (inputs, *, recipe="onebit-256", k=None, keep="first", clusters="star", verify=None, against=None, add=false, text="text", id=None, format=None, skip_bad=false, write="kept", removed=None, output=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn dedup_corpus<'py>(
    py: Python<'py>,
    inputs: &Bound<'py, PyAny>,
    recipe: &str,
    k: Option<u32>,
    keep: &str,
    clusters: &str,
    verify: Option<&str>,
    against: Option<PathBuf>,
    add: bool,
    text: &str,
    id: Option<&str>,
    format: Option<&str>,
    skip_bad: bool,
    write: &str,
    removed: Option<&str>,
    output: Option<PathBuf>,
    threads: u16,
    memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let how = How { threads, memory, progress, ..How::default() };
    if add && (against.is_none() || id.is_none()) {
        let what = "add=True goes with the store (against) and with ids (id)";
        return Err(PyValueError::new_err(what));
    }
    let options = Options { recipe, k, keep, clusters, verify, against, add };
    let mut dedup = options.dedup(&how)?;
    let is_arrow = |value: &Bound<'py, PyAny>| {
        Ok::<bool, PyErr>(
            value.hasattr("__arrow_c_stream__")? || value.hasattr("__arrow_c_array__")?,
        )
    };
    let is_one_path = inputs.is_instance_of::<PyString>() || inputs.hasattr("__fspath__")?;
    let items: Vec<Bound<'py, PyAny>> = match is_one_path || is_arrow(inputs)? {
        true => vec![inputs.clone()],
        false => inputs.try_iter()?.collect::<PyResult<_>>()?,
    };
    if items.iter().map(is_arrow).collect::<PyResult<Vec<_>>>()?.contains(&true) {
        if output.is_some() || format.is_some() || removed.is_some() || write != "kept" {
            let what = "output, format, write and removed are for files; of a table the answer says which rows \
                        are kept";
            return Err(PyValueError::new_err(what));
        }
        let columns = Columns { text, id, extra: column_of(keep) };
        return Ok(tables(py, &how, dedup, &items, &columns)?.into_pyobject(py)?.into_any());
    }
    let paths: Vec<PathBuf> = items.iter().map(|item| item.extract()).collect::<PyResult<_>>()?;
    let Some(output) = output else {
        let what = "name the directory (output) that what is kept of the files goes to";
        return Err(PyValueError::new_err(what));
    };
    if let Some(removed) = removed {
        let shape = removed.parse();
        let shape = shape.map_err(|what: String| {
            PyValueError::new_err(format!("removed={removed:?}: {what}"))
        })?;
        dedup = dedup.removed(shape);
    }
    let written = write.parse();
    dedup = dedup.write(
        written
            .map_err(|what: String| PyValueError::new_err(format!("write={write:?}: {what}")))?,
    );
    let mut reads = DocumentOptions::new().skip_bad(skip_bad);
    // A column that is named says that tables are meant.
    if text != "text" {
        reads = reads.text(text);
    }
    if let Some(id) = id {
        reads = reads.id(id);
    }
    if let Some(format) = format {
        reads = reads.kind(kind_of(format)?);
    }
    let (running, monitor) = how.watch();
    let report = running.finish(py, move || {
        let inputs = Inputs::find(&paths, &reads).map_err(of_corpus)?;
        dedup.monitor(monitor).files(&inputs, &reads, &output).map_err(of_corpus)
    })?;
    report_of(py, &report)
}

/// A page of HTML, complete in itself, that shows what `dedup_corpus` or `fpstore corpus dedup`
/// removed of files: how much and why, the pairs nearest to the threshold on both sides with their
/// differences marked, the distances and the largest clusters. `results` is the directory that they
/// wrote. The files are read once more, and must not have changed.
#[pyfunction]
#[pyo3(signature = (results, *, threads=0, memory=None, progress=None))]
pub fn corpus_report(
    py: Python<'_>,
    results: PathBuf,
    threads: u16,
    memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let how = How { threads, memory, progress, ..How::default() };
    let (running, monitor) = how.watch();
    running.finish(py, move || {
        let stored = Stored::open(&results).map_err(of_corpus)?;
        let memory = memory.unwrap_or(REPORT_MEMORY);
        stored.page(threads.into(), memory, &monitor).map_err(of_corpus)
    })
}

/// Decides again about the documents of files, by what `dedup_corpus` or `fpstore corpus dedup`
/// noted of them in `results`, with another distance, choice or shape of clusters; what is not
/// given stays as it was. The results are replaced by those of a call from scratch, and the report
/// comes as a dict. Files are read only to write what is kept of them.
#[pyfunction]
#[pyo3(signature = (results, *, k=None, keep=None, clusters=None, threads=0, memory=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn corpus_decide<'py>(
    py: Python<'py>,
    results: PathBuf,
    k: Option<u32>,
    keep: Option<&str>,
    clusters: Option<&str>,
    threads: u16,
    memory: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let how = How { threads, memory, progress, ..How::default() };
    let wrong = |name: &str, given: &str, what: String| {
        PyValueError::new_err(format!("{name}={given:?}: {what}"))
    };
    let settings = Stored::settings(&results).map_err(of_corpus)?;
    let recipe: fpstore_text::Recipe = settings.recipe.parse().map_err(refused)?;
    let one = Fingerprinter::new(&recipe).map_err(refused)?;
    let mut dedup = Dedup::stored(&settings, one).map_err(of_corpus)?.threads(threads.into());
    if let Some(k) = k {
        dedup = dedup.k(k).map_err(of_corpus)?;
    }
    if let Some(keep) = keep {
        dedup = dedup.keep(keep.parse().map_err(|what| wrong("keep", keep, what))?);
    }
    if let Some(shape) = clusters {
        dedup = dedup.clusters(shape.parse().map_err(|what| wrong("clusters", shape, what))?);
    }
    if let Some(memory) = memory {
        dedup = dedup.memory(memory);
    }
    let (running, monitor) = how.watch();
    let report =
        running.finish(py, move || dedup.monitor(monitor).again(&results).map_err(of_corpus))?;
    report_of(py, &report)
}

fn kind_of(format: &str) -> PyResult<Kind> {
    match format {
        "jsonl" => Ok(Kind::Jsonl),
        "csv" => Ok(Kind::Csv),
        "tsv" => Ok(Kind::Tsv),
        "parquet" => Ok(Kind::Parquet),
        "plain" => Ok(Kind::Plain),
        _ => Err(PyValueError::new_err(format!(
            "format={format:?}: jsonl, csv, tsv, parquet or plain"
        ))),
    }
}

/// The column that keep= names.
fn column_of(keep: &str) -> Option<&str> {
    let name = keep.strip_prefix("max:").or_else(|| keep.strip_prefix("priority:"))?;
    Some(name.split_once('=').map_or(name, |(name, _)| name))
}

/// The columns of tables that are read.
struct Columns<'a> {
    text: &'a str,
    id: Option<&'a str>,
    extra: Option<&'a str>,
}

fn tables(
    py: Python<'_>,
    how: &How,
    dedup: Dedup,
    tables: &[Bound<'_, PyAny>],
    columns: &Columns<'_>,
) -> PyResult<Deduplicated> {
    let (running, monitor) = how.watch();
    let mut session = py.detach(|| dedup.monitor(monitor).session()).map_err(of_corpus)?;
    for table in tables {
        let table: AnyRecordBatch = table.extract()?;
        let reader: Box<dyn RecordBatchReader + Send> = table.into_reader()?;
        for batch in reader {
            let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
            add(py, &mut session, &batch, columns)?;
        }
    }
    let decided = running.finish(py, move || session.finish().map_err(of_corpus))?;
    Ok(Deduplicated { decided, has_ids: columns.id.is_some() })
}

/// Takes the rows of a batch.
fn add(
    py: Python<'_>,
    session: &mut Session,
    batch: &RecordBatch,
    columns: &Columns<'_>,
) -> PyResult<()> {
    let column = |name: &str| {
        batch.column_by_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("the table has no column {name:?}; name another one"))
        })
    };
    let mut texts = Vec::with_capacity(batch.num_rows());
    texts_of(column(columns.text)?.as_ref(), &mut texts)?;
    let ids = columns.id.map(|name| values(name, column(name)?.as_ref())).transpose()?;
    if let Some(row) = ids.iter().flatten().position(Option::is_none) {
        return Err(PyValueError::new_err(format!(
            "row {row}: the id is null; leave such rows out, or name another column"
        )));
    }
    let extra = columns.extra.map(|name| values(name, column(name)?.as_ref())).transpose()?;
    let mut from = 0;
    for texts in texts.chunks(PIECE) {
        let documents = texts.iter().zip(from..).map(|(text, row)| {
            let value = |column: &Option<Vec<Option<String>>>| column.as_ref()?.get(row)?.clone();
            Document {
                text: (*text).into(),
                id: value(&ids).unwrap_or_default().into(),
                extra: value(&extra).map(Into::into),
            }
        });
        let documents: Vec<Document<'_>> = documents.collect();
        py.detach(|| session.add(documents)).map_err(of_corpus)?;
        py.check_signals()?;
        from += texts.len();
    }
    Ok(())
}

/// What stands in a column, as text: strings, and numbers as files have them.
fn values(name: &str, column: &dyn Array) -> PyResult<Vec<Option<String>>> {
    use arrow_array::types::*;
    macro_rules! numbers {
        ($($kind:ident => $of:ty),*) => {
            match column.data_type() {
                $(DataType::$kind => {
                    let column = column.as_primitive::<$of>();
                    return Ok(column.iter().map(|value| Some(value?.to_string())).collect());
                })*
                _ => {}
            }
        };
    }
    numbers!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type,
        Float32 => Float32Type, Float64 => Float64Type);
    let owned = |text: Option<&str>| text.map(str::to_string);
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().iter().map(owned).collect()),
        DataType::LargeUtf8 => Ok(column.as_string::<i64>().iter().map(owned).collect()),
        DataType::Utf8View => Ok(column.as_string_view().iter().map(owned).collect()),
        other => Err(PyTypeError::new_err(format!(
            "the column {name:?} is of type {other}; ids and values to choose by are strings or numbers"
        ))),
    }
}
