//! The configurations of a sweep.

use std::str::FromStr;

use fpstore::plan::{PartsPlan, Plan, Planner, plan_parts};
use fpstore::{Codec, Design, Fingerprint, Layout, Packer};
use fpstore_cli::failure::Failure;

use super::results::{Predicted, Steps};

/// Numbers of parts whose searches take longer than so many times the least are not measured unless
/// they are asked for.
const LONGEST: f64 = 4.0;
/// What is behind the name of a design with short tables.
pub const SHORT: &str = ":short";

/// One way to pack a set.
#[derive(Clone, Debug, PartialEq)]
pub enum Configuration {
    /// Tables.
    Tables(Tables),
    /// One copy of fingerprints of so many bits, and tables of so many parts of these.
    Parts { bits: u32, parts: u16 },
}

/// One way to pack a set as tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    pub design: DesignWish,
    pub block_bytes: u32,
    pub codec: CodecWish,
    pub low_bits: LowBits,
}

/// A design, and whether its tables behind the first are short: `quarters`, `32,24:short`.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignWish {
    pub design: Design,
    pub is_short: bool,
}

impl DesignWish {
    /// What `text` says, for fingerprints of so many bits.
    ///
    /// # Errors
    ///
    /// What is no design of these, or has no table that could be short.
    pub fn read(bits: u32, text: &str) -> Result<Self, Failure> {
        let (name, is_short) = match text.strip_suffix(SHORT) {
            Some(design) => (design, true),
            None => (text, false),
        };
        let design = Design::read(bits, name)?;
        if is_short && design.table_count() == 1 {
            return Err(Failure::Usage(format!(
                "--designs {text}: short tables stand behind the first, and it has no other; give a \
                 design with several"
            )));
        }
        Ok(Self { design, is_short })
    }
}

impl From<Design> for DesignWish {
    fn from(design: Design) -> Self {
        Self { design, is_short: false }
    }
}

impl std::fmt::Display for DesignWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.design, if self.is_short { SHORT } else { "" })
    }
}

/// A codec, or whichever is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecWish(pub Option<Codec>);

/// A width of the low column, or what a pack chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowBits(pub Option<u32>);

impl FromStr for CodecWish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            "xor" => Ok(Self(Some(Codec::Xor))),
            "gap" => Ok(Self(Some(Codec::Gap))),
            _ => Err("a codec is auto, xor or gap".to_string()),
        }
    }
}

impl FromStr for LowBits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            "0" | "8" | "16" | "24" | "32" | "40" | "48" => Ok(Self(text.parse().ok())),
            _ => Err("low bits are auto, 0, 8, 16, 24, 32, 40 or 48".to_string()),
        }
    }
}

impl std::fmt::Display for CodecWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(codec) => codec.fmt(f),
        }
    }
}

impl std::fmt::Display for LowBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => f.write_str("auto"),
            Some(width) => width.fmt(f),
        }
    }
}

/// Predicts what configurations take, for so many fingerprints of so many bits.
#[derive(Clone)]
pub struct Forecast {
    pub planner: Planner,
    pub bits: u32,
    pub count: u64,
    pub radius: u32,
}

/// What is predicted of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    pub store_bytes: u64,
    /// The time of a search that configurations are compared by, in nanoseconds.
    pub search_ns: f64,
    /// Whether searches go by the hot index, once it is there.
    pub by_hot_index: bool,
    pub of_search: Predicted,
}

impl Prediction {
    fn of_tables(planner: &Planner, plan: &Plan) -> Self {
        let hot_ns = planner.hot_ns().filter(|hot_ns| *hot_ns < plan.warm_ns);
        let steps = Steps {
            blocks_scanned: plan.blocks,
            blocks_decoded: plan.blocks_decoded,
            ..Steps::default()
        };
        let of_search = Predicted {
            bytes_per_fingerprint: plan.bytes_per_fingerprint,
            warm_ns: hot_ns.unwrap_or(plan.warm_ns).round(),
            cold_ns: plan.cold_ns.round(),
            steps,
        };
        let search_ns = planner.search_ns(plan);
        let by_hot_index = hot_ns.is_some();
        Self { store_bytes: plan.store_bytes, search_ns, by_hot_index, of_search }
    }

    fn of_parts(plan: &PartsPlan, count: u64) -> Self {
        let steps = Steps {
            groups_probed: plan.probes,
            rows_compared: plan.candidates,
            ..Steps::default()
        };
        let of_search = Predicted {
            bytes_per_fingerprint: plan.store_bytes as f64 / count.max(1) as f64,
            warm_ns: plan.search_ns.round(),
            cold_ns: 0.0,
            steps,
        };
        Self {
            store_bytes: plan.store_bytes,
            search_ns: plan.search_ns,
            by_hot_index: false,
            of_search,
        }
    }
}

impl Configuration {
    /// The name of the configuration in results.
    pub fn id(&self) -> String {
        match self {
            Self::Tables(tables) => tables.id(),
            Self::Parts { parts, .. } => format!("parts-{parts}"),
        }
    }

    /// Number of files that a pack writes one after the other.
    pub fn table_count(&self) -> usize {
        match self {
            Self::Tables(tables) => tables.design.design.table_count(),
            Self::Parts { parts, .. } => usize::from(*parts) + 1,
        }
    }

    /// A packer for it.
    pub fn packer<F: Fingerprint>(&self, radius: u32) -> Packer<F> {
        let packer = match self {
            Self::Tables(tables) => tables.packer(),
            Self::Parts { parts, .. } => Packer::new().layout(Layout::new().parts(*parts)),
        };
        packer.with_layout(|layout| layout.k(radius)).width()
    }

    /// What is predicted of it; `None` of what the format cannot hold.
    pub fn plan(&self, forecast: &Forecast) -> Result<Option<Prediction>, fpstore::Error> {
        let Forecast { planner, count, radius, .. } = forecast;
        match self {
            Self::Tables(tables) => {
                let plan = tables.plan(planner)?;
                Ok(plan.map(|plan| Prediction::of_tables(planner, &plan)))
            }
            Self::Parts { bits, parts } => {
                let plans = plan_parts(*bits, *count, *radius)?;
                let plan = plans.into_iter().find(|plan| plan.parts == *parts);
                Ok(plan.map(|plan| Prediction::of_parts(&plan, *count)))
            }
        }
    }

    /// Whether the tool can pack it. Of the two codecs it takes the smaller, which is xor only if
    /// both are equal. It chooses the low column, too.
    pub fn can_be_packed(&self) -> bool {
        match self {
            Self::Tables(Tables { codec, low_bits, .. }) => {
                codec.0 != Some(Codec::Xor) && low_bits.0.is_none()
            }
            Self::Parts { .. } => true,
        }
    }

    /// The command that packs `input` so.
    pub fn command(&self, input: &str, radius: u32) -> String {
        match self {
            Self::Tables(tables) => tables.command(input, radius),
            Self::Parts { bits, parts } => {
                format!(
                    "fpstore pack {input} -o STORE --bits {bits} -k {radius} --design parts:{parts}"
                )
            }
        }
    }
}

/// These numbers of parts; where none are given those that are predicted to be hardly slower than
/// the fastest.
///
/// # Errors
///
/// Numbers that no store of these fingerprints can have, and those of the planner.
pub fn parts(given: &[u16], forecast: &Forecast) -> Result<Vec<Configuration>, Failure> {
    let Forecast { bits, count, radius, .. } = *forecast;
    let plans = plan_parts(bits, count, radius)?;
    let possible = |parts| plans.iter().any(|plan| plan.parts == parts);
    if let Some(wrong) = given.iter().find(|&&parts| !possible(parts)) {
        let most = plans.iter().map(|plan| plan.parts).max().unwrap_or(0);
        return Err(Failure::Usage(format!(
            "--parts {wrong}: a store of {bits} bits has up to {most} parts"
        )));
    }
    let fastest = plans.iter().map(|plan| plan.search_ns).fold(f64::INFINITY, f64::min);
    let wanted = plans.iter().filter(|plan| match given {
        [] => plan.search_ns <= LONGEST * fastest,
        given => given.contains(&plan.parts),
    });
    Ok(wanted.map(|plan| Configuration::Parts { bits, parts: plan.parts }).collect())
}

impl Tables {
    fn id(&self) -> String {
        let Self { design, block_bytes, codec, low_bits } = self;
        format!("{design}-{block_bytes}-{codec}-{low_bits}")
    }

    fn packer(&self) -> Packer {
        Packer::new().layout(
            Layout::new()
                .design(self.design.design.clone())
                .short_tables(self.design.is_short)
                .block_bytes(self.block_bytes)
                .codec(self.codec.0)
                .low_bits(self.low_bits.0),
        )
    }

    /// What a planner says of it.
    pub fn plan(&self, planner: &Planner) -> Result<Option<Plan>, fpstore::Error> {
        let planner = planner.clone().designs([self.design.design.clone()]);
        let planner = planner.short_tables(self.design.is_short);
        let planner = planner.block_bytes(Some(self.block_bytes));
        let plans = planner.codec(self.codec.0).low_bits(self.low_bits.0).plans()?;
        Ok(plans.into_iter().next())
    }

    fn command(&self, input: &str, radius: u32) -> String {
        let Self { design: DesignWish { design, is_short }, block_bytes, .. } = self;
        let bits = match design.bits() {
            u64::BITS => String::new(),
            bits => format!(" --bits {bits}"),
        };
        let short = if *is_short { ":short" } else { "" };
        format!(
            "fpstore pack {input} -o STORE{bits} -k {radius} --design {design}{short} --block-bytes {block_bytes}"
        )
    }
}

/// All configurations, each once, in the order in which a sweep that runs out of time should have
/// taken them: every design and size of blocks with the first codec and width, then with the
/// others.
pub fn configurations(
    designs: &[DesignWish],
    sizes: &[u32],
    codecs: &[CodecWish],
    widths: &[LowBits],
) -> Vec<Configuration> {
    let mut all: Vec<Configuration> = Vec::new();
    for &low_bits in widths {
        for &codec in codecs {
            for &block_bytes in sizes {
                for design in designs {
                    let design = design.clone();
                    let tables = Tables { design, block_bytes, codec, low_bits };
                    let configuration = Configuration::Tables(tables);
                    if !all.contains(&configuration) {
                        all.push(configuration);
                    }
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_combination_once() {
        let designs: Vec<DesignWish> =
            ["single", "24,20,20", "single"].map(|d| DesignWish::read(64, d).unwrap()).into();
        let codecs = ["gap", "auto"].map(|codec| codec.parse().unwrap());
        let widths = ["auto", "0"].map(|width| width.parse().unwrap());
        let grid = configurations(&designs, &[256, 512, 256], &codecs, &widths);
        let mut ids: Vec<String> = grid.iter().map(Configuration::id).collect();
        assert_eq!(
            ids[..3],
            ["single-256-gap-auto", "24,20,20-256-gap-auto", "single-512-gap-auto"]
        );
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), grid.len()), (16, 16));
        assert_eq!(
            grid[15].command("a b", 4),
            "fpstore pack a b -o STORE -k 4 --design 24,20,20 --block-bytes 512"
        );
        let narrow =
            configurations(&[DesignWish::read(32, "halves").unwrap()], &[256], &codecs, &widths);
        assert_eq!(
            narrow[0].command("a", 2),
            "fpstore pack a -o STORE --bits 32 -k 2 --design halves --block-bytes 256"
        );
        let short = configurations(
            &[DesignWish::read(64, "32,24:short").unwrap()],
            &[512],
            &codecs,
            &widths,
        );
        assert_eq!(short[1].id(), "32,24:short-512-auto-auto");
        assert_eq!(
            short[1].command("a", 3),
            "fpstore pack a -o STORE -k 3 --design 32,24:short --block-bytes 512"
        );
    }
}
