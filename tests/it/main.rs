//! Tests of fpstore through its public interface, against oracles that share no code with it.
//!
//! `oracle` is a decoder written from the format document alone, `spec` reads the tables of that
//! document, `forge` damages stores; `sets` makes fingerprints and answers by brute force.

#![allow(missing_docs)]

mod annotated;
mod answers;
mod batch;
mod beside;
mod damage;
#[cfg(unix)]
mod displaced;
mod exactness;
mod filters;
mod forge;
mod hostile;
mod house;
mod ids;
mod join;
mod kept;
mod living;
mod mutants;
mod names;
mod names_vectors;
mod narrow;
mod nearest;
mod oracle;
mod plan;
mod planted;
mod prefix;
mod recipes;
mod repaired;
mod sets;
mod sharing;
mod short;
#[allow(dead_code)]
mod spec;
mod store;
mod vectors;
mod wide_join;
mod widths;
