//! Which fixes are tried: those that findings name, largest promise first.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stepscope_analyse::findings::{Estimate, Finding, RULES, findings};
use stepscope_analyse::names::nearest::nearest;
use stepscope_regression::trial::{Candidate, Fix};

use super::python::Python;
use super::{stem, words};
use crate::args::Try;
use crate::config;
use crate::failure::Failure;
use crate::input::{Place, choose, remark};

pub(super) struct Candidates {
    pub(super) fixes: Vec<Candidate>,
    /// The trace whose findings these are.
    pub(super) trace: Option<PathBuf>,
    /// Titles of findings that no fix can be put in for.
    by_hand: usize,
}

impl Candidates {
    pub(super) fn find(args: &Try, python: &Python, known: &[Fix]) -> Result<Candidates, Failure> {
        let only = named(args, known)?;
        let trace = match &args.trace {
            Some(path) => Some(path.clone()),
            None => match newest(args) {
                Some(path) => {
                    remark(&format!("findings of {}", path.display()));
                    Some(path)
                }
                None if only.is_empty() => Some(record(args, python)?),
                None => None,
            },
        };
        let found = match &trace {
            Some(path) => {
                let run = choose(&Place { path: Some(path), rank: None, max_text_bytes: None }, None)?;
                findings(&run, config::configured_thresholds(None)?.as_ref())
            }
            None => Vec::new(),
        };
        let by_hand = found.iter().filter(|finding| trials(finding).is_empty()).count();
        let mut fixes: Vec<Candidate> = Vec::new();
        for (finding, name) in found.iter().flat_map(|each| trials(each).iter().map(move |name| (each, *name)))
        {
            let known = known.iter().find(|fix| fix.name == name);
            let Some(fix) = known.filter(|_| fixes.iter().all(|other| other.fix.name != name)) else {
                continue;
            };
            fixes.push(Candidate {
                fix: fix.clone(),
                rule: Some(finding.rule),
                promised: finding.saves_unprofiled_share.or(finding.saves_share),
                at_most: finding.estimate == Estimate::UpperBound,
            });
        }
        let own = known.iter().filter(|fix| fix.own && only.is_empty());
        fixes.extend(own.map(Candidate::unasked));
        if !only.is_empty() {
            let others = only.iter().filter(|fix| fixes.iter().all(|each| each.fix.name != fix.name));
            let others: Vec<Candidate> = others.map(|fix| Candidate::unasked(fix)).collect();
            fixes.extend(others);
            fixes.retain(|each| only.iter().any(|fix| fix.name == each.fix.name));
        }
        Ok(Candidates { fixes, trace, by_hand })
    }

    /// Why there is nothing to try.
    pub(super) fn why_none(&self) -> &'static str {
        if self.by_hand > 0 {
            "no finding names a change that can be put in from outside; `stepscope findings` shows them as code"
        } else {
            "nothing was found to try; --only all tries every fix"
        }
    }
}

fn trials(finding: &Finding) -> &'static [&'static str] {
    RULES.iter().find(|rule| rule.name == finding.rule).map_or(&[], |rule| rule.trials)
}

/// The fixes asked for.
fn named<'a>(args: &Try, known: &'a [Fix]) -> Result<Vec<&'a Fix>, Failure> {
    if args.only.iter().any(|name| name == "all") {
        return Ok(known.iter().collect());
    }
    let find = |name: &String| {
        known.iter().find(|fix| fix.name == *name).ok_or_else(|| {
            let hint = match nearest(name, known.iter().map(|fix| fix.name.as_str()), 1).first() {
                Some(near) => format!("did you mean {near}? `stepscope try --list` lists them"),
                None => "`stepscope try --list` lists them".to_owned(),
            };
            Failure::wrong_use(format!("no such fix: {name}"), hint)
        })
    };
    args.only.iter().map(find).collect()
}

/// The newest trace of these words that was recorded after the program was last changed.
fn newest(args: &Try) -> Option<PathBuf> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|info| info.modified()).ok();
    let program = if args.module { None } else { changed(Path::new(&args.program[0])) };
    let begins = format!("{}-", stem(args));
    let mut files: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(&args.output)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(&begins) && name.contains(".pt.trace.json") && !name.contains("-rank")
        })
        .filter_map(|entry| Some((changed(&entry.path())?, entry.path())))
        .filter(|(at, _)| program.is_none_or(|program| *at > program))
        .collect();
    files.sort();
    let words = serde_json::to_string(&words(args)).ok()?;
    files.into_iter().rev().map(|(_, path)| path).find(|path| {
        let run = choose(&Place { path: Some(path), rank: None, max_text_bytes: None }, None);
        run.is_ok_and(|run| run.trace().meta().extra("stepscope_program") == Some(words.as_str()))
    })
}

/// Records one: as many iterations as `stepscope run` takes, and then the program ends.
fn record(args: &Try, python: &Python) -> Result<PathBuf, Failure> {
    remark("recording some iterations first, to find out what to try");
    let before = SystemTime::now();
    python.record(args, &words(args))?;
    let files = std::fs::read_dir(&args.output).into_iter().flatten().flatten().filter_map(|entry| {
        let at = entry.metadata().and_then(|info| info.modified()).ok()?;
        (entry.file_name().to_string_lossy().contains(".pt.trace.json") && at >= before)
            .then(|| (at, entry.path()))
    });
    files.max().map(|(_, path)| path).ok_or_else(|| {
        Failure::wrong_use(
            "no trace was recorded",
            "see what `stepscope run` says, or name what to try with --only",
        )
    })
}
