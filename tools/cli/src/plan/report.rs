//! What is told of plans of tables, in JSON.

use fpstore::plan::Plan;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) fingerprints: u64,
    pub(super) radius: u32,
    /// The time of a search once the hot index is there; null if that helps none.
    pub(super) hot_query_ns: Option<f64>,
    pub(super) recommended: Option<String>,
    pub(super) plans: Vec<PlanReport>,
}

#[derive(Serialize)]
pub(super) struct PlanReport {
    design: String,
    block_bytes: u32,
    recommended: bool,
    within_budget: bool,
    codec: String,
    low_bits: u32,
    short_tables: bool,
    scans: bool,
    tables: Vec<TableReport>,
    blocks: f64,
    blocks_decoded: f64,
    bytes_touched: f64,
    reads: f64,
    store_bytes: u64,
    bytes_per_fingerprint: f64,
    router_bytes: u64,
    warm_ns: f64,
    cold_ns: f64,
}

#[derive(Serialize)]
struct TableReport {
    top_bits: u32,
    threshold: Option<u32>,
    candidates: f64,
    blocks: f64,
}

impl PlanReport {
    pub(super) fn new(plan: &Plan, recommended: bool) -> Self {
        let table = |table: &fpstore::plan::TablePlan| TableReport {
            top_bits: table.top_bits,
            threshold: table.threshold,
            candidates: table.candidates,
            blocks: table.blocks,
        };
        Self {
            design: plan.design.to_string(),
            block_bytes: plan.block_bytes,
            recommended,
            within_budget: plan.within_budget,
            codec: plan.codec.to_string(),
            low_bits: plan.low_bits,
            short_tables: plan.short_tables,
            scans: plan.scans,
            tables: plan.tables.iter().map(table).collect(),
            blocks: plan.blocks,
            blocks_decoded: plan.blocks_decoded,
            bytes_touched: plan.bytes_touched,
            reads: plan.reads,
            store_bytes: plan.store_bytes,
            bytes_per_fingerprint: plan.bytes_per_fingerprint,
            router_bytes: plan.router_bytes,
            warm_ns: plan.warm_ns,
            cold_ns: plan.cold_ns,
        }
    }
}
