//! The analyses of Meta's HTA (Holistic Trace Analysis) under its own names and by its own rules, so that its
//! numbers can be compared with ours and ours checked against a peer.
//!
//! Each analysis takes a [`Loading`](loading::Loading): by default every slice counts and times are exact, while
//! [`Loading::hta`](loading::Loading::hta) does what HTA does to a file before it looks at it (whole microseconds,
//! without the last step and without work that no recorded call launched). The rules are those of HTA 0.6.1. Where
//! a rule of HTA's has a known weakness it is kept and said, not repaired: repaired numbers belong to the modules of
//! our own. Not kept: HTA takes a host operator with an argument named `stream` for device work, and treats streams
//! of equal number on several devices as one.

pub mod critical_path;
pub mod describe;
pub mod idle;
mod launch_calls;
pub mod launches;
pub mod loading;
pub mod queue;
