//! White space: the 25 characters that have had the property `White_Space` since Unicode 6.3.

use super::rules::Space;

/// Appends `text` to `out` with its white space collapsed or removed.
pub(super) fn squeeze(text: &str, space: Space, out: &mut String) {
    out.reserve(text.len());
    let bytes = text.as_bytes();
    // What is not yet copied begins here; it holds no white space before `at`.
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        let blank =
            if MAY_BE_BLANK[usize::from(bytes[at])] { blank_bytes(&bytes[at..]) } else { 0 };
        if blank == 0 {
            at += 1;
            continue;
        }
        if bytes[at] == b' '
            && space == Space::Collapse
            && at > start
            && at + 1 < bytes.len()
            && blank_bytes(&bytes[at + 1..]) == 0
        {
            // One blank between words is one blank: most texts are copied in long pieces.
            at += 1;
            continue;
        }
        append(&text[start..at], space, out);
        at += blank;
        start = at;
    }
    append(&text[start..], space, out);
}

/// Appends a run without white space, which has some before it unless it is the first.
fn append(run: &str, space: Space, out: &mut String) {
    if !run.is_empty() {
        if space == Space::Collapse && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(run);
    }
}

/// Which bytes white space can begin with.
const MAY_BE_BLANK: [bool; 256] = {
    let mut may = [false; 256];
    let leads = *b"\t\n\x0b\x0c\r \xc2\xe1\xe2\xe3";
    let mut index = 0;
    while index < leads.len() {
        may[leads[index] as usize] = true;
        index += 1;
    }
    may
};

/// How many bytes the white space takes with which `bytes` begin; 0 if they do not.
#[inline]
fn blank_bytes(bytes: &[u8]) -> usize {
    match bytes {
        [b'\t'..=b'\r' | b' ', ..] => 1,
        // U+0085, U+00A0
        [0xc2, 0x85 | 0xa0, ..] => 2,
        // U+1680; U+2000 to 200A, 2028, 2029, 202F; U+205F; U+3000
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squeezed(text: &str, space: Space) -> String {
        let mut out = String::new();
        squeeze(text, space, &mut out);
        out
    }

    #[test]
    fn the_bytes_are_those_of_white_space() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = character.to_string();
            let expected = if character.is_whitespace() { text.len() } else { 0 };
            assert_eq!(blank_bytes(text.as_bytes()), expected, "{character:?}");
            assert!(expected == 0 || MAY_BE_BLANK[usize::from(text.as_bytes()[0])]);
        }
    }

    #[test]
    fn runs_become_one_blank_or_none() {
        let text = " \u{3000}a\t\u{a0}\u{2003}中 文\u{85}";
        assert_eq!(squeezed(text, Space::Collapse), "a 中 文");
        assert_eq!(squeezed(text, Space::Remove), "a中文");
        assert_eq!(squeezed(" \n", Space::Collapse), "");
    }
}
