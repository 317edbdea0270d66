//! The grammar of a C++ name: matched brackets, and the parts of a qualified name.

/// Where something is in the text: from the first byte to the one after the last.
pub(super) type Range = (usize, usize);

/// One `name<template>(params)` between two `::`; the ranges are those inside the brackets.
#[derive(Clone, Copy)]
pub(super) struct NameSegment<'a> {
    pub(super) name: &'a str,
    pub(super) template: Option<Range>,
    pub(super) params: Option<Range>,
}

impl NameSegment<'_> {
    pub(super) fn is_lambda(&self) -> bool {
        ["{lambda", "'lambda", "[lambda"].iter().any(|form| self.name.starts_with(form))
    }

    pub(super) fn is_operator(&self) -> bool {
        self.name.starts_with("operator")
    }
}

pub(super) struct Name<'a> {
    pub(super) parts: Vec<NameSegment<'a>>,
    /// Which part names the thing: the outermost function around a lambda, else the last real part.
    pub(super) subject: usize,
}

impl<'a> Name<'a> {
    fn new(parts: Vec<NameSegment<'a>>) -> Option<Self> {
        let function = parts.iter().position(|part| part.params.is_some() && !part.is_lambda());
        let subject = match function {
            Some(at) if at > 0 && parts[at].is_operator() => at - 1,
            Some(at) => at,
            None => parts.iter().rposition(|part| {
                !part.is_lambda() && !matches!(part.name, "" | "type" | "Params" | "Arguments" | "value_type")
            })?,
        };
        Some(Self { parts, subject })
    }

    pub(super) fn subject(&self) -> &NameSegment<'a> {
        &self.parts[self.subject]
    }

    /// The template arguments that belong to the subject. In `functor::operator()<Op>(…)` those of the call
    /// operator do too: they say which operation it is.
    pub(super) fn templates(&self) -> impl Iterator<Item = Range> {
        let call = self.parts.get(self.subject + 1).filter(|next| next.is_operator());
        std::iter::once(self.subject()).chain(call).filter_map(|part| part.template)
    }
}

/// A name with its brackets matched once, so that every later step can jump over a group.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// For each byte that opens a matched bracket the position of its end; zero elsewhere.
    close: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut close = vec![0; text.len()];
        let mut open: Vec<(u8, usize)> = Vec::new();
        // How many of each kind are open, so that a stray bracket is dropped without searching.
        let mut waiting = [0usize; 3];
        let kind = |b: u8| match b {
            b'(' | b')' => 0,
            b'{' | b'}' => 1,
            _ => 2,
        };
        for (at, byte) in text.bytes().enumerate() {
            let before = &text.as_bytes()[..at];
            match byte {
                b'<' if !before.ends_with(b"operator") && !before.ends_with(b"operator<") => {
                    open.push((byte, at))
                }
                // A comparison inside parentheses or an arrow does not close a template.
                b'>' if !before.ends_with(b"-") && !before.ends_with(b"operator") => {
                    if let Some((_, start)) = open.pop_if(|(opener, _)| *opener == b'<') {
                        close[start] = at;
                    }
                }
                b'(' | b'{' | b'[' => {
                    waiting[kind(byte)] += 1;
                    open.push((byte, at));
                }
                b')' | b'}' | b']' if waiting[kind(byte)] > 0 => {
                    while let Some((opener, start)) = open.pop() {
                        if opener == b'<' {
                            continue;
                        }
                        waiting[kind(opener)] -= 1;
                        if kind(opener) == kind(byte) {
                            close[start] = at;
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        Self { text, close }
    }

    /// The end of the bracket group that opens at `at` and ends before `end`, if there is one.
    pub(super) fn group_end(&self, at: usize, end: usize) -> Option<usize> {
        self.close.get(at).copied().filter(|&close| close > at && close < end)
    }

    /// Where the qualified name begins: past the last blank before the argument list.
    pub(super) fn after_return_type(&self) -> usize {
        let (bytes, end) = (self.text.as_bytes(), self.text.len());
        let (mut at, mut start) = (0, 0);
        while at < end {
            if bytes[at] == b' ' {
                start = at + 1;
            }
            if let Some(close) = self.group_end(at, end) {
                let follows_name =
                    at > start && bytes[at - 1] != b':' && !self.text[..at].ends_with("decltype");
                if bytes[at] == b'(' && follows_name {
                    return start;
                }
                at = close;
            }
            at += 1;
        }
        // Without an argument list a blank may be anything, so only the obvious goes.
        if self.text.starts_with("void ") { "void ".len() } else { 0 }
    }

    /// The qualified name that is here; `None` where no part of it names anything.
    pub(super) fn name(&self, (start, end): Range) -> Option<Name<'a>> {
        let bytes = self.text.as_bytes();
        let mut parts = Vec::new();
        let (mut at, mut from, mut name_end) = (start, start, None);
        let (mut template, mut params) = (None, None);
        while at <= end {
            if at == end || bytes[at..end].starts_with(b"::") {
                let name = bare(&self.text[from..name_end.unwrap_or(at)]);
                parts.push(NameSegment { name, template, params });
                at += 2;
                (from, name_end, template, params) = (at, None, None, None);
                continue;
            }
            if let Some(close) = self.group_end(at, end) {
                let call = bytes[at] == b'('
                    && close == at + 1
                    && self.text[from..at].trim_end().ends_with("operator");
                // A group that begins the part is its name: `(anonymous namespace)`, `{lambda()#1}`.
                if at > from && !call {
                    let slot = if bytes[at] == b'<' { &mut template } else { &mut params };
                    if matches!(bytes[at], b'<' | b'(') && slot.is_none() {
                        *slot = Some((at + 1, close));
                        name_end.get_or_insert(at);
                    }
                }
                at = close;
            }
            at += 1;
        }
        Name::new(parts)
    }
}

/// A type's name without what hangs on its end: `T const&` is `T`.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let shorter = text.trim_end_matches(['&', ' ']);
        let shorter = shorter.strip_suffix(" const").unwrap_or(shorter);
        if shorter.len() == text.len() {
            return text;
        }
        text = shorter;
    }
}
