//! Graphs of pairs of ids, as parts of a larger one are contracted: connected components, and
//! stars.

use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::input::{Given, Raw, ids};
use super::run::How;

/// Edges between ids, as ranks of the ids.
struct Graph {
    /// The ids, ascending.
    ids: Vec<i64>,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    fn of(a: &[u64], b: &[u64]) -> PyResult<Self> {
        let mut ids: Vec<i64> = a.iter().chain(b).map(|&id| id.cast_signed()).collect();
        ids.sort_unstable();
        ids.dedup();
        if u32::try_from(ids.len()).is_err() {
            return Err(PyValueError::new_err(
                "more than 2^32 ids; contract smaller parts of the graph first",
            ));
        }
        let rank = |id: u64| ids.partition_point(|&other| other < id.cast_signed()) as u32;
        let edges = a.iter().zip(b).map(|(&a, &b)| (rank(a), rank(b))).collect();
        Ok(Self { ids, edges })
    }

    /// For each id the least one of its component, as ranks.
    fn roots(&self) -> Vec<u32> {
        let mut parents: Vec<u32> = (0..self.ids.len() as u32).collect();
        for &(a, b) in &self.edges {
            let (a, b) = (root(&mut parents, a), root(&mut parents, b));
            parents[a.max(b) as usize] = a.min(b);
        }
        // A parent is less than its child, and has its root already.
        for rank in 0..parents.len() {
            parents[rank] = parents[parents[rank] as usize];
        }
        parents
    }

    /// For each id the one that stays in its place, as a rank, and by how much they differ.
    fn stars(&self, distances: &[u32]) -> (Vec<u32>, Vec<u16>) {
        // What is behind each id, as places of edges.
        let mut ends = vec![0usize; self.ids.len() + 1];
        self.edges.iter().for_each(|&(a, b)| ends[a.min(b) as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut places = vec![0u32; self.edges.len()];
        for (place, &(a, b)) in (0..).zip(&self.edges) {
            let at = &mut ends[a.min(b) as usize];
            places[*at] = place;
            *at += 1;
        }
        let mut kept: Vec<u32> = (0..self.ids.len() as u32).collect();
        let mut differ = vec![0; self.ids.len()];
        let mut start = 0;
        for rank in 0..self.ids.len() {
            let own = &places[start..ends[rank]];
            start = ends[rank];
            if kept[rank] != rank as u32 {
                continue;
            }
            for &place in own {
                let (a, b) = self.edges[place as usize];
                let other = a.max(b) as usize;
                if kept[other] == other as u32 && other != rank {
                    kept[other] = rank as u32;
                    differ[other] = distances[place as usize].min(u16::MAX.into()) as u16;
                }
            }
        }
        (kept, differ)
    }
}

fn root(parents: &mut [u32], mut at: u32) -> u32 {
    while parents[at as usize] != at {
        parents[at as usize] = parents[parents[at as usize] as usize];
        at = parents[at as usize];
    }
    at
}

/// The connected components of a graph whose edges are pairs of ids: (ids, roots), each id once and
/// ascending, and of its component the least one. `a` and `b` are `uint64` arrays of the same
/// length whose bits are signed numbers, as `x.view("uint64")` gives them; the results are `int64`.
///
/// Memory: some 50 bytes for each edge.
#[pyfunction]
pub fn components<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (a, b) = sides(a, b)?;
    let (ids, roots) = How::default().run(py, |_| {
        let graph = Graph::of(&a, &b)?;
        let roots: Vec<i64> = graph.roots().iter().map(|&rank| graph.ids[rank as usize]).collect();
        Ok((graph.ids, roots))
    })?;
    (PyArray1::from_vec(py, ids), PyArray1::from_vec(py, roots)).into_pyobject(py)
}

/// The stars of a graph, in the order of ids: an id is kept unless it is near one that is kept
/// before it; else the first of these stays in its place. Gives (ids, kept, distances): each id
/// once and ascending, what stays in its place (itself, if it is kept), and by how much they differ
/// (`uint16`). Arguments as for `components`, and `distances` (`uint32`) of the edges.
///
/// Memory: some 60 bytes for each edge.
#[pyfunction]
pub fn stars<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    distances: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (a, b) = sides(a, b)?;
    let given = Given::of(distances)?;
    let mut of_edges: Vec<u32> = Vec::with_capacity(a.len());
    for raw in given.raw()? {
        match raw {
            Raw::U32(list) => of_edges.extend_from_slice(list),
            _ => {
                return Err(PyTypeError::new_err("distances are an array of uint32 of shape (n,)"));
            }
        }
    }
    if of_edges.len() != a.len() {
        return Err(lengths());
    }
    let (ids, kept, differ) = How::default().run(py, |_| {
        let graph = Graph::of(&a, &b)?;
        if u32::try_from(graph.edges.len()).is_err() {
            return Err(PyValueError::new_err(
                "more than 2^32 edges in one component; take a smaller k",
            ));
        }
        let (kept, differ) = graph.stars(&of_edges);
        let kept: Vec<i64> = kept.iter().map(|&rank| graph.ids[rank as usize]).collect();
        Ok((graph.ids, kept, differ))
    })?;
    let arrays = (PyArray1::from_vec(py, ids), PyArray1::from_vec(py, kept));
    (arrays.0, arrays.1, PyArray1::from_vec(py, differ)).into_pyobject(py)
}

fn sides(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<(Vec<u64>, Vec<u64>)> {
    let (a, b) = (ids(a)?, ids(b)?);
    if a.len() == b.len() { Ok((a, b)) } else { Err(lengths()) }
}

fn lengths() -> PyErr {
    PyValueError::new_err("the arrays of the edges have different lengths")
}
