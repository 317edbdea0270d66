//! When a run fails: `step_time>+5%`, `gpu_utilization<-3%`, `peak_gpu_memory>20GiB`.

use std::fmt;

use stepscope_ground::{Problem, units};

use crate::metric::{Metric, Quantity};

/// From where on a metric fails.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Limit {
    /// More than this share above the baseline.
    Rise(f64),
    /// More than this share below the baseline.
    Fall(f64),
    Above(f64),
    Below(f64),
}

/// One condition under which a run fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    pub metric: Metric,
    /// From where on it fails.
    pub limit: Limit,
}

const SYNTAX: &str =
    "write METRIC>+5% (more than 5% above the baseline), METRIC<-5%, or an absolute limit such as METRIC>12ms";

impl Condition {
    /// Reads a condition. A metric's own name may hold `<` and `>`, as kernels' do: the last sign followed by a limit counts.
    pub fn parse(text: &str) -> Result<Condition, Problem> {
        let text = text.trim();
        let signs = text.char_indices().rev().filter(|(_, c)| matches!(c, '<' | '>'));
        let found = signs.map(|(at, c)| (at, c == '>')).find(|(at, _)| {
            text[at + 1..].trim_start_matches(['=', ' ', '+', '-']).starts_with(|c: char| c.is_ascii_digit())
        });
        let Some((at, rising)) = found else {
            return Err(Problem::new(format!("this is not a condition: {text}"), SYNTAX));
        };
        let metric = Metric::parse(&text[..at])?;
        let limit = limit(text[at + 1..].trim_start_matches('=').trim(), rising, &metric)?;
        Ok(Condition { text: text.to_owned(), metric, limit })
    }

    /// Whether it needs a baseline.
    pub fn is_relative(&self) -> bool {
        matches!(self.limit, Limit::Rise(_) | Limit::Fall(_))
    }
}

fn limit(text: &str, rising: bool, metric: &Metric) -> Result<Limit, Problem> {
    let wrong = |hint: &str| Problem::new(format!("this is not a limit for {metric}: {text}"), hint);
    let sign = text.chars().next().filter(|c| matches!(c, '+' | '-'));
    let (digits, unit) = units::split(text.trim_start_matches(['+', '-']));
    let digits = digits.parse::<f64>().ok().filter(|digits| digits.is_finite()).ok_or_else(|| wrong(SYNTAX))?;
    match (sign, unit) {
        (Some(sign), "%") if rising != (sign == '+') => {
            Err(wrong("a rise is >+5%, a fall is <-5%: the sign and the direction do not agree"))
        }
        (Some(_), "%") if rising => Ok(Limit::Rise(digits / 100.0)),
        (Some(_), "%") => Ok(Limit::Fall(digits / 100.0)),
        (Some('-'), _) => Err(wrong("a limit is not negative; a fall from the baseline is written <-5%")),
        (Some(_), _) => Err(wrong("a change from the baseline is a percentage, like >+5%")),
        (None, "%") if metric.quantity != Quantity::Share => {
            Err(wrong("with a sign it is a change from the baseline: write >+5% or <-5%"))
        }
        (None, unit) => {
            let factor = factor(metric.quantity, unit).ok_or_else(|| wrong(units_of(metric.quantity)))?;
            let value = digits * factor;
            Ok(if rising { Limit::Above(value) } else { Limit::Below(value) })
        }
    }
}

fn factor(quantity: Quantity, unit: &str) -> Option<f64> {
    Some(match (quantity, unit) {
        (Quantity::Time, unit) => units::time_unit(unit)? as f64,
        (Quantity::Bytes, unit) => units::byte_unit(unit)? as f64,
        (Quantity::Share, "%") => 0.01,
        (Quantity::Count | Quantity::Number | Quantity::Rate, "") | (Quantity::Rate, "/s") => 1.0,
        (Quantity::Energy, "J") => 1.0,
        (Quantity::Energy, "kJ") => 1e3,
        _ => return None,
    })
}

fn units_of(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Time => "a time needs a unit: ns, us, ms, s or min",
        Quantity::Bytes => "a size needs a unit: kB, MB, GB, KiB, MiB or GiB",
        Quantity::Share => "a share is a percentage, like <80%",
        Quantity::Count | Quantity::Number => "it is a plain number",
        Quantity::Energy => "energy needs a unit: J or kJ",
        Quantity::Rate => "it is a number per second, like <500/s",
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (String, Limit) {
        let condition = Condition::parse(text).unwrap();
        (condition.metric.name, condition.limit)
    }

    #[test]
    fn conditions_are_read() {
        assert_eq!(parse("step_time>+5%"), ("step_time".to_owned(), Limit::Rise(0.05)));
        assert_eq!(parse("gpu_utilization < -2.5 %"), ("gpu_utilization".to_owned(), Limit::Fall(0.025)));
        assert_eq!(parse("gpu_utilization<80%"), ("gpu_utilization".to_owned(), Limit::Below(0.8)));
        assert_eq!(parse("samples_per_s<-5%"), ("samples_per_s".to_owned(), Limit::Fall(0.05)));
        assert_eq!(parse("samples_per_s<500/s"), ("samples_per_s".to_owned(), Limit::Below(500.0)));
        assert_eq!(parse("step_time_p95>12ms"), ("step_time_p95".to_owned(), Limit::Above(12e6)));
        assert_eq!(
            parse("peak_gpu_memory>=2GiB"),
            ("peak_gpu_memory".to_owned(), Limit::Above(2_147_483_648.0))
        );
        assert_eq!(parse("op:aten::mm>+10%"), ("op:aten::mm".to_owned(), Limit::Rise(0.1)));
        // A kernel's own angle brackets are part of its name.
        let kernel = "kernel:void add<float, 4>(int)";
        assert_eq!(parse(&format!("{kernel}>+1%")), (kernel.to_owned(), Limit::Rise(0.01)));
    }

    #[test]
    fn mistakes_get_a_hint() {
        let hint = |text: &str| Condition::parse(text).unwrap_err().hint;
        assert!(hint("step_time").contains("METRIC>+5%"));
        assert!(hint("step_time>5%").contains("write >+5%"));
        assert!(hint("step_time>-5%").contains("do not agree"));
        assert!(hint("step_time>12").contains("needs a unit"));
        assert!(hint("step_time>+12ms").contains("percentage"));
        assert!(hint("stap_time>+5%").contains("step_time"));
        assert!(hint("step_time>9.9.9ms").contains("METRIC"));
        assert!(Condition::parse("é>é").is_err());
    }
}
