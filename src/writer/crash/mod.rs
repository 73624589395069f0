//! Writers that are stopped, that fail, and whose disks fail, over a
//! [simulated](crate::store::simulated) directory.
//!
//! A [story](story) is what a store may hold: what was written up to each act, how much of it was
//! promised. A [stage](stage) has the writer, and looks at what a crash leaves.

mod displaced;
mod faults;
mod mutants;
mod schedules;
mod stage;
mod stops;
mod story;
