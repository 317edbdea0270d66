//! Writes a profile for `go tool pprof` and whatever else reads its format.

use std::collections::HashMap;
use std::io::{self, Write};

use stepscope_model::{Profile, ValueUnit};

use stepscope_ground::protobuf::Put;

/// Frames of a stack that are written; the weight of deeper ones counts in the last.
const MAX_FRAMES: usize = 1_024;

/// Texts by number; the first is the empty one.
struct Texts<'a> {
    numbers: HashMap<&'a str, u64>,
    list: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn number(&mut self, text: &'a str) -> u64 {
        let next = self.list.len() as u64;
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.list.push(text);
        }
        number
    }
}

/// Writes the weighted stacks; not compressed, which readers accept.
pub fn write_pprof(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let mut texts = Texts { numbers: HashMap::from([("", 0)]), list: vec![""] };
    let mut message = Vec::new();
    for value in profile.values() {
        let unit = match value.unit {
            ValueUnit::Plain => "count",
            ValueUnit::Nanoseconds => "nanoseconds",
            ValueUnit::Bytes => "bytes",
        };
        let mut of = Vec::new();
        of.nonzero(1, texts.number(&value.name));
        of.nonzero(2, texts.number(unit));
        message.bytes(1, &of);
    }
    let cut = profile.stacks.cut(MAX_FRAMES);
    for sample in profile.samples().iter() {
        let mut of = Vec::new();
        // A frame's number from 1 on is also that of its place.
        let stack = cut[sample.stack.index()];
        let frames = profile.stacks.unwind(stack).into_iter().rev().map(|id| id.index() as u64 + 1);
        of.packed(1, frames);
        of.packed(2, sample.amounts.iter().map(|&amount| amount as u64));
        message.bytes(2, &of);
        // What is complete need not be held.
        if message.len() > 1 << 20 {
            out.write_all(&message)?;
            message.clear();
        }
    }
    // A function is a name and a file, whatever line it was seen at.
    let mut functions: HashMap<(u64, u64), u64> = HashMap::new();
    let mut described = Vec::new();
    for (id, frame) in profile.stacks.frames() {
        let key =
            (texts.number(profile.stacks.text(frame.name)), texts.number(profile.stacks.text(frame.file)));
        let next = functions.len() as u64 + 1;
        let function = *functions.entry(key).or_insert(next);
        if function == next {
            let mut of = Vec::new();
            of.nonzero(1, function);
            of.nonzero(2, key.0);
            of.nonzero(3, key.0);
            of.nonzero(4, key.1);
            described.bytes(5, &of);
        }
        let (mut line, mut place) = (Vec::new(), Vec::new());
        line.nonzero(1, function);
        line.nonzero(2, frame.line.into());
        place.nonzero(1, id.index() as u64 + 1);
        place.bytes(4, &line);
        message.bytes(4, &place);
    }
    message.append(&mut described);
    for text in texts.list {
        message.bytes(6, text.as_bytes());
    }
    out.write_all(&message)
}
