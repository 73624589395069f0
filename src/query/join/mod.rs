//! Joins: all pairs within Hamming distance k, of one set or of two.
//!
//! The fingerprints come from the identity tables or bases, which are read once, in order, and
//! joined in memory ([`engine`]): split by parts of their bits, as the tables of a design split
//! them (section 3.1 of the paper), until what is left is compared pair by pair. A pair is handed
//! on under the first part in which its two fingerprints differ in no more bits than the threshold
//! of that part, so each comes once and none is remembered.
//!
//! Fingerprints that have part tables are joined in the same way. To walk those would save the
//! first split of a part, which is a small share of the time, and cost a look into the base for
//! each candidate; here they stand side by side, and up to eight are compared by a few
//! instructions. So fewer bits, with groups of some fingerprints for each value, and lower
//! thresholds are the best, other ones than those of a search; and how a store is cut into parts,
//! or in how many segments, does not matter.
//!
//! Clusters need no pair of fingerprints that are connected already: then few pairs stand for all
//! ([`links`]).
//!
//! What does not fit into memory is cut into *ranges* of the smaller fingerprint of each pair. A
//! range is joined with itself, and with all that follows it, piece by piece ([`work`]). Batches of
//! queries are joined with a store as it is read ([`stream`](mod@stream)).

mod compare;
mod engine;
mod links;
mod lists;
mod mask;
mod needs;
mod options;
mod output;
mod plan;
mod run;
mod stream;
#[cfg(test)]
mod tests;
mod work;

#[cfg(feature = "internals")]
pub(crate) use compare::between;
pub use lists::ListJoin;
pub(crate) use needs::fingerprint_bytes;
pub use options::Join;
pub(crate) use output::{Found, Message, Output};
pub use output::{JoinEvent, JoinSummary, Pair};
pub use run::Pairs;
pub(crate) use stream::{read_all, stream, stream_ns};
