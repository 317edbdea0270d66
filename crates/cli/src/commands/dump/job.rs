//! Where the processes of a job are, together.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::names::waiting::{WaitKind, Waits};
use stepscope_analyse::threads::same_place::{
    OutlierRanks, SampledProcess, SharedPlace, outlier_ranks, shared_places,
};
use stepscope_ask::print::{Cell, Column, Columns, Role, Screen, Table, wrap};

use super::super::source_paths::below_packages;
use super::process::ProcessDump;

/// All processes that were dumped, by where their main threads are.
pub(super) struct Job<'a> {
    dumped: &'a [ProcessDump],
    seen: Vec<SampledProcess<'a>>,
    groups: Vec<SharedPlace<'a>>,
}

/// Where the processes of a job are.
pub(super) struct Standing {
    pub(super) groups: Vec<Group>,
    /// Who keeps the others waiting, a sentence for each job.
    pub(super) odd_one_out: Vec<String>,
}

/// Processes whose main threads are at the same place.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Group {
    function: String,
    file: String,
    line: u32,
    called_from: Option<String>,
    waits_for: Option<Waits>,
    pids: Vec<u32>,
    ranks: Vec<u32>,
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
        Job { dumped, seen, groups }
    }

    pub(super) fn standing(&self) -> Standing {
        let groups: Vec<Group> = self.groups.iter().map(|group| self.group(group)).collect();
        let odd = outlier_ranks(&self.groups, &self.seen);
        Standing { odd_one_out: odd.iter().map(|odd| odd_words(&groups, odd)).collect(), groups }
    }

    fn group(&self, group: &SharedPlace<'_>) -> Group {
        let members = || group.members.iter().filter_map(|member| self.dumped.get(*member));
        // A file's name as the first of the processes there sees it.
        let short = |file: &str| members().next().map_or(file, |one| one.paths.short(file)).to_owned();
        let mut ranks: Vec<u32> = members().filter_map(|one| one.rank).collect();
        ranks.sort_unstable();
        Group {
            function: group.at.function.to_owned(),
            file: short(group.at.file),
            line: group.at.line,
            called_from: group
                .called_from
                .map(|from| format!("{} ({}:{})", from.function, short(from.file), from.line)),
            waits_for: group.waits_for.cloned(),
            pids: members().map(|one| one.pid).collect(),
            ranks,
        }
    }
}

fn odd_words(groups: &[Group], odd: &OutlierRanks) -> String {
    let (most, many) = &odd.most;
    let most = &groups[*most];
    let waits = most.waits_for.as_ref().filter(|waits| waits.kind == WaitKind::Collective);
    let most = match waits {
        Some(waits) => format!("{} wait {}", in_words(many), waits.words),
        None => format!("{} are in {}", in_words(many), most.function),
    };
    let others: Vec<String> = odd
        .elsewhere
        .iter()
        .map(|(number, ranks)| {
            let is = if ranks.len() == 1 { "is" } else { "are" };
            format!("{} {is} in {}", in_words(ranks), groups[*number].place())
        })
        .collect();
    format!("{most}, but {}", others.join("; "))
}

impl Group {
    /// `load (data.py:7)`.
    fn place(&self) -> String {
        format!("{} ({}:{})", self.function, below_packages(&self.file), self.line)
    }

    /// Who, in words: `3 ranks (0, 1, 3)`, `rank 2`, `process 77`.
    fn who(&self) -> String {
        match self.pids.as_slice() {
            pids if self.ranks.len() == pids.len() => in_words(&self.ranks),
            [one] => format!("process {one}"),
            many => format!("{} processes ({})", many.len(), listed(many)),
        }
    }
}

pub(super) fn table(groups: &[Group]) -> Table {
    Columns::of(groups)
        .add(Column::text("Who"), |group| Cell::text(group.who()))
        .add(Column::name("Where"), |group| Cell::text(group.place()))
        .add(Column::name("Called from"), |group| Cell::maybe(group.called_from.as_ref(), Cell::text))
        .add(Column::text("Waits"), |group| {
            Cell::maybe(group.waits_for.as_ref(), |waits| Cell::text(&waits.words))
        })
        .table()
}

impl Standing {
    pub(super) fn write(&self, processes: usize, screen: &Screen, out: &mut dyn Write) -> io::Result<()> {
        let processes = match processes {
            1 => "1 Python process".to_owned(),
            all => format!("{all} Python processes"),
        };
        writeln!(out, "{}", screen.paint(Role::Heading, &processes))?;
        let room = screen.width.saturating_sub(4).max(20);
        for line in self.odd_one_out.iter().flat_map(|odd| wrap(odd, room)) {
            writeln!(out, "  {}", screen.paint(Role::Warn, &screen.text(&line)))?;
        }
        for group in &self.groups {
            let from =
                group.called_from.as_ref().map(|from| format!(", called from {from}")).unwrap_or_default();
            let verb = if group.pids.len() == 1 { "waits" } else { "all wait" };
            let waits =
                group.waits_for.as_ref().map(|waits| format!(", {verb} {}", waits.words)).unwrap_or_default();
            let text = format!("{} in {}{from}{waits}", group.who(), group.place());
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
