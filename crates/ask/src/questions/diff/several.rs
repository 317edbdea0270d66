//! More than two runs side by side: one row each, the first as the base, and every pair judged.

use std::sync::Arc;

use stepscope_analyse::compare::{ComparedBy, PairRow, SideRow, several};
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::{Rule, Verdict};
use stepscope_ground::Problem;

use crate::answer::{Answer, Part};
use crate::ask::Ask;
use crate::print::{self, Cell, Column, Role, Table, labelled, units, wrap};

/// More sides than this have more pairs than anybody reads.
const MAX_SIDES: usize = 50;

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
    answer.headline = Some(text.clone());
    answer.above = Some(Box::new(move |out, screen| {
        let room = screen.width.clamp(40, 110) - print::LABEL;
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
        // The same run twice is told by its place.
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
    let mut table = Table::new(vec![
        Column::name("Run").flexible(16, print::middle_ellipsis),
        Column::number("Step").keep(),
        Column::number("p95").priority(60),
        Column::number("Samples").priority(80),
        Column::number("Samples/s").priority(130),
        Column::number("GPU busy").priority(110),
        Column::number("MFU").priority(90),
        Column::number("Peak memory").priority(100),
        Column::number("Energy").priority(70),
        Column::text("Against the first").keep(),
        Column::number("Interval").priority(65),
    ])
    .title("Side by side", format!("steps; verdicts by the time {}", per(by)));
    for row in rows {
        table.row(vec![
            Cell::text(&row.run),
            Cell::time(row.mean_ns),
            Cell::time(row.p95_ns),
            Cell::maybe(row.samples_per_step, |samples| Cell::text(units::number(samples))),
            Cell::maybe(row.samples_per_s, |rate| Cell::text(units::rate(rate))),
            Cell::maybe(row.gpu_utilization, Cell::percent),
            Cell::maybe(row.mfu, Cell::percent),
            Cell::maybe(row.peak_allocated_bytes, Cell::bytes),
            Cell::maybe(row.energy_j_per_step, |energy| Cell::text(units::joules(energy))),
            judged(row.verdict, row.ratio),
            interval(row.low, row.high),
        ]);
    }
    if by == ComparedBy::Step {
        table.note(
            "samples/s is unknown: not every run says how many samples its steps have (call step(samples=64)); if they differ, steps \
             do not compare",
        );
    }
    table
}

fn pairs_table(rows: &[PairRow], first: &str, by: ComparedBy) -> Table {
    let mut table = Table::new(vec![
        Column::name("Run").flexible(16, print::middle_ellipsis),
        Column::text("Verdict").keep(),
        Column::name("Than").flexible(16, print::middle_ellipsis),
        Column::number("Interval").priority(100),
    ])
    .title("Each against each", format!("by the time {}; each at 95% confidence on its own", per(by)));
    // Those with the first are above.
    for row in rows.iter().filter(|row| row.before != first) {
        table.row(vec![
            Cell::text(&row.after),
            judged(Some(row.verdict), row.ratio),
            Cell::text(&row.before),
            interval(row.low, row.high),
        ]);
    }
    table
}
