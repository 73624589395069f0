//! The words of a line, and what they can be. Reading and printing go through the same list,
//! [`visit`], so that they cannot differ.

use std::fmt::Write;
use std::ops::RangeInclusive;

use super::parts::{
    Antecedents, Cut, Features, Keep, Method, Recipe, START, Scheme, TableId, TextHash, Tokens,
    Weight,
};
use super::presets::no_recipe;
use crate::error::Error;
use crate::fingerprint::Width;
use crate::text::{Case, Form, Ignorable, Markup, Space, TextRules};

const SLOTS: u64 = 4096;

/// Reads or prints words, in the order of the canonical line.
trait Words {
    /// One of several words.
    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        names: &[(&'static str, T)],
    ) -> Result<(), Error>;
    /// A number.
    fn number(
        &mut self,
        key: &'static str,
        value: &mut u64,
        range: RangeInclusive<u64>,
    ) -> Result<(), Error>;
    /// The id of a table.
    fn table(&mut self, key: &'static str, value: &mut TableId) -> Result<(), Error>;

    /// A number that is not large.
    fn small(
        &mut self,
        key: &'static str,
        value: &mut u32,
        range: RangeInclusive<u32>,
    ) -> Result<(), Error> {
        let mut wide = u64::from(*value);
        self.number(key, &mut wide, u64::from(*range.start())..=u64::from(*range.end()))?;
        *value = wide as u32;
        Ok(())
    }
}

/// All words of a recipe whose method is known.
fn visit<W: Words>(recipe: &mut Recipe, words: &mut W) -> Result<(), Error> {
    if recipe.method == Method::PythonSimhash {
        words.choice("version", &mut (), &[("2.1.2", ())])?;
        words.choice("bits", &mut (), &[("64", ())])?;
        words.choice("unicode", &mut (), &[("16.0.0", ())])?;
        return words.small("few", &mut recipe.few, 1..=64);
    }
    visit_method(&mut recipe.method, words)?;
    let has_sentences = matches!(recipe.method, Method::LongestSentences { .. });
    visit_text(&mut recipe.text, has_sentences, words)?;
    if recipe.method.takes_features() {
        visit_features(&mut recipe.features, words)?;
    } else if !matches!(recipe.method, Method::Exact { .. }) {
        visit_cut(&mut recipe.features.tokens, words)?;
    }
    if matches!(recipe.method, Method::Exact { .. }) {
        return Ok(());
    }
    words.choice("hash", &mut (), &[("xxh3", ())])?;
    words.number("seed", &mut recipe.seed, 0..=u64::MAX)?;
    words.small("few", &mut recipe.few, 1..=64)
}

fn visit_method<W: Words>(method: &mut Method, words: &mut W) -> Result<(), Error> {
    match method {
        Method::Simhash { width, weight } | Method::Projection { width, weight } => {
            visit_width(width, words)?;
            visit_weight(weight, words)
        }
        Method::MinHash { slots, scheme, keep_bits } => {
            words.small("slots", slots, 1..=SLOTS as u32)?;
            visit_scheme(scheme, words)?;
            words.small("keep-bits", keep_bits, 1..=64)
        }
        Method::OneBit { width, scheme } => {
            visit_width(width, words)?;
            visit_scheme(scheme, words)
        }
        Method::Bands { bands, rows, scheme } => {
            visit_bands(bands, rows, words)?;
            visit_scheme(scheme, words)
        }
        Method::SuperShingles { bands, rows, scheme, agree } => {
            visit_bands(bands, rows, words)?;
            visit_scheme(scheme, words)?;
            words.small("agree", agree, 1..=*bands)
        }
        Method::IMatch { table, low, high, lexicons, drop } => {
            visit_lexicons(table, (low, high), lexicons, drop, words)
        }
        Method::SpotSigs { antecedents, distance, chain, percent } => {
            visit_spots(antecedents, (distance, chain), percent, words)
        }
        Method::LongestSentences { sentences, agree } => {
            words.small("sentences", sentences, 1..=64)?;
            words.small("agree", agree, 1..=*sentences)
        }
        Method::Exact { width, hash } => visit_whole(width, hash, words),
        Method::PythonSimhash => Ok(()),
    }
}

fn visit_lexicons<W: Words>(
    table: &mut TableId,
    (low, high): (&mut u32, &mut u32),
    lexicons: &mut u32,
    drop: &mut u32,
    words: &mut W,
) -> Result<(), Error> {
    words.table("table", table)?;
    words.small("low", low, 0..=16_384)?;
    words.small("high", high, *low..=16_384)?;
    words.small("lexicons", lexicons, 1..=64)?;
    words.small("drop", drop, 0..=99)
}

fn visit_spots<W: Words>(
    antecedents: &mut Antecedents,
    (distance, chain): (&mut u32, &mut u32),
    percent: &mut u32,
    words: &mut W,
) -> Result<(), Error> {
    let names =
        [("en", Antecedents::English), ("zh", Antecedents::Chinese), ("en+zh", Antecedents::Both)];
    words.choice("antecedents", antecedents, &names)?;
    words.small("distance", distance, 1..=16)?;
    words.small("chain", chain, 1..=16)?;
    words.small("percent", percent, 1..=100)
}

fn visit_whole<W: Words>(
    width: &mut Width,
    hash: &mut TextHash,
    words: &mut W,
) -> Result<(), Error> {
    visit_width(width, words)?;
    words.choice("hash", hash, &[("xxh3", TextHash::Xxh3), ("sha256", TextHash::Sha256)])?;
    let narrow = *hash == TextHash::Sha256 || *width != Width::W256;
    let problem = "XXH3 has no 256 bits: `hash=sha256`, or `bits=128`";
    if narrow { Ok(()) } else { Err(Error::Contradiction { problem }) }
}

fn visit_width<W: Words>(width: &mut Width, words: &mut W) -> Result<(), Error> {
    words.choice("bits", width, &[("64", Width::W64), ("128", Width::W128), ("256", Width::W256)])
}

fn visit_scheme<W: Words>(scheme: &mut Scheme, words: &mut W) -> Result<(), Error> {
    let names = [
        ("independent", Scheme::Independent),
        ("one-permutation", Scheme::OnePermutation),
        ("rounds", Scheme::Rounds),
    ];
    words.choice("scheme", scheme, &names)
}

fn visit_bands<W: Words>(bands: &mut u32, rows: &mut u32, words: &mut W) -> Result<(), Error> {
    words.small("bands", bands, 1..=SLOTS as u32)?;
    words.small("rows", rows, 1..=SLOTS as u32 / *bands)
}

fn visit_weight<W: Words>(weight: &mut Weight, words: &mut W) -> Result<(), Error> {
    let mut table = match weight {
        Weight::TfIdf { table } => *table,
        _ => TableId([0; 16]),
    };
    let names = [
        ("presence", Weight::Presence),
        ("tf", Weight::Tf),
        ("logtf", Weight::LogTf),
        ("tfidf", Weight::TfIdf { table }),
    ];
    words.choice("weight", weight, &names)?;
    if matches!(weight, Weight::TfIdf { .. }) {
        words.table("table", &mut table)?;
        *weight = Weight::TfIdf { table };
    }
    Ok(())
}

fn visit_text<W: Words>(
    text: &mut TextRules,
    has_sentences: bool,
    words: &mut W,
) -> Result<(), Error> {
    words.choice("markup", &mut text.markup, &[("keep", Markup::Keep), ("html", Markup::Html)])?;
    words.choice("unicode", &mut (), &[("16.0.0", ())])?;
    let (keep, remove) = (Ignorable::Keep, Ignorable::Remove);
    let mut norm = (text.form, text.ignorable);
    let norms = [
        ("none", (Form::None, keep)),
        ("nfc", (Form::Nfc, keep)),
        ("nfkc", (Form::Nfkc, keep)),
        ("nfkc-visible", (Form::Nfkc, remove)),
    ];
    words.choice("norm", &mut norm, &norms)?;
    (text.form, text.ignorable) = norm;
    let cases =
        [("keep", Case::Keep), ("fold", Case::Fold), ("fold-sentences", Case::FoldSentences)];
    words.choice("case", &mut text.case, if has_sentences { &cases } else { &cases[..2] })?;
    words.choice(
        "space",
        &mut text.space,
        &[("keep", Space::Keep), ("collapse", Space::Collapse), ("remove", Space::Remove)],
    )
}

fn visit_features<W: Words>(features: &mut Features, words: &mut W) -> Result<(), Error> {
    let (cut, keep) = (Tokens::Words(Cut::Uax29), Tokens::Chars(Keep::Letters));
    let mut kind = if matches!(features.tokens, Tokens::Words(_)) { cut } else { keep };
    words.choice("features", &mut kind, &[("words", cut), ("chars", keep)])?;
    if std::mem::discriminant(&kind) != std::mem::discriminant(&features.tokens) {
        features.tokens = kind;
    }
    visit_cut(&mut features.tokens, words)?;
    words.small("n", &mut features.n, 1..=64)
}

fn visit_cut<W: Words>(tokens: &mut Tokens, words: &mut W) -> Result<(), Error> {
    match tokens {
        Tokens::Words(cut) => {
            words.choice("cut", cut, &[("uax29", Cut::Uax29), ("uax29+jieba-rs-0.8.1", Cut::Jieba)])
        }
        Tokens::Chars(keep) => {
            words.choice("keep", keep, &[("all", Keep::All), ("letters", Keep::Letters)])
        }
    }
}

/// A recipe for each method, of which the words of a line replace all values.
fn methods() -> [Method; 11] {
    let (width, scheme, table) = (Width::W64, Scheme::Rounds, TableId([0; 16]));
    [
        Method::Simhash { width, weight: Weight::Tf },
        Method::Projection { width, weight: Weight::Tf },
        Method::MinHash { slots: 1, scheme, keep_bits: 64 },
        Method::OneBit { width, scheme },
        Method::Bands { bands: 1, rows: 1, scheme },
        Method::SuperShingles { bands: 1, rows: 1, scheme, agree: 1 },
        Method::IMatch { table, low: 0, high: 0, lexicons: 1, drop: 0 },
        Method::SpotSigs { antecedents: Antecedents::English, distance: 1, chain: 1, percent: 1 },
        Method::LongestSentences { sentences: 1, agree: 1 },
        Method::Exact { width, hash: TextHash::Xxh3 },
        Method::PythonSimhash,
    ]
}

/// The recipe of a line whose words are in any order.
pub(super) fn parse(line: &str) -> Result<Recipe, Error> {
    let mut words = line.split_ascii_whitespace();
    let start = words.next().unwrap_or_default();
    if start != START {
        return Err(no_recipe(start));
    }
    let name = words.next().unwrap_or_default();
    let method = methods().into_iter().find(|method| method.name() == name).ok_or_else(|| {
        Error::UnknownMethod {
            found: name.chars().take(80).collect(),
            known: methods().map(|method| method.name()).join(", "),
        }
    })?;
    let mut reader = Reader { method: method.name(), given: Vec::new(), known: Vec::new() };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if reader.given.iter().any(|(other, _)| *other == key) {
            return Err(Error::Twice { key: key.to_owned() });
        }
        reader.given.push((key, value));
    }
    let text = TextRules {
        markup: Markup::Keep,
        ignorable: Ignorable::Keep,
        form: Form::None,
        case: Case::Keep,
        space: Space::Keep,
    };
    let mut recipe = Recipe {
        method,
        text,
        features: Features { tokens: Tokens::Words(Cut::Uax29), n: 1 },
        seed: 0,
        few: 1,
    };
    visit(&mut recipe, &mut reader)?;
    let Reader { method, given, known } = reader;
    match given.first() {
        None => Ok(recipe),
        Some((key, value)) => Err(Error::UnknownWord {
            word: format!("{key}={value}").chars().take(80).collect(),
            method,
            known: known.join(", "),
        }),
    }
}

/// The canonical line.
pub(super) fn print(recipe: &Recipe) -> String {
    let mut printer = Printer(format!("{START} {}", recipe.method.name()));
    // A printer refuses nothing; what does not go together is not in a recipe.
    let _ = visit(&mut recipe.clone(), &mut printer);
    printer.0
}

struct Reader<'a> {
    method: &'static str,
    given: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, key: &'static str) -> Result<&'a str, Error> {
        self.known.push(key);
        let index = self.given.iter().position(|(given, _)| *given == key);
        let index = index.ok_or(Error::MissingWord { key, method: self.method })?;
        Ok(self.given.remove(index).1)
    }
}

impl Words for Reader<'_> {
    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        names: &[(&'static str, T)],
    ) -> Result<(), Error> {
        let found = self.take(key)?;
        let named = names.iter().find(|(name, _)| *name == found);
        *value = named
            .ok_or_else(|| {
                wrong(
                    key,
                    found,
                    names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or "),
                )
            })?
            .1;
        Ok(())
    }

    fn number(
        &mut self,
        key: &'static str,
        value: &mut u64,
        range: RangeInclusive<u64>,
    ) -> Result<(), Error> {
        let found = self.take(key)?;
        let digits = found.bytes().all(|byte| byte.is_ascii_digit());
        let number = found.parse().ok().filter(|number| digits && range.contains(number));
        *value = number.ok_or_else(|| {
            wrong(key, found, format!("a number from {} to {}", range.start(), range.end()))
        })?;
        Ok(())
    }

    fn table(&mut self, key: &'static str, value: &mut TableId) -> Result<(), Error> {
        let found = self.take(key)?;
        let digits = found.len() == 32
            && found.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
        let number = u128::from_str_radix(found, 16).ok().filter(|_| digits);
        let number = number.ok_or_else(|| {
            wrong(key, found, "the id of a table, 32 hexadecimal digits".to_owned())
        })?;
        *value = TableId(number.to_be_bytes());
        Ok(())
    }
}

fn wrong(key: &str, found: &str, expected: String) -> Error {
    Error::Value { key: key.to_owned(), found: found.chars().take(80).collect(), expected }
}

struct Printer(String);

impl Words for Printer {
    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        names: &[(&'static str, T)],
    ) -> Result<(), Error> {
        if let Some((name, _)) = names.iter().find(|(_, one)| one == value) {
            let _ = write!(self.0, " {key}={name}");
        }
        Ok(())
    }

    fn number(
        &mut self,
        key: &'static str,
        value: &mut u64,
        _: RangeInclusive<u64>,
    ) -> Result<(), Error> {
        let _ = write!(self.0, " {key}={value}");
        Ok(())
    }

    fn table(&mut self, key: &'static str, value: &mut TableId) -> Result<(), Error> {
        let _ = write!(self.0, " {key}={value}");
        Ok(())
    }
}
