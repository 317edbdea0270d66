//! What the registry knows about a question.

use std::sync::Arc;

use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;

use crate::answer::Answer;
use crate::ask::Ask;
use crate::refusal::Refusal;

/// One question. Everything about it is here: the command line, the server, the report and Python read this and need no
/// list of their own.
pub struct Question {
    /// Its name: the command, the last part of the URL, the method.
    pub name: &'static str,
    /// Another name for it.
    pub alias: Option<&'static str>,
    /// What it answers, in one or two sentences.
    pub about: &'static str,
    /// Command lines to try, with `TRACE` for the file; what follows two spaces is a remark.
    pub examples: &'static [&'static str],
    /// Which questions it stands beside in the help.
    pub group: Group,
    /// What its rows can be grouped by; the first is the default. Empty if they cannot.
    pub by: &'static [&'static str],
    /// The options it takes, by name, besides `by`.
    pub options: &'static [&'static str],
    /// Whether a one-file report holds its answers.
    pub in_report: bool,
    /// What its numbers mean.
    pub definitions: &'static [&'static [Definition]],
    /// Works it out. There is at least one run.
    pub answer: fn(&Ask, &[Arc<Run>]) -> Result<Answer, Refusal>,
}

/// Groups of questions, in the order of the help.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// What to change.
    Change,
    /// Where the time goes.
    Time,
    /// Why the device waits.
    Waiting,
    /// How well the device is used.
    Device,
    /// What is in the file.
    Trace,
}

impl Group {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Change => "What to change",
            Group::Time => "Where the time goes",
            Group::Waiting => "Why the device waits",
            Group::Device => "How well the device is used",
            Group::Trace => "The trace itself",
        }
    }
}

impl Question {
    /// Whether it takes an option.
    pub fn takes(&self, option: &str) -> bool {
        match option {
            "by" => !self.by.is_empty(),
            option => self.options.contains(&option),
        }
    }

    /// All definitions, each field once. Where several lists define a field, the first counts: a question that shows
    /// numbers of one name from several analyses defines it in a list of its own, ahead of theirs.
    pub fn all_definitions(&self) -> Vec<Definition> {
        let mut all: Vec<Definition> = Vec::new();
        for definition in self.definitions.iter().copied().flatten() {
            if all.iter().all(|known| known.field != definition.field) {
                all.push(*definition);
            }
        }
        all
    }

    /// Every way in which a whole run can be asked: as it is, then grouped by each word but the default.
    pub fn variants(&self) -> impl Iterator<Item = Option<&'static str>> {
        std::iter::once(None).chain(self.by.iter().copied().map(Some))
    }
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
