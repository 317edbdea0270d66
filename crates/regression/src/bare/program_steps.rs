//! What the Python package left behind about the steps of a program.
//!
//! One file per process, `steps-PID`: the first line says which rank it is (`rank 0`, or `rank -` if it is none), a line
//! `profiled` that it recorded a profile, `found optimizer steps` that the program marked no steps and what was taken for
//! them, every other line is a moment in nanoseconds at which a step ended, and after a blank the
//! number of its samples where the program says that.

use std::fs;
use std::path::Path;

/// More than this is not a file of ours.
const MAX_FILE: u64 = 64 << 20;

/// The steps of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProgramSteps {
    rank: Option<i64>,
    ends_ns: Vec<i64>,
    /// Of each of those steps, where the program said.
    samples: Vec<Option<f64>>,
    pub(super) profiled: bool,
    /// What was taken for steps, where the program marked none.
    pub(super) found_by: Option<String>,
}

impl ProgramSteps {
    fn parse(text: &str) -> ProgramSteps {
        let mut found = ProgramSteps::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("rank", rank)) => found.rank = rank.parse().ok(),
                Some(("found", kind)) => found.found_by = Some(kind.to_owned()),
                None if line == "profiled" => found.profiled = true,
                parts => {
                    let (moment, samples) = parts.unwrap_or((line, ""));
                    let Ok(moment) = moment.parse::<i64>() else { continue };
                    found.ends_ns.push(moment);
                    let samples = samples.parse::<f64>().ok();
                    found.samples.push(samples.filter(|number| number.is_finite() && *number >= 0.0));
                }
            }
        }
        found
    }

    /// The lengths of its steps without the first ones. The first has no beginning, so it never counts.
    pub(super) fn steps(&self, warmup: usize) -> Vec<f64> {
        let lengths = self.ends_ns.windows(2).map(|pair| (pair[1].saturating_sub(pair[0])) as f64);
        lengths.skip(warmup.saturating_sub(1)).filter(|ns| *ns > 0.0).collect()
    }

    /// Samples per second of those steps; unknown unless each says how many it has.
    pub(super) fn samples_per_s(&self, warmup: usize) -> Option<f64> {
        let first = warmup.saturating_sub(1) + 1;
        let (samples, ends) = (self.samples.get(first..)?, self.ends_ns.get(first - 1..)?);
        let ns = ends.last()?.checked_sub(*ends.first()?).filter(|ns| *ns > 0)?;
        let total = samples.iter().copied().sum::<Option<f64>>()?;
        Some(total / (ns as f64 / 1e9))
    }
}

/// The steps of the process with the lowest rank; among those without, of the one with most steps.
pub(super) fn read(folder: &Path) -> Option<ProgramSteps> {
    let mut files: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let small = |path: &std::path::PathBuf| fs::metadata(path).is_ok_and(|info| info.len() <= MAX_FILE);
    let texts = files.into_iter().filter(small).filter_map(|path| fs::read_to_string(path).ok());
    let all = texts.map(|text| ProgramSteps::parse(&text)).filter(|found| found.ends_ns.len() > 1);
    all.min_by_key(|found| (found.rank.unwrap_or(i64::MAX), std::cmp::Reverse(found.ends_ns.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_between_their_ends() {
        let found = ProgramSteps::parse("rank 0\n100\n250\nprofiled\n450\n\nnonsense\n500\n");
        let ends_ns = vec![100, 250, 450, 500];
        assert_eq!(
            found,
            ProgramSteps { rank: Some(0), ends_ns, samples: vec![None; 4], profiled: true, found_by: None }
        );
        assert_eq!(found.samples_per_s(2), None, "nobody said");
        assert_eq!(found.steps(0), [150.0, 200.0, 50.0]);
        assert_eq!(found.steps(1), [150.0, 200.0, 50.0]);
        assert_eq!(found.steps(2), [200.0, 50.0]);
        assert!(ProgramSteps::parse("rank -\n7\n").steps(0).is_empty());
    }

    #[test]
    fn samples_are_those_of_the_steps_that_count() {
        let found = ProgramSteps::parse("rank 0\n0 8\n1000000000 8\n3000000000 64\n4000000000 32\n");
        assert_eq!(found.steps(2), [2e9, 1e9]);
        assert_eq!(found.samples_per_s(2), Some(96.0 / 3.0));
        assert_eq!(found.samples_per_s(0), Some(104.0 / 4.0));
        assert_eq!(found.samples_per_s(9), None);
        // One that does not say, and one that says nonsense.
        for line in ["3000000000", "3000000000 many", "3000000000 -4", "3000000000 NaN"] {
            let found = ProgramSteps::parse(&format!("rank 0\n0 8\n1000000000 8\n{line}\n4000000000 8\n"));
            assert_eq!(found.steps(0).len(), 3, "{line}");
            assert_eq!(found.samples_per_s(0), None, "{line}");
        }
    }

    #[test]
    fn the_lowest_rank_speaks_for_all() {
        let folder = std::env::temp_dir().join(format!("stepscope-steps-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("steps-1"), "rank -\n1\n2\n3\n4\n").unwrap();
        fs::write(folder.join("steps-2"), "rank 3\n1\n3\n").unwrap();
        fs::write(folder.join("steps-3"), "rank 1\n1\n11\n").unwrap();
        fs::write(folder.join("steps-4"), "rank 0\n").unwrap();
        assert_eq!(read(&folder).unwrap().steps(0), [10.0]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read(&folder), None);
    }
}
