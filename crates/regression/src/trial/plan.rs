//! From single fixes to the best ones together.

use super::Fix;

/// Fixes that are put in together, each line one more than the line before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    pub fixes: Vec<String>,
}

/// The steps of a plan: the best fix, then that and the next best, and so on. Of a group only the best counts.
pub fn order(faster: &[(&Fix, f64)]) -> Vec<PlanStep> {
    let mut sorted: Vec<&(&Fix, f64)> = faster.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.name.cmp(&b.0.name)));
    let mut steps: Vec<PlanStep> = Vec::new();
    let mut chosen: Vec<&Fix> = Vec::new();
    for (fix, _) in sorted {
        if chosen.iter().all(|other| compatible(other, fix)) {
            chosen.push(fix);
            steps.push(PlanStep { fixes: chosen.iter().map(|fix| fix.name.clone()).collect() });
        }
    }
    steps
}

/// Whether both can be put in.
pub fn compatible(a: &Fix, b: &Fix) -> bool {
    a.name != b.name && (a.group.is_none() || a.group != b.group)
}
