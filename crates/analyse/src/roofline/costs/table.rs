//! The costs of calls, each distinct call counted once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{SliceId, StrId, Trace};

use crate::names::by_name::ByName;
use crate::names::shapes;
use crate::roofline::call::{Call, Texts};
use crate::roofline::cost::Cost;
use crate::roofline::models::{Model, model, short_name};
use crate::roofline::number::Element;

/// Costs by what they depend on: calls with the same name, shapes and parameters are counted once.
pub(super) struct Table<'a> {
    trace: &'a Trace,
    models: ByName<'a, Option<Model>, FindModel>,
    dims: [Option<StrId>; 2],
    types: Option<StrId>,
    strides: Option<StrId>,
    concrete: Option<StrId>,
    known: HashMap<Key, Option<Cost>, RandomState>,
}

/// Finds the model of a name.
type FindModel = fn(&str) -> Option<Model>;

/// Name, sizes, types, strides, values, bytes of an element of a list.
type Key = ([StrId; 5], u64);

impl<'a> Table<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let find = |key| trace.strings().find(key);
        Table {
            trace,
            models: ByName::new(trace, model),
            dims: shapes::dims_keys(trace),
            types: find("Input type"),
            strides: find("Input Strides"),
            concrete: find("Concrete Inputs"),
            known: HashMap::default(),
        }
    }

    pub(super) fn model(&mut self, name: StrId) -> Option<Model> {
        self.models.get(name)
    }

    pub(super) fn cost(&mut self, id: SliceId, model: Model, list_element: Option<Element>) -> Option<Cost> {
        let trace = self.trace;
        let dims = shapes::dims_text(trace, id, self.dims)?;
        let args = trace.args(id);
        let text = |key: Option<StrId>| key.and_then(|key| args.text_id(key)).unwrap_or_default();
        let name = trace.slices().name(id);
        let texts = [dims, text(self.types), text(self.strides), text(self.concrete)];
        let key = ([name, texts[0], texts[1], texts[2], texts[3]], list_element.map_or(0, |e| e.bytes));
        *self.known.entry(key).or_insert_with(|| {
            let [dims, types, strides, concrete] = texts.map(|id| trace.text(id));
            let call = Call::read(Texts { dims, types, strides, concrete }, list_element)?;
            (model.count)(short_name(trace.text(name)), &call)
        })
    }
}
