//! A compressed on-disk store for near-duplicate fingerprints, with exact Hamming search.
//!
//! fpstore holds sets of fingerprints of 64 bits (SimHash of documents, perceptual hashes of images), or of
//! 32, 128 or 256, in little more space than information theory asks for, and answers exactly: *which
//! stored fingerprints are within Hamming distance k of this one?* It follows section 3 of Manku, Jain,
//! Das Sarma, *Detecting Near-Duplicates for Web Crawling* (WWW 2007), and for wide fingerprints Norouzi,
//! Punjani, Fleet, *Fast search in Hamming space with multi-index hashing* (CVPR 2012).
//!
//! # A search
//!
//! ```
//! use fpstore::{Packer, Store};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("pages.fps");
//! let pages = [(0x9d18dc592abfa1bb, "https://a.example/"), (0x0a8c44df69d3e655, "https://b.example/")];
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
//! * [`Packer`] writes a set as a store, a directory of immutable files; [`Layout`] says how it is
//!   laid out, of which most need [`Layout::k`] alone;
//! * [`Store`] is a handle, to be cloned and shared; what it holds at a moment is a [`Snapshot`];
//! * [`Writer`] inserts, deletes and merges while the store is searched;
//! * [`Searcher`] is for many queries from one thread, [`Batch`] for many at once, [`Join`] for all
//!   pairs of near fingerprints, and [`Clustering`] for the clusters that these form;
//! * [`Execution`] says how all this runs: threads, memory, what stops it, who is told how far it
//!   is.
//!
//! Fingerprints of another width say so where a store is packed, created or opened ([`Fingerprint`]):
//!
//! ```
//! use fpstore::{Layout, OpenOptions, Packer};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("images.fps");
//! let hash = |i: u64| [1, 2, 3, 4].map(|word| (i ^ word << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15));
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
//! # How a fingerprint travels
//!
//! Packing sorts the set, in runs on the disk where it is large, and for each table of the design
//! permutes the bits of every fingerprint, sorts by those that came to the top, and cuts the sorted
//! *keys* into *blocks* of fixed size. A block holds its first key in full, the low bits of the
//! others as a column of bytes, and for what remains of each a Huffman code and some raw bits. The
//! last key of every block goes into the *router*.
//!
//! A fingerprint may come with ids, any number of them: numbers of 64 bits, or names. They are
//! stored once, in the order of the fingerprints, in a file of their own
//! ([`Packer::pack_with_ids`], [`Snapshot::ids`]).
//!
//! A search permutes the query for each table, descends the router to the blocks that can hold
//! matches, compares the columns of these blocks with the query, decodes the few blocks in which
//! something is near enough, and unites what the tables found. Segments for which there is
//! [memory](OpenOptions::memory) are searched in a *hot index* instead: their fingerprints, decoded
//! and sorted by each part of 16 bits. [`Searcher::explain`] tells which way a search took.
//!
//! What a [`Writer`] inserts goes to a log and to memory, where it is searched at once; half a million of them become a
//! *segment*, which is a packed set of its own, and segments are merged. A search looks into all of them.
//!
//! Wide fingerprints stand in a *base*, each once and in order. For each of several parts of their bits there is a table
//! of those that have the same bits there; a search looks into each part for what differs from the query in a few bits,
//! and compares what it finds with the base. If k bits differ in all, few do in some part.
//!
//! The files are specified in `format-spec/FORMAT.md`.
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
//! * Fingerprints have 32, 64, 128 or 256 bits. Those of 32 and 64 bits can have tables; all can have a *base*
//!   that holds each once, up to 2^32 - 1 of them in one segment, and tables of parts of their bits
//!   ([`Layout::parts`]).
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
mod plan;
mod query;
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

pub use costs::{Costs, DiskCosts, JoinCosts, PackCosts, SearchCosts, SweepCosts};
pub use design::Design;
#[doc(hidden)]
pub use error::{Bytes, remedy_of_limit};
pub use error::{Corruption, Displacement, Error, ErrorKind, Result, Unsupported};
pub use execution::{Execution, Phase, Progress};
pub use fingerprint::{Fingerprint, Hex};
pub use format::{BitRange, Codec, SkippedSection};
pub use id::{AsId, FromId, Id, IdKind, IdRef};
pub use ids::{IdStats, Ids};
pub use multi_index::{BaseStats, PartStats, PartsPlan, plan_parts, recommended_parts};
pub use plan::{Layout, Plan, Planner, Prefer, TablePlan};
pub use query::Flow;
pub use query::batch::{Answer, Answers, Batch, BatchPlan, BatchSummary, OwnedAnswer};
pub use query::clusters::{ClusterSummary, Clustered, Clustering, Clusters, Keep};
pub use query::join::{Join, JoinEvent, JoinSummary, ListJoin, Pair, Pairs};
pub use query::search::{SearchWork, Searcher, SegmentSearched};
pub use repair::{Repair, RepairReport, SegmentLoss};
pub use segment::AccessPath;
pub use segment::PackTimes;
pub use simd::{SIMD_LEVELS, simd_level};
pub use snapshot::union::Match;
pub use snapshot::{Iter, IterWithIds, LivingStats, SegmentStats, Snapshot, Stats, VerifyReport};
pub use store::{Backup, BackupSummary};
pub use store::{
    OpenOptions, PackEstimate, PackSession, PackSummary, Packer, Store, recipe_of, width_of,
};
pub use table::{TableStats, information_bound_bits};
pub use writer::{Durability, FullMerge, Slowing, StoreOptions, Verdict, Writer, WriterOptions};
