//! How often the gate cries wolf, and what it finds: writes `docs/gate-numbers.md` and `docs/gate-power.svg`.
//!
//! `make bench-gate` runs it. It starts itself as the program that is timed: as it is, as it is again, and with 5% more to do,
//! in turns, on the machine it runs on. The rest is simulated from a seed with the noise that was measured.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Instant;

use stepscope_analyse::statistics::{Random, Statistic};
use stepscope_ground::Problem;
use stepscope_regression::bare::Bare;
use stepscope_regression::{Condition, How, Machine, Measurement, Options, Outcome, Repeat, check};

const STEPS: usize = 48;
/// How many rounds lie between the pairs of the table of real runs.
const APART: usize = 3;
const SHAPES: [&str; 3] = ["normal", "heavy tail", "two humps"];
const PAIRS: usize = 500;
const REPEATS: [usize; 3] = [5, 10, 20];
const SLOWDOWNS: [f64; 9] = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15];
/// Conditions of the tables: how much slower is too slow.
const LIMITS: [&str; 2] = ["step_time>+2%", "step_time>+5%"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--work") {
        return Ok(work(words.get(1).and_then(|text| text.parse().ok()).unwrap_or(1.0))?);
    }
    let folder = words.first().map_or("docs", String::as_str);
    let rounds = words.get(1).and_then(|text| text.parse().ok()).unwrap_or(210);
    let real = Real::measure(rounds)?;
    let noise = real.noise();
    let (text, power) = page(&real, noise)?;
    std::fs::write(format!("{folder}/gate-numbers.md"), &text)?;
    std::fs::write(format!("{folder}/gate-power.svg"), svg(&power, 0.02))?;
    Ok(io::stdout().write_all(text.as_bytes())?)
}

/// Some arithmetic in steps, and what each took.
fn work(amount: f64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut sum = 0.5f64;
    for _ in 0..STEPS {
        let began = Instant::now();
        for number in 0..(400_000.0 * amount) as u64 {
            sum = (sum * 1.000_000_1 + number as f64).sin();
        }
        writeln!(out, "step {:.6} ms", began.elapsed().as_secs_f64() * 1e3)?;
    }
    writeln!(out, "{sum}")
}

/// Runs of the same program twice, and of the slower one, in turns.
struct Real {
    same: [Vec<Repeat>; 2],
    slower: Vec<Repeat>,
}

impl Real {
    fn measure(rounds: usize) -> Result<Real, Box<dyn std::error::Error>> {
        let this = std::env::current_exe()?.into_os_string();
        let expression = regex::Regex::new(r"step (?P<ms>[0-9.]+) ms")?;
        let bare = |amount: &str| Bare {
            expression: Some(expression.clone()),
            ..Bare::new(vec![this.clone(), OsString::from("--work"), OsString::from(amount)])
        };
        let (plain, slow) = (bare("1"), bare("1.05"));
        let mut real = Real { same: [Vec::new(), Vec::new()], slower: Vec::new() };
        for round in 0..rounds {
            // Each goes first in a third of the rounds.
            for turn in 0..3 {
                let at = (turn + round) % 3;
                let timed = if at == 2 { &slow } else { &plain }.beside_yardstick().map_err(Problem::from)?;
                match at {
                    2 => real.slower.push(timed.repeat),
                    at => real.same[at].push(timed.repeat),
                }
            }
        }
        Ok(real)
    }

    /// The standard deviation of a run's mean step, relative, without being led astray by a few disturbed runs.
    fn noise(&self) -> f64 {
        let values: Vec<f64> = self.same.iter().flatten().filter_map(mean_step).map(f64::ln).collect();
        let middle = Statistic::MEDIAN.compute(&mut values.clone()).unwrap_or(0.0);
        let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
        1.4826 * Statistic::MEDIAN.compute(&mut distances).unwrap_or(0.0)
    }

    /// Outcomes over all windows of so many neighboring rounds.
    fn outcomes(&self, other: &[Repeat], repeats: usize, condition: &Condition) -> Shares {
        let windows = self.same[0].windows(repeats).zip(other.windows(repeats)).step_by(APART);
        Shares::from_outcomes(windows.map(|(a, b)| outcome(a.to_vec(), b.to_vec(), condition, true)))
    }

    /// Outcomes where one side ran before the other, as with a saved baseline.
    fn saved(&self, other: &[Repeat], repeats: usize, condition: &Condition) -> Shares {
        let windows = self.same[0].windows(repeats).zip(other[repeats..].windows(repeats)).step_by(APART);
        Shares::from_outcomes(windows.map(|(a, b)| outcome(a.to_vec(), b.to_vec(), condition, false)))
    }
}

fn mean_step(repeat: &Repeat) -> Option<f64> {
    Statistic::Mean.compute(&mut repeat.values.get("step_time")?.clone())
}

fn outcome(before: Vec<Repeat>, now: Vec<Repeat>, condition: &Condition, in_turns: bool) -> Outcome {
    let of = |repeats| Measurement { repeats, ..Measurement::new(How::Bare) };
    let options = Options { in_turns, ..Options::default() };
    check(std::slice::from_ref(condition), Some(&of(before)), &of(now), &options).outcome()
}

#[derive(Clone, Copy, Default)]
struct Shares {
    fail: f64,
    undecided: f64,
    count: usize,
}

impl Shares {
    fn from_outcomes(outcomes: impl Iterator<Item = Outcome>) -> Shares {
        let all: Vec<Outcome> = outcomes.collect();
        let share = |wanted| all.iter().filter(|o| **o == wanted).count() as f64 / all.len().max(1) as f64;
        Shares { fail: share(Outcome::Fail), undecided: share(Outcome::Inconclusive), count: all.len() }
    }

    fn text(self) -> String {
        format!("{:.1}% / {:.1}%", 100.0 * self.fail, 100.0 * self.undecided)
    }
}

fn drawn(random: &mut Random, shape: &str, noise: f64, factor: f64, repeats: usize) -> Vec<Repeat> {
    let one = |random: &mut Random| {
        let deviation = match shape {
            "normal" => random.normal(),
            "heavy tail" => random.normal() + if random.unit() < 0.1 { 10.0 * random.unit() } else { 0.0 },
            _ => 0.4 * random.normal() + if random.unit() < 0.5 { -1.0 } else { 1.0 },
        };
        let mut repeat = Repeat::default();
        repeat.put("step_time", [factor * 100e6 * (noise * deviation).exp()]);
        repeat
    };
    (0..repeats).map(|_| one(random)).collect()
}

fn simulated(shape: &str, noise: f64, slowdown: f64, repeats: usize, condition: &Condition) -> [Shares; 2] {
    [true, false].map(|in_turns| one_simulated(shape, noise, slowdown, repeats, condition, in_turns))
}

fn one_simulated(
    shape: &str,
    noise: f64,
    slowdown: f64,
    repeats: usize,
    condition: &Condition,
    in_turns: bool,
) -> Shares {
    let mut random = Random::new(17);
    Shares::from_outcomes((0..PAIRS).map(|_| {
        let before = drawn(&mut random, shape, noise, 1.0, repeats);
        let now = drawn(&mut random, shape, noise, 1.0 + slowdown, repeats);
        outcome(before, now, condition, in_turns)
    }))
}

/// Detected shares by repeats and slowdown.
type Power = Vec<(usize, Vec<(f64, f64)>)>;

fn page(real: &Real, noise: f64) -> Result<(String, Power), Problem> {
    let conditions = LIMITS.map(Condition::parse);
    let [two, five] = conditions;
    let (two, five) = (two?, five?);
    let machine = Machine::here();
    let mut text = format!(
        "# How far the gate can be trusted\n\n\
         Written by `make bench-gate` on {} with {} processors. Do not edit.\n\n\
         Each cell is **failed / inconclusive**, in percent of the pairs; the rest passed. A run that fails although nothing\n\
         changed is a false alarm: 5% at most are allowed, and the interval is chosen so that 2.5% would be the most.\n\n\
         ## Real runs\n\n\
         A program of {STEPS} steps, run without a profiler: twice as is and once with 5% more to do, interleaved. The mean step of\n\
         a run varies by {:.2}% here (1.4826 times the median deviation). **Interleaved** is what `check --baseline-dir` and\n\
         `--baseline-command` do: runs that are neighbors in time are compared in pairs. **Saved** is what `check --baseline`\n\
         does: all runs of one side come first, and a slowdown that a fixed task next to each run shows as well does not fail, so\n\
         that a machine that became slower is not taken for a program that did.\n\
         Neighboring pairs of the table overlap: {} rounds hold {} separate pairs of ten runs.\n\n\
         | runs per side | pairs | same program, interleaved, fails if >+2% | >+5% | same program, saved, >+2% | >+5% | 5% slower, interleaved, >+2% | >+5% | 5% slower, saved, >+2% | >+5% |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        if machine.cpu.is_empty() { "an unknown processor" } else { &machine.cpu },
        machine.cores,
        100.0 * noise,
        real.slower.len(),
        real.slower.len() / 10,
    );
    for repeats in REPEATS {
        let same = [&two, &five].map(|condition| real.outcomes(&real.same[1], repeats, condition));
        let saved = [&two, &five].map(|condition| real.saved(&real.same[0], repeats, condition));
        let late = [&two, &five].map(|condition| real.saved(&real.slower, repeats, condition));
        let slower = [&two, &five].map(|condition| real.outcomes(&real.slower, repeats, condition));
        let cells: Vec<String> = [same, saved, slower, late].into_iter().flatten().map(Shares::text).collect();
        let _ = writeln!(text, "| {repeats} | {} | {} |", same[0].count, cells.join(" | "));
    }
    let _ = write!(
        text,
        "\n## Nothing changed, simulated\n\n{PAIRS} pairs per cell, with noise of three shapes: normal; one run in ten disturbed by up to ten\n\
         times the noise; two humps two deviations apart. Fails if `step_time>+2%`. Interleaved and saved differ only in the test:\n\
         these runs do not depend on each other.\n\n\
         | noise | runs per side | | {} |\n|---|---|---|{}\n",
        SHAPES.join(" | "),
        "---|".repeat(SHAPES.len())
    );
    for level in [noise, 0.02, 0.05] {
        for repeats in REPEATS {
            let cells = SHAPES.map(|shape| simulated(shape, level, 0.0, repeats, &two));
            for (at, which) in ["interleaved", "saved"].into_iter().enumerate() {
                let cells = cells.map(|cell| cell[at].text()).join(" | ");
                let _ = writeln!(text, "| {:.2}% | {repeats} | {which} | {cells} |", 100.0 * level);
            }
        }
    }
    // The noise of a quiet machine: under load nothing but the load would be on the picture.
    let shown = 0.02;
    let _ = write!(
        text,
        "\n## What is found, simulated\n\n![Share of slowdowns found, by their size](gate-power.svg)\n\n\
         Share of pairs that fail `step_time>+2%` interleaved, with normal noise of {:.2}%, by how much slower the program really is:\n\n\
         | runs per side | {} |\n|---|{}\n",
        100.0 * shown,
        SLOWDOWNS.map(|s| format!("+{:.0}%", 100.0 * s)).join(" | "),
        "---|".repeat(SLOWDOWNS.len())
    );
    let mut power = Power::new();
    for repeats in REPEATS {
        let found =
            SLOWDOWNS.map(|slow| (slow, one_simulated("normal", shown, slow, repeats, &two, true).fail));
        let cells = found.map(|(_, share)| format!("{:.0}%", 100.0 * share));
        let _ = writeln!(text, "| {repeats} | {} |", cells.join(" | "));
        power.push((repeats, found.to_vec()));
    }
    text.push_str(
        "\nOne run per side is not in these tables: its steps say how much steps differ, not how much runs do, and a verdict\n\
         from it says so.\n",
    );
    Ok((text, power))
}

/// The last table as curves.
fn svg(power: &Power, noise: f64) -> String {
    let (width, height, left, bottom) = (640.0, 320.0, 56.0, 44.0);
    let x = |slow: f64| left + slow / 0.15 * (width - left - 90.0);
    let y = |share: f64| 16.0 + (1.0 - share) * (height - bottom - 16.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let at = y(share);
        let _ = writeln!(
            text,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0}%</text>",
            x(0.15),
            left - 6.0,
            at + 4.0,
            100.0 * share
        );
    }
    for slow in [0.0, 0.02, 0.05, 0.1, 0.15] {
        let at = x(slow);
        let low = height - bottom + 18.0;
        let _ = writeln!(
            text,
            "<text x=\"{at:.1}\" y=\"{low:.1}\" text-anchor=\"middle\">+{:.0}%</text>",
            100.0 * slow
        );
    }
    for ((repeats, points), color) in power.iter().zip(["#b45309", "#2563eb", "#15803d"]) {
        let line: Vec<String> =
            points.iter().map(|(slow, share)| format!("{:.1},{:.1}", x(*slow), y(*share))).collect();
        let last = points.last().map_or(1.0, |point| point.1);
        // Labels beside the middle of the curve would cross; at its end they would cover each other.
        let below = match repeats {
            5 => 30.0,
            10 => 15.0,
            _ => 0.0,
        };
        let _ = writeln!(
            text,
            "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{repeats} runs</text>",
            line.join(" "),
            x(0.15) + 8.0,
            y(last) + 4.0 + below
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">slower by (normal noise of {:.2}%; fails if &gt;+2%)</text>\n</svg>",
        x(0.075),
        height - 8.0,
        100.0 * noise
    );
    text
}
