//! A part as a fraction of its whole.

/// 0 of a whole that is nothing.
pub(crate) fn share(part: i64, whole: i64) -> f64 {
    known_share(part, whole).unwrap_or(0.0)
}

/// None of a whole that is nothing.
pub(crate) fn known_share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
