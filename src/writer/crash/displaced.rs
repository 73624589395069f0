//! A writer whose directory is not the store at its path any more changes nothing of it.

use super::stage::{SHAPES, Stage, alone};
use super::story::{Act, Author};
use crate::error::{Displacement, Error};
use crate::store::simulated::{Files, Simulated};

/// The manifest, the logs and the segments: all but what a writer is about to commit.
fn committed(files: &Files, named: &Files) -> Files {
    files
        .iter()
        .filter(|(name, _)| named.contains_key(*name))
        .map(|(n, b)| (n.clone(), b.clone()))
        .collect()
}

#[test]
fn a_displaced_writer_commits_writes_and_removes_nothing() {
    alone(|| {
        for (seed, shape) in SHAPES.into_iter().enumerate() {
            let mut author = Author::new(shape, seed as u64, 24, false);
            let acts: Vec<Act> = (0..60).map(|_| author.act()).collect();
            for displaced in (0..acts.len()).step_by(3) {
                let mut stage = Stage::new(Simulated::default(), shape, 8).unwrap();
                acts[..displaced].iter().for_each(|act| stage.succeed(act).unwrap());
                stage.succeed(&Act::Log { durable: true }).unwrap();
                stage.disk.displace();
                let before = stage.disk.files();
                let mut refused = 0;
                for act in &acts[displaced..] {
                    match stage.perform(act) {
                        Err(Error::Displaced { by: Displacement::Replaced, .. }) => refused += 1,
                        Err(error) => panic!("{act:?}: {error}"),
                        Ok(()) => {}
                    }
                }
                let last = stage.perform(&Act::Log { durable: true });
                assert!(matches!(last, Err(Error::Displaced { .. })), "nothing is acknowledged");
                stage.core.note_end();
                assert_eq!(committed(&stage.disk.files(), &before), before, "after {displaced}");
                println!("{shape:?}, displaced after {displaced} acts: {refused} refused");
            }
        }
    });
}
