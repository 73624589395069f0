//! What C sees.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod agreement;
mod built;
mod header;
mod programs;
