//! Whether a kernel runs on tensor cores (AMD: matrix cores), recognized by its name.
//!
//! A trace does not record which pipe a kernel used, so this is a heuristic over the names that the
//! vendors' libraries give their kernels. There are three answers: [`TensorCores::Unknown`] is that of a name
//! without evidence. Triton kernels (`triton_tem_fused_mm_0`, `attn_fwd`) may well use tensor cores but never
//! say so, and a kernel someone wrote by hand may be called anything. `classic_tensor_core_kernel` answers
//! exactly as the TensorBoard profiler plugin does, for comparing numbers with it.

mod kernels;
mod ops;
mod precision;
mod state;

#[cfg(test)]
mod tests;

pub use kernels::classic_tensor_core_kernel;
pub use ops::op_is_eligible;
pub use precision::precision;
pub use state::{TensorCores, kernel_uses_tensor_cores, multiplies_nothing, tensor_cores};
