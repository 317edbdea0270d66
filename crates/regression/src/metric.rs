//! What can be measured of a run, by name.

use std::fmt;

use stepscope_analyse::statistics::Statistic;
use stepscope_ask::print::units;
use stepscope_ground::Problem;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds.
    Time,
    Bytes,
    /// A share of a whole, 0 to 1.
    Share,
    Count,
    /// Joules.
    Energy,
    /// How many per second.
    Rate,
    /// A number of the program's own, in a unit that only it knows.
    Number,
}

impl Quantity {
    /// A value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Time => units::time(value.round() as i64),
            Self::Bytes => units::bytes(value.round() as i64),
            Self::Share => units::percent(value),
            Self::Count if value.fract() == 0.0 && (0.0..1e15).contains(&value) => units::count(value as u64),
            Self::Count => format!("{value:.1}"),
            Self::Energy => format!("{value:.4} J"),
            Self::Rate => format!("{}/s", short(value)),
            Self::Number => short(value),
        }
    }
}

/// Four digits of a number in an unknown unit.
fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - size.max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// As it is written: `step_time_p95`, `op:aten::mm`.
    pub name: String,
    /// Under which its values are kept: `step_time` for all statistics of steps.
    pub key: String,
    /// How the values of one repeat become one.
    pub statistic: Statistic,
    pub quantity: Quantity,
    /// Whether it is counted, not timed: a single value is exact.
    pub counted: bool,
}

/// Name, quantity, whether it is counted, and what it means.
const PLAIN_METRICS: &[(&str, Quantity, bool, &str)] = &[
    ("step_time", Quantity::Time, false, "mean time of a step, without the first ones"),
    ("wall_time", Quantity::Time, false, "from the start of the program to its end"),
    ("peak_gpu_memory", Quantity::Bytes, true, "most memory that PyTorch's allocator handed out on one GPU"),
    ("peak_memory", Quantity::Bytes, false, "most memory that the process had in RAM"),
    ("samples_per_s", Quantity::Rate, false, "samples per second, where the program calls step(samples=…)"),
    ("gpu_utilization", Quantity::Share, false, "share of the steps in which the GPU was busy"),
    ("flops_utilization", Quantity::Share, false, "the model's FLOPs per second over the GPU's peak"),
    ("launches_per_step", Quantity::Count, true, "kernels, copies and memsets launched per step"),
    ("energy", Quantity::Energy, false, "energy of all GPUs during the run (sweep)"),
    ("value", Quantity::Number, false, "what --metric-regex found in the program's output"),
];

/// Prefix, quantity, and what it means.
const NAMED_METRICS: &[(&str, Quantity, &str)] = &[
    (
        "op",
        Quantity::Time,
        "time of an operator per step: on the device if it ran anything there, else on the host",
    ),
    ("kernel", Quantity::Time, "time of a kernel per step"),
    ("module", Quantity::Time, "time of an nn.Module per step, by its path or name, like op"),
    ("region", Quantity::Time, "time of a record_function range per step, like op"),
    ("bench", Quantity::Time, "time of a benchmark of pytest-benchmark, asv or the pytest plugin"),
    ("value", Quantity::Number, "what a named group of --metric-regex found in the program's output"),
];

impl Metric {
    pub fn parse(name: &str) -> Result<Metric, Problem> {
        let name = name.trim();
        let metric = |key: &str, statistic, quantity, counted| Metric {
            name: name.to_owned(),
            key: key.to_owned(),
            statistic,
            quantity,
            counted,
        };
        if let Some((prefix, rest)) = name.split_once(':')
            && let Some((_, quantity, _)) = NAMED_METRICS.iter().find(|(known, ..)| *known == prefix)
        {
            if rest.is_empty() {
                return Err(Problem::new(
                    format!("{prefix}: needs a name"),
                    format!("write {prefix}:NAME, as it is called in the trace"),
                ));
            }
            // Rounds of a benchmark are many and short, and a few are interrupted.
            let statistic = if prefix == "bench" { Statistic::MEDIAN } else { Statistic::Mean };
            return Ok(metric(name, statistic, *quantity, false));
        }
        let (plain, statistic) = match name.rsplit_once("_p") {
            Some((plain, percent)) if ["step_time", "wall_time"].contains(&plain) => {
                let percent = percent.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
                let percent = percent.ok_or_else(|| {
                    Problem::new(format!("no such percentile: {name}"), "write step_time_p50 or step_time_p95")
                })?;
                (plain, Statistic::Quantile(percent / 100.0))
            }
            _ => (name, Statistic::Mean),
        };
        let (plain, statistic) =
            plain.strip_suffix("_mean").map_or((plain, statistic), |plain| (plain, Statistic::Mean));
        match PLAIN_METRICS.iter().find(|(known, ..)| *known == plain) {
            Some((key, quantity, counted, _)) => Ok(metric(key, statistic, *quantity, *counted)),
            None => Err(Problem::new(format!("no such metric: {name}"), Metric::hint(name))),
        }
    }

    fn hint(name: &str) -> String {
        let close = PLAIN_METRICS.iter().map(|p| p.0).find(|known| {
            let bare = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
            bare(known).contains(&bare(name)) || bare(name).contains(&bare(known))
        });
        match close {
            Some(known) => format!("did you mean {known}?"),
            None => {
                let plain: Vec<&str> = PLAIN_METRICS.iter().map(|p| p.0).collect();
                format!(
                    "one of {}; or op:NAME, kernel:NAME, module:NAME, region:NAME, bench:NAME",
                    plain.join(", ")
                )
            }
        }
    }

    /// All metrics with what they mean, for help and documentation.
    pub fn all() -> impl Iterator<Item = (String, &'static str)> {
        let plain = PLAIN_METRICS.iter().map(|(name, .., text)| ((*name).to_owned(), *text));
        plain.chain(NAMED_METRICS.iter().map(|(prefix, _, text)| (format!("{prefix}:NAME"), *text)))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_values_and_what_of_them() {
        let parse = |name| Metric::parse(name).unwrap();
        assert_eq!(
            (parse("step_time").key.as_str(), parse("step_time").statistic),
            ("step_time", Statistic::Mean)
        );
        let p95 = parse("step_time_p95");
        assert_eq!((p95.key.as_str(), p95.statistic), ("step_time", Statistic::Quantile(0.95)));
        assert_eq!(parse("step_time_mean").statistic, Statistic::Mean);
        assert_eq!(parse("op:aten::mm").key, "op:aten::mm");
        assert!(parse("peak_gpu_memory").counted && !parse("peak_memory").counted);
    }

    #[test]
    fn a_wrong_name_gets_a_hint() {
        assert_eq!(Metric::parse("gpu_memory").unwrap_err().hint, "did you mean peak_gpu_memory?");
        assert!(Metric::parse("speed").unwrap_err().hint.contains("step_time"));
        assert!(Metric::parse("op:").unwrap_err().what.contains("needs a name"));
        assert!(Metric::parse("step_time_p101").is_err());
    }

    #[test]
    fn numbers_in_unknown_units_have_four_digits() {
        assert_eq!(Quantity::Number.text(1234.567), "1235");
        assert_eq!(Quantity::Number.text(0.012345), "0.01235");
        assert_eq!(Quantity::Number.text(12_345_678.0), "1.235e7");
        assert_eq!(Quantity::Number.text(0.0), "0.000000");
    }
}
