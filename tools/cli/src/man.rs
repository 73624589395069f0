//! `fpstore man`: manual pages, from the help of the commands.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use fpstore::files;

use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  fpstore man | man -l -                         reads the page of fpstore
  fpstore man bench compare | man -l -
  fpstore man -o ~/.local/share/man/man1        installs all of them";

/// Prints a manual page, or writes those of all commands
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The command whose page is printed [default: fpstore itself]
    pub(crate) command: Vec<String>,

    /// Write the pages of all commands into this directory, which is made if it is missing
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
}

/// Prints one page of a program whose command line is `root`, or writes all.
///
/// # Errors
///
/// [`Failure::Usage`] for a command that there is not, those of writing.
pub fn run(args: &Args, root: Command) -> Result<(), Failure> {
    let mut root = root.disable_help_subcommand(true);
    root.build();
    if let Some(directory) = &args.output {
        let written = |path: &PathBuf| {
            let path = path.clone();
            move |source| Failure::File { path, action: "write", source }
        };
        fs::create_dir_all(directory).map_err(written(directory))?;
        // Of a call that was killed.
        files::remove_dead(directory);
        for command in all(&root) {
            let man = page_of(command);
            let path = directory.join(man.get_filename());
            files::put(&path, &render(command, &man)?).map_err(written(&path))?;
        }
        return Ok(());
    }
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let message = format!("man: there is no command {name}; `fpstore --help` lists them");
            Failure::Usage(message)
        })?;
    }
    let mut output = Output::stdout();
    output.bytes(&render(command, &page_of(command))?)?;
    output.flush()
}

/// A command and all below it.
fn all(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().flat_map(all);
    std::iter::once(command).chain(below).collect()
}

fn page_of(command: &Command) -> Man {
    Man::new(command.clone())
        .manual("fpstore")
        .source(concat!("fpstore ", env!("CARGO_PKG_VERSION")))
}

/// The page. What stands behind the options is set as it is written, since columns line up there.
fn render(command: &Command, man: &Man) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let mut write = || -> io::Result<()> {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.has_subcommands() {
            man.render_subcommands_section(&mut page)?;
        }
        if let Some(text) = command.get_after_long_help() {
            page.write_all(b".SH NOTES\n.nf\n")?;
            for line in text.to_string().lines() {
                page.write_all(as_it_is(line).as_bytes())?;
            }
            page.write_all(b".fi\n")?;
        }
        Ok(())
    };
    write().map_err(|error| Failure::System(format!("cannot write a manual page: {error}")))?;
    Ok(page)
}

/// A line in which nothing is a request or an escape of roff.
fn as_it_is(line: &str) -> String {
    let line =
        line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    let guard = if line.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{line}\n")
}
