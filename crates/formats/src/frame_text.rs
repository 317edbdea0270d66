//! A frame as one text: how tools that exchange folded stacks write the place of a function into its name.

/// A function's name and its place, as far as the text says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct FramePlace<'a> {
    pub(crate) name: &'a str,
    pub(crate) file: &'a str,
    /// 0 where it is not known.
    pub(crate) line: u32,
    /// Whether the line is where the function starts, and not where it was.
    pub(crate) starts: bool,
}

/// What comes before the frames of a stack: who ran them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackOwner {
    /// The process and thread in words; empty if the stack does not say.
    pub(crate) part: String,
    /// Whether frames are `file:function:line`, as Austin and Tachyon write them.
    pub(crate) file_first: bool,
}

/// Takes the process and thread off a stack.
pub(crate) fn owner(stack: &str) -> (StackOwner, &str) {
    let mut owner = StackOwner::default();
    let mut rest = stack;
    loop {
        let (first, after) = rest.split_once(';').unwrap_or((rest, ""));
        let Some((words, file_first)) = owner_words(first, &owner) else { return (owner, rest) };
        if !owner.part.is_empty() {
            owner.part.push_str(", ");
        }
        owner.part.push_str(&words);
        owner.file_first |= file_first;
        rest = after;
        if rest.is_empty() {
            return (owner, rest);
        }
    }
}

/// One frame as an owner: its words, and whether frames begin with their file.
fn owner_words(frame: &str, before: &StackOwner) -> Option<(String, bool)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // Austin: P123, then T0:456 or T456.
    if let Some(process) = frame.strip_prefix('P').filter(|rest| digits(rest) && before.part.is_empty()) {
        return Some((format!("process {process}"), true));
    }
    if before.file_first
        && let Some(thread) = frame.strip_prefix('T')
    {
        let number = thread.rsplit(':').next().unwrap_or(thread);
        return thread.split(':').all(digits).then(|| (format!("thread {number}"), true));
    }
    // Tachyon: tid:456.
    if let Some(thread) = frame.strip_prefix("tid:").filter(|rest| digits(rest)) {
        return Some((format!("thread {thread}"), true));
    }
    // py-spy: process 12:"python a.py", then thread (13): name.
    let is_process = frame.strip_prefix("process ").and_then(|rest| rest.split_once(':'));
    if is_process.is_some_and(|(number, _)| digits(number)) {
        return Some((frame.to_owned(), false));
    }
    let is_thread = frame.strip_prefix("thread (").and_then(|rest| rest.split_once(')'));
    is_thread
        .filter(|(number, after)| {
            digits(number.trim_start_matches("0x")) && (after.is_empty() || after.starts_with(':'))
        })
        .map(|_| (frame.to_owned(), false))
}

/// The place in a frame's text. What is not written in a known way is all name.
pub(crate) fn place(frame: &str, file_first: bool) -> FramePlace<'_> {
    let whole = FramePlace { name: frame, file: "", line: 0, starts: false };
    if file_first {
        return file_function_line(frame).unwrap_or(whole);
    }
    function_in_parentheses(frame).or_else(|| file_line_function(frame)).unwrap_or(whole)
}

/// `file:function:line`; the file may hold colons, and all but the function may be missing.
fn file_function_line(frame: &str) -> Option<FramePlace<'_>> {
    let (rest, line) = frame.rsplit_once(':')?;
    let (file, name) = rest.rsplit_once(':')?;
    let line = if line.is_empty() { 0 } else { line.parse().ok()? };
    (!name.is_empty()).then_some(FramePlace { name, file, line, starts: false })
}

/// `function (file:line)`, as py-spy writes, or `function (file.py)`.
fn function_in_parentheses(frame: &str) -> Option<FramePlace<'_>> {
    let (name, place) = frame.strip_suffix(')')?.rsplit_once(" (")?;
    if let Some((file, line)) = place.rsplit_once(':')
        && let Ok(line) = line.parse()
        && !file.is_empty()
    {
        return Some(FramePlace { name, file, line, starts: false });
    }
    place.ends_with(".py").then_some(FramePlace { name, file: place, line: 0, starts: false })
}

/// `file(line): function`, as PyTorch writes and our recordings do; the line is the function's first.
fn file_line_function(frame: &str) -> Option<FramePlace<'_>> {
    let (place, name) = frame.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    (!file.is_empty() && !name.is_empty()).then_some(FramePlace { name, file, line, starts: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_every_dialect() {
        let of = |text, file_first| {
            let FramePlace { name, file, line, starts } = place(text, file_first);
            (name, file, line, starts)
        };
        assert_eq!(of("main (busy.py:30)", false), ("main", "busy.py", 30, false));
        assert_eq!(of("<module> (re/__init__.py:124)", false), ("<module>", "re/__init__.py", 124, false));
        assert_eq!(of("a b (c d) (e.py:1)", false), ("a b (c d)", "e.py", 1, false));
        assert_eq!(of("main (busy.py)", false), ("main", "busy.py", 0, false));
        assert_eq!(of("f (libc.so.6)", false), ("f (libc.so.6)", "", 0, false));
        assert_eq!(of("train.py(12): step", false), ("step", "train.py", 12, true));
        assert_eq!(of("at::mm(long): x", false), ("at::mm(long): x", "", 0, false));
        assert_eq!(of("C:\\a.py:f:3", true), ("f", "C:\\a.py", 3, false));
        assert_eq!(of(":GC:", true), ("GC", "", 0, false));
        assert_eq!(of("plain", true), ("plain", "", 0, false));
    }

    #[test]
    fn owners_stand_before_the_frames() {
        let of = |stack| {
            let (owner, rest) = owner(stack);
            (owner.part, owner.file_first, rest.to_owned())
        };
        let owned = |part: &str, file_first, rest: &str| (part.to_owned(), file_first, rest.to_owned());
        assert_eq!(of("P12;T0:34;a.py:f:3"), owned("process 12, thread 34", true, "a.py:f:3"));
        assert_eq!(of("P12;T0:34"), owned("process 12, thread 34", true, ""));
        assert_eq!(of("tid:7;a.py:f:3"), owned("thread 7", true, "a.py:f:3"));
        let py_spy = "process 5:\"python a.py\";thread (6): waiter;main (a.py:3)";
        assert_eq!(of(py_spy), owned("process 5:\"python a.py\", thread (6): waiter", false, "main (a.py:3)"));
        for plain in ["P;main", "T3;main", "process x;main", "Predict;main", "thread (x);main"] {
            assert_eq!(of(plain), owned("", false, plain));
        }
    }
}
