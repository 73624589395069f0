//! Room for lists whose length depends on what a file claims: a refusal of the system is an error,
//! not the end of the process.

use crate::error::{Error, Result};

/// Makes room for exactly `more` further items.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let items = list.len().saturating_add(more);
    list.try_reserve_exact(more).map_err(|_| Error::OutOfMemory {
        bytes: (items as u64).saturating_mul(size_of::<T>() as u64),
    })
}

/// Makes room for `more` further items of a list that has up to `most`, for twice as many as before
/// where it grows, and never for more than those.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
pub(crate) fn grow<T>(list: &mut Vec<T>, more: usize, most: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let wanted = list.capacity().saturating_mul(2).min(most).saturating_sub(list.len());
    reserve(list, wanted.max(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_cannot_give_is_an_error() {
        let mut list: Vec<u64> = Vec::new();
        let error = reserve(&mut list, usize::MAX / 16).unwrap_err();
        let bytes = usize::MAX as u64 / 16 * 8;
        assert!(matches!(error, Error::OutOfMemory { bytes: found } if found == bytes), "{error}");
        assert!(matches!(reserve(&mut list, usize::MAX), Err(Error::OutOfMemory { .. })));
    }

    #[test]
    fn lists_grow_by_doubling_up_to_their_bound() {
        let (mut list, mut capacities) = (Vec::new(), Vec::new());
        for item in 0..700u64 {
            grow(&mut list, 1, 700).unwrap();
            list.push(item);
            capacities.push(list.capacity());
        }
        capacities.dedup();
        assert_eq!(capacities, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 700]);
        // Who has more than was said gets room all the same.
        grow(&mut list, 5, 700).unwrap();
        assert_eq!(list.capacity(), 705);
    }
}
