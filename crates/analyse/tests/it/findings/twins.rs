//! Programs with a fault and without, timed in turns without a profiler: what findings promise the run that the user has.
//! The tables in docs/planted-faults.md are made here.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;
use stepscope_analyse::findings::{Finding, Thresholds, findings};
use stepscope_analyse::run::Run;

use crate::data::read;

/// A saving below this share is none: the pair is a trap.
const LEAST: f64 = 0.05;
/// A promise may be so far off, relative to what the fix saved; or inside what the rounds spread over.
const NEAR: f64 = 0.3;

fn set(kind: &str) -> Vec<PathBuf> {
    let root =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200-twins").join(kind);
    let mut cases: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|case| case.unwrap().path()).collect();
    cases.sort();
    cases
}

struct Found {
    unprofiled_ns: i64,
    findings: Vec<Finding>,
}

fn read_case(case: &std::path::Path, trace: &str) -> Found {
    let run = Run::new(read(&case.join(format!("{trace}.json.zst"))));
    Found { unprofiled_ns: run.unprofiled().step_ns, findings: findings(&run, &Thresholds::default()) }
}

struct Pair {
    name: String,
    /// Share of the step that the fix saved: the median of the rounds, the least and the most.
    saved: (f64, f64, f64),
    /// What the finding that names the fault promises, with shapes and without; `None` if no finding names it.
    promised: [Option<Option<f64>>; 2],
    rule: &'static str,
}

impl Pair {
    fn read(case: &std::path::Path) -> Pair {
        let answers: Value =
            serde_json::from_str(&std::fs::read_to_string(case.join("answers.json")).unwrap()).unwrap();
        let rules: Vec<&str> = answers["rules"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let rounds: Vec<f64> =
            answers["saved_rounds"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        let [least, most] = [f64::min, f64::max].map(|pick| rounds.iter().copied().reduce(pick).unwrap());
        let mut rule = "–";
        let fixed = read_case(case, "fixed.shapes").findings;
        let promised = ["fault.shapes", "fault.plain"].map(|trace| {
            let found = read_case(case, trace).findings;
            // A finding that promises about as much without the fault is about something else.
            let left = |rule: &str| fixed.iter().find(|f| f.rule == rule).and_then(|f| f.saves_unprofiled_ns);
            let is_about_it = |f: &&Finding| {
                let promised = f.saves_unprofiled_ns.unwrap_or(0);
                left(f.rule).is_none_or(|left| left <= promised / 2)
            };
            // The first rule is the one whose advice the fix follows; the others name the same fault.
            let of_rule = |rule: &&str| found.iter().find(|f| f.rule == *rule && is_about_it(f));
            let named = rules.iter().find_map(of_rule)?;
            rule = named.rule;
            Some(named.saves_unprofiled_share)
        });
        Pair {
            name: case.file_name().unwrap().to_string_lossy().into_owned(),
            saved: (answers["saved"].as_f64().unwrap(), least, most),
            promised,
            rule,
        }
    }

    fn is_fault(&self) -> bool {
        self.saved.0 >= LEAST
    }

    fn is_near(&self, promised: f64) -> bool {
        let (saved, least, most) = self.saved;
        (promised - saved).abs() <= NEAR * saved || (least..=most).contains(&promised)
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// The table of a set; how many faults there are, how many were named with shapes and without, how many promises were
/// made and how many were near.
fn table(pairs: &[Pair]) -> (String, [usize; 5]) {
    let mut table = String::from(
        "| fault | finding | predicted | without shapes | saved | rounds | |\n|---|---|---:|---:|---:|---:|---|\n",
    );
    let mut counts = [0; 5];
    for pair in pairs {
        let words = pair.promised.map(|promised| match promised {
            None => "not named".to_owned(),
            Some(None) => "no estimate".to_owned(),
            Some(Some(share)) => percent(share),
        });
        let near = pair.promised[0].flatten().map(|share| pair.is_near(share));
        let verdict = match near {
            Some(true) => "near",
            Some(false) => "off",
            None => "",
        };
        let (saved, least, most) = pair.saved;
        writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} to {} | {verdict} |",
            pair.name,
            pair.rule,
            words[0],
            words[1],
            percent(saved),
            percent(least),
            percent(most)
        )
        .unwrap();
        if pair.is_fault() {
            counts[0] += 1;
            counts[1] += usize::from(pair.promised[0].is_some());
            counts[2] += usize::from(pair.promised[1].is_some());
            counts[3] += usize::from(near.is_some());
            counts[4] += usize::from(near == Some(true));
        }
    }
    let [faults, named, plain, promised, near] = counts;
    writeln!(
        table,
        "\n{faults} faults that cost at least {}: {named} named with shapes, {plain} without; {near} of {promised} predictions near.",
        percent(LEAST)
    )
    .unwrap();
    (table, counts)
}

/// What holds today; the page says it, and it must not get worse.
fn promises(kind: &str, part: &'static str, least: [usize; 3]) {
    let pairs: Vec<Pair> = set(kind).iter().map(|case| Pair::read(case)).collect();
    let (table, [faults, named, plain, promised, near]) = table(&pairs);
    println!("{table}");
    assert!(named * 100 >= faults * least[0], "only {named} of {faults} named");
    assert!(plain * 100 >= faults * least[1], "only {plain} of {faults} named without shapes");
    assert!(near * 100 >= promised * least[2], "only {near} of {promised} near");
    crate::findings::docs::hold("planted-faults.md", &[(part, table)]);
}

#[test]
fn promises_hold_without_the_profiler() {
    promises("seen", "in turns", [90, 90, 85]);
}

#[test]
fn promises_hold_for_programs_that_no_rule_was_written_for() {
    promises("blind", "blind", [90, 90, 85]);
}

#[test]
fn healthy_programs_raise_no_false_alarm() {
    for case in set("healthy") {
        for trace in ["fixed.shapes", "fixed.plain"] {
            let found = read_case(&case, trace).findings;
            let loud: Vec<_> = found
                .iter()
                .filter(|f| f.saves_unprofiled_share.is_some_and(|share| share >= 0.15))
                .map(|f| (f.rule, f.saves_unprofiled_share))
                .collect();
            assert!(loud.is_empty(), "{} {trace}: {loud:?}", case.display());
        }
    }
}

#[test]
fn the_step_without_the_profiler_is_near_the_measured_one() {
    let (mut near, mut all) = (0, 0);
    for case in ["seen", "traps", "healthy"].into_iter().flat_map(set) {
        let answers: Value =
            serde_json::from_str(&std::fs::read_to_string(case.join("answers.json")).unwrap()).unwrap();
        for side in ["fault", "fixed"] {
            for how in ["shapes", "plain"] {
                let trace = format!("{side}.{how}");
                if !case.join(format!("{trace}.json.zst")).exists() {
                    continue;
                }
                let measured = answers[side]["step_ms"].as_f64().unwrap() * 1e6;
                let off = read_case(&case, &trace).unprofiled_ns as f64 / measured - 1.0;
                all += 1;
                near += usize::from(off.abs() <= 0.2);
            }
        }
    }
    println!("{near} of {all} within 20%");
    assert!(near * 100 >= all * 85, "only {near} of {all}");
}
