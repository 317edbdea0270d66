//! What happened at a moment: levels that changed and alerts that fired, in the order of time.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::LevelChange;
use super::verdict::{about, change};
use crate::alert::alerts;
use crate::period::Period;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServiceEvent {
    /// When, in minutes since 1970.
    pub minute: i64,
    pub kind: ServiceEventKind,
    /// In a sentence without its time.
    pub text: String,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceEventKind {
    /// A level rose.
    Worse,
    /// A level fell.
    Better,
    /// A rule fired, or was over.
    Alert,
}

/// Changes, and the alerts of a folder, within a period.
pub(super) fn events_within(changes: &[LevelChange], folder: &Path, period: Period) -> Vec<ServiceEvent> {
    let changes = changes.iter().map(|one| {
        let (before, after) = (about(one.before_ns), about(one.after_ns));
        let grew = one.grew.as_ref().map_or(String::new(), |grown| {
            let (before, after) = (about(grown.before_ns), about(grown.after_ns));
            format!("; {} from {before} to {after} per request", grown.region)
        });
        let change = change(one.before_ns, one.after_ns);
        ServiceEvent {
            minute: one.minute,
            kind: if one.pace.is_worse() { ServiceEventKind::Worse } else { ServiceEventKind::Better },
            text: format!("{} of {} went from {before} to {after} ({change}){grew}", one.metric, one.route),
        }
    });
    let alerts = alerts(folder).into_iter().map(|one| ServiceEvent {
        minute: one.at_ns.div_euclid(60_000_000_000),
        kind: ServiceEventKind::Alert,
        text: format!("Alert {}: {}", one.rule, one.message),
    });
    let mut all: Vec<ServiceEvent> = changes.chain(alerts).filter(|one| period.contains(one.minute)).collect();
    all.sort_by_key(|one| one.minute);
    all
}
