//! Commands that are killed and given again, with any threads, leave the same bytes.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// How often a command is killed, at least: `FPSTORE_KILLS` says how often else.
const KILLS: u64 = 8;
/// The table of what was removed.
const REMOVED: &str = "removed.jsonl";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let texts = texts(9, 6000, 60);
    fs::create_dir(scratch.path("in")).unwrap();
    for (number, some) in texts.chunks(2500).enumerate() {
        let lines = zstd::stream::encode_all(jsonl(some).as_bytes(), 1).unwrap();
        scratch.write(&format!("in/{number}.jsonl.zst"), lines);
    }
    for (number, text) in texts[..40].iter().enumerate() {
        scratch.write(&format!("in/plain-{number}.txt"), &text.text);
    }
    scratch
}

/// Compares what two commands left, and names the files that are not the same.
fn check_same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, why: &str) {
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let differ = names.into_iter().filter(|name| found.get(*name) != expected.get(*name));
    let differ: Vec<_> = differ.collect();
    assert!(differ.is_empty(), "{why} changes {differ:?}");
}

const OPTIONS: &str = "in --recipe onebit-128 --keep longest --checkpoint 0";

#[test]
fn threads_change_nothing() {
    let scratch = scratch();
    let mut trees = Vec::new();
    for threads in [1, 2, 4] {
        run(
            &scratch,
            &format!("{OPTIONS} -o out-{threads} -j {threads} --memory {}MiB", 40 * threads),
        );
        trees.push(tree(&scratch.path(&format!("out-{threads}"))));
    }
    assert!(trees[0].len() > 4, "{:?}", trees[0].keys());
    assert!(trees[0] == trees[1] && trees[0] == trees[2], "threads change the output");
}

#[test]
fn a_command_that_was_killed_goes_on_to_the_same_bytes() {
    let kills = std::env::var("FPSTORE_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u64 = kills.unwrap_or(KILLS);
    let scratch = scratch();
    let start = Instant::now();
    run(&scratch, &format!("{OPTIONS} -o whole"));
    let time = start.elapsed();
    let whole = tree(&scratch.path("whole"));
    let mut random = Random(10);
    let (mut killed, mut round, mut went_on) = (0, 0, 0);
    while killed < kills {
        round += 1;
        assert!(round < 20 * kills, "commands end before they are killed");
        let out = scratch.path(&format!("out-{round}"));
        // Several kills of one command, too.
        loop {
            let mut command = scratch.command(&format!(
                "corpus dedup {OPTIONS} -o out-{round} --quiet -j {} --memory {}MiB",
                1 + killed % 3,
                64 << (killed % 4)
            ));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            // Each second time while the results get their places, which is short: some files are
            // there, or all but one.
            let (from, moment) = match killed % 2 {
                0 => (None, time.mul_f64(random.below(1000) as f64 / 1000.0)),
                _ => {
                    let from = ["documents", REMOVED, "report.txt"][random.below(3) as usize];
                    (Some(out.join(from)), Duration::from_micros(random.below(4000)))
                }
            };
            let is_running = |child: &mut Child| child.try_wait().unwrap().is_none();
            while from.as_ref().is_some_and(|from| !from.exists()) && is_running(&mut child) {
                thread::sleep(Duration::from_micros(100));
            }
            let before = Instant::now();
            while before.elapsed() < moment && is_running(&mut child) {
                thread::sleep(Duration::from_micros(100));
            }
            child.kill().unwrap();
            let status = child.wait().unwrap();
            if status.success() {
                break;
            }
            assert_eq!(status.code(), None, "{status}");
            killed += 1;
            went_on += u64::from(out.join("work.fpstore/state.json").exists());
            if random.below(3) == 0 {
                break;
            }
        }
        run(&scratch, &format!("{OPTIONS} -o out-{round}"));
        check_same(&tree(&out), &whole, &format!("kill {killed}"));
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(went_on > 0, "no kill left anything to go on with");
}

#[test]
fn what_a_killed_command_left_among_the_results_goes() {
    let scratch = scratch();
    run(&scratch, &format!("{OPTIONS} -o whole"));
    let mut child = scratch.command(&format!("corpus dedup {OPTIONS} -o out --quiet"));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !scratch.path("out/work.fpstore/state.json").exists() {
        thread::sleep(Duration::from_micros(100));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it ended before it was killed");
    // As a kill while the report is written leaves it.
    scratch.write("out/.tmp-fpstore-dead01", "half a report");
    run(&scratch, &format!("{OPTIONS} -o out"));
    check_same(&tree(&scratch.path("out")), &tree(&scratch.path("whole")), "a kill");
}
