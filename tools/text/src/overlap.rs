//! What two ascending lists have in common.

/// How many values two ascending lists have in common.
pub(crate) fn overlap<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let order = a[i].cmp(&b[j]);
        count += usize::from(order.is_eq());
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    count
}
