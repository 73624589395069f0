//! Which words two texts have for themselves.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

/// Words that are compared, between what both texts begin and end with.
const MOST: usize = 2000;
/// Bytes of a word; longer ones, of texts without spaces, are cut into several.
const WORD_BYTES: usize = 64;
/// Words and spaces of both texts that stand around a difference.
const AROUND: usize = 80;
/// Words of a difference that are shown.
const SHOWN: usize = 300;

/// Part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// The other text has it as well.
    Both(String),
    /// Only this one has it.
    Own(String),
    /// So many words are left out.
    Cut(usize),
}

/// Parts of a text by the places of their words.
#[derive(Clone, Copy)]
enum Part {
    Both(usize),
    Own(usize),
    Cut(usize),
}

/// Compares two texts, word by word, and leaves out what is far from all differences.
///
/// Complexity: linear in the texts, and at most [`MOST`]² steps more.
pub fn compare(one: &str, other: &str) -> [Vec<Run>; 2] {
    let (a, b) = (words(one), words(other));
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[start..], &b[start..]);
    let ends = rest_a.iter().rev().zip(rest_b.iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    let (middle_a, middle_b) = (&rest_a[..rest_a.len() - end], &rest_b[..rest_b.len() - end]);
    if middle_a.is_empty() && middle_b.is_empty() {
        return [beginning(one), beginning(other)];
    }
    let (cut_a, cut_b) = (middle_a.len().min(MOST), middle_b.len().min(MOST));
    let (looked_a, looked_b) = (&middle_a[..cut_a], &middle_b[..cut_b]);
    let mut parts = [vec![Part::Both(start)], vec![Part::Both(start)]];
    for operation in capture_diff_slices(Algorithm::Myers, looked_a, looked_b) {
        let (own_a, own_b, both) = match operation {
            DiffOp::Equal { old_index, len, .. } => {
                // A space between two differences is part of them.
                let is_space = |word: &&str| word.trim().is_empty();
                match looked_a[old_index..old_index + len].iter().all(is_space) {
                    true => (len, len, 0),
                    false => (0, 0, len),
                }
            }
            DiffOp::Delete { old_len, .. } => (old_len, 0, 0),
            DiffOp::Insert { new_len, .. } => (0, new_len, 0),
            DiffOp::Replace { old_len, new_len, .. } => (old_len, new_len, 0),
        };
        for (parts, own) in parts.iter_mut().zip([own_a, own_b]) {
            match parts.last_mut() {
                Some(Part::Own(last)) if both == 0 => *last += own,
                _ => parts.push(if both > 0 { Part::Both(both) } else { Part::Own(own) }),
            }
        }
    }
    for (parts, cut) in parts.iter_mut().zip([middle_a.len() - cut_a, middle_b.len() - cut_b]) {
        parts.extend([Part::Cut(cut), Part::Both(end)]);
    }
    let [parts_a, parts_b] = parts;
    [runs(&a, &parts_a), runs(&b, &parts_b)]
}

/// The words of a text, and what stands between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for mut word in text.split_word_bounds() {
        while word.len() > WORD_BYTES {
            let end = (1..=WORD_BYTES).rev().find(|&end| word.is_char_boundary(end));
            let (before, behind) = word.split_at(end.unwrap_or(word.len()));
            words.push(before);
            word = behind;
        }
        words.push(word);
    }
    words
}

/// The text of parts, those cut that are long.
fn runs(words: &[&str], parts: &[Part]) -> Vec<Run> {
    let (mut runs, mut at) = (Vec::new(), 0);
    let (first, last) = (0, parts.len().saturating_sub(1));
    for (place, part) in parts.iter().enumerate() {
        let (Part::Both(length) | Part::Own(length) | Part::Cut(length)) = *part;
        let these = &words[at..at + length];
        at += length;
        let all = |words: &[&str]| words.concat();
        let (head, tail) = match part {
            Part::Both(_) => {
                (if place == first { 0 } else { AROUND }, if place == last { 0 } else { AROUND })
            }
            Part::Own(_) => (SHOWN, 0),
            Part::Cut(_) => (0, 0),
        };
        let run = |words: &[&str]| match part {
            Part::Own(_) => Run::Own(all(words)),
            _ => Run::Both(all(words)),
        };
        match length <= head + tail {
            true => runs.push(run(these)),
            false => {
                let cut = &these[head..length - tail];
                let count = cut.iter().filter(|word| !word.trim().is_empty()).count();
                runs.push(run(&these[..head]));
                runs.push(Run::Cut(count));
                runs.push(run(&these[length - tail..]));
            }
        }
    }
    runs.retain(|run| match run {
        Run::Both(text) | Run::Own(text) => !text.is_empty(),
        Run::Cut(words) => *words > 0,
    });
    runs
}

/// The beginning of a text.
pub fn beginning(text: &str) -> Vec<Run> {
    let words = words(text);
    runs(&words, &[Part::Own(words.len())])
        .into_iter()
        .map(|run| if let Run::Own(text) = run { Run::Both(text) } else { run })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(runs: &[Run]) -> String {
        let text = |run: &Run| match run {
            Run::Both(text) | Run::Own(text) => text.clone(),
            Run::Cut(words) => format!("[{words}]"),
        };
        runs.iter().map(text).collect()
    }

    /// The words of the runs that both texts have.
    fn both(runs: &[Run]) -> Vec<String> {
        let of = |run: &Run| match run {
            Run::Both(text) => text.split_whitespace().map(str::to_string).collect(),
            _ => Vec::new(),
        };
        runs.iter().flat_map(of).collect()
    }

    proptest! {
        #[test]
        fn runs_are_the_texts_and_both_have_what_they_say(
            one in "([a-c]{1,2}[ \n]{1,2}){0,12}",
            other in "([a-c]{1,2}[ \n]{1,2}){0,12}",
        ) {
            let [left, right] = compare(&one, &other);
            prop_assert_eq!(texts(&left), one.clone());
            prop_assert_eq!(texts(&right), other.clone());
            prop_assert_eq!(both(&left), both(&right));
            // No longer than what is common of all subsequences, and not less where nothing
            // differs.
            if one == other {
                prop_assert!(!left.iter().any(|run| matches!(run, Run::Own(_))));
            }
        }
    }

    #[test]
    fn what_differs_is_marked_and_what_is_far_from_it_is_left_out() {
        let [left, right] = compare("one two three", "one 2 three");
        assert_eq!(
            left,
            ["one ", "two", " three"].map(|text| match text {
                "two" => Run::Own(text.into()),
                text => Run::Both(text.into()),
            })
        );
        assert_eq!(right[1], Run::Own("2".into()));
        // A space between two differences is one of them.
        let [left, _] = compare("a b c", "a x y c");
        assert_eq!(left.len(), 3);
        let long = "word ".repeat(1000);
        let [left, right] = compare(&format!("{long}one {long}"), &format!("{long}two {long}"));
        // 80 words and spaces on either side.
        assert_eq!((left.len(), right.len()), (5, 5));
        assert_eq!((&left[0], &left[4]), (&Run::Cut(960), &Run::Cut(960)));
        assert_eq!(left[2], Run::Own("one".into()));
        assert_eq!(left[1], Run::Both("word ".repeat(40)));
    }

    #[test]
    fn texts_that_have_nothing_in_common_take_bounded_work() {
        let one: String = (0..200_000).map(|n| format!("a{n} ")).collect();
        let other: String = (0..200_000).map(|n| format!("b{n} ")).collect();
        let [left, right] = compare(&one, &other);
        assert!(texts(&left).len() + texts(&right).len() < 20_000);
        // Without a space, too.
        let [left, _] = compare(&"x".repeat(1 << 20), &"y".repeat(1 << 20));
        assert!(texts(&left).len() < 30_000);
    }
}
