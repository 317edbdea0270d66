//! Every rule with its thresholds.

use std::io::{self, Write};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::findings::{RULES, Threshold, Thresholds};

use crate::answer::{Answer, Part};
use crate::print::{self, Cell, Column, Columns, Role, Screen};

/// Every rule with its thresholds. It needs no run.
pub fn rules(thresholds: &Arc<Thresholds>) -> Answer {
    let mut answer = Answer::new(vec![rules_part(thresholds), thresholds_part(thresholds)]);
    answer.definitions = super::QUESTION.all_definitions();
    let thresholds = thresholds.clone();
    answer.above = Some(Box::new(move |out, screen| show(out, screen, &thresholds)));
    answer
}

/// A rule as programs get it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct RuleRow {
    name: &'static str,
    about: &'static str,
    on: bool,
    thresholds: Vec<ThresholdRow>,
}

/// A threshold as programs get it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ThresholdRow {
    name: &'static str,
    default: f64,
    value: f64,
    text: &'static str,
}

/// For people: each rule with what it looks for, in full, and its thresholds.
fn show(out: &mut dyn Write, screen: &Screen, thresholds: &Thresholds) -> io::Result<()> {
    print::heading(out, screen, "Rules", "with their thresholds; set both in stepscope.toml or --config FILE")?;
    for rule in RULES {
        let (role, word) = if thresholds.is_on(rule.name) { (Role::Good, "on") } else { (Role::Warn, "off") };
        writeln!(out, "\n{} {}", screen.paint(Role::Heading, rule.name), screen.paint(role, word))?;
        for line in print::wrap(&screen.text(rule.about), screen.width.saturating_sub(2).clamp(20, 98)) {
            writeln!(out, "  {line}")?;
        }
        rule.thresholds.iter().try_for_each(|t| show_threshold(out, screen, t, thresholds))?;
    }
    let own = |t: &&Threshold| RULES.iter().any(|rule| rule.thresholds.iter().any(|of| of.name == t.name));
    writeln!(out, "\n{}", screen.paint(Role::Heading, "all rules"))?;
    for threshold in Thresholds::all().filter(|t| !own(t)) {
        show_threshold(out, screen, threshold, thresholds)?;
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

fn show_threshold(
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

fn row(threshold: &Threshold, thresholds: &Thresholds) -> ThresholdRow {
    ThresholdRow {
        name: threshold.name,
        default: threshold.default,
        value: thresholds.get(threshold.name),
        text: threshold.text,
    }
}

fn rules_part(thresholds: &Thresholds) -> Part {
    let rows = RULES.iter().map(|rule| RuleRow {
        name: rule.name,
        about: rule.about,
        on: thresholds.is_on(rule.name),
        thresholds: rule.thresholds.iter().map(|t| row(t, thresholds)).collect(),
    });
    let part = Part::new("rules", rows.collect(), |rows: &[RuleRow]| {
        Columns::of(rows)
            .add(Column::text("Rule").keep(), |rule| Cell::text(rule.name))
            .add(Column::text("").keep(), |rule| Cell::text(if rule.on { "on" } else { "off" }))
            .add(Column::name("Looks for"), |rule| Cell::text(rule.about))
            .table()
            .title("Rules", "turn one off with `off = [\"rule\"]` under [findings] in stepscope.toml")
    });
    part.off_screen()
}

fn thresholds_part(thresholds: &Thresholds) -> Part {
    let rows = Thresholds::all().map(|t| row(t, thresholds)).collect();
    let part = Part::new("thresholds", rows, |rows: &[ThresholdRow]| {
        Columns::of(rows)
            .add(Column::text("Threshold").keep(), |t| Cell::text(t.name))
            .add(Column::number("Default").priority(100), |t| Cell::text(t.default.to_string()))
            .add(Column::number("In effect").keep(), |t| Cell::text(t.value.to_string()))
            .add(Column::name("Of"), |t| Cell::text(t.text))
            .table()
            .title(
                "Thresholds",
                "set one with `\"name\" = value` under [findings.thresholds] in stepscope.toml",
            )
    });
    part.off_screen()
}
