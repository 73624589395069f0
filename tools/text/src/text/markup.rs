//! Text without HTML. The rules are few, so that anyone can write them again; they are no parser,
//! and never fail.
//!
//! * A `<` that is followed by a letter of ASCII, `/`, `!` or `?` begins a tag, which ends with the
//!   next `>`; `<!--` begins a comment, which ends with the next `-->`. Each becomes one blank.
//!   Without an end, the `<` is text.
//! * After a tag `script` or `style` (in any case, no letter or digit after it) all up to the next
//!   `</script` or `</style` goes, too; all of the rest, if there is none.
//! * `&amp;` `&lt;` `&gt;` `&quot;` `&apos;` become `&` `<` `>` `"` `'`, `&nbsp;` becomes U+00A0;
//!   `&#N;` and `&#xN;` (1 to 8 digits) the character of that number, U+FFFD if there is none. All
//!   else that begins with `&` is text.

/// Appends `text` without markup to `out`.
pub(super) fn strip(text: &str, out: &mut String) {
    out.reserve(text.len());
    let mut ends = Ends { tag: 0, comment: 0 };
    let mut at = 0;
    while let Some(found) = text[at..].find(['<', '&']) {
        out.push_str(&text[at..at + found]);
        at += found;
        if text.as_bytes()[at] == b'&' {
            match reference(&text[at..]) {
                Some((character, len)) => {
                    out.push(character);
                    at += len;
                    continue;
                }
                None => out.push('&'),
            }
        } else if let Some(end) = ends.after(text, at) {
            out.push(' ');
            at = past_raw_text(text, at, end);
            continue;
        } else {
            out.push('<');
        }
        at += 1;
    }
    out.push_str(&text[at..]);
}

/// Where the next ends are, so that text without any is gone through once and not from every `<`
/// on.
struct Ends {
    tag: usize,
    comment: usize,
}

impl Ends {
    /// Where the tag or comment that begins at `at` is over, if there is one.
    fn after(&mut self, text: &str, at: usize) -> Option<usize> {
        let first = text.as_bytes().get(at + 1)?;
        if !(first.is_ascii_alphabetic() || matches!(first, b'/' | b'!' | b'?')) {
            return None;
        }
        if text[at..].starts_with("<!--") {
            return next(text, at + 4, "-->", &mut self.comment);
        }
        next(text, at + 1, ">", &mut self.tag)
    }
}

/// The end of the next `what` from `at` on; `known` is that of an earlier search.
fn next(text: &str, at: usize, what: &str, known: &mut usize) -> Option<usize> {
    if *known < at + what.len() {
        *known = text[at..].find(what).map_or(usize::MAX, |found| at + found + what.len());
    }
    (*known != usize::MAX).then_some(*known)
}

/// `end`, or after a tag of `script` or `style` where its text is over.
fn past_raw_text(text: &str, at: usize, end: usize) -> usize {
    let tag = &text.as_bytes()[at + 1..end];
    for name in [b"script".as_slice(), b"style"] {
        let is = tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is && !tag[name.len()].is_ascii_alphanumeric() {
            let bytes = text.as_bytes();
            let closes = |from: usize| {
                bytes
                    .get(from + 2..from + 2 + name.len())
                    .is_some_and(|word| word.eq_ignore_ascii_case(name))
            };
            let closing = text[end..]
                .match_indices("</")
                .map(|(index, _)| end + index)
                .find(|from| closes(*from));
            return closing.unwrap_or(text.len());
        }
    }
    end
}

/// The character that the reference at the start of `text` stands for, and its length.
fn reference(text: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 6] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&nbsp;", '\u{a0}'),
    ];
    if let Some((name, character)) = NAMED.into_iter().find(|(name, _)| text.starts_with(name)) {
        return Some((character, name.len()));
    }
    let number = text.strip_prefix("&#")?;
    let (radix, digits) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (16, digits),
        None => (10, number),
    };
    let count = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    if !(1..=8).contains(&count) || digits.as_bytes().get(count) != Some(&b';') {
        return None;
    }
    let value = u32::from_str_radix(&digits[..count], radix).ok()?;
    Some((
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
        text.len() - digits.len() + count + 1,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut out = String::new();
        strip(text, &mut out);
        out
    }

    #[test]
    fn tags_become_blanks_and_references_characters() {
        assert_eq!(stripped("<p class='x'>a<br/>b</p>"), " a b ");
        assert_eq!(
            stripped("a &lt; b &amp;&amp; c &#x4e2d;&#25991;&#0;&#xd800;"),
            "a < b && c 中文\0\u{fffd}"
        );
        assert_eq!(stripped("x<!-- > -->y<!doctype html>z"), "x y z");
        assert_eq!(stripped("<SCRIPT a>if (a<b) {}</Script >t<style>s"), "  t ");
        assert_eq!(stripped("<scripts>kept</scripts>"), " kept ");
    }

    #[test]
    fn what_is_no_markup_stays() {
        for text in [
            "a < b",
            "a <b",
            "x <- y",
            "&;",
            "&#;",
            "&#x;",
            "&#123456789;",
            "&nope;",
            "R&D",
            "<",
            "&",
            "<é>",
            "<!-- open",
            "&#12",
        ] {
            assert_eq!(stripped(text), text);
        }
    }
}
