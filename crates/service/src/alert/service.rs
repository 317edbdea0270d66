//! Rules about the requests of a service: each minute that is over counts once, all processes together.

use stepscope_ground::Problem;
use stepscope_ground::utc::MINUTE_NS;

use super::log::AlertEvent;
use super::rule::{AlertRule, Subject};
use super::watch::{AlertMoment, RuleState};
use crate::service_dir::{Minute, ServiceDir};
use crate::stats::RouteStats;

/// Processes write each second: by then a minute is on disk.
const SETTLED_NS: i64 = 3_000_000_000;
/// After a pause, no more minutes than these are read.
const MAX_MINUTES: i64 = 60;

#[derive(Debug)]
pub struct ServiceRules {
    dir: ServiceDir,
    rules: Vec<(AlertRule, RuleState)>,
    /// The last minute that was read.
    last: i64,
}

impl ServiceRules {
    /// Watches the folder of a service, from the minute before this one on.
    pub fn new(dir: ServiceDir, rules: Vec<AlertRule>, now_ns: i64) -> Result<Self, Problem> {
        if let Some(rule) = rules.iter().find(|rule| !rule.is_about_service()) {
            return Err(Problem::new(
                format!("this rule is about a machine, not about a service: {}", rule.text),
                "measure the machine too: stepscope monitor -o DIR",
            ));
        }
        let rules = rules.into_iter().map(|rule| (rule, RuleState::default())).collect();
        Ok(Self { dir, rules, last: settled(now_ns) - 1 })
    }

    /// Reads the minutes that have ended since the last call. What changed comes back.
    pub fn poll(&mut self, now_ns: i64) -> Result<Vec<AlertEvent>, Problem> {
        let newest = settled(now_ns);
        let mut events = Vec::new();
        if self.rules.is_empty() || newest <= self.last {
            return Ok(events);
        }
        let hours = self.dir.hours()?;
        let mut hour = None;
        for minute in (self.last + 1).max(newest - MAX_MINUTES + 1)..=newest {
            let of = minute.div_euclid(60);
            if hour.as_ref().is_none_or(|(known, _)| *known != of) {
                hour = Some((of, self.dir.hour(of)?));
            }
            let none = Minute::default();
            let of_hour = hour.as_ref().map(|(_, hour)| &hour.minutes);
            let requests = of_hour.and_then(|minutes| minutes.get(&minute)).unwrap_or(&none);
            // Before its first request a service is not there yet: that is not a service that no one asks.
            let has_begun = hours.first().is_some_and(|first| *first < of)
                || of_hour.is_some_and(|minutes| minutes.range(..=minute).next().is_some());
            let end_ns = (minute + 1) * MINUTE_NS;
            let now = AlertMoment {
                wall_ns: end_ns,
                steady_ns: u64::try_from(end_ns).unwrap_or(0),
                covers_ns: MINUTE_NS as u64,
            };
            for (rule, state) in &mut self.rules {
                events.extend(state.observe(rule, None, now, value(rule, requests).filter(|_| has_begun)));
            }
            self.last = minute;
        }
        Ok(events)
    }

    /// Ends what fires, because watching has ended.
    pub fn end(&mut self, wall_ns: i64) -> Vec<AlertEvent> {
        self.rules.iter_mut().filter_map(|(rule, state)| state.end(rule, None, wall_ns)).collect()
    }

    pub fn firing(&self) -> usize {
        self.rules.iter().filter(|(_, state)| state.is_firing()).count()
    }
}

/// The last minute that all processes have written.
fn settled(now_ns: i64) -> i64 {
    (now_ns - SETTLED_NS).div_euclid(MINUTE_NS) - 1
}

/// What a rule is about, in one minute. Without requests there is neither a latency nor a share of errors.
fn value(rule: &AlertRule, minute: &Minute) -> Option<f64> {
    let merged = |route: &Option<String>| match route {
        Some(route) => minute.routes.get(route).cloned().unwrap_or_default(),
        None => minute.routes.values().fold(RouteStats::default(), |mut all, stats| {
            all.merge(stats);
            all
        }),
    };
    match &rule.subject {
        Subject::Machine { .. } => None,
        Subject::Latency { quantile, route } => merged(route).latency.quantile(*quantile).map(|ns| ns as f64),
        Subject::ErrorRate { route } => {
            let stats = merged(route);
            (stats.requests() > 0).then(|| stats.errors as f64 / stats.requests() as f64)
        }
        Subject::Requests { route } => Some(merged(route).requests() as f64 / 60.0),
    }
}
