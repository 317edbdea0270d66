//! More than two runs side by side: one row each, the first as the base, and every pair judged.

use std::sync::Arc;

use stepscope_analyse::compare::{ComparedBy, PairRow, SideRow, several};
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::{Rule, Verdict};
use stepscope_ground::Problem;

use super::QUESTION;
use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::form::{Member, fact, rows};
use crate::print::{self, Cell, Column, Columns, KEEP, Role, Table, labelled, units, wrap};

/// More sides than this have more pairs than one can read.
const MAX_SIDES: usize = 50;

/// What such an answer holds.
pub(super) const MEMBERS: &[Member] = &[
    rows::<SideRow>("runs"),
    rows::<PairRow>("pairs"),
    fact::<ComparedBy>("by"),
    fact::<String>("sentence"),
    fact::<Vec<String>>("unlike"),
];

pub(super) fn answer(ask: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    ask.refuse(
        &["sort", "top", "filter", "device"],
        "more than two runs",
        "compare two of them to see what made the difference: stepscope diff before.json.gz after.json.gz",
    )?;
    if ask.sides.len() > MAX_SIDES {
        return Err(Problem::new(
            format!("{} runs are too many to show side by side; the maximum is {MAX_SIDES}", ask.sides.len()),
            "put recordings of the same program into one folder, and give the folder",
        ));
    }
    let mut rest = runs;
    let mut sides = Vec::new();
    for &count in &ask.sides {
        let (side, others) = rest.split_at(count);
        sides.push(side);
        rest = others;
    }
    let named: Vec<(String, &[Arc<Run>])> = names(&sides).into_iter().zip(sides).collect();
    let found = several(&named, &Rule::default());
    let by = found.by;
    let first = found.runs[0].run.clone();
    let text = sentence(&found.runs, by);
    let sides = Part::new("runs", found.runs, move |rows| runs_table(rows, by));
    let pairs = Part::new("pairs", found.pairs, move |rows| pairs_table(rows, &first, by));
    let unlike = found.unlike;
    let mut answer = Answer::new(vec![sides, pairs])
        .main("runs")
        .fact("by", &by)
        .fact("sentence", &text)
        .fact("unlike", &unlike);
    answer.headline = vec![text.clone()];
    answer.above = Some(Box::new(move |out, screen| {
        let room = screen.width.clamp(40, 110) - print::LABEL_COLUMNS;
        labelled(out, screen, "DIFF", &wrap(&screen.text(&text), room))?;
        for note in &unlike {
            let lines: Vec<String> =
                wrap(&screen.text(note), room).iter().map(|line| screen.paint(Role::Warn, line)).collect();
            labelled(out, screen, "NOTE", &lines)?;
        }
        writeln!(out)
    }));
    Ok(answer)
}

/// What sides are called: by their files, or their folders where files are called alike or several.
fn names(sides: &[&[Arc<Run>]]) -> Vec<String> {
    let paths: Vec<Vec<&str>> = (sides.iter())
        .map(|side| {
            let path = side[0].trace().meta().source.path.as_str();
            path.split(['/', '\\']).filter(|part| !part.is_empty()).collect()
        })
        .collect();
    let file = |at: usize| {
        let name = paths[at].last().copied().unwrap_or("?");
        name.split(".pt.trace.json").next().unwrap_or(name).split(".json").next().unwrap_or(name).to_owned()
    };
    let folder = |at: usize| paths[at].iter().rev().nth(1).map(|name| (*name).to_owned());
    let plain: Vec<String> = (0..sides.len())
        .map(|at| if sides[at].len() > 1 { folder(at).unwrap_or_else(|| file(at)) } else { file(at) })
        .collect();
    let mut names: Vec<String> = Vec::new();
    for at in 0..sides.len() {
        // A folder helps only where it is another one.
        let alike = (0..sides.len()).any(|other| plain[other] == plain[at] && paths[other] != paths[at]);
        let name = match folder(at).filter(|_| alike) {
            Some(folder) => format!("{folder}/{}", file(at)),
            None => plain[at].clone(),
        };
        // The same run twice gets its number as a suffix.
        names.push(if names.contains(&name) { format!("{name} ({})", at + 1) } else { name });
    }
    names
}

fn per(by: ComparedBy) -> &'static str {
    match by {
        ComparedBy::Sample => "per sample",
        ComparedBy::Step => "per step",
    }
}

/// `1.90x faster`, `no difference`, `not clear`.
fn words(verdict: Verdict, ratio: Option<f64>) -> String {
    let by = |ratio: f64| if ratio >= 1.1 { format!("{ratio:.2}x") } else { units::percent(ratio - 1.0) };
    match (verdict, ratio) {
        (Verdict::Faster, Some(ratio)) if ratio > 0.0 => format!("{} faster", by(1.0 / ratio)),
        (Verdict::Slower, Some(ratio)) => format!("{} slower", by(ratio)),
        (Verdict::Faster, _) => "faster".to_owned(),
        (Verdict::Slower, _) => "slower".to_owned(),
        (Verdict::NoDifference, _) => "no difference".to_owned(),
        (Verdict::Inconclusive, _) => "not clear".to_owned(),
    }
}

/// The one with the least time among those that are faster than the first for sure.
fn sentence(rows: &[SideRow], by: ComparedBy) -> String {
    let first = &rows[0].run;
    let faster = rows.iter().filter(|row| row.verdict == Some(Verdict::Faster));
    let best = faster.min_by(|a, b| a.ratio.unwrap_or(1.0).total_cmp(&b.ratio.unwrap_or(1.0)));
    match best {
        Some(best) => {
            let range = best.low.zip(best.high).map_or(String::new(), |(low, high)| {
                format!(
                    " (95% CI: {} to {})",
                    units::delta_percent(low - 1.0),
                    units::delta_percent(high - 1.0)
                )
            });
            let words = words(Verdict::Faster, best.ratio);
            format!("The fastest of {}: {}, {words} {} than {first}{range}.", rows.len(), best.run, per(by))
        }
        None if rows.iter().skip(1).all(|row| row.verdict == Some(Verdict::Slower)) => {
            format!("The fastest of {}: {first}, the first; all others are slower {}.", rows.len(), per(by))
        }
        None => format!("None of {} is faster {} than {first} for sure.", rows.len() - 1, per(by)),
    }
}

fn judged(verdict: Option<Verdict>, ratio: Option<f64>) -> Cell {
    let Some(verdict) = verdict else { return Cell::text("base").role(Role::Dim) };
    Cell::text(words(verdict, ratio)).role(match verdict {
        Verdict::Faster => Role::Good,
        Verdict::Slower => Role::Warn,
        _ => Role::Dim,
    })
}

fn interval(low: Option<f64>, high: Option<f64>) -> Cell {
    match low.zip(high) {
        Some((low, high)) => {
            Cell::text(format!("{} to {}", units::delta_percent(low - 1.0), units::delta_percent(high - 1.0)))
        }
        None => Cell::nothing(),
    }
}

fn runs_table(rows: &[SideRow], by: ComparedBy) -> Table {
    let mut table = Columns::of(rows)
        .defined_by(QUESTION.definitions)
        .add(Column::name("Run").flexible(16, print::middle_ellipsis), |r| Cell::text(&r.run))
        .metric("mean_ns", KEEP, |r| Cell::time(r.mean_ns))
        .metric("p95_ns", 60, |r| Cell::time(r.p95_ns))
        .metric("samples_per_step", 80, |r| {
            Cell::maybe(r.samples_per_step, |samples| Cell::text(units::number(samples)))
        })
        .metric("samples_per_s", 130, |r| Cell::maybe(r.samples_per_s, |rate| Cell::text(units::rate(rate))))
        .metric("gpu_utilization", 110, |r| Cell::maybe(r.gpu_utilization, Cell::percent))
        .metric("mfu", 90, |r| Cell::maybe(r.mfu, Cell::percent))
        .metric("peak_allocated_bytes", 100, |r| Cell::maybe(r.peak_allocated_bytes, Cell::bytes))
        .metric("energy_j_per_step", 70, |r| {
            Cell::maybe(r.energy_j_per_step, |energy| Cell::text(units::joules(energy)))
        })
        .add(Column::text("Against the first").keep(), |r| judged(r.verdict, r.ratio))
        .add(Column::number("Interval").priority(65), |r| interval(r.low, r.high))
        .table()
        .title("Side by side", format!("steps; verdicts by the time {}", per(by)));
    if by == ComparedBy::Step {
        table.note(
            "samples/s is unknown: not every run says how many samples its steps have (call step(samples=64)); if they differ, steps \
             do not compare",
        );
    }
    table
}

fn pairs_table(rows: &[PairRow], first: &str, by: ComparedBy) -> Table {
    // Those with the first are above.
    Columns::of(rows.iter().filter(|r| r.before != first))
        .add(Column::name("Run").flexible(16, print::middle_ellipsis), |r| Cell::text(&r.after))
        .add(Column::text("Verdict").keep(), |r| judged(Some(r.verdict), r.ratio))
        .add(Column::name("Than").flexible(16, print::middle_ellipsis), |r| Cell::text(&r.before))
        .add(Column::number("Interval").priority(100), |r| interval(r.low, r.high))
        .table()
        .title("Each against each", format!("by the time {}; each at 95% confidence on its own", per(by)))
}
