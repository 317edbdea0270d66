//! Notes: what a reader kept, repaired or set aside. Nothing is lost in silence.

/// How much a note matters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; every figure is right.
    Info,
    /// Something was mended; the figures rest on the mending.
    Repaired,
    /// Something could not be kept; the figures lack it.
    Lost,
}

/// What happened.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoteKind {
    /// The file ends inside an event.
    TruncatedEvent,
    /// The file ends before its closing brackets.
    MissingTail,
    /// The compressed stream is damaged or cut; what came before was read.
    DamagedCompression,
    /// Reading stopped at a limit.
    LimitReached,
    /// Bytes that are no event.
    Garbage,
    /// An event that could not be understood.
    BrokenEvent,
    /// An event without a usable time.
    NoTime,
    /// A time beyond what 64-bit nanoseconds hold.
    TimeOutOfRange,
    /// A duration under zero.
    NegativeDuration,
    /// A slice without its duration.
    MissingDuration,
    /// Digits finer than a nanosecond.
    SubNanosecond,
    /// A backslash that escapes nothing.
    BadEscape,
    /// A raw control byte inside a text.
    ControlByte,
    /// A text that is not UTF-8.
    InvalidUtf8,
    /// A bare word where a value belongs (`N/A`, `NaN`, `Infinity`).
    BareWord,
    /// A quote inside a text that was not escaped.
    UnescapedQuote,
    /// A bracket missing or one too many.
    Bracket,
    /// A comma missing or one too many.
    Comma,
    /// The same key twice in one object.
    DuplicateKey,
    /// A category after the most that can be told apart.
    TooManyCategories,
    /// An argument list nested too deep or too long to keep.
    ArgsDropped,
    /// A begin without an end.
    UnmatchedBegin,
    /// An end without a begin.
    UnmatchedEnd,
    /// Slices on one device stream that overlap.
    StreamOverlap,
    /// Host slices that overlap without nesting.
    Misnested,
    /// Device work without the host call that launched it.
    Unlinked,
}

impl NoteKind {
    /// How much it matters.
    pub fn severity(self) -> Severity {
        use NoteKind::*;
        match self {
            TruncatedEvent | DamagedCompression | LimitReached | Garbage | BrokenEvent | NoTime
            | TimeOutOfRange | TooManyCategories | ArgsDropped => Severity::Lost,
            MissingTail | NegativeDuration | MissingDuration | BadEscape | InvalidUtf8 | BareWord
            | UnescapedQuote | Bracket | Comma | UnmatchedBegin | UnmatchedEnd | ControlByte | DuplicateKey => {
                Severity::Repaired
            }
            SubNanosecond | StreamOverlap | Misnested | Unlinked => Severity::Info,
        }
    }

    /// A stable name for machine output.
    pub fn code(self) -> &'static str {
        use NoteKind::*;
        match self {
            TruncatedEvent => "truncated-event",
            MissingTail => "missing-tail",
            DamagedCompression => "damaged-compression",
            LimitReached => "limit-reached",
            Garbage => "garbage",
            BrokenEvent => "broken-event",
            NoTime => "no-time",
            TimeOutOfRange => "time-out-of-range",
            NegativeDuration => "negative-duration",
            MissingDuration => "missing-duration",
            SubNanosecond => "sub-nanosecond",
            BadEscape => "bad-escape",
            ControlByte => "control-byte",
            InvalidUtf8 => "invalid-utf8",
            BareWord => "bare-word",
            UnescapedQuote => "unescaped-quote",
            Bracket => "bracket",
            Comma => "comma",
            DuplicateKey => "duplicate-key",
            TooManyCategories => "too-many-categories",
            ArgsDropped => "args-dropped",
            UnmatchedBegin => "unmatched-begin",
            UnmatchedEnd => "unmatched-end",
            StreamOverlap => "stream-overlap",
            Misnested => "misnested",
            Unlinked => "unlinked",
        }
    }

    /// The sentence a person reads, after its count.
    pub fn sentence(self) -> &'static str {
        use NoteKind::*;
        match self {
            TruncatedEvent => "the file ends inside an event; that event was set aside",
            MissingTail => "the file ends before its closing brackets; read as if they were there",
            DamagedCompression => "the stream is damaged or cut short; what came before was read",
            LimitReached => "what lies beyond a limit was left out",
            Garbage => "stretches of bytes that are no event were skipped",
            BrokenEvent => "events could not be understood and were set aside",
            NoTime => "events without a usable timestamp were set aside",
            TimeOutOfRange => "events with a time beyond 64-bit nanoseconds were set aside",
            NegativeDuration => "negative durations were read as 0",
            MissingDuration => "slices without a duration were read as 0 long",
            SubNanosecond => "timestamps finer than a nanosecond were rounded to the nearest",
            BadEscape => "texts with a backslash that escapes nothing were kept literally",
            ControlByte => "texts with raw control bytes were kept",
            InvalidUtf8 => "texts that are not UTF-8 were kept with replacement characters",
            BareWord => "bare words (N/A, NaN, Infinity, …) were read as texts",
            UnescapedQuote => "texts with unescaped quotes were repaired",
            Bracket => "values whose brackets do not match were kept up to the next member",
            Comma => "missing or doubled commas were repaired",
            DuplicateKey => "events with a key given twice: the last one counts",
            TooManyCategories => "categories after the first 65,536 were not kept; their events were",
            ArgsDropped => "argument lists that could not be kept were left out",
            UnmatchedBegin => "begin events without an end were closed at the end of their lane",
            UnmatchedEnd => "end events without a begin were kept as points",
            StreamOverlap => "device slices overlap another on their stream; all kept, none counted twice",
            Misnested => "host slices overlap their neighbour without nesting; all kept",
            Unlinked => "device slices have no host call that launched them in this file",
        }
    }
}

/// One kind of happening: how often, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What happened.
    pub kind: NoteKind,
    /// How often.
    pub count: u64,
    /// Byte offsets in the decompressed text of the first few.
    pub offsets: Vec<u64>,
    /// What was seen at the first of them, if that helps.
    pub detail: String,
}

/// All notes of a trace.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    notes: Vec<Note>,
}

/// Enough to find the place; the count says the rest.
const OFFSETS_KEPT: usize = 8;

impl Notes {
    /// Counts one happening at a byte offset.
    pub fn add(&mut self, kind: NoteKind, offset: u64) {
        let note = self.entry(kind);
        note.count += 1;
        if note.offsets.len() < OFFSETS_KEPT {
            note.offsets.push(offset);
        }
    }

    /// As [`Notes::add`], with words about the first.
    pub fn add_with(&mut self, kind: NoteKind, offset: u64, detail: impl Into<String>) {
        self.add(kind, offset);
        let note = self.entry(kind);
        if note.detail.is_empty() {
            note.detail = detail.into();
        }
    }

    /// Counts several happenings that have no place in the file.
    pub fn add_count(&mut self, kind: NoteKind, count: u64) {
        if count > 0 {
            self.entry(kind).count += count;
        }
    }

    /// How often something happened.
    pub fn count(&self, kind: NoteKind) -> u64 {
        self.notes.iter().find(|n| n.kind == kind).map_or(0, |n| n.count)
    }

    /// Every note, the gravest first.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        let mut sorted: Vec<&Note> = self.notes.iter().collect();
        sorted.sort_by_key(|n| (std::cmp::Reverse(n.kind.severity()), n.kind));
        sorted.into_iter()
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    fn entry(&mut self, kind: NoteKind) -> &mut Note {
        let at = self.notes.iter().position(|n| n.kind == kind).unwrap_or_else(|| {
            self.notes.push(Note { kind, count: 0, offsets: Vec::new(), detail: String::new() });
            self.notes.len() - 1
        });
        &mut self.notes[at]
    }
}
