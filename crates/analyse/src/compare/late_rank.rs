//! The rank of a job that the others wait for: a collective ends only after the last rank has joined, so whoever joins last
//! communicates least.

use crate::causes::cause::Cause;
use crate::findings::Thresholds;
use crate::run::Run;
use crate::threads::activity::Activity;

/// A rank's mean step, and what of it the rank did nothing but communicate.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct RankStep {
    pub rank: i64,
    pub step_ns: i64,
    pub communication_ns: i64,
}

impl RankStep {
    /// That of a run; none where it has no rank or no steps.
    pub fn of_run(run: &Run) -> Option<RankStep> {
        let rank = run.trace().meta().distributed.as_ref()?.rank?;
        let step_ns = run.breakdown().average?.wall_ns;
        let communicates = [Cause::Communication, Cause::Host(Activity::Communication)];
        let share = run.account().devices.iter().map(|row| {
            let ns: i64 = communicates.iter().map(|cause| row.causes.get(*cause)).sum();
            ns as f64 / row.wall_ns.max(1) as f64
        });
        let share = share.reduce(f64::max)?;
        Some(RankStep { rank, step_ns, communication_ns: (share * step_ns as f64) as i64 })
    }
}

/// The rank that is late, and what the others wait for it in each step.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LateRank {
    pub late: RankStep,
    /// The median of the others.
    pub others_ns: i64,
}

impl LateRank {
    /// What each step would be shorter at most if it were not late.
    pub fn waited_ns(&self) -> i64 {
        self.others_ns.saturating_sub(self.late.communication_ns)
    }
}

/// Which rank the others wait for; none if all communicate about as long, do not step together, or are of several jobs. A
/// heuristic.
pub fn late_rank(ranks: &[RankStep], limits: &Thresholds) -> Option<LateRank> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable_by_key(|rank| rank.rank);
    if ranks.windows(2).any(|pair| pair[0].rank == pair[1].rank) {
        return None;
    }
    ranks.sort_by_key(|rank| rank.communication_ns);
    let (&late, others) = ranks.split_first()?;
    let others: Vec<i64> = others.iter().map(|rank| rank.communication_ns).collect();
    let others_ns = *others.get(others.len().saturating_sub(1) / 2)?;
    let (shortest, longest) =
        ranks.iter().fold((i64::MAX, 0), |(low, high), rank| (low.min(rank.step_ns), high.max(rank.step_ns)));
    let together = longest as f64 <= shortest as f64 * (1.0 + limits.get("late_rank.max_step_difference"));
    let found = LateRank { late, others_ns };
    let waited_ns = found.waited_ns() as f64;
    let spread_ns = (others[others.len() - 1] - others[0]) as f64;
    let stands_out = waited_ns >= limits.get("late_rank.min_share") * late.step_ns as f64
        && spread_ns <= limits.get("late_rank.max_spread") * waited_ns;
    (together && stands_out).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: &[(i64, i64)]) -> Option<(i64, i64)> {
        let rank =
            |(rank, &(step_ns, communication_ns))| RankStep { rank: rank as i64, step_ns, communication_ns };
        late_rank(&steps.iter().enumerate().map(rank).collect::<Vec<_>>(), &Thresholds::default())
            .map(|found| (found.late.rank, found.waited_ns()))
    }

    #[test]
    fn whoever_communicates_least_is_waited_for() {
        assert_eq!(found(&[(100, 80), (101, 5), (100, 84), (102, 82)]), Some((1, 77)));
        assert_eq!(found(&[(100, 80), (101, 5)]), Some((1, 75)));
        // Communication that takes long on every rank.
        assert_eq!(found(&[(1330, 1304), (1325, 1235), (1336, 1105), (1336, 1310)]), Some((2, 199)));
        let twice = RankStep { rank: 0, step_ns: 100, communication_ns: 80 };
        assert_eq!(
            late_rank(&[twice, RankStep { communication_ns: 5, ..twice }], &Thresholds::default()),
            None
        );
        // Too little to matter, two of them, all different, not in step, alone, and none.
        for steps in [
            &[(100, 9), (101, 1)][..],
            &[(100, 80), (101, 20), (100, 22), (101, 79)],
            &[(100, 20), (101, 40), (100, 60), (101, 80)],
            &[(100, 80), (150, 5)],
            &[(100, 80)],
            &[],
        ] {
            assert_eq!(found(steps), None, "{steps:?}");
        }
    }
}
