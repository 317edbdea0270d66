//! What a host thread is doing, recognized by the slice it is in.
//!
//! Frameworks name their operators, runtime calls and loaders; those answers are certain. Two are heuristics: a
//! user's own range is taken for data loading if its name says so, and a Python call for compilation or garbage
//! collection by its file or function.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Attr, Kind, SliceId, Trace, Value};

use crate::names::by_name::ByName;
use crate::names::calls::{is_allocation, is_first_use, is_launch, is_synchronization};
use crate::names::comm::is_comm_range;
use crate::names::framework::{FrameworkCall, framework_call, jax_function};
use crate::names::ranges::looks_like_data_loading;

/// What a host thread is doing.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Fetching or preparing the next batch.
    DataLoading,
    /// Inside an operator of the framework, outside of runtime calls.
    Operator,
    /// Python between operators, in a named range or a recorded Python call.
    Python,
    /// In a call that hands work to a device.
    Launch,
    /// In a call that waits for a device.
    Synchronization,
    /// In a call that gets or returns device or pinned memory.
    Allocation,
    /// In any other call of the runtime or driver library, or in the framework's own runtime.
    Runtime,
    /// In a communication library.
    Communication,
    /// Compiling: tracing, lowering or building code.
    Compilation,
    /// Done once: creating a context, loading code onto a device, setting up a library.
    FirstUse,
    GarbageCollection,
    /// The profiler's own pauses.
    Profiler,
    /// In a call that waits for a device on which nothing was recorded meanwhile.
    DeviceUnrecorded,
    /// Nothing was recorded on the thread.
    Unrecorded,
}

impl Activity {
    /// All of them, in the order of the declaration.
    pub const ALL: [Activity; 14] = [
        Activity::DataLoading,
        Activity::Operator,
        Activity::Python,
        Activity::Launch,
        Activity::Synchronization,
        Activity::Allocation,
        Activity::Runtime,
        Activity::Communication,
        Activity::Compilation,
        Activity::FirstUse,
        Activity::GarbageCollection,
        Activity::Profiler,
        Activity::DeviceUnrecorded,
        Activity::Unrecorded,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Activity::DataLoading => "data loading",
            Activity::Operator => "operator",
            Activity::Python => "Python",
            Activity::Launch => "launch call",
            Activity::Synchronization => "synchronization",
            Activity::Allocation => "allocation",
            Activity::Runtime => "runtime call",
            Activity::Communication => "communication",
            Activity::Compilation => "compilation",
            Activity::FirstUse => "first use",
            Activity::GarbageCollection => "garbage collection",
            Activity::Profiler => "profiler",
            Activity::DeviceUnrecorded => "unrecorded device work",
            Activity::Unrecorded => "unrecorded",
        }
    }

    /// Whether everything called from within is the same activity.
    fn holds_its_children(self) -> bool {
        matches!(self, Activity::DataLoading | Activity::Compilation | Activity::GarbageCollection)
    }
}

pub(crate) fn of_range(name: &str) -> Activity {
    if looks_like_data_loading(name) {
        Activity::DataLoading
    } else if is_comm_range(name) {
        Activity::Communication
    } else if name.contains("dynamo_timed") || name.starts_with("_compile.") {
        Activity::Compilation
    } else {
        Activity::Python
    }
}

pub(crate) fn of_operator(name: &str) -> Activity {
    match of_range(name) {
        Activity::Python => Activity::Operator,
        other => other,
    }
}

pub(crate) fn of_call(name: &str) -> Activity {
    if is_synchronization(name) {
        Activity::Synchronization
    } else if is_allocation(name) {
        Activity::Allocation
    } else if is_first_use(name) {
        Activity::FirstUse
    } else if is_launch(name) {
        Activity::Launch
    } else {
        Activity::Runtime
    }
}

/// What the framework does in a range of its own.
pub(crate) fn of_framework(name: &str) -> Activity {
    activity_of(framework_call(name))
}

fn activity_of(call: FrameworkCall) -> Activity {
    match call {
        FrameworkCall::Compiles => Activity::Compilation,
        FrameworkCall::Loads => Activity::DataLoading,
        FrameworkCall::Waits => Activity::Synchronization,
        FrameworkCall::Runs => Activity::Runtime,
    }
}

pub(crate) fn of_python(name: &str) -> Activity {
    if name == "Python GC" || name == "<built-in function collect>" || name.starts_with("gc.py(") {
        Activity::GarbageCollection
    } else if name.starts_with("torch/utils/data/dataloader.py(") && name.ends_with(": __next__") {
        Activity::DataLoading
    } else if name.starts_with("torch/_dynamo/convert_frame.py(")
        || name.starts_with("torch/_inductor/compile_fx.py(")
    {
        Activity::Compilation
    } else {
        jax_function(name).map_or(Activity::Python, activity_of)
    }
}

/// The same in a profile of JAX, whose users write their loaders themselves: their functions tell by their names.
pub(crate) fn of_jax_python(name: &str) -> Activity {
    match of_python(name) {
        Activity::Python if name.split_once("): ").is_some_and(|frame| looks_like_data_loading(frame.1)) => {
            Activity::DataLoading
        }
        other => other,
    }
}

/// Tells activities, remembering each name.
pub(crate) struct Activities<'a> {
    trace: &'a Trace,
    ranges: ByName<'a, Activity, fn(&str) -> Activity>,
    operators: ByName<'a, Activity, fn(&str) -> Activity>,
    calls: ByName<'a, Activity, fn(&str) -> Activity>,
    python: ByName<'a, Activity, fn(&str) -> Activity>,
    framework: ByName<'a, Activity, fn(&str) -> Activity>,
}

impl<'a> Activities<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Self {
        Activities {
            trace,
            ranges: ByName::new(trace, of_range),
            operators: ByName::new(trace, of_operator),
            calls: ByName::new(trace, of_call),
            python: ByName::new(
                trace,
                if trace.meta().framework.is_some() { of_jax_python } else { of_python },
            ),
            framework: ByName::new(trace, of_framework),
        }
    }

    /// What a thread does in this slice, called from within that activity.
    pub(crate) fn activity_of(&mut self, id: SliceId, caller: Option<Activity>) -> Activity {
        let name = self.trace.slices().name(id);
        if let Some(caller) = caller.filter(|a| a.holds_its_children())
            // A function that was traced when it was called runs after all.
            && (caller != Activity::Compilation || self.trace.text(name) != "EagerKernelExecute")
        {
            return caller;
        }
        match self.trace.slices().kind(id) {
            Kind::HostOp => self.operators.get(name),
            Kind::HostAnnotation => self.ranges.get(name),
            Kind::PythonFunction => self.python.get(name),
            Kind::FrameworkCall if self.is_traced(id) => Activity::Compilation,
            Kind::FrameworkCall => self.framework.get(name),
            Kind::Runtime | Kind::Driver => self.calls.get(name),
            Kind::Overhead => Activity::Profiler,
            _ => Activity::Unrecorded,
        }
    }

    /// Whether TensorFlow builds the graph of a function in this call.
    fn is_traced(&self, id: SliceId) -> bool {
        let how = self.trace.args(id).value(Attr::FunctionCall).and_then(Value::as_text);
        how.is_some_and(|how| how.starts_with("traced"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_by_name() {
        use Activity::*;
        for (name, activity) in [
            ("cudaLaunchKernel", Launch),
            ("cuLaunchKernelEx", Launch),
            ("cudaGraphLaunch", Launch),
            ("hipExtModuleLaunchKernel", Launch),
            ("cudaMemcpyAsync", Launch),
            ("cudaMemsetAsync", Launch),
            ("cudaStreamSynchronize", Synchronization),
            ("hipDeviceSynchronize", Synchronization),
            ("cudaEventSynchronize", Synchronization),
            ("cudaMemcpy", Synchronization),
            ("cudaMalloc", Allocation),
            ("cudaMallocAsync", Allocation),
            ("cudaFree", Allocation),
            ("cudaHostAlloc", Allocation),
            ("cudaFuncGetAttributes", Runtime),
            ("cudaEventQuery", Runtime),
            ("cudaStreamWaitEvent", Runtime),
            ("cuModuleLoadData", FirstUse),
            ("cuDevicePrimaryCtxRetain", FirstUse),
        ] {
            assert_eq!(of_call(name), activity, "{name}");
        }
    }

    #[test]
    fn ranges_by_name() {
        for name in
            ["data_loading", "Load Batch", "enumerate(DataLoader)#X.__next__", "get_batch", "fetch-data"]
        {
            assert_eq!(of_range(name), Activity::DataLoading, "{name}");
        }
        for name in ["forward", "ProfilerStep#3", "to_device", "Optimizer.step#Adam.step", "aten::_load_data"] {
            assert_eq!(of_range(name), Activity::Python, "{name}");
        }
        assert_eq!(of_operator("aten::mm"), Activity::Operator);
        assert_eq!(of_operator("nccl:all_reduce"), Activity::Communication);
    }
}
