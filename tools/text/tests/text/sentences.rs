//! Sentences, against texts that were cut by hand.

use fpstore_text::{Fingerprinter, Found, Rule, Signature};

/// Texts; a bar stands where a sentence ends.
const CUT_BY_HAND: &[&str] = &[
    "The ferry left at nine.| It was full of people!| Who had paid for them?| Nobody knew.",
    "Er kam um 9.30 Uhr an, z.b. aus Köln.| Dann schlief er.| \u{201e}Gut\u{201c}, sagte sie.",
    "She lives in the U.S. today, e.g. in Ohio.| \"Really?\"| He laughed.",
    "Где ты был?| Я был дома.| Там никого не было…| Совсем никого!",
    "¿Dónde estabas?| En casa.| ¡No me digas!",
    "Πού ήσουν;| Στο σπίτι.| Δεν το ξέρω.",
    "今天下雨。|我们在家里看书。|你呢？|我也是！",
    "one line without an end\n|another line\n|the last",
];

fn values(recipe: &str, text: &str) -> Vec<u64> {
    signature(recipe, text).values().collect()
}

fn signature(recipe: &str, text: &str) -> Signature<'static> {
    let mut one = Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
    match one.fingerprint(text.as_bytes()).found {
        Found::Signature(signature) => signature.into_owned(),
        Found::TooFew { .. } => panic!("{text}"),
    }
}

#[test]
fn sentences_are_those_that_a_reader_cuts() {
    let recipe = "sentences sentences=64 agree=1";
    for text in CUT_BY_HAND {
        // The question mark of Greek is a semicolon, which ends no sentence of Unicode.
        let text = text.replace(";|", ";");
        let whole = values(recipe, &text.replace('|', ""));
        let mut own: Vec<u64> = text.split('|').flat_map(|one| values(recipe, one)).collect();
        own.sort_unstable();
        own.dedup();
        assert_eq!(whole, own, "{text}");
    }
}

#[test]
fn texts_with_four_of_five_sentences_in_common_agree() {
    let first = "The harbour master counts the ships at dawn. He writes their names into a large book. Nobody has ever read it. \
                 His daughter keeps the lamp of the tower burning all night long. She knows every captain by his voice.";
    let second = first.replace("Nobody has ever read it.", "It is kept in a safe with two locks.");
    let agree = |recipe: &str, rule: Rule| {
        let (one, other) = (signature(recipe, first), signature(recipe, &second));
        rule.agree(&one, &other)
    };
    let rule = Rule::Common { least: 2 };
    assert!(agree("sentences", rule));
    // What it is there for: folded first, each text is one sentence.
    assert!(!agree("longest-sentences", rule));
    assert_eq!(values("sentences", &first.to_uppercase()), values("sentences", first));
}

#[test]
fn only_sentences_are_folded_late() {
    for recipe in ["simhash-64 case=fold-sentences", "exact case=fold-sentences"] {
        let refused = recipe.parse::<fpstore_text::Recipe>().unwrap_err().to_string();
        assert!(refused.contains("case") && refused.contains("keep or fold"), "{refused}");
    }
}
