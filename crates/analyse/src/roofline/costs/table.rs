//! The costs of calls, each distinct call counted once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::roofline::call::{Call, Texts};
use crate::roofline::cost::Cost;
use crate::roofline::models::{Model, model, short_name};
use crate::roofline::number::Element;

/// Costs by what they depend on: calls with the same name, shapes and parameters are counted once.
pub(super) struct Table<'a> {
    trace: &'a Trace,
    models: ByName<'a, Option<Model>, FindModel>,
    known: HashMap<Key, Option<Cost>, RandomState>,
}

type FindModel = fn(&str) -> Option<Model>;

/// Name, sizes, types, strides, values, bytes of an element of a list.
type Key = ([StrId; 5], u64);

impl<'a> Table<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        Table { trace, models: ByName::new(trace, model), known: HashMap::default() }
    }

    pub(super) fn model(&mut self, name: StrId) -> Option<Model> {
        self.models.get(name)
    }

    pub(super) fn cost(&mut self, id: SliceId, model: Model, list_element: Option<Element>) -> Option<Cost> {
        let trace = self.trace;
        let args = trace.args(id);
        let dims = args.text_id(Attr::InputShapes)?;
        let text = |attr| args.text_id(attr).unwrap_or_default();
        let name = trace.slices().name(id);
        let texts = [dims, text(Attr::InputTypes), text(Attr::InputStrides), text(Attr::ConcreteInputs)];
        let key = ([name, texts[0], texts[1], texts[2], texts[3]], list_element.map_or(0, |e| e.bytes));
        *self.known.entry(key).or_insert_with(|| {
            let [dims, types, strides, concrete] = texts.map(|id| trace.text(id));
            let call = Call::read(Texts { dims, types, strides, concrete }, list_element)?;
            (model.count)(short_name(trace.text(name)), &call)
        })
    }
}
