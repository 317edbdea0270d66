//! Minutes and samples of counters as bytes. The first byte of a record says what it holds.

use super::{Column, Totals};
use crate::block::{Bytes, number, signed, text};

/// Counters of one process at most: eight GPUs have 150.
pub(crate) const MAX_COLUMNS: usize = 4_096;

const COLUMNS: u8 = 0;
const SAMPLE: u8 = 1;
const MINUTE: u8 = 2;

/// One minute of all counters that had a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Minute {
    /// Minutes since 1970.
    pub minute: i64,
    /// Minutes of a process are numbered: what is closed and what is still open are told apart by it.
    pub sequence: u64,
    /// The process that is watched.
    pub watched: Option<u32>,
    pub counters: Vec<(Column, Totals)>,
}

/// All counters at one moment, in the order of the columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    /// The minute that it is part of.
    pub sequence: u64,
    /// Nanoseconds since 1970.
    pub at_ns: i64,
    pub values: Vec<Option<f64>>,
}

/// A record of a file of samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// What the values of the samples behind it are.
    Columns(Option<u32>, Vec<Column>),
    Sample(Sample),
}

fn float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn column(out: &mut Vec<u8>, column: &Column) {
    text(out, &column.name);
    text(out, &column.unit);
    optional(out, column.device);
}

fn optional(out: &mut Vec<u8>, value: Option<u32>) {
    number(out, value.map_or(0, |value| u64::from(value) + 1));
}

impl Minute {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![MINUTE];
        signed(&mut out, self.minute);
        number(&mut out, self.sequence);
        optional(&mut out, self.watched);
        number(&mut out, self.counters.len() as u64);
        for (name, totals) in &self.counters {
            column(&mut out, name);
            number(&mut out, totals.samples);
            for value in [totals.first, totals.last, totals.min, totals.max, totals.sum] {
                float(&mut out, value);
            }
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Bytes { rest: bytes.strip_prefix(&[MINUTE])? };
        let (minute, sequence) = (from.signed()?, from.number()?);
        let watched = from.optional()?;
        let mut counters = Vec::new();
        for _ in 0..from.items().filter(|items| *items <= MAX_COLUMNS as u64)? {
            let name = from.column()?;
            let samples = from.number()?;
            let [first, last, min, max, sum] =
                [from.float()?, from.float()?, from.float()?, from.float()?, from.float()?];
            if samples == 0 || min > max {
                return None;
            }
            counters.push((name, Totals { samples, first, last, min, max, sum }));
        }
        from.rest.is_empty().then_some(Self { minute, sequence, watched, counters })
    }
}

/// The record at the start of a file of samples.
pub(super) fn encode_columns(watched: Option<u32>, columns: &[Column]) -> Vec<u8> {
    let mut out = vec![COLUMNS];
    optional(&mut out, watched);
    number(&mut out, columns.len() as u64);
    columns.iter().for_each(|one| column(&mut out, one));
    out
}

impl Sample {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24 + 9 * self.values.len());
        out.push(SAMPLE);
        number(&mut out, self.sequence);
        signed(&mut out, self.at_ns);
        for eight in self.values.chunks(8) {
            let bit = |(at, value): (usize, &Option<f64>)| u8::from(value.is_some()) << at;
            out.push(eight.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit));
        }
        self.values.iter().flatten().for_each(|value| float(&mut out, *value));
        out
    }
}

impl Entry {
    /// `columns`: how many values a sample has.
    pub(super) fn decode(bytes: &[u8], columns: usize) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let mut from = Bytes { rest };
        let entry = match *kind {
            COLUMNS => {
                let watched = from.optional()?;
                let count = from.items().filter(|items| *items <= MAX_COLUMNS as u64)?;
                Entry::Columns(watched, (0..count).map(|_| from.column()).collect::<Option<_>>()?)
            }
            SAMPLE => {
                let (sequence, at_ns) = (from.number()?, from.signed()?);
                let bits = from.take(columns.div_ceil(8))?;
                let is_there = |at: usize| bits[at / 8] >> (at % 8) & 1 == 1;
                let mut values = Vec::with_capacity(columns);
                for at in 0..columns {
                    values.push(if is_there(at) { Some(from.float()?) } else { None });
                }
                Entry::Sample(Sample { sequence, at_ns, values })
            }
            _ => return None,
        };
        from.rest.is_empty().then_some(entry)
    }
}

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// A value that a sensor can have.
    fn float(&mut self) -> Option<f64> {
        let bytes: [u8; 8] = self.take(8)?.try_into().ok()?;
        Some(f64::from_le_bytes(bytes)).filter(|value| value.is_finite())
    }

    fn optional(&mut self) -> Option<Option<u32>> {
        match self.number()?.checked_sub(1) {
            None => Some(None),
            Some(value) => u32::try_from(value).ok().map(Some),
        }
    }

    fn column(&mut self) -> Option<Column> {
        Some(Column { name: self.text()?, unit: self.text()?, device: self.optional()? })
    }
}
