//! What `stepscope try` measured of the changes that findings advise.

use std::cmp::Ordering;

use stepscope_model::TriedFix;

use super::rules::{RULES, percent, time};

/// The change of a rule that saves most and leaves results as they are.
pub(super) fn best(rule: &str, tried: &[TriedFix]) -> Option<TriedFix> {
    let trials = RULES.iter().find(|each| each.name == rule)?.trials;
    let ours = tried.iter().filter(|fix| trials.contains(&fix.name.as_str()));
    let key = |fix: &TriedFix| (is_sound(fix), fix.saves_share);
    ours.max_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal)).cloned()
}

fn is_sound(fix: &TriedFix) -> bool {
    !matches!(fix.numbers.as_str(), "differs" | "not_a_number")
}

/// `measured: saves 27% (26% to 28%), 41.3 ms -> 30.1 ms with tf32`.
pub(super) fn text(tried: &TriedFix) -> String {
    let with = format!("with {}", tried.name);
    match tried.verdict.as_str() {
        "faster" => {
            let range = tried
                .saves_interval
                .map_or(String::new(), |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
            format!(
                "measured: saves {}{range}, {} -> {} {with}{}",
                percent(tried.saves_share),
                time(tried.without_ns),
                time(tried.with_ns),
                if is_sound(tried) { "" } else { ", but results differ" }
            )
        }
        "slower" => format!("measured: {} slower {with}", percent(-tried.saves_share)),
        "no_difference" => format!("measured: saves nothing {with}"),
        _ => format!("measured: not clear {with}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(name: &str, saves_share: f64, verdict: &str, numbers: &str) -> TriedFix {
        TriedFix {
            name: name.to_owned(),
            without_ns: 40_000_000,
            with_ns: (40e6 * (1.0 - saves_share)) as i64,
            saves_share,
            saves_interval: Some((saves_share - 0.01, saves_share + 0.01)),
            verdict: verdict.to_owned(),
            numbers: numbers.to_owned(),
        }
    }

    #[test]
    fn the_best_that_leaves_results_alone_speaks_for_a_rule() {
        let compile = tried("compile", 0.2, "faster", "within_noise");
        let graphs = tried("compile-graphs", 0.5, "faster", "differs");
        let tf32 = tried("tf32", 0.6, "faster", "same");
        let all = [compile.clone(), graphs.clone(), tf32];
        assert_eq!(best("launch_bound", &all), Some(compile));
        assert_eq!(best("launch_bound", std::slice::from_ref(&graphs)), Some(graphs));
        assert_eq!(best("data_loading", &all), None);
    }

    #[test]
    fn it_is_said_in_one_line() {
        let words = |saves, verdict, numbers| text(&tried("compile", saves, verdict, numbers));
        assert_eq!(
            words(0.25, "faster", "same"),
            "measured: saves 25% (24% to 26%), 40.0 ms -> 30.0 ms with compile"
        );
        assert!(words(0.25, "faster", "differs").ends_with("with compile, but results differ"));
        assert_eq!(words(-0.1, "slower", "same"), "measured: 10% slower with compile");
        assert_eq!(words(0.0, "no_difference", "same"), "measured: saves nothing with compile");
        assert_eq!(words(0.0, "inconclusive", "same"), "measured: not clear with compile");
    }
}
