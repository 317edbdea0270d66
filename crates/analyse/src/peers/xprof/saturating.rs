//! Sums of times that a hostile file may make as long as it likes.

/// Adds, up to the largest number.
pub(super) fn add(to: &mut i64, ns: i64) {
    *to = to.saturating_add(ns);
}

/// The sum, up to the largest number.
pub(super) fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}
