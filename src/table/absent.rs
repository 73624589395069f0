//! What of a table is not in memory, as far as the system tells.

use super::Table;

impl Table {
    /// The share of the file that the system would have to read first, by some pages all over it.
    pub(crate) fn absent_share(&self) -> f64 {
        const LOOKS: usize = 16;
        let place = |look| (2 * look + 1) * self.bytes().len() / (2 * LOOKS);
        let absent = (0..LOOKS).filter(|look| self.bytes().is_absent(place(*look))).count();
        absent as f64 / LOOKS as f64
    }

    /// Whether the system would have to read the start of block `number` first. A system call.
    pub(crate) fn is_absent(&self, number: u64) -> bool {
        self.bytes().is_absent(self.geometry().block(number).start)
    }
}
