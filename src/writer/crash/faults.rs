//! Operations on the disk that fail: nothing that was written is lost, and once they work again the
//! writer goes on.

use super::stage::{Found, SHAPES, Stage, alone, look, open};
use super::stops::thoroughness;
use super::story::{Act, Author};
use crate::error::Error;
use crate::format::{Change, MANIFEST_NAME, Operation, RecordShape};
use crate::store::simulated::{Fault, Kept, Simulated, Step, Survives};

/// Times that an act is tried. While a disk is full each of its operations may take one: an expiry
/// has needed more than 200.
const ATTEMPTS: usize = 2000;

/// Checks an error that comes from the disk.
pub(super) fn expect_io(error: &Error) -> Found<()> {
    let is_io = matches!(error, Error::Io { .. });
    if is_io { Ok(()) } else { Err(format!("another error: {error}, {error:?}")) }
}

impl Stage {
    /// Performs an act that may fail; tells whether it succeeded.
    ///
    /// What is dropped may be gone, or not, after an error, so that is tried until it succeeds.
    pub(super) fn attempt(&mut self, act: &Act) -> Found<bool> {
        let attempts = if matches!(act, Act::Expire { .. }) { ATTEMPTS } else { 1 };
        for _ in 0..attempts {
            match self.perform(act) {
                Ok(()) => return Ok(true),
                Err(error) => expect_io(&error)?,
            }
        }
        Ok(false)
    }

    /// Once nothing fails any more: makes all durable, in both ways, and looks.
    pub(super) fn end(&mut self) -> Found<()> {
        self.disk.set_plan(None);
        for act in [Act::Log { durable: true }, Act::Flush, Act::MergeAll] {
            self.succeed(&act)?;
            self.check()?;
            let disk = Simulated::new(self.disk.state().after_crash(Survives::all(Kept::Nothing)));
            let found = look(&disk, std::slice::from_ref(self.story.now()));
            let found = found.map_err(|error| error.to_string()).flatten();
            found.map_err(|error| format!("after {act:?}: {error}"))?;
        }
        Ok(())
    }
}

/// Runs a story in which `fault` befalls `many` operations from `start` on; tells whether there
/// were as many.
fn run(shape: RecordShape, seed: u64, (fault, start, many): (Fault, u64, u64)) -> Found<bool> {
    let mut author = Author::new(shape, seed, 24, false);
    let mut stage =
        Stage::new(Simulated::default(), shape, 8).map_err(|error| error.to_string())?;
    let acts: Vec<Act> = (0..40).map(|_| author.act()).collect();
    let (mut step, reached) = (0, std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let has_reached = std::sync::Arc::clone(&reached);
    let plan = move |_: &_| {
        step += 1;
        let strikes = (start..start + many).contains(&step);
        has_reached.fetch_or(strikes, std::sync::atomic::Ordering::Relaxed);
        if strikes { fault } else { Fault::None }
    };
    stage.disk.set_plan(Some(Box::new(plan)));
    for act in &acts {
        stage.attempt(act)?;
        stage.check()?;
    }
    stage.end()?;
    Ok(reached.load(std::sync::atomic::Ordering::Relaxed))
}

#[test]
fn an_operation_that_fails_loses_nothing_and_the_writer_goes_on() {
    let more = thoroughness();
    let faults = [
        (Fault::Io, 1),
        (Fault::Forgets, 1),
        (Fault::Full, 1),
        (Fault::Full, 5),
        (Fault::Full, 40),
        (Fault::Forgets, 3),
        (Fault::Io, 2),
    ];
    let (mut runs, mut failures) = (0, Vec::new());
    for (shape, seed) in SHAPES.into_iter().zip(1..) {
        for round in 0..more {
            let mut start = 1;
            // Every second one with one of the faults, or all with all.
            loop {
                let of_step =
                    if more > 1 { &faults[..] } else { &faults[start as usize % 7..][..1] };
                let mut reached = false;
                for &(fault, many) in of_step {
                    runs += 1;
                    match alone(|| run(shape, seed + 10 * round, (fault, start, many))) {
                        Ok(has_reached) => reached |= has_reached,
                        Err(error) => {
                            reached = true;
                            failures
                                .push(format!("{shape:?}, {fault:?} × {many} at {start}: {error}"));
                        }
                    }
                }
                start += if more > 1 { 1 } else { 2 };
                if !reached {
                    break;
                }
            }
        }
    }
    println!("{runs} runs");
    let some: Vec<_> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{} of {runs} runs: {some:#?}", failures.len());
}

#[test]
fn an_expiry_that_failed_at_last_is_durable_once_it_succeeds() {
    let mut stage = Stage::new(Simulated::default(), SHAPES[0], 8).unwrap();
    let insert =
        |window| Operation { change: Change::Insert, fingerprint: 5 + window, id: 1, window };
    stage.succeed(&Act::Write(vec![insert(0), insert(9)])).unwrap();
    stage.succeed(&Act::Flush).unwrap();
    let (mut renamed, mut failed) = (false, false);
    stage.disk.set_plan(Some(Box::new(move |step| {
        let fails = renamed && !failed && *step == Step::SyncDirectory;
        failed |= fails;
        renamed |= matches!(step, Step::Rename(_, to) if to == MANIFEST_NAME);
        if fails { Fault::Io } else { Fault::None }
    })));
    let expire = Act::Expire { before: 50 };
    expect_io(&stage.perform(&expire).unwrap_err()).unwrap();
    stage.succeed(&expire).unwrap();
    let left = stage.disk.state().after_crash(Survives::all(Kept::Nothing));
    let found = look(&Simulated::new(left), std::slice::from_ref(stage.story.now()));
    assert_eq!(found.unwrap().unwrap().pairs(), [[14, 1]]);
}

/// A store with a fingerprint in an old window and one in a new window, whose disk does this to the
/// syncs of its directory once a manifest has come.
fn with_two_windows(fault: Fault) -> Stage {
    let mut stage = Stage::new(Simulated::default(), SHAPES[3], 8).unwrap();
    stage.succeed(&Act::Write(vec![in_window(0), in_window(9)])).unwrap();
    stage.succeed(&Act::Flush).unwrap();
    let mut renamed = false;
    stage.disk.set_plan(Some(Box::new(move |step| {
        renamed |= matches!(step, Step::Rename(_, to) if to == MANIFEST_NAME);
        if renamed && *step == Step::SyncDirectory { fault } else { Fault::None }
    })));
    stage
}

fn in_window(window: u64) -> Operation {
    Operation { change: Change::Insert, fingerprint: 5 + window, id: 0, window }
}

/// What is durable if all names are as they were synced last.
fn without_names(stage: &Stage) -> Simulated {
    let (names, renames) = (Kept::Nothing, Kept::Nothing);
    Simulated::new(stage.disk.state().after_crash(Survives {
        names,
        renames,
        ..Survives::all(Kept::All)
    }))
}

/// No log tells of an expiry: what is written behind it was once read with what had expired.
#[test]
fn an_expiry_that_a_disk_has_lost_is_missed_by_what_was_written_behind_it() {
    let mut stage = with_two_windows(Fault::Lies);
    stage.succeed(&Act::Expire { before: 50 }).unwrap();
    let model = look(&without_names(&stage), stage.story.ever()).unwrap().unwrap();
    assert_eq!(model.pairs(), [[5, 0], [14, 0]], "as if nothing had been done");
    for written in 0..3 {
        stage.succeed(&Act::Write(vec![in_window(10 + written)])).unwrap();
        stage.succeed(&Act::Log { durable: true }).unwrap();
        let error = look(&without_names(&stage), &[]).unwrap_err();
        assert_eq!(error.rule(), Some("LOG-5"), "{error}");
        assert_eq!(open(&without_names(&stage), 8).err().unwrap().rule(), Some("LOG-5"));
    }
}

#[test]
fn nothing_is_written_behind_an_expiry_before_that_is_durable() {
    let mut stage = with_two_windows(Fault::Io);
    let expire = Act::Expire { before: 50 };
    expect_io(&stage.perform(&expire).unwrap_err()).unwrap();
    stage.succeed(&Act::Write(vec![in_window(10)])).unwrap();
    for durable in [false, true] {
        expect_io(&stage.perform(&Act::Log { durable }).unwrap_err()).unwrap();
        let model = look(&without_names(&stage), stage.story.ever()).unwrap().unwrap();
        assert_eq!(model.pairs(), [[5, 0], [14, 0]]);
    }
    stage.disk.set_plan(None);
    stage.core.write_log(true).unwrap();
    let left = Simulated::new(stage.disk.state().after_crash(Survives::all(Kept::Nothing)));
    let found = look(&left, &[stage.story.after(&expire)]).unwrap().unwrap();
    assert_eq!(found.pairs(), [[14, 0], [15, 0]]);
    stage.succeed(&expire).unwrap();
    stage.end().unwrap();
}

#[test]
fn what_was_handed_on_stays_if_a_later_write_fails_and_the_program_ends() {
    let mut stage = Stage::new(Simulated::default(), SHAPES[2], 8).unwrap();
    let insert = |fingerprint| Operation { change: Change::Insert, fingerprint, id: 0, window: 0 };
    stage.succeed(&Act::Write(vec![insert(5)])).unwrap();
    let log = Act::Log { durable: false };
    stage.succeed(&log).unwrap();
    stage.succeed(&Act::Write(vec![insert(6)])).unwrap();
    let is_write = |step: &Step| matches!(step, Step::Write(_));
    let plan = move |step: &Step| if is_write(step) { Fault::Full } else { Fault::None };
    stage.disk.set_plan(Some(Box::new(plan)));
    for _ in 0..3 {
        expect_io(&stage.perform(&log).unwrap_err()).unwrap();
        let killed = Simulated::new(stage.disk.state());
        look(&killed, &stage.story.after_kill(None)).unwrap().unwrap();
    }
    stage.end().unwrap();
}

#[test]
fn a_log_that_failed_to_sync_while_it_was_opened_is_durable_once_that_succeeds() {
    let mut stage = Stage::new(Simulated::default(), SHAPES[2], 8).unwrap();
    let insert = Operation { change: Change::Insert, fingerprint: 5, id: 0, window: 0 };
    stage.succeed(&Act::Write(vec![insert])).unwrap();
    stage.succeed(&Act::Log { durable: false }).unwrap();
    // The program ends, and the next one cannot sync what it reads.
    let disk = Simulated::new(stage.disk.state());
    let is_sync = |step: &Step| matches!(step, Step::Sync(_));
    disk.set_plan(Some(Box::new(move |step| if is_sync(step) { Fault::Io } else { Fault::None })));
    assert!(open(&disk, 8).is_err());
    disk.set_plan(None);
    open(&disk, 8).unwrap().write_log(true).unwrap();
    let left = Simulated::new(disk.state().after_crash(Survives::all(Kept::Nothing)));
    look(&left, std::slice::from_ref(stage.story.now())).unwrap().unwrap();
}
