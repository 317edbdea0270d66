//! Where the processes of a job are, together: which ranks are at the same place, and which are elsewhere.

use std::collections::BTreeMap;

use super::waiting::StackFrame;
use crate::names::library_file::is_library_file;
use crate::names::waiting::Waits;

/// Functions that only pass a call on; the one that they were called for says more.
const PASS_ON_FUNCTIONS: [&str; 8] =
    ["wrapper", "inner", "wrapped", "_fn", "decorate_context", "__call__", "_call_impl", "_wrapped_call_impl"];

/// A process as it was seen.
#[derive(Clone, Debug)]
pub struct SampledProcess<'a> {
    /// Its rank, if it is one of a job's.
    pub rank: Option<u32>,
    /// Who started it: the ranks of a job on one machine have one parent.
    pub parent: u32,
    /// The frames of its main thread, the innermost first.
    pub frames: Vec<StackFrame<'a>>,
    /// What that thread waits for.
    pub waits_for: Option<&'a Waits>,
}

/// Processes at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPlace<'a> {
    /// The function that they are in.
    pub at: StackFrame<'a>,
    /// The innermost function of the user's own code, where that is another.
    pub called_from: Option<StackFrame<'a>>,
    pub waits_for: Option<&'a Waits>,
    /// Which they are, in the order in which they were given.
    pub members: Vec<usize>,
}

/// Ranks of one job that are not where most of them are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlierRanks {
    /// The place where most are, by its number, and their ranks.
    pub most: (usize, Vec<u32>),
    /// The other places, and the ranks there.
    pub elsewhere: Vec<(usize, Vec<u32>)>,
}

/// Groups processes by where their main threads are, the largest group first.
pub fn shared_places<'a>(processes: &[SampledProcess<'a>]) -> Vec<SharedPlace<'a>> {
    let mut groups: BTreeMap<_, SharedPlace<'a>> = BTreeMap::new();
    for (number, process) in processes.iter().enumerate() {
        let Some(at) = telling(&process.frames) else { continue };
        let own = process.frames.iter().find(|frame| !frame.native && !is_library_file(frame.file));
        let called_from = own.filter(|own| own.function != at.function).copied();
        let key = (at.function, at.file, called_from.map(|from| (from.function, from.file, from.line)));
        let group = groups.entry(key).or_insert_with(|| SharedPlace {
            at,
            called_from,
            waits_for: process.waits_for,
            members: Vec::new(),
        });
        if group.waits_for != process.waits_for {
            group.waits_for = None;
        }
        group.members.push(number);
    }
    let mut groups: Vec<SharedPlace<'_>> = groups.into_values().collect();
    groups.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then_with(|| a.members.cmp(&b.members)));
    groups
}

/// Who keeps the others waiting, job by job: most of its ranks are at one place, and some are not.
pub fn outlier_ranks(groups: &[SharedPlace<'_>], processes: &[SampledProcess<'_>]) -> Vec<OutlierRanks> {
    let mut jobs: Vec<u32> = processes.iter().map(|process| process.parent).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs.into_iter().filter_map(|job| odd_ones_of(groups, processes, job)).collect()
}

fn odd_ones_of(groups: &[SharedPlace<'_>], processes: &[SampledProcess<'_>], job: u32) -> Option<OutlierRanks> {
    let ranks = |group: &SharedPlace<'_>| -> Vec<u32> {
        let members = group.members.iter().filter_map(|member| processes.get(*member));
        let mut ranks: Vec<u32> =
            members.filter(|member| member.parent == job).filter_map(|member| member.rank).collect();
        ranks.sort_unstable();
        ranks
    };
    let mut placed: Vec<(usize, Vec<u32>)> =
        groups.iter().enumerate().map(|(number, group)| (number, ranks(group))).collect();
    placed.retain(|(_, ranks)| !ranks.is_empty());
    placed.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    let (most, elsewhere) = placed.split_first()?;
    let others: usize = elsewhere.iter().map(|(_, ranks)| ranks.len()).sum();
    (others > 0 && others < most.1.len())
        .then(|| OutlierRanks { most: most.clone(), elsewhere: elsewhere.to_vec() })
}

/// The frame that says most: the innermost that is neither Python's own library nor only passes a call on.
fn telling<'a>(frames: &[StackFrame<'a>]) -> Option<StackFrame<'a>> {
    let of_python = |frame: &StackFrame<'_>| {
        frame.native
            || frame.file.starts_with('<')
            || (is_library_file(frame.file) && !frame.file.contains("-packages/"))
    };
    let passes = |frame: &StackFrame<'_>| PASS_ON_FUNCTIONS.contains(&frame.name());
    frames.iter().find(|frame| !of_python(frame) && !passes(frame)).or(frames.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::waiting::WaitKind;

    #[test]
    fn the_rank_that_is_elsewhere_is_found() {
        let frame = |function, file| StackFrame { function, file, line: 7, native: false };
        let in_reduce = [
            frame("all_reduce", "/v/site-packages/torch/distributed/distributed_c10d.py"),
            frame("wrapper", "/v/site-packages/torch/distributed/c10d_logger.py"),
            frame("train", "/home/me/train.py"),
        ];
        let loads = [frame("load", "/home/me/data.py"), frame("train", "/home/me/train.py")];
        let waits = Waits { kind: WaitKind::Collective, words: "in a collective (all_reduce)".to_owned() };
        let seen = |rank, parent, frames: &[StackFrame<'static>], waits_for| SampledProcess {
            rank: Some(rank),
            parent,
            frames: frames.to_vec(),
            waits_for,
        };
        let mut job: Vec<SampledProcess<'_>> =
            [3, 1, 0].iter().map(|rank| seen(*rank, 1, &in_reduce, Some(&waits))).collect();
        job.push(seen(2, 1, &loads, None));
        let groups = shared_places(&job);
        assert_eq!(
            groups.iter().map(|group| (group.at.function, group.members.len())).collect::<Vec<_>>(),
            [("all_reduce", 3), ("load", 1)]
        );
        assert_eq!(groups[0].called_from, Some(in_reduce[2]));
        assert_eq!((groups[0].waits_for, groups[1].waits_for), (Some(&waits), None));
        assert_eq!(groups[1].called_from, None);
        let odd = outlier_ranks(&groups, &job);
        assert_eq!(odd, [OutlierRanks { most: (0, vec![0, 1, 3]), elsewhere: vec![(1, vec![2])] }]);
        // Two jobs: in neither is a rank elsewhere.
        job[3].parent = 2;
        assert_eq!(outlier_ranks(&shared_places(&job), &job), []);
    }
}
