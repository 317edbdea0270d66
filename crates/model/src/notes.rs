//! Notes: what a reader kept, repaired or set aside. Nothing is lost in silence.

/// How much a note matters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; every number is right.
    Info,
    /// Something was repaired; the numbers depend on the repair.
    Repaired,
    /// Something could not be kept; the numbers lack it.
    Lost,
}

/// What can happen to a file's content. Whoever reads a format declares what it notes; only what [`TraceBuilder`]
/// notes itself is declared here.
///
/// [`TraceBuilder`]: crate::TraceBuilder
#[derive(Debug)]
pub struct NoteKind {
    code: &'static str,
    severity: Severity,
    order: u8,
    sentence: &'static str,
}

impl NoteKind {
    /// Something worth a note. `order` is its place among those as grave, `code` tells it from all others, and the
    /// sentence is what a person reads after its count.
    pub const fn new(code: &'static str, severity: Severity, order: u8, sentence: &'static str) -> NoteKind {
        NoteKind { code, severity, order, sentence }
    }

    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// A stable name for machine output.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The sentence a person reads, after its count.
    pub fn sentence(&self) -> &'static str {
        self.sentence
    }

    /// Reading stopped at a limit.
    pub const LIMIT_REACHED: &'static NoteKind =
        &NoteKind::new("limit-reached", Severity::Lost, 3, "what lies beyond a limit was left out");

    /// A category after the most that can be distinguished.
    pub const TOO_MANY_CATEGORIES: &'static NoteKind = &NoteKind::new(
        "too-many-categories",
        Severity::Lost,
        19,
        "categories after the first 65,536 were not kept; their events were",
    );

    /// An argument list nested too deep or too long to keep.
    pub const ARGS_DROPPED: &'static NoteKind = &NoteKind::new(
        "args-dropped",
        Severity::Lost,
        20,
        "argument lists that could not be kept were left out",
    );

    /// Slices on one device stream that overlap.
    pub const STREAM_OVERLAP: &'static NoteKind = &NoteKind::new(
        "stream-overlap",
        Severity::Info,
        23,
        "device slices overlap another on their stream; all kept, none counted twice",
    );

    /// Host slices that overlap without nesting.
    pub const MISNESTED: &'static NoteKind = &NoteKind::new(
        "misnested",
        Severity::Info,
        24,
        "host slices overlap their neighbor without nesting; all kept",
    );

    /// Device work without the host call that launched it.
    pub const UNLINKED: &'static NoteKind =
        &NoteKind::new("unlinked", Severity::Info, 25, "device slices have no recorded launch in this file");
}

impl PartialEq for NoteKind {
    fn eq(&self, other: &NoteKind) -> bool {
        self.code == other.code
    }
}

impl Eq for NoteKind {}

/// One kind of happening: how often, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub kind: &'static NoteKind,
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
    pub fn add(&mut self, kind: &'static NoteKind, offset: u64) {
        let note = self.entry(kind);
        note.count += 1;
        if note.offsets.len() < OFFSETS_KEPT {
            note.offsets.push(offset);
        }
    }

    /// As [`Notes::add`], with words about the first.
    pub fn add_with(&mut self, kind: &'static NoteKind, offset: u64, detail: impl Into<String>) {
        self.add(kind, offset);
        let note = self.entry(kind);
        if note.detail.is_empty() {
            note.detail = detail.into();
        }
    }

    /// Counts several happenings that have no place in the file.
    pub fn add_count(&mut self, kind: &'static NoteKind, count: u64) {
        if count > 0 {
            self.entry(kind).count += count;
        }
    }

    pub fn count(&self, kind: &NoteKind) -> u64 {
        self.notes.iter().find(|n| *n.kind == *kind).map_or(0, |n| n.count)
    }

    /// Every note, the gravest first.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        let mut sorted: Vec<&Note> = self.notes.iter().collect();
        sorted.sort_by_key(|n| (std::cmp::Reverse(n.kind.severity), n.kind.order, n.kind.code));
        sorted.into_iter()
    }

    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    fn entry(&mut self, kind: &'static NoteKind) -> &mut Note {
        let at = self.notes.iter().position(|n| *n.kind == *kind).unwrap_or_else(|| {
            self.notes.push(Note { kind, count: 0, offsets: Vec::new(), detail: String::new() });
            self.notes.len() - 1
        });
        &mut self.notes[at]
    }
}
