//! Where the processes of a job are, together, in words and as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_analyse::names::waiting::WaitKind;
use stepscope_analyse::threads::standing::{OddOnes, Seen, Standing, odd_ones, standings};
use stepscope_ask::print::{Role, Screen, wrap};

use super::dumped::Dumped;
use super::place::below_packages;

/// All processes that were dumped, by where their main threads are.
pub(super) struct Standings<'a> {
    dumped: &'a [Dumped],
    groups: Vec<Standing<'a>>,
    /// Who keeps the others waiting, a sentence for each job.
    odd: Vec<String>,
}

impl<'a> Standings<'a> {
    pub(super) fn of(dumped: &'a [Dumped]) -> Standings<'a> {
        let seen: Vec<Seen<'a>> = dumped
            .iter()
            .map(|one| {
                let main = one.threads.iter().find(|thread| !thread.frames.is_empty());
                Seen {
                    rank: one.process.rank,
                    parent: one.process.parent,
                    frames: main.map(|thread| thread.stack()).unwrap_or_default(),
                    waits_for: main.and_then(|thread| thread.waits_for.as_ref()),
                }
            })
            .collect();
        let groups = standings(&seen);
        let odd = odd_ones(&groups, &seen);
        let mut all = Standings { dumped, groups, odd: Vec::new() };
        all.odd = odd.iter().map(|odd| all.odd_words(odd)).collect();
        all
    }

    pub(super) fn json(&self) -> (Value, Value) {
        let one = |group: &Standing<'_>| {
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
    fn short<'f>(&self, group: &Standing<'_>, file: &'f str) -> &'f str {
        let first = group.members.first().and_then(|member| self.dumped.get(*member));
        first.map_or(file, |one| one.paths.short(file))
    }

    fn called_from(&self, group: &Standing<'_>) -> Option<String> {
        let from = group.called_from?;
        Some(format!("{} ({}:{})", from.function, self.short(group, from.file), from.line))
    }

    fn pids(&self, group: &Standing<'_>) -> Vec<u32> {
        group.members.iter().filter_map(|member| Some(self.dumped.get(*member)?.process.pid)).collect()
    }

    fn ranks(&self, group: &Standing<'_>) -> Vec<u32> {
        let mut ranks: Vec<u32> =
            group.members.iter().filter_map(|member| self.dumped.get(*member)?.process.rank).collect();
        ranks.sort_unstable();
        ranks
    }

    fn odd_words(&self, odd: &OddOnes) -> String {
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
    fn place(&self, group: &Standing<'_>) -> String {
        let file = below_packages(self.short(group, group.at.file));
        format!("{} ({file}:{})", group.at.function, group.at.line)
    }

    /// Who, in words: `3 ranks (0, 1, 3)`, `rank 2`, `process 77`.
    fn who(&self, group: &Standing<'_>) -> String {
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
