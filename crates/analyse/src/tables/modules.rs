//! Time by `nn.Module`: which layer of the model costs what, forward and backward.
//!
//! A node is a path of module instances (`GPT_0/Block_1/Linear_4`), found by containment on the thread's call
//! tree. Device work belongs to the module around the call that launched it. Backward work runs on another
//! thread without any module around it; it is brought home through forward-to-backward links and kept in
//! numbers of its own, never mixed with forward time. What belongs to no module is in the ledger.

mod tree;
mod walk;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{SliceId, Trace};

use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;

/// What a module is known by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Calls named `nn.Module: X_0` of a recording with Python stacks.
    PythonCalls,
    /// The text `Module Hierarchy` on operators; calls of a module are not distinguished.
    HierarchyText,
    /// The file names no modules.
    None,
}

/// One module at one place of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Module {
    /// The instance (`Linear_3`).
    pub name: String,
    /// Its class (`Linear`).
    pub class: String,
    /// The instances around it and itself, joined by `/`.
    pub path: String,
    /// How many modules are around it.
    pub depth: u32,
    /// Position of the module around it in the list.
    pub parent: Option<usize>,
    /// How often it was called; `None` where the file only gives hierarchy texts.
    pub occurrences: Option<u64>,
    /// Outermost operators run by itself.
    pub operators: u64,
    /// Outermost operators run by itself and its child modules.
    pub operators_total: u64,
    /// Floating-point operations of its operators and those of its child modules, forward only.
    pub flops_total: u64,
    /// The same less its child modules.
    pub flops_self: u64,
    pub host_total_ns: i64,
    /// The same less its child modules.
    pub host_self_ns: i64,
    /// Device time launched by it.
    pub device_total_ns: i64,
    /// The same less its child modules.
    pub device_self_ns: i64,
    /// Host time of the backward operators of its forward operators, child modules included.
    pub backward_host_ns: i64,
    /// The same less its child modules.
    pub backward_host_self_ns: i64,
    /// Device time launched by those backward operators, child modules included.
    pub backward_device_ns: i64,
    /// The same less its child modules.
    pub backward_device_self_ns: i64,
}

/// Where all device time went; the four parts add up to `device_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModulesLedger {
    /// Sum of the durations of all device work.
    pub device_ns: i64,
    pub forward_device_ns: i64,
    /// Under the backward operator of a module's operator.
    pub backward_device_ns: i64,
    /// Launched outside of every module (optimizer, loss, gradients without a forward link).
    pub outside_device_ns: i64,
    /// Without a known launch.
    pub unlinked_device_ns: i64,
    /// Host calls and operators that overlap their neighbor without nesting: their module may be wrong.
    pub misnested: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ModulesReport {
    /// How the modules were found.
    pub origin: Origin,
    /// The tree as a list: a module comes after the one around it; neighbors in order of first call.
    pub modules: Vec<Module>,
    /// Where all device time went.
    pub ledger: ModulesLedger,
}

/// Which module every host slice belongs to.
pub(crate) struct Homes(walk::ModulesOfSlices);

impl Homes {
    /// Looks at a whole trace.
    pub(crate) fn new(trace: &Trace) -> Homes {
        Homes(walk::ModulesOfSlices::in_trace(trace))
    }

    /// The number of a host slice's module, and whether the slice is of its backward pass.
    pub(crate) fn number(&self, host: SliceId) -> Option<(u32, bool)> {
        self.0.number(host)
    }

    /// The path of a module: `GPT_0/Block_1/Linear_4`.
    pub(crate) fn path(&self, number: u32) -> &str {
        self.0.paths.get(number as usize).map_or("", String::as_str)
    }
}

/// Answers which module costs what.
pub fn analyze(trace: &Trace, selection: &Selection) -> ModulesReport {
    walk::report(trace, selection)
}

/// Every number of a module.
pub const DEFINITIONS: &[Definition] = definitions! {
    "occurrences", "Calls" =>
        "How often this instance was called at this place in the model; for a class, summed over its modules.";
    "operators", "Operators self" =>
        "Operators run by the module itself: those with no other operator of the module around them, and not inside a \
         child module.";
    "operators_total", "Operators" => "Operators run by the module itself and by all child modules.";
    "flops_total", "FLOPs" =>
        "Floating-point operations of all operators inside the module and its child modules, forward only, by PyTorch's \
         with_flops formulas from the recorded input shapes. They cover mm, addmm, bmm, baddbmm, conv2d, add and mul; \
         every other operator counts as 0, which means not counted.";
    "flops_self", "FLOPs, self" => "FLOPs less those of its child modules.";
    "host_total_ns", "Host total" =>
        "Summed duration of the module's calls on the host; where only hierarchy texts are recorded, of its outermost \
         operators.";
    "host_self_ns", "Host self" =>
        "Host total less the host total of its child modules; for a class, summed over its modules.";
    "device_total_ns", "Device total" =>
        "Summed duration of the kernels, copies and memsets whose launching call (or, without one, whose operator) lies \
         inside the module. Work that overlaps on the device counts in full.";
    "device_self_ns", "Device self" =>
        "Device total less the device total of its child modules; for a class, summed over its modules.";
    "backward_host_ns", "Backward host" =>
        "Host time of the backward operators that forward-to-backward links join to the module's operators, child modules \
         included. Not part of host total.";
    "backward_host_self_ns", "Backward host self" => "Backward host time less that of its child modules.";
    "backward_device_ns", "Backward device" =>
        "Device time launched by the backward operators that forward-to-backward links join to the module's operators, \
         child modules included; in the ledger, to those of any module. Not part of device total.";
    "backward_device_self_ns", "Backward self" =>
        "Backward device time less that of its child modules; for a class, summed over its modules.";
};

/// Where all device time went.
pub const LEDGER_DEFINITIONS: &[Definition] = definitions! {
    "device_ns", "Device time" =>
        "Summed duration of all kernels, copies and memsets: forward, backward, outside modules and unlinked add up to it.";
    "forward_device_ns", "Forward" => "Device time whose launching call or operator lies inside a module.";
    "outside_device_ns", "Outside modules" =>
        "Device time launched outside of every module and of every linked backward operator: the optimizer, the loss, \
         copies of the input, gradient accumulation.";
    "unlinked_device_ns", "Unlinked" => "Device time whose launching call and operator are not in the file.";
    "misnested", "Misnested" =>
        "Host calls and operators that overlap a neighbor on their thread without nesting in it. Their module may be \
         wrong.";
};
