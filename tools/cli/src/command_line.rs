//! Reading command lines, and ending programs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::closed;
use crate::failure::Failure;
use crate::global;

/// Reads a command line, which begins with the name of the program. What is wrong with it is told
/// in one line, as every error; `None` stands for a request for help or the version, which is done.
///
/// # Errors
///
/// [`Failure::Usage`]; [`Failure::NoOutput`], [`Failure::Output`] and [`Failure::ClosedPipe`] where
/// help cannot be written.
pub fn read<P: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Option<P>, Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = global::hidden_in_commands(P::command()).try_get_matches_from(&arguments);
    let error = match parsed.and_then(|matches| P::from_arg_matches(&matches)) {
        Ok(parsed) => return Ok(Some(parsed)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion if closed::is_stdout() => {
            Err(Failure::NoOutput)
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
            printed => printed.map(|()| None).map_err(Failure::Output),
        },
        // A command without arguments is a question.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => Err(Failure::Usage(usage::<P>(&error.render().to_string(), &arguments))),
    }
}

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

/// What the parser of the command line says, in one line and with the way to help.
fn usage<P: Parser>(text: &str, arguments: &[OsString]) -> String {
    let told = text.lines().map(str::trim).take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let told: Vec<&str> = told.filter(|line| !line.is_empty()).collect();
    let told = told.join(" ").replace(" tip: ", "; ");
    let told = told.strip_prefix("error: ").unwrap_or(&told);
    // The command as far as it is one.
    let mut command = P::command();
    let mut name = command.get_bin_name().unwrap_or(command.get_name()).to_string();
    for argument in &arguments[1.min(arguments.len())..] {
        let Some(below) = command.find_subcommand(argument) else { break };
        name = format!("{name} {}", below.get_name());
        command = below.clone();
    }
    format!("{told}; see `{name} --help`")
}

/// The exit code of what a program came to; tells an error on standard error, in one line.
pub fn end(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // Whoever read our output has enough of it.
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing can be done if standard error is closed too.
            let _ = writeln!(io::stderr(), "fpstore: {}", failure.line());
            ExitCode::from(failure.code())
        }
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
