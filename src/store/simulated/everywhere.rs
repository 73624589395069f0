//! Stops work at every one of its operations, and looks at what is left.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;

use super::{Fault, Files, Kept, Simulated, State, Step, Survives};
use crate::error::Error;
use crate::store::OpenOptions;

/// A directory with these files whose operation `stop` goes wrong.
fn failing(files: &Files, stop: usize, fault: Fault) -> Simulated {
    let mut left = stop + 1;
    Simulated::new(State::of(files)).with_plan(move |step| {
        if matches!(step, Step::Read(_)) || left == 0 {
            return Fault::None;
        }
        left -= 1;
        if left == 0 { fault } else { Fault::None }
    })
}

/// The operations of some work, and what there was before each of them and at the end.
pub(crate) fn moments(
    before: &Files,
    work: impl Fn(&Simulated) -> Result<(), Error>,
) -> (Vec<Step>, Vec<State>) {
    let storage = Simulated::new(State::of(before)).with_memory();
    work(&storage).unwrap();
    let (mut states, steps): (Vec<State>, Vec<Step>) = storage.take_moments().into_iter().unzip();
    states.push(storage.state());
    (steps, states)
}

/// What a reader finds in a directory with these files: `None` if there is no store.
pub(crate) fn open(files: &Files) -> Option<Vec<u64>> {
    let temporary = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(temporary.path().join(name), bytes).unwrap();
    }
    match OpenOptions::new().in_memory(true).open(temporary.path()) {
        Ok(store) => {
            let report = store.verify().unwrap();
            assert_eq!(store.has_ids(), report.ids > 0);
            Some(store.iter().collect::<Result<_, _>>().unwrap())
        }
        Err(Error::NotAStore { .. }) => None,
        Err(error) => panic!("a half store: {error}"),
    }
}

/// Does `work` in a directory with the files `before`, and stops it at each of its operations: by
/// an error, a full disk, a kill and a power failure. What `look` finds then is what it finds
/// before the work or after it, and the same work then succeeds and leaves nothing of the first
/// attempt.
pub(crate) fn stop_everywhere<T: Debug + PartialEq>(
    before: &Files,
    work: impl Fn(&Simulated) -> Result<(), Error>,
    look: impl Fn(&Files) -> T,
) {
    let (steps, states) = moments(before, &work);
    let (old, new) = (look(before), look(&states[steps.len()].files()));
    assert!(old != new, "the work changes something");
    let names = |files: &Files| files.keys().cloned().collect::<BTreeSet<_>>();
    let mut seen = [0, 0];
    let mut check = |files: &Files, when: &dyn Debug| {
        let found = look(files);
        let is_new = found == new;
        assert!(is_new || found == old, "{when:?}: {found:?}, neither {old:?} nor {new:?}");
        seen[usize::from(is_new)] += 1;
        is_new
    };
    for (stop, state) in states.iter().enumerate() {
        let step = steps.get(stop);
        for fault in [Fault::Io, Fault::Full, Fault::Down] {
            let storage = failing(before, stop, fault);
            let result = work(&storage);
            let files = storage.files();
            let is_new = check(&files, &(stop, step, fault));
            assert!(is_new || result.is_err(), "{fault:?} at {stop}, {step:?}: success, but not");
            if fault != Fault::Down && !is_new {
                let left = names(&files);
                assert!(left.is_subset(&names(before)), "{stop}, {step:?}: {left:?} is left");
            }
            let again = Simulated::new(State::of(&files));
            if !is_new {
                work(&again)
                    .unwrap_or_else(|error| panic!("again after {stop}, {step:?}: {error}"));
                assert!(look(&again.files()) == new, "again after {stop}, {step:?}");
                let (files, whole) = (again.files().len(), states[steps.len()].files().len());
                assert_eq!(
                    files,
                    whole,
                    "again after {stop}, {step:?}: {:?}",
                    names(&again.files())
                );
            }
        }
        for bits in 0..12 {
            let data = [Kept::Nothing, Kept::Half, Kept::All][bits / 4];
            let [names, renames] =
                [1, 2].map(|bit| if bits & bit > 0 { Kept::All } else { Kept::Nothing });
            let survives = Survives { data, names, renames, seed: 0 };
            check(&state.after_crash(survives).files(), &(stop, step, survives));
        }
    }
    println!("{} operations; old and new stood {seen:?} times", steps.len());
    assert!(seen.iter().all(|&count| count > 0));
}
