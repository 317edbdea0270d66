//! What a rule says: a counter, a comparison, a threshold with a unit, and for how long.

use stepscope_analyse::names::nearest::nearest;
use stepscope_ground::{Problem, units};

use crate::counters::counter_text;
use crate::sla;

/// Rules longer than this are not rules.
const MAX_RULE: usize = 500;
/// A condition that has to hold for longer is a mistake.
const MAX_FOR_NS: u64 = 7 * 24 * 3_600_000_000_000;

/// What a rule is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A counter of the machine, its GPUs or the processes.
    Machine {
        /// The counter: `gpu.utilization_percent`.
        column: &'static str,
        /// What it is a share of, where the threshold is a percentage of another counter.
        of: Option<&'static str>,
        /// Only this device; else each device by itself.
        device: Option<u32>,
    },
    /// A quantile of the latency of requests.
    Latency {
        /// From 0 to 1.
        quantile: f64,
        /// Of one route; else of all.
        route: Option<String>,
    },
    /// The share of requests that failed.
    ErrorRate {
        /// Of one route; else of all.
        route: Option<String>,
    },
    /// Requests per second.
    Requests {
        /// Of one route; else of all.
        route: Option<String>,
    },
}

/// What a value and a threshold are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Quantity {
    Percent,
    Bytes,
    BytesPerSecond,
    Watts,
    Celsius,
    Megahertz,
    Time,
    /// From 0 to 1.
    Share,
    PerSecond,
}

/// A counter of the machine that a rule may be about: its name there, the one in files, what it is, and what a percentage is of.
struct MachineCounter {
    name: &'static str,
    column: &'static str,
    quantity: Quantity,
    of: Option<&'static str>,
}

const fn counter(name: &'static str, column: &'static str, quantity: Quantity) -> MachineCounter {
    MachineCounter { name, column, quantity, of: None }
}

const MACHINE_COUNTERS: &[MachineCounter] = &[
    counter("gpu_utilization", "gpu.utilization_percent", Quantity::Percent),
    MachineCounter {
        name: "gpu_memory",
        column: "gpu.memory_used_bytes",
        quantity: Quantity::Bytes,
        of: Some("gpu.memory_total_bytes"),
    },
    counter("power", "gpu.power_w", Quantity::Watts),
    counter("temperature", "gpu.temperature_c", Quantity::Celsius),
    counter("sm_clock", "gpu.sm_clock_mhz", Quantity::Megahertz),
    counter("cpu", "host.cpu_percent", Quantity::Percent),
    MachineCounter {
        name: "memory",
        column: "host.memory_used_bytes",
        quantity: Quantity::Bytes,
        of: Some("host.memory_total_bytes"),
    },
    counter("process_cpu", "process.cpu_percent", Quantity::Percent),
    MachineCounter {
        name: "rss",
        column: "process.rss_bytes",
        quantity: Quantity::Bytes,
        of: Some("host.memory_total_bytes"),
    },
    counter("disk_read", "host.disk_read_bytes_per_s", Quantity::BytesPerSecond),
    counter("disk_write", "host.disk_write_bytes_per_s", Quantity::BytesPerSecond),
    counter("network_receive", "host.network_receive_bytes_per_s", Quantity::BytesPerSecond),
    counter("network_send", "host.network_send_bytes_per_s", Quantity::BytesPerSecond),
];
/// Names of what a service counts, for suggestions; any percentile is known.
const SERVICE_QUANTITIES: &[&str] = &["p50", "p90", "p95", "p99", "error_rate", "requests_per_second"];

#[derive(Clone, Debug, PartialEq)]
pub struct AlertRule {
    /// As it was written, without what needs no saying.
    pub text: String,
    pub subject: Subject,
    /// Whether it is about values above the threshold; else below.
    above: bool,
    or_equal: bool,
    /// In the unit of what it is about.
    threshold: f64,
    /// As it was written, with a space before its unit.
    shown: String,
    /// For how long the condition has to hold.
    pub for_ns: u64,
    quantity: Quantity,
    name: String,
}

impl AlertRule {
    /// Reads `counter<op>threshold[unit] [for DURATION]`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > MAX_RULE {
            return Err(unreadable(text));
        }
        // A route may have this word in it too.
        let split_off = text.rsplit_once(" for ").filter(|(_, time)| !time.contains(['<', '>']));
        let (condition, held) = match split_off {
            Some((condition, time)) => (condition.trim(), Some(time.trim())),
            None => (text.trim(), None),
        };
        let for_ns = match held {
            Some(time) => duration_ns(time).ok_or_else(|| {
                Problem::new(
                    format!("this is not a duration: '{}'", cut(time)),
                    "write 30s, 5m or 1h after 'for', up to a week",
                )
            })?,
            None => 0,
        };
        let (name, inside, rest) = split(condition).ok_or_else(|| unreadable(text))?;
        let above = rest.starts_with('>');
        let rest = &rest[1..];
        let (or_equal, value) = rest.strip_prefix('=').map_or((false, rest), |value| (true, value));
        let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
        let name = name.to_ascii_lowercase();
        let (subject, quantity) = subject(&name, inside, value.ends_with('%'))?;
        let threshold = quantity.read(&value).ok_or_else(|| {
            Problem::new(
                format!("this is not a threshold for {name}: '{}'", cut(&value)),
                format!("write {}", quantity.example(&name)),
            )
        })?;
        let shown = match value.trim_end_matches(|c: char| !c.is_ascii_digit()) {
            digits if digits.len() == value.len() => quantity.show(threshold),
            _ if value.ends_with('%') => value.clone(),
            digits => format!("{digits} {}", &value[digits.len()..]),
        };
        let sign = match (above, or_equal) {
            (true, true) => ">=",
            (true, false) => ">",
            (false, true) => "<=",
            (false, false) => "<",
        };
        let inside = inside.map_or_else(String::new, |inside| format!("({inside})"));
        let held = held.map_or_else(String::new, |time| format!(" for {time}"));
        let text = format!("{name}{inside}{sign}{value}{held}");
        Ok(Self { text, subject, above, or_equal, threshold, shown, for_ns, quantity, name })
    }

    /// Whether a value breaks it.
    pub fn holds(&self, value: f64) -> bool {
        match (self.above, self.or_equal) {
            (true, false) => value > self.threshold,
            (true, true) => value >= self.threshold,
            (false, false) => value < self.threshold,
            (false, true) => value <= self.threshold,
        }
    }

    /// Whether it is about requests of a service, and not about the machine.
    pub fn is_about_service(&self) -> bool {
        !matches!(self.subject, Subject::Machine { .. })
    }

    /// The name that was written before the comparison.
    pub fn counter(&self) -> &str {
        &self.name
    }

    /// The unit that values are shown in.
    pub fn value_text(&self, value: f64) -> String {
        self.quantity.show(value)
    }

    /// What it is about, in words: `GPU 3 utilization`, `p95 of /predict`.
    pub(super) fn what(&self, device: Option<u32>) -> String {
        let of = |what: &str, route: &Option<String>| match route {
            Some(route) => format!("{what} of {route}"),
            None => format!("{what} of all requests"),
        };
        match &self.subject {
            Subject::Machine { column, .. } => capitalized(&crate::counters::counter_label(column, device)),
            Subject::Latency { route, .. } => of(&self.name, route),
            Subject::ErrorRate { route } => of("error rate", route),
            Subject::Requests { route } => match route {
                Some(route) => format!("requests per second of {route}"),
                None => "requests per second".to_owned(),
            },
        }
    }

    /// The condition in words: `below 30%`.
    pub(super) fn condition(&self) -> String {
        let threshold = &self.shown;
        match (self.above, self.or_equal) {
            (true, false) => format!("above {threshold}"),
            (true, true) => format!("at {threshold} or above"),
            (false, false) => format!("below {threshold}"),
            (false, true) => format!("at {threshold} or below"),
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The name, what is in brackets behind it, and the rest from the comparison on. A route may hold `<` itself: `/items/<id>`.
fn split(text: &str) -> Option<(&str, Option<&str>, &str)> {
    let is_sign = |c: char| c == '<' || c == '>';
    let bracket = text.find('(').filter(|at| text.find(is_sign).is_none_or(|sign| *at < sign));
    let Some(bracket) = bracket else {
        let sign = text.find(is_sign)?;
        return Some((text[..sign].trim(), None, &text[sign..]));
    };
    let mut ends = text.match_indices(')').map(|(at, _)| at).filter(|at| *at > bracket);
    let end = ends.find(|at| text[at + 1..].trim_start().starts_with(is_sign))?;
    Some((text[..bracket].trim(), Some(text[bracket + 1..end].trim()), text[end + 1..].trim_start()))
}

fn subject(name: &str, inside: Option<&str>, percent: bool) -> Result<(Subject, Quantity), Problem> {
    let route = || inside.filter(|route| !route.is_empty() && *route != "*").map(str::to_owned);
    match name {
        "error_rate" | "errors" => return Ok((Subject::ErrorRate { route: route() }, Quantity::Share)),
        "requests_per_second" | "rps" => {
            return Ok((Subject::Requests { route: route() }, Quantity::PerSecond));
        }
        _ => {}
    }
    let percentile = name.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
    if let Some(percentile) = percentile.filter(|p| *p > 0.0 && *p < 100.0) {
        // Without the last bits that dividing left: with them the 999th of 1,000 would be the largest.
        let quantile = (percentile * 1e7).round() / 1e9;
        return Ok((Subject::Latency { quantile, route: route() }, Quantity::Time));
    }
    let Some(counter) = MACHINE_COUNTERS.iter().find(|counter| counter.name == name) else {
        let all =
            || MACHINE_COUNTERS.iter().map(|counter| counter.name).chain(SERVICE_QUANTITIES.iter().copied());
        let hint = match nearest(name, all(), 1).first() {
            Some(near) => format!("did you mean {near}?"),
            None => format!("one of {}", all().collect::<Vec<_>>().join(", ")),
        };
        return Err(Problem::new(format!("no such counter: {}", cut(name)), hint));
    };
    let device = match inside {
        None => None,
        Some(number) => {
            Some(number.parse().ok().filter(|_| counter.column.starts_with("gpu.")).ok_or_else(|| {
                Problem::new(
                    format!("{name} has no '{}'", cut(number)),
                    "only counters of GPUs take a number, as in gpu_utilization(0)<30%",
                )
            })?)
        }
    };
    let of = counter.of.filter(|_| percent);
    let quantity = if of.is_some() { Quantity::Percent } else { counter.quantity };
    Ok((Subject::Machine { column: counter.column, of, device }, quantity))
}

impl Quantity {
    /// A threshold, in the unit of values.
    fn read(self, text: &str) -> Option<f64> {
        if self == Quantity::Time {
            return sla::time_ns(text).map(|ns| ns as f64);
        }
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
        let unit = text[digits.len()..].to_lowercase();
        let scale = match self {
            Quantity::Percent => match unit.as_str() {
                "" | "%" => 1.0,
                _ => return None,
            },
            Quantity::Share => match unit.as_str() {
                "" => 1.0,
                "%" => 0.01,
                _ => return None,
            },
            Quantity::Bytes => bytes(&unit)?,
            Quantity::BytesPerSecond => bytes(unit.strip_suffix("/s").unwrap_or(&unit))?,
            Quantity::Watts => match unit.as_str() {
                "" | "w" => 1.0,
                "kw" => 1e3,
                _ => return None,
            },
            Quantity::Celsius => match unit.as_str() {
                "" | "c" | "°c" | "°" => 1.0,
                _ => return None,
            },
            Quantity::Megahertz => match unit.as_str() {
                "" | "mhz" => 1.0,
                "ghz" => 1e3,
                _ => return None,
            },
            Quantity::PerSecond => match unit.as_str() {
                "" | "/s" | "rps" => 1.0,
                _ => return None,
            },
            Quantity::Time => return None,
        };
        let value = digits.parse::<f64>().ok()? * scale;
        let fits = value.is_finite() && value >= 0.0 && (self != Quantity::Share || value <= 1.0);
        fits.then_some(value)
    }

    fn show(self, value: f64) -> String {
        match self {
            Quantity::Percent => counter_text("%", value),
            Quantity::Bytes => counter_text("bytes", value),
            Quantity::BytesPerSecond => counter_text("bytes/s", value),
            Quantity::Watts => counter_text("W", value),
            Quantity::Celsius => counter_text("°C", value),
            Quantity::Megahertz => counter_text("MHz", value),
            Quantity::Time => counter_text("ns", value),
            Quantity::Share => counter_text("%", 100.0 * value),
            Quantity::PerSecond => counter_text("1/s", value),
        }
    }

    fn example(self, name: &str) -> String {
        match self {
            Quantity::Percent => format!("{name}<30%"),
            Quantity::Share => format!("{name}>1%"),
            Quantity::Bytes => format!("{name}>20GiB"),
            Quantity::BytesPerSecond => format!("{name}>100MB/s"),
            Quantity::Watts => format!("{name}>350W"),
            Quantity::Celsius => format!("{name}>85C"),
            Quantity::Megahertz => format!("{name}<1200MHz"),
            Quantity::Time => format!("{name}>100ms"),
            Quantity::PerSecond => format!("{name}<1"),
        }
    }
}

fn bytes(unit: &str) -> Option<f64> {
    Some(if unit.is_empty() { 1.0 } else { units::byte_unit(unit)? as f64 })
}

/// `30s`, `5m`, `1h`, `2d`, `500ms`; seconds without a unit.
fn duration_ns(text: &str) -> Option<u64> {
    units::nanoseconds(text, "s").map(|ns| ns as u64).filter(|ns| *ns <= MAX_FOR_NS)
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

fn unreadable(text: &str) -> Problem {
    Problem::new(
        format!("this is not an alert rule: '{}'", cut(text)),
        "write a counter, < or >, and a threshold: gpu_utilization<30% for 5m, rss>20GiB, p95(/predict)>100ms for 5m",
    )
}
