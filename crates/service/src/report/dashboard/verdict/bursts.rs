//! Stretches in which far more requests failed than usual.

use crate::thresholds::{
    BURST_DEVIATIONS, BURST_GAP_POINTS, BURST_MIN_ERRORS, BURST_MIN_SHARE, BURST_TIMES_USUAL,
    USUAL_MIN_REQUESTS,
};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Burst {
    /// Its first and last point.
    pub from: usize,
    pub to: usize,
    pub errors: u64,
    pub requests: u64,
    /// The usual share of failed requests.
    pub usual: f64,
    pub lasts: bool,
}

/// All bursts of requests and errors by point.
pub(super) fn find(requests: &[u64], errors: &[u64]) -> Vec<Burst> {
    let each = || requests.iter().copied().zip(errors.iter().copied());
    let enough = each().filter(|(many, _)| *many >= USUAL_MIN_REQUESTS);
    let mut shares: Vec<f64> = enough.map(|(many, failed)| failed as f64 / many as f64).collect();
    shares.sort_by(f64::total_cmp);
    let usual = shares.get(shares.len() / 2).copied().unwrap_or(0.0);
    // The newest point may have just begun.
    let newest = requests.iter().rposition(|many| *many > 0).unwrap_or(0).saturating_sub(1);
    let mut found: Vec<Burst> = Vec::new();
    for (at, (many, failed)) in each().enumerate() {
        let expected = usual * many as f64;
        let share = failed as f64 / many as f64;
        let is_burst = failed >= BURST_MIN_ERRORS
            && share >= BURST_MIN_SHARE.max(BURST_TIMES_USUAL * usual)
            && failed as f64 > expected + BURST_DEVIATIONS * (expected + 1.0).sqrt();
        if !is_burst {
            continue;
        }
        match found.last_mut().filter(|before| at - before.to <= BURST_GAP_POINTS) {
            Some(before) => {
                before.to = at;
                before.errors += failed;
                before.requests += many;
                before.lasts = at >= newest;
            }
            None => found.push(Burst {
                from: at,
                to: at,
                errors: failed,
                requests: many,
                usual,
                lasts: at >= newest,
            }),
        }
    }
    found
}

/// The one that counts: the one that goes on, else the one with the most failures.
pub(super) fn worst(requests: &[u64], errors: &[u64]) -> Option<Burst> {
    let all = find(requests, errors);
    let most = all.iter().map(|burst| burst.errors).max()?;
    let lasting = all.last().filter(|burst| burst.lasts);
    lasting.or_else(|| all.iter().find(|burst| burst.errors == most)).cloned()
}
