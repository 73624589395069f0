//! The program of the command-line tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    fpstore_cli::main()
}
