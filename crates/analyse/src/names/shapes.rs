//! The shapes of an operator's inputs, read from the text the profiler wrote.
//!
//! `[[8, 512], [512], []]` lists one entry per input: the sizes of a tensor, or nothing for a scalar, an absent
//! tensor or anything that is no tensor. A list of tensors is one entry with a list of sizes for each:
//! `[[[8, 511], [8, 1]], []]`. Text that is neither is kept as it stands and has no sizes.

use std::fmt::Write;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{StrId, Trace};

/// One input of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A tensor's sizes; empty for a tensor without dimensions and for anything that is no tensor.
    Tensor(Vec<i64>),
    /// The sizes of each tensor of a list.
    List(Vec<Vec<i64>>),
}

impl Input {
    /// The sizes, if this is one tensor.
    pub fn tensor(&self) -> Option<&[i64]> {
        match self {
            Input::Tensor(sizes) => Some(sizes),
            Input::List(_) => None,
        }
    }
}

/// Reads the text of `Input Dims`; `None` if it is not of that form.
pub fn parse(text: &str) -> Option<Vec<Input>> {
    let mut rest = text.as_bytes();
    let inputs = list(&mut rest, input)?;
    skip_space(&mut rest);
    rest.is_empty().then_some(inputs)
}

/// The one way shapes are written: `[[8, 512], [512]]`.
pub fn canonical(inputs: &[Input]) -> String {
    let mut out = String::new();
    write_list(&mut out, inputs, |out, input| match input {
        Input::Tensor(sizes) => write_sizes(out, sizes),
        Input::List(tensors) => write_list(out, tensors, |out, sizes| write_sizes(out, sizes)),
    });
    out
}

/// The canonical text with every list of tensors emptied, which is how PyTorch's own tables group: it counts
/// `cat` of two tensors and `cat` of five as one row.
pub fn without_lists(text: &str) -> Option<String> {
    let mut inputs = parse(text)?;
    for input in &mut inputs {
        if matches!(input, Input::List(_)) {
            *input = Input::Tensor(Vec::new());
        }
    }
    Some(canonical(&inputs))
}

fn write_list<T>(out: &mut String, items: &[T], mut item: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (i, value) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        item(out, value);
    }
    out.push(']');
}

fn write_sizes(out: &mut String, sizes: &[i64]) {
    write_list(out, sizes, |out, size| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{size}");
    });
}

/// `[` items `]`, each read by `item`. Every level has its own reader, so the depth is bounded by the code.
fn list<T>(rest: &mut &[u8], mut item: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    take(rest, b'[')?;
    if take(rest, b']').is_some() {
        return Some(items);
    }
    loop {
        items.push(item(rest)?);
        if take(rest, b',').is_none() {
            take(rest, b']')?;
            return Some(items);
        }
    }
}

fn input(rest: &mut &[u8]) -> Option<Input> {
    // An entry that opens a second bracket is a list of tensors; `[]` inside it is a tensor without dimensions.
    let mut ahead = *rest;
    take(&mut ahead, b'[')?;
    skip_space(&mut ahead);
    match ahead.first() {
        Some(b'[') => list(rest, |rest| list(rest, integer)).map(Input::List),
        _ => list(rest, integer).map(Input::Tensor),
    }
}

fn integer(rest: &mut &[u8]) -> Option<i64> {
    skip_space(rest);
    let len = rest.iter().position(|b| !b.is_ascii_digit() && *b != b'-').unwrap_or(rest.len());
    let (digits, after) = rest.split_at(len);
    *rest = after;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn take(rest: &mut &[u8], byte: u8) -> Option<()> {
    skip_space(rest);
    let (&first, after) = rest.split_first()?;
    (first == byte).then(|| *rest = after)
}

fn skip_space(rest: &mut &[u8]) {
    while let Some((first, after)) = rest.split_first()
        && first.is_ascii_whitespace()
    {
        *rest = after;
    }
}

/// The shapes of a trace, each distinct text read once.
pub(crate) struct Shapes<'a> {
    trace: &'a Trace,
    /// Whether lists of tensors keep their shapes.
    lists: bool,
    keys: [Option<StrId>; 2],
    /// By text: the shape's number plus one, so that zero means "not read yet".
    of_text: Vec<u32>,
    /// The number of `[]`, once known.
    none: Option<u32>,
    texts: Vec<String>,
    numbers: HashMap<String, u32, RandomState>,
}

impl<'a> Shapes<'a> {
    pub(crate) fn new(trace: &'a Trace, lists: bool) -> Self {
        Shapes {
            trace,
            lists,
            keys: dims_keys(trace),
            of_text: vec![0; trace.strings().len()],
            none: None,
            texts: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    /// The number of an operator's shapes: equal shapes have equal numbers. Without any it is that of `[]`.
    pub(crate) fn number(&mut self, id: stepscope_model::SliceId) -> u32 {
        match dims_text(self.trace, id, self.keys) {
            Some(text) => self.number_of(text),
            None => self.none.unwrap_or_else(|| {
                let number = self.add("[]".to_owned());
                self.none = Some(number);
                number
            }),
        }
    }

    /// The canonical text of a number.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }

    fn number_of(&mut self, text: StrId) -> u32 {
        if let Some(number) = self.of_text[text.index()].checked_sub(1) {
            return number;
        }
        let raw = self.trace.text(text);
        let shape = if self.lists { parse(raw).map(|inputs| canonical(&inputs)) } else { without_lists(raw) };
        let number = self.add(shape.unwrap_or_else(|| raw.to_owned()));
        self.of_text[text.index()] = number + 1;
        number
    }

    fn add(&mut self, text: String) -> u32 {
        if let Some(&number) = self.numbers.get(&text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

/// The keys under which files keep the shapes: the newer and the older.
pub(crate) fn dims_keys(trace: &Trace) -> [Option<StrId>; 2] {
    ["Input Dims", "Input dims"].map(|key| trace.strings().find(key))
}

/// The texts of a JSON list of texts, as of `Input type`. Escapes are left as they are: types and numbers have none.
pub(crate) fn texts(json: &str) -> Vec<String> {
    json.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The text of a slice's `Input Dims`, under the newer or the older key.
pub(crate) fn dims_text(
    trace: &Trace,
    id: stepscope_model::SliceId,
    keys: [Option<StrId>; 2],
) -> Option<StrId> {
    let args = trace.args(id);
    keys.into_iter().flatten().find_map(|key| args.text_id(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_scalars_and_lists() {
        let text = "[[8, 512],[ 512 ], [], [[8, 511], [], [8, 1]]]";
        let inputs = parse(text).unwrap();
        assert_eq!(inputs[0].tensor(), Some(&[8, 512][..]));
        assert_eq!(inputs[2], Input::Tensor(vec![]));
        assert_eq!(inputs[3], Input::List(vec![vec![8, 511], vec![], vec![8, 1]]));
        assert_eq!(canonical(&inputs), "[[8, 512], [512], [], [[8, 511], [], [8, 1]]]");
        assert_eq!(without_lists(text).unwrap(), "[[8, 512], [512], [], []]");
        assert_eq!(parse("[]").unwrap(), vec![]);
        assert_eq!(parse("[[-1]]").unwrap(), vec![Input::Tensor(vec![-1])]);
    }

    #[test]
    fn other_text_is_no_shape() {
        let deep = "[".repeat(100_000);
        for text in ["", "[", "[[1,]]", "[[1]] x", "null", "[[1.5]]", "[\"a\"]", "[[[[1]]]]", "[[--1]]", &deep]
        {
            assert_eq!(parse(text), None, "{text:.20}");
        }
        assert_eq!(parse("[[99999999999999999999]]"), None);
    }
}
