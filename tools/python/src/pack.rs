//! Packing.

use std::path::PathBuf;

use fpstore::{PackSession, PackSummary, Packer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use super::errors;
use super::ids::{IdList, IdPart};
use super::input::{self, Given, Raw};
use super::layout::Wish;
use super::run::How;
use super::width::{Width, by_bits};

/// Fingerprints that are handed on before it is looked for signals.
const PIECE: usize = 1 << 20;

/// Packs fingerprints into a store.
#[pyfunction]
#[pyo3(signature = (path, fingerprints, ids=None, *, k=None, prefer="balanced", bits=None, design=None, block_bytes=None,
    recipe=None, replace=false, append=false, threads=0, memory=None, tmp_dir=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are options in Python")]
pub fn pack<'py>(
    py: Python<'py>,
    path: PathBuf,
    fingerprints: &Bound<'py, PyAny>,
    ids: Option<&Bound<'py, PyAny>>,
    k: Option<u32>,
    prefer: &str,
    bits: Option<u32>,
    design: Option<&str>,
    block_bytes: Option<u32>,
    recipe: Option<&str>,
    replace: bool,
    append: bool,
    threads: u16,
    memory: Option<u64>,
    tmp_dir: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let wish = Wish { k, prefer, design, block_bytes };
    let mut packer = Packer::new().replace(replace).append(append);
    if let Some(recipe) = recipe {
        packer = packer.recipe(recipe);
    }
    let how = How { threads, memory, tmp_dir, progress };
    let mut pieces = Pieces::of(fingerprints, ids)?;
    let first = pieces.next()?;
    let bits = match (bits, &first) {
        (Some(bits), _) => bits,
        (None, Some(piece)) => input::bits(&piece.given.raw()?)?,
        (None, None) => 64,
    };
    packer = packer.layout(wish.layout(bits, recipe)?);
    let summary =
        by_bits!(bits, F => run::<F>(py, &packer.clone().width(), path, (pieces, first), &how))?;
    of_summary(py, &summary)
}

/// What is packed: one array, or those that an iterator gives.
struct Pieces<'py> {
    one: Option<Piece<'py>>,
    more: Option<Bound<'py, PyIterator>>,
}

/// Some fingerprints, with or without ids.
struct Piece<'py> {
    given: Given<'py>,
    ids: Option<IdList>,
}

impl<'py> Pieces<'py> {
    fn of(fingerprints: &Bound<'py, PyAny>, ids: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        match (fingerprints.cast::<PyIterator>(), ids) {
            (Err(_), ids) => Ok(Self { one: Some(Piece::of(fingerprints, ids)?), more: None }),
            (Ok(iterator), None) => Ok(Self { one: None, more: Some(iterator.clone()) }),
            (Ok(_), Some(_)) => Err(PyTypeError::new_err(
                "an iterator gives ids with its fingerprints, as pairs of arrays; leave ids out",
            )),
        }
    }

    fn next(&mut self) -> PyResult<Option<Piece<'py>>> {
        if let Some(one) = self.one.take() {
            return Ok(Some(one));
        }
        let Some(next) = self.more.as_mut().and_then(Iterator::next) else { return Ok(None) };
        let next = next?;
        match next.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                Piece::of(&pair.get_item(0)?, Some(&pair.get_item(1)?)).map(Some)
            }
            _ => Piece::of(&next, None).map(Some),
        }
    }
}

impl<'py> Piece<'py> {
    fn of(fingerprints: &Bound<'py, PyAny>, ids: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let given = Given::of(fingerprints)?;
        let ids = ids.map(IdList::of).transpose()?;
        let count: usize = given.raw()?.iter().map(|raw| raw.len()).sum();
        match &ids {
            Some(ids) if ids.len() != count => Err(PyValueError::new_err(format!(
                "there are {count} fingerprints and {} ids",
                ids.len()
            ))),
            _ => Ok(Self { given, ids }),
        }
    }
}

fn run<'py, F: Width>(
    py: Python<'py>,
    packer: &Packer<F>,
    path: PathBuf,
    (mut pieces, first): (Pieces<'py>, Option<Piece<'py>>),
    how: &How,
) -> PyResult<PackSummary> {
    let mut next = first;
    let (running, execution) = how.start();
    let mut session = packer.clone().execution(execution).start(&path).map_err(errors::of)?;
    while let Some(piece) = next {
        let raw = piece.given.raw()?;
        let mut done = 0;
        for raw in raw {
            let mut from = 0;
            while from < raw.len() {
                let part = raw.part(from, PIECE.min(raw.len() - from));
                let own = piece.ids.as_ref().map(|ids| (ids, done));
                py.detach(|| extend(&mut session, part, own))?;
                py.check_signals()?;
                done += part.len();
                from += part.len();
            }
            if raw.len() == 0 {
                py.detach(|| extend(&mut session, raw, piece.ids.as_ref().map(|ids| (ids, 0))))?;
            }
        }
        next = pieces.next()?;
    }
    running.finish(py, move || session.finish().map_err(errors::of))
}

fn extend<F: Width>(
    session: &mut PackSession<F>,
    part: Raw<'_>,
    ids: Option<(&IdList, usize)>,
) -> PyResult<()> {
    let Some((ids, mut done)) = ids else {
        return part.each::<F>(&mut |piece| session.extend(piece).map_err(errors::of));
    };
    part.each::<F>(&mut |piece| {
        let own = ids.part(done, piece.len());
        done += piece.len();
        let fingerprints = piece.iter().copied();
        let taken = match own {
            IdPart::Numbers(own) => {
                let pairs: Vec<_> = fingerprints.zip(own.iter().copied()).collect();
                session.extend_with_ids(&pairs)
            }
            IdPart::Names(own) => {
                let pairs: Vec<_> = fingerprints.zip(own).collect();
                session.extend_with_ids(&pairs)
            }
        };
        taken.map_err(errors::of)
    })
}

fn of_summary<'py>(py: Python<'py>, summary: &PackSummary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("read", summary.read)?;
    dict.set_item("distinct", summary.distinct)?;
    dict.set_item("ids", summary.ids)?;
    dict.set_item("bytes", summary.bytes)?;
    dict.set_item("design", summary.design().map(ToString::to_string))?;
    dict.set_item("block_bytes", summary.block_bytes())?;
    dict.set_item("parts", summary.parts())?;
    dict.set_item("temporary_bytes", summary.temporary_bytes)?;
    Ok(dict)
}
