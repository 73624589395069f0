//! The commands that write, one description each: what they start from, their line, and what they
//! leave.

use std::fmt::Write;

use crate::oracle::{Random, fingerprints};
use crate::standing::Thing::{File, Measured, Pages, Results, Store};
use crate::standing::{Between, Thing};
use crate::{Scratch, hex, raw};

/// How a command is given again after it was stopped.
#[derive(Clone, Copy, Debug)]
pub enum Again {
    /// As it was.
    Same,
    /// With one more option where the new state stands already.
    With(&'static str),
    /// As it was; where the new state stands already it is refused.
    Refused,
}

/// A command that writes.
#[derive(Clone, Copy)]
pub struct Writing {
    /// Makes what it starts from.
    pub prepare: fn(&Scratch),
    /// Its arguments.
    pub line: &'static str,
    pub again: Again,
    /// What it writes, in the order in which the new ones come: a later one tells that the earlier
    /// ones are there.
    pub things: &'static [Thing],
    /// What may stand there where it is stopped.
    pub between: Between,
}

const STORE: &[Thing] = &[Store("store")];
const COPY: &[Thing] = &[Store("store"), Store("copy")];
const SAVED: &[Thing] = &[Store("store"), Store("saved")];
const OUT: &[Thing] = &[File("out")];

/// Something that changes a store and may be given again.
const UPKEEP: Writing = Writing {
    prepare: living,
    line: "",
    again: Again::Same,
    things: STORE,
    between: Between::Nothing,
};

/// Something that writes a file of results.
const RESULTS: Writing = Writing {
    prepare: packed,
    line: "",
    again: Again::With("--force"),
    things: OUT,
    between: Between::Nothing,
};

pub const PACK: Writing = Writing {
    prepare: input,
    line: "pack in -o store --format u64le -q -j 1",
    things: STORE,
    ..RESULTS
};
pub const PACK_FORCE: Writing =
    Writing { prepare: packed, line: "pack in -o store --format u64le --force -q -j 1", ..UPKEEP };
pub const PACK_NAMES: Writing = Writing {
    prepare: |scratch| pages(scratch, "pages.csv", &fingerprints(2, 40)),
    line: "pack pages.csv -o store --id-column url -q -j 1",
    things: STORE,
    ..RESULTS
};
pub const PACK_NAMES_FORCE: Writing = Writing {
    prepare: |scratch| {
        pages(scratch, "pages.csv", &fingerprints(1, 40));
        ran(scratch, "pack pages.csv -o store --id-column url -q");
        pages(scratch, "pages.csv", &fingerprints(2, 40));
    },
    line: "pack pages.csv -o store --id-column url --force -q -j 1",
    ..UPKEEP
};
pub const PACK_APPEND: Writing =
    Writing { prepare: packed, line: "pack in --append store --format u64le -q -j 1", ..UPKEEP };
pub const PACK_APPEND_LIVING: Writing = Writing { prepare: living, ..PACK_APPEND };
pub const PACK_APPEND_NAMES: Writing = Writing {
    prepare: living_names,
    line: "pack in.csv --append store --id-column url -q -j 1",
    ..UPKEEP
};
pub const CREATE: Writing =
    Writing { prepare: |_| {}, line: "create store -q", again: Again::Refused, ..UPKEEP };
pub const CREATE_WINDOW: Writing = Writing { line: "create store --window 1d -q", ..CREATE };
pub const INSERT: Writing =
    Writing { line: "insert store in --format u64le -q", between: Between::Pieces, ..UPKEEP };
pub const INSERT_PACKED: Writing = Writing { prepare: packed, ..INSERT };
pub const INSERT_UNLESS_NEAR: Writing = Writing {
    line: "insert store in --format u64le --unless-near --durability immediate -q",
    ..INSERT
};
pub const INSERT_NAMES: Writing =
    Writing { prepare: living_names, line: "insert store in.csv --id-column url -q", ..INSERT };
pub const INSERT_UNLESS_NEAR_NAMES: Writing = Writing {
    line: "insert store in.csv --id-column url --unless-near --durability immediate -q",
    ..INSERT_NAMES
};
pub const DELETE: Writing = Writing {
    line: "delete store --from gone --format u64le -q",
    between: Between::Pieces,
    ..UPKEEP
};
pub const DELETE_NAMES: Writing = Writing {
    prepare: living_names,
    line: "delete store --from gone.csv --id-column url -q",
    ..DELETE
};
pub const FLUSH: Writing = Writing { line: "flush store -q -j 1", ..UPKEEP };
pub const FLUSH_WINDOWS: Writing = Writing { prepare: windows, ..FLUSH };
pub const FLUSH_NAMES: Writing = Writing { prepare: living_names, ..FLUSH };
/// What `insert` has written it has merged as well, so these segments are appended.
pub const MERGE: Writing = Writing {
    prepare: |scratch| {
        packed(scratch);
        for seed in 7..10 {
            scratch.write("some", raw(&fingerprints(seed, 40)));
            ran(scratch, "pack some --append store --format u64le -q");
        }
    },
    line: "merge store -q -j 1",
    ..UPKEEP
};
pub const MERGE_FULL: Writing = Writing { line: "merge store --full -q -j 1", ..UPKEEP };
pub const MERGE_FULL_NAMES: Writing = Writing { prepare: living_names, ..MERGE_FULL };
pub const EXPIRE: Writing =
    Writing { prepare: windows, line: "expire store --before 2026-01-03 -q -j 1", ..UPKEEP };
pub const EXPIRE_NAMES: Writing = Writing { prepare: windows_names, ..EXPIRE };
pub const BACKUP: Writing = Writing {
    line: "backup store copy -q",
    again: Again::With("--incremental"),
    things: COPY,
    ..UPKEEP
};
pub const BACKUP_COPY: Writing = Writing { line: "backup store copy --copy -q", ..BACKUP };
pub const BACKUP_INCREMENTAL: Writing = Writing {
    prepare: |scratch| {
        living(scratch);
        ran(scratch, "backup store copy -q");
        insert(scratch, &fingerprints(4, 40));
        ran(scratch, "merge store --full -q");
        insert(scratch, &fingerprints(5, 40));
    },
    line: "backup store copy --incremental -q",
    again: Again::Same,
    ..BACKUP
};
pub const BACKUP_INCREMENTAL_COPY: Writing =
    Writing { line: "backup store copy --incremental --copy -q", ..BACKUP_INCREMENTAL };
pub const BACKUP_INCREMENTAL_NAMES: Writing = Writing {
    prepare: |scratch| {
        living_names(scratch);
        ran(scratch, "backup store copy -q");
        ran(scratch, "merge store --full -q");
        insert_pages(scratch, "", &fingerprints(5, 40));
    },
    ..BACKUP_INCREMENTAL_COPY
};
/// As long as nothing is flushed, backups have the same manifest and longer logs.
pub const BACKUP_INCREMENTAL_LOG: Writing = Writing {
    prepare: |scratch| {
        living(scratch);
        ran(scratch, "backup store copy -q");
        insert(scratch, &fingerprints(5, 40));
    },
    ..BACKUP_INCREMENTAL
};
pub const REPAIR: Writing = Writing {
    prepare: packed,
    line: "repair store saved -j 1",
    again: Again::Refused,
    things: SAVED,
    between: Between::Nothing,
};
pub const REPAIR_LIVING: Writing = Writing { prepare: living, ..REPAIR };
pub const REPAIR_WINDOWS: Writing = Writing { prepare: windows, ..REPAIR };
pub const REPAIR_NAMES: Writing = Writing { prepare: living_names, ..REPAIR };
pub const REPAIR_WINDOWS_NAMES: Writing = Writing { prepare: windows_names, ..REPAIR };
pub const JOIN: Writing = Writing { line: "join store -k 6 -o out -q -j 1", ..RESULTS };
pub const JOIN_RESUME: Writing =
    Writing { line: "join store -k 6 -o out --resume -q -j 1", ..RESULTS };
pub const MERGE_PAIRS: Writing = Writing {
    prepare: |scratch| {
        packed(scratch);
        for shard in [0, 1] {
            ran(scratch, &format!("join store -k 6 --shard {shard}/2 -o pairs-{shard} -q"));
        }
    },
    line: "merge-pairs pairs-0 pairs-1 -o out --progress none",
    ..RESULTS
};
pub const DUMP: Writing = Writing { line: "dump store -o out", ..RESULTS };
pub const DUMP_FORCE: Writing = Writing {
    prepare: |scratch| {
        packed(scratch);
        scratch.write("out", "what was there\n");
    },
    line: "dump store -o out -f",
    again: Again::Same,
    ..RESULTS
};
pub const QUERY: Writing =
    Writing { line: "query store --from in --format u64le -k 20 -o out -j 1", ..RESULTS };
pub const DEDUP: Writing = Writing { line: "dedup store -k 6 -o out -q -j 1", ..RESULTS };
pub const FINGERPRINT: Writing = Writing {
    prepare: |scratch| texts(scratch, "texts.jsonl", 0..30),
    line: "fingerprint texts.jsonl --id-column id --recipe simhash-64 --as jsonl -o out -q -j 1",
    ..RESULTS
};
pub const FINGERPRINT_TABLE: Writing = Writing {
    line: "fingerprint texts.jsonl --recipe imatch --make-table out -q -j 1",
    ..FINGERPRINT
};
pub const EVALUATE: Writing = Writing {
    prepare: |scratch| texts(scratch, "texts.jsonl", 0..6),
    line: "evaluate texts.jsonl --recipe simhash-64 -q -o out",
    things: &[Measured("out")],
    ..RESULTS
};
pub const CORPUS: Writing = Writing {
    prepare: |scratch| texts(scratch, "texts.jsonl", 0..30),
    line: "corpus dedup texts.jsonl --id-column id --recipe simhash-64 -o out --checkpoint 0 -q -j 1",
    again: Again::Same,
    things: &[Results("out")],
    between: Between::Nothing,
};
pub const CORPUS_ADD: Writing = Writing {
    prepare: |scratch| {
        texts(scratch, "seen.jsonl", 0..10);
        texts(scratch, "texts.jsonl", 5..30);
        let line =
            "corpus dedup seen.jsonl --id-column id --recipe simhash-64 --against seen --add";
        ran(scratch, &format!("{line} -o seen-out -q"));
    },
    line: "corpus dedup texts.jsonl --id-column id --recipe simhash-64 --against seen --add -o out \
           --checkpoint 0 -q -j 1",
    things: &[Store("seen"), Results("out")],
    ..CORPUS
};
/// The store is made before anything is read, and is one of keys.
pub const CORPUS_ADD_FIRST: Writing = Writing {
    prepare: |scratch| texts(scratch, "texts.jsonl", 5..30),
    line: "corpus dedup texts.jsonl --id-column id --recipe supershingles --against seen --add \
           -o out --checkpoint 0 -q -j 1",
    between: Between::Empty,
    ..CORPUS_ADD
};
pub const MAN: Writing =
    Writing { prepare: |_| {}, line: "man -o pages", things: &[Pages("pages")], ..UPKEEP };

/// Runs a command that makes what another one starts from.
fn ran(scratch: &Scratch, line: &str) {
    scratch.run(line).ends_with_code(0);
}

/// Fingerprints that are to come, half of them near stored ones, and such that are to go.
fn input(scratch: &Scratch) {
    let (old, mut set) = (fingerprints(1, 60), fingerprints(2, 20));
    set.extend(old[..20].iter().map(|fingerprint| fingerprint ^ 1));
    scratch.write("in", raw(&set));
    scratch.write("gone", raw(&old[10..40]));
}

/// A packed store.
fn packed(scratch: &Scratch) {
    input(scratch);
    scratch.pack("store", &fingerprints(1, 60), "--design halves");
}

fn insert(scratch: &Scratch, set: &[u64]) {
    scratch.run_with("insert store - --format u64le -q", &raw(set)).succeeds();
}

/// A store that is written in place: six segments, deletions, and records in the log.
pub fn living(scratch: &Scratch) {
    input(scratch);
    ran(scratch, "create store --id-type none -q");
    let set = fingerprints(1, 60);
    for part in set.chunks(10).take(5) {
        insert(scratch, part);
        ran(scratch, "flush store -q");
    }
    scratch.write("some", hex(&set[..5]));
    ran(scratch, "delete store --from some -q");
    insert(scratch, &fingerprints(3, 10));
    ran(scratch, "flush store -q");
    scratch.write("some", hex(&set[5..8]));
    ran(scratch, "delete store --from some -q");
    insert(scratch, &set[50..]);
}

/// A store with windows of time, and records of one of them in the log.
pub fn windows(scratch: &Scratch) {
    ran(scratch, "create store --window 1d -q");
    for (day, part) in fingerprints(1, 50).chunks(10).enumerate() {
        let line = format!("insert store - -q --ids line --first-id {day}0 --format u64le");
        let line = format!("{line} --time 2026-01-{:02}", day + 1);
        scratch.run_with(&line, &raw(part)).succeeds();
        if day == 3 {
            ran(scratch, "flush store -q");
        }
    }
    ran(scratch, &format!("delete store {:016x} -q", fingerprints(1, 50)[15]));
}

/// The name of a fingerprint where the ids of a store are names.
pub fn name_of(fingerprint: u64) -> String {
    format!("https://{}.example/{fingerprint:016x}", fingerprint % 7)
}

/// Fingerprints with names, as CSV.
fn pages(scratch: &Scratch, name: &str, set: &[u64]) {
    let mut csv = "url,fingerprint\n".to_string();
    for fingerprint in set {
        writeln!(csv, "{},{fingerprint:016x}", name_of(*fingerprint)).unwrap();
    }
    scratch.write(name, csv);
}

/// As [`living`], with names for ids; some names are deleted from all fingerprints.
fn living_names(scratch: &Scratch) {
    let set = fingerprints(1, 60);
    ran(scratch, "create store --id-type text -q");
    for part in set.chunks(10).take(5) {
        insert_pages(scratch, "", part);
        ran(scratch, "flush store -q");
    }
    ran(scratch, &format!("delete store --id-everywhere {} -q", name_of(set[3])));
    insert_pages(scratch, "", &fingerprints(3, 10));
    ran(scratch, "flush store -q");
    pages(scratch, "gone.csv", &set[5..8]);
    ran(scratch, "delete store --from gone.csv --id-column url -q");
    insert_pages(scratch, "", &set[50..]);
    let mut come = fingerprints(2, 20);
    come.extend(set[..20].iter().map(|fingerprint| fingerprint ^ 1));
    pages(scratch, "in.csv", &come);
    pages(scratch, "gone.csv", &set[10..40]);
}

/// As [`windows`], with names for ids.
fn windows_names(scratch: &Scratch) {
    ran(scratch, "create store --window 1d --id-type text -q");
    for (day, part) in fingerprints(1, 50).chunks(10).enumerate() {
        insert_pages(scratch, &format!("--time 2026-01-{:02}", day + 1), part);
        if day == 3 {
            ran(scratch, "flush store -q");
        }
    }
    ran(scratch, &format!("delete store {:016x} -q", fingerprints(1, 50)[15]));
}

fn insert_pages(scratch: &Scratch, options: &str, set: &[u64]) {
    pages(scratch, "some.csv", set);
    ran(scratch, &format!("insert store some.csv --id-column url -q {options}"));
}

/// Documents with these ids; those with the same id are the same, and each third is near another.
pub fn texts(scratch: &Scratch, name: &str, ids: std::ops::Range<u64>) {
    let mut lines = String::new();
    for id in ids {
        let mut random = Random(if id % 3 == 2 { id - 1 } else { id });
        let words: Vec<String> = (0..60).map(|_| format!("w{}", random.below(5000))).collect();
        let text = words.join(" ");
        writeln!(lines, "{{\"id\":{id},\"text\":\"{text} {}\"}}", id % 3).unwrap();
    }
    scratch.write(name, lines);
}
