//! Observes a running program: regions, steps, samples of Python stacks, calls and lines, and counters of the machine, its GPUs and its
//! energy. What it sees becomes a [`stepscope_model::Trace`]; files are the business of others.
//!
//! Nothing here guesses: a sensor that is absent or not permitted is listed with the reason and the way to get it.

pub mod calls;
pub mod clock;
mod doctor;
pub mod heap;
mod lanes;
pub mod line_times;
mod lock;
pub mod machine;
mod own_sampler;
mod recording;
mod regions;
mod samples;
pub mod spy;
mod start_up;
mod stoppable_thread;
mod trace_names;

pub use doctor::{Check, CheckState, doctor};
pub use machine::{
    CounterInfo, CounterStat, CounterStats, MachineOptions, MachineSampler, MissingSensor, Roots, Summary,
    end_all,
};
pub use own_sampler::{hide_thread, sample_own_stacks, show_thread};
pub use recording::{CounterValue, GivenSlice, Recording};
pub use regions::{
    MAX_REGIONS, NO_STACK, NO_TASK, Region, RegionToken, begin, end, enter, forget_after_fork, intern,
    is_recording, leave,
};
pub use stoppable_thread::StoppableThread;
