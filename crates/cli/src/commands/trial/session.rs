//! The runs: which, in which order, for how long.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stepscope_analyse::statistics::Verdict;
use stepscope_ask::print::units;
use stepscope_ground::Problem;
use stepscope_regression::bare::{Bare, Scratch};
use stepscope_regression::trial::{
    Baseline, Candidate, Fix, FixRecord, PlanRecord, RunOrder, RunResult, Variant, compare_times, fix_record,
    order, plan_record, rounds,
};

use super::candidates::Candidates;
use super::python::Python;
use crate::args::Try;
use crate::failure::Failure;
use crate::input::remark;

/// A run may take this many times as long as the first one, and this much on top: it may have to compile.
const MAX_RUN_FACTOR: u32 = 5;
const MAX_RUN_EXTRA: Duration = Duration::from_secs(180);
/// What is not decided after the rounds that were asked for goes on for so many, if there is time.
const MAX_ROUNDS_FACTOR: usize = 2;
/// What saves less than this is not worth more rounds.
const MAX_OPEN_RATIO: f64 = 0.99;

/// What came of all runs.
pub(super) struct Measured {
    pub(super) iteration: String,
    pub(super) rounds: usize,
    pub(super) baseline_ns: f64,
    pub(super) noise: f64,
    pub(super) fixes: Vec<FixRecord>,
    pub(super) plan: Vec<PlanRecord>,
}

pub(super) struct Session<'a> {
    args: &'a Try,
    python: &'a Python,
    scratch: Scratch,
    began: Instant,
    /// Iterations that are left out and counted, the same in every run.
    warmup: Option<u64>,
    iterations: Option<u64>,
    run_takes: Duration,
    runs: usize,
    runs_planned: usize,
    watched: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(args: &'a Try, python: &'a Python) -> Result<Session<'a>, Failure> {
        Ok(Session {
            args,
            python,
            scratch: Scratch::new()?,
            began: Instant::now(),
            warmup: args.warmup,
            iterations: args.iterations,
            run_takes: Duration::ZERO,
            runs: 0,
            runs_planned: 0,
            watched: std::io::stderr().is_terminal(),
        })
    }

    pub(super) fn measure(mut self, candidates: &Candidates) -> Result<Measured, Failure> {
        let first = self.first_run()?;
        let tried = self.affordable(&candidates.fixes);
        self.runs_planned = self.runs + self.args.rounds as usize * (tried.len() + 2);
        self.announce(&first, tried.len());
        let mut variants: Vec<Variant> =
            tried.iter().map(|each| Variant::new(vec![each.fix.name.clone()])).collect();
        let mut baselines = Vec::new();
        let asked = self.args.rounds as usize;
        for round in 0..asked * MAX_ROUNDS_FACTOR {
            if round >= asked && !self.goes_on(&mut variants, &baselines) {
                break;
            }
            self.round(round, &mut variants, &mut baselines)?;
        }
        let fixes: Vec<FixRecord> =
            tried.iter().zip(&variants).map(|(each, variant)| fix_record(each, variant, &baselines)).collect();
        let plan = self.plan(&tried, &variants, &fixes, &baselines)?;
        self.clear();
        let baseline = Baseline::of(&baselines);
        Ok(Measured {
            iteration: first.found_by.unwrap_or_else(|| "the whole program".to_owned()),
            rounds: baselines.len(),
            baseline_ns: baseline.mean_ns,
            noise: baseline.noise,
            fixes,
            plan,
        })
    }

    /// The first run warms the file system up and chooses which iterations count.
    fn first_run(&mut self) -> Result<RunResult, Failure> {
        let (mut first, took) = self.timed(&[])?;
        if first.iteration_ns.is_none() {
            match first.shorter() {
                Some((warmup, iterations)) => {
                    (self.warmup, self.iterations) = (Some(warmup), Some(iterations));
                    first = self.timed(&[])?.0;
                }
                None => {
                    remark(&format!(
                        "the program ended after {} iterations, too few to leave its beginning out: whole runs are timed",
                        first.counted
                    ));
                }
            }
        } else {
            (self.warmup, self.iterations) = (first.warmup, first.iterations);
        }
        self.run_takes = took;
        Ok(first)
    }

    /// As many of these as the budget allows: at least one.
    fn affordable<'b>(&self, all: &'b [Candidate]) -> Vec<&'b Candidate> {
        let left = self.args.budget.saturating_sub(self.began.elapsed());
        let runs = left.as_secs_f64() / self.run_takes.as_secs_f64().max(1e-3) / f64::from(self.args.rounds);
        let count = ((runs - 2.0).max(1.0) as usize).min(all.len());
        if count < all.len() {
            let names: Vec<&str> = all[count..].iter().map(|each| each.fix.name.as_str()).collect();
            remark(&format!(
                "not tried, because {} is not enough for more than {count}: {} (--budget)",
                units::time(self.args.budget.as_nanos() as i64),
                names.join(", ")
            ));
        }
        all[..count].iter().collect()
    }

    fn announce(&self, first: &RunResult, fixes: usize) {
        let runs = self.runs_planned - self.runs;
        let takes = self.run_takes * u32::try_from(runs).unwrap_or(u32::MAX);
        let each = match (first.iteration_ns, &first.found_by) {
            (Some(ns), Some(found_by)) => format!(
                "an iteration takes {} ({} timed, by {found_by})",
                units::time(ns as i64),
                self.iterations.unwrap_or_default()
            ),
            _ => format!("a run takes {}", units::time(first.whole_ns as i64)),
        };
        remark(&format!(
            "{each}; {fixes} {} to try in {} rounds: {runs} runs, about {}",
            if fixes == 1 { "fix" } else { "fixes" },
            self.args.rounds,
            units::time(takes.as_nanos() as i64)
        ));
    }

    /// Each variant once, and the baseline twice: at one end and in the middle.
    fn round(
        &mut self,
        number: usize,
        variants: &mut [Variant],
        baselines: &mut Vec<[RunResult; 2]>,
    ) -> Result<(), Failure> {
        let mut turns: Vec<Option<usize>> = (0..variants.len()).map(Some).collect();
        turns.insert(0, None);
        turns.insert(turns.len().div_ceil(2).max(1), None);
        if number % 2 == 1 {
            turns.reverse();
        }
        let mut without = Vec::new();
        let mut told = Vec::new();
        for turn in turns {
            let Some(at) = turn else {
                let (result, _) = self.timed(&[])?;
                told.push(format!("without {}", units::time(result.time_ns() as i64)));
                without.push(result);
                continue;
            };
            let variant = &mut variants[at];
            if variant.failure.is_some() || variant.is_decided {
                variant.results.push(None);
                continue;
            }
            let name = variant.fixes.last().cloned().unwrap_or_default();
            let result = match self.timed(&variant.fixes) {
                Ok((result, _)) => {
                    told.push(format!("{name} {}", units::time(result.time_ns() as i64)));
                    let idle = result.fixes.iter().find(|effect| !effect.took);
                    variant.failure = idle.map(|effect| effect.evidence.clone());
                    Some(result)
                }
                Err(Failure::Use(problem)) => {
                    told.push(format!("{name} failed"));
                    variant.failure = Some(first_line(&problem.what));
                    None
                }
                Err(other) => return Err(other),
            };
            variant.results.push(result);
        }
        let [first, second] = <[RunResult; 2]>::try_from(without)
            .map_err(|_| Failure::wrong_use("a round has two runs without a fix", "report this"))?;
        baselines.push([first, second]);
        self.clear();
        remark(&format!("round {}: {}", number + 1, told.join(", ")));
        Ok(())
    }

    /// Whether another round may decide what is open, and there is time for it. What is decided no longer runs.
    fn goes_on(&self, variants: &mut [Variant], baselines: &[[RunResult; 2]]) -> bool {
        for variant in variants.iter_mut().filter(|variant| variant.failure.is_none()) {
            let found = compare_times(&rounds(variant, baselines));
            let may_help = found.ratio.is_some_and(|ratio| ratio < MAX_OPEN_RATIO);
            variant.is_decided |= found.verdict != Verdict::Inconclusive || !may_help;
        }
        let open = variants.iter().filter(|variant| variant.failure.is_none() && !variant.is_decided).count();
        open > 0 && self.began.elapsed() + self.run_takes * (open as u32 + 2) < self.args.budget
    }

    /// The best ones together, measured in rounds of their own.
    fn plan(
        &mut self,
        tried: &[&Candidate],
        variants: &[Variant],
        fixes: &[FixRecord],
        baselines: &[[RunResult; 2]],
    ) -> Result<Vec<PlanRecord>, Failure> {
        let faster: Vec<(&Fix, f64)> = tried
            .iter()
            .zip(fixes)
            .filter(|(_, record)| record.is_faster() && record.numbers.is_sound())
            .map(|(each, record)| (&each.fix, 1.0 - record.saves.unwrap_or(0.0)))
            .collect();
        let steps = order(&faster);
        let Some(best) = steps.first() else { return Ok(Vec::new()) };
        let alone = variants.iter().find(|variant| variant.fixes == best.fixes);
        let mut plan: Vec<PlanRecord> = Vec::new();
        if let Some(alone) = alone {
            plan.extend(plan_record(alone, None, baselines));
        }
        let rounds = self.args.rounds as usize;
        let mut together: Vec<Variant> =
            steps[1..].iter().map(|step| Variant::new(step.fixes.clone())).collect();
        let fits = |session: &Session<'_>, variants: usize| {
            let runs = u32::try_from(rounds * (variants + 3)).unwrap_or(u32::MAX);
            session.began.elapsed() + session.run_takes * runs <= session.args.budget
        };
        if together.len() > 1 && !fits(self, together.len()) {
            together.drain(..together.len() - 1);
        }
        if together.is_empty() {
            return Ok(plan);
        }
        if !fits(self, together.len()) {
            remark("not enough time is left to measure the best fixes together (--budget)");
            return Ok(plan);
        }
        // The best one again, beside the others: what comes on top is compared with it.
        together.insert(0, Variant::new(best.fixes.clone()));
        remark(&format!("now together: {}", steps[steps.len() - 1].fixes.join(" + ")));
        self.runs_planned = self.runs + rounds * (together.len() + 2);
        let mut beside = Vec::new();
        for round in 0..rounds {
            self.round(round, &mut together, &mut beside)?;
        }
        plan.clear();
        for (at, variant) in together.iter().enumerate() {
            plan.extend(plan_record(variant, at.checked_sub(1).map(|before| &together[before]), &beside));
        }
        Ok(plan)
    }

    /// One run, and how long it took from start to end.
    fn timed(&mut self, fixes: &[String]) -> Result<(RunResult, Duration), Failure> {
        let number = self.runs;
        self.runs += 1;
        self.say_fixes(fixes);
        let place = |what: &str| self.scratch.path().join(format!("{what}-{number}.json"));
        let (order, result): (PathBuf, PathBuf) = (place("order"), place("result"));
        let words = RunOrder {
            program: self.args.program[0].clone(),
            arguments: self.args.program[1..].to_vec(),
            is_module: self.args.module,
            fixes: fixes.to_vec(),
            files: self.args.own.iter().map(|file| file.display().to_string()).collect(),
            warmup: self.warmup,
            iterations: self.iterations,
            result: result.display().to_string(),
        };
        std::fs::write(&order, serde_json::to_vec(&words).unwrap_or_default())?;
        let limit = (self.run_takes * MAX_RUN_FACTOR + MAX_RUN_EXTRA).max(self.args.budget / 4);
        let run = Bare {
            timeout: Some(self.args.timeout.unwrap_or(limit)),
            show: self.args.show_output,
            // The order of sets may decide what is computed.
            environment: vec![("PYTHONHASHSEED".into(), "0".into())],
            ..Bare::new(vec![self.python.path.clone(), "-m".into(), "stepscope._trial".into(), order.into()])
        };
        let began = Instant::now();
        run.once().map_err(Problem::from)?;
        let took = began.elapsed();
        let text = std::fs::read(&result).map_err(|_| {
            Failure::wrong_use("the program left without a word", "it must end as Python programs end")
        })?;
        let result: RunResult = serde_json::from_slice(&text).map_err(|error| {
            Failure::wrong_use(format!("a run left no result ({error})"), "reinstall the Python package")
        })?;
        if self.warmup.is_some() && self.iterations.is_some() && result.iteration_ns.is_none() {
            return Err(Failure::wrong_use(
                format!(
                    "the program ended after {} iterations, before all were timed that count",
                    result.counted
                ),
                "it must do the same in every run; --warmup and --iterations choose fewer",
            ));
        }
        Ok((result, took))
    }

    fn say_fixes(&self, fixes: &[String]) {
        if self.watched && self.runs_planned > 0 {
            let left = self.run_takes * (self.runs_planned + 1).saturating_sub(self.runs) as u32;
            let name = if fixes.is_empty() { "without a fix".to_owned() } else { fixes.join(" + ") };
            let _ = write!(
                std::io::stderr(),
                "\r\u{1b}[Krun {} of {}: {name}; {} left",
                self.runs,
                self.runs_planned,
                units::time((left.as_nanos() as i64).max(0))
            );
        }
    }

    fn clear(&self) {
        if self.watched {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn first_line(text: &str) -> String {
    let errors = text.lines().rev().find(|line| line.contains("Error"));
    errors.or(text.lines().next()).unwrap_or_default().trim().to_owned()
}
