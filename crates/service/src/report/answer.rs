//! A report as an answer: its tables, what is said once, and the verdict above them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_ask::print::{Cell, Column, Columns, Role, Table, middle_ellipsis, units};
use stepscope_ask::{Answer, Part};
use stepscope_ground::utc::{minute_text, moment_text};

use super::dashboard::verdict;
use super::{DEFINITIONS, LevelChange, RegionReport, RouteReport, ServiceReport, TargetReport};
use crate::exemplar::Exemplar;
use crate::thresholds::Pace;

/// Rows of a table at most.
const MAX_ROWS: usize = 20;
/// Requests that are shown with their regions.
const MAX_EXAMPLES: usize = 5;
/// Requests that were looked into, besides those.
const MAX_STACKS: usize = 2;
/// Frames of a stack, the innermost ones.
const SHOWN_FRAMES: usize = 3;

/// The report as an answer, like that to any question.
pub(super) fn answer(report: ServiceReport) -> Answer {
    let report = Arc::new(report);
    let (of_routes, of_verdict) = (report.clone(), report.clone());
    let own = regions_of(&report.routes);
    let (has_regions, has_examples) = (!own.is_empty(), report.exemplars.iter().any(|example| example.slow));
    let mut answer = Answer::new(vec![
        Part::new("routes", report.routes.clone(), move |_| routes(&of_routes)),
        Part::new("targets", report.targets.clone(), targets).shown(!report.targets.is_empty()),
        // In JSON they are inside their routes.
        Part::new("regions", own, regions).shown(has_regions).held_elsewhere(),
        Part::new("changes", report.changes.clone(), changes).shown(!report.changes.is_empty()),
        Part::data("points", report.points.clone()),
        Part::new("exemplars", report.exemplars.clone(), examples).shown(has_examples),
    ])
    .fact("verdict", &report.verdict)
    .fact("from", &report.from)
    .fact("until", &report.until)
    .fact("minutes", &report.minutes)
    .fact("counted_seconds", &report.counted_seconds)
    .fact("processes", &report.processes)
    .fact("process_cpu_ns", &report.process_cpu_ns)
    .fact("max_rss_bytes", &report.max_rss_bytes)
    .fact("gpu_energy_j", &report.gpu_energy_j)
    .fact("total", &report.total)
    .fact("total_before", &report.total_before)
    .fact("compared_from", &report.compared_from)
    .fact("point_minutes", &report.point_minutes)
    .fact("notes", &report.notes);
    answer.question = "production report";
    answer.definitions = DEFINITIONS.to_vec();
    answer.headline = verdict::sentences(&report.verdict);
    answer.above = Some(Box::new(move |out, screen| {
        verdict::text(&of_verdict.verdict, out, screen)?;
        writeln!(out)
    }));
    answer
}

fn ns(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn time(value: u64) -> Cell {
    Cell::time(ns(value))
}

/// The change of a latency, in the color of what it means.
pub fn change(before_ns: Option<u64>, after_ns: u64) -> Cell {
    Cell::maybe(before_ns.filter(|before| *before > 0), |before_ns| {
        let share = after_ns as f64 / before_ns as f64 - 1.0;
        let role = if Pace::between(before_ns, after_ns).is_worse() { Role::Warn } else { Role::Dim };
        Cell::text(units::delta_percent(share)).role(role)
    })
}

/// A rate, and what it divides by: `0.5000/s over 10 m 58 s`.
pub fn rate(per_second: f64, counted_seconds: f64) -> String {
    format!("{} over {}", units::rate(per_second), units::time((counted_seconds * 1e9) as i64))
}

fn routes(report: &ServiceReport) -> Table {
    let total = &report.total;
    let subtitle = format!(
        "{} to {}: {} requests ({}), {} failed, {}",
        report.from,
        report.until,
        units::count(total.requests),
        rate(total.per_second, report.counted_seconds),
        units::percent(total.error_rate),
        match report.processes {
            1 => "1 process".to_owned(),
            more => format!("{} processes", units::count(more)),
        }
    );
    let shown = report.routes.iter().take(MAX_ROWS);
    let all = ("all routes", total, report.total_before.as_ref());
    let mut table = Columns::of(shown.map(|r| (r.route.as_str(), &r.now, r.before.as_ref())))
        .add(Column::name("Route").flexible(12, middle_ellipsis), |r| Cell::text(r.0))
        .add(Column::number("Requests").keep(), |r| Cell::count(r.1.requests))
        .add(Column::number("Per second").priority(70), |r| Cell::text(units::rate(r.1.per_second)))
        .add(Column::number("Errors"), |r| {
            Cell::percent(r.1.error_rate).role(if r.1.errors > 0 { Role::Bad } else { Role::Dim })
        })
        .add(Column::number("Mean").priority(60), |r| time(r.1.mean_ns))
        .add(Column::number("p50"), |r| time(r.1.p50_ns))
        .add(Column::number("p90").priority(50), |r| time(r.1.p90_ns))
        .add(Column::number("p95").keep(), |r| time(r.1.p95_ns))
        .add(Column::number("Change"), |r| change(r.2.map(|before| before.p95_ns), r.1.p95_ns))
        .add(Column::number("p99"), |r| time(r.1.p99_ns))
        .add(Column::number("p99.9").priority(80), |r| time(r.1.p999_ns))
        .add(Column::number("Max").priority(90), |r| time(r.1.max_ns))
        .total((report.routes.len() > 1).then_some(all))
        .table()
        .title("Requests", subtitle)
        .when_empty("no requests were kept in this period");
    if report.routes.len() > MAX_ROWS {
        table.note(format!("{} faster routes not shown", report.routes.len() - MAX_ROWS));
    }
    if let Some(from) = report.compared_from.as_ref().filter(|_| report.total_before.is_some()) {
        table.note(format!("change of p95 against the same length of time from {from} on"));
    }
    for RouteReport { route, grew, .. } in report.routes.iter().take(MAX_ROWS) {
        if let Some(grown) = grew {
            let more = ns(grown.after_ns) - ns(grown.before_ns);
            table.note(format!(
                "{route}: {} grew most, {} per request ({} before)",
                grown.region,
                units::delta_time(more),
                units::time(ns(grown.before_ns))
            ));
        }
    }
    for RouteReport { route, gpu_ns, cpu_ns, .. } in report.routes.iter().take(MAX_ROWS) {
        if let Some(gpu_ns) = gpu_ns {
            let cpu = cpu_ns.map_or_else(String::new, |cpu| format!(", {} on the CPU", units::time(ns(cpu))));
            table.note(format!("{route}: {} on the GPU per request{cpu}", units::time(ns(*gpu_ns))));
        }
    }
    if let Some(joules) = report.gpu_energy_j.filter(|_| total.requests > 0) {
        table.note(format!(
            "the GPUs used {}, {} per request",
            units::joules(joules),
            units::joules(joules / total.requests as f64)
        ));
    }
    table.notes(&report.notes);
    table
}

fn targets(all: &[TargetReport]) -> Table {
    let burn = |target: &TargetReport, at: usize| {
        let rate = target.burn.get(at).and_then(|burn| burn.rate);
        Cell::maybe(rate, |rate| Cell::text(format!("{rate:.1}")))
    };
    let burns = [("Burn 5 m", 60), ("Burn 30 m", 80), ("Burn 1 h", 60), ("Burn 6 h", 80)];
    let mut table = Columns::of(all.iter().take(MAX_ROWS))
        .add(Column::name("Route").flexible(12, middle_ellipsis), |t| Cell::text(&t.route))
        .add(Column::text("Target").keep(), |t| Cell::text(&t.target))
        .add(Column::text("Verdict").keep(), |t| match t.kept {
            true => Cell::text("kept").role(Role::Good),
            false => Cell::text("missed").role(Role::Bad),
        })
        .add(Column::number("Missed"), |t| Cell::count(t.missed))
        .add(Column::number("Share"), |t| Cell::percent(t.missed as f64 / t.requests.max(1) as f64))
        .add(Column::number("Allowed"), |t| Cell::percent(t.allowed))
        .add(Column::number("Budget left"), |t| Cell::maybe(t.budget_left, Cell::percent))
        .add_each(
            burns.into_iter().enumerate(),
            |(_, (label, priority))| Column::number(label).priority(priority),
            |(at, _), t| burn(t, at),
        )
        .add(Column::text("Alert").priority(40), |t| Cell::text(t.alert.unwrap_or_default()).role(Role::Bad))
        .table()
        .title("Targets", "requests that missed them, counted one by one");
    if all.len() > MAX_ROWS {
        table.note(format!("{} more targets", all.len() - MAX_ROWS));
    }
    table
}

/// A region of a route.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct RouteRegion {
    route: String,
    #[serde(flatten)]
    region: RegionReport,
}

fn regions_of(routes: &[RouteReport]) -> Vec<RouteRegion> {
    let of = |route: &RouteReport| {
        let name = route.route.clone();
        route.regions.clone().into_iter().map(move |region| RouteRegion { route: name.clone(), region })
    };
    routes.iter().flat_map(of).collect()
}

fn regions(all: &[RouteRegion]) -> Table {
    let mut table = Columns::of(all.iter().take(2 * MAX_ROWS))
        .add(Column::name("Route").flexible(12, middle_ellipsis), |r| Cell::text(&r.route))
        .add(Column::name("Region").flexible(12, middle_ellipsis), |r| Cell::text(&r.region.region))
        .add(Column::number("Per request").keep(), |r| time(r.region.self_ns))
        .add(Column::number("Share"), |r| Cell::share(r.region.share))
        .add(Column::number("Change"), |r| change(r.region.before_ns, r.region.self_ns))
        .add(Column::number("Count").priority(80), |r| Cell::count(r.region.count))
        .add(Column::number("p50").priority(70), |r| Cell::maybe(r.region.p50_ns, time))
        .add(Column::number("p95"), |r| Cell::maybe(r.region.p95_ns, time))
        .add(Column::number("p99").priority(60), |r| Cell::maybe(r.region.p99_ns, time))
        .table()
        .title("Where the time goes", "per request, without regions inside");
    if all.len() > 2 * MAX_ROWS {
        table.note(format!("{} more regions", all.len() - 2 * MAX_ROWS));
    }
    table
}

fn changes(all: &[LevelChange]) -> Table {
    let mut table = Columns::of(all.iter().take(MAX_ROWS))
        .add(Column::text("From"), |c| Cell::text(minute_text(c.minute)))
        .add(Column::name("Route").flexible(12, middle_ellipsis), |c| Cell::text(&c.route))
        .add(Column::text("Of").keep(), |c| Cell::text(c.metric))
        .add(Column::number("Before"), |c| time(c.before_ns))
        .add(Column::number("After"), |c| time(c.after_ns))
        .add(Column::number("Change").keep(), |c| change(Some(c.before_ns), c.after_ns))
        .add(Column::text("Grew most"), |c| {
            Cell::text(c.grew.as_ref().map_or(String::new(), |grown| {
                let more = ns(grown.after_ns) - ns(grown.before_ns);
                format!("{} {}", grown.region, units::delta_time(more))
            }))
        })
        .add(Column::number("p").priority(70), |c| Cell::text(format!("{:.3}", c.p)))
        .table()
        .title("Changes of level", "where latencies stayed higher or lower than before");
    if all.len() > MAX_ROWS {
        table.note(format!("{} more changes", all.len() - MAX_ROWS));
    }
    table
}

fn examples(all: &[Exemplar]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Ended"),
        Column::name("Request").flexible(20, middle_ellipsis),
        Column::number("Latency").keep(),
        Column::number("At").priority(60),
    ])
    .title("Slowest requests", "with their regions, and where their Python code was");
    let slow = all.iter().filter(|e| e.slow).take(MAX_EXAMPLES);
    // A stack says more than one request more.
    let looked_into = all.iter().filter(|e| e.was_looked_into()).take(MAX_STACKS);
    let mut shown: Vec<&Exemplar> = slow.collect();
    for exemplar in looked_into {
        if !shown.iter().any(|known| std::ptr::eq(*known, exemplar)) {
            shown.push(exemplar);
        }
    }
    for exemplar in shown {
        let failed = if exemplar.failed { ", failed" } else { "" };
        table.row(vec![
            Cell::text(moment_text(exemplar.ended_ns)),
            Cell::text(format!("{} {} (process {}{failed})", exemplar.route, exemplar.id, exemplar.process)),
            time(exemplar.latency_ns),
            Cell::nothing(),
        ]);
        for (depth, span) in spans(exemplar) {
            table.row(vec![
                Cell::nothing(),
                Cell::text(format!("{}{}", "  ".repeat(depth + 1), span.name)),
                time(span.duration_ns),
                time(span.start_ns),
            ]);
        }
        for (depth, frame) in exemplar.stack.iter().rev().take(SHOWN_FRAMES).enumerate() {
            let words = if depth == 0 { "in" } else { "called by" };
            let frame = Cell::text(format!("  {words} {frame}")).role(Role::Dim);
            table.row(vec![Cell::nothing(), frame, Cell::nothing(), Cell::nothing()]);
        }
        if let Some(profile) = &exemplar.profile {
            let file = Cell::text(format!("  profile: profiles/{profile}")).role(Role::Dim);
            table.row(vec![Cell::nothing(), file, Cell::nothing(), Cell::nothing()]);
        }
    }
    table
}

/// The regions of a request with how deep they lie, each behind the one it lies in.
fn spans(exemplar: &Exemplar) -> Vec<(usize, &crate::exemplar::KeptSpan)> {
    let mut depths: Vec<usize> = Vec::new();
    for span in &exemplar.spans {
        let above = span.parent.and_then(|parent| depths.get(parent as usize));
        depths.push(above.map_or(0, |depth| (depth + 1).min(12)));
    }
    depths.into_iter().zip(&exemplar.spans).collect()
}
