//! What the run is bound by, how long a step takes here and without the profiler, and what the program went through.

use stepscope_analyse::causes::verdict::{Grade, Verdict};
use stepscope_analyse::run::Run;

use crate::print::{Role, Screen, wrap};
use crate::questions::findings::words::step_text;
use crate::questions::program_phases::phases_text;

/// The verdict and the step.
pub(super) struct Why {
    verdict: Option<Verdict>,
    /// Why no finding answers the verdict.
    uncovered: Option<String>,
    step: String,
    phases: Option<String>,
}

impl Why {
    pub(super) fn new(run: &Run, uncovered: Option<String>) -> Why {
        Why {
            uncovered,
            verdict: run.verdict(),
            step: step_text(run),
            phases: run.program_phases().map(phases_text),
        }
    }

    pub(super) fn lines(&self, screen: &Screen) -> Vec<String> {
        let Some(verdict) = &self.verdict else { return Vec::new() };
        let role = match verdict.grade {
            Grade::Good => Role::Good,
            Grade::Fair => Role::Warn,
            Grade::Poor => Role::Bad,
        };
        let text = wrap(&screen.text(&verdict.text), screen.width);
        let mut lines: Vec<String> = text.iter().map(|line| screen.paint(role, line)).collect();
        for text in [Some(&self.step), self.phases.as_ref(), self.uncovered.as_ref()].into_iter().flatten() {
            lines.extend(wrap(&screen.text(text), screen.width));
        }
        lines
    }

    /// All of it, as sentences.
    pub(super) fn words(&self) -> Option<String> {
        let verdict = self.verdict.as_ref()?;
        let mut words = format!("{}. {}.", verdict.text, self.step);
        if let Some(text) = &self.phases {
            words.push_str(&format!(" {text}."));
        }
        if let Some(text) = &self.uncovered {
            words.push(' ');
            words.push_str(text);
        }
        Some(words)
    }
}
