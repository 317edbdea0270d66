//! Tiles as bytes: little endian, columns that a browser reads in place.

use super::item::{RowItem, TileKey};

/// Parts into which a bucket is divided on the wire.
pub const UNITS: u32 = 4096;

const MAGIC: u32 = 0x5354_4C31;

/// What comes before the tiles of one answer.
pub fn wire_header(tiles: u32) -> [u8; 8] {
    let mut header = [0; 8];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..].copy_from_slice(&tiles.to_le_bytes());
    header
}

/// Appends one tile; `units` puts times into parts of a bucket. Its length is a multiple of 8, so that every tile begins aligned if the first does.
pub(super) fn encode(key: TileKey, items: &[RowItem], units: impl Fn(i64) -> u32, out: &mut Vec<u8>) {
    let begin = out.len();
    out.reserve(24 + items.len() * 23 + 8);
    out.extend_from_slice(&key.row.to_le_bytes());
    out.extend_from_slice(&key.level.to_le_bytes());
    out.extend_from_slice(&(key.index as f64).to_le_bytes());
    out.extend_from_slice(&(items.len() as u32).to_le_bytes());
    out.extend_from_slice(&0u32.to_le_bytes());
    items.iter().for_each(|item| out.extend_from_slice(&units(item.start).to_le_bytes()));
    items.iter().for_each(|item| out.extend_from_slice(&units(item.end).to_le_bytes()));
    let columns: [fn(&RowItem) -> u32; 3] = [|i| i.id, |i| i.name, |i| i.count];
    for column in columns {
        items.iter().for_each(|item| out.extend_from_slice(&column(item).to_le_bytes()));
    }
    let bytes: [fn(&RowItem) -> u8; 3] = [|i| i.busy, |i| i.category, |i| i.flags];
    for column in bytes {
        out.extend(items.iter().map(column));
    }
    out.resize(begin + (out.len() - begin).next_multiple_of(8), 0);
}
