//! The question of a search, and what it did.

use crate::snapshot::union::Match;

/// Keys of a hot index that are compared in a time in which there is a look at a block, on any CPU
/// that is not waiting for the disk.
const KEYS_OF_A_LOOK: u64 = 512;
/// Keys of a hot index as which a run counts that is looked up.
const KEYS_OF_A_RUN: u64 = 64;

/// What the last search of a [`Searcher`](crate::Searcher) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchWork {
    /// Blocks whose low columns were compared.
    pub blocks_scanned: u64,
    /// Blocks that were decoded, at least in part.
    pub blocks_decoded: u64,
    /// Segments of which one table was scanned whole, since descending would have touched more, or
    /// the base, since looks into part tables would have taken longer.
    pub full_scans: u64,
    /// Groups of 64 keys of part tables that were looked at.
    pub groups_probed: u64,
    /// Runs of keys, with a prefix in common, that were looked up in hot indexes.
    pub runs_looked_up: u64,
    /// Keys of hot indexes that were compared.
    pub keys_compared: u64,
    /// Rows of a base that were compared.
    pub rows_compared: u64,
    /// Bytes of blocks that were read: headers, the columns as far as they were compared, and of
    /// decoded blocks the rest. 0 unless [`Searcher::count_bytes`](crate::Searcher::count_bytes)
    /// asked for them.
    pub bytes_touched: u64,
}

impl SearchWork {
    /// What was looked at, in blocks: what takes longer than so many has waited for the disk.
    pub(super) fn looks(&self) -> u64 {
        let kept = self.keys_compared + self.runs_looked_up * KEYS_OF_A_RUN;
        self.blocks_scanned + self.groups_probed + self.rows_compared + kept / KEYS_OF_A_LOOK
    }
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Ask<F = u64> {
    pub(super) fingerprint: F,
    pub(super) k: u32,
    /// Matches, as often as they are found, after which the search gives up.
    pub(super) most: usize,
}

impl Ask {
    /// Adds a match; one too many tells that there are.
    #[inline]
    pub(super) fn tell(self, matches: &mut Vec<Match>, fingerprint: u64, distance: u32) {
        if matches.len() <= self.most {
            matches.push(Match { fingerprint, distance });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SearchWork;

    #[test]
    fn keys_of_a_hot_index_hide_no_wait_for_the_disk() {
        let work = SearchWork { blocks_scanned: 3, rows_compared: 2, ..SearchWork::default() };
        assert_eq!(work.looks(), 5);
        let kept = SearchWork { keys_compared: 5000, runs_looked_up: 800, ..work };
        // As much as some hundred blocks.
        assert_eq!(kept.looks(), 5 + 109);
    }
}
