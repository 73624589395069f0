//! What is predicted and what there is, as dicts.

use std::time::UNIX_EPOCH;

use fpstore::maintenance::VerifyReport;
use fpstore::plan::{Planner, plan_parts, recommended_parts};
use fpstore::stats::Stats;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::errors;

/// Predicts what stores of n fingerprints take: a list of dicts, one for each design, or number of
/// parts.
#[pyfunction]
#[pyo3(signature = (n, k=3, *, bits=64, prefer="balanced"))]
pub fn plan<'py>(
    py: Python<'py>,
    n: u64,
    k: u32,
    bits: u32,
    prefer: &str,
) -> PyResult<Bound<'py, PyList>> {
    let prefer = prefer.parse().map_err(errors::of)?;
    let all = PyList::empty(py);
    if !matches!(bits, 32 | 64) {
        let plans = py.detach(|| plan_parts(bits, n, k)).map_err(errors::of)?;
        let recommended = recommended_parts(bits, n, k).map_err(errors::of)?;
        for plan in plans {
            let one = PyDict::new(py);
            one.set_item("parts", plan.parts)?;
            one.set_item("store_bytes", plan.store_bytes)?;
            one.set_item("bytes_per_fingerprint", plan.store_bytes as f64 / n.max(1) as f64)?;
            one.set_item("search_ns", plan.search_ns)?;
            one.set_item("recommended", plan.parts == recommended)?;
            all.append(one)?;
        }
        return Ok(all);
    }
    let planner = Planner::for_bits(bits, n).radius(k).prefer(prefer);
    let (plans, best) =
        py.detach(|| Ok((planner.plans()?, planner.best()?))).map_err(errors::of)?;
    for plan in plans {
        let one = PyDict::new(py);
        one.set_item("design", plan.design.to_string())?;
        one.set_item("block_bytes", plan.block_bytes)?;
        one.set_item("short_tables", plan.short_tables)?;
        one.set_item("low_bits", plan.low_bits)?;
        one.set_item("store_bytes", plan.store_bytes)?;
        one.set_item("bytes_per_fingerprint", plan.bytes_per_fingerprint)?;
        one.set_item("search_ns", plan.warm_ns)?;
        one.set_item("cold_search_ns", plan.cold_ns)?;
        let is_best = best.as_ref().is_some_and(|best| *best == plan);
        one.set_item("recommended", is_best)?;
        all.append(one)?;
    }
    Ok(all)
}

/// What a store is made of.
pub fn of_stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("bits", stats.bits)?;
    dict.set_item("radius", stats.radius)?;
    dict.set_item("fingerprints", stats.fingerprints)?;
    dict.set_item("bytes", stats.bytes)?;
    let segments = PyList::empty(py);
    for segment in &stats.segments {
        let one = PyDict::new(py);
        one.set_item("number", segment.number)?;
        one.set_item("fingerprints", segment.count)?;
        one.set_item("design", segment.design.as_ref().map(ToString::to_string))?;
        one.set_item("parts", segment.base.as_ref().map(|base| base.parts.len()))?;
        one.set_item("deletions", segment.deletions)?;
        if let Some(since) = segment.since.and_then(|at| at.duration_since(UNIX_EPOCH).ok()) {
            one.set_item("window", since.as_secs())?;
        }
        segments.append(one)?;
    }
    dict.set_item("segments", segments)?;
    if let Some(living) = &stats.living {
        let one = PyDict::new(py);
        one.set_item("ids", living.ids)?;
        one.set_item("window_seconds", living.window.map(|window| window.as_secs()))?;
        one.set_item("sequence", living.sequence)?;
        one.set_item("log_operations", living.log_operations)?;
        one.set_item("deletions", living.deletions)?;
        one.set_item("written_bytes", living.written_bytes)?;
        one.set_item(
            "write_amplification",
            stats.living.as_ref().and_then(|living| living.write_amplification()),
        )?;
        dict.set_item("living", one)?;
    }
    Ok(dict)
}

/// What was checked.
pub fn of_report<'py>(py: Python<'py>, report: &VerifyReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("segments", report.segments)?;
    dict.set_item("tables", report.tables)?;
    dict.set_item("blocks", report.blocks)?;
    dict.set_item("fingerprints", report.fingerprints)?;
    dict.set_item("ids", report.ids)?;
    dict.set_item("deletions", report.deletions)?;
    dict.set_item("log_operations", report.log_operations)?;
    Ok(dict)
}
