//! What can be decided about a text.

/// Which characters mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Each only itself.
    None,
    /// Canonically equivalent ones (NFC).
    Nfc,
    /// Compatible ones, too: full and half width, ligatures, circled digits (NFKC).
    Nfkc,
}

/// Whether case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// Letters stay as they are.
    Keep,
    /// Full case folding of Unicode, and the normal form once more.
    Fold,
    /// The same, sentence by sentence once these are cut: a boundary goes by upper case.
    FoldSentences,
}

/// What becomes of white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Stays as it is.
    Keep,
    /// Runs become one blank; none at the start and the end.
    Collapse,
    /// Goes.
    Remove,
}

/// What becomes of characters that are not seen, such as soft hyphens and zero-width spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ignorable {
    /// Are characters like any other.
    Keep,
    /// Go.
    Remove,
}

/// What becomes of markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Markup {
    /// Is text like any other.
    Keep,
    /// Tags of HTML become blanks, character references what they stand for.
    Html,
}

/// How the text of a document is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextRules {
    /// What becomes of markup.
    pub markup: Markup,
    /// What becomes of characters that are not seen.
    pub ignorable: Ignorable,
    /// Which characters mean the same.
    pub form: Form,
    /// Whether case counts.
    pub case: Case,
    /// What becomes of white space.
    pub space: Space,
}
