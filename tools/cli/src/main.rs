//! The program of the command-line tool.

use std::process::ExitCode;

use fpstore_cli::allocator::OrEnd;

#[global_allocator]
static ALLOCATOR: OrEnd = OrEnd;

fn main() -> ExitCode {
    fpstore_cli::main()
}
