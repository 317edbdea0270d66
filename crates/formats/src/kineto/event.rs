//! One event: from its text to what it says.

use std::collections::HashMap;

use stepscope_model::{ArgValue, NoteKind, StrId, Tag, TraceBuilder};

use super::notes;
use super::salvage;
use super::scan::{Cursor, Number, RawString, ScanError, ScanResult};
use super::text::unescape;
use super::time::{Time, from_micros};
use crate::argument_keys::{CALL_STACK, Keys, declare_keys, declare_stack};

/// What an event's text says, texts already interned and arguments pushed but not committed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Event {
    pub(super) phase: u8,
    pub(super) name: StrId,
    pub(super) cat: StrId,
    pub(super) process: Tag,
    pub(super) thread: Tag,
    pub(super) at: Time,
    pub(super) dur: Option<Time>,
    pub(super) id: i64,
    pub(super) correlation: Option<i64>,
    pub(super) external: Option<i64>,
    /// The `name` argument of metadata events.
    pub(super) arg_name: Option<StrId>,
    /// Whether the object had no members at all.
    pub(super) empty: bool,
}

const EMPTY_EVENT: Event = Event {
    phase: 0,
    name: StrId::EMPTY,
    cat: StrId::EMPTY,
    process: Tag::None,
    thread: Tag::None,
    at: Time::Nothing,
    dur: None,
    id: 0,
    correlation: None,
    external: None,
    arg_name: None,
    empty: true,
};

/// Event members that are not arguments are kept as arguments with this prefix (`event.cname`).
pub(crate) const EVENT_MEMBER_PREFIX: &str = "event.";

/// Parses events into a builder.
pub(super) struct EventParser {
    pub(super) builder: TraceBuilder,
    /// Oddities of the event being read; they count once it is accepted, not on every try.
    pending: Vec<(&'static NoteKind, usize)>,
    scratch: Vec<u8>,
    /// Texts with something odd in them.
    odd: HashMap<StrId, &'static NoteKind>,
    /// Brackets of the event being read that were followed to its end in vain.
    vain: u32,
    keys: Keys,
    correlation: StrId,
    external: StrId,
    external_2021: StrId,
    name: StrId,
    call_stack: StrId,
}

impl EventParser {
    pub(super) fn new() -> EventParser {
        let mut builder = TraceBuilder::new();
        declare_keys(&mut builder);
        EventParser {
            correlation: builder.intern("correlation"),
            external: builder.intern("External id"),
            external_2021: builder.intern("external id"),
            name: builder.intern("name"),
            call_stack: builder.intern(CALL_STACK),
            builder,
            pending: Vec::new(),
            scratch: Vec::new(),
            odd: HashMap::new(),
            vain: 0,
            keys: Keys::new(),
        }
    }

    /// Writes down the oddities of the accepted event; positions in the window become offsets in the text.
    pub(super) fn commit_notes(&mut self, window_offset: u64) {
        for (kind, pos) in self.pending.drain(..) {
            self.builder.notes().add(kind, window_offset + pos as u64);
        }
    }

    /// Reads the event object at the cursor. `LENIENT` guesses where a strict reader would give up.
    pub(super) fn event<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>) -> ScanResult<Event> {
        self.pending.clear();
        self.vain = 0;
        self.builder.discard_args();
        let mut event = EMPTY_EVENT;
        let mut seen = 0u16;
        c.expect(b'{')?;
        while self.member::<LENIENT>(c, event.empty)? {
            event.empty = false;
            let start = c.pos;
            let key = self.key::<LENIENT>(c)?;
            let bit = self.event_member::<LENIENT>(c, key, &mut event)?;
            if seen & bit != 0 {
                self.pending.push((notes::DUPLICATE_KEY, start));
            }
            seen |= bit;
        }
        Ok(event)
    }

    /// Steps over the comma before a member, or the closing brace after the last one.
    fn member<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>, first: bool) -> ScanResult<bool> {
        match c.next_token()? {
            b'}' => {
                c.pos += 1;
                return Ok(false);
            }
            b'"' if first => return Ok(true),
            b',' if !first => c.pos += 1,
            b'"' if LENIENT => {
                self.pending.push((notes::COMMA, c.pos));
                return Ok(true);
            }
            _ if LENIENT => {}
            _ => return Err(ScanError::Bad),
        }
        match c.next_token()? {
            b'"' => Ok(true),
            b',' | b'}' if LENIENT => {
                self.pending.push((notes::COMMA, c.pos));
                while c.next_token()? == b',' {
                    c.pos += 1;
                }
                self.member::<LENIENT>(c, true)
            }
            _ => Err(ScanError::Bad),
        }
    }

    #[inline(always)]
    fn key<'a, const LENIENT: bool>(&mut self, c: &mut Cursor<'a>) -> ScanResult<RawString<'a>> {
        let key = if LENIENT { salvage::key(c)? } else { c.string()? };
        c.expect(b':')?;
        c.next_token()?;
        Ok(key)
    }

    /// Reads one member's value; returns the bit of a known key, so that doubles are seen.
    fn event_member<const LENIENT: bool>(
        &mut self,
        c: &mut Cursor<'_>,
        key: RawString<'_>,
        event: &mut Event,
    ) -> ScanResult<u16> {
        Ok(match key.bytes {
            b"ph" => {
                let raw = self.string::<LENIENT>(c)?;
                event.phase = raw.bytes.first().copied().unwrap_or(0);
                1
            }
            b"name" => {
                event.name = self.text_or_word::<LENIENT>(c)?;
                1 << 1
            }
            b"cat" => {
                event.cat = match c.peek()? {
                    b'"' => {
                        let raw = self.string::<LENIENT>(c)?;
                        self.intern_key(raw, c.pos)
                    }
                    _ => self.text_or_word::<LENIENT>(c)?,
                };
                1 << 2
            }
            b"pid" => {
                event.process = self.tag::<LENIENT>(c)?;
                1 << 3
            }
            b"tid" => {
                event.thread = self.tag::<LENIENT>(c)?;
                1 << 4
            }
            b"ts" => {
                event.at = self.time::<LENIENT>(c)?;
                1 << 5
            }
            b"dur" => {
                event.dur = Some(self.time::<LENIENT>(c)?);
                1 << 6
            }
            b"args" => {
                if c.peek()? == b'{' {
                    self.args::<LENIENT>(c, event)?;
                } else {
                    let value = self.value::<LENIENT>(c)?;
                    self.push_member("args", value);
                }
                1 << 7
            }
            b"id" => {
                let value = self.value::<LENIENT>(c)?;
                event.id = self.flow_id(value);
                if !matches!(event.phase, b's' | b't' | b'f') {
                    self.push_member("id", value);
                }
                1 << 8
            }
            // Says how a viewer binds an arrow's end; always the same in these files.
            b"bp" => {
                self.value::<LENIENT>(c)?;
                1 << 9
            }
            _ => {
                let value = self.value::<LENIENT>(c)?;
                let key = self.intern(key, c.pos);
                let key = self.builder.text(key).to_owned();
                self.push_member(&key, value);
                0
            }
        })
    }

    fn push_member(&mut self, key: &str, value: ArgValue) {
        let key = self.builder.intern(&format!("{EVENT_MEMBER_PREFIX}{key}"));
        self.builder.push_arg(key, value);
    }

    fn args<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>, event: &mut Event) -> ScanResult<()> {
        c.expect(b'{')?;
        let mut first = true;
        while self.member::<LENIENT>(c, first)? {
            first = false;
            let key = self.key::<LENIENT>(c)?;
            let key = self.intern_key(key, c.pos);
            let value = self.value::<LENIENT>(c)?;
            if key == self.correlation {
                event.correlation = self.id(value);
            } else if key == self.external || key == self.external_2021 {
                event.external = self.id(value);
            } else if key == self.name
                && let ArgValue::Str(text) = value
            {
                event.arg_name = Some(text);
            }
            if key == self.call_stack
                && let ArgValue::Str(text) = value
            {
                declare_stack(&mut self.builder, text);
            }
            self.builder.push_arg(key, value);
        }
        Ok(())
    }

    /// An id, also one that was quoted.
    fn id(&self, value: ArgValue) -> Option<i64> {
        match value {
            ArgValue::Int(id) => Some(id),
            ArgValue::Str(text) => self.builder.text(text).parse().ok(),
            _ => None,
        }
    }

    fn value<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>) -> ScanResult<ArgValue> {
        Ok(match c.peek()? {
            b'"' => {
                let raw = self.string::<LENIENT>(c)?;
                ArgValue::Str(self.intern(raw, c.pos))
            }
            b'0'..=b'9' | b'-' => {
                let start = c.pos;
                match c.number() {
                    Ok((Number::Int(v), _)) if at_delimiter(c) => ArgValue::Int(v),
                    Ok((Number::Decimal(d), _)) if at_delimiter(c) => ArgValue::Decimal(d),
                    Ok((Number::Odd, text)) if at_delimiter(c) => {
                        ArgValue::Json(self.intern_bytes(text, start))
                    }
                    Err(ScanError::More) => return Err(ScanError::More),
                    _ => {
                        c.pos = start;
                        self.word(c)?
                    }
                }
            }
            b'[' | b'{' => {
                let start = c.pos;
                let text = if LENIENT {
                    let (text, guessed) = salvage::nested(c, &mut self.vain)?;
                    if guessed {
                        self.pending.push((notes::BRACKET, start));
                    }
                    text
                } else {
                    c.nested()?
                };
                ArgValue::Json(self.intern_bytes(text, start))
            }
            // `"key": ,` — a value that was never written.
            b',' | b'}' => {
                self.pending.push((notes::BARE_WORD, c.pos));
                ArgValue::Null
            }
            _ => self.word(c)?,
        })
    }

    /// A bare word: true, false, null, or something that should have been quoted.
    fn word(&mut self, c: &mut Cursor<'_>) -> ScanResult<ArgValue> {
        let start = c.pos;
        Ok(match c.word()? {
            b"true" => ArgValue::Bool(true),
            b"false" => ArgValue::Bool(false),
            b"null" => ArgValue::Null,
            word => {
                self.pending.push((notes::BARE_WORD, start));
                ArgValue::Str(self.intern_bytes(word, start))
            }
        })
    }

    #[inline(always)]
    fn string<'a, const LENIENT: bool>(&mut self, c: &mut Cursor<'a>) -> ScanResult<RawString<'a>> {
        if !LENIENT {
            return c.string();
        }
        let start = c.pos;
        let (raw, repaired) = salvage::value_string(c)?;
        if repaired {
            self.pending.push((notes::UNESCAPED_QUOTE, start));
        }
        Ok(raw)
    }

    fn text_or_word<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>) -> ScanResult<StrId> {
        if c.peek()? == b'"' {
            let raw = self.string::<LENIENT>(c)?;
            return Ok(self.intern(raw, c.pos));
        }
        let text = c.value_text()?;
        Ok(self.intern_bytes(text, c.pos))
    }

    fn tag<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>) -> ScanResult<Tag> {
        let start = c.pos;
        Ok(match self.value::<LENIENT>(c)? {
            ArgValue::Int(v) => Tag::Int(v),
            ArgValue::Str(text) => match self.builder.text(text).parse() {
                Ok(v) => Tag::Int(v),
                Err(_) => Tag::Str(text),
            },
            ArgValue::Json(text) => Tag::Str(text),
            ArgValue::Decimal(_) => Tag::Str(self.intern_bytes(&c.buf[start..c.pos], start)),
            _ => Tag::None,
        })
    }

    fn time<const LENIENT: bool>(&mut self, c: &mut Cursor<'_>) -> ScanResult<Time> {
        let start = c.pos;
        let quoted = c.peek()? == b'"';
        c.pos += usize::from(quoted);
        match c.number() {
            Ok((number, text)) => {
                let time = from_micros(number, text);
                if quoted && c.peek()? == b'"' {
                    c.pos += 1;
                }
                if at_delimiter(c) {
                    if matches!(time, Time::Rounded(_)) {
                        self.pending.push((notes::SUB_NANOSECOND, start));
                    }
                    return Ok(time);
                }
            }
            Err(ScanError::More) => return Err(ScanError::More),
            Err(ScanError::Bad) => {}
        }
        c.pos = start;
        self.value::<LENIENT>(c)?;
        Ok(Time::Nothing)
    }

    /// Arrow ids may be numbers or texts; texts become numbers below zero, which real ids are not.
    fn flow_id(&mut self, value: ArgValue) -> i64 {
        match value {
            ArgValue::Int(v) => v,
            ArgValue::Str(id) | ArgValue::Json(id) => {
                let text = self.builder.text(id);
                let hex = text.strip_prefix("0x").and_then(|h| i64::from_str_radix(h, 16).ok());
                hex.or_else(|| text.parse().ok()).unwrap_or(-1 - id.index() as i64)
            }
            _ => 0,
        }
    }

    /// As [`EventParser::intern`], for texts that come again and again.
    fn intern_key(&mut self, raw: RawString<'_>, pos: usize) -> StrId {
        if raw.escaped {
            return self.intern(raw, pos);
        }
        if let Some(id) = self.keys.get(raw.bytes) {
            return id;
        }
        let id = self.intern_bytes(raw.bytes, pos);
        if !self.odd.contains_key(&id) {
            self.keys.put(raw.bytes, id);
        }
        id
    }

    fn intern(&mut self, raw: RawString<'_>, pos: usize) -> StrId {
        if !raw.escaped {
            return self.intern_bytes(raw.bytes, pos);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        if unescape(raw, &mut scratch).bad_escape {
            self.pending.push((notes::BAD_ESCAPE, pos));
        }
        let (id, new) = self.builder.strings().intern_bytes(&scratch);
        self.scratch = scratch;
        self.note_oddities(id, new, raw.bytes, pos);
        id
    }

    fn intern_bytes(&mut self, bytes: &[u8], pos: usize) -> StrId {
        let (id, new) = self.builder.strings().intern_bytes(bytes);
        self.note_oddities(id, new, bytes, pos);
        id
    }

    /// Looks at a text once, when it is new; what was odd about it is noted for every event that has it.
    fn note_oddities(&mut self, id: StrId, new: bool, bytes: &[u8], pos: usize) {
        if new {
            if bytes.iter().any(|&b| b < 0x20 && b != b'\n' && b != b'\t' && b != b'\r') {
                self.odd.insert(id, notes::CONTROL_BYTE);
            }
            if std::str::from_utf8(bytes).is_err() {
                self.odd.insert(id, notes::INVALID_UTF8);
            }
        }
        if !self.odd.is_empty()
            && let Some(&kind) = self.odd.get(&id)
        {
            self.pending.push((kind, pos));
        }
    }
}

fn at_delimiter(c: &Cursor<'_>) -> bool {
    match c.buf.get(c.pos) {
        Some(b',' | b'}' | b']') | None => true,
        Some(&byte) => super::scan::is_blank(byte),
    }
}
