//! What is in the file, and what became of it.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::{Definition, definitions};
use stepscope_analyse::steps::{APART, FoundSteps};
use stepscope_analyse::tables::profile_info::{self, ProfileInfo, profile_info};
use stepscope_analyse::tables::run_info::{self, RunInfo};
use stepscope_ground::Problem;
use stepscope_model::DocumentKind;

use super::notes;
use crate::answer::{Answer, Part};
use crate::ask::{Ask, Group, PROFILES, Question, TRACES, USUAL};
use crate::form::{Form, fact, single};
use crate::print::{Cell, Column, Columns, KEEP, Role, Table, units};

pub(super) const QUESTION: Question = Question {
    name: "info",
    about: "What is in the file: framework, devices, ranks, options, events, what was repaired or set aside.",
    examples: &["info TRACE --format json"],
    group: Group::Trace,
    report_by: Some(&[]),
    definitions: &[run_info::DEFINITIONS, profile_info::DEFINITIONS, OWN_DEFINITIONS],
    forms: &[
        Form {
            name: "InfoAnswer",
            about: TRACES,
            members: &[&[single::<RunInfo>("info"), fact::<Option<FoundSteps>>("found_steps")]],
        },
        Form {
            name: "InfoOfProfile",
            about: PROFILES,
            members: &[&[single::<ProfileInfo>("profile"), single::<RunInfo>("info")]],
        },
    ],
    answer,
    states_damage: true,
    ..USUAL
};

const OWN_DEFINITIONS: &[Definition] = definitions! {
    APART;
    "found_steps", "Found steps" =>
        "How iterations were found that are not marked. None where steps are marked, or where nothing in the trace repeats \
         for sure.";
};

fn answer(_: &Ask, runs: &[Arc<Run>]) -> Result<Answer, Problem> {
    let run = &runs[0];
    let report = run.info().clone();
    if let Some(profile) = run.profile().filter(|_| run.kind() == DocumentKind::Profile) {
        let held = profile_info(profile);
        let (path, words) = (report.path.clone(), stored(&report));
        let table = move |held: &ProfileInfo| profile_facts(held, &path, &words);
        let parts = vec![
            Part::single("profile", held, table),
            Part::single("info", report, |report| facts(report, None)).shown(false),
        ];
        return Ok(Answer { below: Some(notes::below(run.shared_trace())), ..Answer::new(parts) });
    }
    // People see three tables of the one report.
    let hidden = |part: Part| Part { in_json: false, ..part };
    let found = run.all_steps().found.clone();
    let sentence = found.as_ref().map(|found| found.sentence.clone());
    let parts = vec![
        Part::single("info", report.clone(), move |report| facts(report, sentence.as_deref())),
        hidden(Part::single("categories", report.clone(), categories)),
        hidden(Part::single("ledger", report, ledger)),
    ];
    Ok(Answer {
        below: Some(notes::below(run.shared_trace())),
        ..Answer::new(parts).fact("found_steps", &found)
    })
}

fn facts(r: &RunInfo, found: Option<&str>) -> Table {
    let mut table =
        Table::new(vec![Column::text("").keep(), Column::name("").flexible(24, crate::print::end_ellipsis)])
            .title("Trace", &r.path);
    let mut fact = |name: &str, text: String| {
        if !text.is_empty() {
            table.row(vec![Cell::text(name).role(Role::Dim), Cell::text(text)]);
        }
    };
    fact("Format", stored(r));
    let version = r.framework_version.as_deref().unwrap_or_default();
    fact(
        "Framework",
        format!("{} {version}", r.framework.as_deref().unwrap_or("unknown")).trim_end().to_owned(),
    );
    let versions: Vec<String> = r.versions.iter().map(|(k, v)| format!("{k} {v}")).collect();
    fact("Versions", versions.join(", "));
    for d in &r.devices {
        let memory = d.total_memory_bytes.map(units::bytes).unwrap_or_default();
        let sms = d.sms.map(|n| format!("{n} SMs")).unwrap_or_default();
        let capability = d.compute_capability.as_deref().map(|c| format!("capability {c}")).unwrap_or_default();
        let parts: Vec<&str> =
            [d.name.as_str(), &memory, &sms, &capability].into_iter().filter(|p| !p.is_empty()).collect();
        fact(&format!("Device {}", d.index), parts.join(", "));
    }
    if let Some(d) = &r.distributed {
        let of = |v: Option<i64>| v.map_or("?".to_owned(), |v| v.to_string());
        let backend = d.backend.as_deref().map(|b| format!(", {b}")).unwrap_or_default();
        fact("Rank", format!("{} of {}{backend}", of(d.rank), of(d.world_size)));
    }
    fact("Worker", r.worker.clone().unwrap_or_default());
    fact("Span", r.span.clone().unwrap_or_default());
    let o = &r.options;
    let options = [
        ("record_shapes", o.record_shapes),
        ("with_stack", o.with_stack),
        ("profile_memory", o.profile_memory),
        ("with_flops", o.with_flops),
        ("with_modules", o.with_modules),
    ];
    let on: Vec<&str> = options.iter().filter(|(_, v)| *v == Some(true)).map(|(k, _)| *k).collect();
    fact("Recorded with", on.join(", "));
    fact("Length", units::time(r.extent_ns));
    let steps = match (r.steps.first(), r.steps.last()) {
        (Some(first), Some(last)) if r.steps.len() > 1 => format!("{} ({first} to {last})", r.steps.len()),
        (Some(only), _) => only.clone(),
        _ => match found {
            Some(found) => format!("none marked; {found}"),
            None => "none marked".to_owned(),
        },
    };
    fact("Steps", steps);
    fact("Lanes", format!("{} processes, {} threads, {} streams", r.processes, r.threads, r.streams));
    let per_event = r.bytes_per_event.map(|b| format!(", {b:.0} bytes per event")).unwrap_or_default();
    fact("Held in memory", format!("{}{per_event}", units::bytes(r.heap_bytes as i64)));
    table
}

fn stored(r: &RunInfo) -> String {
    let (stored, text) = (units::bytes(r.stored_bytes as i64), units::bytes(r.text_bytes as i64));
    format!("{}, {stored} stored, {text} of text", r.format)
}

fn profile_facts(held: &ProfileInfo, path: &str, format: &str) -> Table {
    let mut table =
        Table::new(vec![Column::text("").keep(), Column::name("").flexible(24, crate::print::end_ellipsis)])
            .title("Profile", path);
    let count = |n: u64| if n == 0 { String::new() } else { units::count(n) };
    let facts = [
        ("Format", format.to_owned()),
        ("Functions", count(held.named_functions)),
        ("Counted functions", count(held.counted_functions)),
        ("Stacks", count(held.sampled_stacks)),
        ("Timed lines", count(held.timed_lines)),
        ("Values", held.values.join(", ")),
        ("Threads and parts", held.parts.join("; ")),
    ];
    for (name, text) in facts.into_iter().filter(|(_, text)| !text.is_empty()) {
        table.row(vec![Cell::text(name).role(Role::Dim), Cell::text(text)]);
    }
    table
}

fn categories(r: &RunInfo) -> Table {
    let l = &r.ledger;
    let mut table = Columns::of(&r.categories)
        .defined_by(QUESTION.definitions)
        .add(Column::text("Category").keep(), |c| {
            Cell::text(if c.category.is_empty() { "(none)" } else { &c.category })
        })
        .add(Column::text("Read as"), |c| Cell::text(c.kind))
        .metric("count", KEEP, |c| Cell::count(c.count))
        .table()
        .title("Events", "");
    // With the arrows this table adds up to what the ledger says was kept.
    let kept = [l.slices, l.points, l.flows].into_iter().fold(0, u64::saturating_add);
    let listed = r.categories.iter().map(|c| c.count).fold(0, u64::saturating_add);
    if kept > listed {
        table.row(vec![Cell::text("(arrows)"), Cell::text("arrow-end"), Cell::count(kept - listed)]);
    }
    table
}

fn ledger(r: &RunInfo) -> Table {
    let l = &r.ledger;
    let words = if l.closes && l.skipped_bytes > 0 {
        "every event found is accounted for"
    } else if l.closes {
        "every event of the file is accounted for"
    } else {
        "does NOT add up: please report this"
    };
    let mut table =
        Table::new(vec![Column::text("").keep(), Column::number("Events").keep()]).title("Ledger", words);
    for (name, count) in [
        ("slices", l.slices),
        ("points", l.points),
        ("arrow ends", l.flows),
        ("ends matched to their begins", l.joined_pairs),
        ("set aside", l.set_aside),
    ] {
        table.row(vec![Cell::text(name), Cell::count(count)]);
    }
    table.total(vec![Cell::text("in the file"), Cell::count(l.events_in_file)]);
    if l.skipped_bytes > 0 {
        table.note(format!(
            "{} bytes belong to no event that could be found: some events may be missing",
            units::count(l.skipped_bytes)
        ));
    }
    table
}
