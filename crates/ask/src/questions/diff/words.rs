//! A comparison in words: the verdict, what made it, and where a row is.

use stepscope_analyse::compare::{Change, ChangeRow, Diff};
use stepscope_analyse::names::kernel_name::short;
use stepscope_analyse::statistics::{Method, Verdict};

use super::super::ops::ratio;
use crate::print::units;

/// Changes that a sentence names.
const MAX_NAMED_CHANGES: usize = 3;

/// The times that a sentence names, and the ratio of the two.
struct Headline {
    times: String,
    ratio: Option<f64>,
    /// What means say, where they are not named.
    on_average: Option<String>,
}

impl Headline {
    /// Means, which the rows below add up to, unless the verdict's interval rules their ratio out: then a few steps are
    /// unlike the others, and the verdict is about the typical one.
    fn new(found: &Diff) -> Headline {
        let (a, b) = (found.before.mean_ns, found.after.mean_ns);
        let means = (a > 0).then(|| b as f64 / a as f64);
        let comparison = &found.comparison;
        let typical = comparison.baseline.zip(comparison.current).filter(|(a, _)| *a > 0.0);
        match (means, typical) {
            (Some(means), Some((before, after))) if !comparison.allows(means) => {
                let medians = after / before;
                Headline {
                    times: format!(
                        "a typical step took {} before, {} after",
                        units::time(before as i64),
                        units::time(after as i64)
                    ),
                    ratio: if comparison.allows(medians) { Some(medians) } else { comparison.ratio },
                    on_average: Some(format!(
                        " The mean went from {} to {}: a few steps take far longer than the rest.",
                        units::time(a),
                        units::time(b)
                    )),
                }
            }
            _ => Headline {
                times: format!("{} per step before, {} after", units::time(a), units::time(b)),
                ratio: means.or(comparison.ratio),
                on_average: None,
            },
        }
    }
}

/// `1.32x faster: 12.31 ms per step before, 9.33 ms after.`
pub fn sentence(found: &Diff) -> String {
    let (a, b) = (found.before.mean_ns, found.after.mean_ns);
    if found.rows.iter().all(|row| row.change == Change::Same) && a == b {
        return format!("The same: {} per step in both, and nothing differs.", units::time(a));
    }
    let Headline { times, ratio, on_average } = Headline::new(found);
    verdict(found, &times, ratio) + &on_average.unwrap_or_default()
}

fn verdict(found: &Diff, times: &str, ratio: Option<f64>) -> String {
    let comparison = &found.comparison;
    let interval = comparison.low.zip(comparison.high).map(|(low, high)| {
        format!("{} to {}", units::delta_percent(low - 1.0), units::delta_percent(high - 1.0))
    });
    let by = |ratio: f64| if ratio >= 1.1 { format!("{ratio:.2}x") } else { units::percent(ratio - 1.0) };
    let sure = |text: String| interval.as_ref().map_or(text.clone(), |i| format!("{text} (95% CI: {i})"));
    match (comparison.verdict, ratio) {
        (Verdict::Faster, Some(ratio)) if ratio > 0.0 => {
            sure(format!("{} faster: {times}", by(1.0 / ratio))) + "."
        }
        (Verdict::Slower, Some(ratio)) => sure(format!("{} slower: {times}", by(ratio))) + ".",
        (Verdict::NoDifference, _) => sure(format!("No detectable difference: {times}")) + ".",
        _ if comparison.method == Method::Nothing => {
            format!("Not clear: {times}. One step on a side says nothing about the noise; record more steps.")
        }
        _ => {
            let repeats = comparison.repeats_to_decide.map_or_else(
                || "record more steps, or several runs per side".to_owned(),
                |n| format!("about {n} recordings per side would decide"),
            );
            format!("{}; {repeats}.", sure(format!("Not clear: {times}")))
        }
    }
}

/// What made most of the difference, by cause and by its largest row.
pub fn because(found: &Diff) -> Option<String> {
    match found.comparison.verdict {
        Verdict::NoDifference => return None,
        Verdict::Inconclusive => return beyond_noise(found),
        Verdict::Faster | Verdict::Slower => {}
    }
    let cause = found.causes.iter().find(|cause| (cause.delta_ns > 0) == (found.delta_ns > 0))?;
    let what = match cause.cause.label().strip_prefix("idle: ") {
        Some(why) => format!("idle time ({why})"),
        None => cause.cause.label().to_owned(),
    };
    let (share, changed) = (ratio(cause.delta_ns, found.delta_ns), units::delta_time(cause.delta_ns));
    let mut text = match share > 1.0 {
        true => format!("{}{} changed by {changed} per step", what[..1].to_uppercase(), &what[1..]),
        false => format!("{} of the change is {what}: {changed} per step", units::percent(share)),
    };
    let largest = found.rows.iter().find(|row| row.cause == cause.cause);
    if let Some(row) = largest.filter(|row| ratio(row.delta_ns, cause.delta_ns) > 0.2)
        && place(row) != cause.cause.label()
    {
        text.push_str(&format!(", the largest part in {} ({})", place(row), units::delta_time(row.delta_ns)));
    }
    text.push_str(if share > 1.0 { "; the rest went the other way." } else { "." });
    Some(match Headline::new(found).on_average {
        Some(_) => format!("On average: {text}"),
        None => text,
    })
}

/// What changed for sure though the step may not have.
fn beyond_noise(found: &Diff) -> Option<String> {
    let sure = found.rows.iter().filter(|row| row.noise_ns.is_some_and(|noise| row.delta_ns.abs() > noise));
    let named: Vec<String> = (sure.take(MAX_NAMED_CHANGES))
        .map(|row| {
            let what = match (row.change, row.cause.is_busy()) {
                (Change::Added, true) => "new: ",
                (Change::Removed, true) => "gone: ",
                (_, true) => "",
                (_, false) => "idle time in ",
            };
            format!("{what}{} ({})", place(row), units::delta_time(row.delta_ns))
        })
        .collect();
    (!named.is_empty()).then(|| format!("More than noise by themselves: {}.", named.join("; ")))
}

/// Names of kernels in their short forms.
pub(super) fn shortened(names: &str) -> String {
    names.split(" + ").map(short).collect::<Vec<_>>().join(" + ")
}

pub fn place(row: &ChangeRow) -> String {
    let name = shortened(&row.name);
    match &row.op {
        Some(op) if *op != row.name => format!("{op}: {name}"),
        _ => name,
    }
}
