//! The document around the events: top-level keys before and after, separators, what is broken between.

use stepscope_model::TraceBuilder;

use super::entries::{Entries, EntryOutcome};
use super::event_sink::EventSink;
use super::notes;
use super::salvage;
use super::scan::{Cursor, ScanError, ScanResult};
use super::text::unescape;
use crate::OpenOptions;
use crate::error::ReadError;

/// A broken event is looked for in windows from this size on, before the window is grown further.
const SUSPECT_BYTES: usize = 256 << 10;
/// Bytes kept back when skipping, so that a brace is seen with the phase after it.
const KEEP_BACK: usize = salvage::PHASE_WITHIN;
/// Events that leave a bracket open make the strict reader run to the end of the window, each of them. After
/// this many bytes read in vain it stops at the next event instead.
const MAX_VAIN_BYTES: usize = 16 << 20;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    Start,
    Top,
    Events,
    /// Looking for the next event.
    Lost,
    /// After the last bracket.
    End,
    /// After as many events as are taken.
    Full,
}

/// Reads windows of a file's text.
pub(super) struct DocumentReader {
    state: State,
    /// The text is a bare array of events.
    bare: bool,
    seen_events: bool,
    /// The document was closed; what follows is something else.
    closed: bool,
    after_comma: bool,
    entries: Entries,
    /// Bytes that the strict reader went over for events it could not finish.
    vain_bytes: usize,
    sink: EventSink,
    max_event_bytes: usize,
    max_events: u64,
}

impl DocumentReader {
    pub(super) fn new(options: &OpenOptions) -> DocumentReader {
        DocumentReader {
            state: State::Start,
            bare: false,
            seen_events: false,
            closed: false,
            after_comma: true,
            entries: Entries::new(options.max_entries, options.max_entry_bytes),
            vain_bytes: 0,
            sink: EventSink::new(),
            max_event_bytes: options.max_event_bytes,
            max_events: options.max_events,
        }
    }

    /// Reads as much of the window as is complete; returns the bytes done with. `last`: nothing will follow.
    pub(super) fn feed(&mut self, window: &[u8], offset: u64, last: bool) -> usize {
        let mut c = Cursor { buf: window, pos: 0 };
        loop {
            c.skip_blanks();
            let done = c.pos;
            if done == window.len() {
                return done;
            }
            let step = match self.state {
                State::Start => self.start(&mut c),
                State::Top => self.top(&mut c, offset),
                State::Events => self.events(&mut c, offset, last),
                State::Lost => {
                    let step = self.lost(&mut c, last);
                    self.sink.skipped((c.pos - done) as u64);
                    step
                }
                // Another document, perhaps: its events are looked for like any others.
                State::End => Err(ScanError::Bad),
                State::Full => return window.len(),
            };
            match step {
                Ok(()) => {}
                Err(ScanError::Bad) => {
                    c.pos = done;
                    self.broken(&mut c, offset);
                }
                Err(ScanError::More) if last => {
                    self.cut_short(offset + done as u64);
                    return window.len();
                }
                Err(ScanError::More) if window.len() - done > self.max_event_bytes => {
                    c.pos = done;
                    self.too_large(&mut c, offset);
                }
                Err(ScanError::More) => return done,
            }
        }
    }

    fn start(&mut self, c: &mut Cursor<'_>) -> ScanResult<()> {
        if c.buf[c.pos..].starts_with(b"\xef\xbb\xbf") {
            c.pos += 3;
            return Ok(());
        }
        match c.peek()? {
            b'{' => self.state = State::Top,
            b'[' => {
                self.state = State::Events;
                self.bare = true;
                self.seen_events = true;
            }
            _ => return Err(ScanError::Bad),
        }
        c.pos += 1;
        Ok(())
    }

    fn top(&mut self, c: &mut Cursor<'_>, offset: u64) -> ScanResult<()> {
        match c.peek()? {
            b',' => {
                if std::mem::replace(&mut self.after_comma, true) {
                    self.sink.notes().add(notes::COMMA, offset + c.pos as u64);
                }
                c.pos += 1;
            }
            b'}' => {
                c.pos += 1;
                self.state = State::End;
                self.closed = true;
            }
            b'"' => {
                let start = c.pos;
                let mut key = Vec::new();
                let bad_escape = unescape(c.string()?, &mut key).bad_escape;
                c.expect(b':')?;
                if c.next_token()? == b'[' && key == b"traceEvents" {
                    c.pos += 1;
                    self.separator_before(offset + start as u64);
                    self.state = State::Events;
                    self.seen_events = true;
                    self.after_comma = true;
                } else {
                    let value = c.value_text()?;
                    if std::str::from_utf8(&key).is_err() || std::str::from_utf8(value).is_err() {
                        self.sink.notes().add(notes::INVALID_UTF8, offset + start as u64);
                    }
                    let key = String::from_utf8_lossy(&key);
                    self.separator_before(offset + start as u64);
                    if bad_escape {
                        self.sink.notes().add(notes::BAD_ESCAPE, offset + start as u64);
                    }
                    self.sink.expect(&key);
                    let at = offset + start as u64;
                    match self.entries.put(&key, &String::from_utf8_lossy(value)) {
                        EntryOutcome::Kept => {}
                        EntryOutcome::Replaced => self.sink.notes().add(notes::DUPLICATE_KEY, at),
                        EntryOutcome::NoRoom => {
                            let words = "more top-level entries than are kept";
                            self.sink.notes().add_with(notes::LIMIT_REACHED, at, words);
                        }
                    }
                }
            }
            _ => return Err(ScanError::Bad),
        }
        Ok(())
    }

    fn events(&mut self, c: &mut Cursor<'_>, offset: u64, last: bool) -> ScanResult<()> {
        match c.peek()? {
            b',' => {
                if self.after_comma {
                    self.sink.notes().add(notes::COMMA, offset + c.pos as u64);
                }
                self.after_comma = true;
                c.pos += 1;
                Ok(())
            }
            b']' => {
                c.pos += 1;
                self.closed |= self.bare;
                self.state = if self.bare { State::End } else { State::Top };
                self.after_comma = false;
                Ok(())
            }
            b'{' => {
                let start = c.pos;
                if self.sink.events() >= self.max_events {
                    let words = format!("more than {} events", self.max_events);
                    self.sink.notes().add_with(notes::LIMIT_REACHED, offset + start as u64, words);
                    self.state = State::Full;
                    return Ok(());
                }
                let mut strict = c.clone();
                if self.vain_bytes > MAX_VAIN_BYTES
                    && let Some(next) = salvage::next_event(c.buf, start + 1)
                {
                    strict.buf = &c.buf[..next];
                }
                match self.sink.event::<false>(&mut strict, offset) {
                    Ok(()) => {
                        c.pos = strict.pos;
                        self.separator_before(offset + start as u64);
                    }
                    Err(ScanError::More) if c.buf.len() - start < SUSPECT_BYTES && !last => {
                        return Err(ScanError::More);
                    }
                    Err(stop) => self.salvage(c, offset, stop, strict.pos, last)?,
                }
                Ok(())
            }
            _ => Err(ScanError::Bad),
        }
    }

    /// Two events must have a comma between them.
    fn separator_before(&mut self, at: u64) {
        if !std::mem::replace(&mut self.after_comma, false) {
            self.sink.notes().add(notes::COMMA, at);
        }
    }

    /// Tries an event again within the bounds of the next one, guessing; sets it aside if that fails too.
    /// `reached` is how far the strict try came.
    fn salvage(
        &mut self,
        c: &mut Cursor<'_>,
        offset: u64,
        stop: ScanError,
        reached: usize,
        last: bool,
    ) -> ScanResult<()> {
        let start = c.pos;
        let next = salvage::next_event(c.buf, start + 1);
        // Without another event in sight the rest of this one may just not be there yet.
        if next.is_none() && (stop == ScanError::More || !last) {
            return Err(ScanError::More);
        }
        let reached = if stop == ScanError::More { c.buf.len() } else { reached };
        self.vain_bytes = self.vain_bytes.saturating_add(reached.saturating_sub(next.unwrap_or(reached)));
        let mut bounded = Cursor { buf: &c.buf[..next.unwrap_or(c.buf.len())], pos: start };
        if self.sink.event::<true>(&mut bounded, offset).is_ok() {
            self.separator_before(offset + start as u64);
            c.pos = bounded.pos;
            return Ok(());
        }
        self.sink.set_aside(notes::BROKEN_EVENT, offset + start as u64);
        // The separator before the next event goes with the broken one.
        self.after_comma = true;
        c.pos = next.or_else(|| salvage::end_of_events(c.buf, start)).unwrap_or(c.buf.len());
        Ok(())
    }

    /// Something that is not JSON between events or members.
    fn broken(&mut self, c: &mut Cursor<'_>, offset: u64) {
        let at = offset + c.pos as u64;
        self.sink.notes().add(notes::GARBAGE, at);
        // After the first array there is nothing to look for but more events, and that is what being lost is.
        if self.state == State::Top
            && !self.seen_events
            && let Some(events) = salvage::events_array(c.buf, c.pos)
        {
            c.pos = events;
            self.state = State::Events;
            self.seen_events = true;
            self.after_comma = true;
        } else {
            self.state = State::Lost;
        }
    }

    /// Skips to the next event, or to the end of the array.
    fn lost(&mut self, c: &mut Cursor<'_>, last: bool) -> ScanResult<()> {
        let next = salvage::next_event(c.buf, c.pos);
        let end = salvage::end_of_events(&c.buf[..next.unwrap_or(c.buf.len())], c.pos);
        match (next, end) {
            (None, Some(end)) if last => {
                c.pos = end;
                self.state = State::Events;
            }
            (Some(next), _) => {
                c.pos = next;
                self.state = State::Events;
                self.seen_events = true;
                self.after_comma = true;
            }
            (None, _) if last => c.pos = c.buf.len(),
            (None, _) if c.buf.len() - c.pos > KEEP_BACK => c.pos = c.buf.len() - KEEP_BACK,
            (None, _) => return Err(ScanError::More),
        }
        Ok(())
    }

    /// One event or value beyond the limit: it is left out, and reading goes on after it.
    fn too_large(&mut self, c: &mut Cursor<'_>, offset: u64) {
        let at = offset + c.pos as u64;
        if self.state == State::Events {
            self.sink.set_aside(notes::LIMIT_REACHED, at);
        } else {
            self.sink.notes().add(notes::LIMIT_REACHED, at);
        }
        self.state = State::Lost;
        c.pos += 1;
    }

    fn cut_short(&mut self, at: u64) {
        match self.state {
            State::Events => self.sink.set_aside(notes::TRUNCATED_EVENT, at),
            State::Top => self.sink.notes().add_with(notes::GARBAGE, at, "a top-level value is cut short"),
            _ => {}
        }
    }

    /// Whether no more events are taken.
    pub(super) fn is_full(&self) -> bool {
        self.state == State::Full
    }

    /// Whether no event was read.
    pub(super) fn is_empty(&self) -> bool {
        self.sink.is_empty()
    }

    /// The builder with everything read; an error if there was no sign of events.
    pub(super) fn finish(mut self, offset: u64, name: &str) -> Result<TraceBuilder, ReadError> {
        let path = || name.to_owned();
        if self.state == State::Start {
            return Err(ReadError::Empty { path: path() });
        }
        // An array of something else: not one event in it, and bytes that are none.
        let other_array = self.bare && self.sink.found_nothing();
        if !self.seen_events || other_array {
            return Err(ReadError::NoEvents { path: path() });
        }
        let mut builder = self.sink.finish();
        if !self.closed && self.state != State::Full {
            builder.notes().add(notes::MISSING_TAIL, offset);
        }
        let mut entries = self.entries.into_vec();
        let unread = super::xla::take(&mut builder, &mut entries);
        let too_long = unread + super::meta::fill(builder.meta(), entries);
        if too_long > 0 {
            builder.notes().add_count(notes::LIMIT_REACHED, too_long);
        }
        Ok(builder)
    }
}
