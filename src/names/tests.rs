//! The names file against sorted lists in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bitvec::vec::BitVec;
use proptest::prelude::*;

use super::*;
use crate::access::InMemory;
use crate::error::{Error, Result};
use crate::format::{NamesEntry, names_name};
use crate::id::IdKind;
use crate::sort::Memory;

pub(super) type Name = Vec<u8>;

fn create() -> Result<Memory> {
    Ok(Memory::default())
}

struct Listed(Vec<Name>);

impl NameSource for Listed {
    fn visit(&mut self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.0.iter().try_for_each(|name| sink(name))
    }
}

fn write(source: &mut dyn NameSource) -> (Vec<u8>, NamesEntry) {
    let mut file = Vec::new();
    let written = Mutex::new(0);
    let progress = |names| {
        *written.lock().unwrap() += names;
        Ok(())
    };
    let entry = match write_names(source, &mut file, &progress) {
        Ok(entry) => entry,
        Err(_) => panic!("writing to memory"),
    };
    assert_eq!(NamesEntry::describe(&file), Some(entry));
    let mut count = 0;
    let mut add = |_: &[u8]| {
        count += 1;
        Ok(())
    };
    source.visit(&mut add).unwrap();
    assert_eq!(written.into_inner().unwrap(), count);
    (file, entry)
}

pub(super) fn open(file: Vec<u8>, entry: &NamesEntry) -> Result<Arc<NameColumn>> {
    let files = InMemory::default();
    files.insert(names_name(7), file);
    NameColumn::open(&files, 7, entry).map(Arc::new)
}

pub(super) fn write_listed(names: &[Name]) -> (Vec<u8>, NamesEntry) {
    write(&mut Listed(names.to_vec()))
}

fn column(names: &[Name]) -> Arc<NameColumn> {
    let (file, entry) = write(&mut Listed(names.to_vec()));
    open(file, &entry).unwrap()
}

pub(super) fn all(column: &Arc<NameColumn>) -> Vec<Name> {
    let mut cursor = column.cursor();
    let mut names = Vec::new();
    while let Some(name) = cursor.next().unwrap() {
        names.push(name.to_vec());
    }
    names
}

/// Names beside a name.
fn near(name: &Name) -> Vec<Name> {
    let mut names = vec![name.clone(); 7];
    names[1].push(0);
    names[2].push(255);
    names[3].pop();
    for (name, more) in names[4..].iter_mut().zip([1, 255]) {
        if let Some(last) = name.last_mut() {
            *last = last.wrapping_add(more);
        }
    }
    if let Some(first) = names[6].first_mut() {
        *first = first.wrapping_add(1);
    }
    names
}

/// Compares a column with the names that it should have; `step` leaves some look-ups out.
pub(super) fn check(column: &Arc<NameColumn>, names: &[Name], step: usize) {
    assert_eq!(column.len(), names.len() as u64);
    assert!(all(column) == names);
    column.verify(None).unwrap();
    let is_text = names.iter().all(|name| std::str::from_utf8(name).is_ok());
    assert_eq!(column.verify(Some(IdKind::Text)).is_ok(), is_text);
    let mut found = vec![1; 3];
    for number in (0..names.len()).step_by(step) {
        column.name(number as u64, &mut found).unwrap();
        assert_eq!(found, names[number], "{number}");
        for wanted in near(&names[number]) {
            let expected = names.binary_search(&wanted).ok().map(|number| number as u64);
            assert_eq!(column.find(&wanted).unwrap(), expected, "{wanted:x?}");
        }
    }
    for wanted in [vec![], vec![0], vec![255; 9], b"x".to_vec()] {
        let expected = names.binary_search(&wanted).ok().map(|number| number as u64);
        assert_eq!(column.find(&wanted).unwrap(), expected, "{wanted:x?}");
    }
}

/// Names that look like what users have, and such that hardly differ.
fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        4 => prop::collection::vec(97..100u8, 0..7),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        2 => (0..40u32, 0..40u32).prop_map(|(a, b)| format!("https://{a}.example/{b}").into_bytes()),
        1 => (0..3u8, 0..400usize).prop_map(|(byte, length)| vec![byte + 97; length]),
    ]
}

fn sorted(names: Vec<Name>) -> Vec<Name> {
    names.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// So many different names, made of the numbers of a generator.
fn many(count: usize, seed: u64, url: bool) -> Vec<Name> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        state >> 33
    };
    let mut names = BTreeSet::new();
    while names.len() < count {
        let (a, b) = (next(), next());
        names.insert(match url {
            true => format!("https://{}.example/{:x}/{b}", a % 50, a % 7).into_bytes(),
            false => b.to_le_bytes()[..(a % 5) as usize].to_vec(),
        });
    }
    names.into_iter().collect()
}

#[test]
fn names_around_the_borders_of_groups_and_pages_come_back() {
    for count in [0, 1, 2, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 4161, 8193] {
        let names = many(count, count as u64, count % 2 == 1);
        check(&column(&names), &names, 1 + count / 300);
    }
}

#[test]
fn names_of_the_greatest_length_come_back() {
    let long = |length: usize, last: u8| {
        let mut name = vec![b'y'; length];
        name.push(last);
        name
    };
    let mut names = vec![vec![], vec![0], vec![0, 0], vec![b'x'; 65_535]];
    for length in [126, 127, 128, 129, 16_383, 16_384, 65_533, 65_534] {
        names.extend([long(length, 0), long(length, b'y'), long(length, 255)]);
    }
    names.extend((0..200u8).map(|last| long(65_533, last)));
    let names = sorted(names);
    let column = column(&names);
    check(&column, &names, 1);
    assert_eq!(column.find(&vec![b'y'; 70_000]).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_names_come_back(names in prop::collection::vec(name(), 0..300)) {
        let names = sorted(names);
        check(&column(&names), &names, 1);
    }

    #[test]
    fn merged_names_are_the_union_of_those_that_are_marked(
        inputs in prop::collection::vec(
            (prop::collection::vec(name(), 0..200), prop::option::of(any::<u64>())), 0..5),
    ) {
        let mut union = BTreeSet::new();
        let mut columns = Vec::new();
        let mut marked = Vec::new();
        for (names, marks) in inputs {
            let names = sorted(names);
            let is_marked =
                |number: usize| marks.is_none_or(|marks| marks >> (number % 61) & 1 == 1);
            let of_input: Vec<bool> = (0..names.len()).map(is_marked).collect();
            let wanted = names.iter().zip(&of_input).filter(|(_, is_marked)| **is_marked);
            let wanted: Vec<Name> = wanted.map(|(name, _)| name.clone()).collect();
            union.extend(wanted.clone());
            let marks = marks.map(|_| of_input.iter().copied().collect::<BitVec<usize>>());
            columns.push((column(&names), marks));
            marked.push((names, of_input));
        }
        let union: Vec<Name> = union.into_iter().collect();
        let mut merged = MergedNames::new(columns, &|| Ok(())).unwrap();
        prop_assert_eq!(merged.len(), union.len() as u64);
        prop_assert_eq!(merged.numbers().len(), marked.len());
        for ((names, marks), numbers) in marked.iter().zip(merged.numbers()) {
            prop_assert_eq!(numbers.len(), names.len() as u64);
            for (old, name) in names.iter().enumerate().filter(|(old, _)| marks[*old]) {
                let expected = union.binary_search(name).unwrap() as u64;
                prop_assert_eq!(numbers.get(old as u64), Some(expected));
            }
        }
        let (file, entry) = write(&mut merged);
        prop_assert!(file == write(&mut Listed(union.clone())).0);
        check(&open(file, &entry).unwrap(), &union, 3);
    }

    #[test]
    fn sorted_pairs_are_those_in_memory(
        pairs in prop::collection::vec((name(), 0..5u64), 0..400),
        spilled in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let mut sorter = NameSorter::new(0);
        let spilled: BTreeSet<usize> = spilled.iter().map(|index| index.index(400)).collect();
        for (number, (name, payload)) in pairs.iter().enumerate() {
            prop_assert!(sorter.push(name, [*payload, 7]).unwrap());
            if spilled.contains(&number) {
                sorter.spill(&create).unwrap();
            }
        }
        check_sorted(sorter.finish(&create).unwrap(), &pairs);
    }
}

#[test]
fn a_merge_of_whole_pages_can_be_stopped() {
    let names = |first: u64| -> Vec<Name> {
        let name = |number: u64| format!("https://{}.example/{number}", number % 97).into_bytes();
        sorted((first..first + 12_000).map(name).collect())
    };
    let inputs = [names(0), names(6_000), names(30_000)];
    let columns = || inputs.iter().map(|names| (column(names), None)).collect();
    let mut merged = MergedNames::new(columns(), &|| Ok(())).unwrap();
    let union = sorted(inputs.concat());
    let (file, entry) = write(&mut merged);
    assert!(file == write(&mut Listed(union.clone())).0);
    check(&open(file, &entry).unwrap(), &union, 997);
    let stopped = MergedNames::new(columns(), &|| Err(Error::Cancelled));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

fn check_sorted(mut sorted: SortedNames<[u64; 2], Memory>, pairs: &[(Name, u64)]) {
    let expected: BTreeSet<_> = pairs.iter().cloned().collect();
    let names: BTreeSet<Name> = expected.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<Name> = names.into_iter().collect();
    let numbers: BTreeMap<&Name, u64> = names.iter().zip(0..).collect();
    let mut found = Vec::new();
    let mut add = |number, [payload, _]: [u64; 2]| {
        found.push((number, payload));
        Ok(())
    };
    sorted.visit_pairs(&mut add).unwrap();
    let expected: Vec<_> = expected.iter().map(|(name, of_it)| (numbers[name], *of_it)).collect();
    assert_eq!(found, expected);
    assert!(write(&mut sorted).0 == write(&mut Listed(names)).0, "the same bytes");
}

#[test]
fn a_sorter_with_little_memory_says_when_it_is_full_and_merges_many_runs() {
    let long = |number: u64| vec![(number % 3) as u8; (number * 7919 % 65_536) as usize];
    let mut pairs: Vec<(Name, u64)> = (0..150).map(|number| (long(number), number % 2)).collect();
    pairs.extend((0..30_000u64).map(|number| {
        let name = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        (format!("name {name}").into_bytes(), number % 2)
    }));
    let mut sorter = NameSorter::new(0);
    let mut spills = 0;
    for (name, payload) in &pairs {
        while !sorter.push(name, [*payload, 7]).unwrap() {
            sorter.spill(&create).unwrap();
            spills += 1;
        }
    }
    assert!(spills > 20, "{spills}");
    let sorted = sorter.finish(&create).unwrap();
    assert!(sorted.peak_bytes > 1 << 20);
    check_sorted(sorted, &pairs);
    let mut sorter = NameSorter::<u64, Memory>::new(0);
    assert!(sorter.push(&[0; 65_535], 0).unwrap());
    let error = sorter.push(&[0; 65_536], 0).unwrap_err().to_string();
    assert!(error.starts_with("a name cannot be 65536 bytes long: names have at most"), "{error}");
}
