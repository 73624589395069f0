//! Characters that are not seen: those with the property Default_Ignorable_Code_Point, such as the
//! soft hyphen, zero-width spaces and joiners, marks of direction, and selectors of variants.

/// Whether a character has the property, by `DerivedCoreProperties.txt` of Unicode 16.0.0.
fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// `text` without these characters, in `out` if it has some.
pub(super) fn strip<'a>(text: &'a str, out: &'a mut String) -> &'a str {
    let (bytes, mut at, mut start) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        at += crate::ascii::prefix(&bytes[at..]);
        let Some(character) = text[at..].chars().next() else { break };
        let end = at + character.len_utf8();
        if is_ignorable(character) {
            out.push_str(&text[start..at]);
            start = end;
        }
        at = end;
    }
    if start == 0 {
        return text;
    }
    out.push_str(&text[start..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Case, Form, fold};
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

    fn stripped(text: &str) -> String {
        strip(text, &mut String::new()).to_string()
    }

    #[test]
    fn what_is_not_seen_goes() {
        assert_eq!(stripped("a\u{ad}b\u{200b}\u{200d}中\u{feff}"), "ab中");
        assert_eq!(stripped("\u{200e}"), "");
        let seen = "nothing 中文 \u{a0}\u{2010}";
        assert_eq!(strip(seen, &mut String::new()).as_ptr(), seen.as_ptr());
    }

    /// The property is derived: what is of category Cf, selects a variant or is listed, but no
    /// white space, no interlinear annotation, no control of hieroglyphs, and nothing that stands
    /// before numbers.
    #[test]
    fn the_characters_are_those_that_the_derivation_gives() {
        let listed = |c: char| {
            matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2065}'
                | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'
                | '\u{e0002}'..='\u{e001f}' | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
        };
        let selects = |c: char| {
            matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{e0100}'..='\u{e01ef}')
        };
        let shown = |c: char| {
            matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
                | '\u{8e2}' | '\u{110bd}' | '\u{110cd}' | '\u{fff9}'..='\u{fffb}'
                | '\u{13430}'..='\u{13440}')
        };
        let mut count = 0;
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let is_format = character.general_category() == GeneralCategory::Format;
            let expected = (is_format || selects(character) || listed(character))
                && !character.is_whitespace()
                && !shown(character);
            assert_eq!(is_ignorable(character), expected, "{character:?}");
            count += u32::from(expected);
        }
        assert_eq!(count, 4174);
    }

    #[test]
    fn normal_forms_bring_none_back() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| !is_ignorable(*c)) {
            let mut out = String::new();
            fold(character.encode_utf8(&mut [0; 4]), Form::Nfkc, Case::Fold, &mut out);
            assert!(!out.chars().any(is_ignorable), "{character:?}");
        }
    }
}
