//! `fpstore bench`, as a program of its own: what a microsecond costs in bytes, on any set.

mod answers;
mod args;
mod calibrate;
mod cold;
mod compare;
mod data;
mod front;
mod grid;
mod machine;
mod noise;
mod overlay;
mod paper;
mod queries;
mod quick;
mod report;
mod results;
mod stores;
mod sweep;
mod terminal;
mod throughput;
mod timing;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant, SystemTime};

use clap::CommandFactory;
use fpstore::Fingerprint;
use fpstore_cli::apart::Used;
use fpstore_cli::failure::Failure;
use fpstore_cli::feed::told_width;
use fpstore_cli::for_width;
use fpstore_cli::output::Output;
use fpstore_cli::width::check_radius;
use fpstore_cli::{command_line, completions, man};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use self::args::{Args, Command, MeasureArgs};
use self::data::Data;
use self::grid::{Configuration, Forecast, configurations};
use self::queries::Queries;
use self::results::{Measured, QuickCheck, Recommended, Results};

/// What a sweep writes into a directory.
const RESULTS: [&str; 4] = ["results.json", "results.csv", report::PAGE, report::CHART];
/// Steps of the bar.
const STEPS: f64 = 1000.0;

fn main() -> ExitCode {
    let run = |args: Option<Args>| args.map_or(Ok(ExitCode::SUCCESS), run);
    command_line::end(command_line::read(std::env::args_os()).and_then(run))
}

/// Measures, recommends, or compares.
fn run(args: Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Some(Command::Calibrate(args)) => calibrate::run(args).map(|()| ExitCode::SUCCESS),
        Some(Command::Compare(compare)) => compare::run(compare),
        Some(Command::Report(report)) => {
            report::rewrite(&report.results, &report.output, &report.overlay)
                .map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Man(args)) => man::run(args, Args::command()).map(|()| ExitCode::SUCCESS),
        Some(Command::Completions(args)) => {
            completions::run(args, &mut Args::command()).map(|()| ExitCode::SUCCESS)
        }
        None => measure(&args.measure).map(|()| ExitCode::SUCCESS),
    }
}

/// Measures, or recommends, fingerprints of the width that is given or that the inputs tell.
fn measure(args: &MeasureArgs) -> Result<(), Failure> {
    // Started here, since rayon panics where it cannot start its threads later.
    let pool = rayon::ThreadPoolBuilder::new().build_global();
    pool.map_err(|refusal| fpstore::Error::threads(0, std::io::Error::other(refusal)))?;
    let bits = match args.bits {
        Some(bits) => bits,
        None => told_width(&args.input, &args.reading.options(None, None))?,
    };
    if args.paper && (bits != u64::BITS || args.parts.is_some()) {
        let message = "the paper's designs are tables of 64 bits; leave --paper out";
        return Err(Failure::Usage(message.to_string()));
    }
    for k in args.radii() {
        check_radius("bench", Some(k), bits)?;
    }
    match args.quick {
        true => for_width!(bits, run_quick(args)),
        false => for_width!(bits, run_sweep(args)),
    }
}

/// What is measured: designs of up to 64 bits, else numbers of parts.
fn grid_of(args: &MeasureArgs, forecast: &Forecast) -> Result<Vec<Configuration>, Failure> {
    match &args.parts {
        Some(parts) => return grid::parts(parts, forecast),
        None if forecast.bits > u64::BITS => return grid::parts(&[], forecast),
        None => {}
    }
    let designs = args.designs(forecast.bits)?;
    let mut grid = configurations(&designs, &args.block_bytes, &args.codecs, &args.low_bits);
    if args.paper {
        let missing = paper::configurations().into_iter().filter(|one| !grid.contains(one));
        grid.extend(missing.collect::<Vec<_>>());
    }
    Ok(grid)
}

fn run_quick<F: Fingerprint>(args: &MeasureArgs) -> Result<(), Failure> {
    let mut sampler = quick::Sampler::<F>::default();
    let mut input = "INPUT".to_string();
    match args.model()? {
        Some((model, count)) => sampler.take(&Data::draw(model, count, false)?.set),
        None => {
            data::each_piece(&args.input, &args.reading, |piece| sampler.take(piece))?;
            input = data::input_of(&args.input, &args.reading);
        }
    }
    let kept = sampler.finish();
    let mut forecast = args.forecast(kept.count, F::BITS)?;
    let grid = grid_of(args, &forecast)?;
    forecast.planner = kept.tell(forecast.planner);
    let recommended = quick::recommend(&forecast, &grid, &input, args.radius())?;
    let mut output = Output::stdout();
    if args.json {
        output.json(&recommended)?;
    } else {
        output.line(&match kept.seen() {
            seen if seen == kept.count => format!("{seen} distinct fingerprints"),
            seen => format!(
                "about {} distinct fingerprints, of which the planner has seen {seen}",
                kept.count
            ),
        })?;
        for line in terminal::recommendations(&recommended, args.radius(), false) {
            output.line(&line)?;
        }
    }
    output.flush()
}

fn run_sweep<F: Fingerprint>(args: &MeasureArgs) -> Result<(), Failure> {
    let start = (SystemTime::now(), Instant::now());
    let load_before = noise::load();
    // What is wrong with an option is told before anything takes its time.
    let one = args.forecast(1, F::BITS)?;
    for configuration in grid_of(args, &one)? {
        configuration.plan(&one)?;
    }
    let mut overlay = Vec::new();
    for path in &args.overlay {
        overlay.extend(overlay::read(path)?);
    }
    if let Some(directory) = &args.output {
        let used = Used::nothing().files(&args.input).files(&args.queries).files(&args.overlay);
        check_outputs(directory, &RESULTS, &used.files(&args.calibration))?;
        fs::create_dir_all(directory).map_err(|error| written(directory, &error))?;
    }
    let directory = args.tmp_dir.clone().unwrap_or_else(std::env::temp_dir);
    if !directory.is_dir() {
        return Err(sweep::scratch_failure(&directory, &std::io::ErrorKind::NotFound.into()));
    }
    let data = match args.model()? {
        Some((model, count)) => Data::<F>::draw(model, count, args.ids)?,
        None => Data::read(&args.input, &args.reading, args.ids)?,
    };
    if data.set.is_empty() {
        let message = "bench: the input holds no fingerprints; there is nothing to measure";
        return Err(Failure::Usage(message.to_string()));
    }
    let queries = match &args.queries {
        Some(path) => {
            let mut list = Vec::new();
            data::each_piece(std::slice::from_ref(path), &args.reading, |piece| {
                list.extend_from_slice(piece);
            })?;
            Queries::given(list, path.display().to_string(), args.query_count)
        }
        None => Queries::mix(&data.set, args.query_count, args.radius()),
    };
    if queries.list.is_empty() {
        let message = "--queries: the file holds no fingerprints; give some";
        return Err(Failure::Usage(message.to_string()));
    }
    let signal = watch_signals()?;
    let mut forecast = args.forecast(data.origin.distinct, F::BITS)?;
    if let Some(set) = quick::keys_of(&data.set) {
        forecast.planner = forecast.planner.sample(&set);
    }
    let grid = grid_of(args, &forecast)?;
    let options = sweep::Options {
        radius: args.radius(),
        radii: args.radii(),
        rounds: args.rounds,
        turn: Duration::from_millis(args.turn),
        threads: args.threads(),
        cold: args.cold,
        time_limit: args.time_limit.map(Duration::from_secs),
        group_bytes: args.group_bytes(),
        forecast,
        directory: &directory,
        signal: &signal,
    };
    let mut screen = Screen::new(args, &data, &queries)?;
    let result = sweep::run(&data, &queries, grid.clone(), &options, &mut screen);
    screen.bar.finish_and_clear();
    let outcome = result?;
    let quick = check_quick(args, &data, &grid, &outcome.configurations)?;
    let mut results = Results {
        quick,
        format: "fpstore-bench".to_string(),
        version: results::VERSION,
        date: humantime::format_rfc3339_seconds(start.0).to_string(),
        seconds: start.1.elapsed().as_secs_f64(),
        command: command_line(),
        machine: machine::Machine::this(),
        build: machine::Build::this(),
        data: data.origin,
        queries: queries.origin,
        radius: args.radius(),
        verified: outcome.verified,
        noise: Some(results::Noise::new(&outcome.configurations, machine::cores(), load_before)),
        configurations: outcome.configurations,
        skipped: outcome.skipped,
        histograms: outcome.histograms,
        recommended: Vec::new(),
        overlay,
    };
    results.recommended = recommend(&results, &grid, F::BITS);
    if let Some(directory) = &args.output {
        write_all(&results, directory)?;
    }
    screen.end(&results, args.output.as_deref())
}

/// What `--quick` recommends for the set, and how far that is from the front of the sweep.
fn check_quick<F: Fingerprint>(
    args: &MeasureArgs,
    data: &Data<F>,
    grid: &[Configuration],
    configurations: &[Measured],
) -> Result<Vec<QuickCheck>, Failure> {
    let mut sampler = quick::Sampler::default();
    sampler.take(&data.set);
    let kept = sampler.finish();
    let mut forecast = args.forecast(kept.count, F::BITS)?;
    forecast.planner = kept.tell(forecast.planner);
    let measured = |id: &str| configurations.iter().find(|measured| measured.id == id);
    // What the time limit left out cannot be judged.
    let mut grid = grid.to_vec();
    grid.retain(|configuration| measured(&configuration.id()).is_some());
    let points: Vec<_> = configurations.iter().map(sweep::point).collect();
    let recommended = quick::recommend(&forecast, &grid, "", args.radius())?.into_iter();
    let check = |Recommended { prefer, id, .. }: Recommended| {
        let point = sweep::point(measured(&id)?);
        let (from_front, slower_than_best) =
            (front::distance(point, &points), front::slower_than_best(point, &points));
        Some(QuickCheck { prefer, id, from_front, slower_than_best })
    };
    Ok(recommended.filter_map(check).collect())
}

/// The configurations of the sweep that are worth having.
fn recommend(results: &Results, grid: &[Configuration], bits: u32) -> Vec<Recommended> {
    let configured = results.configurations.iter().filter_map(|measured| {
        let configuration = grid.iter().find(|one| one.id() == measured.id)?;
        configuration.can_be_packed().then_some((measured, configuration))
    });
    let configured: Vec<_> = configured.collect();
    let points: Vec<_> = configured.iter().map(|(measured, _)| sweep::point(measured)).collect();
    let raw_bytes = f64::from(bits) / 8.0;
    let id_bytes = configured.first().map_or(0.0, |(measured, _)| {
        measured.size.ids as f64 / results.data.distinct.max(1) as f64
    });
    let chosen = front::recommend(&points, raw_bytes, id_bytes).into_iter();
    let recommended = chosen.map(|(prefer, number)| {
        let (measured, configuration) = configured[number];
        Recommended {
            prefer: quick::names(&prefer),
            id: measured.id.clone(),
            bytes_per_fingerprint: measured.size.bytes_per_fingerprint,
            p50_ns: measured.warm.p50_ns,
            command: configuration.command(&results.data.input, results.radius),
        }
    });
    recommended.collect()
}

/// Refuses a directory of which one of these files is an input, or that lies in a store.
fn check_outputs(directory: &Path, names: &[&str], used: &Used<'_>) -> Result<(), Failure> {
    names.iter().try_for_each(|name| used.check(&directory.join(name)))
}

/// Writes `results.json`, `results.csv` and the report.
fn write_all(results: &Results, directory: &Path) -> Result<(), Failure> {
    let json = directory.join("results.json");
    let text = serde_json::to_string_pretty(results)
        .map_err(|error| Failure::System(format!("cannot write the results: {error}")))?;
    put(&json, (text + "\n").as_bytes())?;
    let mut csv = Vec::new();
    let path = directory.join("results.csv");
    results::write_csv(results, &mut csv).map_err(|error| written(&path, &error.into()))?;
    put(&path, &csv)?;
    report::write(results, directory)
}

/// Puts a file in place, whole, or where its name leads.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fpstore::files::put(path, bytes).map_err(|error| written(path, &error))
}

/// Why a file was not written.
fn written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("{}: cannot write: {error}; choose another place", path.display()))
}

/// The command as it was given.
fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(|argument| {
        match argument.contains(|c: char| c.is_whitespace() || "'\"$&;|<>()*?".contains(c)) {
            true => format!("'{}'", argument.replace('\'', r"'\''")),
            false => argument,
        }
    });
    std::iter::once("fpstore bench".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Takes the number of the first signal that stops a command, so that the stores that were built
/// are removed; a second one ends the process at once.
fn watch_signals() -> Result<Arc<AtomicUsize>, Failure> {
    let signal = Arc::new(AtomicUsize::new(0));
    #[cfg(unix)]
    {
        use std::sync::atomic::AtomicBool;

        use signal_hook::consts::SIGHUP;
        use signal_hook::flag;

        let came = Arc::new(AtomicBool::new(false));
        for number in fpstore_cli::interrupt::watched() {
            // A second SIGHUP is no hurry: a terminal that is closed sends two.
            let hurry = match number {
                SIGHUP => Arc::default(),
                _ => came.clone(),
            };
            flag::register_conditional_shutdown(number, 128 + number, hurry)
                .and_then(|_| flag::register(number, came.clone()))
                .and_then(|_| flag::register_usize(number, signal.clone(), number as usize))
                .map_err(|error| Failure::System(format!("cannot watch for signals: {error}")))?;
        }
    }
    Ok(signal)
}

/// The rows on standard output, and a bar on standard error.
struct Screen {
    output: Output,
    bar: ProgressBar,
    start: Instant,
    rows: bool,
    json: bool,
}

impl Screen {
    fn new<F>(args: &MeasureArgs, data: &Data<F>, queries: &Queries<F>) -> Result<Self, Failure> {
        let mut output = Output::stdout();
        if !args.json {
            output.line(&format!(
                "{}: {} distinct fingerprints{}, k = {}, {} queries ({})",
                data.origin.name,
                data.origin.distinct,
                match data.origin.bits {
                    u64::BITS => String::new(),
                    bits => format!(" of {bits} bits"),
                },
                args.radius(),
                queries.origin.count,
                queries.origin.name
            ))?;
            output.line(&terminal::header())?;
            output.flush()?;
        }
        let bar = ProgressBar::new(STEPS as u64);
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent}%, {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Ok(Self { output, bar, start: Instant::now(), rows: !args.json, json: args.json })
    }

    fn end(&mut self, results: &Results, directory: Option<&Path>) -> Result<(), Failure> {
        if self.json {
            self.output.json(results)?;
            return self.output.flush();
        }
        let verified = &results.verified;
        self.output.line(&format!(
            "\n{:.0} s; all answers are equal: {} to those of brute force, {} compared among all",
            results.seconds, verified.by_brute_force, verified.comparisons
        ))?;
        if !results.skipped.is_empty() {
            let list = results.skipped.join(" ");
            self.output.line(&format!("left out for lack of time or as too large: {list}"))?;
        }
        self.output.line("")?;
        for line in terminal::chart(results) {
            self.output.line(&line)?;
        }
        self.output.line("")?;
        for line in terminal::recommendations(&results.recommended, results.radius, true) {
            self.output.line(&line)?;
        }
        for line in terminal::quick_check(&results.quick) {
            self.output.line(&line)?;
        }
        self.output.line(&format!("\n{}", noise::predictions(&results.configurations)))?;
        if let Some(warning) = results.noise().warning() {
            self.output.line(&format!("warning: {warning}"))?;
        }
        if let Some(directory) = directory {
            let file = directory.join("report.html");
            self.output.line(&format!("\n{} shows all of it", file.display()))?;
        }
        self.output.flush()
    }
}

impl sweep::Watcher for Screen {
    fn at(&self, doing: &str, share: f64) {
        self.bar.set_position((STEPS * share) as u64);
        let left = match share {
            _ if share > 0.01 => {
                let left = self.start.elapsed().mul_f64((1.0 - share) / share);
                format!("{} left, ", HumanDuration(left))
            }
            _ => String::new(),
        };
        self.bar.set_message(format!("{left}{doing}"));
    }

    fn measured(&mut self, measured: &Measured) -> Result<(), Failure> {
        if !self.rows {
            return Ok(());
        }
        let (output, row) = (&mut self.output, terminal::row(measured));
        self.bar.suspend(|| {
            output.line(&row)?;
            output.flush()
        })
    }
}
