//! Random stories with random faults and crashes.

use std::time::Instant;

use super::faults::expect_io;
use super::stage::{Found, SHAPES, Stage, alone, look};
use super::story::{Act, Author, Model};
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::store::simulated::{Fault, Random, Simulated, Step, Survives};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Operations fail, and the machine or the program stops.
    Faults,
    /// Syncs lie, and the machine stops.
    Lies,
    /// A bit of a log changes.
    Damage,
}

/// Faults by chance.
fn plan(kind: Kind, seed: u64) -> impl FnMut(&Step) -> Fault + Send + 'static {
    let mut random = Random::new(seed);
    // One of so many operations fails; none at all, quite often.
    let rate = [u64::MAX, u64::MAX, 64, 16][random.below(4) as usize];
    let mut until_down = if random.coin() { random.below(150) } else { u64::MAX };
    let mut full = 0;
    move |step| {
        if until_down == 0 {
            return Fault::Down;
        }
        until_down -= 1;
        if kind == Kind::Lies {
            let is_sync = matches!(step, Step::Sync(_) | Step::SyncDirectory);
            return if is_sync && random.below(4) == 0 { Fault::Lies } else { Fault::None };
        }
        let takes_room = matches!(step, Step::Create(_) | Step::Write(_) | Step::Rewrite(_));
        if full > 0 {
            full -= 1;
            return if takes_room { Fault::Full } else { Fault::None };
        }
        if kind == Kind::Damage || random.below(rate) > 0 {
            return Fault::None;
        }
        match random.below(4) {
            0 => Fault::Io,
            1 => Fault::Forgets,
            _ => {
                full = random.below(30);
                Fault::Full
            }
        }
    }
}

/// The life of one writer. Gives the act that it was stopped in.
fn live(
    stage: &mut Stage,
    author: &mut Author,
    random: &mut Random,
    kind: Kind,
) -> Found<Option<Act>> {
    for _ in 0..10 + random.below(30) {
        let act = author.act();
        match kind {
            Kind::Faults => {}
            Kind::Lies | Kind::Damage => {
                // An error comes from the end, or from what a lie has lost.
                if stage.perform(&act).is_err() {
                    return Ok(Some(act));
                }
                continue;
            }
        }
        let is_done = stage.attempt(&act)?;
        if !is_done && stage.disk.is_down() {
            return Ok(Some(act));
        }
        if random.below(4) == 0 {
            stage.check()?;
        }
    }
    Ok(None)
}

/// One schedule.
fn run(seed: u64) -> Found<()> {
    let mut random = Random::new(seed);
    let kind = [Kind::Faults, Kind::Faults, Kind::Faults, Kind::Lies, Kind::Damage]
        [random.below(5) as usize];
    let shape = SHAPES[random.below(SHAPES.len() as u64) as usize];
    let capacity = 3 + random.below(10) as usize;
    let mut author = Author::new(shape, random.next(), 4 + random.below(24), true);
    let mut stage =
        Stage::new(Simulated::default(), shape, capacity).map_err(|error| error.to_string())?;
    for _ in 0..1 + random.below(3) {
        stage.disk.set_plan(Some(Box::new(plan(kind, random.next()))));
        let act = live(&mut stage, &mut author, &mut random, kind)?;
        let (act, state) = (act.as_ref(), stage.disk.state());
        match kind {
            Kind::Lies => return lied(&stage, act, random.next()),
            Kind::Damage => return damaged(&stage, act, &mut random),
            Kind::Faults => {}
        }
        let durable = stage.story.after_crash(act);
        let end = random.below(4);
        let (state, allowed) = match end {
            // What was handed on may be lost by a sync that fails.
            0 if stage.disk.has_failed_to_sync() => (state.evicted(), durable.clone()),
            0 => (state, stage.story.after_kill(act)),
            _ => (state.after_crash(Survives::some(random.next())), durable.clone()),
        };
        stage = reopen(Simulated::new(state), (allowed, durable), capacity, &mut random).map_err(
            |error| format!("{} in {act:?}: {error}", if end == 0 { "killed" } else { "crashed" }),
        )?;
    }
    stage.end()
}

/// Opens what is left, which holds one of these states now, and after a crash one of the others; at
/// times that is stopped as well, or fails.
fn reopen(
    mut disk: Simulated,
    (mut allowed, durable): (Vec<Model>, Vec<Model>),
    capacity: usize,
    random: &mut Random,
) -> Found<Stage> {
    for _ in 0..random.below(3) {
        let model = look(&disk, &allowed).map_err(|error| format!("{error:?}"))??;
        let fault = [Fault::Down, Fault::Io][random.below(2) as usize];
        let mut left = random.below(12);
        disk.set_plan(Some(Box::new(move |_| {
            left = left.wrapping_sub(1);
            if left == u64::MAX { fault } else { Fault::None }
        })));
        if let Err(error) = super::stage::open(&disk, capacity) {
            expect_io(&error)?;
        }
        let (state, has_failed) = (disk.state(), disk.has_failed_to_sync());
        let is_killed = random.coin();
        disk = Simulated::new(match (is_killed, has_failed) {
            (true, true) => state.evicted(),
            (true, false) => state,
            (false, _) => state.after_crash(Survives::some(random.next())),
        });
        allowed = if is_killed && !has_failed { vec![model] } else { durable.clone() };
    }
    Stage::reopen(disk, &allowed, capacity)
}

/// After syncs that lied: what there was at some time, or an error.
fn lied(stage: &Stage, act: Option<&Act>, seed: u64) -> Found<()> {
    let disk = Simulated::new(stage.disk.state().after_crash(Survives::some(seed)));
    let mut allowed = stage.story.ever().to_vec();
    allowed.extend(act.map(|act| stage.story.after(act)));
    sound(look(&disk, &allowed)).map_err(|error| format!("lies: {error}"))?;
    if let Ok(core) = super::stage::open(&disk, stage.capacity) {
        let _ = core.write_log(true).and_then(|()| core.flush()).and_then(|()| core.merge_all());
    }
    Ok(())
}

/// After a bit of a log changed: all that was promised, or an error.
fn damaged(stage: &Stage, act: Option<&Act>, random: &mut Random) -> Found<()> {
    let disk = Simulated::new(stage.disk.state());
    let names = disk.names().map_err(|error| error.to_string())?;
    let logs: Vec<_> = names.into_iter().filter(|name| name.ends_with(".fpl")).collect();
    let Some(name) = logs.get(random.below(logs.len() as u64) as usize) else { return Ok(()) };
    let (name, bytes) = (name.as_str(), disk.files()[name].len() as u64);
    let (at, bit) = (random.below(bytes), random.below(8));
    disk.change(|state| state.flip(name, at as usize, 1 << bit));
    let mut allowed = stage.story.after_damage().to_vec();
    allowed.extend(act.map(|act| stage.story.after(act)));
    sound(look(&disk, &allowed))
        .map_err(|error| format!("bit {bit} of byte {at} of {bytes} of {name}: {error}"))
}

/// What is wrong, unless it is found to be damaged.
fn sound(found: Result<Found<Model>>) -> Found<()> {
    match found {
        Ok(found) => found.map(drop),
        Err(Error::Corrupt { .. } | Error::Unsupported { .. }) => Ok(()),
        Err(error) if super::stage::is_no_store(&error) => Ok(()),
        Err(error) => Err(format!("{error}, {error:?}")),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// `FPSTORE_SCHEDULES` says how many, from the seed `FPSTORE_SEED` on; else as many as a few
/// seconds allow.
#[test]
fn whatever_fails_a_store_holds_what_was_promised() {
    let start = Instant::now();
    let (wanted, first) = (number("FPSTORE_SCHEDULES"), number("FPSTORE_SEED").unwrap_or(1));
    let (mut failures, mut done) = (Vec::new(), 0);
    alone(|| {
        while wanted.map_or(start.elapsed().as_secs() < 4, |wanted| done < wanted) {
            let seed = first + done;
            let outcome = std::panic::catch_unwind(|| run(seed));
            if let Err(error) = outcome.unwrap_or_else(|_| Err("a panic".to_string())) {
                failures.push(format!("seed {seed}: {error}"));
            }
            done += 1;
        }
    });
    let rate = done as f64 / start.elapsed().as_secs_f64();
    println!("{done} schedules from seed {first} on, {rate:.0} per second");
    let some: Vec<_> = failures.iter().take(20).collect();
    assert!(failures.is_empty(), "{} of {done} schedules: {some:#?}", failures.len());
}
