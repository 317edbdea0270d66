//! `stepscope bisect`: finds the commit that made a command slower.
//!
//! The good commit and the one in question have a worktree each and run in turns; after 5, 8, 13 and so on up to `--repeats` pairs it is
//! decided whether the interval of their ratio is clear of the middle between good and bad. The user's own work tree is never touched.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use stepscope_analyse::statistics::{Comparison, Rule, compare};
use stepscope_ground::Problem;
use stepscope_regression::bare::{Bare, BareError};
use stepscope_regression::{Commit, Judgment, Metric, Repository, Turn, bisect, report, turns};

use super::measure::{self, MeasurementBuilder};
use crate::args::Bisect;
use crate::failure::{Failure, Outcome};
use crate::input::remark;

/// After how many pairs it is first tested whether the answer is clear; each later test is after as many as the two before it together.
const FIRST_TESTS: [usize; 2] = [5, 8];
/// How often the whole of one comparison may be wrong; each interim test gets its part.
const MAX_ERROR_RATE: f64 = 0.05;

pub(super) fn run(args: &Bisect, out: &mut dyn Write, outcome: &mut Outcome) -> Result<(), Failure> {
    let repository = Repository::around(&measure::here()?)?;
    let find = |revision: &str| {
        repository.commit(revision).ok_or_else(|| {
            Failure::wrong_use(
                format!("git cannot find this commit: {revision}"),
                "give a commit, a tag or a branch",
            )
        })
    };
    let (good, bad) = (find(&args.good)?, find(&args.bad)?);
    let commits = repository.between(&good, &bad)?;
    if commits.is_empty() {
        return Err(Failure::wrong_use(
            format!("{} is not before {}", good.short(), bad.short()),
            "give the older commit as --good and the newer one as --bad",
        ));
    }
    let metric = args.metric.as_deref().map(measure::metric).transpose()?;
    let mut search = Search {
        bare: measure::bare(&args.command, &args.timing)?,
        good: Tree::new(&repository, "good")?,
        other: Tree::new(&repository, "other")?,
        prepare: args.prepare.clone(),
        metric,
        test_points: test_points(args.timing.repeats as usize),
    };
    if let Err(why) = search.good.check_out(&good).and_then(|()| search.prepared(&search.good.folder)) {
        return Err(Failure::wrong_use(
            format!("the good commit {} cannot be run: {}", good.short(), why.what),
            why.hint,
        ));
    }
    remark(&format!("{} commits between {} and {}", commits.len(), good.short(), bad.short()));
    let Some(whole) = search.whole(&bad)? else {
        writeln!(out, "{} is not slower than {}: there is nothing to find", bad.short(), good.short())?;
        *outcome = Outcome::No;
        return Ok(());
    };
    let middle = whole.ratio.unwrap_or(1.0).sqrt();
    let found = bisect(commits.len(), |at| search.judge(&commits[at], middle))?;
    let change = whole.ratio.map_or(String::new(), report::percent);
    if found.suspects.start() == found.suspects.end() {
        let commit = &commits[*found.suspects.end()];
        writeln!(out, "{change} at {} {}", commit.short(), commit.subject)?;
    } else {
        writeln!(out, "{change} at one of these commits, which could not be separated:")?;
        for commit in &commits[found.suspects] {
            writeln!(out, "  {} {}", commit.short(), commit.subject)?;
        }
    }
    Ok(())
}

/// A worktree that is removed when it is no longer needed.
struct Tree {
    repository: Repository,
    folder: PathBuf,
}

impl Tree {
    fn new(repository: &Repository, name: &str) -> Result<Tree, Problem> {
        let folder = std::env::temp_dir().join(format!("stepscope-bisect-{}-{name}", std::process::id()));
        repository.add_worktree(&folder)?;
        Ok(Tree { repository: repository.clone(), folder })
    }

    fn check_out(&self, commit: &Commit) -> Result<(), Problem> {
        Repository::at(&self.folder).check_out(commit)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.repository.remove_worktree(&self.folder);
    }
}

struct Search {
    bare: Bare,
    good: Tree,
    other: Tree,
    prepare: Option<String>,
    metric: Option<Metric>,
    /// After how many pairs it is looked whether the answer is clear.
    test_points: Vec<usize>,
}

/// When to test, the last time after all pairs that may run. Few tests cost few errors: each has its share of them.
fn test_points(most: usize) -> Vec<usize> {
    let [mut next, mut after] = FIRST_TESTS;
    let mut test_points = Vec::new();
    while next < most {
        test_points.push(next);
        (next, after) = (after, next + after);
    }
    test_points.push(most);
    test_points
}

impl Search {
    /// How much slower the bad commit is than the good one; `None` if it is not.
    fn whole(&mut self, bad: &Commit) -> Result<Option<Comparison>, Failure> {
        self.other.check_out(bad)?;
        if let Err(why) = self.prepared(&self.other.folder) {
            return Err(Failure::wrong_use(
                format!("the bad commit {} cannot be run: {}", bad.short(), why.what),
                why.hint,
            ));
        }
        let found = self.compare(&mut |found| found.low.is_some_and(|low| low > 1.0))?;
        Ok(found.filter(|found| found.low.is_some_and(|low| low > 1.0)))
    }

    fn judge(&mut self, commit: &Commit, middle: f64) -> Result<Judgment, Failure> {
        self.other.check_out(commit)?;
        if let Err(why) = self.prepared(&self.other.folder) {
            remark(&format!("skipped {}: {}", commit.short(), why.what.lines().next().unwrap_or_default()));
            return Ok(Judgment::Skip);
        }
        let clear = |found: &Comparison| {
            found.low.is_some_and(|low| low > middle) || found.high.is_some_and(|high| high < middle)
        };
        let Some(found) = self.compare(&mut |found| clear(found))? else {
            remark(&format!("skipped {}: the command fails there", commit.short()));
            return Ok(Judgment::Skip);
        };
        let change = found.ratio.map_or(String::new(), report::percent);
        let judgment = match found.low.is_some_and(|low| low > middle) {
            true => Judgment::Bad,
            false if clear(&found) => Judgment::Good,
            false => Judgment::Skip,
        };
        let words = match judgment {
            Judgment::Good => "good",
            Judgment::Bad => "bad",
            Judgment::Skip => "too noisy to decide",
        };
        remark(&format!(
            "{} {}: {words} ({change}, {} runs)",
            commit.short(),
            commit.subject,
            found.n.current_repeats
        ));
        Ok(judgment)
    }

    /// Runs both in turns until `clear` says so, or to the last test. `None`: the command fails in the other commit.
    fn compare(&mut self, clear: &mut dyn FnMut(&Comparison) -> bool) -> Result<Option<Comparison>, Failure> {
        let at = |folder: &Path| Bare { folder: Some(folder.to_owned()), ..self.bare.clone() };
        let (before, now) = (at(&self.good.folder), at(&self.other.folder));
        let (mut a, mut b) = (MeasurementBuilder::new(&before)?, MeasurementBuilder::new(&now)?);
        let rule = Rule {
            margin: 0.0,
            confidence: 1.0 - MAX_ERROR_RATE / self.test_points.len() as f64,
            in_turns: true,
            ..Rule::default()
        };
        let most = self.test_points.last().copied().unwrap_or(1);
        for turn in turns(most) {
            match turn {
                Turn::Baseline => a.add(before.once().map_err(Problem::from)?)?,
                Turn::Current => match now.once() {
                    Ok(timed) => b.add(timed)?,
                    Err(BareError::Start(error)) => return Err(error.into()),
                    Err(BareError::Failed(_) | BareError::TimedOut(_)) => return Ok(None),
                },
            }
            let pairs = a.so_far().repeats.len();
            if pairs != b.so_far().repeats.len() || !self.test_points.contains(&pairs) {
                continue;
            }
            let metric = match &self.metric {
                Some(metric) => metric.clone(),
                None => measure::metric(b.so_far().usual_metric())?,
            };
            if let Some(lacks) = [a.so_far(), b.so_far()].into_iter().find(|m| !m.has(&metric.key)) {
                return Err(Failure::wrong_use(
                    format!("the command has no {metric}"),
                    format!("it has {}", lacks.keys().join(", ")),
                ));
            }
            let rule = Rule { statistic: metric.statistic, counted: metric.counted, ..rule };
            let found = compare(&a.so_far().sample(&metric), &b.so_far().sample(&metric), &rule);
            if clear(&found) || pairs == most {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Runs the command that builds a commit.
    fn prepared(&self, folder: &Path) -> Result<(), Problem> {
        let Some(line) = &self.prepare else { return Ok(()) };
        let output = Command::new("sh").args(["-c", line]).current_dir(folder).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                let last = text.lines().last().unwrap_or("no message").to_owned();
                Err(Problem::new(format!("`{line}` failed: {last}"), "run it by hand in that commit"))
            }
            Err(error) => Err(Problem::new(format!("cannot start `{line}`: {error}"), "is there a shell?")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_points;

    #[test]
    fn the_last_look_is_after_all_repeats() {
        assert_eq!(test_points(20), [5, 8, 13, 20]);
        assert_eq!(test_points(21), [5, 8, 13, 21]);
        assert_eq!(test_points(100), [5, 8, 13, 21, 34, 55, 89, 100]);
        assert_eq!(test_points(5), [5]);
        assert_eq!(test_points(1), [1]);
    }
}
