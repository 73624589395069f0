//! The tests can fail: of writers that leave something out, each is found out.

use super::stage::{SHAPES, Stage, alone, look, open, write};
use super::stops::{Effort, crash_everywhere};
use super::story::{Act, Author};
use crate::format::{Change, MANIFEST_NAME, MANIFEST_TEMPORARY, Manifest, Operation};
use crate::store::simulated::{Fault, Files, Kept, Simulated, State, Step, Survives};

/// Whether crashes show that some operations do nothing, by the one before and the operation.
fn notices(lies: fn(&Step, &Step) -> bool) -> bool {
    let mut before = Step::SyncDirectory;
    let disk = Simulated::default().with_plan(move |step| {
        let fault = if lies(&before, step) { Fault::Lies } else { Fault::None };
        if !matches!(step, Step::Read(_)) {
            before = step.clone();
        }
        fault
    });
    let effort = Effort { acts: 90, capacity: 8, random: 1, one_in: u64::MAX };
    alone(|| crash_everywhere(disk, (SHAPES[0], 3), effort)).is_err()
}

fn syncs(step: &Step, end: &str) -> bool {
    matches!(step, Step::Sync(name) if name.ends_with(end))
}

#[test]
fn a_sync_that_is_left_out_is_noticed() {
    assert!(!notices(|_, _| false));
    assert!(notices(|_, step| syncs(step, ".fpl")), "log");
    assert!(notices(|_, step| syncs(step, ".fpt")), "table");
    assert!(notices(|_, step| syncs(step, ".fpi")), "ids");
    assert!(notices(|_, step| syncs(step, ".fpd")), "deletions");
    assert!(notices(|_, step| syncs(step, MANIFEST_TEMPORARY)), "manifest");
}

#[test]
fn names_that_are_not_durable_when_they_are_needed_are_noticed() {
    // A manifest that names files whose names are not durable.
    assert!(notices(|before, step| {
        *step == Step::SyncDirectory && !matches!(before, Step::Rename(..))
    }));
    // A log that is removed before the manifest that does not need it is durable.
    assert!(notices(|before, step| {
        *step == Step::SyncDirectory && matches!(before, Step::Rename(..))
    }));
}

fn insertion(fingerprint: u64) -> Act {
    Act::Write(vec![Operation { change: Change::Insert, fingerprint, id: 1, window: 0 }])
}

/// A writer that goes on behind a torn record, on disks that cut and that do not: does a record
/// that was behind it come back?
fn comes_back(cuts: bool) -> bool {
    let shape = SHAPES[1];
    let mut stage = Stage::new(Simulated::default(), shape, 100).unwrap();
    let mut ends = Vec::new();
    for fingerprint in 1..=3 {
        stage.succeed(&insertion(fingerprint)).unwrap();
        stage.succeed(&Act::Log { durable: fingerprint == 1 }).unwrap();
        let name = log_of(&stage.disk.files());
        ends.push(stage.disk.files()[&name].len());
    }
    let mut state = stage.disk.state().after_crash(Survives::all(Kept::All));
    let name = log_of(&state.files());
    state.flip(&name, ends[0] + 5, 1);
    let disk = Simulated::new(state);
    let model = look(&disk, stage.story.ever()).unwrap().unwrap();
    assert_eq!(model.pairs(), [[1, 1]]);
    if !cuts {
        let cut = |step: &Step| matches!(step, Step::Rewrite(_));
        disk.set_plan(Some(Box::new(
            move |step| if cut(step) { Fault::Lies } else { Fault::None },
        )));
    }
    let core = open(&disk, 100).unwrap();
    let Act::Write(operations) = insertion(4) else { unreachable!() };
    write(&core, &operations).unwrap();
    core.write_log(true).unwrap();
    let mut allowed = stage.story.ever()[..2].to_vec();
    allowed[1].apply(&insertion(4));
    look(&disk, &allowed[1..]).unwrap().is_err()
}

fn log_of(files: &Files) -> String {
    files.keys().find(|name| name.ends_with(".fpl")).unwrap().clone()
}

#[test]
fn a_torn_record_that_is_not_cut_off_is_noticed() {
    assert!(!comes_back(true));
    assert!(comes_back(false));
}

#[test]
fn a_manifest_that_says_another_operation_was_applied_last_is_damaged() {
    let shape = SHAPES[0];
    let mut stage = Stage::new(Simulated::default(), shape, 8).unwrap();
    let mut author = Author::new(shape, 1, 24, false);
    for _ in 0..60 {
        let act = author.act();
        stage.succeed(&act).unwrap();
    }
    stage.succeed(&Act::Log { durable: true }).unwrap();
    let files = stage.disk.files();
    let sequence = |change: fn(u64) -> u64| {
        let mut manifest = Manifest::decode(&files[MANIFEST_NAME]).unwrap();
        let log = manifest.log.as_mut().unwrap();
        log.sequence = change(log.sequence);
        let mut files = files.clone();
        files.insert(MANIFEST_NAME.to_string(), manifest.encode());
        look(&Simulated::new(State::of(&files)), std::slice::from_ref(stage.story.now()))
    };
    sequence(|sequence| sequence).unwrap().unwrap();
    for change in [|sequence| sequence + 1, |sequence: u64| sequence - 1] {
        let error = sequence(change).unwrap_err();
        assert!(matches!(error, crate::Error::Corrupt { .. }), "{error}");
    }
}
