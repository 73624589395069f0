//! `fpstore glossary`: the words that help, messages and results use.

use crate::failure::Failure;
use crate::output::Output;

/// The glossary. Lines fit into 80 columns.
pub const TEXT: &str = include_str!("glossary.txt");

/// Explains the words that help and results use
#[derive(clap::Args)]
#[command(after_long_help = TEXT.trim_end())]
pub struct Args {}

/// Prints the glossary.
pub fn run(_args: &Args) -> Result<(), Failure> {
    let mut output = Output::stdout();
    output.bytes(TEXT.as_bytes())?;
    output.flush()
}
