//! What is known about one version of CPython: where its structures keep what is read. All numbers are offsets in bytes.

/// Where a version keeps everything.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) version: (u8, u8),
    pub(super) runtime_interpreters_head: usize,
    pub(super) interp_next: usize,
    pub(super) interp_threads_head: usize,
    pub(super) interp_modules: usize,
    pub(super) gil: Gil,
    pub(super) gil_last_holder: usize,
    pub(super) gil_locked: usize,
    pub(super) thread_next: usize,
    pub(super) thread_interp: usize,
    pub(super) thread_id: usize,
    /// Before 3.11 only the C library knows the system's number of a thread.
    pub(super) thread_native_id: Option<usize>,
    pub(super) top_frame: TopFrame,
    pub(super) frame_previous: usize,
    pub(super) frame_code: usize,
    pub(super) frame_position: Position,
    pub(super) frame_locals: usize,
    /// From 3.11 on: -1 while the frame itself executes, and more while it waits for a Python function that it called.
    pub(super) frame_stack_top: Option<usize>,
    /// 3.11: whether C called this frame.
    pub(super) frame_is_entry: Option<usize>,
    /// From 3.12 on, frames that only mark where C called Python are known by their owner.
    pub(super) frame_owner: Option<usize>,
    /// From 3.11 on: how calls note where they lead.
    pub(super) calls: Option<Calls>,
    pub(super) code_filename: usize,
    pub(super) code_name: usize,
    pub(super) code_qualname: Option<usize>,
    pub(super) lines: Lines,
    pub(super) code_linetable: usize,
    pub(super) locals: Locals,
    pub(super) code_start: Option<usize>,
    pub(super) code_firstlineno: usize,
    pub(super) code_argcount: usize,
    pub(super) code_size: usize,
    pub(super) object_type: usize,
    pub(super) var_size: usize,
    pub(super) type_name: usize,
    pub(super) type_flags: usize,
    pub(super) type_basicsize: usize,
    pub(super) type_dictoffset: usize,
    pub(super) type_cached_keys: usize,
    pub(super) tuple_items: usize,
    pub(super) list_items: usize,
    pub(super) bytes_data: usize,
    pub(super) float_value: usize,
    pub(super) int: Int,
    pub(super) str_length: usize,
    pub(super) str_state: usize,
    pub(super) str_ascii_data: usize,
    pub(super) str_compact_data: usize,
    pub(super) dict_keys: usize,
    pub(super) dict_values: usize,
    pub(super) dict_used: usize,
    pub(super) keys: Keys,
    pub(super) attributes: Attributes,
}

/// How instructions that call note the function they lead to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Calls {
    pub(super) frame_function: usize,
    pub(super) object_type: usize,
    pub(super) function_code: usize,
    pub(super) function_version: usize,
    /// The instructions that note it.
    pub(super) instructions: [u8; 2],
    /// How far behind such an instruction a frame's position is while it calls.
    pub(super) behind: usize,
    /// All instructions that can call a Python function without C in between.
    pub(super) callers: &'static [u8],
    /// Instructions from here on replace others.
    pub(super) opaque_from: u8,
    /// So does this one, where code was compiled.
    pub(super) compiled: u8,
    /// How many units of two bytes follow instructions as notes, and which.
    pub(super) notes: &'static [(u8, &'static [u8])],
}

/// Where the interpreter's lock is.
#[derive(Copy, Clone, Debug)]
pub(super) enum Gil {
    /// One for all interpreters.
    OfRuntime { at: usize },
    /// Each interpreter points to its own.
    OfInterpreter { pointer: usize },
}

/// Where a thread's innermost frame is named.
#[derive(Copy, Clone, Debug)]
pub(super) enum TopFrame {
    /// In the thread state.
    Direct(usize),
    /// In a structure on the C stack that the thread state points to.
    ThroughCFrame { cframe: usize, current: usize },
}

/// How a frame says where it is in its code.
#[derive(Copy, Clone, Debug)]
pub(super) enum Position {
    /// The last instruction's offset in bytes.
    Offset(usize),
    Index(usize),
    Instruction(usize),
}

/// How code objects say which line an instruction is of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// 3.9: steps of offset and line.
    Pairs,
    /// 3.10: lengths and steps of line.
    Ranges,
    /// From 3.11 on: entries of varying length.
    Locations,
}

/// How code objects name local variables.
#[derive(Copy, Clone, Debug)]
pub(super) enum Locals {
    /// Three tuples, in this order in the frame.
    Tuples { locals: usize, cells: usize, frees: usize },
    /// One tuple.
    Together { names: usize },
}

/// How whole numbers are kept.
#[derive(Copy, Clone, Debug)]
pub(super) enum Int {
    /// A size whose sign is the number's.
    Size { digits: usize },
    /// A tag of size and sign.
    Tag { tag: usize, digits: usize },
}

/// How the keys of dictionaries are kept.
#[derive(Copy, Clone, Debug)]
pub(super) enum Keys {
    /// The size of the table of indices follows from the number of slots.
    Sizes { size: usize, entries: usize, header: usize },
    /// The logarithm of its size is there; entries of only texts have no hash.
    Logarithms { size: usize, kind: usize, entries: usize, header: usize },
}

/// Where an object's attributes are.
#[derive(Copy, Clone, Debug)]
pub(super) enum Attributes {
    /// In a dictionary whose place the type gives.
    Offset,
    /// 3.11: values before the object, else a dictionary.
    BeforeObject,
    /// 3.12: one word before the object is either, by its lowest bit.
    Managed,
    /// 3.13: values after the object as long as they are valid, else a dictionary.
    Inline { values: usize },
}

/// Flags of a type.
pub(super) mod flags {
    pub(in super::super) const INLINE_VALUES: u64 = 1 << 2;
    pub(in super::super) const MANAGED_DICT: u64 = 1 << 4;
    pub(in super::super) const INT: u64 = 1 << 24;
    pub(in super::super) const LIST: u64 = 1 << 25;
    pub(in super::super) const TUPLE: u64 = 1 << 26;
    pub(in super::super) const BYTES: u64 = 1 << 27;
    pub(in super::super) const STR: u64 = 1 << 28;
    pub(in super::super) const DICT: u64 = 1 << 29;
}

/// The places in 3.13's own table of offsets, in words from its start, of what that table knows better than we do.
pub(super) mod published {
    pub(in super::super) const COOKIE: &[u8; 8] = b"xdebugpy";
    pub(in super::super) const WORDS: usize = 46;
    pub(in super::super) const FREE_THREADED: usize = 2;
}

impl Layout {
    /// The layout with what 3.13 publishes about itself.
    pub(super) fn with_published(mut self, words: &[u64]) -> Option<Layout> {
        let word = |at: usize| usize::try_from(*words.get(at)?).ok().filter(|offset| *offset < 1 << 20);
        self.runtime_interpreters_head = word(5)?;
        self.interp_next = word(8)?;
        self.interp_threads_head = word(9)?;
        self.interp_modules = word(11)?;
        self.gil = Gil::OfInterpreter { pointer: word(14)? };
        self.thread_next = word(21)?;
        self.thread_interp = word(22)?;
        self.top_frame = TopFrame::Direct(word(23)?);
        self.thread_id = word(24)?;
        self.thread_native_id = Some(word(25)?);
        self.frame_previous = word(29)?;
        self.frame_code = word(30)?;
        self.frame_position = Position::Instruction(word(31)?);
        self.frame_locals = word(32)?;
        self.frame_owner = Some(word(33)?);
        self.code_filename = word(35)?;
        self.code_name = word(36)?;
        self.code_qualname = Some(word(37)?);
        self.code_linetable = word(38)?;
        self.code_firstlineno = word(39)?;
        self.code_argcount = word(40)?;
        self.locals = Locals::Together { names: word(41)? };
        self.code_start = Some(word(43)?);
        Some(self)
    }
}
