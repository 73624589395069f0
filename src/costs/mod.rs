//! What the steps of the work cost on a machine: every constant from which a time is predicted, or
//! by which one way is preferred to another.
//!
//! It stands below all that decides by it: the planner, the estimates of packs, joins, batches and
//! searches. Nothing is measured here; `fpstore bench calibrate` does that. What is
//! no cost stays where it is used: sizes of buffers, lengths of tasks, bounds of memory.

mod groups;

use std::fmt;
use std::str::FromStr;

pub use groups::{DiskCosts, JoinCosts, PackCosts, SearchCosts, SweepCosts};

use crate::error::{Error, Result};

/// What the steps of the work cost on a machine, in nanoseconds where nothing else is said. Plans
/// are chosen and times predicted from these.
///
/// They change what is chosen and how long it takes, and no answer.
///
/// As text it is a line `group.name = number` for each constant; `#` starts a comment.
///
/// # Examples
///
/// ```
/// use fpstore::internals::Costs;
///
/// let mine: Costs = "disk.read_ns = 7e6 # an old one".parse()?;
/// assert_eq!(mine.disk.read_ns, 7e6);
/// assert_eq!(mine.search, Costs::shipped().search);
/// # Ok::<(), fpstore::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// A search in an open store whose blocks are in memory.
    pub search: SearchCosts,
    /// What comes on top where blocks are on the disk.
    pub disk: DiskCosts,
    /// A join, and a batch whose queries are joined with the store as it is read.
    pub join: JoinCosts,
    /// A batch.
    pub sweep: SweepCosts,
    /// A pack, in time of one thread.
    pub pack: PackCosts,
}

impl Costs {
    const SHIPPED: Self = Self {
        search: SearchCosts::SHIPPED,
        disk: DiskCosts::SHIPPED,
        join: JoinCosts::SHIPPED,
        sweep: SweepCosts::SHIPPED,
        pack: PackCosts::SHIPPED,
    };

    /// The shipped constants: those of the machine of the project's measurements.
    pub const fn shipped() -> &'static Self {
        &Self::SHIPPED
    }
}

impl Default for Costs {
    /// The [shipped](Costs::shipped) constants.
    fn default() -> Self {
        Self::SHIPPED
    }
}

impl fmt::Display for Costs {
    /// All constants, with what they mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# What the steps of the work cost on a machine, in nanoseconds where nothing"
        )?;
        writeln!(f, "# else is said. Read by `fpstore bench --calibration`.")?;
        let Self { search, disk, join, sweep, pack } = *self;
        groups::write(f, "search", search)?;
        groups::write(f, "disk", disk)?;
        groups::write(f, "join", join)?;
        groups::write(f, "sweep", sweep)?;
        groups::write(f, "pack", pack)
    }
}

impl FromStr for Costs {
    type Err = Error;

    /// Reads the lines that [`fmt::Display`] writes. A constant that is not there keeps its
    /// shipped value.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a line that is no `group.name = number` with a known name and a
    /// finite number of 0 or more.
    fn from_str(text: &str) -> Result<Self> {
        let mut costs = Self::default();
        let Self { search, disk, join, sweep, pack } = &mut costs;
        let constants = groups::named("search", search)
            .chain(groups::named("disk", disk))
            .chain(groups::named("join", join))
            .chain(groups::named("sweep", sweep))
            .chain(groups::named("pack", pack));
        groups::read(text, constants)?;
        Ok(costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_changes_its_constant_and_no_other() {
        let read: Costs = "# mine\n\n disk.read_ns = 7e6 # a disk\n".parse().unwrap();
        let mut expected = Costs::default();
        expected.disk.read_ns = 7e6;
        assert_eq!(read, expected);
    }

    #[test]
    fn constants_are_read_as_they_are_written() {
        let text = Costs::default().to_string();
        assert_eq!(text.parse::<Costs>().unwrap(), Costs::default());
        // Each constant is there: what a line says is read back from it alone.
        let lines = text.lines().filter(|line| line.contains(" = "));
        let mut changed = 0;
        for line in lines {
            let (name, _) = line.split_once(" = ").unwrap();
            let one: Costs = format!("{name} = 12345.5").parse().unwrap();
            assert_ne!(one, Costs::default(), "{name}");
            assert_eq!(one.to_string().parse::<Costs>().unwrap(), one, "{name}");
            changed += 1;
        }
        assert!(changed > 40, "{changed}");
    }

    #[test]
    fn a_line_that_is_no_constant_is_named() {
        for line in [
            "search.path_ns",
            "search.path_ns = x",
            "search.path_ns = -1",
            "search.path_ns = inf",
            "path_ns = 1",
        ] {
            let error = line.parse::<Costs>().unwrap_err().to_string();
            assert!(error.contains(line) && error.contains("NAME = NUMBER"), "{error}");
        }
    }
}
