//! The calls that are written to a file as they happen, by thread.

use std::fs::File;
use std::io;

use pyo3::ffi;
use pyo3::prelude::*;
use stepscope_formats::{CallStream, CallWords, Mark, ThreadCalls};
use stepscope_record::clock;

use super::call_listener::{ActiveListener, CallListener};
use super::choice::Choice;
use super::functions::Functions;
use super::monitoring;
use super::symbols::thread_names;
use super::threads::Threads;
use super::ticks::{self, Clock};

/// Words of a thread before they are written: 64 KiB, 8,000 calls.
const WORDS_PER_THREAD: usize = 16 << 10;
/// A thread begins with fewer, for a program may start thousands.
const FIRST_WORDS: usize = 256;
/// Words that the two ends of a call can take, so that none is pushed without room.
const SPARE_WORDS: usize = 8;
/// Functions are found by address in a table of this many places before they are looked for.
const CACHE_SLOTS: usize = 1 << 12;
/// How many calls of a thread are looked at for its name: `threading` knows it a few calls after the thread began.
const NAME_TRIES: u8 = 64;
/// No word waits much longer than this to be written.
const MAX_AGE_NS: u64 = 1_000_000_000;
/// Set in the number of a function whose calls are not written.
const LEFT_OUT: u32 = 1 << 31;

struct OpenCall {
    key: usize,
    start: u64,
    mark: Mark,
    /// How often the words had been written when it began; a call that is not written has none of these.
    written: u32,
}

/// Never the number of times that words were written.
const NOT_WRITTEN: u32 = u32::MAX;

pub(super) struct WriterThread {
    number: u32,
    system: u64,
    ident: u64,
    name: String,
    name_tries: u8,
    announced: bool,
    stack: Vec<OpenCall>,
    words: CallWords,
    written: u32,
    full_at: usize,
    /// Calls that are written and open.
    depth: u32,
}

impl WriterThread {
    fn new(number: u32) -> WriterThread {
        // SAFETY: only holders of the interpreter come here.
        let (system, ident) = thread_names(unsafe { Python::assume_attached() });
        WriterThread {
            number,
            system,
            ident,
            name: String::new(),
            name_tries: NAME_TRIES,
            announced: false,
            stack: Vec::new(),
            words: CallWords::new(ticks::now(), FIRST_WORDS),
            written: 0,
            full_at: FIRST_WORDS - SPARE_WORDS,
            depth: 0,
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.words.len() >= self.full_at
    }
}

pub(super) struct CallLimits {
    pub(super) min_ns: u64,
    pub(super) max_calls: u64,
    pub(super) max_depth: u32,
    pub(super) choice: Choice,
    pub(super) cost_ns: u32,
}

struct Sink {
    stream: Option<CallStream<File>>,
    process: u32,
    clock: Clock,
    /// Functions whose names are in the file.
    named: u32,
    error: Option<io::Error>,
    bytes: u64,
}

/// What is recorded while the recorder runs. Only holders of the interpreter touch it.
pub(super) struct CallWriter {
    threads: Threads<WriterThread>,
    next_thread: u32,
    functions: Functions,
    cache: Box<[(usize, u32); CACHE_SLOTS]>,
    choice: Choice,
    sink: Sink,
    /// Calls that may still be written.
    left: u64,
    max_calls: u64,
    min_ticks: u64,
    /// Words this old are written when the next call ends, however few they are: a program may be killed.
    max_age: u64,
    max_depth: u32,
    /// Calls seen, of Python's functions and of C's.
    pub(super) seen: (u64, u64),
    /// Why it ended before it was stopped.
    pub(super) over: Option<String>,
    missing: *mut ffi::PyObject,
    place: Option<u8>,
}

impl CallWriter {
    pub(super) fn new(
        wanted: CallLimits,
        file: File,
        name: &str,
        missing: *mut ffi::PyObject,
    ) -> io::Result<CallWriter> {
        let process = std::process::id();
        let clock = Clock::start();
        let stream = CallStream::new(
            file,
            process,
            std::os::unix::process::parent_id(),
            clock.start_ns(),
            wanted.cost_ns,
            name,
        )?;
        Ok(CallWriter {
            threads: Threads::new(),
            next_thread: 0,
            functions: Functions::default(),
            cache: Box::new([(0, 0); CACHE_SLOTS]),
            choice: wanted.choice,
            sink: Sink { stream: Some(stream), process, clock, named: 0, error: None, bytes: 0 },
            left: wanted.max_calls,
            max_calls: wanted.max_calls,
            min_ticks: ticks::from_ns(wanted.min_ns),
            max_age: ticks::from_ns(MAX_AGE_NS),
            max_depth: wanted.max_depth,
            seen: (0, 0),
            over: None,
            missing,
            place: None,
        })
    }

    /// The number of a function, with [`LEFT_OUT`] where its calls are not written.
    #[inline]
    fn number(
        cache: &mut [(usize, u32); CACHE_SLOTS],
        choice: &Choice,
        functions: &mut Functions,
        key: usize,
        add: impl FnOnce(&mut Functions) -> u32,
    ) -> u32 {
        let place = &mut cache[((key >> 4) ^ (key >> 16)) & (CACHE_SLOTS - 1)];
        if place.0 != key {
            let number = add(functions);
            *place = (key, number | if choice.takes(functions, number) { 0 } else { LEFT_OUT });
        }
        place.1
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    unsafe fn begin(&mut self, key: usize, number: u32) {
        let max_depth = self.max_depth;
        // SAFETY: as promised.
        let thread = unsafe { self.thread() };
        if thread.is_full() {
            self.write_current();
            return self.begin_written(key, number, max_depth);
        }
        let ended = Self::push(thread, key, number, max_depth);
        if ended {
            self.count_one();
        }
    }

    #[cold]
    fn begin_written(&mut self, key: usize, number: u32, max_depth: u32) {
        // SAFETY: whoever called holds the interpreter.
        let thread = unsafe { self.thread() };
        if Self::push(thread, key, number, max_depth) {
            self.count_one();
        }
    }

    /// Puts a call on the stack; whether it is written.
    #[inline]
    fn push(thread: &mut WriterThread, key: usize, number: u32, max_depth: u32) -> bool {
        if thread.name_tries > 0 {
            find_name(thread);
        }
        let mark = thread.words.mark();
        if number & LEFT_OUT != 0 || thread.depth >= max_depth {
            thread.stack.push(OpenCall { key, start: 0, mark, written: NOT_WRITTEN });
            return false;
        }
        thread.depth += 1;
        let written = thread.written;
        thread.stack.push(OpenCall { key, start: 0, mark, written });
        let now = ticks::now();
        thread.words.enter(number, now);
        if let Some(open) = thread.stack.last_mut() {
            open.start = now;
        }
        true
    }

    #[inline]
    fn count_one(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.reach_limit();
        }
    }

    /// Ends the innermost call; whether it was too short to be written.
    #[inline]
    fn pop(thread: &mut WriterThread, now: u64, min_ticks: u64) -> bool {
        let Some(open) = thread.stack.pop() else { return false };
        if open.written == NOT_WRITTEN {
            return false;
        }
        thread.depth -= 1;
        // Whatever it called was shorter still and is forgotten, so that its own beginning came last.
        if now.saturating_sub(open.start) < min_ticks && open.written == thread.written {
            thread.words.roll_back(open.mark);
            return true;
        }
        thread.words.leave(now);
        false
    }

    /// What was entered and never left ends with the call around it; an end without a beginning is none.
    #[cold]
    fn unwind(&mut self, key: usize, now: u64) {
        let min_ticks = self.min_ticks;
        // SAFETY: whoever called holds the interpreter.
        let thread = unsafe { self.thread() };
        let Some(at) = thread.stack.iter().rposition(|open| open.key == key) else { return };
        let mut forgotten = 0;
        while thread.stack.len() > at {
            forgotten += u64::from(Self::pop(thread, now, min_ticks));
        }
        let full = thread.is_full();
        self.left += forgotten;
        if full {
            self.write_current();
        }
    }

    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    unsafe fn thread(&mut self) -> &mut WriterThread {
        let CallWriter { threads, next_thread, functions, sink, .. } = self;
        // SAFETY: as promised.
        unsafe {
            threads.current(
                || {
                    *next_thread += 1;
                    WriterThread::new(*next_thread - 1)
                },
                |idle| {
                    if idle.stack.is_empty() {
                        sink.write(idle, functions);
                    }
                    idle.stack.is_empty()
                },
            )
        }
    }

    #[cold]
    fn write_current(&mut self) {
        let CallWriter { threads, functions, sink, .. } = self;
        if let Some(thread) = threads.known() {
            sink.write(thread, functions);
        }
        if sink.error.is_some() && self.over.is_none() {
            let why = sink.error.as_ref().map(ToString::to_string).unwrap_or_default();
            self.end(Some(format!("the file could not be written: {why}")));
            self.deafen();
        }
    }

    #[cold]
    fn reach_limit(&mut self) {
        let most = self.max_calls;
        self.end(Some(format!("{most} calls were recorded (--max-calls)")));
        self.deafen();
    }

    /// Has no more events come: the program goes on at its own speed.
    fn deafen(&mut self) {
        // Before CPython 3.12 each thread takes the function out when it next hears of an event.
        if let Some(place) = self.place {
            // SAFETY: only holders of the interpreter come here.
            let py = unsafe { Python::assume_attached() };
            if let Some(api) = monitoring::api(py) {
                // If it fails, events come and find that all is over.
                let _ = api.call_method1("set_events", (place, 0));
            }
        }
    }

    /// Ends all calls that are open, and the file.
    pub(super) fn end(&mut self, why: Option<String>) {
        let now = ticks::now();
        let CallWriter { threads, functions, sink, min_ticks, left, .. } = self;
        for thread in threads.all() {
            while !thread.stack.is_empty() {
                *left += u64::from(Self::pop(thread, now, *min_ticks));
            }
            sink.write(thread, functions);
        }
        *threads = Threads::new();
        let calls = self.max_calls - self.left;
        sink.done(calls, why.as_deref().unwrap_or_default());
        if self.over.is_none() {
            self.over = why;
        }
    }

    /// In a forked child: what was recorded is the parent's, and so is the file.
    pub(super) fn abandon(&mut self) {
        self.sink.stream = None;
        self.threads = Threads::new();
    }

    /// Calls and bytes that were written.
    pub(super) fn written(&self) -> (u64, u64) {
        (self.max_calls - self.left, self.sink.bytes)
    }

    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.sink.error.take()
    }
}

impl CallListener for CallWriter {
    const REFUSED: &'static str = "calls are not recorded";

    fn listening() -> &'static ActiveListener<CallWriter> {
        static LISTENING: ActiveListener<CallWriter> = ActiveListener::idle();
        &LISTENING
    }

    fn missing(&self) -> *mut ffi::PyObject {
        self.missing
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.sink.stream.is_none()
    }

    fn takes_place(&mut self, place: u8) {
        self.place = Some(place);
    }

    #[inline]
    unsafe fn enter(&mut self, code: *mut ffi::PyObject) {
        self.seen.0 += 1;
        let key = code as usize;
        let number = Self::number(&mut self.cache, &self.choice, &mut self.functions, key, |functions| {
            // SAFETY: as promised.
            unsafe { functions.code(code) }.0
        });
        // SAFETY: as promised.
        unsafe { self.begin(key, number) };
    }

    #[inline]
    unsafe fn enter_c(&mut self, key: usize, callable: *mut ffi::PyObject) {
        self.seen.1 += 1;
        let number = Self::number(&mut self.cache, &self.choice, &mut self.functions, key, |functions| {
            // SAFETY: as promised.
            unsafe { functions.c_function(key, callable) }.0
        });
        // SAFETY: as promised.
        unsafe { self.begin(key, number) };
    }

    #[inline]
    unsafe fn leave(&mut self, key: usize) {
        let now = ticks::now();
        let (min_ticks, max_age) = (self.min_ticks, self.max_age);
        // SAFETY: as promised.
        let thread = unsafe { self.thread() };
        match thread.stack.last() {
            Some(open) if open.key == key => {}
            _ => return self.unwind(key, now),
        }
        let forgotten = Self::pop(thread, now, min_ticks);
        let full = thread.is_full() || now.saturating_sub(thread.words.base()) > max_age;
        self.left += u64::from(forgotten);
        if full {
            self.write_current();
        }
    }
}

impl Sink {
    /// Writes what a thread has, with the names that it needs.
    fn write(&mut self, thread: &mut WriterThread, functions: &Functions) {
        if let Err(error) = self.try_write(thread, functions) {
            self.error.get_or_insert(error);
        }
        thread.written = (thread.written + 1) % NOT_WRITTEN;
        thread.words.restart(WORDS_PER_THREAD);
        thread.full_at = WORDS_PER_THREAD - SPARE_WORDS;
    }

    fn try_write(&mut self, thread: &mut WriterThread, functions: &Functions) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        // A forked child comes here before it hears that it is one: the file is its parent's.
        if thread.words.is_empty() || std::process::id() != self.process || self.error.is_some() {
            return Ok(());
        }
        if !thread.announced {
            stream.thread(thread.number, thread.system, &thread.name)?;
            // A name that comes later is written with the next words.
            thread.announced = !thread.name.is_empty() || thread.name_tries == 0;
        }
        if functions.len() > self.named {
            // SAFETY: only holders of the interpreter come here.
            let py = unsafe { Python::assume_attached() };
            let new = (self.named..functions.len()).map(|number| {
                let (file, line, name) = functions.describe_plainly(py, number);
                (number, file, line, name)
            });
            stream.functions(new)?;
            self.named = functions.len();
        }
        let (words, base) = thread.words.words();
        let (base_ns, ns_per_tick) = self.clock.at(base);
        stream.calls(ThreadCalls { thread: thread.number, base_ns, ns_per_tick, words })?;
        self.bytes = stream.bytes();
        Ok(())
    }

    fn done(&mut self, calls: u64, why: &str) {
        let Some(mut stream) = self.stream.take() else { return };
        if std::process::id() != self.process {
            return;
        }
        if let Err(error) = stream.done(clock::now_ns(), calls, why) {
            self.error.get_or_insert(error);
        }
        self.bytes = stream.bytes();
    }
}

/// Looks for the thread's name where `threading` keeps it, without running Python and without making one there.
#[cold]
fn find_name(thread: &mut WriterThread) {
    thread.name_tries -= 1;
    // SAFETY: only holders of the interpreter come here.
    let py = unsafe { Python::assume_attached() };
    let found = || -> Option<String> {
        let modules = py.import("sys").ok()?.getattr("modules").ok()?;
        let threading = modules.get_item("threading").ok()?;
        let active = threading.getattr("_active").ok()?;
        let one = active.get_item(thread.ident).ok()?;
        one.getattr("_name").ok()?.extract().ok()
    };
    if let Some(name) = found() {
        thread.name = name;
        thread.name_tries = 0;
    }
}
