//! Guesses for broken text: where a string must have ended, where the next event begins.
//!
//! Heuristics, and named so: they look for the shapes that writers of these files produce, and everything they
//! mend is noted. A reader that cannot guess sets the event aside.

use memchr::{memchr, memmem};

use super::scan::{Cursor, RawString, ScanError, ScanResult, is_blank};

const EVENT_KEYS: &[&[u8]] =
    &[b"ph", b"name", b"cat", b"pid", b"tid", b"ts", b"dur", b"id", b"args", b"bp", b"s", b"sf", b"tts"];

/// A key may be this long to be believed where a string's end is guessed.
const KEY_BYTES: usize = 80;
/// After this many strict tries in vain the brackets of one event are only guessed at.
const MAX_VAIN_TRIES: u32 = 8;
/// The phase of an event is this near its opening brace.
pub(super) const PHASE_WITHIN: usize = 32 << 10;

/// The next place after `from` where an event begins.
pub(super) fn next_event(buf: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b'{', buf.get(at..)?) {
        let brace = at + found;
        if begins_event(buf, brace) {
            return Some(brace);
        }
        at = brace + 1;
    }
    None
}

/// Whether an event begins at this brace: after a separator, with a known first key, and with a phase among its
/// own members. An object inside an argument has no phase, whatever the next event has.
fn begins_event(buf: &[u8], brace: usize) -> bool {
    let before = buf[..brace].iter().rev().find(|&&b| !is_blank(b));
    if !matches!(before, None | Some(b',' | b'[' | b'}' | b']')) {
        return false;
    }
    let near = &buf[..buf.len().min(brace + PHASE_WITHIN)];
    let mut c = Cursor { buf: near, pos: brace + 1 };
    let mut first = true;
    while let Ok(b'"') = c.next_token() {
        let Ok(key) = c.string() else { return false };
        if first && !EVENT_KEYS.contains(&key.bytes) {
            return false;
        }
        if c.expect(b':').is_err() {
            return false;
        }
        if key.bytes == b"ph" {
            return c.next_token() == Ok(b'"');
        }
        if c.value_text().is_err() || c.expect(b',').is_err() {
            return false;
        }
        first = false;
    }
    false
}

/// Where the array of events ends: a bracket followed by a top-level key, the final brace or nothing.
pub(super) fn end_of_events(buf: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b']', buf.get(at..)?) {
        let bracket = at + found;
        let mut c = Cursor { buf, pos: bracket + 1 };
        match c.next_token() {
            Ok(b'}') => {
                c.pos += 1;
                c.skip_blanks();
                if c.pos == buf.len() {
                    return Some(bracket);
                }
            }
            Ok(b',') => {
                c.pos += 1;
                c.skip_blanks();
                let line_start = buf[..bracket].iter().rev().find(|&&b| b != b' ' && b != b'\t');
                if line_start == Some(&b'\n') && key_follows(&mut c) {
                    return Some(bracket);
                }
            }
            Err(_) => return Some(bracket),
            Ok(_) => {}
        }
        at = bracket + 1;
    }
    None
}

/// The array of events, if its key is somewhere after `from`: the position after its bracket.
pub(super) fn events_array(buf: &[u8], from: usize) -> Option<usize> {
    let key = memmem::find(buf.get(from..)?, b"\"traceEvents\"")?;
    let mut c = Cursor { buf, pos: from + key + b"\"traceEvents\"".len() };
    c.expect(b':').ok()?;
    c.expect(b'[').ok()?;
    Some(c.pos)
}

/// A key: ends at the first quote that a colon follows.
pub(super) fn key<'a>(c: &mut Cursor<'a>) -> ScanResult<RawString<'a>> {
    let start = c.pos;
    let strict = c.string()?;
    if c.next_token()? == b':' {
        return Ok(strict);
    }
    c.pos = start;
    let (raw, _) = string_until(c, |buf, at| {
        let mut after = Cursor { buf, pos: at };
        after.next_token() == Ok(b':')
    })?;
    Ok(raw)
}

/// A string in a member's value: ends at the first quote that a closing brace or another member follows.
/// Also whether that was not its first quote.
pub(super) fn value_string<'a>(c: &mut Cursor<'a>) -> ScanResult<(RawString<'a>, bool)> {
    string_until(c, |buf, at| {
        let mut after = Cursor { buf, pos: at };
        match after.next_token() {
            Err(_) | Ok(b'}') => true,
            Ok(b',') => {
                after.pos += 1;
                after.skip_blanks();
                key_follows(&mut after)
            }
            Ok(b'"') => key_follows(&mut after),
            Ok(_) => false,
        }
    })
}

fn string_until<'a>(
    c: &mut Cursor<'a>,
    ends: impl Fn(&[u8], usize) -> bool,
) -> ScanResult<(RawString<'a>, bool)> {
    if c.peek()? != b'"' {
        return Err(ScanError::Bad);
    }
    let start = c.pos + 1;
    let mut at = start;
    let mut repaired = false;
    let mut escaped = false;
    while let Some(found) = c.buf.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let quote = at + found;
        escaped |= memchr(b'\\', &c.buf[at..quote]).is_some();
        let backslashes = c.buf[start..quote].iter().rev().take_while(|&&b| b == b'\\').count();
        if ends(c.buf, quote + 1) {
            // An escaped quote that ends a member all the same: a path's last backslash was not escaped.
            repaired |= backslashes % 2 == 1;
            c.pos = quote + 1;
            return Ok((RawString { bytes: &c.buf[start..quote], escaped }, repaired));
        }
        repaired |= backslashes % 2 == 0;
        at = quote + 1;
    }
    Err(ScanError::Bad)
}

/// An array or object, and whether its end was guessed: strictly if that works out, else up to a bracket that
/// another member follows. `vain` counts the event's strict tries that came to nothing: each may cost the whole
/// event, so only a few are made.
pub(super) fn nested<'a>(c: &mut Cursor<'a>, vain: &mut u32) -> ScanResult<(&'a [u8], bool)> {
    let start = c.pos;
    if *vain < MAX_VAIN_TRIES {
        match c.nested() {
            Ok(text) if matches!(c.clone().next_token(), Ok(b',' | b'}') | Err(ScanError::More)) => {
                return Ok((text, false));
            }
            Ok(_) | Err(_) => *vain += 1,
        }
    }
    c.pos = start;
    let close = if c.peek()? == b'[' { b']' } else { b'}' };
    let mut at = start + 1;
    while let Some(found) = c.buf.get(at..).and_then(|rest| memchr(close, rest)) {
        let end = at + found + 1;
        let mut after = Cursor { buf: c.buf, pos: end };
        let ends = match after.next_token() {
            Ok(b'}') => true,
            Ok(b',') => {
                after.pos += 1;
                after.skip_blanks();
                key_follows(&mut after)
            }
            _ => false,
        };
        if ends {
            c.pos = end;
            return Ok((&c.buf[start..end], true));
        }
        at = end;
    }
    Err(ScanError::Bad)
}

/// Whether a short string and a colon stand at the cursor.
fn key_follows(c: &mut Cursor<'_>) -> bool {
    let end = c.buf.len().min(c.pos + KEY_BYTES);
    let mut near = Cursor { buf: &c.buf[..end], pos: c.pos };
    match near.string() {
        Ok(key) if !key.bytes.contains(&b'\n') => near.next_token() == Ok(b':'),
        _ => false,
    }
}
