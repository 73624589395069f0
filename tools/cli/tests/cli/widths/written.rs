//! Stores of every width that are written to.

use std::collections::{BTreeMap, BTreeSet};

use super::inputs::forms;
use super::{Bytes, WIDTHS, digits, holds, lines, list, matches, queries, set};
use crate::Scratch;

/// What a store should hold: the ids of each fingerprint.
type Model = BTreeMap<Bytes, BTreeSet<u64>>;

fn dump(model: &Model) -> String {
    let ids = |ids: &BTreeSet<u64>| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    model.iter().map(|(one, own)| format!("{}\t{}\n", digits(one), ids(own))).collect()
}

/// Compares all that is stored, and what searches find.
#[track_caller]
fn check(scratch: &Scratch, store: &str, model: &Model, asked: &[Bytes], when: &str) {
    let dumped = scratch.run(&format!("dump {store} --as ids")).succeeds().stdout;
    assert_eq!(dumped, dump(model), "{store}, {when}");
    scratch.write("asked", list(asked));
    let stored: Vec<Bytes> = model.keys().cloned().collect();
    for k in [0, asked[0].len() as u32] {
        let rows = |query: &Bytes| -> String {
            let row = |(distance, one): (u32, Bytes)| {
                let ids: Vec<_> = model[&one].iter().map(u64::to_string).collect();
                format!("{}\t{}\t{distance}\t{}\n", digits(query), digits(&one), ids.join(","))
            };
            matches(&stored, query, k).into_iter().map(row).collect()
        };
        let expected: String = asked.iter().map(rows).collect();
        let found = scratch.run(&format!("query {store} --from asked -k {k}")).stdout;
        assert_eq!(found, expected, "{store}, k = {k}, {when}");
    }
    scratch.run(&format!("verify {store} -q")).succeeds();
}

fn csv(records: &[(Bytes, u64)]) -> String {
    let rows = records.iter().map(|(one, id)| format!("{id},{}\n", digits(one)));
    ["id,fingerprint\n".to_string()].into_iter().chain(rows).collect()
}

#[test]
fn what_is_inserted_and_deleted_is_there_and_gone_at_every_width() {
    let scratch = Scratch::new();
    for (bits, options) in
        [(32, ""), (64, "--design parts:4"), (128, ""), (256, ""), (256, "--design parts:3")]
    {
        let store = &format!("store{bits}{}", options.replace("--design parts:", "-"));
        let created = scratch.run(&format!("create {store} --bits {bits} -k 2 {options}"));
        let named = format!("fingerprints of {bits} bits");
        assert_eq!(created.succeeds().stdout.contains(&named), bits != 64);
        let set = set(71 + bits as u64, bits, 300);
        let asked = queries(72, &set, 20);
        let mut model = Model::new();
        // Some have several ids, and two come from another input.
        let mut records: Vec<_> = set.iter().cloned().zip(0u64..).collect();
        records.extend(set[..50].iter().cloned().zip(5000u64..));
        scratch.write("in.csv", csv(&records));
        scratch.run(&format!("insert {store} in.csv --id-column id -q")).succeeds();
        scratch.write("more", list(&set[7..9]));
        scratch.run(&format!("insert {store} more --ids line --first-id 900 -q")).succeeds();
        records.extend([(set[7].clone(), 900), (set[8].clone(), 901)]);
        for (one, id) in records {
            model.entry(one).or_default().insert(id);
        }
        check(&scratch, store, &model, &asked, "in the log");
        scratch.run(&format!("flush {store} -q")).succeeds();
        check(&scratch, store, &model, &asked, "flushed");

        // As a whole, one id, ids from a file, an id wherever it is.
        let line = format!("delete {store} {} {} --json", digits(&set[0]), digits(&set[1]));
        let told = &lines(scratch.run(&line).succeeds())[0];
        assert_eq!((&told["deleted"], &told["not_stored"]), (&4.into(), &0.into()));
        model.remove(&set[0]);
        model.remove(&set[1]);
        let line = format!("delete {store} {} --id 5007 -q", digits(&set[7]));
        scratch.run(&line).succeeds();
        model.get_mut(&set[7]).unwrap().remove(&5007);
        let gone: Vec<(Bytes, u64)> = (20..30).map(|at| (set[at].clone(), at as u64)).collect();
        scratch.write("gone.csv", csv(&gone));
        scratch.run(&format!("delete {store} --from gone.csv --id-column id -q")).succeeds();
        for (one, id) in &gone {
            model.get_mut(one).unwrap().remove(id);
        }
        scratch.run(&format!("delete {store} --id-everywhere 31 -q")).succeeds();
        model.values_mut().for_each(|ids| ids.retain(|&id| id != 31));
        model.retain(|_, ids| !ids.is_empty());
        check(&scratch, store, &model, &asked, "after deletions");

        // What was deleted may come back, beside another segment.
        let again = [(set[0].clone(), 77), (set[299].clone(), 78)];
        scratch.write("in.csv", csv(&again));
        scratch.run(&format!("pack in.csv --append {store} --id-column id -q")).succeeds();
        for (one, id) in again {
            model.entry(one).or_default().insert(id);
        }
        check(&scratch, store, &model, &asked, "appended");
        let told = &lines(scratch.run(&format!("merge {store} --full --json")).succeeds())[0];
        assert!(told["segments_before"].as_u64() > Some(1));
        assert_eq!(told["segments_after"], 1);
        check(&scratch, store, &model, &asked, "merged");
        let stat = &lines(scratch.run(&format!("stat {store} --json")).succeeds())[0];
        assert_eq!(stat["radius"], 2);
        assert_eq!(stat["segments"][0]["distinct"].as_u64(), stat["distinct"].as_u64(), "{stat}");

        scratch.run(&format!("backup {store} copy{store} -q")).succeeds();
        check(&scratch, &format!("copy{store}"), &model, &asked, "backed up");
        let line = format!("delete {store} {} -q", digits(&set[40]));
        scratch.run(&line).succeeds();
        model.remove(&set[40]);
        scratch.run(&format!("backup {store} copy{store} --incremental --copy -q")).succeeds();
        check(&scratch, &format!("copy{store}"), &model, &asked, "backed up again");
        // A pack takes it as it stands.
        scratch.run(&format!("pack {store} -o packed{store} -q")).succeeds();
        check(&scratch, &format!("packed{store}"), &model, &asked, "packed");
    }
}

#[test]
fn every_form_of_input_is_inserted_and_deleted_alike() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let store = &format!("store{bits}");
        scratch.run(&format!("create {store} --bits {bits} --id-type none -q")).succeeds();
        let mut all: BTreeSet<Bytes> = BTreeSet::new();
        let seed = |number: usize| 100 * bits as u64 + number as u64;
        let count = forms(&set(0, bits, 10)).len();
        for number in 0..count {
            // Whatever there is of it, an input holds another set than the one before.
            let set = set(seed(number), bits, 40);
            let (name, input, options) = &forms(&set)[number];
            scratch.write("in", input);
            scratch.run(&format!("insert {store} in -q {options}")).succeeds();
            all.extend(set);
            let held: Vec<Bytes> = all.iter().cloned().collect();
            holds(&scratch, store, &held, &format!("{name}, {bits} bits"));
        }
        for number in 0..count {
            let set = set(seed(number), bits, 40);
            let (name, input, options) = &forms(&set)[number];
            scratch.write("in", input);
            scratch.run(&format!("delete {store} --from in -q {options}")).succeeds();
            all.retain(|one| !set.contains(one));
            let held: Vec<Bytes> = all.iter().cloned().collect();
            holds(&scratch, store, &held, &format!("without {name}, {bits} bits"));
        }
        assert!(all.is_empty());
    }
}

#[test]
fn unless_near_says_what_brute_force_says_at_every_width() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        for ids in [false, true] {
            let store = &format!("store{bits}{ids}");
            let with_ids = if ids { "" } else { "--id-type none" };
            scratch.run(&format!("create {store} --bits {bits} -q {with_ids}")).succeeds();
            let set = set(81 + bits as u64, bits, 400);
            let k = bits as u32 / 16;
            let mut stored: Vec<Bytes> = Vec::new();
            let mut expected = String::new();
            for (number, one) in set.iter().enumerate() {
                let id = if ids { format!("{}\t", number + 5) } else { String::new() };
                let nearest = matches(&stored, one, k).into_iter().next();
                let row = match &nearest {
                    None => "inserted\t\t".to_string(),
                    Some((distance, near)) => format!("near\t{}\t{distance}", digits(near)),
                };
                expected += &format!("{id}{}\t{row}\n", digits(one));
                if nearest.is_none() {
                    stored.push(one.clone());
                }
            }
            assert!((150..350).contains(&stored.len()), "{bits}: {}", stored.len());
            let line_ids = if ids { "--ids line --first-id 5" } else { "" };
            // In two pieces: the second one finds what the first one has left.
            let mut rows = String::new();
            for (piece, first) in [(&set[..250], 5), (&set[250..], 255)] {
                scratch.write("in", list(piece));
                let line_ids = line_ids.replace(" 5", &format!(" {first}"));
                let line = format!("insert {store} in -k {k} --unless-near -q {line_ids}");
                rows += &scratch.run(&line).succeeds().stdout;
                scratch.run(&format!("flush {store} -q")).succeeds();
            }
            assert_eq!(rows, expected, "{bits} bits");
            if ids {
                let dumped = scratch.run(&format!("dump {store}")).succeeds().stdout;
                assert_eq!(dumped.lines().count(), stored.len());
            }
            holds(&scratch, store, &stored, "unless near");
            // As JSON, of what is there already.
            scratch.write("in", list(&stored[..1]));
            let line = format!("insert {store} in --unless-near -k 0 -q --as json {line_ids}");
            let object = &lines(scratch.run(&line).succeeds())[0];
            assert_eq!((&object["verdict"], &object["distance"]), (&"near".into(), &0.into()));
            assert_eq!(object["near"], digits(&stored[0]));
        }
    }
}

#[test]
fn windows_go_and_are_searched_at_every_width() {
    let scratch = Scratch::new();
    for bits in WIDTHS {
        let store = &format!("store{bits}");
        let line = format!("create {store} --bits {bits} --id-type none --window 1d -q");
        scratch.run(&line).succeeds();
        let days: Vec<Vec<Bytes>> =
            (0..3).map(|day| set(91 + day + bits as u64, bits, 60)).collect();
        for (day, set) in days.iter().enumerate() {
            scratch.write("in", list(set));
            let line = format!("insert {store} in -q --time 2026-01-0{}T12:00:00Z", day + 1);
            scratch.run(&line).succeeds();
            if day == 1 {
                scratch.run(&format!("flush {store} -q")).succeeds();
            }
        }
        holds(&scratch, store, &days.concat(), "three days");
        let line = format!("dump {store} --since 2026-01-02 --until 2026-01-03");
        let second = scratch.run(&line).succeeds().stdout;
        assert_eq!(second, list(&super::sorted(&days[1])));
        scratch.run(&format!("expire {store} --before 2026-01-02 -q")).succeeds();
        holds(&scratch, store, &days[1..].concat(), "without the first");
        let line = format!("pack in --append {store} --time 2026-01-05 -q --bits {bits}");
        scratch.run(&line).succeeds();
        scratch.run(&format!("expire {store} --before 2026-01-03 -q")).succeeds();
        holds(&scratch, store, &days[2], "the third");
        let line = format!("dump {store} --since 2026-01-05");
        assert_eq!(scratch.run(&line).succeeds().stdout, list(&super::sorted(&days[2])));
    }
}
