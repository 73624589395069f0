//! Who may ask, and who may write.

use std::path::{Path, PathBuf};

use axum::http::{HeaderMap, StatusCode, header};
use subtle::{Choice, ConstantTimeEq};

use crate::ServeError;
use crate::refused::Refused;

/// Tokens have so many characters.
const LEAST: usize = 16;
const MOST: usize = 256;

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Nothing: whether the server is there, and its documents.
    Nothing,
    Read,
    Write,
}

/// A token, filled up with zeros, so that all are compared in the same time.
struct Token {
    bytes: [u8; MOST],
    length: u64,
}

impl Token {
    fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; MOST];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { bytes, length: text.len() as u64 })
    }

    fn is(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&other.bytes) & self.length.ct_eq(&other.length)
    }
}

/// The tokens that are taken. Whoever may write may read.
#[derive(Default)]
pub struct Tokens {
    read: Vec<Token>,
    write: Vec<Token>,
}

/// Reads the tokens of a file, one in each line.
fn read(path: &Path) -> Result<Vec<Token>, ServeError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ServeError::TokenFile { path: path.to_path_buf(), source })?;
    let bad = |what: String| ServeError::Token { path: path.to_path_buf(), what };
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let bytes = line.len();
        if !(LEAST..=MOST).contains(&bytes) || !line.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad(format!(
                "line {}: no token: it takes {LEAST} to {MOST} characters of ASCII, without spaces, \
                 such as `openssl rand -hex 32` gives",
                number + 1
            )));
        }
        tokens.extend(Token::new(line.as_bytes()));
    }
    match tokens.is_empty() {
        true => Err(bad("holds no token; write one into it".to_string())),
        false => Ok(tokens),
    }
}

impl Tokens {
    pub fn open(
        read_file: Option<&PathBuf>,
        write_file: Option<&PathBuf>,
    ) -> Result<Self, ServeError> {
        let of = |file: Option<&PathBuf>| file.map_or(Ok(Vec::new()), |path| read(path));
        Ok(Self { read: of(read_file)?, write: of(write_file)? })
    }

    /// Whether reading needs a token.
    pub fn guard_reads(&self) -> bool {
        !self.read.is_empty()
    }

    /// Whether writing needs one.
    pub fn guard_writes(&self) -> bool {
        !self.write.is_empty() || !self.read.is_empty()
    }

    /// Whether a request with these headers has the right.
    ///
    /// # Errors
    ///
    /// 401 without a token that is known, 403 with one that does not suffice.
    pub fn check(&self, headers: &HeaderMap, right: Right) -> Result<(), Refused> {
        let is_guarded = match right {
            Right::Nothing => false,
            Right::Read => self.guard_reads(),
            Right::Write => self.guard_writes(),
        };
        if !is_guarded {
            return Ok(());
        }
        let unknown = |message: &str| Refused::new(StatusCode::UNAUTHORIZED, "token", message);
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let given = match (values.next(), values.next()) {
            (Some(value), None) => value.as_bytes(),
            (None, _) => return Err(unknown("give a token: `Authorization: Bearer TOKEN`")),
            _ => return Err(unknown("give one token")),
        };
        let scheme = given.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
        let given = given.get(7..).filter(|_| scheme).and_then(Token::new);
        let Some(given) = given else {
            return Err(unknown("give a token as `Authorization: Bearer TOKEN`"));
        };
        // All are compared, whichever it is.
        let any = |tokens: &[Token]| {
            tokens.iter().fold(Choice::from(0), |any, token| any | token.is(&given))
        };
        let (may_read, may_write) = (any(&self.read), any(&self.write));
        match right {
            _ if bool::from(may_write) => Ok(()),
            Right::Read | Right::Nothing if bool::from(may_read) => Ok(()),
            Right::Write if bool::from(may_read) => {
                let message = "this token may read, and not write";
                Err(Refused::new(StatusCode::FORBIDDEN, "token", message))
            }
            _ => Err(unknown("the token is not known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const READER: &str = "reader-0123456789abcdef";
    const WRITER: &str = "writer-0123456789abcdef";

    fn status(tokens: &Tokens, given: Option<&str>, right: Right) -> u16 {
        let mut headers = HeaderMap::new();
        if let Some(given) = given {
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(given).unwrap());
        }
        tokens.check(&headers, right).map_or_else(|refused| refused.status.as_u16(), |()| 200)
    }

    #[test]
    fn each_right_needs_its_token() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let reader = file("reader", &format!("{READER}\n\nold-{READER}\n"));
        let writer = file("writer", WRITER);
        let tokens = Tokens::open(Some(&reader), Some(&writer)).unwrap();
        let bearer = |token: &str| format!("Bearer {token}");
        let cut = &READER[..READER.len() - 1];
        for (given, read, write) in [
            (None, 401, 401),
            (Some(bearer(READER)), 200, 403),
            (Some(bearer(&format!("old-{READER}"))), 200, 403),
            (Some(bearer(WRITER)), 200, 200),
            (Some(format!("bearer {WRITER}")), 200, 200),
            (Some(bearer(cut)), 401, 401),
            (Some(bearer(&format!("{READER}x"))), 401, 401),
            (Some(bearer("")), 401, 401),
            (Some(READER.to_string()), 401, 401),
            (Some(bearer(&"x".repeat(5000))), 401, 401),
        ] {
            assert_eq!(status(&tokens, given.as_deref(), Right::Nothing), 200);
            assert_eq!(status(&tokens, given.as_deref(), Right::Read), read, "{given:?}");
            assert_eq!(status(&tokens, given.as_deref(), Right::Write), write, "{given:?}");
        }
        // A reader's token alone: nobody may write.
        let tokens = Tokens::open(Some(&reader), None).unwrap();
        assert_eq!(status(&tokens, Some(&bearer(READER)), Right::Write), 403);
        assert_eq!(status(&tokens, None, Right::Write), 401);
        // A writer's alone: all may read.
        let tokens = Tokens::open(None, Some(&writer)).unwrap();
        assert_eq!(status(&tokens, None, Right::Read), 200);
        assert_eq!(status(&tokens, None, Right::Write), 401);
        assert_eq!(status(&Tokens::default(), None, Right::Write), 200);
    }

    #[test]
    fn files_without_a_token_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        for (text, what) in [
            ("", "holds no token"),
            ("\n \n", "holds no token"),
            ("short", "line 1"),
            ("0123456789 abcdef0", "line 1"),
            (&"x".repeat(257), "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Tokens::open(Some(&path), None).err().unwrap().to_string();
            assert!(error.contains(what) && error.contains("token"), "{error}");
        }
        let missing = directory.path().join("missing");
        assert!(Tokens::open(Some(&missing), None).err().unwrap().to_string().contains("missing"));
    }
}
