//! Text of a page. Whatever comes from documents goes through [`Html::text`], which makes it inert;
//! markup is written in the program.

use std::fmt::Write;

/// Grows a page.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// Markup, which is part of the program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text from anywhere. Nothing in it is markup, and characters that are not seen, or turn the
    /// text around them, stand as their numbers: `U+202E`.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // A line end.
                '\r' if characters.peek() == Some(&'\n') => {}
                '\n' | '\t' => self.0.push(character),
                _ if is_unseen(character) => {
                    self.raw("<bdi class=\"u\">");
                    // Writing to memory does not fail.
                    let _ = write!(self.0, "U+{:04X}", u32::from(character));
                    self.raw("</bdi>");
                }
                _ => self.0.push(character),
            }
        }
        self
    }

    /// A whole number with separators: 1,234,567.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.push_str(&crate::report::count(number));
        self
    }

    /// A share of some, in percent.
    pub fn percent(&mut self, part: u64, of: u64) -> &mut Self {
        let _ = write!(self.0, "{:.1}%", part as f64 / of.max(1) as f64 * 100.0);
        self
    }

    /// The page.
    pub fn finish(self) -> String {
        self.0
    }
}

/// Whether a character is not seen, or changes the order of those around it: controls, and the
/// format characters of Unicode. The two that join letters or keep them apart belong to words of
/// many languages, and do neither.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}
