//! What becomes of single characters, in tables of 256 that are made when the first of them is met.

use std::sync::OnceLock;

use caseless::Caseless;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::rules::{Case, Form};

const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

/// The outcome of a character that changes with those around it, or becomes several.
const OPEN: u32 = u32::MAX;

type Page<T> = OnceLock<Box<[T; PAGE]>>;

/// What each character becomes under a form and a case.
pub(super) struct Outcomes {
    form: Form,
    case: Case,
    pages: [Page<u32>; PAGES],
}

impl Outcomes {
    const fn new(form: Form, case: Case) -> Outcomes {
        Outcomes { form, case, pages: [const { OnceLock::new() }; PAGES] }
    }

    /// Those under `form` and `case`.
    pub(super) fn of(form: Form, case: Case) -> &'static Outcomes {
        static ALL: [Outcomes; 6] = [
            Outcomes::new(Form::None, Case::Keep),
            Outcomes::new(Form::None, Case::Fold),
            Outcomes::new(Form::Nfc, Case::Keep),
            Outcomes::new(Form::Nfc, Case::Fold),
            Outcomes::new(Form::Nfkc, Case::Keep),
            Outcomes::new(Form::Nfkc, Case::Fold),
        ];
        &ALL[2 * form as usize + case as usize]
    }

    /// The one character that `character` becomes whatever stands around it, if that is so and if
    /// nothing before it ever joins it.
    #[inline]
    pub(super) fn get(&self, character: char) -> Option<char> {
        let page = self.pages[character as usize / PAGE]
            .get_or_init(|| page(character, |one| self.outcome(one)));
        char::from_u32(page[character as usize % PAGE])
    }

    fn outcome(&self, character: char) -> u32 {
        let parts: Vec<char> = match self.form {
            Form::None => vec![character],
            Form::Nfc => [character].into_iter().nfd().collect(),
            Form::Nfkc => [character].into_iter().nfkd().collect(),
        };
        let first = self.normal(&[character]);
        let folded = if self.case == Case::Fold {
            first.iter().copied().default_case_fold().collect()
        } else {
            first
        };
        let outcome = self.normal(&folded);
        // A composed character that is in its normal form may have parts that join what is before
        // them; it does not itself.
        let stands = self.stands(character) || parts.iter().all(|part| self.stands(*part));
        let all_stand = stands && folded.iter().chain(&outcome).all(|part| self.stands(*part));
        match outcome[..] {
            [single] if all_stand => u32::from(single),
            _ => OPEN,
        }
    }

    fn normal(&self, text: &[char]) -> Vec<char> {
        let text = text.iter().copied();
        match self.form {
            Form::None => text.collect(),
            Form::Nfc => text.nfc().collect(),
            Form::Nfkc => text.nfkc().collect(),
        }
    }

    /// Whether the normal form never joins the character to what is before it.
    fn stands(&self, character: char) -> bool {
        let one = [character].into_iter();
        match self.form {
            Form::None => true,
            Form::Nfc => {
                canonical_combining_class(character) == 0 && is_nfc_quick(one) == IsNormalized::Yes
            }
            Form::Nfkc => {
                canonical_combining_class(character) == 0 && is_nfkc_quick(one) == IsNormalized::Yes
            }
        }
    }
}

/// Whether a character is a letter, a mark or a number by its general category.
#[inline]
pub(crate) fn is_letter(character: char) -> bool {
    static LETTERS: [Page<bool>; PAGES] = [const { OnceLock::new() }; PAGES];
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    let page = LETTERS[character as usize / PAGE].get_or_init(|| {
        page(character, |one| {
            use GeneralCategoryGroup::{Letter, Mark, Number};
            matches!(one.general_category_group(), Letter | Mark | Number)
        })
    });
    page[character as usize % PAGE]
}

/// The page on which `character` stands; surrogates are no characters and get what a replacement
/// character gets.
fn page<T: Copy + std::fmt::Debug>(character: char, of: impl Fn(char) -> T) -> Box<[T; PAGE]> {
    let first = character as u32 / PAGE as u32 * PAGE as u32;
    Box::new(std::array::from_fn(|index| {
        of(char::from_u32(first + index as u32).unwrap_or(char::REPLACEMENT_CHARACTER))
    }))
}
