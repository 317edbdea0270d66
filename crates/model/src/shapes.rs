//! The shapes of an operator's inputs, read from the text that profilers write.
//!
//! `[[8, 512], [512], []]` lists one entry per input: the sizes of a tensor, or nothing for a scalar, an absent
//! tensor or anything that is not a tensor. A list of tensors is one entry with a list of sizes for each:
//! `[[[8, 511], [8, 1]], []]`. Text that is neither has no sizes.

use std::fmt::Write;

/// One input of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A tensor's sizes; empty for a tensor without dimensions and for anything that is not a tensor.
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

/// Reads the text of [`Attr::InputShapes`](crate::Attr::InputShapes); `None` if it is not of that form.
pub fn parse_shapes(text: &str) -> Option<Vec<Input>> {
    let mut rest = text.as_bytes();
    let inputs = list(&mut rest, input)?;
    skip_space(&mut rest);
    rest.is_empty().then_some(inputs)
}

/// The one way shapes are written: `[[8, 512], [512]]`.
pub fn shapes_text(inputs: &[Input]) -> String {
    let mut out = String::new();
    write_list(&mut out, inputs, |out, input| match input {
        Input::Tensor(sizes) => write_sizes(out, sizes),
        Input::List(tensors) => write_list(out, tensors, |out, sizes| write_sizes(out, sizes)),
    });
    out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_scalars_and_lists() {
        let text = "[[8, 512],[ 512 ], [], [[8, 511], [], [8, 1]]]";
        let inputs = parse_shapes(text).unwrap();
        assert_eq!(inputs[0].tensor(), Some(&[8, 512][..]));
        assert_eq!(inputs[2], Input::Tensor(vec![]));
        assert_eq!(inputs[3], Input::List(vec![vec![8, 511], vec![], vec![8, 1]]));
        assert_eq!(shapes_text(&inputs), "[[8, 512], [512], [], [[8, 511], [], [8, 1]]]");
        assert_eq!(parse_shapes("[]").unwrap(), vec![]);
        assert_eq!(parse_shapes("[[-1]]").unwrap(), vec![Input::Tensor(vec![-1])]);
    }

    #[test]
    fn other_text_is_no_shape() {
        let deep = "[".repeat(100_000);
        for text in ["", "[", "[[1,]]", "[[1]] x", "null", "[[1.5]]", "[\"a\"]", "[[[[1]]]]", "[[--1]]", &deep]
        {
            assert_eq!(parse_shapes(text), None, "{text:.20}");
        }
        assert_eq!(parse_shapes("[[99999999999999999999]]"), None);
    }
}
