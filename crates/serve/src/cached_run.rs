//! A run in memory, with the answers that were given about it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::run::Run;
use stepscope_ask::write::{self, Page};
use stepscope_ask::{Answer, Ask, answer};
use stepscope_ground::{Problem, lock};

use crate::source_files::SourceFiles;

/// Answers kept, in rows. A row takes a few hundred bytes.
const MAX_CACHED_ROWS: usize = 400_000;
/// Answers kept, in questions: refusals have no rows.
const MAX_CACHED_ANSWERS: usize = 512;
/// Longer questions are not kept.
const MAX_KEY_BYTES: usize = 2_048;

type CachedAnswer = Result<Arc<Answer>, Problem>;

/// One run, ready to be asked about.
pub(crate) struct CachedRun {
    pub(crate) run: Arc<Run>,
    /// Source code that it names.
    pub(crate) sources: SourceFiles,
    /// What its findings are judged by.
    pub(crate) thresholds: Arc<Thresholds>,
    /// Answers by question. A question asked twice at once is worked out once.
    answers: Mutex<HashMap<String, Arc<OnceLock<CachedAnswer>>>>,
}

impl Deref for CachedRun {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.run
    }
}

impl CachedRun {
    pub(crate) fn new(run: Arc<Run>, sources: SourceFiles, thresholds: Arc<Thresholds>) -> CachedRun {
        // What every page needs, before anyone waits for it.
        run.timeline();
        CachedRun { run, sources, thresholds, answers: Mutex::default() }
    }

    /// The question with the settings of this run.
    pub(crate) fn settled(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        ask.sources = self.sources.for_questions();
        ask.thresholds = self.thresholds.clone();
        ask
    }

    /// The answer to a question.
    pub(crate) fn ask(&self, key: &str, ask: &Ask) -> CachedAnswer {
        let work = || answer(&self.settled(ask), std::slice::from_ref(&self.run)).map(Arc::new);
        if key.len() > MAX_KEY_BYTES {
            return work();
        }
        let slot = {
            let mut answers = lock(&self.answers);
            let rows = |slot: &Arc<OnceLock<CachedAnswer>>| match slot.get() {
                Some(Ok(answer)) => answer.parts.iter().map(|part| part.len()).sum(),
                _ => 0,
            };
            let held: usize = answers.values().map(rows).sum();
            if held > MAX_CACHED_ROWS || answers.len() >= MAX_CACHED_ANSWERS {
                answers.clear();
            }
            answers.entry(key.to_owned()).or_default().clone()
        };
        slot.get_or_init(work).clone()
    }

    /// The same as JSON text, or only a page of it.
    pub(crate) fn ask_json(&self, key: &str, ask: &Ask, page: Option<&Page>) -> Result<Vec<u8>, Problem> {
        let answer = self.ask(key, ask)?;
        let object = match page {
            None => write::object(&answer, true),
            Some(page) => write::page(&answer, page),
        };
        serde_json::to_vec(&object).map_err(|e| Problem::new(format!("cannot be written as JSON: {e}"), ""))
    }
}
