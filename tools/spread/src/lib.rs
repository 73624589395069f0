//! Joins that are spread over machines: which partitions a fingerprint is sent to, and what one of
//! them joins.
//!
//! Each *table* has some bits on top, as those of a design have. With thresholds of 0 a pair within
//! k agrees in all of some top, so if fingerprints are sent by table and top, every pair meets
//! somewhere. It is handed on in the first table that brings it together (the condition is checked
//! from the two fingerprints alone), so that the union of all outputs has each pair once and nobody
//! remembers a set of pairs.
//!
//! A top has millions of values, and a cluster of machines some thousands of tasks. So tops are
//! gathered into *cells* ([`JoinTables`]), cells into *units*, and units into tasks ([`Exchange`]).
//! A unit is what is joined together: the light cells of a table that go to one task; or, of a cell
//! with far more fingerprints than others, those that a hash (their *salt*) gives to one share, or
//! to one of two shares, whose fingerprints are joined with each other
//! ([`fpstore::query::ListJoin`]).
#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod exchange;
mod loads;
mod tables;
#[cfg(test)]
mod tests;

pub use exchange::{Delivery, Exchange, Sent};
pub use loads::HeavyCell;
pub use tables::JoinTables;
