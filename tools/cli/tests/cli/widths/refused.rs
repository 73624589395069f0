//! What is refused, and in what words.

use super::{base64, digits, holds, list, pack, set};
use crate::{Scratch, writers};

#[test]
fn options_that_do_not_go_together_are_refused() {
    let scratch = Scratch::new();
    pack(&scratch, "store", &set(1, 128, 10), "");
    scratch.write("in", list(&set(1, 128, 10)));
    for line in [
        "query store 0x1 --nearest 2 --limit 3",
        "query store 0x1 --nearest 2 --as any",
        "query store 0x1 --as any --limit 2",
        "query store 0x1 --nearest x",
        "query store 0x1 --as count,any",
        "query store 0x1 -k 129",
        "query store 0x1 --as u64",
        "dump store --as i64",
        "dump store --as u32le",
        "pack in -o other --bits 48",
        "pack in -o other --bits 128 --design halves",
        "pack in -o other --bits 128 --block-bytes 512",
        "pack in -o other --bits 128 --design halves:short",
        "pack in -o other --bits 64 --design parts:2:short",
        "create other --bits 256 --design halves:short",
        "create other --design parts:2:short",
        "plan --n 1e6 --spark 3 --prefer size",
        "pack in -o other --bits 128 --design parts:22",
        "pack in -o other --bits 128 -k 129",
        "pack in -o other --bits 128 --format dec",
        "pack in -o other --bits 128 --format u32le",
    ] {
        scratch.run(line).fails_naming(&["fpstore: "]);
        assert!(!scratch.path("other").exists(), "{line}");
    }
}

#[test]
fn another_width_is_an_error_that_names_file_place_and_remedy() {
    let scratch = Scratch::new();
    let (narrow, wide) = (set(1, 64, 10), set(2, 256, 10));
    pack(&scratch, "narrow", &narrow, "");
    pack(&scratch, "wide", &wide, "");
    scratch.write("narrow.txt", list(&narrow));
    scratch.write("wide.txt", list(&wide));
    let other = "fingerprints of 256 bits, where 64 are wanted; give others, or `pack --bits 256` to \
                 make a store of these";
    scratch
        .run("query narrow --from wide.txt")
        .fails_with(&format!("wide.txt: line 1, column 1: {other}"));
    scratch
        .run_with("pack - -o store", list(&wide).as_bytes())
        .fails_with(&format!("standard input: line 1, column 1: {other}"));
    scratch.write("wide.npy", writers::npy(&wide.concat(), &[10, 32]));
    scratch
        .run("query narrow --from wide.npy")
        .fails_with(&format!("wide.npy: its header: {other}"));
    let csv: String = wide.iter().map(|one| digits(one) + ",\n").collect();
    scratch.write("wide.csv", format!("hash,n\n{csv}"));
    scratch
        .run("query narrow --from wide.csv --fingerprint-column hash")
        .fails_with(&format!("wide.csv: column \"hash\": {other}"));
    // Inputs of two widths, in either order, and stores.
    scratch.run("pack narrow.txt wide.txt -o store").fails_naming(&["narrow.txt", "line 1"]);
    scratch.run("pack wide.npy narrow.txt -o store").fails_naming(&["narrow.txt", "line 1"]);
    scratch.run("pack narrow wide -o store").fails_naming(&["wide", "256", "64"]);
    scratch.run("pack wide.txt --append narrow").fails_naming(&["wide.txt", "256", "64"]);
    assert!(!scratch.path("store").exists());
    // A digit that is none, one too few, and one too many.
    let mut text = list(&wide);
    text.replace_range(65 + 3..65 + 4, "g");
    scratch.write("in", &text);
    scratch
        .run("pack in -o store --bits 256 --format hex")
        .fails_naming(&["in: line 2, column 4: 'g' is no hexadecimal digit"]);
    scratch.write("in", format!("{}{}", list(&wide).repeat(2000), &digits(&wide[0])[1..]));
    scratch.run("pack in -o store --bits 256").fails_with(
        "in: line 20001, column 1: 63 digits, after fingerprints of 64 hexadecimal digits; correct \
         it, or give --format hex if zeros in front are left out, or give --on-error skip",
    );
    scratch.run(&format!("query wide {}0", digits(&wide[0]))).fails_with(
        "argument 1, character 1: more than 64 hexadecimal digits; correct it, or give --format dec \
         if it is decimal",
    );
    scratch
        .run(&format!("query narrow {}", digits(&wide[0])))
        .fails_naming(&["argument 1, character 1: 64 hexadecimal digits, which are 256 bits"]);
    scratch.write("in.jsonl", "{\"fingerprint\":12}\n");
    scratch.run("pack in.jsonl -o store --bits 256").fails_naming(&[
        "in.jsonl: line 1, column \"fingerprint\": 12 is no fingerprint, which is a string",
    ]);
    scratch.write("in.csv", format!("fingerprint\n{}\n", base64(&wide[0][..31].to_vec(), true)));
    scratch.run("pack in.csv -o store --bits 256 --format auto,base64").fails_naming(&[
        "in.csv: line 2",
        "31 bytes in base64, where a fingerprint of 256 bits has 32",
    ]);
}

#[test]
fn what_is_put_into_a_store_has_its_width_or_nothing_changes() {
    let scratch = Scratch::new();
    let (narrow, wide) = (set(3, 64, 10), set(4, 256, 10));
    pack(&scratch, "narrow", &narrow, "");
    pack(&scratch, "wide", &wide, "");
    scratch.write("narrow.txt", list(&narrow));
    scratch.write("wide.txt", list(&wide));
    for command in ["insert wide", "delete wide --from", "pack --append wide"] {
        scratch
            .run(&format!("{command} narrow.txt"))
            .fails_naming(&["narrow.txt: line 1", "64 bits, where 256 are wanted"]);
    }
    for command in ["insert narrow", "delete narrow --from", "pack --append narrow"] {
        scratch
            .run(&format!("{command} wide.txt"))
            .fails_naming(&["wide.txt: line 1", "256 bits, where 64 are wanted"]);
    }
    // Stores, and what the command line says.
    for line in ["pack narrow --append wide", "pack narrow.txt --bits 64 --append wide"] {
        scratch.run(line).fails_naming(&["has fingerprints of", "256", "64"]);
    }
    scratch.run("insert narrow wide.txt --unless-near -k 65").fails_naming(&["0 to 64"]);
    scratch.run("insert wide narrow.txt --unless-near --as u64").fails_naming(&["256"]);
    scratch.run("create new --bits 128 -k 129").fails_naming(&["0 to 128"]);
    scratch.run("create new --bits 256 --design halves").fails_naming(&["design"]);
    scratch.run("create new --bits 48").fails_naming(&["32, 64, 128 or 256"]);
    assert!(!scratch.path("new").exists());
    holds(&scratch, "narrow", &narrow, "after all of them");
    holds(&scratch, "wide", &wide, "after all of them");
}
