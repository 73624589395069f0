//! What the system refuses (threads, memory, open files) is an error of one line and the exit code
//! 2, for every command.
//!
//! Each command runs on inputs that take several threads and some memory, under `ulimit -u`, `-v`
//! and `-n`. The usual run takes few steps of each; with `FPSTORE_ALL_LIMITS` in the environment it
//! takes all of them, and larger inputs.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::oracle::{Random, fingerprints};
use crate::{PROGRAM, Scratch, raw};

/// After what time a command is taken to hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Commands that run at a time.
const TOGETHER: usize = 2;
/// What commands read: a link to each stands where they run.
const INPUTS: [&str; 8] = [
    "set.bin",
    "some.bin",
    "texts.jsonl",
    "texts.jsonl.zst",
    "a.txt",
    "b.txt",
    "pairs.tsv",
    "store",
];
/// Stores that commands change: these get copies.
const CHANGED: [&str; 3] = ["live", "merged", "windows"];

/// Every command, and whether all that it gives is the same each time: its output, and what it
/// writes to `out`.
const COMMANDS: [(&str, bool); 27] = [
    ("plan --sample set.bin --format u64le", false),
    ("pack set.bin -o out --format u64le -q", false),
    ("create out -q", false),
    ("insert live set.bin --format u64le -q", false),
    ("delete live --from some.bin --format u64le -q", false),
    ("flush live -q", false),
    ("merge merged --full -q", false),
    ("expire windows --before 2026-06-01 -q", false),
    ("backup store out -q", false),
    ("repair store out", false),
    ("query store --from some.bin --format u64le -k 1 -o out", true),
    ("query store --from some.bin --format u64le -k 1 --as any", true),
    ("join store -k 1 -o out -q", false),
    ("merge-pairs pairs.tsv -o out -q", true),
    ("dedup store -k 1 -o out -q", true),
    ("fingerprint texts.jsonl --recipe simhash-64 -o out -q --as jsonl", true),
    ("compare a.txt b.txt", true),
    ("evaluate texts.jsonl --recipe simhash-64 --limit 100 -q", false),
    ("corpus dedup texts.jsonl --id-column id --recipe simhash-64 -o out -q", false),
    ("corpus dedup texts.jsonl.zst --id-column id --recipe simhash-64 -o out -q", false),
    ("stat store", false),
    ("verify store", false),
    ("dump store -o out", true),
    ("bench set.bin", false),
    ("glossary", true),
    ("man -o out", false),
    ("completions bash", true),
];

/// An option of `ulimit`, and its value.
type Limit = (char, u64);

/// What a command came to.
struct Outcome {
    /// `None` if a signal ended it.
    code: Option<i32>,
    output: Vec<u8>,
    errors: String,
    /// What is in the file `out`.
    written: Option<Vec<u8>>,
}

/// Where commands run, and as whom.
struct Place {
    scratch: Scratch,
    /// As root: a user of whom nothing else runs, as the limit of processes holds for each user,
    /// and not for root.
    user: Option<u32>,
}

impl Place {
    fn new() -> Self {
        let is_root = fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0);
        let setpriv = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status();
        let user = (is_root && setpriv.is_ok()).then(|| 100_000 + process::id());
        let place = Self { scratch: Scratch::new(), user };
        // The program may stand where only its owner looks.
        fs::copy(PROGRAM, place.path("fpstore")).unwrap();
        place.fill();
        place.hand_over(&place.path("."));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    /// Writes what commands read.
    fn fill(&self) {
        let scratch = &self.scratch;
        let (count, texts) = if takes_all() { (300_000, 6000) } else { (100_000, 2000) };
        let set = fingerprints(90, count);
        scratch.write("set.bin", raw(&set));
        scratch.write("some.bin", raw(&set[..3000]));
        scratch.write("few.bin", raw(&set[..100]));
        let mut random = Random(91);
        let mut text = |number| {
            let words: Vec<_> = (0..60).map(|_| format!("w{}", random.below(5000))).collect();
            format!("{{\"id\":\"{number}\",\"text\":\"{}\"}}\n", words.join(" "))
        };
        let texts: String = (0..texts).map(&mut text).collect();
        scratch.write("texts.jsonl", &texts);
        scratch.write("texts.jsonl.zst", zstd::encode_all(texts.as_bytes(), 1).unwrap());
        scratch.write("a.txt", "one two three four five six seven");
        scratch.write("b.txt", "one two three four five six eight");
        for line in [
            "pack set.bin -o store --format u64le -q",
            "create live --id-type none -q",
            "insert live some.bin --format u64le -q",
            "pack set.bin -o merged --format u64le -q",
            "insert merged some.bin --format u64le -q",
            "flush merged -q",
            "insert merged few.bin --format u64le -q",
            "create windows --window 1d -q",
            "insert windows some.bin --format u64le --ids line --time 2026-01-01 -q",
            "flush windows -q",
            "join store -k 1 -o pairs.tsv -q",
        ] {
            scratch.run(line).ends_with_code(0);
        }
    }

    /// Gives all of a directory to whom commands run as.
    fn hand_over(&self, directory: &Path) {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        let Some(user) = self.user else { return };
        let owner = format!("{user}:{user}");
        assert!(
            Command::new("chown").arg("-Rh").arg(owner).arg(directory).status().unwrap().success()
        );
    }

    /// Runs a command in a directory of its own, with what it reads and changes.
    fn run(&self, line: &str, limit: Option<Limit>) -> Outcome {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("run-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = self.path(&name);
        fs::create_dir(&directory).unwrap();
        for input in INPUTS {
            symlink(self.path(input), directory.join(input)).unwrap();
        }
        for store in CHANGED.into_iter().filter(|store| line.contains(&format!(" {store} "))) {
            let copied = Command::new("cp")
                .arg("-r")
                .args([self.path(store), directory.join(store)])
                .status();
            assert!(copied.unwrap().success());
        }
        self.hand_over(&directory);
        let outcome = self.run_in(&directory, line, limit);
        fs::remove_dir_all(directory).unwrap();
        outcome
    }

    fn run_in(&self, directory: &Path, line: &str, limit: Option<Limit>) -> Outcome {
        let ulimit = match limit {
            Some((option, value)) => format!("ulimit -{option} {value} && "),
            None => String::new(),
        };
        let mut command = match self.user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={user}"));
                command.args(["--clear-groups", "bash"]);
                command
            }
            None => Command::new("bash"),
        };
        command.arg("-c").arg(format!("{ulimit}exec \"$0\" \"$@\"")).arg(self.path("fpstore"));
        command.args(line.split_whitespace()).current_dir(directory).stdin(Stdio::null());
        // No pipes, which somebody would have to read.
        let [output, errors] = ["output", "errors"].map(|name| directory.join(name));
        command.stdout(File::create(&output).unwrap()).stderr(File::create(&errors).unwrap());
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("`{line}` hangs under {limit:?}");
            }
            thread::sleep(Duration::from_millis(2));
        };
        Outcome {
            code: status.code(),
            output: fs::read(output).unwrap(),
            errors: String::from_utf8_lossy(&fs::read(errors).unwrap()).into_owned(),
            written: fs::read(directory.join("out")).ok(),
        }
    }

    /// What is wrong with how a command ends under a limit, if anything is. `whole` is what it
    /// gives without.
    fn fault(&self, (line, same): (&str, bool), limit: Limit, whole: &Outcome) -> Option<String> {
        let found = self.run(line, Some(limit));
        let one_line = found.errors.lines().count() == 1 && found.errors.ends_with('\n');
        let fits = match found.code {
            Some(2) => one_line && found.errors.starts_with("fpstore: "),
            code => {
                let is_same = found.output == whole.output && found.written == whole.written;
                code == whole.code && (is_same || !same)
            }
        };
        let Outcome { code, errors, .. } = found;
        (!fits).then(|| format!("`{line}` under {limit:?} ends with {code:?}: {errors}"))
    }

    /// The limits to be held to.
    fn limits(&self) -> Vec<Limit> {
        let mut limits = Vec::new();
        let all = takes_all();
        match self.user {
            Some(_) => {
                let processes: &[u64] = if all { &[1, 2, 3, 4, 5, 6, 7, 8] } else { &[1, 2, 3, 4] };
                limits.extend(processes.iter().map(|&processes| ('u', processes)));
            }
            None => println!("skipped: the limit of threads, which needs root and setpriv"),
        }
        // Below, the system cannot load the program.
        let loads = |&mib: &u64| self.run("--version", Some(('v', mib << 10))).code == Some(0);
        let spaces = (3..=20).map(|step| 10 * step).filter(loads);
        limits.extend(spaces.filter(|mib| all || SPACES.contains(mib)).map(|mib| ('v', mib << 10)));
        let files: &[u64] = if all { &[4, 5, 6, 7, 8, 10, 12, 16, 24, 32] } else { &[4, 6, 9, 14] };
        limits.extend(files.iter().map(|&files| ('n', files)));
        limits
    }
}

/// MiB of address space of the usual run.
const SPACES: [u64; 4] = [40, 70, 100, 140];

fn takes_all() -> bool {
    env::var_os("FPSTORE_ALL_LIMITS").is_some()
}

#[test]
fn whatever_the_system_refuses_a_command_ends_well_or_with_one_line_and_code_2() {
    let place = Place::new();
    let limits = place.limits();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut faults = Vec::new();
        while let Some(&command) = COMMANDS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let whole = place.run(command.0, None);
            let expected = if command.0.starts_with("bench") { 2 } else { 0 };
            assert_eq!(whole.code, Some(expected), "{}: {}", command.0, whole.errors);
            faults.extend(limits.iter().filter_map(|&limit| place.fault(command, limit, &whole)));
        }
        faults
    };
    let faults: Vec<String> = thread::scope(|scope| {
        let working: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(work)).collect();
        working.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_limits_are_tried_on_every_command() {
    let help = Scratch::new().run("--help").succeeds().stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let tried = COMMANDS.iter().filter_map(|(line, _)| line.split(' ').next());
    let tried: BTreeSet<&str> = tried.collect();
    // Only the lines of names are indented by two.
    let names = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: BTreeSet<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    // `serve` runs until a signal ends it, so that there is no whole run to compare with.
    let is_tried = |name: &&str| !["help", "serve"].contains(name);
    let names: BTreeSet<&str> = names.into_iter().filter(is_tried).collect();
    assert_eq!(names, tried);
}
