//! What a slice is, in the few words that a picture has colors for.
//!
//! The words come from the analyses: [`crate::threads::activity`] tells host slices, [`crate::names::comm`] communication. Nearly all
//! follows from kind and name, so each pair is asked once.

use rayon::prelude::*;
use stepscope_model::{Kind, SliceId, StrId, Trace};

use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::tables::ops::names::facts;
use crate::threads::activity::{Activity, of_call, of_framework, of_operator, of_python, of_range};
use crate::threads::lock;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Category {
    Operator,
    Python,
    Annotation,
    RuntimeCall,
    /// A call that waits for a device by its name, or a wait that a device recorded.
    Wait,
    Matmul,
    Attention,
    Elementwise,
    Reduction,
    Communication,
    Copy,
    OtherKernel,
    ProfilerOverhead,
    Step,
    DataLoading,
    Other,
}

pub const CATEGORIES: [&str; 16] = [
    "operator",
    "Python",
    "annotation",
    "runtime call",
    "device wait",
    "matrix multiply",
    "attention",
    "elementwise",
    "reduction",
    "communication",
    "copy",
    "other kernel",
    "profiler overhead",
    "step",
    "data loading",
    "other",
];

impl Category {
    pub(super) fn number(self) -> u8 {
        self as u8
    }
}

/// Kinds that are distinguished by the same question about the name.
#[derive(Copy, Clone)]
enum Class {
    Operator,
    Range,
    Python,
    Call,
    Kernel,
    Framework,
    /// The name says nothing: the kind alone decides.
    Rest,
}

const CLASS_COUNT: usize = 7;
const NO_CATEGORY: u8 = u8::MAX;

fn class(kind: Kind) -> Class {
    match kind {
        Kind::HostOp => Class::Operator,
        Kind::HostAnnotation | Kind::DeviceAnnotation => Class::Range,
        Kind::PythonFunction => Class::Python,
        Kind::Runtime | Kind::Driver => Class::Call,
        Kind::Kernel => Class::Kernel,
        Kind::FrameworkCall => Class::Framework,
        _ => Class::Rest,
    }
}

/// Categories by name and class, for those that slices and points have.
#[derive(Debug)]
pub(super) struct Categories {
    /// `CLASS_COUNT` numbers a text; [`NO_CATEGORY`] where nothing has this name.
    table: Vec<u8>,
}

impl Categories {
    pub(super) fn new(trace: &Trace) -> Categories {
        let slices = trace.slices();
        let mut table = vec![NO_CATEGORY; trace.strings().len() * CLASS_COUNT];
        for (id, &kind) in slices.ids().zip(slices.kinds()) {
            table[slices.name(id).index() * CLASS_COUNT + class(kind) as usize] = 0;
        }
        let points = trace.points();
        let counters = trace.counters().series().iter().map(|series| series.name);
        let allocations = Some(trace.allocations().name()).filter(|_| !trace.allocations().is_empty());
        for name in points.ids().map(|id| points.name(id)).chain(counters).chain(allocations) {
            table[name.index() * CLASS_COUNT + Class::Rest as usize] = 0;
        }
        table.par_chunks_mut(CLASS_COUNT).enumerate().with_min_len(1024).for_each(|(name, numbers)| {
            let text = trace.text(StrId::from_index(name));
            let questions =
                [of_op, of_annotation, of_python_call, of_runtime_call, kernel_category, of_framework_call];
            for (number, question) in numbers.iter_mut().zip(questions) {
                if *number != NO_CATEGORY {
                    *number = question(text).number();
                }
            }
        });
        Categories { table }
    }

    pub(super) fn category_of(&self, trace: &Trace, id: SliceId) -> u8 {
        let slices = trace.slices();
        let kind = slices.kind(id);
        match kind {
            Kind::Other if trace.category(slices.cat(id)) == lock::LOCK_CATEGORY => {
                of_lock(trace.name(id)).number()
            }
            Kind::Other if trace.category(slices.cat(id)) == lock::TASK_CATEGORY => {
                Category::Annotation.number()
            }
            _ if matches!(class(kind), Class::Rest) => of_kind(kind).number(),
            // A kernel of a collective's operator communicates, whatever its own name: as `comm` has it.
            Kind::Kernel if self.operator_communicates(trace, id) => Category::Communication.number(),
            _ => self.get(slices.name(id), class(kind)),
        }
    }

    /// Whether any slice or point has this name.
    pub(super) fn names_something(&self, name: StrId) -> bool {
        let at = name.index() * CLASS_COUNT;
        self.table.get(at..at + CLASS_COUNT).is_some_and(|numbers| numbers.iter().any(|&n| n != NO_CATEGORY))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.table.len()
    }

    fn operator_communicates(&self, trace: &Trace, kernel: SliceId) -> bool {
        let slices = trace.slices();
        trace.links().op(kernel).is_some_and(|op| {
            self.get(slices.name(op), class(slices.kind(op))) == Category::Communication.number()
        })
    }

    fn get(&self, name: StrId, class: Class) -> u8 {
        match self.table.get(name.index() * CLASS_COUNT + class as usize) {
            Some(&number) if number != NO_CATEGORY => number,
            _ => Category::Other.number(),
        }
    }
}

/// The category of slices of which only kind and name are known.
pub(crate) fn category_of(kind: Kind, name: &str) -> u8 {
    let category = match class(kind) {
        Class::Operator => of_op(name),
        Class::Range => of_annotation(name),
        Class::Python => of_python_call(name),
        Class::Call => of_runtime_call(name),
        Class::Kernel => kernel_category(name),
        Class::Framework => of_framework_call(name),
        Class::Rest => of_kind(kind),
    };
    category.number()
}

fn kernel_category(name: &str) -> Category {
    match kernel_family(name) {
        KernelFamily::Communication => Category::Communication,
        KernelFamily::Elementwise => Category::Elementwise,
        KernelFamily::Attention => Category::Attention,
        KernelFamily::Reduction => Category::Reduction,
        KernelFamily::Matmul => Category::Matmul,
        KernelFamily::Other => Category::OtherKernel,
    }
}

/// The category where the kind alone decides.
fn of_kind(kind: Kind) -> Category {
    match kind {
        Kind::Memcpy | Kind::Memset => Category::Copy,
        Kind::Overhead => Category::ProfilerOverhead,
        Kind::DeviceSync => Category::Wait,
        Kind::Collective => Category::Communication,
        _ => Category::Other,
    }
}

/// What a thread does with the interpreter's lock: Python with it, native code without it.
fn of_lock(name: &str) -> Category {
    match name {
        lock::HOLDS_LOCK => Category::Python,
        lock::WITHOUT_LOCK => Category::Operator,
        lock::WAITS_FOR_LOCK => Category::Wait,
        _ => Category::Step,
    }
}

fn of_op(name: &str) -> Category {
    let facts = facts(name);
    match of_operator(name) {
        _ if facts.step => Category::Step,
        Activity::DataLoading => Category::DataLoading,
        Activity::Communication => Category::Communication,
        // Older files list ranges among the operators.
        _ if facts.annotation => Category::Annotation,
        _ => Category::Operator,
    }
}

fn of_annotation(name: &str) -> Category {
    match of_range(name) {
        _ if facts(name).step => Category::Step,
        Activity::DataLoading => Category::DataLoading,
        Activity::Communication => Category::Communication,
        _ => Category::Annotation,
    }
}

fn of_python_call(name: &str) -> Category {
    match of_python(name) {
        Activity::DataLoading => Category::DataLoading,
        _ => Category::Python,
    }
}

fn of_framework_call(name: &str) -> Category {
    match of_framework(name) {
        Activity::DataLoading => Category::DataLoading,
        Activity::Synchronization => Category::Wait,
        _ => Category::RuntimeCall,
    }
}

fn of_runtime_call(name: &str) -> Category {
    match of_call(name) {
        Activity::Synchronization => Category::Wait,
        _ => Category::RuntimeCall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        assert_eq!(CATEGORIES[Category::Wait.number() as usize], "device wait");
        assert_eq!(CATEGORIES[Category::OtherKernel.number() as usize], "other kernel");
        assert_eq!(CATEGORIES[Category::Other.number() as usize], "other");
        assert_eq!(Category::Step.number(), 13);
    }

    #[test]
    fn host_slices_by_name() {
        assert_eq!(of_op("aten::mm"), Category::Operator);
        assert_eq!(of_op("ProfilerStep#3"), Category::Step);
        assert_eq!(of_op("Optimizer.step#SGD.step"), Category::Annotation);
        assert_eq!(of_op("enumerate(DataLoader)#X.__next__"), Category::DataLoading);
        assert_eq!(of_annotation("nccl:all_reduce"), Category::Communication);
        assert_eq!(of_annotation("forward"), Category::Annotation);
        assert_eq!(of_python_call("torch/utils/data/dataloader.py(733): __next__"), Category::DataLoading);
        assert_eq!(of_runtime_call("cudaDeviceSynchronize"), Category::Wait);
        assert_eq!(of_runtime_call("cudaLaunchKernel"), Category::RuntimeCall);
    }
}
