//! The shapes of operators' inputs as rows are grouped by them: each distinct text read once, equal shapes one number.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Input, SliceId, StrId, Trace, parse_shapes, shapes_text};

/// The canonical text with every list of tensors emptied, which is how PyTorch's own tables group: it counts
/// `cat` of two tensors and `cat` of five as one row.
fn without_lists(text: &str) -> Option<String> {
    let mut inputs = parse_shapes(text)?;
    for input in &mut inputs {
        if matches!(input, Input::List(_)) {
            *input = Input::Tensor(Vec::new());
        }
    }
    Some(shapes_text(&inputs))
}

/// The shapes of a trace, each distinct text read once.
pub(crate) struct Shapes<'a> {
    trace: &'a Trace,
    /// Whether lists of tensors keep their shapes.
    lists: bool,
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
            of_text: vec![0; trace.strings().len()],
            none: None,
            texts: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    /// The number of an operator's shapes: equal shapes have equal numbers. Without any it is that of `[]`.
    pub(crate) fn number(&mut self, id: SliceId) -> u32 {
        match self.trace.args(id).text_id(Attr::InputShapes) {
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
        let shape =
            if self.lists { parse_shapes(raw).map(|inputs| shapes_text(&inputs)) } else { without_lists(raw) };
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

/// The texts of a JSON list of texts, as of the types of an operator's inputs. Escapes are left as they are: types and numbers have none.
pub(crate) fn texts(json: &str) -> Vec<String> {
    json.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_tensors_are_emptied() {
        let text = "[[8, 512],[ 512 ], [], [[8, 511], [], [8, 1]]]";
        assert_eq!(without_lists(text).as_deref(), Some("[[8, 512], [512], [], []]"));
        assert_eq!(without_lists("[[1,]]"), None);
    }
}
