//! Records, as readers give them: fingerprints with their numbers and, if asked for, their ids.

use crate::error::InputError;

/// What a record is called in its input.
pub use fpstore::IdRef as Id;

/// A fingerprint with its number and, if asked for, its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a, F = u64> {
    /// The fingerprint.
    pub fingerprint: F,
    /// Counted from 0 over all inputs, skipped records included.
    pub number: u64,
    /// The id, if ids were asked for.
    pub id: Option<Id<'a>>,
}

/// Records in the order of the inputs, column by column: fingerprints stand one after the other, so
/// an input of plain numbers is copied and nothing more. Memory: the bytes of the fingerprints, the
/// ids, and what was skipped.
#[derive(Debug)]
pub struct Records<F = u64> {
    /// The fingerprints.
    pub fingerprints: Vec<F>,
    /// The ids, one for each fingerprint, or none at all.
    pub ids: Ids,
    /// What was wrong with the records that were skipped.
    pub skipped: Vec<InputError>,
    /// Where numbers do not follow on: index of a fingerprint, and its number. Ascending, never
    /// empty.
    runs: Vec<(usize, u64)>,
}

/// The ids of records.
#[derive(Clone, Debug, Default)]
pub enum Ids {
    /// None were asked for, or none are there yet.
    #[default]
    None,
    /// Numbers.
    Numbers(Vec<u64>),
    /// Texts, one after the other, and where each ends.
    Texts(String, Vec<usize>),
    /// UUIDs.
    Uuids(Vec<[u8; 16]>),
    /// Numbers of 128 bits.
    Numbers128(Vec<u128>),
    /// Keys, one after the other, and where each ends.
    Keys(Vec<u8>, Vec<usize>),
}

impl<F> Default for Records<F> {
    fn default() -> Self {
        let runs = vec![(0, 0)];
        Self { fingerprints: Vec::new(), ids: Ids::None, skipped: Vec::new(), runs }
    }
}

impl<F: Copy> Records<F> {
    /// The number of the next record.
    pub fn next_number(&self) -> u64 {
        let (index, number) = self.runs.last().copied().unwrap_or_default();
        number + (self.fingerprints.len() - index) as u64
    }

    /// Counts a record that is left out.
    pub fn skip(&mut self, why: InputError) {
        let (index, next) = (self.fingerprints.len(), self.next_number() + 1);
        match self.runs.last_mut() {
            Some((last, number)) if *last == index => *number = next,
            _ => self.runs.push((index, next)),
        }
        self.skipped.push(why);
    }

    /// Appends the records that follow, and leaves none there.
    pub fn append(&mut self, more: &mut Self) {
        let (there, next) = (self.fingerprints.len(), self.next_number());
        if there == 0 {
            self.runs.clear();
        }
        let follows = |&(index, number): &(usize, u64)| there > 0 && (index, number) == (0, next);
        let runs = more.runs.iter().filter(|run| !follows(run));
        self.runs.extend(runs.map(|&(index, number)| (there + index, number)));
        self.fingerprints.append(&mut more.fingerprints);
        self.ids.append(&more.ids);
        self.skipped.append(&mut more.skipped);
        more.runs = vec![(0, self.next_number())];
        more.ids.clear();
    }

    /// Whether there is none, and none was skipped.
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty() && self.skipped.is_empty()
    }

    /// Bytes that the records take.
    pub fn bytes(&self) -> usize {
        size_of::<F>() * self.fingerprints.len() + self.ids.bytes()
    }

    /// Forgets the records, and goes on with their numbers.
    pub fn clear(&mut self) {
        self.runs = vec![(0, self.next_number())];
        self.fingerprints.clear();
        self.ids.clear();
        self.skipped.clear();
    }

    /// The records one by one.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_, F>> {
        let mut runs = self.runs.iter().copied().peekable();
        let mut run = (0, 0);
        self.fingerprints.iter().enumerate().map(move |(index, &fingerprint)| {
            while let Some(next) = runs.next_if(|&(first, _)| first <= index) {
                run = next;
            }
            let number = run.1 + (index - run.0) as u64;
            Record { fingerprint, number, id: self.ids.get(index) }
        })
    }
}

impl Ids {
    /// Appends the id of the next record.
    pub fn push(&mut self, id: Id<'_>) {
        if let Ids::None = self {
            *self = match id {
                Id::Number(_) => Ids::Numbers(Vec::new()),
                Id::Text(_) => Ids::Texts(String::new(), Vec::new()),
                Id::Uuid(_) => Ids::Uuids(Vec::new()),
                Id::Number128(_) => Ids::Numbers128(Vec::new()),
                Id::Bytes(_) => Ids::Keys(Vec::new(), Vec::new()),
            };
        }
        match (self, id) {
            (Ids::Numbers(numbers), Id::Number(number)) => numbers.push(number),
            (Ids::Texts(text, ends), Id::Text(id)) => {
                text.push_str(id);
                ends.push(text.len());
            }
            (Ids::Uuids(uuids), Id::Uuid(id)) => uuids.push(id),
            (Ids::Numbers128(numbers), Id::Number128(id)) => numbers.push(id),
            (Ids::Keys(keys, ends), Id::Bytes(id)) => {
                keys.extend_from_slice(id);
                ends.push(keys.len());
            }
            // A reader gives the one kind that it was asked for.
            _ => {}
        }
    }

    fn append(&mut self, more: &Self) {
        match (&mut *self, more) {
            (_, Ids::None) => {}
            (Ids::Numbers(all), Ids::Numbers(more)) => all.extend_from_slice(more),
            (Ids::Texts(text, ends), Ids::Texts(more, places)) => {
                ends.extend(places.iter().map(|end| text.len() + end));
                text.push_str(more);
            }
            (Ids::Uuids(all), Ids::Uuids(more)) => all.extend_from_slice(more),
            (Ids::Numbers128(all), Ids::Numbers128(more)) => all.extend_from_slice(more),
            (Ids::Keys(keys, ends), Ids::Keys(more, places)) => {
                ends.extend(places.iter().map(|end| keys.len() + end));
                keys.extend_from_slice(more);
            }
            (_, more) => *self = more.clone(),
        }
    }

    /// The id of the record with this index.
    pub fn get(&self, index: usize) -> Option<Id<'_>> {
        match self {
            Ids::None => None,
            Ids::Numbers(numbers) => numbers.get(index).copied().map(Id::Number),
            Ids::Texts(text, ends) => {
                let start = if index == 0 { 0 } else { *ends.get(index - 1)? };
                text.get(start..*ends.get(index)?).map(Id::Text)
            }
            Ids::Uuids(uuids) => uuids.get(index).copied().map(Id::Uuid),
            Ids::Numbers128(numbers) => numbers.get(index).copied().map(Id::Number128),
            Ids::Keys(keys, ends) => {
                let start = if index == 0 { 0 } else { *ends.get(index - 1)? };
                keys.get(start..*ends.get(index)?).map(Id::Bytes)
            }
        }
    }

    /// Bytes that the ids take.
    pub fn bytes(&self) -> usize {
        match self {
            Ids::None => 0,
            Ids::Numbers(numbers) => 8 * numbers.len(),
            Ids::Texts(text, ends) => text.len() + 8 * ends.len(),
            Ids::Uuids(uuids) => 16 * uuids.len(),
            Ids::Numbers128(numbers) => 16 * numbers.len(),
            Ids::Keys(keys, ends) => keys.len() + 8 * ends.len(),
        }
    }

    fn clear(&mut self) {
        match self {
            Ids::None => {}
            Ids::Numbers(numbers) => numbers.clear(),
            Ids::Texts(text, ends) => {
                text.clear();
                ends.clear();
            }
            Ids::Uuids(uuids) => uuids.clear(),
            Ids::Numbers128(numbers) => numbers.clear(),
            Ids::Keys(keys, ends) => {
                keys.clear();
                ends.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Origin, Problem};

    fn fault() -> InputError {
        Origin::Stdin.error(Problem::NoToken)
    }

    #[test]
    fn skipped_records_keep_their_numbers() {
        let mut records = Records::<u64>::default();
        records.skip(fault());
        records.skip(fault());
        records.fingerprints.extend([7, 8]);
        records.skip(fault());
        records.fingerprints.push(9);
        let numbers = |records: &Records| -> Vec<(u64, u64)> {
            records.iter().map(|record| (record.fingerprint, record.number)).collect()
        };
        assert_eq!(numbers(&records), [(7, 2), (8, 3), (9, 5)]);
        assert_eq!((records.next_number(), records.skipped.len()), (6, 3));
        records.clear();
        records.fingerprints.push(1);
        assert_eq!(numbers(&records), [(1, 6)]);
    }

    #[test]
    fn pieces_that_are_appended_keep_numbers_and_ids() {
        let mut all = Records::<u64>::default();
        let mut piece = Records::default();
        for (fingerprints, skips) in [(0, 1), (2, 0), (1, 2), (0, 0), (0, 1), (3, 1)] {
            for fingerprint in 0..fingerprints {
                let id = format!("{}", piece.next_number());
                piece.fingerprints.push(fingerprint);
                piece.ids.push(Id::Text(&id));
            }
            (0..skips).for_each(|_| piece.skip(fault()));
            all.append(&mut piece);
            assert_eq!(
                (piece.fingerprints.len(), piece.skipped.len(), piece.ids.bytes()),
                (0, 0, 0)
            );
        }
        let numbers: Vec<u64> = all.iter().map(|record| record.number).collect();
        assert_eq!(
            (numbers, all.next_number(), all.skipped.len()),
            (vec![1, 2, 3, 7, 8, 9], 11, 5)
        );
        for record in all.iter() {
            assert_eq!(record.id, Some(Id::Text(&record.number.to_string())));
        }
    }

    #[test]
    fn ids_are_those_of_their_records() {
        let mut records = Records::default();
        for (fingerprint, id) in [(1, "a"), (2, ""), (3, "bc")] {
            records.fingerprints.push(fingerprint);
            records.ids.push(Id::Text(id));
        }
        let ids: Vec<_> = records.iter().map(|record| record.id).collect();
        assert_eq!(ids, ["a", "", "bc"].map(|id| Some(Id::Text(id))));
        let mut records = Records::default();
        records.fingerprints.push(5);
        assert_eq!(records.iter().next().unwrap().id, None);
        records.ids.push(Id::Number(u64::MAX));
        assert_eq!(records.iter().next().unwrap().id, Some(Id::Number(u64::MAX)));
    }
}
