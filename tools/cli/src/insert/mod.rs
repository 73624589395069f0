//! `fpstore insert`: puts fingerprints into a store, all of them or those without a near one.

mod fresh;
mod verdicts;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::ValueEnum;
use fpstore::{AsId, Fingerprint, Id, IdRef, Verdict, Writer, width_of};
use serde::Serialize;

use fpstore_records::Records;
use fresh::Fresh;
use verdicts::Verdicts;

use crate::apart::Used;
use crate::command_line::quoted_path;
use crate::failure::Failure;
use crate::feed::{Feed, Read};
use crate::global::Globals;
use crate::input::InputArgs;
use crate::interrupt::Interruptible;
use crate::options::any_radius;
use crate::output::{Output, check_summary, say};
use crate::paths::is_store;
use crate::progress::Progress;
use crate::recipes::{self, Recipes};
use crate::record_ids::{RecordIdArgs, RecordIds};
use crate::table::{self, As};
use crate::times::Moment;
use crate::units;
use crate::width::{self, check_radius, for_width};
use crate::writing::{self, Durable};

const AFTER_HELP: &str = "\
Examples:
  fpstore insert pages.fps new.csv --id-column url
  fpstore insert hashes.fps a.txt b.bin
  fpstore insert seen.fps pages.csv --ids line --unless-near --since 7d
  crawler | fpstore insert pages.fps - --format jsonl --id-column id \\
      -k 3 --unless-near > verdicts.tsv

Where the store has ids each record needs one, else none has: a number or a
name, as the store has them (`create --id-type`). A record that is stored
already, with its id and in its window of time, is looked up, counted as such,
and not written again. With --ids line records are numbered. The numbers go on
behind the greatest id that the store ever had, so that none is given twice,
also when its record was deleted or expired. Skipped records count, and so do
those that --unless-near does not insert: of these the last ones of a command
are free again.

--unless-near asks before it inserts: a record with a stored one within K, also
with one that the same command has inserted, is not inserted. For each record
there is a row, in the order of the records:
  tsv   id (where the store has ids), fingerprint, inserted or near, and of the
        nearest one fingerprint and distance, both empty where it was inserted;
        of several at that distance the least
  json  an object for each, on a line of its own:
{\"id\":\"7\",\"fingerprint\":\"8f3ac41e09b7d265\",\"verdict\":\"near\",
\"near\":\"8f3ac41e09b7d264\",\"distance\":1}
        which does not fit on one here; id, near and distance only where there
        are such
In a store with windows of time --since leaves out what is older, as it does
for `query`: a record may be inserted beside an old one that is near. --since
7d counts from the start of the command. Records from a pipe are inserted as
they come, and their rows are there at once. All are inserted also where the
reader of the rows goes away.

What was inserted is durable when the command ends, also where a bad record or
SIGHUP, SIGINT or SIGTERM ends it: then what came before stays. --durability
says what a crash before that keeps:
  immediate  all of which a row was printed; else all but some 32,768 records
  group      all but the last 50 ms
  eventual   what segments hold
Other processes see a record after that as well. A crash never leaves a part of
what was inserted at once, nor a gap.

Readers are not disturbed. There is one writer at a time; a second one fails.";

/// Inserts fingerprints into a store, all or those without a near one
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[arg(skip)]
    pub globals: Globals,

    /// The store, which `create` or `pack` wrote
    store: PathBuf,

    /// Files of fingerprints; `-` reads standard input
    #[arg(default_value = "-", hide_default_value = true)]
    input: Vec<PathBuf>,

    /// Insert only what has no stored fingerprint within the distance, and print a row for each
    /// record
    #[arg(long)]
    pub unless_near: bool,

    /// That distance, 0 to the bits of a fingerprint [default: that which the store was made for]
    #[arg(short = 'k', value_name = "K", value_parser = any_radius, allow_negative_numbers = true)]
    #[arg(requires = "unless_near")]
    radius: Option<u32>,

    /// Compare only with records from this time on, as far as windows tell, so that older ones are
    /// no reason not to insert: written as for --time, such as 7d
    #[arg(long, value_name = "TIME", requires = "unless_near")]
    since: Option<Moment>,

    /// By which recipe the fingerprints were made; one of another store is refused [default: what
    /// the inputs say]
    #[arg(long, value_name = "LINE", value_parser = recipes::line)]
    #[arg(hide_short_help = true)]
    recipe: Option<String>,

    /// How rows are written: a format, and words such as header, u64 and i64, as in `tsv,header`
    #[arg(long = "as", default_value = "tsv", value_parser = As::<Shape>::parse)]
    #[arg(value_name = "tsv|json[,WORD]")]
    pub form: As<Shape>,

    /// What a crash keeps while the command runs
    #[arg(long, value_enum, default_value = "group", hide_possible_values = true)]
    #[arg(value_name = "immediate|group|eventual")]
    #[arg(hide_short_help = true)]
    durability: Durable,

    /// The time of all records, where the store has windows: 2026-11-22, 2026-11-22T08:30:00Z,
    /// seconds since 1970, or how long ago: 7d; dates are those of UTC [default: now]
    #[arg(long, value_name = "TIME")]
    time: Option<Moment>,

    #[command(flatten)]
    ids: RecordIdArgs,

    /// The id of the first record with --ids line [default: the one behind the greatest that the
    /// store ever had]
    #[arg(long, value_name = "N", help_heading = "Ids")]
    #[arg(hide_short_help = true)]
    first_id: Option<u64>,

    #[command(flatten)]
    reading: InputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Tsv,
    Json,
}

impl table::Shape for Shape {
    const WORDS: &'static [&'static str] = table::TABLE_WORDS;
    const JSON: Option<Self> = Some(Shape::Json);
}

/// The summary in JSON.
#[derive(Serialize)]
struct Summary {
    store: String,
    inserted: u64,
    /// Records that stood in the store already, or came twice.
    already_stored: u64,
    skipped: u64,
    seconds: f64,
}

/// Inserts, and prints what it came to.
pub fn run(args: Args) -> Result<(), Failure> {
    let is_tsv = args.unless_near && args.form.shape == Shape::Tsv;
    args.form.table.check("insert", is_tsv, None)?;
    let bits = width_of(&args.store)?;
    check_radius("insert", args.radius, bits)?;
    recipes::check_bits(args.recipe.as_deref(), bits)?;
    args.form.table.check_width("insert", bits)?;
    for_width!(bits, insert(args))
}

fn insert<F: Fingerprint>(args: Args) -> Result<(), Failure> {
    let start = Instant::now();
    let ids = args.ids.ids()?;
    if let Some(path) = args.input.iter().find(|path| is_store(path)) {
        let (name, store) = (path.display(), quoted_path(&args.store));
        let command = format!("fpstore pack {} --append {store}", quoted_path(path));
        let message = format!("{name}: is a store; `{command}` adds it");
        return Err(Failure::Usage(message));
    }
    if let Some(digits) = args.input.iter().find_map(|path| digits_of::<F>(path)) {
        let store = quoted_path(&args.store);
        let message = format!(
            "{}: is no file; fingerprints come from files or a pipe: `echo {digits} | fpstore insert \
             {store}`",
            digits.trim_start_matches("0x")
        );
        return Err(Failure::Usage(message));
    }
    let kind = width::open::<F>(&args.store)?.id_kind();
    ids.check_kind(&args.store, kind)?;
    let reading = args.reading.beside_store(ids.wish(kind), None);
    let feed = Feed {
        inputs: &args.input,
        reading: &reading,
        quiet: args.globals.quiet,
        follow: true,
        stored_ids: true,
    };
    let known = feed.check::<F>()?;
    check_summary(args.unless_near || args.globals.json || !args.globals.quiet)?;
    if args.unless_near {
        Used::nothing().files(&args.input).check_stdout()?;
    }
    let on_terminal = args.unless_near && io::stdout().is_terminal();
    let progress =
        Progress::new(args.globals.progress.beside_rows(args.globals.quiet, on_terminal));
    let work = Interruptible::default();
    let mut recipes = Recipes::given(args.recipe.as_deref());
    recipes.join(&known.recipes)?;
    let opened = open::<F>(&args, &ids, recipes, &work)?;
    writing::watch(&work, &progress)?;
    let mut inserting = Inserting::new(&args, ids, opened)?;
    let read = feed.read(known.bytes, &progress, |records| {
        writing::with(&work, |writer| inserting.insert(writer, records))
    });
    progress.finish();
    let read = writing::close(&work, read)?;
    inserting.finish(&read, start.elapsed().as_secs_f64())
}

/// The fingerprint that an input is by its name, where there is no such file.
fn digits_of<F: Fingerprint>(path: &Path) -> Option<String> {
    let name = path.to_str()?;
    let digits = name.strip_prefix("0x").unwrap_or(name);
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_full = digits.len() == F::BITS as usize / 4;
    let fingerprint = if is_full { digits.to_string() } else { format!("0x{digits}") };
    (are_digits && digits.len() <= F::BITS as usize / 4 && !path.exists()).then_some(fingerprint)
}

/// What is known once the store is open.
struct Opened {
    /// The distance that is asked for.
    k: u32,
    /// The id of the first record, with `--ids line`.
    first_id: u64,
    /// The length of a window, in a store with windows.
    window: Option<Duration>,
}

/// Opens the store for writing.
fn open<F: Fingerprint>(
    args: &Args,
    ids: &RecordIds,
    mut recipes: Recipes,
    work: &Interruptible<Writer<F>>,
) -> Result<Opened, Failure> {
    let writer = args.durability.options(work).open(&args.store)?;
    let snapshot = writer.snapshot();
    recipes.take(args.store.display(), snapshot.recipe())?;
    if !args.globals.quiet {
        recipes.tell();
    }
    let refused = |what: &str| Err(Failure::Usage(format!("{}: {what}", args.store.display())));
    let living = snapshot.stats()?.living;
    let (has_ids, window) = living.map_or((false, None), |living| (living.ids, living.window));
    match (has_ids, ids.is_some()) {
        (true, false) => return refused("has ids; give --ids line or --id-column NAME"),
        (false, true) => return refused("has no ids; leave --ids and --id-column out"),
        _ => {}
    }
    for (option, given) in [("--time", args.time), ("--since", args.since)] {
        if given.is_some() && window.is_none() {
            let what = "has no windows of time; leave";
            return refused(&format!("{what} {option} out, or create it with --window"));
        }
    }
    let first_id = match (args.first_id, ids) {
        (Some(first), _) => first,
        (None, RecordIds::Line) => match snapshot.next_id() {
            Some(next) => next,
            None => return refused("no number is left behind its greatest id; give --first-id N"),
        },
        (None, _) => 0,
    };
    // Of a store that does not say its recipe nobody knows whether its distance was meant for this.
    let of_recipe = recipes.k().filter(|_| snapshot.recipe().is_none());
    let k = args.radius.or(of_recipe).unwrap_or(snapshot.radius());
    work.set(writer);
    Ok(Opened { k, first_id, window })
}

/// Inserts pairs, of this time in a store with windows.
fn insert_pairs<F: Fingerprint, I: AsId>(
    writer: &Writer<F>,
    pairs: &[(F, I)],
    (window, time): (Option<Duration>, SystemTime),
) -> Result<(), Failure> {
    match window {
        Some(_) => writer.insert_batch_at(pairs, time)?,
        None => writer.insert_batch(pairs)?,
    }
    Ok(())
}

/// Hands records to a writer, and tells what came of it.
struct Inserting<'a, F: Fingerprint> {
    args: &'a Args,
    ids: RecordIds,
    opened: Opened,
    verdicts: Option<Verdicts<'a>>,
    /// `None` where each record gets a number that none had before.
    fresh: Option<Fresh<F>>,
    /// The same of records with names.
    fresh_names: Fresh<F, Id>,
    pairs: Vec<(F, u64)>,
    /// Records that were inserted without `--unless-near`.
    inserted: u64,
}

impl<'a, F: Fingerprint> Inserting<'a, F> {
    fn new(args: &'a Args, ids: RecordIds, opened: Opened) -> Result<Self, Failure> {
        let verdicts = match args.unless_near {
            true => Some(Verdicts::new(args, ids.is_some())?),
            false => None,
        };
        let is_numbered = ids == RecordIds::Line && args.first_id.is_none();
        let fresh = (!is_numbered).then(Fresh::new);
        Ok(Self {
            args,
            ids,
            opened,
            verdicts,
            fresh,
            fresh_names: Fresh::new(),
            pairs: Vec::new(),
            inserted: 0,
        })
    }

    /// Inserts records, and commits them.
    fn insert(&mut self, writer: &Writer<F>, records: &Records<F>) -> Result<(), Failure> {
        match self.verdicts {
            Some(_) => self.insert_unless_near(writer, records)?,
            None => self.insert_all(writer, records)?,
        }
        writer.commit(self.args.durability.of_commits())?;
        self.verdicts.as_mut().map_or(Ok(()), Verdicts::pass_on)
    }

    fn insert_all(&mut self, writer: &Writer<F>, records: &Records<F>) -> Result<(), Failure> {
        let time = self.args.time.map_or_else(SystemTime::now, |time| time.0);
        let window = self.opened.window;
        self.pairs.clear();
        let is_numbered = matches!(records.ids.get(0), None | Some(IdRef::Number(_)));
        if self.ids != RecordIds::Line && !is_numbered {
            let mut pairs = Vec::with_capacity(records.fingerprints.len());
            for record in records.iter() {
                let id = self.ids.of(&record, 0)?.map(|id| id.to_id());
                pairs.extend(id.map(|id| (record.fingerprint, id)));
            }
            self.fresh_names.retain_new(&mut pairs, writer, (window, time))?;
            self.inserted += pairs.len() as u64;
            return insert_pairs(writer, &pairs, (window, time));
        }
        for record in records.iter() {
            let id = match self.ids.of(&record, self.opened.first_id)? {
                Some(IdRef::Number(id)) => id,
                _ => 0,
            };
            self.pairs.push((record.fingerprint, id));
        }
        if let Some(fresh) = &mut self.fresh {
            fresh.retain_new(&mut self.pairs, writer, (window, time))?;
        }
        self.inserted += self.pairs.len() as u64;
        if self.ids.is_some() {
            return insert_pairs(writer, &self.pairs, (window, time));
        }
        let fingerprints: Vec<F> = self.pairs.iter().map(|pair| pair.0).collect();
        match window {
            Some(_) => writer.insert_fingerprints_at(&fingerprints, time)?,
            None => writer.insert_fingerprints(&fingerprints)?,
        }
        Ok(())
    }

    fn insert_unless_near(
        &mut self,
        writer: &Writer<F>,
        records: &Records<F>,
    ) -> Result<(), Failure> {
        for record in records.iter() {
            let id = self.ids.of(&record, self.opened.first_id)?;
            let (fingerprint, k) = (record.fingerprint, self.opened.k);
            let time = self.args.time.map_or_else(SystemTime::now, |time| time.0);
            let verdict: Verdict<F> = match (self.args.since, self.opened.window) {
                (Some(since), _) => {
                    writer.check_and_insert_since(fingerprint, id, k, time, since.0)?
                }
                (None, Some(_)) => writer.check_and_insert_at(fingerprint, id, k, time)?,
                (None, None) => writer.check_and_insert(fingerprint, id, k)?,
            };
            if let Some(verdicts) = &mut self.verdicts {
                verdicts.push(fingerprint, id, &verdict)?;
            }
        }
        Ok(())
    }

    /// Tells what was inserted.
    fn finish(self, read: &Read, seconds: f64) -> Result<(), Failure> {
        let Self { args, verdicts, opened: Opened { k, .. }, inserted, .. } = self;
        let store = args.store.display();
        let inserted = match verdicts {
            Some(verdicts) => verdicts.finish()?,
            None => inserted,
        };
        let skipped = match read.skipped {
            0 => String::new(),
            skipped => format!(", {} skipped", units::count(skipped)),
        };
        if args.unless_near {
            if !args.globals.quiet {
                let near = units::count(read.fingerprints - inserted);
                say!(
                    "fpstore: {} inserted, {near} near one within {k}{skipped}; {seconds:.2} seconds",
                    units::count(inserted)
                );
            }
            return Ok(());
        }
        let mut output = Output::stdout();
        let already_stored = read.fingerprints - inserted;
        if args.globals.json {
            let (store, skipped) = (store.to_string(), read.skipped);
            output.json(&Summary { store, inserted, already_stored, skipped, seconds })?;
        } else if !args.globals.quiet {
            let inserted = units::plural(inserted, "record");
            let stored = match already_stored {
                0 => String::new(),
                stored => format!(", {} stored already", units::count(stored)),
            };
            let line =
                format!("{store}: {inserted} inserted{stored}{skipped} in {seconds:.2} seconds");
            output.line(&line)?;
        }
        output.flush()
    }
}
