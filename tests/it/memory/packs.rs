//! Packs of every width, with parts, keep to what they were allowed and to what they said before.

use fpstore::{Execution, Fingerprint, Layout, Packer};
use libtest_mimic::Trial;

use crate::sets::Random;
use crate::{MIB, trial, within};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("packs of 32 bits keep to their memory", || check::<u32>(4_000_000, |at| at as u32)),
        trial("packs of 64 bits with parts keep to their memory", || {
            check::<u64>(5_000_000, |at| at)
        }),
        trial("packs of 128 bits keep to their memory", || {
            check::<u128>(2_000_000, |at| u128::from(at) << 64 | 5)
        }),
        trial("packs of 256 bits keep to their memory", || {
            check::<[u64; 4]>(1_000_000, |at| [at, !at, 0, 7])
        }),
    ]
}

fn check<F: Fingerprint>(count: u64, of: impl Fn(u64) -> F) {
    let mut random = Random(count);
    let set: Vec<F> = (0..count).map(|_| of(random.next())).collect();
    let pairs: Vec<(F, u64)> = set.iter().take(set.len() / 2).map(|&of| (of, 9)).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for memory in [None, Some(96 * MIB), Some(32 * MIB)] {
        let execution = Execution::new().threads(2);
        let execution = memory.map_or(execution.clone(), |memory| execution.memory(memory));
        let packer = Packer::new()
            .width::<F>()
            .layout(Layout::new().parts(3))
            .replace(true)
            .execution(execution);
        // Buffers that grow have room that nobody has touched, which counts here.
        let grown = |bytes: u64| bytes + bytes / 4;
        let said = grown(packer.estimate(count).unwrap().memory_bytes);
        let what = format!("{} bits, memory {memory:?}", F::BITS);
        within(memory.unwrap_or(said), &what, || packer.pack(&path, set.iter().copied()).unwrap());
        let with_ids = packer.estimate_with_ids(pairs.len() as u64, 9).unwrap();
        let said = grown(with_ids.memory_bytes);
        let what = format!("{what}, with ids");
        let pack = || packer.pack_with_ids(&path, pairs.iter().copied()).unwrap();
        within(memory.unwrap_or(said), &what, pack);
    }
}
