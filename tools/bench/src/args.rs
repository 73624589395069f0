//! The options of `fpstore bench`.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fpstore::internals::Costs;
use fpstore::plan::Planner;
use fpstore_cli::failure::Failure;
use fpstore_cli::input::InputArgs;
use fpstore_cli::memory;
use fpstore_cli::options::{any_radius, bits, count};
use fpstore_cli::{completions, man, version};

use super::data::Model;
use super::grid::{CodecWish, DesignWish, Forecast, LowBits, SHORT};
use super::machine;

/// The most bytes of stores that stand on the disk together.
const MOST_GROUP_BYTES: u64 = 4 << 30;

/// Designs that are measured where none are named.
const DESIGNS: &[&str] = &["single", "halves", "thirds", "quarters"];
/// The same, and the one with a short table that large packs choose for balance.
const DESIGNS_OF_64: &[&str] = &["single", "halves", "thirds", "quarters", "32,24:short"];

const AFTER_HELP: &str = "\
Examples:
  fpstore bench hashes.txt --output report       your own fingerprints
  fpstore bench --uniform 2^24 -k 3 --output report
  fpstore bench --uniform 1e6 --bits 256 -k 31,16 --parts 9,10,11,12 --output report
  fpstore bench hashes.txt --quick               a recommendation at once
  fpstore bench pages.parquet --designs halves,24,20,20/quarters --cold
  fpstore bench calibrate -o my.cal              the constants of this machine
  fpstore bench compare before/results.json after/results.json
  fpstore bench report old/results.json -o new --overlay peers.json

A sweep packs the set in every combination of design, size of blocks, codec and
width of the low column, into a temporary directory, compares all answers with
each other and some with brute force, and prints a row for each:
  B/fp       bytes of all files per fingerprint
  router     of these, the routers; other: headers, footers, manifest, and ids
  Mfp/s      millions of fingerprints packed in a second, with all cores
  p50 ...    percentiles of the time of a search in memory, on one thread: the
             median over the rounds; p99.9 of all samples, if there are 10,000
  blocks     that a search scans, decodes, and the bytes of them it touches
  queries/s  of as many threads as --threads says
  cold p50   time of a search with the files dropped from the page cache

The stores need room in the directory for temporary files: 4 GiB, or the
largest store. Memory: 24 bytes per fingerprint, and the stores in the page
cache.

Models: uniform; clustered: uniform centres, cluster sizes by a power law with
exponent 2.5 up to 1000, members with 1 to 4 bits flipped; skewed: prefixes of
16 bits by Zipf's law with exponent 1. Their seeds are fixed.

--output DIR gets results.json, results.csv, and report.html, which needs no
network. `bench compare` ends with the code 1 if something got slower.";

/// Measures bytes against latency on a set, and recommends what to pack
#[derive(clap::Parser)]
#[command(name = "fpstore-bench", bin_name = "fpstore bench", max_term_width = 100)]
#[command(version, long_version = version::long(), disable_help_subcommand = true)]
#[command(after_long_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// What else `bench` does.
#[derive(clap::Subcommand)]
pub enum Command {
    Calibrate(CalibrateArgs),
    Compare(CompareArgs),
    Report(ReportArgs),
    Man(man::Args),
    Completions(completions::Args),
}

/// Measures what the steps of searches, joins, batches and packs take on this machine
///
/// Takes ten seconds or so, 200 MiB of memory, and as much of the directory for temporary files.
/// `bench` reads what it writes (--calibration FILE). A constant that is not
/// measured says so; a file may hold some only.
#[derive(clap::Args)]
pub struct CalibrateArgs {
    /// Where the constants go [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Says what got slower or faster between two sweeps, beyond noise
#[derive(clap::Args)]
pub struct CompareArgs {
    /// results.json of the sweep before
    pub before: PathBuf,

    /// results.json of the sweep after
    pub after: PathBuf,

    /// The least change that is told, in percent
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub least: f64,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Writes the report of a sweep again
#[derive(clap::Args)]
pub struct ReportArgs {
    /// results.json of the sweep
    pub results: PathBuf,

    /// The directory for report.html
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Engines to show in the same chart: what `benches/peers --json` wrote, or another sweep
    #[arg(long, value_name = "FILE")]
    pub overlay: Vec<PathBuf>,
}

/// A sweep.
#[derive(clap::Args)]
pub struct MeasureArgs {
    /// Files of fingerprints, as `pack` takes them; `-` reads standard input
    pub input: Vec<PathBuf>,

    /// Measure N uniform fingerprints, such as 2^24
    #[arg(long, value_name = "N", value_parser = count, group = "model")]
    uniform: Option<u64>,

    /// Measure N fingerprints in clusters of near duplicates
    #[arg(long, value_name = "N", value_parser = count, group = "model")]
    #[arg(hide_short_help = true)]
    clustered: Option<u64>,

    /// Measure N fingerprints with long shared prefixes
    #[arg(long, value_name = "N", value_parser = count, group = "model")]
    #[arg(hide_short_help = true)]
    skewed: Option<u64>,

    /// Bits of a fingerprint: 32, 64, 128 or 256 [default: what the inputs tell, or 64]
    #[arg(long, value_name = "BITS", value_parser = bits)]
    pub bits: Option<u32>,

    /// Measure one copy of the fingerprints with tables of so many parts of their bits, in place of
    /// designs; 32 and 64 bits have designs unless it is given, with numbers or without [default:
    /// what is predicted to be fast]
    #[arg(long, value_name = "N,...", num_args = 0.., value_delimiter = ',')]
    #[arg(hide_short_help = true)]
    pub parts: Option<Vec<u16>>,

    /// The distance of the queries, and others for comparison, up to the bits of a fingerprint
    #[arg(short = 'k', default_value = "3,0,1,2,4,6", value_delimiter = ',', value_name = "K,...")]
    #[arg(value_parser = any_radius, allow_negative_numbers = true)]
    radii: Vec<u32>,

    /// Designs, separated by commas; by slashes where parts of own widths are among them. With
    /// :short behind it the tables of a design behind the first are short [default:
    /// single,halves,thirds,quarters; of 64 bits also 32,24:short, as large packs choose it]
    #[arg(long, value_name = "NAME,...")]
    designs: Option<Designs>,

    /// Bytes of a block
    #[arg(long, default_value = "256,512,1024,2048,4096", value_delimiter = ',')]
    #[arg(value_name = "N,...")]
    #[arg(hide_short_help = true)]
    pub block_bytes: Vec<u32>,

    /// Codecs: auto, xor, gap. Packs take the smaller of the two, which is gap; xor is that of the
    /// paper
    #[arg(long, default_value = "auto", value_delimiter = ',', value_name = "CODEC,...")]
    #[arg(hide_short_help = true)]
    pub codecs: Vec<CodecWish>,

    /// Widths of the low column: auto, 0, 8, 16, 24, 32, 40, 48
    #[arg(long, default_value = "auto", value_delimiter = ',', value_name = "L,...")]
    #[arg(hide_short_help = true)]
    pub low_bits: Vec<LowBits>,

    /// Also measure the paper's designs as it packs them: 20, 16, 10 and 4 tables, xor, L = 0,
    /// blocks of 1024 bytes
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub paper: bool,

    /// Queries from a file, in the format of the input [default: a quarter stored, half with up to
    /// 3 flips, a quarter random]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub queries: Option<PathBuf>,

    /// The most queries
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    #[arg(hide_short_help = true)]
    pub query_count: usize,

    /// Also measure N searches with a cold page cache; Linux only
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    #[arg(hide_short_help = true)]
    pub cold: Option<usize>,

    /// Numbers of threads that search together [default: all cores]
    #[arg(short = 'j', long, value_delimiter = ',', value_name = "N,...")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    threads: Vec<usize>,

    /// Rounds over all configurations
    #[arg(long, default_value_t = 8, value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000))]
    #[arg(hide_short_help = true)]
    pub rounds: usize,

    /// Milliseconds that a configuration may take in a round; then it gets fewer queries
    #[arg(long, default_value_t = 60, value_name = "MS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600_000))]
    #[arg(hide_short_help = true)]
    pub turn: u64,

    /// Seconds for the whole sweep: turns get shorter, and configurations are left out
    #[arg(long, value_name = "SECONDS")]
    pub time_limit: Option<u64>,

    /// Give every fingerprint its position in the input as id
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub ids: bool,

    /// Recommend from a sample of 1% and the planner alone, and measure nothing
    #[arg(long, conflicts_with_all = ["output", "cold", "overlay", "time_limit"])]
    pub quick: bool,

    /// Predict with the constants of a machine, from `fpstore bench calibrate`
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    pub calibration: Option<PathBuf>,

    /// Where results.json, results.csv and report.html go
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Engines to show in the same chart: what `benches/peers --json` wrote, or another sweep
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    pub overlay: Vec<PathBuf>,

    /// Where the stores are built [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    #[arg(hide_short_help = true)]
    pub tmp_dir: Option<PathBuf>,

    /// Print the results as one JSON object
    #[arg(long)]
    #[arg(hide_short_help = true)]
    pub json: bool,

    #[command(flatten)]
    pub reading: InputArgs,
}

/// A list of designs, as they are named.
#[derive(Clone, Debug)]
pub struct Designs(Vec<String>);

impl FromStr for Designs {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = |word: &&str| {
            let width = word.strip_suffix(SHORT).unwrap_or(word);
            width.bytes().all(|byte| byte.is_ascii_digit())
        };
        let mut designs = Vec::new();
        for part in text.split('/') {
            let words: Vec<&str> = part.split(',').map(str::trim).collect();
            // Widths are one design, names are one each.
            for some in words.chunk_by(|a, b| is_number(a) && is_number(b)) {
                designs.push(some.join(","));
            }
        }
        Ok(Self(designs))
    }
}

impl Designs {
    /// The designs of fingerprints of so many bits.
    fn of(&self, bits: u32) -> Result<Vec<DesignWish>, Failure> {
        self.0.iter().map(|text| DesignWish::read(bits, text)).collect()
    }
}

impl MeasureArgs {
    /// The designs to measure, of fingerprints of so many bits.
    pub fn designs(&self, bits: u32) -> Result<Vec<DesignWish>, Failure> {
        match &self.designs {
            Some(designs) => designs.of(bits),
            None => {
                let designs = if bits == u64::BITS { DESIGNS_OF_64 } else { DESIGNS };
                designs.iter().map(|text| DesignWish::read(bits, text)).collect()
            }
        }
    }

    /// The model and the number of fingerprints to draw; `None` for files, one of which there is.
    pub fn model(&self) -> Result<Option<(Model, u64)>, Failure> {
        let models = [
            (Model::Uniform, self.uniform),
            (Model::Clustered, self.clustered),
            (Model::Skewed, self.skewed),
        ];
        let model = models.into_iter().find_map(|(model, count)| Some((model, count?)));
        match (model, self.input.is_empty()) {
            (Some(_), false) => Err(Failure::Usage(
                "bench: give files, or a model with its number of fingerprints, not both".into(),
            )),
            (None, true) => Err(Failure::Usage(
                "bench: what shall be measured? give files, or --uniform N, --clustered N or \
                 --skewed N"
                    .into(),
            )),
            (model, _) => Ok(model),
        }
    }

    /// The radius that everything is compared at: the first one given.
    pub fn radius(&self) -> u32 {
        self.radii.first().copied().unwrap_or(3)
    }

    /// All radii, ascending.
    pub fn radii(&self) -> Vec<u32> {
        let mut radii = self.radii.clone();
        radii.push(self.radius());
        radii.sort_unstable();
        radii.dedup();
        radii
    }

    /// Numbers of threads, ascending.
    pub fn threads(&self) -> Vec<usize> {
        let mut threads = self.threads.clone();
        if threads.is_empty() {
            threads.push(machine::cores());
        }
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Bytes of the stores that are measured together.
    pub fn group_bytes(&self) -> u64 {
        (memory::default_limit() / 2).min(MOST_GROUP_BYTES)
    }

    /// Predicts, for so many fingerprints of so many bits.
    pub fn forecast(&self, count: u64, bits: u32) -> Result<Forecast, Failure> {
        let costs = match &self.calibration {
            Some(path) => read_costs(path)?,
            None => Costs::default(),
        };
        let radius = self.radius();
        // It knows tables, which wider fingerprints have none of.
        let of_tables = bits.min(u64::BITS);
        let planner = Planner::for_bits(of_tables, count);
        let planner = planner.radius(radius.min(of_tables)).costs(costs);
        Ok(Forecast { planner, bits, count, radius })
    }
}

/// Reads the constants that `bench calibrate` wrote.
fn read_costs(path: &Path) -> Result<Costs, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::Usage(format!("{}: cannot read: {error}; check the path", path.display()))
    })?;
    text.parse().map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use fpstore::Prefer;

    use super::super::grid::{Configuration, Tables, configurations};
    use super::*;

    #[test]
    fn what_large_packs_choose_is_measured() {
        let args = Args::parse_from(["bench", "--uniform", "1"]).measure;
        let grid = configurations(
            &args.designs(64).unwrap(),
            &args.block_bytes,
            &[CodecWish(None)],
            &args.low_bits,
        );
        for prefer in [Prefer::Balanced, Prefer::Speed] {
            for exponent in [23, 26, 30] {
                let planner = Planner::new(1 << exponent).prefer(prefer);
                let plans = planner.plans().unwrap();
                let short = plans.into_iter().find(|plan| plan.short_tables).unwrap();
                let chosen = Configuration::Tables(Tables {
                    design: DesignWish { design: short.design, is_short: true },
                    block_bytes: short.block_bytes,
                    codec: CodecWish(None),
                    low_bits: LowBits(None),
                });
                assert!(grid.contains(&chosen), "{chosen:?}");
            }
        }
        assert!(args.designs(32).unwrap().iter().all(|wish| !wish.is_short));
    }

    #[test]
    fn the_short_help_shows_a_dozen_options_at_most() {
        let help = Args::command().render_help().to_string();
        let is_option = |line: &&str| line.trim_start().starts_with('-');
        let shown: Vec<&str> = help.lines().filter(is_option).collect();
        assert!((8..=12).contains(&shown.len()), "{shown:#?}");
    }

    #[test]
    fn designs_are_names_and_widths_in_one_list() {
        let of = |bits, text: &str| text.parse::<Designs>().unwrap().of(bits);
        assert_eq!(
            of(64, "single,32,24:short/quarters:short")
                .unwrap()
                .iter()
                .map(|wish| wish.is_short)
                .collect::<Vec<_>>(),
            [false, true, true]
        );
        let designs = |text: &str| -> Vec<String> {
            of(64, text).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(designs("single,halves"), ["single", "halves"]);
        assert_eq!(
            designs("halves,24,20,20/30,34/quarters"),
            ["halves", "24,20,20", "30,34", "quarters"]
        );
        assert_eq!(designs("24,20,20"), ["24,20,20"]);
        assert_eq!(of(32, "halves,11,11,10").unwrap()[1], DesignWish::read(32, "thirds").unwrap());
        for (bits, text) in [(64, "halves,nonsense"), (64, ""), (32, "30,34"), (32, "thirds,22,21")]
        {
            assert!(of(bits, text).is_err(), "{text}");
        }
    }
}
