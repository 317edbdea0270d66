//! Threads: the interpreter's lock and tasks.

mod lock;
