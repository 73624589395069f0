//! The options that all commands take. They stand once, in the help of the tool itself.

use std::path::PathBuf;

use clap::{Arg, Command};

use crate::failure::Failure;
use crate::memory::{self, Size};
use crate::progress::ProgressArgs;
use crate::threads::ThreadArgs;

const HEADING: &str = "Options of all commands";

/// What the help of each command says of them.
const HINT: &str = "\
All commands take -j, --memory, --tmp-dir, --progress, -q and --json, which
`fpstore --help` explains.";

/// The options.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Globals {
    /// Threads.
    #[command(flatten)]
    pub threads: ThreadArgs,

    /// The most memory to take, such as 4GiB [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE", global = true)]
    pub memory: Option<Size>,

    /// Where temporary files go [default: beside what is written, or the system's place for them]
    #[arg(long, value_name = "DIR", global = true)]
    pub tmp_dir: Option<PathBuf>,

    /// Progress.
    #[command(flatten)]
    pub progress: ProgressArgs,

    /// No progress but that of --progress, and no summary but that of --json; warnings stay
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Print JSON where text would be printed: rows, or the summary as one object
    #[arg(long, global = true)]
    pub json: bool,
}

impl Globals {
    /// The most memory to take.
    pub fn memory_limit(&self) -> u64 {
        self.memory.map_or_else(memory::default_limit, |size| size.0)
    }

    /// Refuses `--json` for a command that prints nothing in it.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`].
    pub fn refuse_json(&self, command: &str) -> Result<(), Failure> {
        match self.json {
            true => Err(Failure::Usage(format!("{command}: prints no JSON; leave --json out"))),
            false => Ok(()),
        }
    }
}

/// Leaves these options out of the help of commands, which says where they are explained.
pub fn hidden_in_commands(mut root: Command) -> Command {
    root.build();
    for command in root.get_subcommands_mut() {
        let below = std::mem::take(command);
        *command = hidden(below);
    }
    root
}

fn hidden(mut command: Command) -> Command {
    let are_there = command.get_arguments().any(is_global);
    command = command.mut_args(|arg| match is_global(&arg) {
        true => arg.hide(true),
        false => arg,
    });
    for below in command.get_subcommands_mut() {
        let taken = std::mem::take(below);
        *below = hidden(taken);
    }
    if !are_there || command.has_subcommands() {
        return command;
    }
    let behind = |text: Option<String>| match text {
        Some(text) => format!("{text}\n\n{HINT}"),
        None => HINT.to_string(),
    };
    let long = behind(command.get_after_long_help().map(ToString::to_string));
    let short = behind(command.get_after_help().map(ToString::to_string));
    command.after_long_help(long).after_help(short)
}

fn is_global(arg: &Arg) -> bool {
    arg.is_global_set()
}
