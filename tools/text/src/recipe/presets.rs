//! Short names for recipes that are good to begin with.

use super::parts::START;
use crate::error::Error;

/// Names and canonical lines. `table=?` stands where the id of a table has to be given.
pub(super) const PRESETS: &[(&str, &str)] = &[
    (
        "simhash-64",
        "text/1 simhash bits=64 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "simhash-64-chars",
        "text/1 simhash bits=64 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=4 hash=xxh3 seed=0 few=4",
    ),
    (
        "simhash-128",
        "text/1 simhash bits=128 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "simhash-128-chars",
        "text/1 simhash bits=128 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=4 hash=xxh3 seed=0 few=4",
    ),
    (
        "simhash-256",
        "text/1 simhash bits=256 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "simhash-256-chars",
        "text/1 simhash bits=256 weight=tf markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=4 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-64",
        "text/1 onebit bits=64 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-64-chars",
        "text/1 onebit bits=64 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=5 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-128",
        "text/1 onebit bits=128 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-128-chars",
        "text/1 onebit bits=128 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=5 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-256",
        "text/1 onebit bits=256 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-256-visible",
        "text/1 onebit bits=256 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc-visible case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "onebit-256-chars",
        "text/1 onebit bits=256 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=chars keep=letters n=5 hash=xxh3 seed=0 few=4",
    ),
    (
        "minhash-128",
        "text/1 minhash slots=128 scheme=rounds keep-bits=64 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "minhash-128-independent",
        "text/1 minhash slots=128 scheme=independent keep-bits=64 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "minhash-128-one-permutation",
        "text/1 minhash slots=128 scheme=one-permutation keep-bits=64 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "bands-20x6",
        "text/1 bands bands=20 rows=6 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=3 hash=xxh3 seed=0 few=4",
    ),
    (
        "supershingles",
        "text/1 supershingles bands=6 rows=14 scheme=rounds agree=2 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=8 hash=xxh3 seed=0 few=4",
    ),
    (
        "imatch",
        "text/1 imatch table=? low=768 high=2560 lexicons=6 drop=33 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=1 hash=xxh3 seed=0 few=4",
    ),
    (
        "projection-64",
        "text/1 projection bits=64 weight=tfidf table=? markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=1 hash=xxh3 seed=0 few=4",
    ),
    (
        "projection-256",
        "text/1 projection bits=256 weight=tfidf table=? markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=1 hash=xxh3 seed=0 few=4",
    ),
    (
        "spotsigs",
        "text/1 spotsigs antecedents=en+zh distance=2 chain=3 percent=50 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep cut=uax29 \
         hash=xxh3 seed=0 few=4",
    ),
    (
        "longest-sentences",
        "text/1 longest-sentences sentences=3 agree=2 markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep cut=uax29 \
         hash=xxh3 seed=0 few=1",
    ),
    (
        "sentences",
        "text/1 longest-sentences sentences=3 agree=2 markup=keep unicode=16.0.0 norm=nfkc case=fold-sentences space=keep cut=uax29 \
         hash=xxh3 seed=0 few=1",
    ),
    (
        "fineweb-14x8",
        "text/1 bands bands=14 rows=8 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=5 hash=xxh3 seed=0 few=1",
    ),
    (
        "olmo3-26x11",
        "text/1 bands bands=26 rows=11 scheme=rounds markup=keep unicode=16.0.0 norm=nfkc case=fold space=keep \
         features=words cut=uax29 n=5 hash=xxh3 seed=0 few=1",
    ),
    (
        "exact",
        "text/1 exact bits=128 hash=xxh3 markup=keep unicode=16.0.0 norm=nfkc case=fold space=collapse",
    ),
    (
        "exact-sha256",
        "text/1 exact bits=256 hash=sha256 markup=keep unicode=16.0.0 norm=nfkc case=fold space=collapse",
    ),
    ("python-simhash", "text/1 python-simhash version=2.1.2 bits=64 unicode=16.0.0 few=1"),
];

/// The line that `line` means: its own, or that of the preset that it begins with, with words
/// replaced.
pub(super) fn expand(line: &str) -> Result<String, Error> {
    let mut words = line.split_ascii_whitespace();
    let start = words.next().unwrap_or_default();
    if start == START {
        return Ok(line.to_owned());
    }
    let (_, preset) =
        PRESETS.iter().find(|(name, _)| *name == start).ok_or_else(|| no_recipe(start))?;
    let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut given: Vec<String> = Vec::new();
    for word in words {
        if given.iter().any(|other| key(other) == key(word)) {
            return Err(Error::Twice { key: key(word) });
        }
        given.push(word.to_owned());
    }
    // Another weight needs no table.
    let tableless = given.iter().any(|word| word.starts_with("weight=") && word != "weight=tfidf");
    let replaced = |word: &str| {
        given.iter().any(|other| key(other) == key(word)) || tableless && word == "table=?"
    };
    let kept = preset.split(' ').filter(|word| !replaced(word));
    Ok(kept.chain(given.iter().map(String::as_str)).collect::<Vec<_>>().join(" "))
}

pub(super) fn no_recipe(found: &str) -> Error {
    let bare = |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).collect() };
    let name = found.split_whitespace().next().unwrap_or_default();
    let wanted = bare(&name.to_ascii_lowercase());
    let is_meant = |(name, _): &&(&'static str, &str)| bare(name) == wanted;
    let presets = match PRESETS.iter().find(is_meant) {
        Some((meant, _)) => format!("did you mean {meant}"),
        None => PRESETS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    };
    Error::NoRecipe { found: found.chars().take(80).collect(), presets }
}
