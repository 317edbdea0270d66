//! What the run is bound by, and how long a step takes here and without the profiler.

use stepscope_analyse::causes::verdict::{Grade, Verdict};
use stepscope_analyse::run::{Run, Unprofiled};

use crate::print::{Role, Screen, units, wrap};

/// The verdict and the step.
pub(super) struct Why {
    verdict: Option<Verdict>,
    /// Why no finding answers the verdict.
    uncovered: Option<String>,
    step_ns: i64,
    unprofiled: Unprofiled,
    /// Whether the file marks no steps, so that all of it is one.
    synthetic: bool,
    /// Whether nobody has measured what its profiler costs.
    unmeasured: bool,
}

impl Why {
    pub(super) fn new(run: &Run, uncovered: Option<String>) -> Why {
        Why {
            uncovered,
            verdict: run.verdict(),
            step_ns: run.step_ns(),
            unprofiled: *run.unprofiled(),
            synthetic: run.steps().synthetic,
            unmeasured: run.trace().meta().framework.is_some(),
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
        lines.extend(wrap(&screen.text(&self.step()), screen.width));
        if let Some(text) = &self.uncovered {
            lines.extend(wrap(&screen.text(text), screen.width));
        }
        lines
    }

    /// All of it, as sentences.
    pub(super) fn words(&self) -> Option<String> {
        let verdict = self.verdict.as_ref()?;
        let mut words = format!("{}. {}.", verdict.text, self.step());
        if let Some(text) = &self.uncovered {
            words.push(' ');
            words.push_str(text);
        }
        Some(words)
    }

    /// How long a step takes.
    fn step(&self) -> String {
        let here = units::time(self.step_ns);
        let Unprofiled { step_ns, low_ns, high_ns, .. } = self.unprofiled;
        let what = if self.synthetic { "in total" } else { "per step" };
        if self.unmeasured {
            return format!("{here} {what} here; what the profiler adds to it is unknown");
        }
        if step_ns as f64 > 0.95 * self.step_ns as f64 {
            return format!("{here} {what}; the profiler adds little overhead");
        }
        let range = match units::about(low_ns) == units::about(high_ns) {
            true => String::new(),
            false => format!(" ({})", units::about_range(low_ns, high_ns)),
        };
        format!("{here} {what} here, about {}{range} without the profiler", units::about(step_ns))
    }
}
