//! What makes a row beside the name: shapes, stack or overload.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, SliceId, StrId, Trace};

use super::stacks::Stacks;
use super::{OpGroup, OpRow};
use crate::names::shapes::Shapes;

/// Numbers what a row adds to the name.
pub(super) enum Extra<'a> {
    None,
    Shapes(Shapes<'a>),
    Stacks(Stacks<'a>),
    Overloads(Overloads<'a>),
}

/// Overload names, where the file has them.
pub(super) struct Overloads<'a> {
    trace: &'a Trace,
    numbers: HashMap<StrId, u32, RandomState>,
    texts: Vec<StrId>,
}

impl<'a> Extra<'a> {
    pub(super) fn new(trace: &'a Trace, by: OpGroup) -> Self {
        match by {
            OpGroup::Name => Extra::None,
            OpGroup::Shapes => Extra::Shapes(Shapes::new(trace, false)),
            OpGroup::ShapesWithLists => Extra::Shapes(Shapes::new(trace, true)),
            OpGroup::Stack(depth) => Extra::Stacks(Stacks::new(trace, depth)),
            OpGroup::Overload => {
                Extra::Overloads(Overloads { trace, numbers: HashMap::default(), texts: Vec::new() })
            }
        }
    }

    pub(super) fn number(&mut self, id: SliceId) -> u32 {
        match self {
            Extra::None => 0,
            Extra::Shapes(shapes) => shapes.number(id),
            Extra::Stacks(stacks) => stacks.number(id),
            Extra::Overloads(known) => {
                let text = known.trace.args(id).text_id(Attr::Overload).unwrap_or_default();
                *known.numbers.entry(text).or_insert_with(|| {
                    known.texts.push(text);
                    known.texts.len() as u32 - 1
                })
            }
        }
    }

    pub(super) fn describe(&self, number: u32, row: &mut OpRow) {
        match self {
            Extra::None => {}
            Extra::Shapes(shapes) => row.input_shapes = Some(shapes.text(number).to_owned()),
            Extra::Stacks(stacks) => row.stack = Some(stacks.frames(number)),
            Extra::Overloads(known) => {
                let text = known.texts.get(number as usize).map_or("", |&text| known.trace.text(text));
                row.overload = Some(text.to_owned()).filter(|t| !t.is_empty());
            }
        }
    }
}
