//! Folded ("collapsed") stacks as flame graph tools exchange them: a line per stack, `outer;inner 12`.

use std::collections::HashMap;

use stepscope_model::{
    Document, DocumentKind, Frame, FrameId, LineIs, NoteKind, Profile, Sample, Severity, StackId, ValueKind,
    ValueUnit,
};

use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::decimal::{self, Whole};
use crate::error::ReadError;
use crate::frame_text;
use crate::notes::{DAMAGED_COMPRESSION, INVALID_UTF8};
use crate::reader::{Reader, trimmed};
use crate::sniff::SNIFF_BYTES;

pub(crate) const READER: Reader = Reader {
    name: "folded stacks",
    about: "text, a stack and its weight per line: a;b;c 12",
    yields: DocumentKind::Profile,
    example: b"main;load;read 12\nmain;load (a.py:3) 3\nmain;step 7\n",
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

/// A line that is not a stack and weight.
const BAD_LINE: &NoteKind =
    &NoteKind::new("bad-line", Severity::Lost, 40, "lines without a stack and a weight were set aside");
/// A weight beyond 64 bits.
const LARGE_WEIGHT: &NoteKind =
    &NoteKind::new("large-weight", Severity::Lost, 41, "stacks with a weight beyond 64 bits were set aside");
/// A weight that is not whole.
const ROUNDED_WEIGHT: &NoteKind =
    &NoteKind::new("rounded-weight", Severity::Info, 42, "weights were rounded to the nearest whole number");

/// Whether all lines at hand are stacks and weights.
fn begins(head: &[u8]) -> bool {
    let text = trimmed(head);
    let is_text = |b: &u8| *b >= 0x20 || matches!(b, b'\t' | b'\r' | b'\n');
    let end = memchr::memrchr(b'\n', text);
    if end.is_none() && head.len() >= SNIFF_BYTES {
        // One line, and its weight is further on: a deep stack.
        return text.contains(&b';') && !matches!(text.first(), Some(b'{' | b'[')) && text.iter().all(is_text);
    }
    // The last line may be cut off; it counts only where there is no other.
    let whole = end.map_or(text, |end| &text[..end]);
    let said = |line: &&[u8]| !line.is_empty() && !is_remark(line);
    let mut lines = whole.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(said).peekable();
    let looks_like_json = matches!(text.first(), Some(b'{' | b'['));
    let first_fits = |line: &&[u8]| {
        !looks_like_json || (line.contains(&b';') && !line.contains(&b'"') && !line.contains(&b','))
    };
    lines.peek().is_some_and(first_fits) && lines.all(|line| split(line).is_some() && line.iter().all(is_text))
}

/// The stack and the weight of a line.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().rposition(|b| b.is_ascii_whitespace())?;
    let (stack, weight) = (line[..at].trim_ascii(), &line[at + 1..]);
    let mut digits = weight.split(|&b| b == b'.');
    let number =
        |digits: Option<&[u8]>| digits.is_some_and(|d| !d.is_empty() && d.iter().all(u8::is_ascii_digit));
    let fits =
        number(digits.next()) && (digits.next().is_none_or(|d| number(Some(d))) && digits.next().is_none());
    (!stack.is_empty() && fits).then_some((stack, weight))
}

/// Whether a line says something about the file, as Austin's first lines do: `# mode: wall`.
fn is_remark(line: &[u8]) -> bool {
    line.starts_with(b"# ")
}

/// What the weights are, and the power of ten that leads to our unit. Only Austin says: microseconds, or bytes.
fn weights(head: &[u8]) -> (ValueKind, i32) {
    let kind = |name: &str, unit| ValueKind { name: name.to_owned(), unit };
    let head = trimmed(head);
    let remarks = head.split(|&b| b == b'\n').take_while(|line| is_remark(line));
    match head.starts_with(b"# austin:") {
        false => (kind("weight", ValueUnit::Plain), 0),
        true if remarks.into_iter().any(|line| line.trim_ascii() == b"# mode: memory") => {
            (kind("size", ValueUnit::Bytes), 0)
        }
        true => (kind("time", ValueUnit::Nanoseconds), 3),
    }
}

/// A profile on its way.
struct CollapsedReader {
    profile: Profile,
    parts: HashMap<String, usize>,
    power: i32,
}

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    while text.window().len() < SNIFF_BYTES && !text.is_last() {
        text.more();
    }
    let (kind, power) = weights(&text.window()[..text.window().len().min(SNIFF_BYTES)]);
    let mut reader = CollapsedReader { profile: Profile::new(vec![kind]), parts: HashMap::new(), power };
    let mut full = false;
    while !full {
        let (window, last) = (text.window(), text.is_last());
        let mut done = 0;
        while let Some(length) = memchr::memchr(b'\n', &window[done..]) {
            full = reader.profile.samples().len() as u64 >= options.max_events;
            if full {
                reader.profile.notes.add_with(
                    NoteKind::LIMIT_REACHED,
                    text.offset() + done as u64,
                    format!("more than {} stacks", options.max_events),
                );
                break;
            }
            reader.add(&window[done..done + length], text.offset() + done as u64);
            done += length + 1;
        }
        if last && !full {
            reader.add(&window[done..], text.offset() + done as u64);
            done = window.len();
        } else if done == 0 && window.len() > options.max_event_bytes {
            reader.profile.notes.add_with(NoteKind::LIMIT_REACHED, text.offset(), "a line longer than is read");
            done = window.len();
        }
        text.consume(done);
        if last {
            break;
        }
        // A line longer than the window: double it, so that looking again costs no more than looking once.
        let want = if done > 0 { text.window().len() + 1 } else { (2 * text.window().len()).max(1) };
        while text.window().len() < want && !text.is_last() {
            text.more();
        }
    }
    match text.end() {
        Some(End::Damaged(why)) => {
            reader.profile.notes.add_with(DAMAGED_COMPRESSION, text.offset(), why.clone())
        }
        Some(End::Limit(limit)) if reader.profile.is_empty() => {
            return Err(ReadError::Limit { limit: *limit, path: name.to_owned() });
        }
        Some(End::Limit(limit)) => {
            reader.profile.notes.add_with(NoteKind::LIMIT_REACHED, text.offset(), limit.to_string())
        }
        _ => {}
    }
    let mut profile = reader.profile;
    profile.source = text.source(name, "folded stacks");
    if profile.parts.is_empty() {
        profile.parts.push(String::new());
    }
    Ok(profile)
}

impl CollapsedReader {
    fn add(&mut self, line: &[u8], at: u64) {
        let line = if at == 0 { trimmed(line).trim_ascii() } else { line.trim_ascii() };
        if line.is_empty() || is_remark(line) {
            return;
        }
        let notes = &mut self.profile.notes;
        let Some((stack, weight)) = split(line) else {
            return notes.add(BAD_LINE, at);
        };
        let amount = match decimal::parse(weight, self.power) {
            Whole::Exact(amount) => amount,
            Whole::Rounded(amount) => {
                notes.add(ROUNDED_WEIGHT, at);
                amount
            }
            Whole::OutOfRange | Whole::Nothing => return notes.add(LARGE_WEIGHT, at),
        };
        let text = String::from_utf8_lossy(stack);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            notes.add(INVALID_UTF8, at);
        }
        let (owner, frames) = frame_text::owner(&text);
        let mut id = StackId::EMPTY;
        if !frames.is_empty() {
            for frame in frames.split(';') {
                let frame = self.frame(frame, owner.file_first);
                id = self.profile.stacks.push(id, frame);
            }
        }
        let part = self.part(owner.part);
        self.profile.add(Sample::new(part, id, &[amount]));
    }

    fn part(&mut self, part: String) -> usize {
        let parts = &mut self.profile.parts;
        *self.parts.entry(part).or_insert_with_key(|part| {
            parts.push(part.clone());
            parts.len() - 1
        })
    }

    fn frame(&mut self, text: &str, file_first: bool) -> FrameId {
        let place = frame_text::place(text, file_first);
        if place.starts {
            self.profile.line_is = LineIs::Start;
        }
        let stacks = &mut self.profile.stacks;
        let (name, file) = (stacks.intern(place.name), stacks.intern(place.file));
        stacks.frame(Frame { name, file, line: place.line })
    }
}
