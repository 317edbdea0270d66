//! What memory was for, guessed from who asked for it and who gave it back.
//!
//! A snapshot knows addresses and stacks, not tensors. But optimizers, modules and the backward pass are in stacks, and so is
//! whoever frees: what `zero_grad` frees was a gradient, what the backward pass frees was kept for it. A guess, and
//! labeled as one wherever it is shown.

use stepscope_model::{Action, Frame, Snapshot, StackId};

use super::history::{Allocation, History};

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Weights and buffers of modules.
    Parameter,
    /// What the backward pass leaves for the optimizer.
    Gradient,
    OptimizerState,
    /// What the forward pass keeps for the backward pass.
    Activation,
    /// What is freed where it was made.
    Temporary,
    /// Batches, and other tensors that the program makes itself.
    Input,
    Unknown,
}

impl Category {
    pub const ALL: [Category; 7] = [
        Category::Parameter,
        Category::Gradient,
        Category::OptimizerState,
        Category::Activation,
        Category::Temporary,
        Category::Input,
        Category::Unknown,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Category::Parameter => "parameter",
            Category::Gradient => "gradient",
            Category::OptimizerState => "optimizer state",
            Category::Activation => "activation",
            Category::Temporary => "temporary",
            Category::Input => "input",
            Category::Unknown => "unknown",
        }
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Traits {
    any: bool,
    optimizer: bool,
    zero_grad: bool,
    /// Modules are made, moved or loaded.
    module_made: bool,
    forward: bool,
    backward: bool,
    /// A function of PyTorch is in it.
    torch: bool,
}

/// Guesses what allocations were for.
pub struct Categories<'a> {
    history: &'a History,
    traits: Vec<Traits>,
    /// The stacks of the device's entries.
    entries: Vec<StackId>,
    has_stacks: bool,
}

impl<'a> Categories<'a> {
    /// Looks at the stacks of a history.
    pub fn new(snapshot: &Snapshot, history: &'a History) -> Categories<'a> {
        let stacks = &snapshot.stacks;
        let mut traits = vec![Traits::default(); stacks.len()];
        for (stack, below, frame) in stacks.nodes() {
            let Frame { name, file, .. } = stacks.get(frame);
            traits[stack.index()] = with(traits[below.index()], stacks.text(name), stacks.text(file));
        }
        let of_device = snapshot.history.iter().filter(|entry| entry.device == history.device);
        let entries: Vec<StackId> = of_device.clone().map(|entry| entry.stack).collect();
        let mut allocs = of_device.filter(|entry| entry.action == Action::Alloc);
        Categories { history, traits, entries, has_stacks: allocs.any(|entry| entry.stack != StackId::EMPTY) }
    }

    fn traits_of(&self, stack: StackId) -> Traits {
        self.traits.get(stack.index()).copied().unwrap_or_default()
    }

    pub fn category(&self, allocation: &Allocation) -> Category {
        if !self.has_stacks {
            return Category::Unknown;
        }
        let made = self.traits_of(allocation.stack);
        let freed = self.entries.get(allocation.to as usize).map(|stack| self.traits_of(*stack));
        // The engine runs the backward pass in threads without Python.
        let backward = |traits: Traits| traits.backward || !traits.any;
        if allocation.before && !made.any {
            // A history that has lost its beginning does not say who made it. Whoever frees may.
            return match freed {
                Some(freed) if freed.zero_grad => Category::Gradient,
                Some(freed) if freed.backward => Category::Activation,
                _ => Category::Unknown,
            };
        }
        match freed {
            _ if made.optimizer => match freed {
                Some(freed) if freed.optimizer && !freed.zero_grad => Category::Temporary,
                _ => Category::OptimizerState,
            },
            Some(freed) if freed.zero_grad => Category::Gradient,
            _ if made.module_made => Category::Parameter,
            Some(freed) if backward(made) && backward(freed) => Category::Temporary,
            Some(_) if backward(made) => Category::Gradient,
            // Never freed and made by no one: a gradient that is kept, or the workspace of a library.
            None if backward(made) => Category::Unknown,
            Some(freed) if backward(freed) => Category::Activation,
            Some(freed) if made.forward && freed.forward => Category::Temporary,
            _ if made.forward || made.torch => Category::Activation,
            _ => Category::Input,
        }
    }

    /// Bytes of each category after an entry; before all of them if there is none.
    pub fn at(&self, moment: Option<u32>) -> Vec<(Category, u64)> {
        let mut sums: Vec<(Category, u64)> = Category::ALL.iter().map(|category| (*category, 0)).collect();
        let lives = |allocation: &&Allocation| match moment {
            Some(moment) => allocation.lives_at(moment),
            None => allocation.before,
        };
        for allocation in self.history.allocations.iter().filter(lives) {
            let category = self.category(allocation);
            if let Some(sum) = sums.iter_mut().find(|sum| sum.0 == category) {
                sum.1 = sum.1.saturating_add(allocation.bytes);
            }
        }
        sums
    }
}

fn with(below: Traits, name: &str, file: &str) -> Traits {
    let mut traits = Traits { any: true, ..below };
    let is_torch = file.contains("torch/");
    if is_torch && file.contains("torch/optim/") {
        traits.optimizer = true;
        traits.zero_grad |= name == "zero_grad";
    }
    if is_torch && file.contains("nn/modules/") {
        const MAKES: [&str; 9] = [
            "_apply",
            "to",
            "cuda",
            "half",
            "bfloat16",
            "to_empty",
            "load_state_dict",
            "reset_parameters",
            "zero_grad",
        ];
        traits.zero_grad |= name == "zero_grad";
        traits.module_made |= MAKES.contains(&name) && name != "zero_grad";
        traits.module_made |= name == "__init__";
        traits.forward |= name == "_call_impl" || name == "forward";
    }
    traits.forward |= name == "forward";
    traits.torch |= is_torch;
    let in_engine = name.starts_with("torch::autograd::Engine") || name == "_engine_run_backward";
    traits.backward |= in_engine || (is_torch && name == "backward");
    traits
}
