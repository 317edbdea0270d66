//! What the command prints.

use std::io::{self, Write};

use serde::Serialize;
use stepscope_ask::print::{Cell, Column, Columns, Role, Screen, units};
use stepscope_regression::trial::{self, Fix, FixRecord, PlanRecord, TryRecord};

use crate::args::Try;
use crate::failure::Failure;
use crate::format::{Format, emit};
use crate::input::remark;
use crate::next;
use crate::terminal;

/// A promise this near to what was measured, as a share of it, has held.
const NEAR_SHARE: f64 = 0.3;
/// ...or this near as a share of an iteration.
const NEAR_POINTS: f64 = 0.02;

pub(super) fn list(fixes: &[Fix], args: &Try, out: &mut dyn Write) -> Result<(), Failure> {
    let table = Columns::of(fixes)
        .add(Column::text("Fix").keep(), |fix| Cell::text(fix.name.as_str()))
        .add(Column::text("What it is"), |fix| Cell::text(fix.title.as_str()))
        .add(Column::text("Results"), |fix| Cell::text(fix.numbers.as_str()))
        .table()
        .title("Fixes that can be tried", "results: the same bit for bit, or close");
    Ok(emit(out, &terminal::detect(&io::stdout()), args.format, &table, fixes)?)
}

pub(super) fn record(record: &TryRecord, args: &Try, out: &mut dyn Write) -> Result<(), Failure> {
    let screen = terminal::detect(&io::stdout());
    if args.format == Format::Json {
        serde_json::to_writer_pretty(&mut *out, record).map_err(io::Error::from)?;
        return Ok(writeln!(out)?);
    }
    let table = Columns::of(&record.fixes)
        .add(Column::text("Fix").keep(), |fix| Cell::text(fix.name.as_str()))
        .add(Column::number("Iteration").keep(), |fix| {
            Cell::maybe(fix.iteration_ns, |ns| Cell::time(ns as i64))
        })
        .add(Column::number("Saves").keep(), saves)
        .add(Column::text("Interval").priority(60), |fix| Cell::text(interval(fix.saves_low, fix.saves_high)))
        .add(Column::number("Promised").priority(50), |fix| Cell::text(promised(fix)))
        .add(Column::text("Results").keep(), |fix| match fix.took {
            true if fix.numbers.is_sound() => Cell::text(fix.numbers.text()),
            true => Cell::text(fix.numbers.text()).role(Role::Bad),
            false => Cell::nothing(),
        })
        .add(Column::number("Memory").priority(30), |fix| {
            Cell::maybe(fix.peak_bytes, |bytes| Cell::text(more(bytes, units::bytes)))
        })
        .add(Column::number("Start-up").priority(40), |fix| {
            Cell::maybe(fix.startup_ns, |ns| Cell::text(more(ns as i64, units::time)))
        })
        .table()
        .title(
            "Fixes, measured",
            format!(
                "{} without any, {} rounds; two equal runs of one round differ by up to {}",
                units::time(record.baseline_ns as i64),
                record.rounds,
                units::percent(record.noise)
            ),
        );
    emit(out, &screen, args.format, &table, &record.fixes)?;
    if args.format == Format::Table {
        evidence(record, &screen, out)?;
        plan(record, &screen, out)?;
    }
    Ok(())
}

fn saves(fix: &FixRecord) -> Cell {
    match (fix.verdict.as_deref(), fix.saves) {
        _ if !fix.took => Cell::text("no effect").role(Role::Dim),
        (Some("faster"), Some(saves)) if fix.numbers.is_sound() => {
            Cell::text(units::percent(saves)).role(Role::Good)
        }
        (Some("faster"), Some(saves)) => Cell::text(units::percent(saves)).role(Role::Bad),
        (Some("slower"), Some(saves)) => {
            Cell::text(format!("{} slower", units::percent(-saves))).role(Role::Bad)
        }
        (Some("no_difference"), _) => Cell::text("nothing").role(Role::Dim),
        (Some(_), _) => Cell::text("not clear").role(Role::Dim),
        (None, _) => Cell::nothing(),
    }
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", units::percent(low), units::percent(high)),
        _ => String::new(),
    }
}

fn promised(fix: &FixRecord) -> String {
    match fix.promised {
        Some(share) if fix.at_most => format!("at most {}", units::percent(share)),
        Some(share) => units::percent(share),
        None => String::new(),
    }
}

/// With its sign.
fn more(value: i64, text: fn(i64) -> String) -> String {
    if value < 0 { format!("-{}", text(-value)) } else { format!("+{}", text(value)) }
}

/// How one knows what took effect, and why something did not.
fn evidence(record: &TryRecord, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let widest = record.fixes.iter().map(|fix| fix.name.len()).max().unwrap_or(0);
    for fix in record.fixes.iter().filter(|fix| !fix.evidence.is_empty()) {
        let line = format!("{:widest$}  {}", fix.name, fix.evidence);
        writeln!(out, "{}", screen.paint(Role::Dim, &screen.text(&line)))?;
    }
    Ok(())
}

/// The plan, with the time after each step.
fn plan(record: &TryRecord, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
    let Some(best) = best(record) else {
        let open = record.fixes.iter().filter(|fix| fix.verdict.as_deref() == Some("inconclusive")).count();
        let why = match open {
            0 => "Nothing that was tried makes it faster.".to_owned(),
            _ => format!(
                "Nothing was shown to make it faster; {open} not clear: try a quiet machine, or more --rounds."
            ),
        };
        return writeln!(out, "\n{why}");
    };
    writeln!(out, "\n{}", screen.paint(Role::Heading, "Plan, measured together"))?;
    let mut before = record.baseline_ns;
    for (at, step) in record.plan.iter().enumerate() {
        let name = step.fixes.last().map(String::as_str).unwrap_or_default();
        let times = format!("{} -> {}", units::time(before as i64), units::time(step.iteration_ns as i64));
        let note = match (step.helps, step.numbers.is_sound()) {
            (_, false) => format!("   results: {}", step.numbers.text()),
            (false, _) => "   adds nothing: leave it out".to_owned(),
            _ => String::new(),
        };
        let plus = if at == 0 { " " } else { "+" };
        writeln!(out, "  {plus} {}", screen.text(&format!("{name:<22} {times}{note}")))?;
        before = step.iteration_ns;
    }
    let sentence = format!(
        "{:.2}x as fast: {} -> {} per iteration; results: {}.",
        1.0 / (1.0 - best.saves).max(1e-9),
        units::time(record.baseline_ns as i64),
        units::time(best.iteration_ns as i64),
        best.numbers.text()
    );
    writeln!(out, "\n{}", screen.paint(Role::Good, &screen.text(&sentence)))?;
    let again = format!("{} try --apply {}", next::program(), record.program.join(" "));
    writeln!(out, "To keep it: {}", screen.paint(Role::Accent, &screen.text(&again)))
}

/// The last step whose results are sound.
fn best(record: &TryRecord) -> Option<&PlanRecord> {
    record
        .plan
        .iter()
        .filter(|step| step.numbers.is_sound())
        .min_by(|a, b| a.iteration_ns.total_cmp(&b.iteration_ns))
}

/// Code that keeps the plan.
pub(super) fn code(record: &TryRecord, _args: &Try, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(best) = best(record) else {
        remark("nothing that was tried makes this program faster");
        return Ok(());
    };
    let useless = |name: &String| record.plan.iter().any(|step| step.fixes.last() == Some(name) && !step.helps);
    writeln!(
        out,
        "# {}: {} -> {} per iteration, measured {}",
        record.program.join(" "),
        units::time(record.baseline_ns as i64),
        units::time(best.iteration_ns as i64),
        record.when
    )?;
    for name in best.fixes.iter().filter(|name| !useless(name)) {
        if let Some(fix) = record.fixes.iter().find(|fix| fix.name == *name) {
            writeln!(out, "\n# {}\n{}", fix.title, fix.code.trim_end())?;
        }
    }
    Ok(())
}

/// One promise and what became of it.
#[derive(Serialize)]
struct KeptPromise<'a> {
    program: String,
    when: &'a str,
    fix: &'a str,
    rule: Option<&'a str>,
    promised: Option<f64>,
    at_most: bool,
    measured: Option<f64>,
    /// Whether what was measured is near the promise, or below a bound.
    held: Option<bool>,
}

/// Promised and measured, of all results.
pub(super) fn history(args: &Try, out: &mut dyn Write) -> Result<(), Failure> {
    let all = trial::all(&args.output);
    let rows: Vec<KeptPromise<'_>> = all
        .iter()
        .flat_map(|(_, record)| record.fixes.iter().map(move |fix| (record, fix)))
        .filter(|(_, fix)| fix.took && fix.saves.is_some())
        .map(|(record, fix)| KeptPromise {
            program: record.program.join(" "),
            when: &record.when,
            fix: &fix.name,
            rule: fix.rule.as_deref(),
            promised: fix.promised,
            at_most: fix.at_most,
            measured: fix.saves,
            held: fix.promised.zip(fix.saves).map(|(promised, saves)| holds(promised, saves, fix.at_most)),
        })
        .collect();
    let table = Columns::of(&rows)
        .add(Column::text("When").priority(50), |row| Cell::text(row.when))
        .add(Column::name("Program"), |row| Cell::text(row.program.as_str()))
        .add(Column::text("Fix").keep(), |row| Cell::text(row.fix))
        .add(Column::number("Promised").keep(), |row| match row.promised {
            Some(share) if row.at_most => Cell::text(format!("at most {}", units::percent(share))),
            share => Cell::maybe(share, Cell::percent),
        })
        .add(Column::number("Measured").keep(), |row| Cell::maybe(row.measured, Cell::percent))
        .add(Column::text("Held"), |row| match row.held {
            Some(true) => Cell::text("yes").role(Role::Good),
            Some(false) => Cell::text("no").role(Role::Bad),
            None => Cell::nothing(),
        })
        .table()
        .title("Promised and measured", "held: within 30% of it or 2 points, or below a bound")
        .when_empty("nothing was tried yet");
    emit(out, &terminal::detect(&io::stdout()), args.format, &table, &rows)?;
    let judged: Vec<bool> = rows.iter().filter_map(|row| row.held).collect();
    if !judged.is_empty() {
        remark(&format!("{} of {} promises held", judged.iter().filter(|held| **held).count(), judged.len()));
    }
    Ok(())
}

fn holds(promised: f64, saves: f64, at_most: bool) -> bool {
    let near = (promised - saves).abs() <= (NEAR_SHARE * saves.abs()).max(NEAR_POINTS);
    near || (at_most && saves <= promised)
}
