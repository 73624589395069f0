//! Characters that are not seen change nothing, where the recipe says so.

use fpstore_text::{Fingerprinter, Found};

#[test]
fn soft_hyphens_and_zero_width_spaces_change_no_fingerprint() {
    let text = "The harbour master counts the ships at dawn, and writes their names down. \
                \u{4e2d}\u{6587} e\u{301} stra\u{df}e";
    let unseen = ["\u{ad}", "\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}", "\u{200e}", "\u{fe0f}"];
    // Behind any character, also between a letter and its accent.
    let strewn: String = text.chars().enumerate().fold(String::new(), |strewn, (place, one)| {
        strewn + &one.to_string() + unseen[place % unseen.len()]
    });
    let of = |recipe: &str, text: &str| {
        let mut one = Fingerprinter::new(&recipe.parse().unwrap()).unwrap();
        let (outcome, exact) = one.fingerprint_with_exact(text.as_bytes());
        let Found::Signature(signature) = outcome.found else { panic!("{recipe}") };
        (signature.into_owned(), exact)
    };
    for recipe in ["onebit-256-visible", "simhash-64-chars norm=nfkc-visible keep=all"] {
        assert_eq!(of(recipe, &strewn), of(recipe, text), "{recipe}");
    }
    assert_ne!(of("onebit-256", &strewn), of("onebit-256", text));
}
