//! When a rule fires: how long its condition has held, and how long it has not, by a monotonic clock.

use std::collections::BTreeMap;

use stepscope_ask::print::units;
use stepscope_ground::Problem;

use super::log::{AlertEvent, AlertState};
use super::rule::{AlertRule, Subject};
use crate::counters::Column;

/// A value that stays unknown for longer than this keeps no condition up.
const STALE_NS: u64 = 30_000_000_000;
/// An alert is over when its condition has not held for as long as it had to hold, but not sooner and not later than this.
const MIN_OVER_NS: u64 = 2_000_000_000;
const MAX_OVER_NS: u64 = 60_000_000_000;

/// A moment, and how much time its values cover.
#[derive(Copy, Clone, Debug)]
pub struct AlertMoment {
    /// Nanoseconds since 1970.
    pub wall_ns: i64,
    /// Nanoseconds on a monotonic clock.
    pub steady_ns: u64,
    /// The time before it that a value covers.
    pub covers_ns: u64,
}

/// Whether a rule fires, for one device.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleState {
    /// Since when the condition holds.
    holds_since: Option<u64>,
    /// Since when it does not, while the rule fires.
    ended_since: Option<u64>,
    firing: bool,
    known_at: Option<u64>,
    last_value: Option<f64>,
}

impl RuleState {
    /// Takes a value; an event if something changed.
    pub(super) fn observe(
        &mut self,
        rule: &AlertRule,
        device: Option<u32>,
        now: AlertMoment,
        value: Option<f64>,
    ) -> Option<AlertEvent> {
        match value {
            Some(value) => {
                (self.known_at, self.last_value) = (Some(now.steady_ns), Some(value));
            }
            // One value that could not be read changes nothing.
            None if self.known_at.is_none_or(|at| now.steady_ns.saturating_sub(at) <= STALE_NS) => return None,
            None => self.last_value = None,
        }
        let since = now.steady_ns.saturating_sub(now.covers_ns);
        let holds = value.is_some_and(|value| rule.holds(value));
        if holds {
            let began = *self.holds_since.get_or_insert(since);
            self.ended_since = None;
            if self.firing || now.steady_ns.saturating_sub(began) < rule.for_ns {
                return None;
            }
            self.firing = true;
            return Some(self.event(rule, device, now, AlertState::Firing));
        }
        self.holds_since = None;
        if !self.firing {
            return None;
        }
        let ended = *self.ended_since.get_or_insert(since);
        let patience = rule.for_ns.clamp(MIN_OVER_NS, MAX_OVER_NS);
        if now.steady_ns.saturating_sub(ended) < patience {
            return None;
        }
        (self.firing, self.ended_since) = (false, None);
        Some(self.event(rule, device, now, AlertState::Over))
    }

    /// Watching has ended: an event if it was firing.
    pub(super) fn end(&mut self, rule: &AlertRule, device: Option<u32>, wall_ns: i64) -> Option<AlertEvent> {
        let was_firing = std::mem::replace(&mut self.firing, false);
        let now = AlertMoment { wall_ns, steady_ns: 0, covers_ns: 0 };
        was_firing.then(|| AlertEvent {
            message: format!("{} is no longer watched: the monitor has ended", rule.what(device)),
            ..self.event(rule, device, now, AlertState::Over)
        })
    }

    pub(super) fn is_firing(&self) -> bool {
        self.firing
    }

    fn event(&self, rule: &AlertRule, device: Option<u32>, now: AlertMoment, state: AlertState) -> AlertEvent {
        let (what, condition) = (rule.what(device), rule.condition());
        let is = self
            .last_value
            .map_or_else(|| "unknown now".to_owned(), |value| format!("now {}", rule.value_text(value)));
        let message = match (state, rule.for_ns) {
            (AlertState::Firing, 0) => format!("{what} is {condition} ({is})"),
            (AlertState::Firing, held) => {
                format!("{what} has been {condition} for {} ({is})", held_text(held))
            }
            (AlertState::Over, _) => format!("{what} is no longer {condition} ({is})"),
        };
        AlertEvent {
            at_ns: now.wall_ns,
            rule: rule.text.clone(),
            message,
            state,
            value: self.last_value,
            device,
            host: crate::segment::host(),
        }
    }
}

/// `5 min`, `30 s`: a whole number where the time is one.
fn held_text(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        s if s > 0 && s.is_multiple_of(3_600) && ns.is_multiple_of(1_000_000_000) => format!("{} h", s / 3_600),
        s if s > 0 && s.is_multiple_of(60) && ns.is_multiple_of(1_000_000_000) => format!("{} min", s / 60),
        s if s > 0 && ns.is_multiple_of(1_000_000_000) => format!("{s} s"),
        _ => units::time(i64::try_from(ns).unwrap_or(i64::MAX)),
    }
}

/// Rules about the machine, its GPUs and the processes, with the counters that they are about.
#[derive(Debug)]
pub struct MachineRules {
    rules: Vec<BoundRule>,
}

#[derive(Debug)]
struct BoundRule {
    rule: AlertRule,
    /// Where its values are, by device; and what they are a share of.
    places: Vec<(Option<u32>, usize, Option<usize>)>,
    state: BTreeMap<Option<u32>, RuleState>,
}

impl MachineRules {
    /// Finds the counters of rules; fails where one is about something that is not measured here.
    pub fn new(rules: Vec<AlertRule>, columns: &[Column]) -> Result<Self, Problem> {
        let rules = rules.into_iter().map(|rule| BoundRule::new(rule, columns)).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    /// Takes a sample: the values of the columns. What changed comes back.
    pub fn observe(&mut self, now: AlertMoment, values: &[Option<f64>]) -> Vec<AlertEvent> {
        let mut events = Vec::new();
        for BoundRule { rule, places, state } in &mut self.rules {
            for (device, place, of) in places {
                let at = |place: usize| values.get(place).copied().flatten();
                let value = match of {
                    Some(of) => {
                        at(*place).zip(at(*of).filter(|of| *of > 0.0)).map(|(part, of)| 100.0 * part / of)
                    }
                    None => at(*place),
                };
                let state = state.entry(*device).or_default();
                events.extend(state.observe(rule, *device, now, value));
            }
        }
        events
    }

    /// Ends what fires, because watching has ended.
    pub fn end(&mut self, wall_ns: i64) -> Vec<AlertEvent> {
        let mut events = Vec::new();
        for BoundRule { rule, state, .. } in &mut self.rules {
            events.extend(state.iter_mut().filter_map(|(device, one)| one.end(rule, *device, wall_ns)));
        }
        events
    }

    pub fn firing(&self) -> usize {
        self.rules.iter().flat_map(|bound| bound.state.values()).filter(|one| one.is_firing()).count()
    }
}

impl BoundRule {
    fn new(rule: AlertRule, columns: &[Column]) -> Result<Self, Problem> {
        let Subject::Machine { column, of, device } = rule.subject else {
            return Err(Problem::new(
                format!("this rule is about a service: {}", rule.text),
                "watch the directory that the service writes to: stepscope monitor --watch DIR",
            ));
        };
        let place = |name: &str, device: Option<u32>| {
            columns.iter().position(|one| one.name == name && one.device == device)
        };
        let mut places = Vec::new();
        for (at, found) in columns.iter().enumerate().filter(|(_, one)| one.name == column) {
            if device.is_some_and(|device| found.device != Some(device)) {
                continue;
            }
            let total = of.and_then(|of| place(of, found.device).or_else(|| place(of, None)));
            if of.is_none() || total.is_some() {
                places.push((found.device, at, total));
            }
        }
        if places.is_empty() {
            let hint = match (column.split_once('.'), device) {
                (Some(("process", _)), _) => "name what to watch: --pid PID, or a command behind --",
                (Some(("gpu", _)), Some(_)) => "leave the number out to watch each GPU",
                _ => "`stepscope doctor` says what this machine can measure, and how to get the rest",
            };
            return Err(Problem::new(
                format!("{} is not measured here, so this rule can never fire: {}", rule.counter(), rule.text),
                hint,
            ));
        }
        Ok(Self { rule, places, state: BTreeMap::new() })
    }
}
