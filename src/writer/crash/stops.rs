//! A writer is stopped at every one of its operations on the disk: what it promised is there, and
//! nothing that it did not write.

use super::stage::{Found, SHAPES, Stage, alone, create_in, look, open};
use super::story::{Act, Author, Model};
use crate::format::RecordShape;
use crate::store::simulated::{Fault, Kept, Simulated, State, Step, Survives};

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Report {
    pub(super) steps: u64,
    pub(super) states: u64,
}

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) acts: usize,
    pub(super) capacity: usize,
    /// Random mixtures of what survives at each step, besides those that are always looked at.
    pub(super) random: u64,
    /// Of so many states one goes on, and one is crashed while it is opened.
    pub(super) one_in: u64,
}

/// Mixtures of what survives that are always looked at.
fn mixtures() -> [Survives; 6] {
    let (nothing, all) = (Kept::Nothing, Kept::All);
    [
        Survives::all(nothing),
        Survives::all(Kept::Half),
        Survives::all(all),
        Survives { names: nothing, renames: nothing, ..Survives::all(all) },
        Survives { data: nothing, ..Survives::all(all) },
        Survives { renames: all, ..Survives::all(nothing) },
    ]
}

/// The mixtures for a step.
fn of_step(step: u64, random: u64) -> impl Iterator<Item = Survives> {
    mixtures().into_iter().chain((0..random).map(move |n| Survives::some(step << 8 | n)))
}

/// Performs acts, and gives what there was before each operation on the disk to `look`, with the
/// act.
fn each_step(
    stage: &mut Stage,
    acts: &[Act],
    mut look: impl FnMut(&Stage, &Act, &State) -> Found<()>,
) -> Found<u64> {
    let mut steps = 0;
    stage.disk.take_moments();
    for act in acts {
        let before = stage.story.clone();
        stage.succeed(act)?;
        let after = std::mem::replace(&mut stage.story, before);
        for (state, step) in stage.disk.take_moments() {
            let looked = look(stage, act, &state);
            looked.map_err(|error| format!("stopped before {step:?} (step {steps}): {error}"))?;
            steps += 1;
        }
        stage.story = after;
    }
    Ok(steps)
}

fn acts(author: &mut Author, count: usize) -> Vec<Act> {
    (0..count).map(|_| author.act()).collect()
}

/// Stops a writer at every step, by a crash of the machine.
pub(super) fn crash_everywhere(
    disk: Simulated,
    (shape, seed): (RecordShape, u64),
    effort: Effort,
) -> Found<Report> {
    let mut author = Author::new(shape, seed, 3 * effort.capacity as u64, false);
    let mut stage = Stage::new(disk.with_memory(), shape, effort.capacity)
        .map_err(|error| error.to_string())?;
    let acts = acts(&mut author, effort.acts);
    let mut report = Report::default();
    let mut number = seed;
    report.steps = each_step(&mut stage, &acts, |stage, act, state| {
        let allowed = stage.story.after_crash(Some(act));
        number += 1;
        for survives in of_step(number, effort.random) {
            report.states += 1;
            let after = state.after_crash(survives);
            let goes_on = report.states.is_multiple_of(effort.one_in);
            recover(after, &allowed, effort.capacity, goes_on.then_some(&mut author))
                .map(|states| report.states += states)
                .map_err(|error| format!("{survives:?}: {error}"))?;
        }
        Ok(())
    })?;
    stage.check()?;
    Ok(report)
}

/// Opens what a crash has left; with an author also what a crash leaves while that is opened, and
/// goes on. Gives the number of further states.
fn recover(
    after: State,
    allowed: &[Model],
    capacity: usize,
    author: Option<&mut Author>,
) -> Found<u64> {
    let Some(author) = author else {
        return Stage::reopen(Simulated::new(after), allowed, capacity).map(|_| 0);
    };
    let mut states = 0;
    let mut stage = Stage::reopen(Simulated::new(after).with_memory(), allowed, capacity)?;
    let model = [stage.story.now().clone()];
    for (number, (state, step)) in stage.disk.take_moments().into_iter().enumerate() {
        for survives in of_step(number as u64, 2) {
            states += 1;
            let again =
                Stage::reopen(Simulated::new(state.after_crash(survives)), &model, capacity);
            again.map_err(|error| {
                format!("crash of recovery before {step:?}, {survives:?}: {error}")
            })?;
        }
    }
    let acts: Vec<Act> = (0..6).map(|_| author.write()).collect();
    let state = stage.go_on(&acts)?.after_crash(Survives::all(Kept::Nothing));
    let end = [stage.story.now().clone()];
    Stage::reopen(Simulated::new(state), &end, capacity)
        .map_err(|error| format!("after going on: {error}"))?;
    Ok(states + 1)
}

/// Stops the program at some steps; another one goes on, and the machine crashes at each of its
/// steps.
fn kill_everywhere(shape: RecordShape, seed: u64, effort: Effort) -> Found<Report> {
    let mut author = Author::new(shape, seed, 3 * effort.capacity as u64, false);
    let mut stage = Stage::new(Simulated::default().with_memory(), shape, effort.capacity)
        .map_err(|error| error.to_string())?;
    let acts = acts(&mut author, effort.acts);
    let mut report = Report::default();
    let mut number = seed;
    report.steps = each_step(&mut stage, &acts, |stage, act, state| {
        number += 1;
        if !number.is_multiple_of(effort.one_in) {
            return Ok(());
        }
        let disk = Simulated::new(state.clone()).with_memory();
        let allowed = stage.story.after_kill(Some(act));
        let mut next = Stage::reopen(disk, &allowed, effort.capacity)?;
        let mut durable = stage.story.after_crash(Some(act));
        let mut look_at = |next: &mut Stage, durable: &[Model]| {
            for (state, step) in next.disk.take_moments() {
                for survives in of_step(number, effort.random) {
                    report.states += 1;
                    let disk = Simulated::new(state.after_crash(survives));
                    let found = look(&disk, durable).map_err(|error| error.to_string());
                    found.flatten().map_err(|error| {
                        format!("killed, then a crash before {step:?}, {survives:?}: {error}")
                    })?;
                }
            }
            Ok::<(), String>(())
        };
        look_at(&mut next, &durable)?;
        for act in [author.write(), Act::Log { durable: true }] {
            next.succeed(&act)?;
            durable.push(next.story.now().clone());
            look_at(&mut next, &durable)?;
        }
        let durable = [next.story.now().clone()];
        for act in [Act::Log { durable: false }, Act::Flush, Act::MergeAll] {
            next.succeed(&act)?;
            look_at(&mut next, &durable)?;
        }
        Ok(())
    })?;
    Ok(report)
}

/// How many times as much as in an ordinary run is looked at.
pub(super) fn thoroughness() -> u64 {
    std::env::var("FPSTORE_CRASH_EFFORT").map_or(1, |text| text.parse().unwrap())
}

#[test]
fn a_crash_at_any_step_leaves_what_was_durable_and_nothing_that_was_not_written() {
    let more = thoroughness();
    for (shape, seed) in SHAPES.into_iter().zip(1..) {
        let acts = if more > 1 { 2000 } else { 40 };
        let effort = Effort { acts, capacity: 8 + more as usize, random: more, one_in: 37 };
        let report = alone(|| crash_everywhere(Simulated::default(), (shape, seed << 32), effort));
        println!("{shape:?}: {:?}", report.unwrap());
    }
}

#[test]
fn a_writer_that_is_killed_leaves_what_was_handed_on_and_the_next_one_makes_it_durable() {
    let more = thoroughness();
    for (shape, seed) in SHAPES.into_iter().zip(1..) {
        let acts = if more > 1 { 600 } else { 50 };
        let effort =
            Effort { acts, capacity: 8 + more as usize, random: more, one_in: 19 / more + 1 };
        let report = alone(|| kill_everywhere(shape, seed << 32, effort));
        println!("{shape:?}: {:?}", report.unwrap());
    }
}

#[test]
fn a_store_whose_creation_is_stopped_is_empty_or_is_created_the_next_time() {
    let shape = SHAPES[0];
    let disk = Simulated::default().with_memory();
    create_in(&disk, shape).unwrap();
    let moments = disk.take_moments();
    assert!(moments.iter().any(|(_, step)| matches!(step, Step::Rename(..))));
    let mut seen = [0, 0];
    for (number, (state, step)) in moments.into_iter().enumerate() {
        for survives in of_step(number as u64, 20) {
            let disk = Simulated::new(state.after_crash(survives));
            let is_there = match open(&disk, 10) {
                Ok(_) => true,
                Err(error) if super::stage::is_no_store(&error) => false,
                Err(error) => panic!("before {step:?}, {survives:?}: {error}"),
            };
            seen[usize::from(is_there)] += 1;
            if !is_there {
                create_in(&disk, shape).unwrap();
            }
            let mut stage = Stage::reopen(disk, &[Model::default()], 10).unwrap();
            let acts = acts(&mut Author::new(shape, 5, 20, false), 10);
            stage.go_on(&acts).unwrap();
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    // And where it fails.
    for stop in 0..20 {
        let mut left = stop;
        let disk = Simulated::default().with_plan(move |_| {
            left -= 1;
            if left == 0 { Fault::Io } else { Fault::None }
        });
        if create_in(&disk, shape).is_err() {
            disk.set_plan(None);
            if let Err(error) = open(&disk, 10) {
                assert!(super::stage::is_no_store(&error), "{stop}: {error}");
                create_in(&disk, shape).unwrap();
            }
        }
        disk.set_plan(None);
        Stage::reopen(disk, &[Model::default()], 10).unwrap();
    }
}
