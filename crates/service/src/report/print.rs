//! A report for people: tables on a screen, or Markdown.

use std::io::{self, Write};

use stepscope_ask::print::{self, Cell, Column, Role, Screen, Table, middle_ellipsis, units};
use stepscope_ground::utc::{minute_text, moment_text};

use super::dashboard::verdict;
use super::{RouteReport, ServiceReport, Summary};
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

pub fn text(report: &ServiceReport, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
    verdict::text(&report.verdict, out, screen)?;
    for table in tables(report) {
        writeln!(out)?;
        table.write(out, screen)?;
    }
    Ok(())
}

pub fn markdown(report: &ServiceReport) -> String {
    let tables = tables(report);
    let all = std::iter::once(verdict::markdown(&report.verdict)).chain(tables.iter().map(print::markdown));
    all.collect::<Vec<_>>().join("\n")
}

/// The report as tables; those with nothing to say are left out.
pub fn tables(report: &ServiceReport) -> Vec<Table> {
    let mut all = vec![routes(report)];
    for (table, wanted) in [
        (targets(report), !report.targets.is_empty()),
        (regions(report), report.routes.iter().any(|route| !route.regions.is_empty())),
        (changes(report), !report.changes.is_empty()),
        (examples(report), report.exemplars.iter().any(|exemplar| exemplar.slow)),
    ] {
        if wanted {
            all.push(table);
        }
    }
    all
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
    let mut table = Table::new(vec![
        Column::name("Route").flexible(12, middle_ellipsis),
        Column::number("Requests").keep(),
        Column::number("Per second").priority(70),
        Column::number("Errors"),
        Column::number("Mean").priority(60),
        Column::number("p50"),
        Column::number("p90").priority(50),
        Column::number("p95").keep(),
        Column::number("Change"),
        Column::number("p99"),
        Column::number("p99.9").priority(80),
        Column::number("Max").priority(90),
    ])
    .title("Requests", subtitle)
    .when_empty("no requests were kept in this period");
    let row = |name: &str, now: &Summary, before: Option<&Summary>| {
        vec![
            Cell::text(name),
            Cell::count(now.requests),
            Cell::text(units::rate(now.per_second)),
            Cell::percent(now.error_rate).role(if now.errors > 0 { Role::Bad } else { Role::Dim }),
            time(now.mean_ns),
            time(now.p50_ns),
            time(now.p90_ns),
            time(now.p95_ns),
            change(before.map(|b| b.p95_ns), now.p95_ns),
            time(now.p99_ns),
            time(now.p999_ns),
            time(now.max_ns),
        ]
    };
    for RouteReport { route, now, before, .. } in report.routes.iter().take(MAX_ROWS) {
        table.row(row(route, now, before.as_ref()));
    }
    if report.routes.len() > 1 {
        table.total(row("all routes", total, report.total_before.as_ref()));
    }
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

fn targets(report: &ServiceReport) -> Table {
    let mut table = Table::new(vec![
        Column::name("Route").flexible(12, middle_ellipsis),
        Column::text("Target").keep(),
        Column::text("Verdict").keep(),
        Column::number("Missed"),
        Column::number("Share"),
        Column::number("Allowed"),
        Column::number("Budget left"),
        Column::number("Burn 5 m").priority(60),
        Column::number("Burn 30 m").priority(80),
        Column::number("Burn 1 h").priority(60),
        Column::number("Burn 6 h").priority(80),
        Column::text("Alert").priority(40),
    ])
    .title("Targets", "requests that missed them, counted one by one");
    for target in report.targets.iter().take(MAX_ROWS) {
        let mut cells = vec![
            Cell::text(&target.route),
            Cell::text(&target.target),
            match target.kept {
                true => Cell::text("kept").role(Role::Good),
                false => Cell::text("missed").role(Role::Bad),
            },
            Cell::count(target.missed),
            Cell::percent(target.missed as f64 / target.requests.max(1) as f64),
            Cell::percent(target.allowed),
            Cell::maybe(target.budget_left, Cell::percent),
        ];
        cells.extend(
            target.burn.iter().map(|burn| Cell::maybe(burn.rate, |rate| Cell::text(format!("{rate:.1}")))),
        );
        cells.push(Cell::text(target.alert.unwrap_or_default()).role(Role::Bad));
        table.row(cells);
    }
    if report.targets.len() > MAX_ROWS {
        table.note(format!("{} more targets", report.targets.len() - MAX_ROWS));
    }
    table
}

fn regions(report: &ServiceReport) -> Table {
    let mut table = Table::new(vec![
        Column::name("Route").flexible(12, middle_ellipsis),
        Column::name("Region").flexible(12, middle_ellipsis),
        Column::number("Per request").keep(),
        Column::number("Share"),
        Column::number("Change"),
        Column::number("Count").priority(80),
        Column::number("p50").priority(70),
        Column::number("p95"),
        Column::number("p99").priority(60),
    ])
    .title("Where the time goes", "per request, without regions inside");
    let all: Vec<_> =
        report.routes.iter().flat_map(|r| r.regions.iter().map(move |region| (r, region))).collect();
    for (route, region) in all.iter().take(2 * MAX_ROWS) {
        table.row(vec![
            Cell::text(&route.route),
            Cell::text(&region.region),
            time(region.self_ns),
            Cell::share(region.share),
            change(region.before_ns, region.self_ns),
            Cell::count(region.count),
            Cell::maybe(region.p50_ns, time),
            Cell::maybe(region.p95_ns, time),
            Cell::maybe(region.p99_ns, time),
        ]);
    }
    if all.len() > 2 * MAX_ROWS {
        table.note(format!("{} more regions", all.len() - 2 * MAX_ROWS));
    }
    table
}

fn changes(report: &ServiceReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("From"),
        Column::name("Route").flexible(12, middle_ellipsis),
        Column::text("Of").keep(),
        Column::number("Before"),
        Column::number("After"),
        Column::number("Change").keep(),
        Column::text("Grew most"),
        Column::number("p").priority(70),
    ])
    .title("Changes of level", "where latencies stayed higher or lower than before");
    for found in report.changes.iter().take(MAX_ROWS) {
        let grew = found.grew.as_ref().map_or(String::new(), |grown| {
            format!("{} {}", grown.region, units::delta_time(ns(grown.after_ns) - ns(grown.before_ns)))
        });
        table.row(vec![
            Cell::text(minute_text(found.minute)),
            Cell::text(&found.route),
            Cell::text(found.metric),
            time(found.before_ns),
            time(found.after_ns),
            change(Some(found.before_ns), found.after_ns),
            Cell::text(grew),
            Cell::text(format!("{:.3}", found.p)),
        ]);
    }
    if report.changes.len() > MAX_ROWS {
        table.note(format!("{} more changes", report.changes.len() - MAX_ROWS));
    }
    table
}

fn examples(report: &ServiceReport) -> Table {
    let mut table = Table::new(vec![
        Column::text("Ended"),
        Column::name("Request").flexible(20, middle_ellipsis),
        Column::number("Latency").keep(),
        Column::number("At").priority(60),
    ])
    .title("Slowest requests", "with their regions, and where their Python code was");
    let slow = report.exemplars.iter().filter(|e| e.slow).take(MAX_EXAMPLES);
    // A stack says more than one request more.
    let looked_into = report.exemplars.iter().filter(|e| e.was_looked_into()).take(MAX_STACKS);
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
