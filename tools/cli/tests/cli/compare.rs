//! `compare`: what it says of two texts.

use serde_json::Value;

use crate::Scratch;

/// Two texts of which the last word differs.
fn texts() -> Scratch {
    let scratch = Scratch::new();
    let words: Vec<String> = (0..60).map(|word| format!("word{word}")).collect();
    scratch.write("a", words.join(" "));
    scratch.write("b", format!("{} other", words[..59].join(" ")));
    scratch
}

fn json(scratch: &Scratch, line: &str) -> Value {
    serde_json::from_str(&scratch.run(&format!("{line} --json")).succeeds().stdout).unwrap()
}

#[test]
fn a_comparison_tells_features_similarity_and_each_bit() {
    let scratch = texts();
    let told = json(&scratch, "compare a b");
    assert!(told["recipe"].as_str().unwrap().starts_with("text/1 simhash bits=64 "));
    let shared = &told["shared"];
    assert_eq!([&shared["both"], &shared["only_a"], &shared["only_b"]], [57, 1, 1]);
    assert_eq!(told["jaccard"].as_f64().unwrap(), 57.0 / 59.0);
    let [a, b] = ["a", "b"]
        .map(|side| u64::from_str_radix(told[side]["fingerprint"].as_str().unwrap(), 16).unwrap());
    let bits = told["bits"].as_array().unwrap();
    let different = bits.iter().map(|bit| 1u64 << bit["bit"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(different, a ^ b, "each bit that differs is there");
    assert_eq!(told["distance"], (a ^ b).count_ones());
    assert!(bits.iter().all(|bit| bit["sum_a"] != bit["sum_b"]));
    assert_eq!(told["features"].as_array().unwrap().len(), 20);
    assert_eq!(json(&scratch, "compare a b --features 3")["features"].as_array().unwrap().len(), 3);

    let printed = scratch.run("compare a b").succeeds().stdout;
    for part in [
        "\njaccard     0.9661\n",
        "\nshared      57 features in both, 1 in a alone",
        " of 64 bits\n",
    ] {
        assert!(printed.contains(part), "{part:?}: {printed}");
    }
}

#[test]
fn minima_estimate_the_similarity_and_equal_texts_are_equal() {
    let scratch = texts();
    for recipe in ["minhash-128", "onebit-256"] {
        let told = json(&scratch, &format!("compare a b --recipe {recipe}"));
        let estimate = told["estimated_jaccard"].as_f64().unwrap();
        assert!((0.85..=1.0).contains(&estimate), "{recipe}: {estimate}");
        let same = json(&scratch, &format!("compare a a --recipe {recipe}"));
        assert_eq!((&same["estimated_jaccard"], &same["near"]), (&1.0.into(), &true.into()));
    }
    assert_eq!(json(&scratch, "compare a b --recipe minhash-128")["distance"], Value::Null);
}

#[test]
fn texts_with_too_few_features_and_wrong_arguments_are_told() {
    let scratch = texts();
    let told = json(&scratch, "compare --text short --text short");
    assert_eq!((&told["near"], &told["a"]["too_few_features"]), (&true.into(), &true.into()));
    let printed = scratch.run("compare a --text one").succeeds().stdout;
    assert!(printed.contains("text 1: 3 bytes, 0 features, too few"), "{printed}");
    scratch.run("compare a").fails_naming(&["two texts", "--text"]);
    scratch.run("compare a missing").fails_naming(&["missing"]);
    scratch.run("compare a b --recipe simhsh-64").fails_naming(&["simhsh-64", "simhash-64"]);
    scratch.run("compare a b --recipe imatch").fails_naming(&["table"]);
}
