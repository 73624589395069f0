//! What a call is to do, and its stages over files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fpstore::{ErrorKind, Execution};
use fpstore_text::{Fingerprinter, Recipe, Rule};
use rayon::ThreadPool;

use crate::against::Earlier;
use crate::choice::{Keep, Shape, TableShape, Verify, Written};
use crate::decide::{BASE_BYTES, Deciding, Texts};
use crate::documents::{DocumentOptions, Input, Inputs, Kind, Wanted};
use crate::error::{Error, failure};
use crate::fates::Fates;
use crate::ledger::Notes;
use crate::monitor::{Event, Monitor};
use crate::read::Reading;
use crate::recipe::rule;
use crate::report::Report;
use crate::session::Session;
use crate::settings::{self, Settings};
use crate::stored::Stored;
use crate::work::{self, Found, Stage, Work};
use crate::write::{self, What};

/// What is taken where nothing is said.
const MEMORY: u64 = 1 << 30;
/// What adding to a store takes at the least.
const LEAST_MEMORY: u64 = 32 << 20;

/// How a corpus is cleaned: by which recipe, at which distance, and which document of several is
/// kept.
///
/// One value can be used for many calls. [`files`](Self::files) writes what is kept of files into a
/// directory; [`session`](Self::session) takes documents from wherever they come.
///
/// # Examples
///
/// ```
/// use fpstore_corpus::{Dedup, Document, Keep};
/// use fpstore_text::Fingerprinter;
///
/// let recipe = "onebit-256".parse()?;
/// let dedup = Dedup::new(Fingerprinter::new(&recipe)?).k(40)?.keep(Keep::Longest);
/// let mut session = dedup.session()?;
/// let texts = ["to be or not to be", "a rose is a rose", "To be, or not to be?"];
/// session.add(texts.map(Document::of))?;
/// let decided = session.finish()?;
/// assert_eq!([0, 1, 2].map(|document| decided.keeps(document)), [false, true, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Dedup {
    pub(crate) fingerprinter: Fingerprinter,
    pub(crate) rule: Rule,
    pub(crate) bits: Option<u32>,
    pub(crate) keep: Keep,
    pub(crate) shape: Shape,
    pub(crate) verify: Option<Verify>,
    pub(crate) against: Option<PathBuf>,
    pub(crate) add: bool,
    written: Written,
    removed: Option<TableShape>,
    wait: Duration,
    pub(crate) memory: u64,
    threads: usize,
    pub(crate) checkpoint: Duration,
    pub(crate) monitor: Monitor,
}

impl Dedup {
    /// By the recipe of a fingerprinter, within the distance that it proposes; the first document
    /// of a star is kept.
    pub fn new(fingerprinter: Fingerprinter) -> Self {
        // Without a distance nothing is refused.
        let recipe = fingerprinter.recipe();
        let (rule, bits) = rule(recipe, None).unwrap_or((recipe.rule(), None));
        Self {
            fingerprinter,
            rule,
            bits,
            keep: Keep::default(),
            shape: Shape::default(),
            verify: None,
            against: None,
            add: false,
            written: Written::default(),
            removed: None,
            wait: Duration::ZERO,
            memory: MEMORY,
            threads: 0,
            checkpoint: Duration::from_secs(5),
            monitor: Monitor::default(),
        }
    }

    /// The greatest distance of near duplicates, in bits.
    ///
    /// # Errors
    ///
    /// [`Error::Distance`] if the recipe has no distance, or fewer bits.
    pub fn k(mut self, k: u32) -> Result<Self, Error> {
        (self.rule, self.bits) = rule(self.fingerprinter.recipe(), Some(k))?;
        Ok(self)
    }

    /// Which document of a cluster is kept.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// What a cluster is.
    #[must_use]
    pub fn clusters(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Checks pairs on the features of the texts. Files are read once more for that; a session
    /// notes the features of all documents, 8 bytes for each.
    #[must_use]
    pub fn verify(mut self, verify: Verify) -> Self {
        self.verify = Some(verify);
        self
    }

    /// Removes also what is near a document of the store at `path`, which holds an earlier corpus:
    /// its fingerprints, or for recipes with several values 64-bit keys of these, whose ids are the
    /// documents' and which [`files`](Self::files) and sessions alone write. With `add` what is
    /// kept is added to it in the end; then it is created where there is none.
    ///
    /// Complexity, of keys: two passes over those of the store at the most and one over the sizes
    /// of its sets, or a look-up of each key of the documents where these are few.
    #[must_use]
    pub fn against(mut self, path: impl Into<PathBuf>, add: bool) -> Self {
        (self.against, self.add) = (Some(path.into()), add);
        self
    }

    /// Which documents of files are written again; those that are kept where nothing is said.
    #[must_use]
    pub fn write(mut self, written: Written) -> Self {
        self.written = written;
        self
    }

    /// How the table of removed documents is written. Where nothing is said, it goes by the first
    /// input: Parquet for Parquet, CSV for CSV and TSV, else JSON lines.
    #[must_use]
    pub fn removed(mut self, shape: TableShape) -> Self {
        self.removed = Some(shape);
        self
    }

    /// The most memory to take, in bytes; 1 GiB where nothing is said. The least is 32 MiB and 64
    /// bytes for each document, 192 with an earlier corpus, and with [`Keep::SmallestId`] what the
    /// ids take. An eighth is for documents in flight; one that is larger by itself takes what it
    /// takes.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// How long to wait for another process that works in the directory, or writes to the store.
    #[must_use]
    pub fn wait(mut self, most: Duration) -> Self {
        self.wait = most;
        self
    }

    /// Threads to use; 0 for one per core. The result does not depend on them.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The least time between two notes of how far reading is.
    #[must_use]
    pub fn checkpoint(mut self, period: Duration) -> Self {
        self.checkpoint = period;
        self
    }

    /// Who is told how far it is, and may stop it.
    #[must_use]
    pub fn monitor(mut self, monitor: Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        self.fingerprinter.recipe()
    }

    /// The distance, for recipes that have one.
    pub fn distance(&self) -> Option<u32> {
        match self.rule {
            Rule::Within { k } => Some(k),
            _ => None,
        }
    }

    /// Starts to take documents, in a temporary directory that goes with the session.
    ///
    /// # Errors
    ///
    /// Those of the earlier corpus, and of files.
    pub fn session(&self) -> Result<Session, Error> {
        Session::temporary(self)
    }

    /// Starts to take documents, or goes on with that, in a directory of its own:
    /// [`Session::documents`] says how many it has.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session); [`Error::Busy`]; [`Error::OfAnother`] if other settings have
    /// decided there.
    pub fn session_in(&self, directory: &Path) -> Result<Session, Error> {
        Session::within(self, directory)
    }

    /// Removes duplicates from files: writes what is kept into the directory `output`, with a table
    /// of what is removed and a report.
    ///
    /// `documents/` has a file for each input, of the same name, format and compression, unless
    /// [`write`](Self::write) says otherwise. A call
    /// that was killed or stopped is gone on with by the next one with the same settings; one that
    /// is done gives its report again. Inputs are read twice, three times with
    /// [`verify`](Self::verify). The result depends neither on threads nor on memory.
    ///
    /// # Errors
    ///
    /// Those of inputs and files; [`Error::Busy`]; [`Error::OfAnother`] if `output` holds the
    /// results of other settings; [`Error::Taken`]; [`Error::Memory`]; [`Error::Stopped`].
    pub fn files(
        &self,
        inputs: &Inputs,
        options: &DocumentOptions,
        output: &Path,
    ) -> Result<Report, Error> {
        self.check_memory()?;
        check_outside(output, inputs)?;
        self.check_columns(inputs)?;
        let wanted = self.wanted(options);
        let mut earlier = self.earlier()?;
        let settings = self.settings(inputs, options, &wanted, earlier.as_ref());
        let done = match self.patiently(|| Work::open(output, &settings))? {
            Found::Done(report) => {
                self.check_there(output, inputs)?;
                report
            }
            Found::Work(mut work) => {
                if let Some(differ) = work.given_up() {
                    self.monitor.tell(Event::StartsAgain(differ));
                }
                self.create_earlier(earlier.as_mut(), &mut work)?;
                let files = Files { inputs, wanted: &wanted, skips: options.skips(), output };
                self.work(&files, earlier.as_ref(), *work)?
            }
        };
        self.report_of(output, &done)
    }

    fn report_of(&self, output: &Path, text: &[u8]) -> Result<Report, Error> {
        serde_json::from_slice(text)
            .map_err(|error| Error::System(format!("{}: {error}", output.display())))
    }

    /// As some results were decided, whose settings [`Stored::settings`] gives; the fingerprinter
    /// is of their recipe.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the recipe is another one, or something in them is not known.
    pub fn stored(settings: &Settings, fingerprinter: Fingerprinter) -> Result<Self, Error> {
        let wrong = |what: String| Error::Setting(format!("the settings of the results: {what}"));
        let recipe = fingerprinter.recipe().to_string();
        if recipe != settings.recipe {
            let what = format!("their recipe is `{}`, and not `{recipe}`", settings.recipe);
            return Err(wrong(what));
        }
        let mut dedup = Self::new(fingerprinter)
            .keep(settings.keep.parse().map_err(wrong)?)
            .clusters(settings.clusters.parse().map_err(wrong)?)
            .write(settings.write.parse().map_err(wrong)?);
        if let Some(k) = settings.k {
            dedup = dedup.k(k)?;
        }
        dedup.verify =
            settings.verify.as_ref().map(|verify| verify.parse()).transpose().map_err(wrong)?;
        dedup.removed = TableShape::of_file(&settings.removed);
        dedup.against = settings.against.as_ref().map(PathBuf::from);
        dedup.add = settings.add;
        Ok(dedup)
    }

    /// Decides again about the documents of results that [`files`](Self::files) wrote, by what was
    /// noted of them, in their place: with another distance, choice or shape of clusters
    /// ([`stored`](Self::stored) has the rest). The results come out as if all had been read again.
    ///
    /// Files are read once more only to write what is kept of them, and for
    /// [`verify`](Self::verify). A call that was killed or stopped is gone on with by the next one;
    /// until then there are no results.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the files have changed, documents were added to a store, or what is
    /// kept goes by a column that was not noted; [`Error::Missing`] if there are no notes;
    /// [`Error::Busy`]; [`Error::Memory`]; [`Error::Stopped`].
    pub fn again(&self, results: &Path) -> Result<Report, Error> {
        self.check_memory()?;
        let before = Stored::settings(results)?;
        if before.add || self.add {
            let what = "what was kept was added to the store, and would be near itself; start again \
                        with another output";
            return Err(Error::Setting(format!("{}: {what}", results.display())));
        }
        let noted: Keep = before.keep.parse().map_err(Error::Setting)?;
        if !noted.serves(&self.keep) {
            return Err(Error::Setting(format!(
                "{}: was decided by {noted}, for which nothing is noted that tells {}; start again with another \
                 output",
                results.display(),
                self.keep
            )));
        }
        let inputs = before.find_inputs()?;
        let options = before.options();
        let wanted = self.wanted(&options);
        let earlier = self.earlier()?;
        let settings = self.settings(&inputs, &options, &wanted, earlier.as_ref());
        if settings == before && results.join(work::REPORT).exists() {
            self.check_there(results, &inputs)?;
            return Ok(Stored::open(results)?.into_report());
        }
        let work = self.patiently(|| Work::again(results, &settings))?;
        let skips = options.skips();
        let files = Files { inputs: &inputs, wanted: &wanted, skips, output: results };
        self.report_of(results, &self.work(&files, earlier.as_ref(), work)?)
    }

    /// The columns of files.
    fn wanted(&self, options: &DocumentOptions) -> Wanted {
        Wanted { added: self.written.columns(), ..options.wanted(self.keep.column()) }
    }

    pub(crate) fn check_memory(&self) -> Result<(), Error> {
        match self.memory < BASE_BYTES {
            true => Err(Error::Memory { limit: self.memory, needed: BASE_BYTES, documents: 0 }),
            false => Ok(()),
        }
    }

    pub(crate) fn pool(&self) -> Result<Arc<ThreadPool>, Error> {
        Ok(Execution::new().threads(self.threads).start_pool()?)
    }

    /// Looks at the earlier corpus.
    pub(crate) fn earlier(&self) -> Result<Option<Earlier>, Error> {
        let Some(path) = &self.against else { return Ok(None) };
        let (how, recipe) = ((self.rule, self.bits), self.recipe().to_string());
        Earlier::open(path, how, &recipe, self.add, &self.monitor).map(Some)
    }

    /// Creates the store that documents are added to, if it is not there.
    pub(crate) fn create_earlier(
        &self,
        earlier: Option<&mut Earlier>,
        work: &mut Work,
    ) -> Result<(), Error> {
        let Some(earlier) = earlier else { return Ok(()) };
        if earlier.id().is_none() {
            earlier.create()?;
            self.monitor.tell(Event::Created(earlier.path()));
        }
        work.note_store(earlier.id())
    }

    fn shape_of_removed(&self, inputs: &Inputs) -> TableShape {
        let first = inputs.files.first().map(|input| TableShape::beside(input.kind));
        self.removed.or(first).unwrap_or(TableShape::Jsonl)
    }

    /// Tries again while another process is in the way, as long as that is wanted.
    fn patiently<T>(&self, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let start = Instant::now();
        loop {
            let done = work();
            let is_busy = match &done {
                Err(Error::Busy { .. }) => true,
                Err(Error::Store(error)) => error.kind() == ErrorKind::Busy,
                _ => false,
            };
            if !is_busy || start.elapsed() >= self.wait {
                return done;
            }
            self.monitor.check()?;
            std::thread::sleep(PAUSE);
        }
    }

    /// Refuses files that have no place for columns, where documents get some.
    fn check_columns(&self, inputs: &Inputs) -> Result<(), Error> {
        let plain = inputs.files.iter().find(|input| input.kind == Kind::Plain);
        match (&self.written, plain) {
            (Written::Annotated(_), Some(input)) => Err(Error::Setting(format!(
                "{}: is a plain file, which has no columns; annotate JSON lines, CSV, TSV or \
                 Parquet, or write nothing: the table of what is removed says the same",
                input.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the results of a call that is done are there still.
    fn check_there(&self, output: &Path, inputs: &Inputs) -> Result<(), Error> {
        // Of plain files only those are there that are kept.
        let is_there =
            |input: &&Arc<Input>| input.kind != Kind::Plain && self.written != Written::Nothing;
        let files = inputs.files.iter().filter(is_there);
        let files = files.map(|input| output.join(work::DOCUMENTS).join(&input.name));
        let table = output.join(self.shape_of_removed(inputs).file());
        match files.chain([table]).find(|path| !path.exists()) {
            None => Ok(()),
            Some(path) => {
                let remedy = match self.add {
                    true => "restore it from a copy: the documents were added to the store, so \
                             that another call would remove them all"
                        .to_string(),
                    false => format!("remove {} and do it again", output.display()),
                };
                Err(Error::Missing { path, remedy })
            }
        }
    }

    fn settings(
        &self,
        inputs: &Inputs,
        options: &DocumentOptions,
        wanted: &Wanted,
        earlier: Option<&Earlier>,
    ) -> Settings {
        Settings {
            text: wanted.text.clone(),
            id: wanted.id.clone(),
            on_error: if options.skips() { "skip" } else { "stop" }.to_string(),
            write: self.written.to_string(),
            removed: self.shape_of_removed(inputs).file().to_string(),
            given: inputs.given.iter().map(|path| path.display().to_string()).collect(),
            format: options.given_kind(),
            tables: options.means_tables(),
            files: inputs.files.len() as u64,
            inputs: settings::digest(inputs),
            ..self.settings_of_all(earlier)
        }
    }

    /// The settings that do not depend on where documents come from.
    pub(crate) fn settings_of_all(&self, earlier: Option<&Earlier>) -> Settings {
        Settings {
            recipe: self.recipe().to_string(),
            k: self.distance(),
            keep: self.keep.to_string(),
            clusters: self.shape.name().to_string(),
            verify: self.verify.map(|verify| verify.to_string()),
            text: String::new(),
            id: None,
            on_error: "stop".to_string(),
            write: Written::Nothing.to_string(),
            removed: String::new(),
            against: self.against.as_ref().map(|path| path.display().to_string()),
            store: earlier.and_then(|earlier| earlier.id().cloned()),
            add: self.add,
            given: Vec::new(),
            format: None,
            tables: false,
            files: 0,
            inputs: String::new(),
        }
    }

    /// Does what is not done yet, and gives the report.
    fn work(
        &self,
        files: &Files<'_>,
        earlier: Option<&Earlier>,
        mut work: Work,
    ) -> Result<Vec<u8>, Error> {
        let pool = self.pool()?;
        let reading = Reading {
            inputs: files.inputs,
            wanted: files.wanted,
            keep: &self.keep,
            added: earlier.filter(|_| self.add).map(Earlier::kind),
            skips: files.skips,
            memory: self.memory / 16,
            period: self.checkpoint,
            monitor: &self.monitor,
        };
        if work.state().stage == Stage::Clear {
            work.clear()?;
        }
        if work.state().stage == Stage::Read {
            reading.run(&mut work, &self.fingerprinter, &pool)?;
        }
        let notes = Notes::open(&work)?;
        self.decide(&mut work, &notes, Texts::Files(&reading), earlier, &pool)?;
        let fates = Fates::read(&work)?;
        if let Stage::Write(from) = work.state().stage {
            let threads = pool.current_num_threads();
            let what =
                What { notes: &notes, fates: &fates, written: &self.written, rule: self.rule };
            write::write(&reading, &mut work, &what, from, threads)?;
        }
        let settings = work.state().settings.clone();
        let (shape, k) = (self.shape_of_removed(files.inputs), settings.k);
        let clusters = write::removed(&work, &notes, &fates, shape, k, &settings.recipe)?;
        self.add_kept(earlier, &mut work, &notes, &fates, &pool)?;
        let report = Report::new(&settings, self.recipe(), &notes, &fates, &clusters);
        let text = serde_json::to_vec_pretty(&report);
        let mut text = text.map_err(|error| Error::System(error.to_string()))?;
        text.push(b'\n');
        let path = files.output.join(work::TEXT);
        fpstore::files::replace(&path, report.text().as_bytes())
            .map_err(failure(&path, "write"))?;
        work.finish(&text)?;
        Ok(text)
    }

    /// Decides, if that is to be done.
    pub(crate) fn decide(
        &self,
        work: &mut Work,
        notes: &Notes,
        texts: Texts<'_>,
        earlier: Option<&Earlier>,
        pool: &ThreadPool,
    ) -> Result<(), Error> {
        if work.state().stage != Stage::Decide {
            return Ok(());
        }
        let deciding = Deciding {
            work,
            notes,
            texts,
            fingerprinter: &self.fingerprinter,
            rule: self.rule,
            bits: self.bits,
            shape: self.shape,
            keep: &self.keep,
            verify: self.verify,
            earlier,
            memory: self.memory,
            pool,
            monitor: &self.monitor,
        };
        deciding.run()?.write(work)?;
        work.note(|state| state.stage = Stage::Write(0))
    }

    /// Adds what is kept to the store, if that is wanted and was not done.
    pub(crate) fn add_kept(
        &self,
        earlier: Option<&Earlier>,
        work: &mut Work,
        notes: &Notes,
        fates: &Fates,
        pool: &ThreadPool,
    ) -> Result<(), Error> {
        let Some(earlier) = earlier.filter(|_| self.add) else { return Ok(()) };
        let begun = work.state().stage == Stage::Add;
        if work.state().stage == Stage::Removed {
            work.note(|state| state.stage = Stage::Add)?;
        }
        if work.state().stage == Stage::Add {
            let execution = Execution::new()
                .threads(pool.current_num_threads())
                .memory((self.memory / 2).max(LEAST_MEMORY));
            let mut begun = begun;
            self.patiently(|| {
                let added = earlier.add(notes, fates, begun, execution.clone());
                begun = true;
                added
            })?;
            work.note(|state| state.stage = Stage::Report)?;
        }
        Ok(())
    }
}

/// Files, and where their results go.
struct Files<'a> {
    inputs: &'a Inputs,
    wanted: &'a Wanted,
    skips: bool,
    output: &'a Path,
}

/// Refuses results in a directory of inputs: the next call would take them for documents.
fn check_outside(output: &Path, inputs: &Inputs) -> Result<(), Error> {
    let mut there = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
    while !there.exists() && there.pop() {}
    let there = there.canonicalize().unwrap_or(there);
    let around =
        |input: &&PathBuf| input.canonicalize().is_ok_and(|input| there.starts_with(input));
    match inputs.directories.iter().find(around) {
        Some(input) => Err(Error::Setting(format!(
            "{}: lies in {}, so that the results would be documents of the next call; name a directory elsewhere",
            output.display(),
            input.display()
        ))),
        None => Ok(()),
    }
}
