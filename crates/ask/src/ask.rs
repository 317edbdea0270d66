//! A question with its options, ready to be answered.

use std::sync::Arc;

use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::names::nearest::nearest;
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::steps::Steps;
use stepscope_model::{Domain, Trace};

use crate::options::{OPTIONS, OptionSpec};
use crate::question::Question;
use crate::questions;
use crate::refusal::Refusal;

/// What a command line, a URL and keyword arguments all become.
#[derive(Clone, Debug)]
pub struct Ask {
    question: &'static Question,
    /// The names of the options given, in order.
    given: Vec<&'static str>,
    pub(crate) by: Option<&'static str>,
    pub(crate) rows: RowsAsked,
    pub(crate) steps: Option<Vec<i64>>,
    pub(crate) device: Option<i64>,
    pub(crate) frames: usize,
    pub(crate) full: bool,
    pub(crate) own_threads: bool,
    pub(crate) by_launch: bool,
    /// `op`, `kernel` and `speedup` in the order in which they were given.
    pub(crate) words: Vec<ChangeWord>,
    pub(crate) no_data_loading: bool,
    pub(crate) no_sync: bool,
    pub(crate) overlap_transfers: bool,
    pub(crate) free_launches: bool,
    pub(crate) tensor_cores: bool,
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    pub(crate) no_findings: bool,
    /// What findings are held against.
    pub thresholds: Arc<Thresholds>,
}

/// Which rows of a table, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowsAsked {
    pub(crate) sort: Option<String>,
    pub(crate) top: Option<usize>,
    pub(crate) filter: Option<String>,
}

/// One word of a change: which operator or kernels, and how much faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeWord {
    /// An operator or range by name.
    Op(String),
    /// Kernels by a text in their names.
    Kernel(String),
    /// How many times faster what was named before gets, as written.
    Speedup(String),
}

impl Ask {
    /// A question by its name, without options.
    pub fn new(question: &str) -> Result<Ask, Refusal> {
        questions::find(question).map(Ask::about_all).ok_or_else(|| {
            let names = || questions::QUESTIONS.iter().map(|q| q.name);
            let hint = match nearest(question, names(), 1).first() {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("questions: {}", names().collect::<Vec<_>>().join(", ")),
            };
            Refusal::new(format!("unknown question '{question}'"), hint)
        })
    }

    /// A question of the registry, without options.
    pub fn about_all(question: &'static Question) -> Ask {
        Ask {
            question,
            given: Vec::new(),
            by: None,
            rows: RowsAsked::default(),
            steps: None,
            device: None,
            frames: 5,
            full: false,
            own_threads: false,
            by_launch: false,
            words: Vec::new(),
            no_data_loading: false,
            no_sync: false,
            overlap_transfers: false,
            free_launches: false,
            tensor_cores: false,
            from: None,
            to: None,
            no_findings: false,
            thresholds: Arc::default(),
        }
    }

    /// The question with options: `with("ops", [("by", "shape"), ("top", "5")])`.
    pub fn with<'a, 'b>(
        question: &str,
        options: impl IntoIterator<Item = (&'a str, &'b str)>,
    ) -> Result<Ask, Refusal> {
        let mut ask = Ask::new(question)?;
        for (option, value) in options {
            ask.set(option, value)?;
        }
        Ok(ask)
    }

    /// Sets an option. The value of a flag is not looked at, except that `0` and `false` leave it off.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), Refusal> {
        let spec = OptionSpec::find(option).filter(|spec| self.question.takes(spec.name));
        let Some(spec) = spec else { return Err(self.unknown(option)) };
        if spec.value.is_none() && matches!(value, "0" | "false" | "False") {
            return Ok(());
        }
        self.given.push(spec.name);
        spec.set(self, value)
    }

    /// The question.
    pub fn question(&self) -> &'static Question {
        self.question
    }

    /// Shows all rows unless a number was given.
    pub fn all_rows(mut self) -> Ask {
        self.rows.top = self.rows.top.or(Some(0));
        self
    }

    /// The part of a run's trace that is asked about.
    pub fn selection(&self, run: &Arc<Run>) -> Result<Selection, Refusal> {
        Ok(self.part_of(run)?.selection)
    }

    /// Those of the steps that are asked about.
    pub(crate) fn kept(&self, steps: &Steps) -> Steps {
        let mut steps = steps.clone();
        if let Some(numbers) = &self.steps {
            steps.steps.retain(|s| numbers.contains(&s.step));
        }
        steps
    }

    fn unknown(&self, option: &str) -> Refusal {
        let name = self.question.name;
        let takes = || OPTIONS.iter().map(|o| o.name).filter(|o| self.question.takes(o));
        let hint = match nearest(option, takes(), 1).first() {
            Some(near) => format!("did you mean --{near}?"),
            None => format!("{name} takes {}", takes().collect::<Vec<_>>().join(", ")),
        };
        Refusal::new(format!("{name} has no option --{option}"), hint)
    }

    pub(crate) fn group(&mut self, asked: &str) -> Result<(), Refusal> {
        let known = self.question.by;
        let word = known.iter().find(|word| word.eq_ignore_ascii_case(asked));
        self.by = Some(word.copied().ok_or_else(|| {
            Refusal::new(format!("cannot group by '{asked}' here"), format!("--by takes {}", known.join(", ")))
        })?);
        Ok(())
    }

    /// The word of `by`, or the default.
    pub(crate) fn grouped(&self) -> &'static str {
        self.by.or(self.question.by.first().copied()).unwrap_or_default()
    }

    /// Fails if one of these options was given: an option without effect would be taken for an answer.
    pub(crate) fn refuse(&self, options: &[&str], what: &str, hint: &str) -> Result<(), Refusal> {
        match self.given.iter().find(|given| options.contains(given)) {
            Some(option) => Err(Refusal::new(format!("--{option} does not apply to {what}"), hint)),
            None => Ok(()),
        }
    }

    /// The options about rows, if they are about this table and not about the one beside it.
    pub(crate) fn rows_if(&self, asked: bool) -> RowsAsked {
        if asked { self.rows.clone() } else { RowsAsked::default() }
    }

    /// The run narrowed to what is asked about.
    pub(crate) fn part_of(&self, run: &Arc<Run>) -> Result<Asked, Refusal> {
        let mut asked = match &self.steps {
            None => Asked { run: run.clone(), selection: Selection::all() },
            Some(numbers) => {
                let all = run.all_steps();
                if let Some(unknown) = all.unknown(numbers).first() {
                    return Err(no_such_step(*unknown, all));
                }
                Asked { run: Arc::new(run.of_steps(self.kept(all))), selection: all.selection(numbers) }
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
pub(crate) struct Asked {
    /// The run, with only the steps asked about.
    pub(crate) run: Arc<Run>,
    /// The part of the trace that counts.
    pub(crate) selection: Selection,
}

impl Asked {
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
fn known_device(trace: &Trace, device: i64) -> Result<(), Refusal> {
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
    Err(Refusal::new(format!("there is no device {device}"), hint))
}

fn no_such_step(step: i64, steps: &Steps) -> Refusal {
    let hint = if steps.synthetic {
        "this trace has no ProfilerStep marks; call prof.step() after each iteration to get them".to_owned()
    } else {
        match (steps.steps.first(), steps.steps.last()) {
            (Some(first), Some(last)) => format!("the trace has steps {} to {}", first.step, last.step),
            _ => "the trace has no steps".to_owned(),
        }
    };
    Refusal::new(format!("there is no step {step}"), hint)
}
