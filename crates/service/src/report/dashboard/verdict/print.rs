//! The verdict for people: its sentence first, then what is less urgent.

use std::io::{self, Write};

use stepscope_ask::print::{Role, Screen, note, wrap};

use super::{Tone, Verdict};
use crate::counters::counter_text;
use crate::report::dashboard::unit_sign;

/// Other matters and counters at most: more would hide the first.
const MAX_ALSO: usize = 3;
const MAX_MOVERS: usize = 2;

/// The verdict on a screen. Into a file or a pipe its sentence is one line.
pub fn text(verdict: &Verdict, out: &mut dyn Write, screen: &Screen) -> io::Result<()> {
    let role = match verdict.first.tone {
        Tone::Bad => Role::Bad,
        Tone::Warn => Role::Warn,
        Tone::Good => Role::Good,
        Tone::None => Role::Dim,
    };
    let sentence = screen.text(&verdict.first.sentence);
    let room = if screen.terminal { screen.width } else { usize::MAX };
    for line in wrap(&sentence, room) {
        writeln!(out, "{}", screen.paint(role, &line))?;
    }
    remarks(verdict).iter().try_for_each(|remark| note(out, screen, remark))
}

/// The first sentence, and what else there is to say.
pub fn sentences(verdict: &Verdict) -> Vec<String> {
    std::iter::once(verdict.first.sentence.clone()).chain(remarks(verdict)).collect()
}

fn remarks(verdict: &Verdict) -> Vec<String> {
    let mut all: Vec<String> = verdict.detail.iter().cloned().collect();
    for mover in verdict.movers.iter().flatten().take(MAX_MOVERS) {
        let device = mover.device.as_ref().map_or(String::new(), |device| format!(", {device},"));
        let value = |value| counter_text(unit_sign(&mover.unit), value);
        let (name, before, after) = (&mover.name, value(mover.before), value(mover.after));
        all.push(format!("Moved with it: {name}{device} from {before} to {after}."));
    }
    let also = verdict.also.iter().take(MAX_ALSO);
    all.extend(also.map(|matter| format!("{}: {}", matter.word, matter.sentence)));
    if verdict.also.len() > MAX_ALSO {
        all.push(format!("And {} more.", verdict.also.len() - MAX_ALSO));
    }
    all
}
