//! Words of commands that are printed, as shells take them.

use std::path::Path;

/// A word of a command as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./,:=@%+".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A path that a command reads or writes, as a shell takes it.
pub fn quoted_path(path: &Path) -> String {
    let text = path.display().to_string();
    match text.starts_with('-') && text != "-" {
        true => quoted(&format!("./{text}")),
        false => quoted(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_shells_take_them() {
        for (word, expected) in [
            ("pages.csv", "pages.csv"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x;`y`", "'$x;`y`'"),
            ("", "''"),
            ("ü", "'ü'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert_eq!(quoted_path(Path::new("-in")), "./-in");
        assert_eq!(quoted_path(Path::new("-")), "-");
    }
}
