//! A directory in memory, for tests: it fails at any operation, or stops there, and shows what a
//! power failure may leave of it.
//!
//! Of each file there are the bytes that programs see and those that are durable, and so it is with
//! names. What was not synced survives a crash, or does not: bytes in pages, each on its own, and
//! of names each change on its own; only a rename happens as a whole.

mod directory;
mod everywhere;
mod state;

pub(crate) use directory::{Fault, Simulated, Step};
pub(crate) use everywhere::{moments, open, stop_everywhere};
pub(crate) use state::{Files, Kept, Random, State, Survives};
