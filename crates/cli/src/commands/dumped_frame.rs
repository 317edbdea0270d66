//! A frame of a stack, with its names.

/// A place in a function.
#[derive(Debug)]
pub(super) struct DumpedFrame {
    pub(super) function: String,
    pub(super) file: String,
    pub(super) line: u32,
    /// Whether it is native code: its file is a library, and its line is not known.
    pub(super) native: bool,
    pub(super) locals: Vec<(String, String)>,
}
