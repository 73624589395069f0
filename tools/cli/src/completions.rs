//! `fpstore completions`: a script that teaches a shell to complete the command line.

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  fpstore completions bash > ~/.local/share/bash-completion/completions/fpstore
  fpstore completions zsh  > ~/.zfunc/_fpstore           (a directory in $fpath)
  fpstore completions fish > ~/.config/fish/completions/fpstore.fish";

/// Prints a completion script for a shell
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script of a program whose command line is `root`.
///
/// # Errors
///
/// Those of writing.
pub fn run(args: &Args, root: &mut Command) -> Result<(), Failure> {
    // `generate` panics where it cannot write, which a `Vec` rules out.
    let mut script = Vec::new();
    let name = root.get_name().to_string();
    clap_complete::generate(args.shell, root, name, &mut script);
    let mut output = Output::stdout();
    output.bytes(&script)?;
    output.flush()
}
