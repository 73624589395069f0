//! A compressed on-disk store for near-duplicate fingerprints, with exact Hamming search.
//!
//! fpstore holds sets of fingerprints of 64 bits (SimHash of documents, perceptual hashes of
//! images), or of 32, 128 or 256, in little more space than information theory asks for, and
//! answers exactly: *which stored fingerprints are within Hamming distance k of this one?* It
//! follows section 3 of Manku, Jain, Das Sarma, *Detecting Near-Duplicates for Web Crawling* (WWW
//! 2007), and for wide fingerprints Norouzi, Punjani, Fleet, *Fast search in Hamming space with
//! multi-index hashing* (CVPR 2012).
//!
//! # A search
//!
//! ```
//! use fpstore::{Packer, Store};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("pages.fps");
//! let pages = [
//!     (0x9d18dc592abfa1bb, "https://a.example/"),
//!     (0x0a8c44df69d3e655, "https://b.example/"),
//! ];
//! Packer::new().pack_with_ids(&path, pages)?;
//!
//! let store = Store::open(&path)?;
//! for near in store.search(0x9d18dc592abfa1ba, 3)? {
//!     println!("{:016x} at distance {}", near.fingerprint, near.distance);
//!     for id in store.ids::<String>(near.fingerprint)? {
//!         assert_eq!(id?, "https://a.example/");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Ids are numbers, or names such as URLs, which live in the store; a fingerprint may have any
//! number of them, or none.
//!
//! # A store that is written to
//!
//! ```
//! use fpstore::{Durability, IdKind, StoreOptions, Verdict};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("seen.fps");
//! let writer = StoreOptions::new().ids(IdKind::Text).create(&path)?;
//! writer.insert(0x9d18dc592abfa1bb, "https://a.example/")?;
//! match writer.check_and_insert(0x9d18dc592abfa1ba, "https://b.example/", 3)? {
//!     Verdict::Near(near) => println!("{} near ones are there already", near.len()),
//!     Verdict::Inserted => println!("it is new, and stored now"),
//! }
//! writer.delete(0x9d18dc592abfa1bb, "https://a.example/")?;
//! writer.commit(Durability::Immediate)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The types
//!
//! | to | there is |
//! | --- | --- |
//! | write a set as a store | [`Packer`]; [`Layout`] says how it is laid out, mostly by [`Layout::k`] alone |
//! | read one | [`Store`], a handle to be cloned and shared; what it holds at a moment is a [`Snapshot`] |
//! | insert, delete and merge while it is searched | [`Writer`] |
//! | search | [`Store::search`] and [`Store::nearest`]; [`Searcher`] for many queries from one thread |
//! | search for many at once, for all pairs, for clusters | [`Batch`], [`Join`], [`Clustering`], and what they give in [`query`] |
//! | say how that runs: threads, memory, deadline, progress | [`Execution`] |
//! | predict, inspect, back up and repair | [`plan`], [`stats`], [`maintenance`] |
//!
//! Fingerprints of texts are made by the crate `fpstore-text`, which also has names for how they
//! were made.
//!
//! # Other widths
//!
//! Fingerprints of another width say so where a store is packed, created or opened
//! ([`Fingerprint`]):
//!
//! ```
//! use fpstore::{Layout, OpenOptions, Packer};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("images.fps");
//! let mix = |word: u64| word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
//! let hash = |i: u64| [1, 2, 3, 4].map(|word| mix(i ^ word << 32));
//! let packer = Packer::new().width::<[u64; 4]>().layout(Layout::new().k(31));
//! packer.pack(&path, (0..20_000).map(hash))?;
//!
//! let store = OpenOptions::new().width::<[u64; 4]>().open(&path)?;
//! let mut query = hash(6);
//! query[2] ^= 0b1011;
//! assert_eq!(store.nearest(query, 1, 31)?[0].distance, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//!
//! An open store takes 8 bytes per block of mapped router, and up to 5 bytes per block of heap; 2
//! more where keys crowd. With blocks of 1024 bytes, which hold some 200 keys, that is 0.065 byte
//! per fingerprint and table. Searches build hot indexes of the smallest segments, of 32 bytes per
//! fingerprint of 64 bits in up to a 64th of the memory of the machine ([`OpenOptions::memory`]). A
//! [`Packer`] takes 16 bytes per fingerprint of 64 bits, or what [`Execution::memory`] allows: then
//! it sorts in temporary files, of up to 16 bytes per fingerprint. With ids both are twice as much.
//!
//! # Limits
//!
//! * Fingerprints have 32, 64, 128 or 256 bits. Those of 32 and 64 bits can have tables; all can
//!   have a *base* that holds each once, up to 2^32 - 1 of them in one segment, and tables of parts
//!   of their bits ([`Layout::parts`]).
//! * A store has one [`Writer`] at a time, over all processes, and any number of readers.
//! * Mapped files must not be changed while they are open; see [`Store`].
//! * Needs a 64-bit, little-endian machine.

#![deny(unsafe_code)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("fpstore maps files larger than 4 GiB and needs a 64-bit target");

#[cfg(target_endian = "big")]
compile_error!("fpstore reads mapped files in place and needs a little-endian target");

mod access;
mod block;
mod chunked;
mod codec;
mod costs;
mod cover;
mod design;
mod error;
mod execution;
#[doc(hidden)]
pub mod files;
mod fingerprint;
mod flips;
mod format;
mod hot_index;
mod id;
mod ids;
#[cfg(all(feature = "internals", not(test)))]
#[doc(hidden)]
pub mod instances;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod log;
#[doc(hidden)]
pub mod machine;
mod mapped;
mod memory;
mod merge;
mod multi_index;
mod names;
mod permute;
mod planning;
pub mod query;
mod recipe;
mod record;
mod repair;
mod router;
mod segment;
mod set_sum;
mod simd;
mod snapshot;
mod sort;
mod storage;
mod store;
mod table;
mod tail;
mod tasks;
mod thresholds;
mod writer;

pub use design::Design;
#[doc(hidden)]
pub use error::{Bytes, remedy_of_limit};
pub use error::{Corruption, Displacement, Error, ErrorKind, Result, Unsupported};
pub use execution::{Execution, Phase, Progress};
pub use fingerprint::{Fingerprint, Hex};
pub use format::Codec;
pub use id::{AsId, FromId, Id, IdKind, IdRef};
pub use ids::Ids;
pub use planning::{Layout, Prefer};

pub use query::batch::Batch;
pub use query::clusters::Clustering;
pub use query::join::Join;
pub use query::search::Searcher;
pub use snapshot::union::Match;
pub use snapshot::{Iter, IterWithIds, Snapshot};
pub use store::{OpenOptions, PackSession, PackSummary, Packer, Store, recipe_of, width_of};
pub use writer::{Durability, FullMerge, StoreOptions, Verdict, Writer, WriterOptions};

/// Backups, repair of damaged stores, and what a check of all files found.
pub mod maintenance {
    pub use crate::repair::{Repair, RepairReport, SegmentLoss};
    pub use crate::snapshot::VerifyReport;
    pub use crate::store::{Backup, BackupSummary};
}

/// What a set takes in space and time under each layout, before anything is packed.
pub mod plan {
    pub use crate::multi_index::{PartsPlan, plan_parts, recommended_parts};
    pub use crate::planning::{Plan, Planner, TablePlan};
    pub use crate::store::PackEstimate;
    pub use crate::table::information_bound_bits;
}

/// What stands in the files of a store, and what searches and packs had to do.
pub mod stats {
    pub use crate::format::{BitRange, SkippedSection};
    pub use crate::ids::IdStats;
    pub use crate::multi_index::{BaseStats, PartStats};
    pub use crate::query::search::{SearchWork, SegmentSearched};
    pub use crate::segment::{AccessPath, PackTimes};
    pub use crate::simd::{SIMD_LEVELS, simd_level};
    pub use crate::snapshot::{LivingStats, SegmentStats, Stats};
    pub use crate::table::TableStats;
    pub use crate::writer::Slowing;
}
