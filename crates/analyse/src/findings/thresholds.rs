//! The limits of the rules: named, documented, and the user's to change.

use std::collections::BTreeMap;

use crate::roofline::efficiency::Efficiency;
use crate::statistics::GrowthRule;

/// One limit of a rule.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Its name: the rule's, a dot, its own (`data_loading.min_share`).
    pub name: &'static str,
    /// What it is unless overridden.
    pub default: f64,
    pub text: &'static str,
}

/// A list of thresholds: `"rule.name" = default, "what it limits";`.
macro_rules! thresholds {
    ($($name:literal = $default:expr, $text:literal;)*) => {
        &[$($crate::findings::Threshold { name: $name, default: $default, text: $text }),*]
    };
}

pub(crate) use thresholds;

/// Limits of severity, which all rules share.
pub(super) const SEVERITY: &[Threshold] = thresholds! {
    "severity.high" = 0.20, "share of a step without the profiler that makes a finding high";
    "severity.medium" = 0.05, "share of a step without the profiler that makes a finding medium";
    "severity.low" = 0.01, "share of a step without the profiler below which a cost is not reported";
};

/// What well-made kernels reach of a device's peaks: assumptions that estimates of savings rest on.
pub(super) const ASSUMPTIONS: &[Threshold] = thresholds! {
    "assume.matrix_efficiency" = Efficiency::ASSUMED.matrix,
        "share of the peak rate that large matrix products and convolutions reach on tensor cores";
    "assume.attention_efficiency" = Efficiency::ASSUMED.attention, "share of the peak rate that fused attention reaches";
    "assume.masked_attention_efficiency" = 0.09,
        "share of the peak rate that fused attention reaches with a bias of its own for each head";
    "assume.memory_efficiency" = Efficiency::ASSUMED.memory,
        "share of the peak memory bandwidth that memory-bound kernels reach";
};

/// When memory keeps growing, whoever looks at it.
pub(super) const LEAKS: &[Threshold] = thresholds! {
    "leak.confidence" = GrowthRule::COUNTED.confidence,
        "how sure it must be that memory grows, and that it still does in the second half";
    "leak.steadiness" = GrowthRule::COUNTED.steadiness,
        "how steep the second half must be, as a share of the whole: memory that fills up and stops does not leak";
    "leak.min_levels" = GrowthRule::COUNTED.min_levels as f64, "levels needed to judge what an allocator has handed out";
    "leak.min_readings" = GrowthRule::READ.min_levels as f64,
        "levels needed to judge what the system says about a process, without its warm-up";
    "leak.fit" = GrowthRule::SAMPLED.fit,
        "how well a straight line must fit the levels of a device when steps end, and those that a clock samples (R²)";
};

/// When the ranks of a job wait for one of them.
pub(super) const LATE_RANK: &[Threshold] = thresholds! {
    "late_rank.max_step_difference" = 0.15, "ranks of one job step together: by how much their mean steps may differ";
    "late_rank.min_share" = 0.1, "share of a step for which the others communicate longer than the rank that is late";
    "late_rank.max_spread" = 0.5, "share of that by which the others may differ among themselves";
};

/// The limits in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    pub(super) values: BTreeMap<String, f64>,
    pub(super) off: Vec<String>,
}

impl Thresholds {
    /// When levels that are counted keep growing.
    pub fn counted_growth(&self) -> GrowthRule {
        GrowthRule {
            confidence: self.get("leak.confidence").min(1.0),
            min_levels: self.get("leak.min_levels") as usize,
            steadiness: self.get("leak.steadiness"),
            fit: 0.0,
        }
    }

    /// The same for all that a device holds when a step ends.
    pub fn growth_of_steps(&self) -> GrowthRule {
        GrowthRule { fit: self.get("leak.fit"), ..self.counted_growth() }
    }

    /// The same for levels that the system tells.
    pub fn read_growth(&self) -> GrowthRule {
        GrowthRule { min_levels: self.get("leak.min_readings") as usize, ..self.counted_growth() }
    }

    /// The same for levels that a clock samples.
    pub fn sampled_growth(&self) -> GrowthRule {
        GrowthRule { fit: self.get("leak.fit"), ..self.read_growth() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::RULES;

    #[test]
    fn limits_are_known_by_name() {
        let mut limits = Thresholds::default();
        assert_eq!(limits.get("severity.high"), 0.20);
        assert_eq!(limits.set("severity.high", 0.5), Ok(()));
        assert_eq!(limits.get("severity.high"), 0.5);
        let error = limits.set("severity.hihg", 0.5).unwrap_err();
        assert!(error.contains("did you mean 'severity.high'"), "{error}");
        assert!(limits.set("severity.high", f64::NAN).is_err());
        assert!(limits.switch_off("nonsense").is_err());
    }

    #[test]
    fn growth_is_judged_by_the_limits_in_force() {
        let mut limits = Thresholds::default();
        assert_eq!(limits.counted_growth(), GrowthRule::COUNTED);
        assert_eq!(limits.growth_of_steps(), GrowthRule::OF_STEPS);
        assert_eq!(limits.read_growth(), GrowthRule::READ);
        assert_eq!(limits.sampled_growth(), GrowthRule::SAMPLED);
        assert_eq!(limits.set("leak.min_readings", 12.0), Ok(()));
        assert_eq!(limits.sampled_growth(), GrowthRule { min_levels: 12, ..GrowthRule::SAMPLED });
    }

    #[test]
    fn every_rule_and_limit_has_a_name_of_its_own() {
        let mut names: Vec<&str> =
            RULES.iter().map(|r| r.name).chain(Thresholds::all().map(|t| t.name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for rule in RULES {
            assert!(
                rule.thresholds.iter().all(|t| t.name.split('.').next() == Some(rule.name)),
                "{}",
                rule.name
            );
        }
    }
}
