//! A row per function of the program, or per call that it makes: host time, waiting for a device, and the device time that
//! it launched.
//!
//! Every host slice is charged to the innermost function of the program around it, and to what that function called there.
//! Device work is charged to where its launching call is; work of the backward pass to where the operator of the forward
//! pass was. Each piece of device work counts once, so the rows add up to all of it.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, LaneId, Ns, Order, SAMPLES_OF, SliceId, StrId, Trace};

use crate::names::library_file::is_library_file;
use crate::names::python_frame::python_frame;
use crate::scope::NONE;
use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;
use crate::scope::share::share;
use crate::scope::windows::{Windows, signed};
use crate::threads::callers::Callers;
use crate::threads::sampled::{SampleLanes, SampledCallers};

/// The row for time that no function of the program caused.
pub const NO_PYTHON: &str = "(no function of the program)";
/// Operators that are walked up to find one with a forward operator.
const MAX_DEPTH: usize = 512;

/// What rows are made by.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeBy {
    /// A row per function.
    #[default]
    Function,
    /// A row per function and what it called.
    Call,
}

/// One function, or one function and what it called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CodeRow {
    pub function: String,
    /// Its file; none for what belongs to no function of the program.
    pub file: Option<String>,
    /// The line it starts at.
    pub line: Option<u32>,
    /// What it called; none for its own code.
    pub called: Option<String>,
    pub calls: u64,
    pub host_ns: i64,
    /// Waiting for a device.
    pub wait_ns: i64,
    /// The same as a share of the steps.
    pub wait_share: f64,
    /// Device time that it launched.
    pub device_ns: i64,
    /// The part of it that the backward pass launched.
    pub backward_device_ns: i64,
    /// The device time as a share of all.
    pub device_share: f64,
    /// Kernels, copies and memsets.
    pub device_work: u64,
}

impl CodeRow {
    /// Where the function is: `file:line`, or nothing.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => String::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// A row each: the longest wait first, then the most device time.
    pub rows: Vec<CodeRow>,
    pub device_ns: i64,
    pub wait_ns: i64,
    /// The steps, summed: what shares of waiting are of.
    pub wall_ns: i64,
    /// Whether the trace has functions of the program at all.
    pub has_functions: bool,
}

pub(crate) struct CodeQuery<'a> {
    pub(crate) by: CodeBy,
    pub(crate) selection: &'a Selection,
    /// Calls that waited in the steps, with how long.
    pub(crate) waits: &'a [(SliceId, i64)],
    /// The program's main thread.
    pub(crate) main: Option<LaneId>,
    /// The steps; none where the trace marks none, and all of it counts.
    pub(crate) windows: &'a [(Ns, Ns)],
    pub(crate) wall_ns: i64,
}

pub(crate) fn code(trace: &Trace, callers: &Callers, query: &CodeQuery<'_>) -> Code {
    let (slices, tree) = (trace.slices(), callers.tree());
    let mut rows = Rows { trace, by: query.by, rows: Vec::new(), known: HashMap::default() };
    let mut own_names: HashMap<StrId, bool, RandomState> = HashMap::default();
    let mut is_own = |id: SliceId| {
        slices.kind(id) == Kind::PythonFunction
            && *own_names.entry(slices.name(id)).or_insert_with(|| {
                let frame = python_frame(trace.text(slices.name(id)));
                !frame.file.is_empty() && !is_library_file(frame.file)
            })
    };
    // By slice: its row, and the function of the program that it is. Ranges that the function itself opened count as it.
    // Parents come before their children.
    let mut region = vec![NONE; slices.len()];
    let mut own: Vec<Option<SliceId>> = vec![None; slices.len()];
    let mut has_functions = false;
    let steps = (!query.windows.is_empty()).then(|| Windows::new(query.windows, |_| true));
    let elsewhere = sampled_elsewhere(trace, query.main);
    let in_steps = |id: SliceId| match &steps {
        Some(steps) => signed(steps.length((slices.start(id), slices.end(id)))),
        None => slices.dur(id).0,
    };
    for id in slices.ids().filter(|&id| !slices.kind(id).is_device()) {
        let parent = tree.parent(id);
        let above = parent.map_or(NONE, |parent| region[parent.index()]);
        let at = id.index();
        region[at] = above;
        let function = is_own(id);
        let caller = parent.and_then(|parent| own[parent.index()]).filter(|_| !function);
        if caller.is_some() && slices.kind(id) == Kind::HostAnnotation {
            own[at] = caller;
            continue;
        }
        has_functions |= function;
        let row = match (function, caller) {
            (true, _) => {
                own[at] = Some(id);
                rows.row_of(slices.name(id), None)
            }
            (false, Some(caller)) if query.by == CodeBy::Call => {
                rows.row_of(slices.name(caller), Some(slices.name(id)))
            }
            _ => continue,
        };
        region[at] = row;
        let dur = if elsewhere(id) { 0 } else { in_steps(id) };
        if dur > 0 && query.selection.contains(trace, id) {
            rows.rows[row as usize].calls += 1;
            rows.add(row, |row| row.host_ns = row.host_ns.saturating_add(dur));
            if above != NONE {
                rows.add(above, |row| row.host_ns = row.host_ns.saturating_sub(dur));
            }
        }
    }
    let whose = |stack: SliceId| Some(region[stack.index()]).filter(|row| *row != NONE);
    let mut seen = SampleLanes::new(trace).callers_of(trace, callers, whose);
    let mut report = Code { wall_ns: query.wall_ns, has_functions, ..Code::default() };
    for id in slices.ids().filter(|&id| is_work(slices.kind(id)) && query.selection.contains(trace, id)) {
        let links = trace.links();
        let from = links.launch(id).or_else(|| links.op(id));
        let (row, backward) = place(trace, callers, &mut seen, &region, from);
        let row = if row == NONE { rows.unlinked_row() } else { row };
        let dur = slices.dur(id).0;
        report.device_ns = report.device_ns.saturating_add(dur);
        rows.add(row, |row| {
            row.device_ns = row.device_ns.saturating_add(dur);
            row.device_work += 1;
            if backward {
                row.backward_device_ns = row.backward_device_ns.saturating_add(dur);
            }
        });
    }
    for &(call, wait_ns) in query.waits {
        let (row, _) = place(trace, callers, &mut seen, &region, Some(call));
        let row = if row == NONE { rows.unlinked_row() } else { row };
        report.wait_ns = report.wait_ns.saturating_add(wait_ns);
        rows.add(row, |row| row.wait_ns = row.wait_ns.saturating_add(wait_ns));
    }
    report.rows = rows.rows;
    for row in &mut report.rows {
        row.wait_share = share(row.wait_ns, query.wall_ns);
        row.device_share = share(row.device_ns, report.device_ns);
    }
    report.rows.retain(|row| row.host_ns > 0 || row.wait_ns > 0 || row.device_work > 0);
    report.rows.order_by(|a, b| {
        let key = |row: &CodeRow| (row.wait_ns, row.device_ns, row.host_ns);
        key(b).cmp(&key(a)).then_with(|| (&a.file, a.line, &a.called).cmp(&(&b.file, b.line, &b.called)))
    });
    report
}

/// Tells samples of the main thread's process from those of its children, which have their own steps, if any.
fn sampled_elsewhere(trace: &Trace, main: Option<LaneId>) -> impl Fn(SliceId) -> bool {
    let process = main.map(|main| trace.lanes().get(main).key.process);
    let lanes = trace.lanes().iter().map(|(_, lane)| {
        trace.text(lane.thread_name).starts_with(SAMPLES_OF)
            && process.is_some_and(|process| lane.key.process != process)
    });
    let lanes: Vec<bool> = lanes.collect();
    let slices = trace.slices();
    move |id| lanes[slices.lane(id).index()]
}

fn is_work(kind: Kind) -> bool {
    matches!(kind, Kind::Kernel | Kind::Memcpy | Kind::Memset)
}

/// The row of a host slice, and whether it was found through the forward pass.
fn place(
    trace: &Trace,
    callers: &Callers,
    seen: &mut SampledCallers<impl Fn(SliceId) -> Option<u32>>,
    region: &[u32],
    from: Option<SliceId>,
) -> (u32, bool) {
    let Some(from) = from else { return (NONE, false) };
    // Where functions are not recorded, one that a sampler saw in such a call.
    let mut row = |slice: SliceId| match region[slice.index()] {
        NONE => seen.caller(trace, callers, slice).unwrap_or(NONE),
        row => row,
    };
    let direct = row(from);
    if direct != NONE {
        return (direct, false);
    }
    // A call on a lane of its own is in the operator it names.
    let op = trace.links().op(from).filter(|op| *op != from);
    if let Some(of_op) = op.map(&mut row).filter(|row| *row != NONE) {
        return (of_op, false);
    }
    let mut at = Some(from);
    for _ in 0..MAX_DEPTH {
        let Some(slice) = at else { break };
        let forward = trace.links().forward_of(slice).map(&mut row);
        if let Some(row) = forward.filter(|row| *row != NONE).min() {
            return (row, true);
        }
        at = callers.tree().parent(slice);
    }
    (NONE, false)
}

/// Rows by function and what was called.
struct Rows<'a> {
    trace: &'a Trace,
    by: CodeBy,
    rows: Vec<CodeRow>,
    known: HashMap<(Option<StrId>, String), u32, RandomState>,
}

impl Rows<'_> {
    fn row_of(&mut self, function: StrId, called: Option<StrId>) -> u32 {
        let called =
            called.filter(|_| self.by == CodeBy::Call).map(|name| without_address(self.trace.text(name)));
        let key = (Some(function), called.as_deref().unwrap_or_default().to_owned());
        let (trace, rows) = (self.trace, &mut self.rows);
        *self.known.entry(key).or_insert_with(|| {
            let frame = python_frame(trace.text(function));
            rows.push(CodeRow {
                function: frame.name.to_owned(),
                file: Some(frame.file.to_owned()),
                line: (frame.line > 0).then_some(frame.line),
                called: called.map(Cow::into_owned),
                ..CodeRow::default()
            });
            rows.len() as u32 - 1
        })
    }

    fn unlinked_row(&mut self) -> u32 {
        let rows = &mut self.rows;
        *self.known.entry((None, String::new())).or_insert_with(|| {
            rows.push(CodeRow { function: NO_PYTHON.to_owned(), ..CodeRow::default() });
            rows.len() as u32 - 1
        })
    }

    fn add(&mut self, row: u32, change: impl FnOnce(&mut CodeRow)) {
        if let Some(row) = self.rows.get_mut(row as usize) {
            change(row);
        }
    }
}

/// `<built-in method item of Tensor object at 0x7f…>` without the address, and without its brackets.
fn without_address(name: &str) -> Cow<'_, str> {
    match name.split_once(" at 0x") {
        Some((before, _)) if name.starts_with('<') => Cow::Owned(format!("{before}>")),
        _ => Cow::Borrowed(name),
    }
}

/// Every number of the table.
pub const DEFINITIONS: &[Definition] = definitions! {
    "line", "Line" => "The line at which the function starts.";
    "calls", "Calls" => "How often the function was called, or how often it called the other; as the trace recorded them.";
    "host_ns", "Host" =>
        "Time on its thread while this was the innermost function of the program, with all that it called outside of the \
         program: operators, libraries and waiting; only inside of steps, where the trace marks them, and without sampled \
         child processes. Grouped by call: the part of it in what was called.";
    "wait_ns", "Waiting" =>
        "The part of calls that wait for a device during which the device was not done yet (`stepscope waits`), charged to \
         the function of the program around the call. Only calls that start in a step count.";
    "wait_share", "Of the steps" => "Waiting divided by the wall time of all steps.";
    "device_ns", "Device" =>
        "Durations of the kernels, copies and memsets that were launched under it, each counted once. Work of the backward \
         pass is charged to the function whose operator it belongs to.";
    "backward_device_ns", "Backward device" => "The part of the device time that the backward pass launched.";
    "device_share", "% device" => "The device time divided by that of all kernels, copies and memsets.";
    "device_work", "Device work" => "How many kernels, copies and memsets were launched under it.";
    "wall_ns", "Steps" => "The wall time of all steps, summed.";
};

#[cfg(test)]
mod tests {
    use super::without_address;

    #[test]
    fn addresses_do_not_tell_calls_apart() {
        let name = "<built-in method item of Tensor object at 0x7f00>";
        assert_eq!(without_address(name), "<built-in method item of Tensor object>");
        assert_eq!(without_address("aten::item"), "aten::item");
    }
}
