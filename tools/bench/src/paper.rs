//! What the paper says of its designs and of its compression, beside what is predicted and measured
//! here (section 3 of Manku, Jain, Das Sarma, WWW 2007).

use fpstore::plan::Planner;
use fpstore::{Codec, Design};
use fpstore_cli::failure::Failure;
use serde::Serialize;

use super::grid::{CodecWish, Configuration, LowBits, SHORT, Tables};
use super::results::{Measured, Results};

/// The paper's number of fingerprints in its table of designs, and of its collection.
const DESIGN_COUNT: u64 = 1 << 34;
const COLLECTION: u64 = 8_000_000_000;
/// The radius of both.
const RADIUS: u32 = 3;
/// Bytes per block that the paper calls typical.
pub const BLOCK_BYTES: u32 = 1024;

/// A row of its table: our name for the design; its tables, bits of the prefix, and fingerprints to
/// look at in each table.
const DESIGNS: [(&str, u32, &str, u64); 4] = [
    ("3of6", 20, "31-33", 8),
    ("4x4", 16, "28", 64),
    ("2of5", 10, "25-26", 512),
    ("quarters", 4, "16", 262_144),
];

/// The section of the report.
#[derive(Clone, Debug, Serialize)]
pub struct Paper {
    pub designs: Vec<DesignRow>,
    pub sizes: Vec<SizeRow>,
}

/// A design of the paper.
#[derive(Clone, Debug, Serialize)]
pub struct DesignRow {
    pub design: String,
    pub tables: u32,
    pub prefix: String,
    pub candidates: u64,
    /// What the planner says for as many fingerprints.
    pub planned_tables: usize,
    pub planned_prefix: String,
    pub planned_candidates: u64,
    pub planned_bytes: f64,
    pub planned_us: f64,
    /// What was measured here, of the same design in the paper's blocks.
    pub measured: Option<MeasuredRow>,
}

/// A configuration of the sweep.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredRow {
    pub id: String,
    pub bytes: f64,
    pub us: f64,
    pub blocks: f64,
}

/// Bytes per fingerprint of one table.
#[derive(Clone, Debug, Serialize)]
pub struct SizeRow {
    pub what: String,
    pub fingerprints: u64,
    pub bytes: f64,
    /// Of the 8 bytes of a raw fingerprint, in percent.
    pub percent: f64,
    pub how: String,
}

/// How the paper packs: xor, blocks of 1024 bytes, nothing kept apart.
fn of_design(design: Design) -> Tables {
    Tables {
        design: design.into(),
        block_bytes: BLOCK_BYTES,
        codec: CodecWish(Some(Codec::Xor)),
        low_bits: LowBits(Some(0)),
    }
}

/// The designs of the paper as it packs them.
pub fn configurations() -> Vec<Configuration> {
    let designs = DESIGNS.iter().filter_map(|(name, ..)| Design::named(name));
    designs.map(|design| Configuration::Tables(of_design(design))).collect()
}

impl Paper {
    /// The section for these results; `None` where the paper's designs were not measured.
    pub fn new(results: &Results) -> Result<Option<Self>, Failure> {
        let designs: Vec<_> =
            DESIGNS.iter().map(|row| design_row(row, results)).collect::<Result<_, _>>()?;
        // One of them may be part of any grid.
        if designs.iter().filter(|row| row.measured.is_some()).count() < 2 {
            return Ok(None);
        }
        Ok(Some(Self { designs, sizes: size_rows(results)? }))
    }
}

fn design_row(
    &(name, tables, prefix, candidates): &(&str, u32, &str, u64),
    results: &Results,
) -> Result<DesignRow, Failure> {
    let design: Design = name.parse()?;
    let as_packed = of_design(design);
    let planner = Planner::new(DESIGN_COUNT).radius(RADIUS);
    let plan = as_packed.plan(&planner)?.ok_or_else(|| {
        Failure::System(format!("the planner has nothing for {name} at 2^34; this is a defect"))
    })?;
    let bits = || plan.tables.iter().map(|table| table.top_bits);
    let (least, most) = (bits().min().unwrap_or(0), bits().max().unwrap_or(0));
    let exact = results.find(&Configuration::Tables(as_packed).id());
    Ok(DesignRow {
        design: name.to_string(),
        tables,
        prefix: prefix.to_string(),
        candidates,
        planned_tables: plan.tables.len(),
        planned_prefix: if least == most { least.to_string() } else { format!("{least}-{most}") },
        planned_candidates: plan.tables.iter().map(|t| t.candidates).fold(0.0, f64::max) as u64,
        planned_bytes: plan.bytes_per_fingerprint,
        planned_us: plan.warm_ns / 1e3,
        measured: exact.map(MeasuredRow::new),
    })
}

impl MeasuredRow {
    fn new(measured: &Measured) -> Self {
        Self {
            id: measured.id.clone(),
            bytes: measured.size.bytes_per_fingerprint,
            us: measured.warm.p50_ns / 1e3,
            blocks: measured.work.steps.blocks_scanned,
        }
    }
}

fn size_rows(results: &Results) -> Result<Vec<SizeRow>, Failure> {
    let row = |what: &str, fingerprints, bytes: f64, how: &str| SizeRow {
        what: what.to_string(),
        fingerprints,
        bytes,
        percent: 12.5 * bytes,
        how: how.to_string(),
    };
    let mut rows =
        vec![row("the paper: 64 GB become about 32 GB", COLLECTION, 4.0, "its estimate")];
    let single: Design = "single".parse()?;
    let codecs =
        [(Codec::Xor, Some(0), "xor, L = 0 (the paper's code)"), (Codec::Gap, None, "gap")];
    for (codec, low_bits, what) in codecs {
        let (codec, low_bits) = (CodecWish(Some(codec)), LowBits(low_bits));
        let design = single.clone().into();
        let one = Tables { design, block_bytes: BLOCK_BYTES, codec, low_bits };
        if let Some(plan) = one.plan(&Planner::new(COLLECTION))? {
            let how = "predicted for uniform fingerprints";
            rows.push(row(what, COLLECTION, plan.bytes_per_fingerprint, how));
        }
        // Any design of the sweep with whole keys will do: its tables are of one size, nearly.
        let fits = |m: &&Measured| {
            !m.design.ends_with(SHORT)
                && m.block_bytes == BLOCK_BYTES
                && m.codec == codec.to_string()
                && m.low_bits == low_bits.to_string()
        };
        let least = results.configurations.iter().filter(fits).min_by_key(|m| m.tables);
        if let Some(m) = least {
            let ids = m.size.ids as f64 / results.data.distinct.max(1) as f64;
            let bytes = (m.size.bytes_per_fingerprint - ids) / m.tables as f64;
            let how = format!("measured here, {}", m.name());
            rows.push(row(what, results.data.distinct, bytes, &how));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planner_has_the_figures_of_the_paper() {
        for (name, tables, prefix, candidates) in DESIGNS {
            let design: Design = name.parse().unwrap();
            let plan = of_design(design).plan(&Planner::new(DESIGN_COUNT)).unwrap().unwrap();
            assert_eq!(plan.tables.len(), tables as usize, "{name}");
            let bits: Vec<u32> = plan.tables.iter().map(|table| table.top_bits).collect();
            let range: Vec<u32> = prefix.split('-').map(|bits| bits.parse().unwrap()).collect();
            assert_eq!(bits.iter().min(), range.first(), "{name}");
            assert_eq!(bits.iter().max(), range.last(), "{name}");
            let most = plan.tables.iter().map(|table| table.candidates).fold(0.0, f64::max);
            assert_eq!(most as u64, candidates, "{name}");
        }
    }
}
