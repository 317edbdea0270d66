//! How to record otherwise, in the words of what made the recording: `stepscope run`, `stepscope.profile` or PyTorch's
//! profiler.

use stepscope_model::Meta;

use crate::steps::ITERATIONS;

/// The program that `stepscope run` ran, as a list of words.
pub const PROGRAM: &str = "stepscope_program";
/// What `stepscope.profile` says about itself.
const RECORDER: &str = "stepscope_recorder";
/// A longer command line helps no one.
const MAX_PROGRAM_BYTES: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// `stepscope run`, with the program as one would type it.
    Run { program: String },
    /// `stepscope.profile`.
    Profile,
    /// PyTorch's profiler, or no one knows.
    Torch,
}

impl Recorder {
    pub fn of(meta: &Meta) -> Recorder {
        if let Some(program) = program(meta) {
            return Recorder::Run { program };
        }
        if meta.extra(ITERATIONS).is_some() || meta.extra(PROGRAM).is_some() {
            return Recorder::Run { program: "train.py".to_owned() };
        }
        match meta.extra(RECORDER).is_some() || meta.bare_steps.is_some() {
            true => Recorder::Profile,
            false => Recorder::Torch,
        }
    }

    /// Records some iterations after a warm-up.
    pub(super) fn after_warm_up(&self) -> String {
        match self {
            Recorder::Run { program } => format!("stepscope run --after 20 --iterations 5 {program}"),
            Recorder::Profile => in_a_loop("stepscope"),
            Recorder::Torch => in_a_loop("torch.profiler"),
        }
    }

    pub(super) fn iterations(&self, count: u64) -> String {
        match self {
            Recorder::Run { program } => format!("stepscope run --iterations {count} {program}"),
            Recorder::Profile | Recorder::Torch => {
                format!("schedule = stepscope.schedule(wait=5, warmup=3, active={count})")
            }
        }
    }

    /// Leaves more steps out at first.
    pub(super) fn later(&self) -> String {
        match self {
            Recorder::Run { program } => format!("stepscope run --after 20 --iterations 5 {program}"),
            Recorder::Profile => "schedule = stepscope.schedule(wait=5, warmup=3, active=5)".to_owned(),
            Recorder::Torch => "schedule = torch.profiler.schedule(wait=5, warmup=3, active=5)".to_owned(),
        }
    }

    /// What it takes to have steps of about the same length, as advice.
    pub(super) fn whole_steps(&self) -> &'static str {
        match self {
            Recorder::Run { .. } => "Skip more iterations, and record at least five whole ones.",
            Recorder::Profile | Recorder::Torch => {
                "Skip a few steps, warm up the profiler, record at least five whole steps, and call prof.step() at the end of \
                 each."
            }
        }
    }

    /// Records no more than is needed to judge times.
    pub(super) fn lightly(&self) -> String {
        match self {
            Recorder::Run { program } => format!(
                "stepscope run --profiling.record_shapes=false --profiling.profile_memory=false {program}  # no stacks either"
            ),
            Recorder::Profile => {
                "with stepscope.profile(schedule=schedule) as prof:  # no stacks, shapes, memory\n    ..."
                    .to_owned()
            }
            Recorder::Torch => {
                "with torch.profiler.profile(schedule=schedule) as prof:  # no stacks, shapes, memory\n    ..."
                    .to_owned()
            }
        }
    }

    /// Records the lines of the program.
    pub(super) fn naming_lines(&self) -> String {
        match self {
            Recorder::Run { program } => {
                format!("stepscope run --profiling.with_stack {program}   # names the line")
            }
            Recorder::Profile => {
                "with stepscope.profile(with_stack=True, ...) as prof:   # names the line\n    ...".to_owned()
            }
            Recorder::Torch => {
                "with torch.profiler.profile(with_stack=True, ...) as prof:   # names the line\n    ..."
                    .to_owned()
            }
        }
    }

    pub(super) fn shapes(&self) -> &'static str {
        self.option("--profiling.record_shapes", "record_shapes=True")
    }

    pub(super) fn memory(&self) -> &'static str {
        self.option("--profiling.profile_memory", "profile_memory=True")
    }

    pub(super) fn stacks(&self) -> &'static str {
        self.option("--profiling.with_stack", "with_stack=True")
    }

    /// What it takes to have steps.
    pub(super) fn steps(&self) -> &'static str {
        self.option("iterations in the recording (--whole)", "prof.step() after each iteration")
    }

    fn option(&self, of_run: &'static str, of_profile: &'static str) -> &'static str {
        if matches!(self, Recorder::Run { .. }) { of_run } else { of_profile }
    }
}

/// What to do about steps that are not marked, as half a sentence.
pub fn how_to_mark_steps(meta: &Meta) -> &'static str {
    match (&meta.framework, Recorder::of(meta)) {
        (Some(_), _) => "mark steps with jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace",
        (None, Recorder::Run { .. }) => "stepscope.profile and its prof.step() after each iteration mark them",
        (None, _) => "call prof.step() after each iteration",
    }
}

fn in_a_loop(module: &str) -> String {
    format!(
        "schedule = {module}.schedule(wait=5, warmup=2, active=5)\n\
         with {module}.profile(\n\
         \x20       schedule=schedule, on_trace_ready=handler) as prof:\n\
         \x20   for batch in loader:\n\
         \x20       run(batch)  # your step\n\
         \x20       prof.step()"
    )
}

/// The program that `stepscope run` ran, as one would type it; none if the file does not say.
pub fn program(meta: &Meta) -> Option<String> {
    let text = meta.extra(PROGRAM).filter(|text| text.len() <= MAX_PROGRAM_BYTES)?;
    let words: Vec<String> = serde_json::from_str(text).ok()?;
    let typed: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    (!typed.is_empty()).then(|| typed.join(" "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::BareSteps;

    use super::*;

    fn says(entries: &[(&str, &str)]) -> Meta {
        let extra = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Meta { extra, ..Meta::default() }
    }

    #[test]
    fn hints_speak_of_what_made_the_file() {
        let run =
            Recorder::of(&says(&[(RECORDER, "\"profile\""), (PROGRAM, r#"["train.py", "--lr", "0.1"]"#)]));
        assert_eq!(run.after_warm_up(), "stepscope run --after 20 --iterations 5 train.py --lr 0.1");
        assert_eq!(run.shapes(), "--profiling.record_shapes");
        let before = Recorder::of(&says(&[(ITERATIONS, "{}")]));
        assert_eq!(before.later(), "stepscope run --after 20 --iterations 5 train.py");
        let profile = Recorder::of(&says(&[(RECORDER, "\"profile\"")]));
        assert!(profile.after_warm_up().contains("with stepscope.profile("), "{profile:?}");
        let timed = Meta { bare_steps: Some(BareSteps::default()), ..Meta::default() };
        assert_eq!(Recorder::of(&timed), Recorder::Profile);
        let torch = Recorder::of(&says(&[("schemaVersion", "1")]));
        assert!(torch.later().contains("torch.profiler.schedule("), "{torch:?}");
        assert_eq!(torch.steps(), "prof.step() after each iteration");
    }

    #[test]
    fn a_program_can_be_typed_again() {
        let typed = |words: &str| program(&says(&[(PROGRAM, words)]));
        assert_eq!(
            typed(r#"["-m", "pack.train", "a b", "it's", ""]"#).unwrap(),
            r"-m pack.train 'a b' 'it'\''s' ''"
        );
        assert_eq!(typed("[]"), None);
        assert_eq!(typed("{\"a\": 1}"), None);
        assert_eq!(typed(&format!("[\"{}\"]", "a".repeat(MAX_PROGRAM_BYTES))), None);
        assert_eq!(program(&Meta::default()), None);
    }
}
