//! A plane as it comes: its lines, and the names that its events and stats refer to, which stand after the lines.

use std::ops::Range;

use stepscope_ground::protobuf::{Field, Fields};

use super::pull::{FieldKind, Pull, PullError};

/// What a plane holds, not taken apart yet.
#[derive(Debug, Default)]
pub(super) struct Plane {
    pub(super) name: String,
    pub(super) lines: Vec<Vec<u8>>,
    /// Entries of the map from numbers to descriptions of events.
    events: Vec<Range<usize>>,
    /// Entries of the map from numbers to names of stats.
    stat_names: Vec<Range<usize>>,
    /// The plane's own stats.
    stats: Vec<Range<usize>>,
    /// The bytes of the three lists above.
    bytes: Vec<u8>,
}

impl Plane {
    /// Reads a plane of this many bytes; what came before a stop stays in `self`. At most `most` bytes are held. The
    /// stream comes after the plane unless the text ended.
    pub(super) fn pull(&mut self, from: &mut Pull, bytes: u64, most: u64) -> Result<(), PullError> {
        let end = from.offset().saturating_add(bytes);
        let result = self.fields(from, end, most);
        match result {
            Err(PullError::Bad(_)) => {
                from.skip(end.saturating_sub(from.offset()))?;
                result
            }
            other => other,
        }
    }

    fn fields(&mut self, from: &mut Pull, end: u64, most: u64) -> Result<(), PullError> {
        let mut held = 0u64;
        while from.offset() < end {
            let (number, announced) = from.field()?;
            let FieldKind::Bytes(length) = announced else { continue };
            if length > end.saturating_sub(from.offset()) {
                return Err(PullError::Bad("a field is longer than the message it is in"));
            }
            let room = most.saturating_sub(held);
            let list = match number {
                2 => {
                    let mut name = Vec::new();
                    from.take(length, &mut name, room.min(MAX_NAME))?;
                    self.name = String::from_utf8_lossy(&name).into_owned();
                    continue;
                }
                3 => {
                    let mut line = Vec::new();
                    // A line that is cut off is kept as far as it goes.
                    let taken = from.take(length, &mut line, room);
                    held += line.len() as u64;
                    if !line.is_empty() {
                        self.lines.push(line);
                    }
                    taken?;
                    continue;
                }
                4 => &mut self.events,
                5 => &mut self.stat_names,
                6 => &mut self.stats,
                _ => {
                    from.skip(length)?;
                    continue;
                }
            };
            let at = self.bytes.len();
            from.take(length, &mut self.bytes, room)?;
            held += length;
            list.push(at..self.bytes.len());
        }
        Ok(())
    }

    pub(super) fn stat_names(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.stat_names.iter().map(|range| {
            let (number, description) = entry(&self.bytes[range.clone()]);
            let name = Fields::new(description).flatten().filter_map(|field| match field {
                (2, Field::Bytes(name)) => Some(name),
                _ => None,
            });
            (number, name.last().unwrap_or_default())
        })
    }

    /// Numbers and descriptions of events.
    pub(super) fn events(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.events.iter().map(|range| entry(&self.bytes[range.clone()]))
    }

    /// The plane's own stats.
    pub(super) fn stats(&self) -> impl Iterator<Item = &[u8]> {
        self.stats.iter().map(|range| &self.bytes[range.clone()])
    }

    /// Whether nothing says what its events are called.
    pub(super) fn is_nameless(&self) -> bool {
        self.events.is_empty()
    }
}

/// No plane has a longer name.
const MAX_NAME: u64 = 64 << 10;

/// Key and value of an entry of a map.
fn entry(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut key, mut value) = (0, &[][..]);
    for field in Fields::new(bytes).flatten() {
        match field {
            (1, Field::Number(number)) => key = number,
            (2, Field::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    (key, value)
}
