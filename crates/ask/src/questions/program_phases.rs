//! What a program went through, in one sentence: the terminal, the page, reports and `stepscope run` say it alike.

use stepscope_model::{ProgramPhases, SteadyIterations};

use crate::print::units;

/// Parts of the start-up below this share of it are not named.
const MIN_PART_SHARE: f64 = 0.01;
/// What follows the last iteration is worth a word from here on.
const MIN_AFTER_LAST_NS: i64 = 500_000_000;

/// `Start-up 13.30 s: imports 2.800 s, weights 2.700 s, other 7.800 s; then 110 iterations of 12.60 ms`.
pub fn phases_text(phases: &ProgramPhases) -> String {
    let mut text = format!("Start-up {}", units::time(phases.start_up_ns));
    if let Some(parts) = &phases.start_up {
        let mut named = vec![
            ("imports", parts.imports_ns),
            ("weights", parts.weights_ns),
            ("device", parts.device_start_ns),
            ("compilation", parts.compilation_ns),
        ];
        let least = MIN_PART_SHARE * phases.start_up_ns as f64;
        named.retain(|part| part.1 as f64 >= least && part.1 > 0);
        if !named.is_empty() {
            let rest = phases.start_up_ns.saturating_sub(named.iter().map(|part| part.1).sum()).max(0);
            named.push(("other", rest));
            let words: Vec<String> =
                named.iter().map(|(name, ns)| format!("{name} {}", units::time(*ns))).collect();
            text.push_str(": ");
            text.push_str(&words.join(", "));
        }
    }
    let mut then = Vec::new();
    if phases.warm_up_iterations > 0 {
        let warm_up = iterations("warm-up ", phases.warm_up_iterations);
        then.push(format!("{warm_up} ({})", units::time(phases.warm_up_ns)));
    }
    then.extend(phases.steady.iter().filter(|steady| steady.iterations > 0).map(steady_text));
    if !then.is_empty() {
        text.push_str("; then ");
        text.push_str(&then.join(", "));
        if phases.after_last_ns.is_none() {
            text.push_str(" until this was recorded");
        }
    }
    match phases.pauses {
        0 => {}
        1 => text.push_str(&format!("; 1 pause ({})", units::time(phases.pauses_ns))),
        many => {
            text.push_str(&format!("; {} pauses ({})", units::count(many), units::time(phases.pauses_ns)));
        }
    }
    if let Some(ns) = phases.after_last_ns.filter(|ns| *ns >= MIN_AFTER_LAST_NS) {
        text.push_str(&format!("; {} after the last iteration", units::time(ns)));
    }
    text
}

fn steady_text(steady: &SteadyIterations) -> String {
    let count = iterations("", steady.iterations);
    match steady.iteration_ns {
        Some(ns) => format!("{count} of {}", units::time(ns)),
        None => count,
    }
}

fn iterations(kind: &str, count: u64) -> String {
    match count {
        1 => format!("1 {kind}iteration"),
        many => format!("{} {kind}iterations", units::count(many)),
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::StartUpParts;

    use super::*;

    fn whole() -> ProgramPhases {
        ProgramPhases {
            start_up_ns: 13_300_000_000,
            start_up: Some(StartUpParts {
                imports_ns: 2_800_000_000,
                longest_imports: Vec::new(),
                weights_ns: 2_700_000_000,
                device_start_ns: 600_000_000,
                compilation_ns: 100_000_000,
            }),
            warm_up_iterations: 19,
            warm_up_ns: 950_000_000,
            steady: vec![SteadyIterations { iterations: 1_110, iteration_ns: Some(12_600_000) }],
            pauses: 2,
            pauses_ns: 3_100_000_000,
            after_last_ns: Some(1_200_000_000),
            last_step_is_cut: false,
        }
    }

    #[test]
    fn all_phases_are_one_sentence() {
        // 0.8% of the start-up is not named, and its time is among the others.
        assert_eq!(
            phases_text(&whole()),
            "Start-up 13.30 s: imports 2.800 s, weights 2.700 s, device 600.0 ms, other 7.200 s; then 19 warm-up iterations \
             (950.0 ms), 1,110 iterations of 12.60 ms; 2 pauses (3.100 s); 1.200 s after the last iteration"
        );
    }

    #[test]
    fn a_program_that_goes_on_and_changes() {
        let steady = vec![
            SteadyIterations { iterations: 1, iteration_ns: None },
            SteadyIterations { iterations: 40, iteration_ns: Some(22_700_000) },
        ];
        let phases = ProgramPhases {
            start_up: None,
            warm_up_iterations: 0,
            steady,
            pauses: 1,
            after_last_ns: None,
            ..whole()
        };
        assert_eq!(
            phases_text(&phases),
            "Start-up 13.30 s; then 1 iteration, 40 iterations of 22.70 ms until this was recorded; 1 pause (3.100 s)"
        );
    }

    #[test]
    fn a_start_up_of_nothing_known_has_no_parts() {
        let phases = ProgramPhases {
            start_up_ns: 2_000_000,
            start_up: Some(StartUpParts::default()),
            ..Default::default()
        };
        assert_eq!(phases_text(&phases), "Start-up 2.000 ms");
    }
}
