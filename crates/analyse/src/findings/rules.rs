//! One file per rule.

mod allocator_churn;
mod autotune;
mod blocked_launches;
mod channels_last;
mod communication_exposed;
mod compilation;
mod data_loading;
mod data_parallel;
mod ddp_without_nccl;
mod donation;
mod double_precision;
mod eager_operations;
mod exposed_copies;
mod gemm_alignment;
mod graph_breaks;
mod host_stalls;
mod launch_bound;
mod low_utilization;
mod matrix;
mod memory_fragmentation;
mod memory_leak;
mod memory_near_limit;
mod mixed_precision;
mod named_matrix;
mod new_shapes;
mod optimizer;
mod pageable_copies;
mod parameter_loop;
mod pauses;
mod profiler_overhead;
mod python;
mod recomputation;
mod recorded_faster;
mod round_trips;
mod slow_kernels;
mod small_copies;
mod snapshot;
mod start_up;
mod synchronization;
mod text;
mod tf32_off;
mod uneven_steps;
mod unfused_attention;
mod unfused_pointwise;
mod unrepresentative;
mod xla;

use super::Rule;

pub(super) use text::{percent, time};

pub const RULES: &[Rule] = &[
    allocator_churn::RULE,
    blocked_launches::RULE,
    channels_last::RULE,
    communication_exposed::RULE,
    compilation::RULE,
    data_loading::RULE,
    data_parallel::RULE,
    ddp_without_nccl::RULE,
    donation::RULE,
    double_precision::RULE,
    eager_operations::RULE,
    exposed_copies::RULE,
    gemm_alignment::RULE,
    graph_breaks::RULE,
    host_stalls::RULE,
    launch_bound::RULE,
    low_utilization::RULE,
    memory_fragmentation::RULE,
    memory_leak::RULE,
    memory_near_limit::RULE,
    mixed_precision::RULE,
    new_shapes::RULE,
    optimizer::RULE,
    pageable_copies::RULE,
    pauses::RULE,
    profiler_overhead::RULE,
    recomputation::RULE,
    recorded_faster::RULE,
    round_trips::RULE,
    slow_kernels::RULE,
    small_copies::RULE,
    snapshot::churn::RULE,
    snapshot::fragmentation::RULE,
    snapshot::leak::RULE,
    snapshot::near_limit::RULE,
    snapshot::out_of_memory::RULE,
    snapshot::peak::RULE,
    snapshot::spike::RULE,
    start_up::RULE,
    synchronization::RULE,
    parameter_loop::RULE,
    tf32_off::RULE,
    uneven_steps::RULE,
    unfused_attention::RULE,
    unfused_pointwise::RULE,
    unrepresentative::RULE,
    python::deep_copy::RULE,
    python::file_io::RULE,
    python::garbage::RULE,
    python::gil_contention::RULE,
    python::growing_memory::RULE,
    python::hot_function::RULE,
    python::imports::RULE,
    python::json::RULE,
    python::logging::RULE,
    python::one_core::RULE,
    python::pandas_rows::RULE,
    python::pickling::RULE,
    python::python_loop::RULE,
    python::regex_compile::RULE,
    python::repeated_calls::RULE,
    python::text_formatting::RULE,
    python::waiting::RULE,
];
