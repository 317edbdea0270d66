//! What the runs with certain fixes say, held against those without any.

use stepscope_analyse::statistics::Verdict;

use super::{
    Candidate, FixEffect, FixRecord, Numbers, PlanRecord, Round, RunResult, compare_numbers, compare_times,
    verdict_name,
};

/// Several fixes together, or one, or none.
pub struct Variant {
    pub fixes: Vec<String>,
    /// What it measured in each round; nothing from where it was given up.
    pub results: Vec<Option<RunResult>>,
    /// Why it was given up.
    pub failure: Option<String>,
    /// More rounds would change nothing.
    pub is_decided: bool,
}

impl Variant {
    pub fn new(fixes: Vec<String>) -> Variant {
        Variant { fixes, results: Vec::new(), failure: None, is_decided: false }
    }

    fn last(&self) -> Option<&RunResult> {
        self.results.iter().rev().flatten().next()
    }

    /// Whether all of its fixes took effect, and how one knows.
    fn effect(&self) -> (bool, String) {
        if let Some(failure) = &self.failure {
            return (false, failure.clone());
        }
        let effects: &[FixEffect] = self.last().map_or(&[], |result| &result.fixes);
        let evidence: Vec<&str> = effects.iter().map(|effect| effect.evidence.as_str()).collect();
        (!effects.is_empty() && effects.iter().all(|effect| effect.took), evidence.join("; "))
    }
}

pub fn rounds<'v>(variant: &'v Variant, baselines: &'v [[RunResult; 2]]) -> Vec<Round<'v>> {
    let pairs = variant.results.iter().zip(baselines);
    pairs.filter_map(|(fixed, [a, b])| Some(Round { baselines: [a, b], fixed: fixed.as_ref()? })).collect()
}

pub fn fix_record(candidate: &Candidate, variant: &Variant, baselines: &[[RunResult; 2]]) -> FixRecord {
    let (took, evidence) = variant.effect();
    let rounds = if took { rounds(variant, baselines) } else { Vec::new() };
    let found = (!rounds.is_empty()).then(|| compare_times(&rounds));
    let saves = |ratio: Option<f64>| ratio.map(|ratio| 1.0 - ratio);
    FixRecord {
        name: candidate.fix.name.clone(),
        title: candidate.fix.title.clone(),
        rule: candidate.rule.map(str::to_owned),
        promised: candidate.promised,
        at_most: candidate.at_most,
        iteration_ns: found.as_ref().and_then(|found| found.current),
        saves: saves(found.as_ref().and_then(|found| found.ratio)),
        saves_low: saves(found.as_ref().and_then(|found| found.high)),
        saves_high: saves(found.as_ref().and_then(|found| found.low)),
        verdict: found.as_ref().map(|found| verdict_name(found.verdict).to_owned()),
        numbers: if rounds.is_empty() { Numbers::Unknown } else { compare_numbers(&rounds) },
        peak_bytes: difference(&rounds, |run| run.peak_bytes() as f64).map(|bytes| bytes as i64),
        startup_ns: difference(&rounds, |run| run.startup_ns.unwrap_or(0.0)),
        took,
        evidence,
        code: candidate.fix.code.clone(),
    }
}

/// How much more a run with the fix needs, in the middle of all rounds.
fn difference(rounds: &[Round<'_>], of: impl Fn(&RunResult) -> f64) -> Option<f64> {
    let mut all: Vec<f64> = rounds
        .iter()
        .map(|round| of(round.fixed) - (of(round.baselines[0]) + of(round.baselines[1])) / 2.0)
        .collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// A step of the plan; `before` is the step that it comes on top of.
pub fn plan_record(
    variant: &Variant,
    before: Option<&Variant>,
    baselines: &[[RunResult; 2]],
) -> Option<PlanRecord> {
    let (took, _) = variant.effect();
    let all = rounds(variant, baselines);
    if all.is_empty() || !took {
        return None;
    }
    let found = compare_times(&all);
    let helps = before.is_none_or(|before| {
        let pairs = variant.results.iter().zip(&before.results);
        let top: Vec<Round<'_>> = pairs
            .filter_map(|(now, before)| {
                let (now, before) = (now.as_ref()?, before.as_ref()?);
                Some(Round { baselines: [before, before], fixed: now })
            })
            .collect();
        compare_times(&top).verdict == Verdict::Faster
    });
    Some(PlanRecord {
        fixes: variant.fixes.clone(),
        iteration_ns: found.current?,
        saves: 1.0 - found.ratio?,
        saves_low: found.high.map(|ratio| 1.0 - ratio),
        saves_high: found.low.map(|ratio| 1.0 - ratio),
        numbers: compare_numbers(&all),
        helps,
    })
}
