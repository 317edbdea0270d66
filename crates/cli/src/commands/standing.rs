//! Where the processes of a job stand, together: which ranks are at the same place, and which is elsewhere.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::names::library_file::is_library_file;
use stepscope_ask::print::{Role, Screen, wrap};

use super::dumped::Dumped;
use super::dumped_frame::DumpedFrame;
use super::place::below_packages;
use super::waiting::{Kind, Waits};

/// Functions that only pass a call on; the one that they were called for says more.
const PASS_ON: [&str; 8] =
    ["wrapper", "inner", "wrapped", "_fn", "decorate_context", "__call__", "_call_impl", "_wrapped_call_impl"];

/// Processes at one place.
#[derive(Debug)]
pub(super) struct Standing {
    /// The function they are in.
    function: String,
    file: String,
    line: u32,
    /// The innermost function of the user's own code, where that is another.
    called_from: Option<String>,
    /// What they wait for, where all of them wait for the same.
    waits_for: Option<Waits>,
    members: Vec<usize>,
    ranks: Vec<u32>,
    pids: Vec<u32>,
}

/// Groups processes by where their main threads stand, the largest group first.
pub(super) fn standings(dumped: &[Dumped]) -> Vec<Standing> {
    let mut groups: BTreeMap<(String, String, Option<String>), Standing> = BTreeMap::new();
    for (at, one) in dumped.iter().enumerate() {
        let Some(thread) = one.threads.iter().find(|thread| !thread.frames.is_empty()) else { continue };
        let Some(frame) = telling(&thread.frames) else { continue };
        let own = thread.frames.iter().find(|frame| !frame.native && !is_library_file(&frame.file));
        let called_from = own
            .filter(|own| own.function != frame.function)
            .map(|own| format!("{} ({}:{})", own.function, one.paths.short(&own.file), own.line));
        let key = (frame.function.clone(), frame.file.clone(), called_from.clone());
        let group = groups.entry(key).or_insert_with(|| Standing {
            function: frame.function.clone(),
            file: one.paths.short(&frame.file).to_owned(),
            line: frame.line,
            called_from,
            waits_for: thread.waits_for.clone(),
            members: Vec::new(),
            ranks: Vec::new(),
            pids: Vec::new(),
        });
        if group.waits_for != thread.waits_for {
            group.waits_for = None;
        }
        group.members.push(at);
        group.ranks.extend(one.process.rank);
        group.pids.push(one.process.pid);
    }
    let mut groups: Vec<Standing> = groups.into_values().collect();
    for group in &mut groups {
        group.ranks.sort_unstable();
    }
    groups.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then_with(|| a.pids.cmp(&b.pids)));
    groups
}

/// Who keeps the others waiting, a sentence for each job: most of its ranks are at one place, and some are not.
pub(super) fn odd_ones(groups: &[Standing], dumped: &[Dumped]) -> Vec<String> {
    // The ranks of a job on one machine have one parent.
    let parent = |at: &usize| dumped.get(*at).map_or(0, |one| one.process.parent);
    let mut jobs: Vec<u32> = groups.iter().flat_map(|group| &group.members).map(parent).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let ranks = |group: &Standing, job: u32| -> Vec<u32> {
        let members = group.members.iter().filter(|at| parent(at) == job);
        let mut ranks: Vec<u32> = members.filter_map(|at| dumped.get(*at)?.process.rank).collect();
        ranks.sort_unstable();
        ranks
    };
    jobs.into_iter().filter_map(|job| odd_one(groups, &|group| ranks(group, job))).collect()
}

fn odd_one(groups: &[Standing], ranks: &dyn Fn(&Standing) -> Vec<u32>) -> Option<String> {
    let mut placed: Vec<(&Standing, Vec<u32>)> = groups.iter().map(|group| (group, ranks(group))).collect();
    placed.retain(|(_, ranks)| !ranks.is_empty());
    placed.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    let ((most, many), others) = placed.split_first()?;
    let elsewhere: usize = others.iter().map(|(_, ranks)| ranks.len()).sum();
    if elsewhere == 0 || elsewhere >= many.len() {
        return None;
    }
    let waits = most.waits_for.as_ref().filter(|waits| waits.kind == Kind::Collective);
    let most = match waits {
        Some(waits) => format!("{} wait {}", in_words(many), waits.words),
        None => format!("{} are in {}", in_words(many), most.function),
    };
    let others: Vec<String> = others
        .iter()
        .map(|(group, ranks)| {
            let is = if ranks.len() == 1 { "is" } else { "are" };
            let file = below_packages(&group.file);
            format!("{} {is} in {} ({file}:{})", in_words(ranks), group.function, group.line)
        })
        .collect();
    Some(format!("{most}, but {}", others.join("; ")))
}

/// `rank 2`, `3 ranks (0, 1, 3)`.
fn in_words(ranks: &[u32]) -> String {
    match ranks {
        [one] => format!("rank {one}"),
        many => {
            let listed = many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            format!("{} ranks ({listed})", many.len())
        }
    }
}

/// The frame that says most: the innermost that is neither Python's own library nor only passes a call on.
fn telling(frames: &[DumpedFrame]) -> Option<&DumpedFrame> {
    let of_python = |frame: &DumpedFrame| {
        frame.native
            || frame.file.starts_with('<')
            || (is_library_file(&frame.file) && !frame.file.contains("-packages/"))
    };
    let passes = |frame: &DumpedFrame| {
        let name = frame.function.rsplit('.').next().unwrap_or(&frame.function);
        PASS_ON.contains(&name)
    };
    frames.iter().find(|frame| !of_python(frame) && !passes(frame)).or(frames.first())
}

impl Standing {
    pub(super) fn json(&self) -> Value {
        json!({
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "called_from": self.called_from,
            "waits_for": self.waits_for.as_ref().map(Waits::json),
            "pids": self.pids,
            "ranks": self.ranks,
        })
    }

    /// Who, in words: `3 ranks (0, 1, 3)`, `rank 2`, `process 77`.
    fn who(&self) -> String {
        let listed = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        match (self.ranks.len() == self.members.len(), self.members.len()) {
            (true, _) => in_words(&self.ranks),
            (false, 1) => format!("process {}", self.pids[0]),
            (false, many) => format!("{many} processes ({})", listed(&self.pids)),
        }
    }

    pub(super) fn write(
        groups: &[Standing],
        dumped: &[Dumped],
        screen: &Screen,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let all = dumped.len();
        let processes =
            if all == 1 { "1 Python process".to_owned() } else { format!("{all} Python processes") };
        writeln!(out, "{}", screen.paint(Role::Heading, &processes))?;
        for odd in odd_ones(groups, dumped) {
            for line in wrap(&odd, screen.width.saturating_sub(4).max(20)) {
                writeln!(out, "  {}", screen.paint(Role::Warn, &screen.text(&line)))?;
            }
        }
        for group in groups {
            let from =
                group.called_from.as_ref().map(|from| format!(", called from {from}")).unwrap_or_default();
            let file = below_packages(&group.file);
            let waits = group
                .waits_for
                .as_ref()
                .map(|waits| {
                    format!(", {} {}", if group.members.len() == 1 { "waits" } else { "all wait" }, waits.words)
                })
                .unwrap_or_default();
            let text = format!("{} in {} ({file}:{}){from}{waits}", group.who(), group.function, group.line);
            for (at, line) in wrap(&text, screen.width.saturating_sub(4).max(20)).iter().enumerate() {
                writeln!(out, "{}{}", if at == 0 { "  " } else { "    " }, screen.text(line))?;
            }
        }
        writeln!(out)
    }
}
