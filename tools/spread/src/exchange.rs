//! Which units a fingerprint is sent to, and which task has a unit.

use std::ops::Range;

use fpstore::query::{Flow, Pair};
use fpstore::{Error, Execution, Fingerprint, Result};

use crate::loads::{self, HeavyCell};
use crate::tables::JoinTables;

/// The most tasks.
const MAX_TASKS: u32 = 1 << 20;
/// The most units of cells that are split.
const MAX_UNITS: usize = 1 << 22;
/// The most tasks for the units of cells that are split, in times of those that are wished.
const MORE_TASKS: f64 = 2.0;
/// Marks a cell that is split; the rest of the number says which of them.
const SPLIT: u32 = 1 << 31;

/// A join that is spread over the tasks of a cluster of machines, each of which sees what was sent
/// to it and nothing else.
///
/// Every fingerprint is sent ([`send`](Self::send)) to a *unit* of each table; whoever has received
/// all of a unit joins it ([`join`](Self::join)), and all units together give each pair of distinct
/// fingerprints within k once, however often a fingerprint was sent. Who sends and who joins need
/// to agree on the arguments of [`Exchange::new`], and on nothing else.
///
/// Cells with so many fingerprints that a task would have far more work than others are split into
/// shares: for g of them there are g (g + 1) / 2 units, and each fingerprint goes to g of these.
///
/// Memory: 4 bytes per cell and table, at most 256 KiB per table.
#[derive(Clone, Debug)]
pub struct Exchange<F = u64> {
    tables: JoinTables<F>,
    /// Tasks, and so units, of the light cells of each table.
    light: u32,
    /// For each table and cell the unit, or [`SPLIT`] and the number of the split.
    places: Vec<u32>,
    starts: Vec<usize>,
    splits: Vec<Split>,
    /// The tasks of the units of splits.
    tasks_of_units: Vec<u32>,
    loads: Vec<f64>,
    rows_sent: u64,
}

/// A cell that is split.
#[derive(Clone, Copy, Debug)]
struct Split {
    table: u32,
    salts: u32,
    /// The first of its units.
    first: u32,
}

/// What a unit is part of.
struct Parent {
    table: usize,
    /// Whether its fingerprints are joined with each other; else those of its two sides are.
    is_within: bool,
}

/// Where a fingerprint is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delivery {
    /// The unit.
    pub unit: u32,
    /// 0; or 1 for the second of two shares that are joined with each other.
    pub side: u8,
}

/// Fingerprints by where they are sent, from [`Exchange::send`].
#[derive(Clone, Debug, Default)]
pub struct Sent {
    deliveries: Vec<(Delivery, Range<usize>)>,
    places: Vec<u32>,
}

impl Sent {
    /// Each delivery once, with the places of its fingerprints in what was sent.
    pub fn iter(&self) -> impl Iterator<Item = (Delivery, &[u32])> {
        self.deliveries
            .iter()
            .map(|(to, range)| (*to, self.places.get(range.clone()).unwrap_or_default()))
    }
}

impl<F: Fingerprint> Exchange<F> {
    /// Spreads a join of about `rows` fingerprints over about as many tasks as are wished, and up
    /// to twice as many more for what is split. `heavy` are cells with many fingerprints, as those
    /// who have counted them know; it may name others, too.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if there are no tasks or more than 2^20, or a cell that there is
    /// not.
    pub fn new(tables: JoinTables<F>, rows: u64, tasks: u32, heavy: &[HeavyCell]) -> Result<Self> {
        if !(1..=MAX_TASKS).contains(&tasks) {
            let expected = format!("there are 1 to {MAX_TASKS}");
            return Err(Error::invalid_option("tasks", tasks, expected));
        }
        let count = tables.table_count();
        let cells = (0..count).map(|table| tables.cell_count(table));
        let least_cells = cells.clone().min().unwrap_or(1) as u32;
        let light = tasks.div_ceil(count as u32).clamp(1, least_cells);
        let of_light = (rows as f64 / f64::from(light)).max(1.0);
        let task =
            of_light.max(loads::work_of_split(heavy, of_light) / MORE_TASKS / f64::from(tasks));
        let mut starts = vec![0];
        starts.extend(cells.scan(0, |sum, cells| {
            *sum += cells;
            Some(*sum)
        }));
        let mut places = Vec::with_capacity(*starts.last().unwrap_or(&0));
        for table in 0..count {
            let cells = tables.cell_count(table);
            places.extend((0..cells).map(|cell| table as u32 * light + share(cell, cells, light)));
        }
        let mut exchange = Self {
            tables,
            light,
            places,
            starts,
            splits: Vec::new(),
            tasks_of_units: Vec::new(),
            loads: vec![of_light; count * light as usize],
            rows_sent: rows.saturating_mul(count as u64),
        };
        let mut works = Vec::new();
        for cell in heavy {
            exchange.split(*cell, task, &mut works)?;
        }
        let first = exchange.loads.len() as u32;
        let (tasks_of_units, of_tasks) = loads::assign(&works, first, task, MAX_TASKS);
        exchange.tasks_of_units = tasks_of_units;
        exchange.loads.extend(of_tasks);
        Ok(exchange)
    }

    /// Splits a cell, if it has too much work for one task.
    fn split(&mut self, heavy: HeavyCell, task: f64, works: &mut Vec<f64>) -> Result<()> {
        let HeavyCell { table, cell, rows } = heavy;
        let place = self.starts.get(table as usize..=table as usize + 1).and_then(|ends| {
            let at = ends[0] + cell as usize;
            (at < ends[1]).then_some(at)
        });
        let Some(place) = place else {
            let expected = "there is no such table, or no such cell in it";
            return Err(Error::invalid_option("heavy", format!("{table}, {cell}"), expected));
        };
        let salts = loads::salts(rows, task);
        let is_full = works.len() + loads::unit_count(salts) > MAX_UNITS;
        if self.places[place] & SPLIT != 0 || salts == 1 || is_full {
            return Ok(());
        }
        let load = &mut self.loads[self.places[place] as usize];
        *load = (*load - rows as f64).max(0.0);
        self.places[place] = SPLIT | self.splits.len() as u32;
        let first = self.tables.table_count() as u32 * self.light + works.len() as u32;
        self.splits.push(Split { table, salts, first });
        works.extend(loads::work_of_units(rows, salts));
        let more = rows.saturating_mul(u64::from(salts - 1));
        self.rows_sent = self.rows_sent.saturating_add(more);
        Ok(())
    }

    /// Its tables.
    pub fn tables(&self) -> &JoinTables<F> {
        &self.tables
    }

    /// The number of units.
    pub fn unit_count(&self) -> usize {
        self.light_units() + self.tasks_of_units.len()
    }

    /// The number of tasks.
    pub fn task_count(&self) -> usize {
        self.loads.len()
    }

    /// The number of cells that are split.
    pub fn split_count(&self) -> usize {
        self.splits.len()
    }

    /// The work that is expected of each task, in fingerprints that it receives.
    pub fn loads(&self) -> &[f64] {
        &self.loads
    }

    /// About how many fingerprints are sent in all.
    pub fn rows_sent(&self) -> u64 {
        self.rows_sent
    }

    /// The task that has a unit; of a unit that there is not, the last one.
    pub fn task(&self, unit: u32) -> u32 {
        let of_split = (unit as usize).checked_sub(self.light_units());
        of_split.map_or(unit, |number| {
            self.tasks_of_units.get(number).copied().unwrap_or(self.loads.len() as u32 - 1)
        })
    }

    fn light_units(&self) -> usize {
        self.tables.table_count() * self.light as usize
    }

    /// Whether equal fingerprints meet in this unit and in no other: who has several records of one
    /// fingerprint finds their pairs here, since [`join`](Self::join) gives distinct fingerprints.
    pub fn is_home(&self, unit: u32) -> bool {
        self.parent(unit).is_some_and(|parent| parent.table == 0 && parent.is_within)
    }

    /// What a unit is part of.
    fn parent(&self, unit: u32) -> Option<Parent> {
        if (unit as usize) < self.light_units() {
            return Some(Parent { table: (unit / self.light) as usize, is_within: true });
        }
        let at = self.splits.partition_point(|split| split.first <= unit);
        let Split { table, salts, first } = *self.splits.get(at.checked_sub(1)?)?;
        let mut within = (0..salts).map(|own| loads::unit_of_shares(salts, own, own));
        let is_within = within.any(|number| first + number == unit);
        ((unit as usize) < self.unit_count()).then_some(Parent { table: table as usize, is_within })
    }

    /// Where fingerprints are sent by a table.
    ///
    /// Time: some nanoseconds per fingerprint. Memory: 8 bytes for each that is sent, and 4 for
    /// each unit.
    ///
    /// # Panics
    ///
    /// Of a table that there is not, and of more than 2^32 fingerprints.
    pub fn send(&self, table: usize, fingerprints: &[F]) -> Sent {
        let lookup = &self.places[self.starts[table]..self.starts[table + 1]];
        assert!(u32::try_from(fingerprints.len()).is_ok(), "send fewer than 2^32 together");
        // What is sent, as unit and side in one number, and what of.
        let (mut lanes, mut of) =
            (Vec::with_capacity(fingerprints.len()), Vec::with_capacity(fingerprints.len()));
        for (number, &fingerprint) in (0..).zip(fingerprints) {
            let unit = lookup[self.tables.cell(table, fingerprint)];
            if unit & SPLIT == 0 {
                lanes.push(2 * unit);
                of.push(number);
                continue;
            }
            let Split { salts, first, .. } = self.splits[(unit & !SPLIT) as usize];
            let own = salt(fingerprint, salts);
            for other in 0..salts {
                lanes.push(
                    2 * (first + loads::unit_of_shares(salts, own, other)) + u32::from(own > other),
                );
                of.push(number);
            }
        }
        sort_by_lane(&lanes, &of, 2 * self.unit_count())
    }

    /// Joins a unit: all fingerprints that were sent to its sides 0 and 1, in any order, repeated
    /// or not. Hands its pairs to `sink`, the smaller fingerprint first, on the thread of the
    /// caller. Where the sink breaks, the join ends soon and well. Gives the number of pairs.
    ///
    /// Memory: twice the bytes of the fingerprints. No pair is held back.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] of a unit that there is not; those of
    /// [`ListJoin::within`](fpstore::query::ListJoin::within).
    pub fn join<R: Flow>(
        &self,
        unit: u32,
        left: Vec<F>,
        right: Vec<F>,
        execution: &Execution,
        sink: impl FnMut(&[Pair<F>]) -> R,
    ) -> Result<u64, R::Error> {
        let Some(Parent { table, is_within }) = self.parent(unit) else {
            let expected = format!("there are {}", self.unit_count());
            return Err(Error::invalid_option("unit", unit, expected).into());
        };
        let join = self.tables.join(table).execution(execution.clone());
        match is_within {
            true if left.len() < 2 => Ok(0),
            true => join.within(left, sink),
            false if left.is_empty() || right.is_empty() => Ok(0),
            false => join.between(left, right, sink),
        }
    }
}

/// Brings what is sent together by lanes.
fn sort_by_lane(lanes: &[u32], of: &[u32], lane_count: usize) -> Sent {
    let mut ends = vec![0u32; lane_count];
    lanes.iter().for_each(|&lane| ends[lane as usize] += 1);
    let (mut sum, mut deliveries) = (0, Vec::new());
    for (lane, end) in (0..).zip(&mut ends) {
        let count = std::mem::replace(end, sum);
        if count > 0 {
            let to = Delivery { unit: lane / 2, side: (lane % 2) as u8 };
            deliveries.push((to, sum as usize..(sum + count) as usize));
        }
        sum += count;
    }
    let mut places = vec![0; of.len()];
    for (&lane, &number) in lanes.iter().zip(of) {
        let at = &mut ends[lane as usize];
        places[*at as usize] = number;
        *at += 1;
    }
    Sent { deliveries, places }
}

/// The task of a light cell among `tasks`: neighbouring cells, which real sets fill together, go to
/// different ones, and all have as many cells.
fn share(cell: usize, cells: usize, tasks: u32) -> u32 {
    // An odd factor permutes the numbers below a power of two.
    let mixed = cell.wrapping_mul(0x9E37_79B1) % cells;
    (mixed as u64 * u64::from(tasks) / cells as u64) as u32
}

/// The share of a fingerprint of a cell that is split. Equal fingerprints have the same.
fn salt<F: Fingerprint>(fingerprint: F, salts: u32) -> u32 {
    let words = (0..F::BITS).step_by(64).map(|start| fingerprint.bits(start, F::BITS.min(64)));
    let mixed = words.fold(0u64, |mixed, word| {
        let mixed = (mixed ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 32
    });
    let mixed = mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
    ((mixed * u64::from(salts)) >> 32) as u32
}
