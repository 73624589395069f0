//! `fpstore completions`: a script that teaches a shell to complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
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

/// Prints the script.
pub fn run(args: &Args) -> Result<(), Failure> {
    // `generate` panics where it cannot write, which a `Vec` rules out.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fpstore", &mut script);
    let mut output = Output::stdout();
    output.bytes(&script)?;
    output.flush()
}
