//! A trace in memory, with what was worked out about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stepscope_analyse::replay::Replay;
use stepscope_analyse::replay::critical_path::{CriticalPath, critical_path};
use stepscope_analyse::steps::Steps;
use stepscope_analyse::views::timeline::Timeline;
use stepscope_model::Trace;

use crate::backend::{Backend, Problem, Question};
use crate::question::rebase;

/// Answers kept, in bytes of their text.
const KEPT_BYTES: usize = 64 << 20;

type Answer = Result<Arc<Vec<u8>>, Problem>;

/// One run, ready to be asked about.
pub(crate) struct Run {
    pub(crate) trace: Arc<Trace>,
    pub(crate) steps: Steps,
    pub(crate) timeline: Timeline,
    path: OnceLock<CriticalPath>,
    /// Answers by question. A question asked twice at once is worked out once.
    answers: Mutex<HashMap<String, Arc<OnceLock<Answer>>>>,
}

impl Run {
    pub(crate) fn new(trace: Arc<Trace>) -> Run {
        let steps = Steps::find(&trace);
        let timeline = Timeline::new(&trace, &steps);
        Run { trace, steps, timeline, path: OnceLock::new(), answers: Mutex::default() }
    }

    /// The critical path, found when first asked for.
    pub(crate) fn path(&self) -> &CriticalPath {
        self.path.get_or_init(|| {
            let replay = Replay::new(&self.trace, &self.steps);
            critical_path(&self.trace, &self.steps, &replay)
        })
    }

    /// A command's answer, with moments since the first event.
    pub(crate) fn ask(&self, backend: &dyn Backend, question: &Question) -> Answer {
        let key = format!("{question:?}");
        let slot = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let held: usize =
                answers.values().filter_map(|a| a.get()?.as_ref().ok()).map(|text| text.len()).sum();
            if held > KEPT_BYTES {
                answers.clear();
            }
            answers.entry(key).or_default().clone()
        };
        slot.get_or_init(|| {
            let text = backend.ask(&self.trace, &self.absolute(question))?;
            if question.csv {
                return Ok(Arc::new(text));
            }
            let moved = rebase(&text, 0);
            let broken = |_| Problem { message: "the answer is not JSON".to_owned(), hint: None };
            moved.map(Arc::new).map_err(broken)
        })
        .clone()
    }

    /// The question with its moments as the trace has them: `@` says so on the command line.
    fn absolute(&self, question: &Question) -> Question {
        let mut question = question.clone();
        for (option, value) in &mut question.options {
            if let ("from" | "to", Ok(since)) = (option.as_str(), value.parse::<f64>()) {
                *value = format!("@{}", since as i64);
            }
        }
        question
    }
}
