//! An input is the line of a recipe, and behind its end a text. What is read is written as it was,
//! and fingerprints the text.
#![no_main]

use fpstore_text::{Fingerprinter, Recipe};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    let (line, text) = input.split_at(end);
    let Ok(line) = std::str::from_utf8(line) else { return };
    let parsed: Result<Recipe, _> = line.parse();
    let recipe = match parsed {
        Ok(recipe) => recipe,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    let written = recipe.to_string();
    let read = Recipe::from_line(&written).expect("what is written can be read");
    assert_eq!((read.id(), read.to_string()), (recipe.id(), written));
    if let Ok(mut fingerprinter) = Fingerprinter::new(&recipe) {
        let first = format!("{:?}", fingerprinter.fingerprint(text).found);
        let again = format!("{:?}", fingerprinter.fingerprint(text).found);
        assert_eq!(first, again);
    }
});
