//! Python objects in the memory of another process: texts, numbers, containers, attributes. Every length is bounded, and nothing is
//! called: an object of a type that is not known is its type's name.

use super::error::Unreadable;
use super::layout::{Attributes, Int, Keys, Layout, flags};
use super::memory::Memory;
use super::numbers::{int, word};

/// Entries of a dictionary that are read.
const MAX_ENTRIES: usize = 1 << 16;
/// How deep containers in containers are shown.
const MAX_DEPTH: usize = 2;
/// How many things of a container are shown.
const MAX_SHOWN: usize = 8;
/// Characters of a text that are shown.
const MAX_TEXT: usize = 128;
const MAX_TYPE_NAME: usize = 256;

/// An address and something behind it: what was read may be any number.
fn off(at: u64, by: u64) -> u64 {
    at.wrapping_add(by)
}

/// A text, cut at so many characters.
pub(super) fn text(memory: &mut Memory, layout: &Layout, at: u64, most: usize) -> Result<String, Unreadable> {
    let head = memory.bytes(at, layout.str_compact_data)?;
    let length = word(&head, layout.str_length);
    let state = int(&head, layout.str_state);
    let (kind, compact, ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    let width = match kind {
        1 | 2 | 4 => kind as usize,
        _ => return Err(Unreadable::Nonsense),
    };
    if !compact || length > 1 << 40 {
        return Err(Unreadable::Nonsense);
    }
    let count = (length as usize).min(most);
    let data = off(at, (if ascii { layout.str_ascii_data } else { layout.str_compact_data }) as u64);
    let bytes = memory.bytes(data, count * width)?;
    Ok(bytes
        .chunks_exact(width)
        .map(|unit| {
            let code = unit.iter().rev().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
        .collect())
}

/// A string of bytes; one that is longer than allowed is an error, because a part of a table is none.
pub(super) fn byte_string(
    memory: &mut Memory,
    layout: &Layout,
    at: u64,
    most: usize,
) -> Result<Vec<u8>, Unreadable> {
    let length = memory.word(off(at, layout.var_size as u64))? as usize;
    if length > most {
        return Err(Unreadable::Nonsense);
    }
    memory.bytes(off(at, layout.bytes_data as u64), length)
}

/// The things of a tuple, at most so many, and how many there are.
pub(super) fn tuple(
    memory: &mut Memory,
    layout: &Layout,
    at: u64,
    most: usize,
) -> Result<(Vec<u64>, usize), Unreadable> {
    let count = memory.word(off(at, layout.var_size as u64))? as usize;
    Ok((read_words(memory, off(at, layout.tuple_items as u64), count.min(most))?, count))
}

fn read_words(memory: &mut Memory, at: u64, count: usize) -> Result<Vec<u64>, Unreadable> {
    let bytes = memory.bytes(at, count * 8)?;
    Ok(bytes.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_le_bytes)).collect())
}

/// Keys and values of a dictionary, at most so many.
pub(super) fn dict(
    memory: &mut Memory,
    layout: &Layout,
    at: u64,
    most: usize,
) -> Result<Vec<(u64, u64)>, Unreadable> {
    let keys = memory.word(off(at, layout.dict_keys as u64))?;
    let values = memory.word(off(at, layout.dict_values as u64))?;
    let values = match (values, layout.attributes) {
        (0, _) => None,
        (at, Attributes::Inline { values }) => Some(off(at, values as u64)),
        (at, _) => Some(at),
    };
    entries(memory, layout, keys, values, most)
}

/// Entries of a table of keys, whose values may be elsewhere.
fn entries(
    memory: &mut Memory,
    layout: &Layout,
    keys: u64,
    values: Option<u64>,
    most: usize,
) -> Result<Vec<(u64, u64)>, Unreadable> {
    // The words of an entry, and which of them is the key.
    let (count, first, size, key) = match layout.keys {
        Keys::Sizes { size, entries, header } => {
            let slots = memory.word(off(keys, size as u64))?;
            let count = memory.word(off(keys, entries as u64))?;
            let width = match slots {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                0x1_0000..=0xffff_ffff => 4,
                _ => 8,
            };
            if slots > 1 << 40 {
                return Err(Unreadable::Nonsense);
            }
            (count, off(keys, header as u64 + slots * width), 3, 1)
        }
        Keys::Logarithms { size, kind, entries, header } => {
            let head = memory.bytes(keys, header)?;
            let (shift, general) = (head.get(size).copied().unwrap_or(0), head.get(kind) == Some(&0));
            if shift > 40 {
                return Err(Unreadable::Nonsense);
            }
            let first = off(keys, header as u64 + (1u64 << shift));
            let (size, key) = if general { (3, 1) } else { (2, 0) };
            (word(&head, entries), first, size, key)
        }
    };
    let count = (count as usize).min(MAX_ENTRIES);
    let all = read_words(memory, first, count * size)?;
    let values = match values {
        Some(at) => Some(read_words(memory, at, count)?),
        None => None,
    };
    let mut found = Vec::new();
    for (number, entry) in all.chunks_exact(size).enumerate() {
        let value = values.as_ref().map_or(entry[key + 1], |values| values[number]);
        if entry[key] != 0 && value != 0 {
            found.push((entry[key], value));
            if found.len() == most {
                break;
            }
        }
    }
    Ok(found)
}

/// The value of a key that is a text.
pub(super) fn item(
    memory: &mut Memory,
    layout: &Layout,
    dictionary: u64,
    name: &str,
) -> Result<Option<u64>, Unreadable> {
    let all = dict(memory, layout, dictionary, MAX_ENTRIES)?;
    Ok(value_of_key(memory, layout, &all, name))
}

fn value_of_key(memory: &mut Memory, layout: &Layout, all: &[(u64, u64)], name: &str) -> Option<u64> {
    let fits =
        |memory: &mut Memory, key| text(memory, layout, key, name.len() + 1).is_ok_and(|text| text == name);
    all.iter().find(|(key, _)| fits(memory, *key)).map(|(_, value)| *value)
}

/// An attribute that an object itself has.
pub(super) fn attribute(
    memory: &mut Memory,
    layout: &Layout,
    object: u64,
    name: &str,
) -> Result<Option<u64>, Unreadable> {
    let kind = memory.word(off(object, layout.object_type as u64))?;
    let flags = memory.word(off(kind, layout.type_flags as u64))?;
    let cached_keys = |memory: &mut Memory| memory.word(off(kind, layout.type_cached_keys as u64));
    let before = |read_words: u64| object.checked_sub(read_words * 8).ok_or(Unreadable::Nonsense);
    let managed = flags & flags::MANAGED_DICT != 0;
    let all = match layout.attributes {
        Attributes::BeforeObject if managed => {
            let values = memory.word(before(4)?)?;
            match values {
                0 => {
                    let dictionary = memory.word(before(3)?)?;
                    return item(memory, layout, dictionary, name);
                }
                values => {
                    let keys = cached_keys(memory)?;
                    entries(memory, layout, keys, Some(values), MAX_ENTRIES)?
                }
            }
        }
        Attributes::Managed if managed => {
            let either = memory.word(before(3)?)?;
            match either & 1 {
                0 => return item(memory, layout, either, name),
                _ => {
                    let keys = cached_keys(memory)?;
                    entries(memory, layout, keys, Some(off(either, 1)), MAX_ENTRIES)?
                }
            }
        }
        Attributes::Inline { values } if managed => {
            let size = memory.word(off(kind, layout.type_basicsize as u64))?;
            let at = object.wrapping_add(size);
            let valid = flags & flags::INLINE_VALUES != 0 && memory.array::<4>(at)?[3] == 1;
            if !valid {
                let dictionary = memory.word(before(3)?)?;
                return item(memory, layout, dictionary, name);
            }
            let keys = cached_keys(memory)?;
            entries(memory, layout, keys, Some(off(at, values as u64)), MAX_ENTRIES)?
        }
        _ => {
            let offset = memory.word(off(kind, layout.type_dictoffset as u64))? as i64;
            if !(1..1 << 20).contains(&offset) {
                return Ok(None);
            }
            let dictionary = memory.word(off(object, offset as u64))?;
            return item(memory, layout, dictionary, name);
        }
    };
    Ok(value_of_key(memory, layout, &all, name))
}

/// The name of an object's type.
fn type_name(memory: &mut Memory, layout: &Layout, kind: u64) -> Result<String, Unreadable> {
    let at = memory.word(off(kind, layout.type_name as u64))?;
    let mut name = Vec::new();
    // It may end just before a page that is not there.
    while name.len() < MAX_TYPE_NAME {
        let Ok(byte) = memory.array::<1>(off(at, name.len() as u64)) else { break };
        if byte[0] == 0 {
            break;
        }
        name.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// A whole number of at most 60 bits; larger ones say how many digits they have.
pub(super) fn whole(memory: &mut Memory, layout: &Layout, at: u64) -> Result<Result<i64, u64>, Unreadable> {
    let (count, negative, digits) = match layout.int {
        Int::Size { digits } => {
            let size = memory.word(off(at, layout.var_size as u64))? as i64;
            (size.unsigned_abs(), size < 0, digits)
        }
        Int::Tag { tag, digits } => {
            let tag = memory.word(off(at, tag as u64))?;
            (tag >> 3, tag & 3 == 2, digits)
        }
    };
    if count > 2 {
        return Ok(Err(count));
    }
    let digits: [u8; 8] = memory.array(off(at, digits as u64))?;
    let (low, high) = (int(&digits, 0), if count > 1 { int(&digits, 4) } else { 0 });
    let value = i64::from(if count > 0 { low } else { 0 }) | i64::from(high) << 30;
    Ok(Ok(if negative { -value } else { value }))
}

/// An object in words, as `repr` would say it where that needs no call.
pub(super) fn shown(memory: &mut Memory, layout: &Layout, at: u64) -> String {
    shown_at(memory, layout, at, 0).unwrap_or_else(|_| "?".to_owned())
}

fn shown_at(memory: &mut Memory, layout: &Layout, at: u64, depth: usize) -> Result<String, Unreadable> {
    let kind = memory.word(off(at, layout.object_type as u64))?;
    let flags = memory.word(off(kind, layout.type_flags as u64))?;
    let name = type_name(memory, layout, kind)?;
    let has = |flag: u64| flags & flag != 0;
    match name.as_str() {
        "NoneType" => return Ok("None".to_owned()),
        "bool" => {
            let value = whole(memory, layout, at)?;
            return Ok(if value == Ok(0) { "False" } else { "True" }.to_owned());
        }
        "float" => {
            let value = f64::from_bits(memory.word(off(at, layout.float_value as u64))?);
            return Ok(format!("{value:?}"));
        }
        _ => {}
    }
    if has(flags::INT) {
        return Ok(match whole(memory, layout, at)? {
            Ok(value) => value.to_string(),
            Err(digits) => format!("an int of about {} digits", digits.saturating_mul(9)),
        });
    }
    if has(flags::STR) {
        let text = text(memory, layout, at, MAX_TEXT + 1)?;
        let cut = text.chars().count() > MAX_TEXT;
        let text: String = text.chars().take(MAX_TEXT).collect();
        return Ok(format!("{text:?}{}", if cut { "…" } else { "" }));
    }
    if has(flags::BYTES) {
        let length = memory.word(off(at, layout.var_size as u64))? as usize;
        let bytes = memory.bytes(off(at, layout.bytes_data as u64), length.min(MAX_TEXT))?;
        let cut = if length > MAX_TEXT { "…" } else { "" };
        return Ok(format!("b\"{}\"{cut}", bytes.escape_ascii()));
    }
    let container = has(flags::LIST | flags::TUPLE | flags::DICT);
    if !container || depth >= MAX_DEPTH {
        return Ok(format!("<{name} at {at:#x}>"));
    }
    if has(flags::DICT) {
        let all = dict(memory, layout, at, MAX_SHOWN)?;
        let count = memory.word(off(at, layout.dict_used as u64))? as usize;
        let mut parts = Vec::new();
        for (key, value) in &all {
            let (key, value) =
                (shown_at(memory, layout, *key, depth + 1)?, shown_at(memory, layout, *value, depth + 1)?);
            parts.push(format!("{key}: {value}"));
        }
        return Ok(format!("{{{}}}", listed(parts, count)));
    }
    let (items, count) = match has(flags::LIST) {
        true => {
            let count = memory.word(off(at, layout.var_size as u64))? as usize;
            let items = memory.word(off(at, layout.list_items as u64))?;
            (if count == 0 { Vec::new() } else { read_words(memory, items, count.min(MAX_SHOWN))? }, count)
        }
        false => tuple(memory, layout, at, MAX_SHOWN)?,
    };
    let parts: Result<Vec<String>, Unreadable> =
        items.iter().map(|item| shown_at(memory, layout, *item, depth + 1)).collect();
    let inside = listed(parts?, count);
    Ok(match has(flags::LIST) {
        true => format!("[{inside}]"),
        false if count == 1 => format!("({inside},)"),
        false => format!("({inside})"),
    })
}

fn listed(parts: Vec<String>, count: usize) -> String {
    let more = count.saturating_sub(parts.len());
    let text = parts.join(", ");
    if more > 0 { format!("{text}, … {more} more") } else { text }
}
