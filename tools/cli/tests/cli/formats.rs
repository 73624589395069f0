//! Formats of fingerprints: what is detected, and what asks for `--format`.

use crate::oracle::{fingerprints, sorted};
use crate::{Scratch, hex, raw};

/// Packs `input` through a file and through a pipe, and expects just this set.
#[track_caller]
fn packs_as(input: impl AsRef<[u8]>, options: &str, expected: &[u64]) {
    let scratch = Scratch::new();
    scratch.write("in", &input);
    scratch.run(&format!("pack in -o file --quiet {options}")).packs(expected);
    assert_eq!(scratch.dump("file"), sorted(expected), "from a file");
    scratch.run_with(&format!("pack - -o pipe --quiet {options}"), input.as_ref()).packs(expected);
    assert_eq!(scratch.dump("pipe"), sorted(expected), "from a pipe");
}

#[track_caller]
fn fails_with(input: impl AsRef<[u8]>, options: &str, message: &str) {
    let scratch = Scratch::new();
    scratch.write("in", input);
    scratch.run(&format!("pack in -o store {options}")).fails_with(message);
    assert!(!scratch.path("store").exists());
}

#[test]
fn sixteen_hexadecimal_digits_each_are_hex() {
    packs_as("0123456789abcdef\nFEDCBA9876543210\n", "", &[0x123456789abcdef, 0xfedcba9876543210]);
}

#[test]
fn sixteen_decimal_digits_each_are_hex() {
    packs_as("0000000000000010\n1234567890123456", "", &[0x10, 0x1234567890123456]);
}

#[test]
fn a_prefix_makes_short_ones_hex() {
    packs_as("0x1\n0Xff 0x10 00000000000000aa\n", "", &[1, 255, 16, 0xaa]);
}

#[test]
fn decimal_digits_not_all_sixteen_long_are_dec() {
    packs_as("10\n1234567890123456\n18446744073709551615\n", "", &[10, 1234567890123456, u64::MAX]);
}

#[test]
fn a_minus_means_a_signed_integer_in_twos_complement() {
    packs_as(
        "-1 -9223372036854775808 9223372036854775807 -0\n",
        "",
        &[u64::MAX, 1 << 63, i64::MAX as u64, 0],
    );
    // The minus makes it 16 characters, and still decimal.
    packs_as("-123456789012345", "", &[(-123456789012345i64) as u64]);
}

#[test]
fn bytes_that_are_no_text_are_raw_integers_if_that_is_said() {
    packs_as(raw(&[1, 2, 0x4142434445464748]), "--format u64le", &[1, 2, 0x4142434445464748]);
    let set = fingerprints(11, 50_000);
    packs_as(raw(&set), "--format u64le", &set);
}

#[test]
fn raw_integers_that_look_like_text_are_packed_with_the_format_given() {
    let text = b"00000000000000010000000000000002";
    let set: Vec<u64> =
        text.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
    packs_as(text, "--format u64le", &set);
}

#[test]
fn white_space_of_all_kinds_separates() {
    packs_as("\n 0x1\t0x2\r\n\r\n0x3\x0c0x4  0x5", "", &[1, 2, 3, 4, 5]);
}

#[test]
fn white_space_alone_is_an_empty_set() {
    packs_as(" \n\n", "", &[]);
    packs_as("", "", &[]);
    packs_as("", "--format u64le", &[]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    packs_as("\u{feff}10\n11\n", "", &[10, 11]);
    packs_as("\u{feff}a\nb\n", "--format hex", &[10, 11]);
}

#[test]
fn the_format_given_takes_what_auto_does_not() {
    packs_as("1\nff\n0xA\n", "--format hex", &[1, 255, 10]);
    packs_as("1234567890123456", "--format dec", &[1234567890123456]);
    packs_as("0000000000000000000000000000017", "--format dec", &[17]);
}

#[test]
fn a_token_cut_at_the_end_of_the_first_64_kib_is_not_judged() {
    // 17 bytes each: byte 65536 lies inside a token, which would be shorter than 16 digits.
    let set = fingerprints(12, 5000);
    assert_ne!((1 << 16) % 17, 0);
    packs_as(hex(&set), "", &set);
    // Byte 65535 is a minus: alone it would be no decimal.
    let text = format!("{} -5", "7 ".repeat((1 << 15) - 1));
    assert_eq!(text.as_bytes()[65535], b'-');
    packs_as(text, "", &[7, (-5i64) as u64]);
}

#[test]
fn more_fingerprints_than_one_buffer_holds_are_all_read() {
    let set = fingerprints(13, 40_000);
    packs_as(hex(&set), "", &set);
    let dec: String = set.iter().map(|&x| format!("{}\r\n", x as i64)).collect();
    packs_as(dec, "", &set);
}

#[test]
fn each_input_is_judged_for_itself() {
    let scratch = Scratch::new();
    scratch.write("a", "0000000000000010");
    scratch.write("b", "10");
    scratch.run("pack a b -o store --quiet").succeeds();
    assert_eq!(scratch.dump("store"), [10, 16]);
}

#[test]
fn tokens_that_leave_the_format_open_ask_for_it() {
    let advice = "up to here fingerprints are neither all hexadecimal (16 digits or 0x) nor all \
                  decimal; give --format hex or --format dec if all of them are that";
    fails_with("ff\n", "", &format!("in: line 1, column 1: \"ff\": {advice}"));
    fails_with("12\n 0x12\n", "", &format!("in: line 2, column 2: \"0x12\": {advice}"));
    fails_with(
        "12\n13 00000000000000ab\n",
        "",
        &format!("in: line 2, column 4: \"00000000000000ab\": {advice}"),
    );
    let advice = "is neither hexadecimal nor decimal; give the --format that the file has, of those \
                  that `fpstore --help` lists";
    fails_with("name\n", "", &format!("in: line 1, column 1: \"name\": {advice}"));
    fails_with("é\n", "", &format!("in: line 1, column 1: \"é\": {advice}"));
    fails_with("--1\n", "", &format!("in: line 1, column 1: \"--1\": {advice}"));
}

#[test]
fn a_token_over_64_kib_asks_for_the_format() {
    fails_with(
        "1".repeat(70_000),
        "",
        "in: no whole fingerprint in the first 65536 bytes; give --format hex, dec or u64le if this \
         is a list of fingerprints",
    );
}

#[test]
fn text_whose_last_character_is_cut_by_the_first_64_kib_is_still_text() {
    let text = format!("x\n{}", "€".repeat(30_002));
    assert!(std::str::from_utf8(&text.as_bytes()[..1 << 16]).is_err());
    assert_eq!(text.len() % 8, 0, "else it could not pass for raw integers");
    let advice = "is neither hexadecimal nor decimal; give the --format that the file has, of those \
                  that `fpstore --help` lists";
    fails_with(text, "", &format!("in: line 1, column 1: \"x\": {advice}"));
}

#[test]
fn utf_16_is_not_taken_for_raw_integers() {
    let message = "in: byte 0: UTF-16 text; convert it to UTF-8, or give --format u64le if it is \
                   raw integers";
    let little: Vec<u8> = "\u{feff}0x17\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "\u{feff}0x17\r\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    fails_with(&little, "", message);
    fails_with(&big, "", message);
}

#[test]
fn a_list_that_begins_with_sixteen_digits_may_not_go_on_with_fewer() {
    // The first 64 KiB pass for hexadecimal. Taken so, the last two lines would be wrong.
    let mut text = "100000000000000a\n".repeat(4000);
    text.push_str("9999999999999999\n17\n");
    fails_with(
        text,
        "",
        "in: line 4002, column 1: 2 digits, after fingerprints of 16 hexadecimal digits; \
         correct it, or give --format hex if zeros in front are left out, or give --on-error skip",
    );
}

#[test]
fn a_count_beside_a_fingerprint_is_never_advised_to_be_taken_for_one() {
    let table = |column: &str| {
        format!(
            "each line has 2 columns, separated by white space; to take the fingerprints from \
             {column}"
        )
    };
    let first = "column 1, give --format columns,no-header --fingerprint-column 1";
    fails_with(
        "8f3ac41e09b7d265 3\n8f3ac41e09b7d264 1\n",
        "",
        &format!("in: line 1, column 18: \"3\": {}", table(first)),
    );
    // As `uniq -c` writes it, here with the last line cut.
    let second = "column 2, give --format columns,no-header --fingerprint-column 2";
    fails_with(
        "      3 8f3ac41e09b7d265\n     12 8f3ac41e09b7d264",
        "",
        &format!("in: line 1, column 9: \"8f3ac41e09b7d265\": {}", table(second)),
    );
    let named = "the column \"hash\", give --format columns --fingerprint-column hash";
    fails_with(
        "hash count\n8f3ac41e09b7d265 3\n",
        "",
        &format!("in: line 1, column 1: \"hash\": {}", table(named)),
    );
    // All decimal: nobody can tell which are fingerprints.
    let open = "each line has 2 columns, separated by white space; give --format columns,no-header \
                --fingerprint-column N, or --format hex or --format dec if all of them are fingerprints";
    fails_with("\n 17 3\n18 1\n", "", &format!("in: line 2, column 2: \"17\": {open}"));
    packs_as("17 3\n18 1\n", "--format dec", &[17, 3, 18, 1]);
    packs_as("17 3 18 1\n", "", &[17, 3, 18, 1]);
}

#[test]
fn columns_are_separated_by_any_white_space() {
    let columns = "--format columns,no-header --fingerprint-column";
    let counted = "      3 8f3ac41e09b7d265\n \t12\t\t 8f3ac41e09b7d264 \r\n\n1 000000000000000f";
    let set = [0x8f3ac41e09b7d265, 0x8f3ac41e09b7d264, 0xf];
    packs_as(counted, &format!("{columns} 2"), &set);
    packs_as(counted, "--format columns,no-header,dec --fingerprint-column 1", &[3, 12, 1]);
    packs_as(
        "count hash\n3 0x11\n4  0x12\n",
        "--format columns --fingerprint-column hash",
        &[17, 18],
    );
    // Nothing quotes.
    packs_as("\"a 0x11\nb\" 0x12\n", &format!("{columns} 2"), &[17, 18]);
    fails_with(
        "a 0x11\nb c 0x12\n",
        "--format columns,no-header,hex --fingerprint-column 2",
        "in: line 2: 3 fields, where the first line has 2; correct it, or give --on-error skip",
    );
    // White space and words over the ends of buffers.
    let many: String = (0..20_000u64)
        .map(|i| format!("{i}{}{i:016x} \n", " ".repeat(i as usize % 7 + 1)))
        .collect();
    packs_as(many, &format!("{columns} 2"), &(0..20_000).collect::<Vec<_>>());
}

#[test]
fn the_only_column_of_hexadecimal_digits_is_taken() {
    let rows =
        "id,mac,day,phash64\n1,a1,20260101,00000000000000ff\n2,b2,20260102,0000000000000A0b\n";
    packs_as(rows, "", &[0xff, 0xa0b]);
    packs_as(rows.replace(',', "\t"), "", &[0xff, 0xa0b]);
    let json =
        "{\"n\":1,\"url\":\"ab\",\"h\":\"00000000000000ff\"}\n{\"h\":\"0000000000000a0b\"}\n";
    packs_as(json, "", &[0xff, 0xa0b]);
    let ask = "which column holds the fingerprints?";
    for (input, why) in [
        (
            rows.replace("a1,", "00000000000000f1,").replace("b2,", "00000000000000f2,"),
            "two of them",
        ),
        (rows.replace("ff\n", "fg\n"), "a digit is none"),
        (rows.replace("00000000000000ff", "0000000000000011").replace("A0b", "101"), "numbers"),
        (rows.replace("00000000000000ff", ""), "one is missing"),
    ] {
        let scratch = Scratch::new();
        scratch.write("in", &input);
        let ran = scratch.run("pack in -o store").ends_with_code(2);
        assert!(ran.stderr.contains(ask), "{why}: {}", ran.stderr);
    }
    // Their width is told, too.
    let scratch = Scratch::new();
    let wide = "ab".repeat(32);
    scratch.write("in", format!("name,hash256\nx,{wide}\n"));
    scratch.run("pack in -o store -q").succeeds();
    assert_eq!(scratch.run("dump store").succeeds().stdout, format!("{wide}\n"));
}
