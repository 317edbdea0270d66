//! Folded ("collapsed") stacks as flame graph tools exchange them: a line per stack, `outer;inner 12`.

use stepscope_model::{Document, Frame, NoteKind, Profile, Sample, Severity, StackId, ValueKind, ValueUnit};

use crate::OpenOptions;
use crate::chunks::{End, Text};
use crate::decimal::{self, Whole};
use crate::error::ReadError;
use crate::notes::{DAMAGED_COMPRESSION, INVALID_UTF8};
use crate::reader::{Reader, Yields, trimmed};
use crate::sniff::SNIFF_BYTES;

pub(crate) const READER: Reader = Reader {
    name: "folded stacks",
    about: "text, a stack and its weight per line: a;b;c 12",
    yields: Yields::Profile,
    example: "main;load;read 12\nmain;load 3\nmain;step 7\n",
    begins,
    read: |text, name, options| read(text, name, options).map(Document::Profile),
};

/// A line that is no stack and weight.
const BAD_LINE: &NoteKind =
    &NoteKind::new("bad-line", Severity::Lost, 40, "lines that are no stack and weight were set aside");
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
    let mut lines =
        whole.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).peekable();
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

fn read(mut text: Text, name: &str, options: &OpenOptions) -> Result<Profile, ReadError> {
    let mut profile = Profile::new(vec![ValueKind { name: "weight".to_owned(), unit: ValueUnit::Plain }]);
    profile.parts.push(String::new());
    let mut full = false;
    while !full {
        let (window, last) = (text.window(), text.is_last());
        let mut done = 0;
        while let Some(length) = memchr::memchr(b'\n', &window[done..]) {
            full = profile.samples().len() as u64 >= options.max_events;
            if full {
                profile.notes.add_with(
                    NoteKind::LIMIT_REACHED,
                    text.offset() + done as u64,
                    format!("more than {} stacks", options.max_events),
                );
                break;
            }
            add(&mut profile, &window[done..done + length], text.offset() + done as u64);
            done += length + 1;
        }
        if last && !full {
            add(&mut profile, &window[done..], text.offset() + done as u64);
            done = window.len();
        } else if done == 0 && window.len() > options.max_event_bytes {
            profile.notes.add_with(NoteKind::LIMIT_REACHED, text.offset(), "a line longer than is read");
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
        Some(End::Damaged(why)) => profile.notes.add_with(DAMAGED_COMPRESSION, text.offset(), why.clone()),
        Some(End::Limit(limit)) if profile.is_empty() => {
            return Err(ReadError::Limit { limit: *limit, path: name.to_owned() });
        }
        Some(End::Limit(limit)) => {
            profile.notes.add_with(NoteKind::LIMIT_REACHED, text.offset(), limit.to_string())
        }
        _ => {}
    }
    profile.source = text.source(name, "folded stacks");
    Ok(profile)
}

fn add(profile: &mut Profile, line: &[u8], at: u64) {
    let line = if at == 0 { trimmed(line).trim_ascii() } else { line.trim_ascii() };
    if line.is_empty() {
        return;
    }
    let Some((stack, weight)) = split(line) else {
        return profile.notes.add(BAD_LINE, at);
    };
    let amount = match decimal::parse(weight, 0) {
        Whole::Exact(amount) => amount,
        Whole::Rounded(amount) => {
            profile.notes.add(ROUNDED_WEIGHT, at);
            amount
        }
        Whole::OutOfRange | Whole::Nothing => return profile.notes.add(LARGE_WEIGHT, at),
    };
    let text = String::from_utf8_lossy(stack);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        profile.notes.add(INVALID_UTF8, at);
    }
    let mut id = StackId::EMPTY;
    for frame in text.split(';') {
        let name = profile.stacks.intern(frame);
        let frame = profile.stacks.frame(Frame { name, ..Frame::default() });
        id = profile.stacks.push(id, frame);
    }
    profile.add(Sample::new(0, id, &[amount]));
}
