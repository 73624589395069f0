//! The configurations of a sweep.

use std::str::FromStr;

use fpstore::{Codec, Design, Packer, Plan, Planner};

/// One way to pack a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    pub design: Design,
    pub block_bytes: u32,
    pub codec: CodecWish,
    pub low_bits: LowBits,
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
            "0" | "8" | "16" | "24" | "32" => Ok(Self(text.parse().ok())),
            _ => Err("low bits are auto, 0, 8, 16, 24 or 32".to_string()),
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

impl Configuration {
    /// The name of the configuration in results.
    pub fn id(&self) -> String {
        let Self { design, block_bytes, codec, low_bits } = self;
        format!("{design}-{block_bytes}-{codec}-{low_bits}")
    }

    /// A packer for it.
    pub fn packer(&self, radius: u32) -> Packer {
        Packer::new()
            .radius(radius)
            .design(self.design.clone())
            .block_bytes(self.block_bytes)
            .codec(self.codec.0)
            .low_bits(self.low_bits.0)
    }

    /// What a planner says of it.
    pub fn plan(&self, planner: &Planner) -> Result<Option<Plan>, fpstore::Error> {
        let planner = planner.clone().designs([self.design.clone()]);
        let planner = planner.block_bytes(Some(self.block_bytes));
        let plans = planner.codec(self.codec.0).low_bits(self.low_bits.0).plans()?;
        Ok(plans.into_iter().next())
    }

    /// The command that packs `input` so.
    pub fn command(&self, input: &str, radius: u32) -> String {
        let Self { design, block_bytes, codec, low_bits } = self;
        let mut command = format!(
            "fpstore pack {input} -o STORE -k {radius} --design {design} --block-bytes {block_bytes}"
        );
        if codec.0.is_some() {
            command += &format!(" --codec {codec}");
        }
        if low_bits.0.is_some() {
            command += &format!(" --low-bits {low_bits}");
        }
        command
    }
}

/// All configurations, each once, in the order in which a sweep that runs out of time should have
/// taken them: every design and size of blocks with the first codec and width, then with the others.
pub fn configurations(
    designs: &[Design],
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
                    let configuration = Configuration { design, block_bytes, codec, low_bits };
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
        let designs: Vec<Design> =
            ["single", "24,20,20", "single"].map(|d| d.parse().unwrap()).into();
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
            "fpstore pack a b -o STORE -k 4 --design 24,20,20 --block-bytes 512 --low-bits 0"
        );
    }
}
