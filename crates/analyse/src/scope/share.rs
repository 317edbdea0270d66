//! A part as a fraction of its whole.

/// 0 of a whole that is nothing.
pub(crate) fn share(part: i64, whole: i64) -> f64 {
    known_share(part, whole).unwrap_or(0.0)
}

/// None of a whole that is nothing.
pub(crate) fn known_share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A share without digits after the point, as sentences say it: `17%`. What is neither nothing nor everything never reads so.
pub(crate) fn percent(share: f64) -> String {
    match (share * 100.0).round() {
        _ if share > 0.0 && share < 0.005 => "<1%".to_owned(),
        whole if whole >= 100.0 && share < 1.0 => ">99%".to_owned(),
        whole => format!("{whole:.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_reads_as_nothing_or_everything() {
        let shares = [0.0, 0.0001, 0.005, 0.174, 0.994, 0.996, 1.0, 1.5];
        assert_eq!(shares.map(percent), ["0%", "<1%", "1%", "17%", "99%", ">99%", "100%", "150%"]);
    }
}
