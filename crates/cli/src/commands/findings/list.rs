//! `stepscope findings --list`: every rule with its limits.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::findings::{self, RULES, Threshold, Thresholds};

use super::super::refuse;
use crate::args;
use crate::failure::Failure;
use crate::print::{self, Cell, Column, Format, Role, Screen, Table};
use crate::words::{Part, answer, explain, screen};

pub(super) fn run(args: &args::Findings, thresholds: &Thresholds, out: &mut dyn Write) -> Result<(), Failure> {
    let common = &args.common;
    let options = ["--by", "--sort", "--top", "--filter", "--step", "--device"];
    refuse(common, &options, "the list of rules", "leave it out")?;
    let wrong = |option: &str| {
        let what = format!("{option} does not apply to the list of rules");
        Err(Failure::wrong_use(what, "leave it out, or leave out --list"))
    };
    if args.fail_on.is_some() {
        return wrong("--fail-on");
    }
    if common.path.is_some() {
        return wrong("a trace");
    }
    if common.format == Format::Sarif {
        return wrong("--format sarif");
    }
    if common.format == Format::Table {
        let screen = screen(common);
        show(out, &screen, thresholds)?;
        if common.explain {
            writeln!(out)?;
            explain(out, &screen, &[findings::DEFINITIONS])?;
        }
        return Ok(());
    }
    let parts = vec![rules_part(thresholds), limits_part(thresholds)];
    answer(out, common, parts, Vec::new(), &[findings::DEFINITIONS])
}

/// For people: each rule with what it looks for, in full, and its limits.
fn show(out: &mut dyn Write, screen: &Screen, thresholds: &Thresholds) -> io::Result<()> {
    print::heading(out, screen, "Rules", "with their limits; stepscope.toml or --config FILE changes both")?;
    for rule in RULES {
        let (role, word) = if thresholds.is_on(rule.name) { (Role::Good, "on") } else { (Role::Warn, "off") };
        writeln!(out, "\n{} {}", screen.paint(Role::Heading, rule.name), screen.paint(role, word))?;
        for line in print::wrap(&screen.text(rule.about), screen.width.saturating_sub(2).clamp(20, 98)) {
            writeln!(out, "  {line}")?;
        }
        rule.thresholds.iter().try_for_each(|t| show_limit(out, screen, t, thresholds))?;
    }
    let own = |t: &&Threshold| RULES.iter().any(|rule| rule.thresholds.iter().any(|of| of.name == t.name));
    writeln!(out, "\n{}", screen.paint(Role::Heading, "all rules"))?;
    for threshold in Thresholds::all().filter(|t| !own(t)) {
        show_limit(out, screen, threshold, thresholds)?;
    }
    writeln!(out)?;
    print::note(out, screen, "stepscope.toml:")?;
    for line in
        ["[findings]", "off = [\"low_utilization\"]", "[findings.thresholds]", "\"severity.high\" = 0.3"]
    {
        writeln!(out, "  {}", screen.paint(Role::Accent, line))?;
    }
    Ok(())
}

fn show_limit(
    out: &mut dyn Write,
    screen: &Screen,
    threshold: &Threshold,
    thresholds: &Thresholds,
) -> io::Result<()> {
    let value = thresholds.get(threshold.name);
    let changed = value != threshold.default;
    let set = if changed { format!("{value} (not {})", threshold.default) } else { value.to_string() };
    let painted = screen.paint(if changed { Role::Warn } else { Role::Accent }, &set);
    writeln!(out, "  {} = {painted}", screen.text(threshold.name))?;
    for line in print::wrap(&screen.text(threshold.text), screen.width.saturating_sub(6).clamp(20, 94)) {
        writeln!(out, "      {}", screen.paint(Role::Dim, &line))?;
    }
    Ok(())
}

fn rules_part(thresholds: &Thresholds) -> Part {
    let mut table =
        Table::new(vec![Column::text("Rule").keep(), Column::text("").keep(), Column::name("Looks for")])
            .title("Rules", "switch one off with `off = [\"rule\"]` below [findings] in stepscope.toml");
    for rule in RULES {
        let on = thresholds.is_on(rule.name);
        table.row(vec![
            Cell::text(rule.name),
            Cell::text(if on { "on" } else { "off" }),
            Cell::text(rule.about),
        ]);
    }
    let rows: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            let limits: Vec<Value> = rule.thresholds.iter().map(|t| limit(t, thresholds)).collect();
            json!({
                "name": rule.name,
                "about": rule.about,
                "on": thresholds.is_on(rule.name),
                "thresholds": limits,
            })
        })
        .collect();
    Part::new("rules", table, json!(rows))
}

fn limit(threshold: &Threshold, thresholds: &Thresholds) -> Value {
    json!({
        "name": threshold.name,
        "default": threshold.default,
        "value": thresholds.get(threshold.name),
        "text": threshold.text,
    })
}

fn limits_part(thresholds: &Thresholds) -> Part {
    let mut table = Table::new(vec![
        Column::text("Limit").keep(),
        Column::number("Default").priority(100),
        Column::number("In force").keep(),
        Column::name("Of"),
    ])
    .title("Limits", "set one with `\"name\" = value` below [findings.thresholds] in stepscope.toml");
    for t in Thresholds::all() {
        let value = thresholds.get(t.name);
        table.row(vec![
            Cell::text(t.name),
            Cell::text(t.default.to_string()),
            Cell::text(value.to_string()),
            Cell::text(t.text),
        ]);
    }
    let rows: Vec<Value> = Thresholds::all().map(|t| limit(t, thresholds)).collect();
    Part::new("thresholds", table, json!(rows))
}
