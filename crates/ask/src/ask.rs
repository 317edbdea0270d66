//! What the registry knows about a question, and a question with its options, ready to be answered.

use std::ops::Deref;
use std::sync::Arc;

use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_ground::Problem;
use stepscope_model::{DocumentKind, Domain, Trace};

use crate::answer::Answer;
use crate::form::Form;
use crate::options::{OPTIONS, OptionSpec, OptionValues, RowOptions};

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
    /// The group it is listed under in the help.
    pub group: Group,
    /// What its rows can be grouped by; the first is the default. Empty if they cannot.
    pub by: &'static [&'static str],
    /// The options it takes, by name, besides `by`.
    pub options: &'static [&'static str],
    /// The groupings and flags whose answers a one-file report holds beside the plain one; none if it holds no answer at
    /// all.
    pub report_by: Option<&'static [&'static str]>,
    pub definitions: &'static [&'static [Definition]],
    /// What its answers hold, for each kind of file that it can be asked about.
    pub forms: &'static [Form],
    /// Works it out. There is at least one run.
    pub answer: fn(&Ask, &[Arc<Run>]) -> Result<Answer, Problem>,
    /// How many runs it is about.
    pub takes: Takes,
    /// What findings are to its answer.
    pub findings: Findings,
    /// Whether its answer says what is wrong with the file.
    pub states_damage: bool,
    /// Whether about a folder it has a row for each of the traces there.
    pub lists_folder: bool,
    /// The parts that give it a page in the browser, where one of them has rows. Other pages follow from the trace.
    pub page_parts: &'static [&'static str],
}

/// How many runs a question is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    One,
    /// One or more; the words are the help for those after the first.
    Several(&'static str),
    /// Two sides or more with one or more runs each; the words are the help for those after the first.
    Sides(&'static str),
}

/// What findings are to a question.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Findings {
    /// It has none.
    No,
    /// They are in its answer: the user's thresholds change it.
    Included,
    /// They are its answer: there are rules to list, a severity can fail the command, and code scanning can read it.
    Answer,
}

/// What most questions have in common: each sets the rest.
pub(crate) const USUAL: Question = Question {
    name: "",
    alias: None,
    about: "",
    examples: &[],
    group: Group::Trace,
    by: &[],
    options: &[],
    report_by: None,
    definitions: &[],
    forms: &[],
    answer: |_, _| Ok(Answer::new(Vec::new())),
    takes: Takes::One,
    findings: Findings::No,
    states_damage: false,
    lists_folder: false,
    page_parts: &[],
};

/// Questions about a timeline.
pub(crate) const TRACES: &[DocumentKind] = &[DocumentKind::Trace];
/// Questions about profiles and memory snapshots.
pub(crate) const PROFILES: &[DocumentKind] = &[DocumentKind::Profile];
/// Questions about functions, lines and stacks, which a trace may hold too.
pub(crate) const TRACES_AND_PROFILES: &[DocumentKind] = &[DocumentKind::Trace, DocumentKind::Profile];

/// Groups of questions, in the order of the help.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Group {
    Change,
    Time,
    /// Why the device waits.
    Waiting,
    Device,
    Trace,
}

impl Group {
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
    /// Whether its answer has findings: the user's settings change it.
    pub fn judges(&self) -> bool {
        self.findings != Findings::No
    }

    /// Whether it compares sides, and so cannot be asked about one run.
    pub fn compares(&self) -> bool {
        matches!(self.takes, Takes::Sides(_))
    }

    /// Whether it can be asked about a kind of file.
    pub fn answers_for(&self, kind: DocumentKind) -> bool {
        self.forms.iter().any(|form| form.about.contains(&kind))
    }

    /// The form of an answer about this kind of file. An error names what no form lists: a mistake of ours, not of who asks.
    pub fn form_of(&self, kind: DocumentKind, answer: &Answer) -> Result<&'static Form, Problem> {
        let mut why = Vec::new();
        for form in self.forms.iter().filter(|form| form.about.contains(&kind)) {
            match form.misfit(answer) {
                None => return Ok(form),
                Some(misfit) => why.push(format!("{}: {misfit}", form.name)),
            }
        }
        Err(Problem::new(
            format!("the answer to `{}` has none of its forms: {}", self.name, why.join("; ")),
            "list what it holds in the question's `forms`",
        ))
    }

    /// Whether it takes an option.
    pub fn has_option(&self, option: &str) -> bool {
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

    /// Every way in which a whole run can be asked: as it is, then grouped by each of its words.
    pub fn variants(&self) -> impl Iterator<Item = Option<&'static str>> {
        std::iter::once(None).chain(self.by.iter().copied().map(Some))
    }
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What a command line, a URL and keyword arguments all become: a question with its options.
#[derive(Clone, Debug)]
pub struct Ask {
    question: &'static Question,
    /// The names of the options given, in order.
    given: Vec<&'static str>,
    pub(crate) by: Option<&'static str>,
    options: OptionValues,
    /// What findings are held against.
    pub thresholds: Arc<Thresholds>,
    /// Where source code can be read.
    pub sources: Sources,
    /// How many of the runs belong to each side of a comparison, the earlier one first.
    pub sides: Vec<usize>,
}

/// Reads the text of a source file; given the path of the profile that names it and its name there.
type ReadSource = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// Reads source code for whoever asks. By default there is none: nothing here opens a file.
#[derive(Clone, Default)]
pub struct Sources(Option<Arc<ReadSource>>);

impl Sources {
    /// Source code that this finds, given the path of a profile and the name of a file in it.
    pub fn new(read: impl Fn(&str, &str) -> Option<String> + Send + Sync + 'static) -> Sources {
        Sources(Some(Arc::new(read)))
    }

    pub(crate) fn text(&self, profile: &str, file: &str) -> Option<String> {
        self.0.as_ref().and_then(|read| read(profile, file))
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Sources" } else { "no sources" })
    }
}

impl Deref for Ask {
    type Target = OptionValues;

    fn deref(&self) -> &OptionValues {
        &self.options
    }
}

impl Ask {
    /// A question of the registry, without options.
    pub fn about_all(question: &'static Question) -> Ask {
        Ask {
            question,
            given: Vec::new(),
            by: None,
            options: OptionValues::default(),
            thresholds: Arc::default(),
            sources: Sources::default(),
            sides: vec![1, 1],
        }
    }

    /// Sets an option. The value of a flag is not looked at, except that `0` and `false` leave it off.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), Problem> {
        let spec = OptionSpec::find(option).filter(|spec| self.question.has_option(spec.name));
        let Some(spec) = spec else { return Err(self.unknown(option)) };
        if spec.value.is_none() && matches!(value, "0" | "false" | "False") {
            return Ok(());
        }
        self.given.push(spec.name);
        match spec.name {
            "by" => self.group(value),
            _ => spec.set(&mut self.options, value),
        }
    }

    pub fn question(&self) -> &'static Question {
        self.question
    }

    /// The runs of all sides in a row, the earliest first; remembers how many belong to each.
    pub fn take_sides(&mut self, sides: &[Vec<Arc<Run>>]) -> Vec<Arc<Run>> {
        self.sides = sides.iter().map(Vec::len).collect();
        sides.concat()
    }

    /// Shows all rows unless a number was given.
    pub fn all_rows(mut self) -> Ask {
        self.options.rows.top = self.options.rows.top.or(Some(0));
        self
    }

    /// Shows every row in its own place, whatever was asked about rows.
    pub fn every_row(mut self) -> Ask {
        self.options.rows = RowOptions { top: Some(0), ..RowOptions::default() };
        self
    }

    /// The part of a run's trace that is asked about.
    pub fn selection(&self, run: &Arc<Run>) -> Result<Selection, Problem> {
        Ok(self.part_of(run)?.selection)
    }

    pub(crate) fn kept(&self, steps: &Steps) -> Steps {
        let mut steps = steps.clone();
        if let Some(numbers) = &self.steps {
            steps.steps.retain(|s| numbers.contains(&s.step));
        }
        steps
    }

    fn unknown(&self, option: &str) -> Problem {
        let name = self.question.name;
        let takes = || OPTIONS.iter().map(|o| o.name).filter(|o| self.question.has_option(o));
        let hint = match nearest(option, takes(), 1).first() {
            Some(near) => format!("did you mean --{near}?"),
            None => format!("{name} takes {}", takes().collect::<Vec<_>>().join(", ")),
        };
        Problem::new(format!("{name} has no option --{option}"), hint)
    }

    fn group(&mut self, asked: &str) -> Result<(), Problem> {
        let known = self.question.by;
        let word = known.iter().find(|word| word.eq_ignore_ascii_case(asked));
        self.by = Some(word.copied().ok_or_else(|| {
            Problem::new(format!("cannot group by '{asked}' here"), format!("--by takes {}", known.join(", ")))
        })?);
        Ok(())
    }

    /// The word of `by`, or the default.
    pub(crate) fn grouped(&self) -> &'static str {
        self.by.or(self.question.by.first().copied()).unwrap_or_default()
    }

    /// Fails if one of these options was given: an option without effect would be taken for an answer.
    pub(crate) fn refuse(&self, options: &[&str], what: &str, hint: &str) -> Result<(), Problem> {
        match self.given.iter().find(|given| options.contains(given)) {
            Some(option) => Err(Problem::new(format!("--{option} does not apply to {what}"), hint)),
            None => Ok(()),
        }
    }

    /// The options about rows, if they are about this table and not about the one beside it.
    pub(crate) fn rows_if(&self, asked: bool) -> RowOptions {
        if asked { self.rows.clone() } else { RowOptions::default() }
    }

    /// The run narrowed to what is asked about.
    pub(crate) fn part_of(&self, run: &Arc<Run>) -> Result<RunPart, Problem> {
        let mut asked = match &self.steps {
            None => RunPart { run: run.clone(), selection: Selection::all() },
            Some(numbers) => {
                let all = run.all_steps();
                if let Some(unknown) = all.unknown(numbers).first() {
                    return Err(no_such_step(*unknown, all));
                }
                RunPart { run: Arc::new(run.of_steps(self.kept(all))), selection: all.selection(numbers) }
            }
        };
        if let Some(device) = self.device {
            known_device(run.trace(), device)?;
        }
        asked.selection.device = self.device;
        Ok(asked)
    }
}

/// The part of a run that a question is about.
pub(crate) struct RunPart {
    /// The run, with only the steps asked about.
    pub(crate) run: Arc<Run>,
    /// The part of the trace that counts.
    pub(crate) selection: Selection,
}

impl RunPart {
    pub(crate) fn trace(&self) -> &Trace {
        self.run.trace()
    }

    pub(crate) fn steps(&self) -> &Steps {
        self.run.steps()
    }

    /// Whether the whole trace is meant.
    pub(crate) fn is_whole(&self) -> bool {
        self.selection == Selection::all()
    }
}

/// Fails for a device on which nothing ran.
fn known_device(trace: &Trace, device: i64) -> Result<(), Problem> {
    let on_devices = trace.lanes().iter().filter(|(_, lane)| lane.key.domain == Domain::Device);
    let mut devices: Vec<i64> = on_devices.filter_map(|(_, lane)| lane.key.process.as_int()).collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.contains(&device) {
        return Ok(());
    }
    let names: Vec<String> = devices.iter().take(20).map(i64::to_string).collect();
    let hint = match names.is_empty() {
        true => "nothing ran on a device in this trace".to_owned(),
        false => format!("devices in this trace: {}", names.join(", ")),
    };
    Err(Problem::new(format!("there is no device {device}"), hint))
}

fn no_such_step(step: i64, steps: &Steps) -> Problem {
    let hint = if steps.synthetic {
        "this trace has no marked steps; PyTorch's prof.step() and JAX's StepTraceAnnotation mark them"
            .to_owned()
    } else {
        match (steps.steps.first(), steps.steps.last()) {
            (Some(first), Some(last)) => format!("the trace has steps {} to {}", first.step, last.step),
            _ => "the trace has no steps".to_owned(),
        }
    };
    Problem::new(format!("there is no step {step}"), hint)
}
