//! Minutes and samples of counters in files, with the numbers that their fields have there.

use stepscope_ground::protobuf::{Field, Message, Put, varint};

use super::{Column, Totals};
use crate::wire::{self, Wire, message};

/// Counters of one process at most: eight GPUs have 150.
pub(crate) const MAX_COLUMNS: usize = 4_096;

/// The first byte of a record in files of schema 1 says what it holds.
const COLUMNS_RECORD: u8 = 0;
const SAMPLE_RECORD: u8 = 1;
const MINUTE_RECORD: u8 = 2;

/// One minute of all counters that had a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Minute {
    /// Minutes since 1970.
    pub minute: i64,
    /// The number of a minute of the process; it tells an open minute from a closed one.
    pub sequence: u64,
    /// The process that is watched.
    pub watched: Option<u32>,
    pub counters: Vec<(Column, Totals)>,
}

/// What the values of samples are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    pub watched: Option<u32>,
    pub columns: Vec<Column>,
}

/// All counters at one moment, in the order of the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    /// The minute that it is part of.
    pub sequence: u64,
    /// Nanoseconds since 1970.
    pub at_ns: i64,
    pub values: Values,
}

/// A value for each column, where there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values(pub Vec<Option<f64>>);

/// A record of a file of samples: columns, or a sample of those before it, or what only a newer version knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub columns: Option<Columns>,
    pub sample: Option<Sample>,
}

message!(Minute { 1: minute, 2: sequence, 3: watched, 4: counters });

message!(Column { 1: name, 2: unit, 3: device });

message!(Columns { 1: watched, 2: columns });

message!(Sample { 1: sequence, 2: at_ns, 3: values });

message!(Entry { 1: columns, 2: sample });

impl Minute {
    pub(super) fn decode(bytes: &[u8], schema: u16) -> Option<Self> {
        let found: Self = match schema {
            1 => wire::decode_in_order(bytes.strip_prefix(&[MINUTE_RECORD])?)?,
            _ => wire::decode(bytes)?,
        };
        (found.counters.len() <= MAX_COLUMNS).then_some(found)
    }
}

impl Entry {
    /// `columns`: how many values a sample has in a file of schema 1, which does not say so.
    pub(super) fn decode(bytes: &[u8], schema: u16, columns: usize) -> Option<Self> {
        let found: Self = match (schema, bytes.split_first()?) {
            (1, (&COLUMNS_RECORD, rest)) => Self { columns: Some(wire::decode_in_order(rest)?), sample: None },
            (1, (&SAMPLE_RECORD, mut from)) => {
                let (sequence, at_ns) = (Wire::in_order(&mut from)?, Wire::in_order(&mut from)?);
                let values = Values::read(columns, from)?;
                Self { columns: None, sample: Some(Sample { sequence, at_ns, values }) }
            }
            (1, _) => return None,
            _ => wire::decode(bytes)?,
        };
        let too_many = found.columns.as_ref().is_some_and(|found| found.columns.len() > MAX_COLUMNS);
        (!too_many).then_some(found)
    }
}

impl Values {
    /// A bit for each, whether it is there, and those that are.
    fn read(count: usize, bytes: &[u8]) -> Option<Self> {
        let (bits, rest) = bytes.split_at_checked(count.div_ceil(8))?;
        let (values, rest) = rest.as_chunks::<8>();
        let mut values = values.iter().map(|value| f64::from_le_bytes(*value));
        let mut found = Vec::with_capacity(count);
        for at in 0..count {
            let is_there = bits[at / 8] >> (at % 8) & 1 == 1;
            found.push(if is_there { Some(values.next().filter(|value| value.is_finite())?) } else { None });
        }
        (rest.is_empty() && values.next().is_none()).then_some(Self(found))
    }
}

/// One after the other, without numbers: every counter has them every minute. What is added one day comes last.
impl Wire for Totals {
    fn put(&self, number: u32, out: &mut Message) {
        out.nested(number, |out| {
            out.varint(self.samples);
            for value in [self.first, self.last, self.min, self.max, self.sum] {
                out.extend_from_slice(&value.to_le_bytes());
            }
        });
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        *self = Self::in_order(&mut value.bytes()?)?;
        Some(())
    }

    fn in_order(from: &mut &[u8]) -> Option<Self> {
        let samples = Wire::in_order(from)?;
        let mut next = || f64::in_order(from);
        let [first, last, min, max, sum] = [next()?, next()?, next()?, next()?, next()?];
        (samples > 0 && min <= max).then_some(Self { samples, first, last, min, max, sum })
    }
}

impl Wire for Values {
    fn put(&self, number: u32, out: &mut Message) {
        out.nested(number, |out| {
            out.varint(self.0.len() as u64);
            for eight in self.0.chunks(8) {
                let bit = |(at, value): (usize, &Option<f64>)| u8::from(value.is_some()) << at;
                out.push(eight.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit));
            }
            self.0.iter().flatten().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        });
    }

    fn take(&mut self, value: Field<'_>) -> Option<()> {
        let mut bytes = value.bytes()?;
        let count = usize::try_from(varint(&mut bytes).ok()?).ok().filter(|count| *count <= MAX_COLUMNS)?;
        *self = Self::read(count, bytes)?;
        Some(())
    }

    /// Schema 1 does not say how many there are: see [`Entry::decode`].
    fn in_order(_: &mut &[u8]) -> Option<Self> {
        None
    }
}
