//! What is saved of damaged stores of every width.

use std::fs;

use serde_json::Value;

use super::{Bytes, digits, holds, lines, list, pack, set, sorted};
use crate::Scratch;

const BASE: &str = "store/segment-0000000000000001-base.fpb";
/// Bytes of a chunk of a base.
const CHUNK: usize = 4096;

fn repair(scratch: &Scratch, code: i32) -> Value {
    let _ = fs::remove_dir_all(scratch.path("saved"));
    let ran = scratch.run("repair store saved --json").ends_with_code(code);
    scratch.run("verify saved -q").succeeds();
    lines(ran).remove(0)
}

fn damage(scratch: &Scratch, name: &str, at: usize) {
    let mut bytes = fs::read(scratch.path(name)).unwrap();
    bytes[at] ^= 1;
    fs::write(scratch.path(name), bytes).unwrap();
}

#[test]
fn only_what_stands_in_a_damaged_chunk_of_the_base_is_lost() {
    let scratch = Scratch::new();
    for (bits, parts) in [(64, 5), (128, 6), (256, 7)] {
        let set = sorted(&set(5 + bits as u64, bits, 2000));
        pack(&scratch, "store", &set, &format!("-f -k 7 --ids line --design parts:{parts}"));
        let whole = scratch.run("dump store --as ids").succeeds().stdout;
        let each = CHUNK / (bits / 8);
        // A bit of a row of the second chunk.
        let header = fs::metadata(scratch.path(BASE)).unwrap().len() as usize
            - set.len() * bits / 8
            - 4 * (set.len() * bits / 8).div_ceil(CHUNK)
            - 4;
        damage(&scratch, BASE, header + CHUNK + 77);
        let told = repair(&scratch, 1);
        let lost: Vec<Bytes> = set[each..2 * each].to_vec();
        assert_eq!(told["segments"][0]["lost_fingerprints"], lost.len(), "{told}");
        assert_eq!(told["segments"][0]["damaged_blocks"], 1, "{told}");
        assert_eq!(told["fingerprints"], set.len() - lost.len(), "{told}");
        let saved: String = whole
            .lines()
            .filter(|line| !lost.iter().any(|one| line.starts_with(&digits(one))))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(scratch.run("dump saved --as ids").succeeds().stdout, saved);
        let stat = &lines(scratch.run("stat saved --json").succeeds())[0];
        assert_eq!(stat["radius"], 7);
        // The number of parts of other widths is planned again.
        let own = stat["segments"][0]["parts"].as_array().unwrap();
        assert!(own.len() == parts || bits > 64, "{stat}");
        // Sound again, but for a part table that is gone: nothing is lost.
        damage(&scratch, BASE, header + CHUNK + 77);
        let part = "store/segment-0000000000000001-part-001.fpp";
        fs::remove_file(scratch.path(part)).unwrap();
        let told = repair(&scratch, 0);
        assert_eq!(
            (&told["whole"], &told["segments"][0]["damaged_tables"]),
            (&true.into(), &1.into())
        );
        assert_eq!(scratch.run("dump saved --as ids").succeeds().stdout, whole);
        // Without the manifest as well.
        fs::remove_file(scratch.path("store/manifest.fps")).unwrap();
        let told = repair(&scratch, 1);
        assert!(told["manifest"].is_string(), "{told}");
        assert_eq!(scratch.run("dump saved --as ids").succeeds().stdout, whole);
        fs::remove_dir_all(scratch.path("store")).unwrap();
    }
}

#[test]
fn logs_deletions_and_windows_of_every_width_are_repaired() {
    let scratch = Scratch::new();
    for bits in super::WIDTHS {
        let _ = fs::remove_dir_all(scratch.path("store"));
        let line = format!("create store --bits {bits} --id-type none --window 1d -q");
        scratch.run(&line).succeeds();
        let set = set(15 + bits as u64, bits, 90);
        for (day, set) in set.chunks(30).enumerate() {
            scratch.write("in", list(set));
            scratch.run(&format!("insert store in -q --time 2026-01-0{}", day + 1)).succeeds();
            if day == 0 {
                scratch.run("flush store -q").succeeds();
            }
        }
        let gone = format!("delete store {} {} -q", digits(&set[0]), digits(&set[40]));
        scratch.run(&gone).succeeds();
        let kept: Vec<Bytes> =
            set.iter().filter(|&one| *one != set[0] && *one != set[40]).cloned().collect();
        let told = repair(&scratch, 0);
        assert_eq!(told["whole"], true, "{told}");
        holds(&scratch, "saved", &kept, &format!("{bits} bits"));
        let day = scratch.run("dump saved --since 2026-01-03").succeeds().stdout;
        assert_eq!(day, list(&sorted(&set[60..])));
    }
}
