//! What a thread does with the interpreter's lock.

/// What a thread did with the interpreter's lock.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// It held it: Python code, or C code that keeps it.
    Holds,
    /// It ran without it: C code that let go of it.
    Without,
    Waits,
    /// It waited for something else.
    Idle,
}

impl Lock {
    /// In words, as traces have it.
    pub fn label(self) -> &'static str {
        match self {
            Lock::Holds => "holds the lock",
            Lock::Without => "runs without the lock",
            Lock::Waits => "waits for the lock",
            Lock::Idle => "idle",
        }
    }
}
