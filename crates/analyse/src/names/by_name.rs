//! Answers about names, asked once per name instead of once per slice.

use stepscope_model::{StrId, Trace};

/// Remembers what a question answered for each name of a trace.
pub(crate) struct ByName<'a, T, F> {
    trace: &'a Trace,
    question: F,
    answers: Vec<Option<T>>,
}

impl<'a, T: Copy, F: Fn(&str) -> T> ByName<'a, T, F> {
    pub(crate) fn new(trace: &'a Trace, question: F) -> Self {
        ByName { trace, question, answers: vec![None; trace.strings().len()] }
    }

    pub(crate) fn get(&mut self, name: StrId) -> T {
        let answer = &mut self.answers[name.index()];
        *answer.get_or_insert_with(|| (self.question)(self.trace.text(name)))
    }
}
