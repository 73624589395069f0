//! The sweep: packs every configuration once, and measures them in rounds.
//!
//! Configurations are measured in groups whose stores fit onto the disk together. Every round goes
//! over the whole group, forwards and backwards in turn, so that what else the machine does
//! meanwhile hits all of them alike. In its turn a configuration is warmed with other queries
//! first; what it finds in the caches are the parts of the store that every search uses, not the
//! blocks of this very query.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fpstore::Fingerprint;
use fpstore::stats::{AccessPath, SegmentSearched};
use fpstore_cli::failure::Failure;

use super::answers::Answers;
use super::data::Data;
use super::grid::{Configuration, Forecast, Prediction};
use super::queries::Queries;
use super::results::{
    AtRadius, Cold, Histogram, Measured, PARTS, Predicted, Steps, Throughput, Verified, Work,
};
use super::stores::Packed;
use super::timing::{Reference, Samples, clock_ns, time_each};
use super::{cold, front, throughput};

/// The most configurations of a group.
const GROUP: usize = 16;
/// The fewest queries of a round, if there are so many.
const LEAST_QUERIES: usize = 16;
/// The least time of a turn under a time limit.
const LEAST_TURN: Duration = Duration::from_millis(4);
/// Rounds at every radius but that of the sweep, and the share of a turn that each takes.
const RADIUS_ROUNDS: usize = 3;
const RADIUS_SHARE: f64 = 0.25;
/// How long searches go on until the hot index is there, and how long for each fingerprint.
const SETTLING: Duration = Duration::from_millis(20);
const SETTLING_EACH: Duration = Duration::from_micros(1);
/// Turns that the first pass over the queries may take.
const FIRST_PASS_TURNS: f64 = 3.0;

/// How to measure.
pub struct Options<'a> {
    pub radius: u32,
    /// All radii, that of the sweep among them, ascending.
    pub radii: Vec<u32>,
    pub rounds: usize,
    /// What a configuration may take for its queries in one round.
    pub turn: Duration,
    pub threads: Vec<usize>,
    /// Queries with a cold cache, if these are wanted.
    pub cold: Option<usize>,
    pub time_limit: Option<Duration>,
    /// Bytes of the stores of a group.
    pub group_bytes: u64,
    /// Predicts for this set.
    pub forecast: Forecast,
    /// Where stores are built.
    pub directory: &'a Path,
    /// The number of a signal that came, or 0.
    pub signal: &'a AtomicUsize,
}

/// What a sweep found.
#[derive(Default)]
pub struct Outcome {
    pub configurations: Vec<Measured>,
    pub skipped: Vec<String>,
    pub histograms: Vec<Histogram>,
    pub verified: Verified,
}

/// What a sweep tells while it runs.
pub trait Watcher {
    /// What it does now, and the share of all work that is done.
    fn at(&self, doing: &str, share: f64);
    /// A configuration has been measured.
    fn measured(&mut self, measured: &Measured) -> Result<(), Failure>;
}

/// A configuration in the course of its measurement.
struct Contender<F: Fingerprint> {
    packed: Packed<F>,
    predicted: Predicted,
    /// Queries of a round.
    queries: usize,
    samples: Samples,
    work: Work,
    radii: Vec<OtherRadius>,
    cold: Option<Cold>,
    throughput: Vec<Throughput>,
}

struct OtherRadius {
    k: u32,
    queries: usize,
    samples: Samples,
    work: Work,
}

/// A configuration to come, and what is predicted of it.
type Planned = (Configuration, Prediction);

struct Sweep<'a, F: Fingerprint> {
    data: &'a Data<F>,
    queries: &'a [F],
    options: &'a Options<'a>,
    answers: Answers,
    clock_ns: u64,
    reference: Reference<'a, F>,
    start: Instant,
    /// Tables that were packed, and the seconds that took.
    packed: (usize, f64),
    turn: Duration,
}

/// Measures the configurations in groups.
pub fn run<F: Fingerprint>(
    data: &Data<F>,
    queries: &Queries<F>,
    configurations: Vec<Configuration>,
    options: &Options<'_>,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, Failure> {
    let start = Instant::now();
    watcher.at("answering some queries by brute force", 0.0);
    let mut sweep = Sweep {
        data,
        queries: &queries.list,
        answers: Answers::new(&data.set, &queries.list, options.radius, &options.radii),
        clock_ns: clock_ns(),
        reference: Reference::new(&data.set),
        options,
        start,
        packed: (0, 0.0),
        turn: options.turn,
    };
    let mut forecast = options.forecast.clone();
    forecast.planner = forecast.planner.matches(sweep.answers.matching());
    let mut outcome = Outcome::default();
    let mut left: Vec<Planned> = Vec::new();
    for configuration in configurations {
        // What the format cannot hold is not measured.
        match configuration.plan(&forecast)? {
            Some(plan) => left.push((configuration, plan)),
            None => outcome.skipped.push(configuration.id()),
        }
    }
    let all: usize = left.iter().map(weight).sum();
    while !left.is_empty() {
        let share = 1.0 - left.iter().map(weight).sum::<usize>() as f64 / all as f64;
        let group = sweep.next_group(&mut left);
        if group.is_empty() {
            outcome.skipped.extend(left.drain(..).map(|(configuration, _)| configuration.id()));
            break;
        }
        let part = group.iter().map(weight).sum::<usize>() as f64 / all as f64;
        let shown = Shown { watcher: &*watcher, share, part };
        let contenders = sweep.measure(group, &shown)?;
        for contender in contenders {
            let (measured, histogram) = contender.finish(options.radius);
            if let Some(histogram) = histogram {
                let known = |known: &Histogram| {
                    (&known.codec, known.low_bits) == (&histogram.codec, histogram.low_bits)
                };
                if !outcome.histograms.iter().any(known) {
                    outcome.histograms.push(histogram);
                }
            }
            watcher.measured(&measured)?;
            outcome.configurations.push(measured);
        }
    }
    let points: Vec<_> = outcome.configurations.iter().map(point).collect();
    for (measured, on_front) in outcome.configurations.iter_mut().zip(front::front(&points)) {
        measured.on_front = on_front;
    }
    outcome.verified = sweep.answers.verified;
    Ok(outcome)
}

/// Where a configuration stands between space and time.
pub fn point(measured: &Measured) -> front::Point {
    front::Point { bytes: measured.size.bytes_per_fingerprint, latency: measured.warm.p50_ns }
}

/// How much of a sweep a configuration is: packing goes by tables, measuring does not.
fn weight((configuration, _): &Planned) -> usize {
    configuration.table_count() + 3
}

/// Shows where a sweep is in its group.
struct Shown<'a> {
    watcher: &'a dyn Watcher,
    share: f64,
    part: f64,
}

impl Shown<'_> {
    fn at(&self, doing: &str, of_group: f64) {
        self.watcher.at(doing, self.share + self.part * of_group);
    }
}

impl<F: Fingerprint> Sweep<'_, F> {
    /// Takes the configurations that are measured together next: none if the time limit leaves
    /// nothing. Shortens the turns where it leaves little.
    fn next_group(&mut self, left: &mut Vec<Planned>) -> Vec<Planned> {
        let mut size = 0;
        let mut bytes = 0;
        for (_, plan) in left.iter().take(GROUP) {
            bytes += plan.store_bytes;
            if size > 0 && bytes > self.options.group_bytes {
                break;
            }
            size += 1;
        }
        if let Some(limit) = self.options.time_limit {
            let remaining = limit.saturating_sub(self.start.elapsed()).as_secs_f64();
            let seconds = |planned: &Planned| {
                let tables = planned.0.table_count() as f64;
                tables * self.seconds_of_a_table() + self.turns() * LEAST_TURN.as_secs_f64()
            };
            let mut sum = 0.0;
            let fits = left.iter().take(size).take_while(|planned| {
                sum += seconds(planned);
                sum <= remaining
            });
            size = fits.count();
            let tables: usize = left.iter().map(|(c, _)| c.table_count()).sum();
            let rest = (remaining - tables as f64 * self.seconds_of_a_table()).max(0.0);
            let turn = rest / (self.turns() * left.len() as f64);
            let turn = Duration::from_secs_f64(turn.clamp(0.0, 3600.0));
            self.turn = turn.clamp(LEAST_TURN, self.options.turn.max(LEAST_TURN));
        }
        left.drain(..size).collect()
    }

    /// What packing and checking a table takes, as far as is known.
    fn seconds_of_a_table(&self) -> f64 {
        match self.packed {
            (0, _) => 0.03 + 1e-7 * self.data.set.len() as f64,
            (tables, seconds) => seconds / tables as f64,
        }
    }

    /// Turns that a configuration takes in all.
    fn turns(&self) -> f64 {
        let others = (self.options.radii.len() - 1) as f64;
        let radii = others * RADIUS_SHARE * (RADIUS_ROUNDS as f64 + FIRST_PASS_TURNS);
        1.2 * self.options.rounds as f64
            + FIRST_PASS_TURNS
            + radii
            + self.options.threads.len() as f64
    }

    fn check_signal(&self) -> Result<(), Failure> {
        match self.options.signal.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Failure::Signal(signal as i32)),
        }
    }

    fn measure(
        &mut self,
        group: Vec<Planned>,
        shown: &Shown<'_>,
    ) -> Result<Vec<Contender<F>>, Failure> {
        let directory = tempfile::tempdir_in(self.options.directory)
            .map_err(|error| scratch_failure(self.options.directory, &error))?;
        let size = group.len() as f64;
        let mut contenders = Vec::new();
        for (number, planned) in group.into_iter().enumerate() {
            self.check_signal()?;
            shown.at(&format!("packing {}", planned.0.id()), 0.5 * number as f64 / size);
            contenders.push(self.pack(planned, directory.path())?);
        }
        for round in 0..self.options.rounds {
            let done = round as f64 / self.options.rounds as f64;
            shown.at(&format!("round {} of {}", round + 1, self.options.rounds), 0.5 + 0.4 * done);
            let mut order: Vec<usize> = (0..contenders.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for number in order {
                self.check_signal()?;
                self.take_turn(&mut contenders[number], round)?;
            }
        }
        shown.at("many threads", 0.9);
        for contender in &mut contenders {
            for &threads in &self.options.threads {
                self.check_signal()?;
                let (store, queries) = (&contender.packed.store, &self.queries);
                let measured =
                    throughput::measure(store, queries, self.options.radius, threads, self.turn)?;
                contender.throughput.push(measured);
            }
        }
        if let Some(queries) = self.options.cold {
            for (number, contender) in contenders.iter_mut().enumerate() {
                self.check_signal()?;
                shown.at("cold searches", 0.9 + 0.1 * number as f64 / size);
                self.cool(contender, queries)?;
            }
        }
        Ok(contenders)
    }

    fn pack(&mut self, planned: Planned, directory: &Path) -> Result<Contender<F>, Failure> {
        let (configuration, plan) = planned;
        let start = Instant::now();
        let packed = Packed::new(configuration, self.data, self.options.radius, directory)?;
        self.packed.0 += packed.configuration.table_count();
        self.packed.1 += start.elapsed().as_secs_f64();
        let others = self.options.radii.iter().filter(|&&k| k != self.options.radius);
        let mut contender = Contender {
            predicted: plan.of_search,
            packed,
            queries: 0,
            samples: Samples::default(),
            work: Work::default(),
            radii: Vec::new(),
            cold: None,
            throughput: Vec::new(),
        };
        (contender.queries, contender.work) =
            self.first_pass(&contender.packed, self.options.radius, self.turn)?;
        for &k in others {
            let (queries, work) =
                self.first_pass(&contender.packed, k, self.turn.mul_f64(RADIUS_SHARE))?;
            contender.radii.push(OtherRadius { k, queries, samples: Samples::default(), work });
        }
        if plan.by_hot_index {
            self.settle(&contender.packed)?;
        }
        Ok(contender)
    }

    /// Searches until the hot index answers, as it does in the long run. Gives up after the time
    /// that its construction may take.
    fn settle(&self, packed: &Packed<F>) -> Result<(), Failure> {
        let count = self.data.set.len() as u32;
        let most = SETTLING + SETTLING_EACH * count;
        let (start, k) = (Instant::now(), self.options.radius);
        let mut searcher = packed.store.searcher();
        while start.elapsed() < most {
            self.check_signal()?;
            for &query in self.queries.iter().take(1000) {
                searcher.search(query, k)?;
            }
            let Some(&query) = self.queries.first() else { break };
            let by_hot_index = |way: &SegmentSearched| way.path == AccessPath::HotIndex;
            if searcher.explain(query, k)?.iter().all(by_hot_index) {
                break;
            }
        }
        Ok(())
    }

    /// Compares answers and counts work; gives the number of queries that fit into a turn.
    fn first_pass(
        &mut self,
        packed: &Packed<F>,
        k: u32,
        turn: Duration,
    ) -> Result<(usize, Work), Failure> {
        let who = packed.configuration.id();
        let mut searcher = packed.store.searcher();
        searcher.count_bytes(true);
        let mut sum = Work::default();
        let (mut searching, mut done) = (Duration::ZERO, 0);
        for (number, &query) in self.queries.iter().enumerate() {
            let start = Instant::now();
            let found = searcher.search(query, k)?;
            searching += start.elapsed();
            sum.matches += found.len() as f64;
            self.answers.check(&who, k, number, query, found)?;
            let work = searcher.work();
            sum.steps.blocks_scanned += work.blocks_scanned as f64;
            sum.steps.blocks_decoded += work.blocks_decoded as f64;
            sum.steps.keys_compared += work.keys_compared as f64;
            sum.steps.groups_probed += work.groups_probed as f64;
            sum.steps.rows_compared += work.rows_compared as f64;
            sum.bytes_touched += work.bytes_touched as f64;
            sum.scans += work.full_scans as f64;
            done += 1;
            if done >= LEAST_QUERIES && searching > turn.mul_f64(FIRST_PASS_TURNS) {
                break;
            }
        }
        let mean = |sum: f64| (1e4 * sum / done.max(1) as f64).round() / 1e4;
        let work = Work {
            steps: Steps {
                blocks_scanned: mean(sum.steps.blocks_scanned),
                blocks_decoded: mean(sum.steps.blocks_decoded),
                keys_compared: mean(sum.steps.keys_compared),
                groups_probed: mean(sum.steps.groups_probed),
                rows_compared: mean(sum.steps.rows_compared),
            },
            bytes_touched: mean(sum.bytes_touched),
            scans: mean(sum.scans),
            matches: mean(sum.matches),
        };
        let each = searching.as_secs_f64() / done.max(1) as f64;
        let fit = (turn.as_secs_f64() / each.max(1e-9)) as usize;
        Ok((fit.max(LEAST_QUERIES).min(done), work))
    }

    fn take_turn(&self, contender: &mut Contender<F>, round: usize) -> Result<(), Failure> {
        let Contender { packed, queries, samples, radii, .. } = contender;
        let reference = self.reference.time();
        samples.push(self.samples(packed, self.options.radius, *queries)?, reference);
        if round < RADIUS_ROUNDS {
            for OtherRadius { k, queries, samples, .. } in radii {
                samples.push(self.samples(packed, *k, *queries)?, reference);
            }
        }
        Ok(())
    }

    fn samples(&self, packed: &Packed<F>, k: u32, queries: usize) -> Result<Vec<u32>, Failure> {
        let mut searcher = packed.store.searcher();
        let warming = (queries / 8).min(256).min(self.queries.len());
        time_each(&mut searcher, &self.queries[self.queries.len() - warming..], k, 0)?;
        time_each(&mut searcher, &self.queries[..queries], k, self.clock_ns)
    }

    /// Measures with a cold cache. The store is opened again afterwards.
    fn cool(&self, contender: &mut Contender<F>, queries: usize) -> Result<(), Failure> {
        let packed = &mut contender.packed;
        let queries = &self.queries[..queries.min(self.queries.len())];
        // No mapping of the files may exist; a store of nothing stands in.
        let nothing = packed.path.with_extension("nothing");
        fpstore::Packer::new().width::<F>().pack(&nothing, std::iter::empty::<F>())?;
        packed.store = fpstore::OpenOptions::new().width().open(&nothing)?;
        contender.cold = cold::measure(&packed.path, queries, self.options.radius)?;
        Ok(())
    }
}

impl<F: Fingerprint> Contender<F> {
    fn finish(self, radius: u32) -> (Measured, Option<Histogram>) {
        let Packed { configuration, size, pack, low_bits_of_tables, histogram, .. } = self.packed;
        let at = |k, warm: &super::results::Warm, work: &Work| AtRadius {
            k,
            queries: warm.queries,
            p50_ns: warm.p50_ns,
            mean_ns: warm.mean_ns,
            steps: work.steps,
        };
        let warm = self.samples.warm();
        let mut radii: Vec<AtRadius> =
            self.radii.iter().map(|r| at(r.k, &r.samples.warm(), &r.work)).collect();
        radii.push(at(radius, &warm, &self.work));
        radii.sort_by_key(|at| at.k);
        let id = configuration.id();
        let layout = match &configuration {
            Configuration::Tables(tables) => Measured {
                design: tables.design.to_string(),
                tables: tables.design.design.table_count(),
                block_bytes: tables.block_bytes,
                codec: tables.codec.to_string(),
                low_bits: tables.low_bits.to_string(),
                ..Measured::default()
            },
            Configuration::Parts { parts, .. } => Measured {
                design: PARTS.to_string(),
                tables: usize::from(*parts),
                ..Measured::default()
            },
        };
        let measured = Measured {
            id,
            low_bits_of_tables,
            size,
            pack,
            warm,
            work: self.work,
            cold: self.cold,
            throughput: self.throughput,
            radii,
            predicted: self.predicted,
            on_front: false,
            ..layout
        };
        (measured, histogram)
    }
}

/// Why there is no place to build stores.
pub fn scratch_failure(directory: &Path, error: &std::io::Error) -> Failure {
    let place = directory.display();
    Failure::Usage(format!("{place}: cannot build stores there: {error}; give --tmp-dir DIR"))
}
