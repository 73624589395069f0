//! `fpstore bench`: hands over to a program of its own, as its benchmarks need much that the tool
//! does not.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::output::check_stdout;

/// The subcommand.
pub const NAME: &str = "bench";
const PROGRAM: &str = "fpstore-bench";

const AFTER_HELP: &str = "\
Examples:
  fpstore bench hashes.txt --output report       your own fingerprints
  fpstore bench hashes.txt --quick               a recommendation at once
  fpstore bench --help                           all options

This is the program fpstore-bench, which is installed by itself:
  cargo install --path tools/bench               from the root of the repository
It is looked for beside fpstore, then in PATH.";

/// Measures bytes against latency on a set, and recommends what to pack
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP, disable_help_flag = true)]
pub struct Args {
    /// What `fpstore bench --help` tells
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Hands over what follows the subcommand, as it was given.
pub fn run() -> Result<ExitCode, Failure> {
    // That program finds standard output open, if only onto nothing.
    check_stdout()?;
    hand_over(env::args_os().skip(2))
}

/// Whether the program can be found.
pub fn is_there() -> bool {
    beside().is_some()
        || env::var_os("PATH").is_some_and(|path| {
            env::split_paths(&path).any(|directory| directory.join(file_name()).is_file())
        })
}

/// Runs the program with these arguments, in the place of this one where the system can do that.
pub fn hand_over(
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<ExitCode, Failure> {
    let mut command = Command::new(beside().unwrap_or_else(|| PROGRAM.into()));
    command.args(arguments);
    #[cfg(unix)]
    let result = Err(std::os::unix::process::CommandExt::exec(&mut command));
    #[cfg(not(unix))]
    let result = command.status().map(|status| {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        ExitCode::from(code.unwrap_or(2))
    });
    result.map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Usage(format!(
            "bench: {PROGRAM} is not there; install it (`cargo install --path tools/bench`), or put \
             it into PATH or beside fpstore"
        )),
        _ => {
            let remedy = fpstore::remedy_of_limit(&error).unwrap_or("install it again");
            Failure::System(format!("bench: cannot run {PROGRAM}: {error}; {remedy}"))
        }
    })
}

/// The program in the directory of this one.
fn beside() -> Option<PathBuf> {
    Some(env::current_exe().ok()?.with_file_name(file_name())).filter(|path| path.is_file())
}

fn file_name() -> String {
    format!("{PROGRAM}{}", env::consts::EXE_SUFFIX)
}
