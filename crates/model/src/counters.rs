//! Counters: values over time, as columns of times and values that name their series.

use crate::args::Decimal;
use crate::interned::Interned;
use crate::kind::CatId;
use crate::lanes::LaneId;
use crate::strings::StrId;
use crate::time::Ns;
use crate::unit::Unit;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(u32);

impl SeriesId {
    /// The position of this series in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, Hash)]
pub struct Series {
    pub name: StrId,
    /// Which of the counter's values these are, as the producer calls them.
    pub part: StrId,
    /// The unit, if it is known.
    pub unit: Option<Unit>,
    pub lane: LaneId,
    /// Its category as the producer spelled it.
    pub cat: CatId,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CounterRow {
    /// When, since the trace's first event.
    pub at: Ns,
    pub series: SeriesId,
    /// The value, as it was written; an integer has no digits after the point.
    pub value: Decimal,
    /// Whether the producer wrote it in one event with the row before.
    pub joined: bool,
}

/// Set in a row's scale where its event is that of the row before.
const JOINED_FLAG: u8 = 1 << 7;

/// The counter columns, in file order.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    series: Interned<Series>,
    pub(crate) at: Vec<Ns>,
    of: Vec<SeriesId>,
    mantissa: Vec<i64>,
    scale: Vec<u8>,
    events: usize,
}

impl Counters {
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// How many events gave them: one may give several.
    pub fn events(&self) -> usize {
        self.events
    }

    /// Every series, in the order first seen.
    pub fn series(&self) -> &[Series] {
        self.series.values()
    }

    /// Every value, in file order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = CounterRow> {
        (0..self.len()).map(|i| CounterRow {
            at: self.at[i],
            series: self.of[i],
            value: Decimal { mantissa: self.mantissa[i], scale: self.scale[i] & !JOINED_FLAG },
            joined: self.scale[i] & JOINED_FLAG != 0,
        })
    }

    /// Whether a value can be held as it was written.
    pub(crate) fn holds(value: Decimal) -> bool {
        value.scale < JOINED_FLAG
    }

    /// `None` where there is no number left for a new one.
    pub(crate) fn find_or_add(&mut self, new: Series) -> Option<SeriesId> {
        self.series.number(new).map(SeriesId)
    }

    pub(crate) fn push(&mut self, at: Ns, series: SeriesId, value: Decimal, joined: bool) {
        self.at.push(at);
        self.of.push(series);
        self.mantissa.push(value.mantissa);
        self.scale.push(value.scale | if joined { JOINED_FLAG } else { 0 });
        self.events += usize::from(!joined);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.len() * (8 + 4 + 8 + 1) + self.series.heap_bytes()
    }
}
