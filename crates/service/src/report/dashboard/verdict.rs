//! The first sentence about a service: the worst of what happened, since when, where, and what came with it.

mod bursts;
mod movers;
mod print;
mod rises;
mod sentences;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ask::print::units;
use stepscope_ground::utc::MINUTE_NS;

use super::ServiceDashboard;
use crate::exemplar::Exemplar;
use crate::report::{LevelChange, RegionGrowth, TargetReport};
use crate::thresholds::{ERROR_SOURCE_SHARE, MANY_FAIL_SHARE, Pace, SILENT_MINUTES};
use rises::Rise;

pub use movers::CounterShift;
pub use print::{sentences, text};
pub use sentences::{Piece, When};
pub(crate) use sentences::{about, change};

/// What there is to say about a service, the worst first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ServiceVerdict")]
pub struct Verdict {
    #[serde(flatten)]
    pub first: Concern,
    /// The target that is missed because of it.
    pub detail: Option<String>,
    /// Counters that changed their level with it, the clearest first; unknown where there are too few points.
    pub movers: Option<Vec<CounterShift>>,
    /// Which of the examples shows it, counted from 0.
    pub example: Option<usize>,
    /// What else there is to say, the worst first.
    pub also: Vec<Concern>,
}

/// Something worth a sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ServiceConcern")]
pub struct Concern {
    pub kind: Kind,
    pub tone: Tone,
    /// In two or three words.
    pub word: &'static str,
    /// The sentence, with times in UTC.
    pub sentence: String,
    /// The same sentence in pieces, with times apart.
    pub pieces: Vec<Piece>,
    /// Since when, in minutes since 1970.
    pub since: Option<i64>,
    /// Until when, if it is over.
    pub until: Option<i64>,
    /// How many minutes of the period that is; unknown where it began earlier.
    pub minutes: Option<i64>,
    /// The route; none: several.
    pub route: Option<String>,
    /// The region that grew most.
    pub grew: Option<RegionGrowth>,
    /// The higher, the earlier it is said.
    #[serde(skip)]
    rank: f64,
}

/// What a sentence is about.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ServiceConcernKind")]
pub enum Kind {
    /// Nothing is wrong, or nothing was asked.
    #[default]
    Fine,
    /// Nothing is written any more.
    Silence,
    /// A target is missed, or its budget burns.
    Target,
    /// A level of latency rose.
    Slow,
    /// Far more requests failed than usual.
    Errors,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ServiceTone")]
pub enum Tone {
    /// Someone should look now.
    Bad,
    /// Someone should look.
    Warn,
    Good,
    /// There is nothing to judge.
    #[default]
    None,
}

impl Verdict {
    /// The verdict at a moment, in nanoseconds since 1970; without one for someone who reads it later, when nothing in it is
    /// about now.
    pub(crate) fn for_dashboard(of: &ServiceDashboard, now_ns: Option<i64>) -> Self {
        // A minute may end between the question and its answer.
        let now_ns = now_ns.filter(|now_ns| now_ns.div_euclid(MINUTE_NS) <= of.until);
        let mut all: Vec<Concern> = silence(of, now_ns).into_iter().collect();
        all.extend(of.targets.iter().filter_map(|target| missed(&target.target, now_ns.is_some())));
        all.extend(slow(of, now_ns.is_some()));
        all.extend(failing(of));
        all.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        let mut also = all.into_iter();
        let mut first = also.next().unwrap_or_else(|| fine(of));
        let mut also: Vec<Concern> = also.collect();
        let mut detail = None;
        // A target that is missed because its route became slow is one matter, not two.
        let explains = |one: &Concern| {
            first.kind == Kind::Target
                && one.kind == Kind::Slow
                && one.route == first.route
                && one.until.is_none()
        };
        if let Some(at) = also.iter().position(explains) {
            let cause = also.remove(at);
            detail = Some(first.sentence);
            first = Concern { tone: first.tone, ..cause };
        }
        let movers = first.since.and_then(|since| movers::at(since, &of.minutes, &of.counters));
        let example = (first.kind != Kind::Fine).then(|| example(&first, &of.exemplars)).flatten();
        Self { first, detail, movers, example, also }
    }
}

impl Concern {
    fn new(kind: Kind, tone: Tone, word: &'static str, rank: f64, pieces: Vec<Piece>) -> Self {
        Self { kind, tone, word, rank, sentence: sentences::sentence(&pieces), pieces, ..Self::default() }
    }

    /// The same since a minute, until another one if it is over.
    fn between(self, since: i64, until: Option<i64>, of: &ServiceDashboard) -> Self {
        // Where the requests of the period end, or the period if there are none after that minute.
        let asked = of.series.requests.iter().rposition(|many| *many > 0).and_then(|at| of.minutes.get(at));
        let end = asked.map_or(of.until, |minute| of.until.min(minute + of.point_minutes));
        let end = until.unwrap_or(if end > since { end } else { of.until });
        let is_inside = (of.from..of.until).contains(&since);
        Self { since: Some(since), until, minutes: is_inside.then_some(end - since), ..self }
    }
}

fn moment(minute: i64, of: &ServiceDashboard) -> Piece {
    Piece::When(When { from: minute, until: None, near: of.until })
}

fn stretch(from: i64, until: i64, of: &ServiceDashboard) -> Piece {
    Piece::When(When { from, until: Some(until), near: of.until })
}

fn silence(of: &ServiceDashboard, now_ns: Option<i64>) -> Option<Concern> {
    let (now_ns, newest_ns) = (now_ns?, of.newest_ns?);
    let silent_ns = now_ns - newest_ns;
    if silent_ns <= SILENT_MINUTES * MINUTE_NS {
        return None;
    }
    let since = newest_ns.div_euclid(MINUTE_NS);
    let span = sentences::span((silent_ns + MINUTE_NS / 2) / MINUTE_NS);
    let pieces = vec![
        "Nothing has been written since ".to_owned().into(),
        moment(since, of),
        format!(", for {span}: the service gets no requests, or is down.").into(),
    ];
    Some(Concern::new(Kind::Silence, Tone::Bad, "No data", 100.0, pieces).between(since, None, of))
}

/// Routes whose level of latency rose: those where that lasts, and those where it is over.
fn slow(of: &ServiceDashboard, now: bool) -> Vec<Concern> {
    let mut routes: Vec<&str> = of.changes.iter().map(|change| change.route.as_str()).collect();
    routes.sort_unstable();
    routes.dedup();
    let found = routes.into_iter().filter_map(|route| {
        let changes: Vec<&LevelChange> = of.changes.iter().filter(|change| change.route == route).collect();
        Some(risen(route, rises::of_route(&changes)?, of, now))
    });
    found.collect()
}

fn risen(route: &str, rise: Rise, of: &ServiceDashboard, now: bool) -> Concern {
    let Rise { metric, minute, before_ns, after_ns, grew, until } = rise;
    let is_slow = Pace::between(before_ns, after_ns) == Pace::Slow;
    let (began, time, lasted) = match until {
        Some(until) => ("was slow from", stretch(minute, until, of), ""),
        None if now => ("has been slow since", moment(minute, of), ""),
        None => ("was slow from", moment(minute, of), " on"),
    };
    let (before, after) = (about(before_ns), about(after_ns));
    let change = change(before_ns, after_ns);
    let region = grew.as_ref().map_or(String::new(), |grown| format!("; {} grew most", grown.region));
    let pieces = vec![
        format!("{route} {began} ").into(),
        time,
        format!("{lasted}: {metric} rose from {before} to {after} ({change}){region}.").into(),
    ];
    let (tone, word, rank) = match (until, is_slow) {
        (Some(_), _) => (Tone::Warn, "Was slow", 30.0),
        (None, true) => (Tone::Bad, "Slow", 80.0),
        (None, false) => (Tone::Warn, "Slower", 50.0),
    };
    // Among routes, the one in which the service spends its time comes first.
    let share = of.routes.iter().find(|row| row.route == route).map_or(1.0, |row| row.time_share);
    let matter = Concern::new(Kind::Slow, tone, word, rank + share, pieces).between(minute, until, of);
    Concern { route: Some(route.to_owned()), grew, ..matter }
}

/// A target that is missed: over the stretch that its alert is about, else over the period.
fn missed(target: &TargetReport, now: bool) -> Option<Concern> {
    let (tone, rank) = match target.alert {
        Some("fast") => (Tone::Bad, 90.0),
        Some(_) => (Tone::Warn, 70.0),
        None if target.kept => return None,
        None => (Tone::Warn, 60.0),
    };
    let burn = target.alerting();
    let (requests, missed) = burn.map_or((target.requests, target.missed), |burn| (burn.requests, burn.missed));
    let stretch = match burn.map(|burn| burn.minutes) {
        Some(60) => "in the last hour".to_owned(),
        Some(minutes) => format!("in the last {}", sentences::span(minutes)),
        None => "over the period".to_owned(),
    };
    let may = match target.allowed {
        allowed if allowed > 0.0 => format!("{} may", units::percent(allowed)),
        _ => "none may".to_owned(),
    };
    let burning = burn
        .and_then(|burn| burn.rate)
        .map_or(String::new(), |rate| format!(": the error budget is burning {rate:.1} times too fast"));
    let share = units::percent(missed as f64 / requests.max(1) as f64);
    let TargetReport { route, target: text, alert, .. } = target;
    let sentence = format!("{share} of requests to {route} missed {text} {stretch} ({may}){burning}.");
    let word = if alert.is_some() && now { "Budget burning" } else { "Target missed" };
    let matter = Concern::new(Kind::Target, tone, word, rank, vec![sentence.into()]);
    Some(Concern { route: Some(route.clone()), ..matter })
}

fn failing(of: &ServiceDashboard) -> Option<Concern> {
    let burst = bursts::worst(&of.series.requests, &of.series.errors)?;
    let since = of.minutes.get(burst.from).copied()?;
    let end = of.minutes.get(burst.to)? + of.point_minutes;
    let share = burst.errors as f64 / burst.requests.max(1) as f64;
    let most = of.routes.iter().rev().max_by_key(|row| row.now.errors);
    let most = most.filter(|row| row.now.errors as f64 > ERROR_SOURCE_SHARE * of.total.errors as f64);
    let route = of.route.clone().or_else(|| most.map(|row| row.route.clone()));
    let what = match &route {
        Some(route) if of.route.is_none() => format!("requests, most of them of {route}"),
        _ => "requests".to_owned(),
    };
    let (tone, word, rank, preposition, time) = match burst.lasts {
        true if share >= MANY_FAIL_SHARE => (Tone::Bad, "Errors", 85.0, "since", moment(since, of)),
        true => (Tone::Bad, "Errors", 75.0, "since", moment(since, of)),
        false => (Tone::Warn, "Errors earlier", 40.0, "from", stretch(since, end, of)),
    };
    let (errors, usual) = (units::count(burst.errors), units::percent(burst.usual));
    let pieces = vec![
        format!("{} of requests failed {preposition} ", units::percent(share)).into(),
        time,
        format!(": {errors} {what}; usually {usual}.").into(),
    ];
    let until = (!burst.lasts).then_some(end);
    let matter = Concern::new(Kind::Errors, tone, word, rank + share, pieces).between(since, until, of);
    Some(Concern { route, ..matter })
}

fn fine(of: &ServiceDashboard) -> Concern {
    let total = &of.total;
    if total.requests == 0 {
        let sentence = "No request ended in this period.".to_owned();
        return Concern::new(Kind::Fine, Tone::None, "No requests", 0.0, vec![sentence.into()]);
    }
    let name = of.route.as_deref().unwrap_or("The service");
    let failed = match total.errors {
        0 => "none failed".to_owned(),
        _ => format!("{} failed", units::percent(total.error_rate)),
    };
    let kept = match of.targets.len() {
        0 => String::new(),
        1 => "; its target is met".to_owned(),
        many => format!("; all {many} targets are met"),
    };
    let p95 = units::time(i64::try_from(total.p95_ns).unwrap_or(i64::MAX));
    let rate = sentences::rate(total.per_second);
    let sentence =
        format!("{name} answers {rate} requests per second, 95% of them within {p95}; {failed}{kept}.");
    Concern::new(Kind::Fine, Tone::Good, "All fine", 0.0, vec![sentence.into()])
}

/// The slowest request that shows a matter: of its route, from its time, failed if it is about failures.
fn example(of: &Concern, exemplars: &[Exemplar]) -> Option<usize> {
    let from_ns = of.since.map_or(i64::MIN, |minute| minute * MINUTE_NS);
    let until_ns = of.until.map_or(i64::MAX, |minute| minute * MINUTE_NS);
    let shows = |one: &Exemplar| {
        of.route.as_ref().is_none_or(|route| *route == one.route)
            && (of.kind != Kind::Errors || one.failed)
            && (from_ns..until_ns).contains(&one.ended_ns)
    };
    let fitting = exemplars.iter().enumerate().rev().filter(|(_, one)| shows(one));
    fitting.max_by_key(|(_, one)| one.latency_ns).map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
