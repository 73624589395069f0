//! Which characters are cut without the crate, and where a cut may stand.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word by itself, whatever stands around it, unless something joins it from the right.
    Word,
    /// As `Word`, and not a word.
    Mark,
    /// All else.
    Other,
}

/// The characters that are not left to the crate. They are in Unicode since version 5.2 at the
/// latest and have Word_Break=Other.
#[inline]
pub(super) fn kind(character: char) -> Kind {
    match character {
        '\u{4e00}'..='\u{9fcb}'
        | '\u{3041}'..='\u{3096}'
        | '\u{3400}'..='\u{4db5}'
        | '\u{20000}'..='\u{2a6d6}' => Kind::Word,
        '、' | '。' | '〈'..='】' | '！' | '（' | '）' | '？' | '“' | '”' | '—' | '…' => {
            Kind::Mark
        }
        _ => Kind::Other,
    }
}

/// Whether a word is one ideograph, and so part of a run that a dictionary may cut.
#[cfg(feature = "jieba")]
pub(super) fn is_ideograph(word: &[u8]) -> bool {
    let character = std::str::from_utf8(word).ok().and_then(|word| word.chars().next());
    character.is_some_and(|one| {
        one >= '\u{3400}' && one.len_utf8() == word.len() && kind(one) == Kind::Word
    })
}

/// Whether there is a boundary before the character if a blank of ASCII or an ideograph stands
/// there.
#[inline]
pub(super) fn is_fresh(character: char) -> bool {
    use GeneralCategory::{
        ClosePunctuation, DashPunctuation, DecimalNumber, FinalPunctuation, InitialPunctuation,
        LowercaseLetter, MathSymbol, OpenPunctuation, OtherLetter, OtherPunctuation,
        TitlecaseLetter, UppercaseLetter,
    };
    character.is_ascii() && !character.is_ascii_whitespace()
        || kind(character) != Kind::Other
        || matches!(
            character.general_category(),
            UppercaseLetter
                | LowercaseLetter
                | TitlecaseLetter
                | OtherLetter
                | DecimalNumber
                | OtherPunctuation
                | OpenPunctuation
                | ClosePunctuation
                | InitialPunctuation
                | FinalPunctuation
                | DashPunctuation
                | MathSymbol
        )
}
