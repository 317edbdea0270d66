//! The tables of XProf (TensorBoard's Profile tab) under its own names and by its own rules, so that its numbers can be
//! compared with ours and ours checked against a peer.
//!
//! The rules are those of XProf 2.24. Where a rule has a known weakness it is kept, and [`not_seen`] says what it leaves out;
//! better numbers belong to the modules of our own. XProf counts picoseconds; profiles of CPUs and GPUs are written in
//! whole nanoseconds, so nothing is lost. Rules for TPUs are not here.

mod category;
pub mod groups;
pub mod hlo;
pub mod kernels;
pub mod memory;
pub mod not_seen;
mod op_name;
pub mod ops;
mod recorded_name;
mod saturating;
pub mod steps;
