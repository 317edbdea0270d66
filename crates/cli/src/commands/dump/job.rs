//! Where the processes of a job are, together, in words and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::names::waiting::WaitKind;
use stepscope_analyse::threads::same_place::{
    OutlierRanks, SampledProcess, SharedPlace, outlier_ranks, shared_places,
};
use stepscope_ask::print::{Role, Screen, wrap};

use super::super::source_paths::below_packages;
use super::process::ProcessDump;

/// All processes that were dumped, by where their main threads are.
pub(super) struct Job<'a> {
    dumped: &'a [ProcessDump],
    groups: Vec<SharedPlace<'a>>,
    /// Who keeps the others waiting, a sentence for each job.
    odd: Vec<String>,
}

impl<'a> Job<'a> {
    pub(super) fn new(dumped: &'a [ProcessDump]) -> Job<'a> {
        let seen: Vec<SampledProcess<'a>> = dumped
            .iter()
            .map(|one| {
                let main = one.threads.iter().find(|thread| !thread.frames.is_empty());
                SampledProcess {
                    rank: one.rank,
                    parent: one.parent,
                    frames: main.map(|thread| thread.stack()).unwrap_or_default(),
                    waits_for: main.and_then(|thread| thread.waits_for.as_ref()),
                }
            })
            .collect();
        let groups = shared_places(&seen);
        let odd = outlier_ranks(&groups, &seen);
        let mut all = Job { dumped, groups, odd: Vec::new() };
        all.odd = odd.iter().map(|odd| all.odd_words(odd)).collect();
        all
    }

    pub(super) fn json(&self) -> (Value, Value) {
        let one = |group: &SharedPlace<'_>| {
            json!({
                "function": group.at.function,
                "file": self.short(group, group.at.file),
                "line": group.at.line,
                "called_from": self.called_from(group),
                "waits_for": group.waits_for,
                "pids": self.pids(group),
                "ranks": self.ranks(group),
            })
        };
        (self.groups.iter().map(one).collect(), json!(self.odd))
    }

    /// A file's name as the first of the processes there sees it.
    fn short<'f>(&self, group: &SharedPlace<'_>, file: &'f str) -> &'f str {
        let first = group.members.first().and_then(|member| self.dumped.get(*member));
        first.map_or(file, |one| one.paths.short(file))
    }

    fn called_from(&self, group: &SharedPlace<'_>) -> Option<String> {
        let from = group.called_from?;
        Some(format!("{} ({}:{})", from.function, self.short(group, from.file), from.line))
    }

    fn pids(&self, group: &SharedPlace<'_>) -> Vec<u32> {
        group.members.iter().filter_map(|member| Some(self.dumped.get(*member)?.pid)).collect()
    }

    fn ranks(&self, group: &SharedPlace<'_>) -> Vec<u32> {
        let mut ranks: Vec<u32> =
            group.members.iter().filter_map(|member| self.dumped.get(*member)?.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    fn odd_words(&self, odd: &OutlierRanks) -> String {
        let (most, many) = &odd.most;
        let most = &self.groups[*most];
        let waits = most.waits_for.filter(|waits| waits.kind == WaitKind::Collective);
        let most = match waits {
            Some(waits) => format!("{} wait {}", in_words(many), waits.words),
            None => format!("{} are in {}", in_words(many), most.at.function),
        };
        let others: Vec<String> = odd
            .elsewhere
            .iter()
            .map(|(number, ranks)| {
                let is = if ranks.len() == 1 { "is" } else { "are" };
                format!("{} {is} in {}", in_words(ranks), self.place(&self.groups[*number]))
            })
            .collect();
        format!("{most}, but {}", others.join("; "))
    }

    /// `load (data.py:7)`.
    fn place(&self, group: &SharedPlace<'_>) -> String {
        let file = below_packages(self.short(group, group.at.file));
        format!("{} ({file}:{})", group.at.function, group.at.line)
    }

    /// Who, in words: `3 ranks (0, 1, 3)`, `rank 2`, `process 77`.
    fn who(&self, group: &SharedPlace<'_>) -> String {
        let (ranks, pids) = (self.ranks(group), self.pids(group));
        match pids.as_slice() {
            _ if ranks.len() == group.members.len() => in_words(&ranks),
            [one] => format!("process {one}"),
            many => format!("{} processes ({})", many.len(), listed(many)),
        }
    }

    pub(super) fn write(&self, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
        let processes = match self.dumped.len() {
            1 => "1 Python process".to_owned(),
            all => format!("{all} Python processes"),
        };
        writeln!(out, "{}", screen.paint(Role::Heading, &processes))?;
        let room = screen.width.saturating_sub(4).max(20);
        for line in self.odd.iter().flat_map(|odd| wrap(odd, room)) {
            writeln!(out, "  {}", screen.paint(Role::Warn, &screen.text(&line)))?;
        }
        for group in &self.groups {
            let from = self.called_from(group).map(|from| format!(", called from {from}")).unwrap_or_default();
            let verb = if group.members.len() == 1 { "waits" } else { "all wait" };
            let waits = group.waits_for.map(|waits| format!(", {verb} {}", waits.words)).unwrap_or_default();
            let text = format!("{} in {}{from}{waits}", self.who(group), self.place(group));
            for (at, line) in wrap(&text, room).iter().enumerate() {
                writeln!(out, "{}{}", if at == 0 { "  " } else { "    " }, screen.text(line))?;
            }
        }
        writeln!(out)
    }
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// `rank 2`, `3 ranks (0, 1, 3)`.
fn in_words(ranks: &[u32]) -> String {
    match ranks {
        [one] => format!("rank {one}"),
        many => format!("{} ranks ({})", many.len(), listed(many)),
    }
}
