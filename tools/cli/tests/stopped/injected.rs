//! Each system call of a command that changes a file or a directory fails, or the command is killed
//! there.
//!
//! What stands then is the old state, the new one or none; the new one if the command said that it
//! succeeded. The same command goes through afterwards, and leaves nothing but the new state.
//!
//! A normal run takes a sample of the stops, the same one each time. `FPSTORE_STOPS=all` takes all
//! of them, and a number as many of each command.

use std::collections::BTreeMap;

use crate::commands::{self, Writing};
use crate::expected::{Expected, Judged};
use crate::oracle::Random;
use crate::strace::{self, Call, Fault, Stop};
use crate::tell;

/// How many stops of each command a normal run takes.
const STOPS: usize = 12;
const SEED: u64 = 400;

macro_rules! stopped {
    ($($name:ident: $writing:ident,)*) => {
        $(#[test]
        fn $name() {
            stop_everywhere(stringify!($name), &commands::$writing);
        })*
    };
}

stopped! {
    pack: PACK,
    pack_force: PACK_FORCE,
    pack_names: PACK_NAMES,
    pack_names_force: PACK_NAMES_FORCE,
    pack_append: PACK_APPEND,
    pack_append_living: PACK_APPEND_LIVING,
    pack_append_names: PACK_APPEND_NAMES,
    create: CREATE,
    create_window: CREATE_WINDOW,
    insert: INSERT,
    insert_packed: INSERT_PACKED,
    insert_unless_near: INSERT_UNLESS_NEAR,
    insert_names: INSERT_NAMES,
    insert_unless_near_names: INSERT_UNLESS_NEAR_NAMES,
    delete: DELETE,
    delete_names: DELETE_NAMES,
    flush: FLUSH,
    flush_windows: FLUSH_WINDOWS,
    flush_names: FLUSH_NAMES,
    merge: MERGE,
    merge_full: MERGE_FULL,
    merge_full_names: MERGE_FULL_NAMES,
    expire: EXPIRE,
    expire_names: EXPIRE_NAMES,
    backup: BACKUP,
    backup_copy: BACKUP_COPY,
    backup_incremental: BACKUP_INCREMENTAL,
    backup_incremental_copy: BACKUP_INCREMENTAL_COPY,
    backup_incremental_log: BACKUP_INCREMENTAL_LOG,
    backup_incremental_names: BACKUP_INCREMENTAL_NAMES,
    repair: REPAIR,
    repair_living: REPAIR_LIVING,
    repair_windows: REPAIR_WINDOWS,
    repair_names: REPAIR_NAMES,
    repair_windows_names: REPAIR_WINDOWS_NAMES,
    join: JOIN,
    join_resume: JOIN_RESUME,
    merge_pairs: MERGE_PAIRS,
    dump: DUMP,
    dump_force: DUMP_FORCE,
    query: QUERY,
    dedup: DEDUP,
    fingerprint: FINGERPRINT,
    fingerprint_table: FINGERPRINT_TABLE,
    evaluate: EVALUATE,
    corpus_dedup: CORPUS,
    corpus_dedup_add: CORPUS_ADD,
    corpus_dedup_add_first: CORPUS_ADD_FIRST,
    man: MAN,
}

/// How often each kind of fault was met, and what stood then.
#[derive(Default)]
struct Counts {
    faults: BTreeMap<Fault, usize>,
    missed: usize,
    states: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

/// Stops a command at all its calls, or at a sample of them.
fn stop_everywhere(name: &str, writing: &Writing) {
    if !strace::is_there() {
        return;
    }
    let expected = Expected::of(writing);
    let calls = strace::record(&expected.scratch(), writing.line);
    let stops = all_stops(&calls);
    let taken = sample(&stops);
    let mut counts = Counts::default();
    for stop in &taken {
        counts.check(&expected, writing, stop);
    }
    let Counts { faults, missed, states, failures } = &counts;
    tell(&format!(
        "{name}: {} of {} stops at {} calls, {missed} of them met nothing; {faults:?}; {states:?}",
        taken.len(),
        stops.len(),
        calls.len()
    ));
    assert!(failures.is_empty(), "fpstore {}\n{}", writing.line, failures.join("\n"));
}

fn all_stops(calls: &[Call]) -> Vec<Stop> {
    let stops =
        calls.iter().flat_map(|call| call.faults().map(|fault| Stop { call: call.clone(), fault }));
    stops.collect()
}

/// Half of a sample are stops where files get their names or lose them: what goes wrong goes wrong
/// there.
fn sample(stops: &[Stop]) -> Vec<Stop> {
    let most = match std::env::var("FPSTORE_STOPS").ok().as_deref() {
        Some("all") => return stops.to_vec(),
        Some(_) => crate::number_of("FPSTORE_STOPS").unwrap_or(STOPS),
        None => STOPS,
    };
    let mut random = Random(SEED);
    let mut order: Vec<(u64, &Stop)> = stops.iter().map(|stop| (random.next(), stop)).collect();
    order.sort_by_key(|&(place, _)| place);
    let (names, others): (Vec<&Stop>, Vec<&Stop>) =
        order.into_iter().map(|(_, stop)| stop).partition(|stop| stop.call.names());
    let of_names = names.len().min((most / 2).max(most.saturating_sub(others.len())));
    let some = names.into_iter().take(of_names).chain(others);
    some.take(most).cloned().collect()
}

impl Counts {
    /// Stops the command once, and looks at what stands.
    fn check(&mut self, expected: &Expected<'_>, writing: &Writing, stop: &Stop) {
        let scratch = expected.scratch();
        let (ended, hit) = strace::stop(&scratch, writing.line, stop);
        match hit {
            Some(_) => *self.faults.entry(stop.fault).or_default() += 1,
            None => self.missed += 1,
        }
        if strace::is_not_loaded(&ended) {
            return;
        }
        let Judged { state, failures } = expected.judge(&scratch, &ended);
        *self.states.entry(state).or_default() += 1;
        if !failures.is_empty() {
            let Stop { call, fault } = stop;
            self.failures.push(format!(
                "{fault:?} at {call}: {}\n    {}\n    code {:?}, {:?}",
                failures.join("; "),
                hit.unwrap_or_default(),
                ended.code,
                ended.stderr,
            ));
        }
    }
}
