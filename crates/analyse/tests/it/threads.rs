//! Threads: what they do, the interpreter's lock, and tasks.

mod lock;
mod sampled;
