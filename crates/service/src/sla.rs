//! Targets of a service level: `p95<100ms`, `error_rate<1%`, or `2.0`, which is seconds that no request may exceed.
//!
//! Whether a request counts against a target is decided when it ends, so the counts are exact whatever the histogram's
//! error is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stepscope_ground::{Problem, units};

/// Targets of one route at most.
pub const MAX_TARGETS: usize = 8;

/// What a target is about.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// A request counts against it if it takes longer than this.
    Latency {
        /// The longest that is fine.
        limit_ns: u64,
    },
    /// A request counts against it if it fails.
    Errors,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// As it was written, in one spelling: `p95<100ms`.
    pub text: String,
    pub goal: Goal,
    /// The share of requests that may miss it: 0.05 for `p95`, 0 where every request counts.
    pub allowed: f64,
}

impl Target {
    /// Whether a request counts against it.
    pub fn is_missed_by(&self, latency_ns: u64, failed: bool) -> bool {
        match self.goal {
            Goal::Latency { limit_ns } => latency_ns > limit_ns,
            Goal::Errors => failed,
        }
    }

    /// Whether it is about how long requests take.
    pub fn is_about_latency(&self) -> bool {
        matches!(self.goal, Goal::Latency { .. })
    }

    /// Whether each request that misses it is a violation of its own.
    pub fn is_per_request(&self) -> bool {
        self.allowed == 0.0
    }

    /// How fast the error budget is used up: 1 uses exactly what is allowed, 0 nothing. `None` where nothing is allowed,
    /// or nothing was asked.
    pub fn burn_rate(&self, requests: u64, missed: u64) -> Option<f64> {
        (requests > 0 && self.allowed > 0.0).then(|| missed as f64 / requests as f64 / self.allowed)
    }

    /// Whether so many misses keep it.
    pub fn is_kept(&self, requests: u64, missed: u64) -> bool {
        missed as f64 <= self.allowed * requests as f64
    }
}

/// The targets in a text, separated by commas.
pub fn parse(text: &str) -> Result<Vec<Target>, Problem> {
    let targets: Vec<Target> =
        text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(target).collect::<Result<_, _>>()?;
    if targets.is_empty() {
        return Err(unreadable(text));
    }
    if targets.len() > MAX_TARGETS {
        return Err(Problem::new(
            format!("a route has {} targets", targets.len()),
            format!("give {MAX_TARGETS} at most"),
        ));
    }
    Ok(targets)
}

fn target(text: &str) -> Result<Target, Problem> {
    let wrong = || unreadable(text);
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let Some(at) = compact.find('<') else {
        // A plain time that no request may exceed; without a unit it is in seconds.
        let limit_ns = time_ns(&compact).ok_or_else(wrong)?;
        return Ok(Target {
            text: format!("each<={}", time_text(limit_ns)),
            goal: Goal::Latency { limit_ns },
            allowed: 0.0,
        });
    };
    let (name, rest) = (&compact[..at], &compact[at + 1..]);
    let (sign, value) = match rest.strip_prefix('=') {
        Some(value) => ("<=", value),
        None => ("<", rest),
    };
    if matches!(name, "error_rate" | "errors") {
        let allowed = share(value).ok_or_else(wrong)?;
        return Ok(Target { text: format!("error_rate{sign}{value}"), goal: Goal::Errors, allowed });
    }
    let ns = time_ns(value).ok_or_else(wrong)?;
    // Whole nanoseconds: below 100 ms is up to 99,999,999 ns.
    let limit_ns = if sign == "<" { ns.saturating_sub(1) } else { ns };
    let allowed = match name {
        "each" | "max" | "latency" => 0.0,
        _ => {
            let percentile: f64 =
                name.strip_prefix('p').and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
            if !(percentile > 0.0 && percentile < 100.0) {
                return Err(wrong());
            }
            // 5 / 100 and not 1 - 0.95: the nearest number to the share, so that 5 of 100 are exactly allowed.
            round_share((100.0 - percentile) / 100.0)
        }
    };
    let name = if allowed == 0.0 { "each" } else { name };
    Ok(Target { text: format!("{name}{sign}{}", time_text(ns)), goal: Goal::Latency { limit_ns }, allowed })
}

fn unreadable(text: &str) -> Problem {
    let text: String = text.chars().take(80).collect();
    Problem::new(
        format!("this is not a service-level target: '{text}'"),
        "write p95<100ms, p99<2s, error_rate<1%, or seconds that no request may exceed: 2.0",
    )
}

/// A share without the last bits that dividing left: nine digits are more than any percentile has.
fn round_share(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}

fn share(text: &str) -> Option<f64> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let value: f64 = digits.parse().ok()?;
    (value.is_finite() && (0.0..=scale).contains(&value)).then(|| round_share(value / scale))
}

/// A time with a unit, or in seconds without one.
pub(crate) fn time_ns(text: &str) -> Option<u64> {
    let ns = match text.parse::<f64>() {
        Ok(seconds) => (seconds * 1e9).round(),
        Err(_) => {
            let (number, unit) = units::split(text);
            (number.parse::<f64>().ok()? * units::time_unit(unit)? as f64).round()
        }
    };
    (ns.is_finite() && (1.0..1e18).contains(&ns)).then_some(ns as u64)
}

/// The shortest text for a time that is exact: `100ms`, `2s`, `1500us`.
fn time_text(ns: u64) -> String {
    for (name, unit) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
        if ns.is_multiple_of(unit) {
            return format!("{}{name}", ns / unit);
        }
    }
    format!("{ns}ns")
}

#[cfg(test)]
mod tests;
