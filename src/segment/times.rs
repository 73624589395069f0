//! How long the stages of a pack took.

use std::time::Duration;

use crate::table::WriteTimes;

/// How long the stages of a pack took, all tables together. Where there are several threads, blocks
/// are written while others are encoded, and the sum is more than the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackTimes {
    /// Bringing the set, and then every table, into order, with reading and writing what does not
    /// fit into memory.
    pub sort: Duration,
    /// Counting the classes of keys, from which the codes follow.
    pub count: Duration,
    /// Cutting keys into blocks.
    pub cut: Duration,
    /// Encoding blocks.
    pub encode: Duration,
    /// Handing blocks to the file system.
    pub write: Duration,
    /// Waiting until files are durable.
    pub sync: Duration,
}

impl PackTimes {
    pub(crate) fn add(&mut self, times: WriteTimes) {
        self.cut += times.cut;
        self.encode += times.encode;
        self.write += times.write;
    }
}
