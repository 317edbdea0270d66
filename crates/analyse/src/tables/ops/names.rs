//! What an operator's name says about it, asked once per name.

use stepscope_model::{StrId, Trace};

use crate::names::ranges::step_number;
use crate::names::tensor_core::op_is_eligible;
use crate::tables::flops::{Formula, formula};

#[derive(Copy, Clone, Default)]
pub(crate) struct NameFacts {
    /// The profiler's own bookkeeping: no row, and its children move up.
    pub hidden: bool,
    /// One of the numbered step ranges, which share a row.
    pub step: bool,
    /// A range that older files list among the operators.
    pub annotation: bool,
    /// The range of a collective: it ends on another thread, so it calls nothing and has no time of its own.
    pub asynchronous: bool,
    /// Can use tensor cores.
    pub eligible: bool,
    /// How its floating-point operations are counted.
    pub formula: Option<Formula>,
}

/// Facts of every name asked about so far.
pub(crate) struct Names<'a> {
    trace: &'a Trace,
    facts: Vec<Option<NameFacts>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        Names { trace, facts: vec![None; trace.strings().len()] }
    }

    pub(crate) fn facts(&mut self, name: StrId) -> NameFacts {
        let trace = self.trace;
        *self.facts[name.index()].get_or_insert_with(|| facts(trace.text(name)))
    }
}

pub(crate) fn facts(name: &str) -> NameFacts {
    let step = step_number(name).is_some();
    let annotation = step
        || name.starts_with("Optimizer.")
        || name.starts_with("enumerate(DataLoader)#")
        || name.starts_with("enumerate(DataPipe)#");
    let hidden = matches!(
        name,
        "[memory]"
            | "[OutOfMemory]"
            | "profiler::_record_function_enter"
            | "profiler::_record_function_enter_new"
            | "profiler::_record_function_exit"
            | "aten::is_leaf"
            | "aten::output_nr"
            | "aten::_version"
    );
    // The file does not tell which ranges end on another thread; of PyTorch's own, the collectives' do.
    let asynchronous =
        ["nccl:", "gloo:", "ucc:", "mpi:", "xccl:", "hccl:"].iter().any(|backend| name.starts_with(backend));
    NameFacts { hidden, step, annotation, asynchronous, eligible: op_is_eligible(name), formula: formula(name) }
}
