//! The test vectors are tested: readers that are wrong in one place each are run over them, and
//! each must fail one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Once;

use rayon::prelude::*;

use crate::forge;
use crate::oracle::mutation::{Mutation, Wrong, run};
use crate::oracle::names::read_names;
use crate::oracle::{self, Bits, Rejection};
use crate::spec;
use crate::vectors::{Vector, vectors};

/// Wrong readers that no vector can tell from a right one, and why.
const ALIKE: &[(Mutation, &str)] = &[(
    Mutation::Reads(Wrong::ChunkNumberMod256),
    "chunk 256 starts after a megabyte of ids, which is too much to keep as a vector",
)];

type Listed = BTreeMap<Bits, BTreeSet<u64>>;

/// What a reader makes of a vector, as far as its users see it.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    /// Fingerprints, ids, windows, and the recipe.
    Store(Vec<Bits>, Listed, Listed, Option<String>),
    Names(Vec<Vec<u8>>),
    /// The rule, and whether it means unsupported.
    Rejected(String, bool),
    Panic,
}

impl Outcome {
    fn rejected(rejection: &Rejection) -> Self {
        Outcome::Rejected(rejection.rule.to_owned(), rejection.unsupported)
    }

    /// Whether users see the same: contents, or a kind of rejection.
    fn looks_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Outcome::Rejected(_, one), Outcome::Rejected(_, other)) => one == other,
            (one, other) => one == other,
        }
    }
}

fn read(vector: &Vector) -> Outcome {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let file = |name: &str| vector.files.get(name).cloned().ok_or_else(missing);
    match oracle::read_files(&file) {
        Ok(store) => {
            let (fingerprints, ids, windows) = (store.fingerprints(), store.ids(), store.windows());
            Outcome::Store(fingerprints, ids, windows, store.recipe)
        }
        Err(rejection) => Outcome::rejected(&rejection),
    }
}

fn read_name_list(vector: &forge::NamesVector) -> Outcome {
    let names = read_names(&vector.file, &vector.entry);
    names.map_or_else(|rejection| Outcome::rejected(&rejection), Outcome::Names)
}

/// A vector, and how a reader that follows the document reads it.
struct Known<'a> {
    name: String,
    bytes: usize,
    read: Box<dyn Fn() -> Outcome + Sync + Send + 'a>,
    right: Outcome,
}

/// How a wrong reader is told from a right one.
#[derive(Clone, Debug)]
enum Told {
    /// By what its users see.
    By(String),
    /// By the tag of the rule alone.
    ByTag(String),
    No,
}

fn tell(mutation: Mutation, known: &[Known<'_>]) -> Told {
    let mut by_tag = None;
    for vector in known {
        let found = run(mutation, &vector.read).unwrap_or(Outcome::Panic);
        if !found.looks_like(&vector.right) {
            return Told::By(vector.name.clone());
        }
        if found != vector.right && by_tag.is_none() {
            by_tag = Some(vector.name.clone());
        }
    }
    by_tag.map_or(Told::No, Told::ByTag)
}

#[test]
fn every_wrong_reader_fails_a_vector() {
    // Some of them panic, which is not to be told each time.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !oracle::mutation::runs() {
                usual(info);
            }
        }));
    });
    let (vectors, names) = (vectors(), forge::names());
    let stores = vectors.iter().map(|vector| Known {
        name: vector.name.clone(),
        bytes: vector.files.values().map(Vec::len).sum(),
        read: Box::new(|| read(vector)),
        right: read(vector),
    });
    let names = names.iter().map(|vector| Known {
        name: format!("names/{}", vector.name),
        bytes: vector.file.len(),
        read: Box::new(|| read_name_list(vector)),
        right: read_name_list(vector),
    });
    let mut known: Vec<Known<'_>> = stores.chain(names).collect();
    known.sort_by_key(|vector| vector.bytes);

    let mut mutants: Vec<(Mutation, String)> = Vec::new();
    for &(wrong, sentence) in Wrong::ALL {
        mutants.push((Mutation::Reads(wrong), format!("{wrong:?}: {sentence}")));
    }
    for rule in spec::rules().into_keys().map(|rule| &*rule.leak()) {
        mutants.push((Mutation::Skips(rule), format!("does not check [{rule}]")));
        mutants
            .push((Mutation::Confuses(rule), format!("takes one kind for the other by [{rule}]")));
    }
    let told: Vec<Told> = mutants.par_iter().map(|&(mutant, _)| tell(mutant, &known)).collect();

    let mut report = String::new();
    let (mut seen, mut by_tag, mut alike) = (0, 0, Vec::new());
    for ((mutant, name), told) in mutants.iter().zip(&told) {
        let how = match told {
            Told::By(vector) => {
                seen += 1;
                vector.clone()
            }
            Told::ByTag(vector) => {
                by_tag += 1;
                format!("{vector}, by its tag")
            }
            Told::No => {
                alike.push(*mutant);
                "passes".to_owned()
            }
        };
        report += &format!("{name}: {how}\n");
    }
    println!("{report}{seen} told by what users see, {by_tag} by the tag, {} not", alike.len());
    let expected: Vec<Mutation> = ALIKE.iter().map(|&(mutant, _)| mutant).collect();
    assert_eq!(alike, expected, "wrong readers that pass all vectors");
    assert!(Wrong::ALL.len() > 100 && seen > 280, "{seen} of {}", mutants.len());
}
