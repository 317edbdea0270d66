//! Which line an instruction is of, from the tables that code objects have. The tables are CPython's; each version has its own.

use super::layout::Lines;

/// Entries that are kept of one table.
const MAX_ENTRIES: usize = 1 << 20;

/// Lines by the offset of their instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineTable {
    /// Where a piece of code ends, in bytes, and its line; 0 where it has none.
    ends: Vec<(u32, u32)>,
    first: u32,
}

impl LineTable {
    pub(super) fn new(kind: Lines, first: u32, table: &[u8]) -> LineTable {
        let ends = match kind {
            Lines::Pairs => pairs(first, table),
            Lines::Ranges => ranges(first, table),
            Lines::Locations => locations(first, table),
        };
        LineTable { ends, first }
    }

    /// The line of the instruction at this offset; before the first instruction that is where the function starts.
    pub(super) fn line(&self, offset: i64) -> u32 {
        let Ok(offset) = u32::try_from(offset) else { return self.first };
        let at = self.ends.partition_point(|(end, _)| *end <= offset);
        let found = self.ends.get(at).map_or(0, |(_, line)| *line);
        // Some instructions have no line: that of the code before them says more than nothing.
        let before =
            || self.ends[..at.min(self.ends.len())].iter().rev().map(|(_, line)| *line).find(|l| *l > 0);
        if found > 0 { found } else { before().unwrap_or(self.first) }
    }
}

/// Adds a step to a line.
fn step(line: i64, by: i64) -> i64 {
    line.saturating_add(by).clamp(0, i64::from(u32::MAX))
}

fn push(ends: &mut Vec<(u32, u32)>, end: u64, line: i64) {
    if ends.len() < MAX_ENTRIES {
        ends.push((u32::try_from(end).unwrap_or(u32::MAX), line as u32));
    }
}

/// 3.9: (step of offset, step of line); a step of line counts from where the offset is then.
fn pairs(first: u32, table: &[u8]) -> Vec<(u32, u32)> {
    let (mut ends, mut end, mut line) = (Vec::new(), 0u64, i64::from(first));
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        if pair[0] > 0 {
            push(&mut ends, end, line);
        }
        line = step(line, i64::from(pair[1] as i8));
    }
    push(&mut ends, u64::from(u32::MAX), line);
    ends
}

/// 3.10: (length, step of line to here), where -128 means that there is no line.
fn ranges(first: u32, table: &[u8]) -> Vec<(u32, u32)> {
    let (mut ends, mut end, mut line) = (Vec::new(), 0u64, i64::from(first));
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        let by = pair[1] as i8;
        if by == i8::MIN {
            push(&mut ends, end, 0);
            continue;
        }
        line = step(line, i64::from(by));
        if pair[0] > 0 {
            push(&mut ends, end, line);
        }
    }
    ends
}

/// From 3.11 on: the first byte of an entry has its highest bit set, four bits of form and three of length; columns are skipped.
fn locations(first: u32, table: &[u8]) -> Vec<(u32, u32)> {
    let (mut ends, mut end, mut line) = (Vec::new(), 0u64, i64::from(first));
    let mut at = 0;
    while let Some(&head) = table.get(at) {
        at += 1;
        let rest = &table[at..];
        let length = u64::from(head & 7) + 1;
        end += length * 2;
        let here = match head >> 3 & 15 {
            form @ 10..=12 => Some(i64::from(form) - 10),
            13 | 14 => Some(signed(rest)),
            15 => None,
            _ => Some(0),
        };
        line = step(line, here.unwrap_or(0));
        push(&mut ends, end, if here.is_some() { line } else { 0 });
        at += rest.iter().take_while(|byte| **byte & 0x80 == 0).count();
    }
    ends
}

/// Six bits at a time, the lowest first; the lowest bit of all is the sign.
fn signed(bytes: &[u8]) -> i64 {
    let (mut value, mut shift) = (0u64, 0);
    for byte in bytes {
        value |= u64::from(byte & 63) << shift;
        shift += 6;
        if byte & 64 == 0 || shift > 50 {
            break;
        }
    }
    let amount = (value >> 1) as i64;
    if value & 1 == 1 { -amount } else { amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_3_9() {
        // Two bytes of line 10, four of line 11, then a step back to 9, then one over 127 in two steps.
        let table = LineTable::new(Lines::Pairs, 10, &[2, 1, 4, 254, 6, 127, 0, 3]);
        let lines = [0, 1, 2, 5, 6, 11, 12, 500].map(|at| table.line(at));
        assert_eq!(lines, [10, 10, 11, 11, 9, 9, 139, 139]);
        assert_eq!(table.line(-1), 10);
    }

    #[test]
    fn the_table_of_3_10() {
        let table = LineTable::new(Lines::Ranges, 10, &[4, 1, 2, 128, 6, 0, 0, 100, 2, 27]);
        let lines = [0, 3, 4, 6, 11, 12].map(|at| table.line(at));
        assert_eq!(lines, [11, 11, 11, 11, 11, 138]);
    }

    #[test]
    fn the_table_of_3_11() {
        // Form 13 (two units, +3), form 0 with its column byte (one unit), form 12 (+2, one unit), form 15 (one unit),
        // form 14 (one unit, -100): 100 << 1 | 1 = 201 = 9 + 3 * 64.
        let table = [
            0x80 | 13 << 3 | 1,
            6,
            0x80,
            5,
            0x80 | 12 << 3,
            1,
            2,
            0x80 | 15 << 3,
            0x80 | 14 << 3,
            64 | 9,
            3,
            0,
            1,
            1,
        ];
        let table = LineTable::new(Lines::Locations, 200, &table);
        let lines = [-2, 0, 2, 4, 6, 8, 10].map(|at| table.line(at));
        assert_eq!(lines, [200, 203, 203, 203, 205, 205, 105]);
    }

    #[test]
    fn any_bytes_are_a_table() {
        for kind in [Lines::Pairs, Lines::Ranges, Lines::Locations] {
            for seed in 0..200u32 {
                let bytes: Vec<u8> = (0..seed).map(|n| (n * 37 + seed * 11) as u8).collect();
                let table = LineTable::new(kind, u32::MAX - 3, &bytes);
                for at in [-5, 0, 100, i64::MAX] {
                    table.line(at);
                }
            }
        }
    }
}
