//! Where a name occurs. Names are compared once each; slices only look up the answer.

use std::collections::BinaryHeap;

use rayon::prelude::*;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{SliceId, StrId, Trace};

use super::category::Category;
use super::details::Ref;
use super::instants::Moment;
use super::name_sums::{NameSum, NameSums};
use super::{INSTANT, Timeline, spans::drawn};

const DENSITY_BINS: usize = 256;
/// Names listed; the rest are counted.
const MAX_NAMES: usize = 50;
/// Most hits listed, whatever is asked for.
const MAX_HITS: usize = 10_000;
/// Bytes that a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Slices that one worker looks at before it asks for more.
const MIN_SLICES_PER_TASK: usize = 1 << 16;

/// In which order hits are listed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Start,
    /// The longest first.
    Duration,
}

#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// A part of the name in any case, or a regular expression between slashes: `/^aten::(mm|bmm)$/`.
    pub text: String,
    /// Whether the text is the whole name, in its case.
    pub exact: bool,
    /// Only slices of this category.
    pub category: Option<u8>,
    /// The order of the hits.
    pub order: Order,
    /// Only hits that start then or later are listed; all are counted.
    pub after: i64,
    pub limit: usize,
}

impl Default for SearchQuery {
    fn default() -> SearchQuery {
        SearchQuery {
            text: String::new(),
            exact: false,
            category: None,
            order: Order::Start,
            after: 0,
            limit: 200,
        }
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Hits {
    pub query: String,
    /// Slices and instants found.
    pub total: u64,
    pub total_ns: i64,
    /// By name, the most time first.
    pub names: Vec<HitName>,
    pub names_more: u64,
    /// The first of them, in order.
    pub hits: Vec<Ref>,
    /// How many start in each of 256 equal parts of the trace.
    pub density: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HitName {
    pub id: u32,
    pub name: String,
    pub count: u64,
    pub total_ns: i64,
}

impl Timeline {
    /// Everything of a name. The error says what is wrong with the pattern.
    pub fn search(&self, trace: &Trace, query: &SearchQuery) -> Result<Hits, String> {
        let looked_for = self.matching_names(trace, query)?;
        let search = Search { timeline: self, trace, query, looked_for, limit: query.limit.min(MAX_HITS) };
        let slices = (0..trace.slices().len()).into_par_iter().with_min_len(MIN_SLICES_PER_TASK);
        let of_slices = slices.fold(HitCollector::default, |mut found, at| {
            search.slice(&mut found, SliceId::from_index(at));
            found
        });
        let points = (0..Moment::count(trace)).into_par_iter().with_min_len(MIN_SLICES_PER_TASK);
        let of_points = points.fold(HitCollector::default, |mut found, number| {
            if let Some(moment) = Moment::drawn(trace, number) {
                search.moment(&mut found, moment);
            }
            found
        });
        let found = of_slices.chain(of_points).reduce(HitCollector::default, |a, b| a.merge(b, search.limit));
        Ok(search.report(found))
    }

    /// For each text of the trace, whether it is a name that is looked for.
    fn matching_names(&self, trace: &Trace, query: &SearchQuery) -> Result<Vec<bool>, String> {
        let texts = trace.strings().len();
        if query.exact {
            let mut matching = vec![false; texts];
            if let Some(name) = trace.strings().find(&query.text) {
                matching[name.index()] = true;
            }
            return Ok(matching);
        }
        let pattern = pattern(&query.text)?;
        let matches = |at: usize| {
            let name = StrId::from_index(at);
            self.categories.names_something(name) && pattern.is_match(trace.text(name))
        };
        Ok((0..texts).into_par_iter().with_min_len(1024).map(matches).collect())
    }
}

fn pattern(text: &str) -> Result<Regex, String> {
    let between = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|p| !p.is_empty());
    let mut builder = match between {
        Some(pattern) => RegexBuilder::new(pattern),
        None => RegexBuilder::new(&regex::escape(text)),
    };
    builder.case_insensitive(between.is_none()).size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    builder.build().map_err(|error| error.to_string())
}

/// Hits are kept by this: the least comes first.
type Rank = (i64, i64, u32);

#[derive(Default)]
struct HitCollector {
    sums: NameSums,
    density: Vec<u64>,
    /// The first of them; the last of those on top.
    first: BinaryHeap<Rank>,
}

impl HitCollector {
    fn keep(&mut self, rank: Rank, limit: usize) {
        if self.first.len() < limit {
            self.first.push(rank);
        } else if self.first.peek().is_some_and(|last| rank < *last) {
            self.first.pop();
            self.first.push(rank);
        }
    }

    fn merge(mut self, other: HitCollector, limit: usize) -> HitCollector {
        self.sums = self.sums.merge(other.sums);
        self.density.resize(DENSITY_BINS, 0);
        self.density.iter_mut().zip(other.density).for_each(|(sum, count)| *sum += count);
        other.first.into_iter().for_each(|rank| self.keep(rank, limit));
        self
    }
}

struct Search<'a> {
    timeline: &'a Timeline,
    trace: &'a Trace,
    query: &'a SearchQuery,
    looked_for: Vec<bool>,
    limit: usize,
}

impl Search<'_> {
    fn slice(&self, found: &mut HitCollector, id: SliceId) {
        let name = self.trace.slices().name(id);
        if !self.looked_for[name.index()] {
            return;
        }
        if self
            .query
            .category
            .is_some_and(|wanted| self.timeline.categories.category_of(self.trace, id) != wanted)
        {
            return;
        }
        let (start, end) = self.timeline.times(self.trace, id);
        self.add(found, name, id.index() as u32, start, end - start);
    }

    fn moment(&self, found: &mut HitCollector, moment: Moment) {
        let name = moment.name(self.trace);
        let wanted = self.query.category.is_none_or(|category| category == Category::Other.number());
        if self.looked_for[name.index()] && wanted {
            let at = drawn(moment.at(self.trace));
            self.add(found, name, INSTANT | moment.number(), at, 0);
        }
    }

    fn add(&self, found: &mut HitCollector, name: StrId, id: u32, start: i64, length: i64) {
        found.sums.add(name.index() as u32, id, length);
        found.density.resize(DENSITY_BINS, 0);
        let share = start as f64 / (self.timeline.extent as f64 + 1.0);
        found.density[((share * DENSITY_BINS as f64) as usize).min(DENSITY_BINS - 1)] += 1;
        if start >= self.query.after && self.limit > 0 {
            let rank = match self.query.order {
                Order::Start => (start, 0, id),
                Order::Duration => (-length, start, id),
            };
            found.keep(rank, self.limit);
        }
    }

    fn report(&self, mut found: HitCollector) -> Hits {
        found.density.resize(DENSITY_BINS, 0);
        let mut sums = found.sums.sums;
        let text = |sum: &NameSum| self.timeline.name(self.trace, sum.name);
        sums.sort_unstable_by(|a, b| {
            (b.total, b.count).cmp(&(a.total, a.count)).then_with(|| text(a).cmp(text(b)))
        });
        let name = |sum: &NameSum| HitName {
            id: sum.name,
            name: text(sum).to_owned(),
            count: sum.count,
            total_ns: sum.total,
        };
        let ids = found.first.into_sorted_vec().into_iter().map(|rank| rank.2);
        Hits {
            query: self.query.text.clone(),
            total: sums.iter().map(|s| s.count).sum(),
            total_ns: sums.iter().fold(0, |sum, s| sum.saturating_add(s.total)),
            names: sums.iter().take(MAX_NAMES).map(name).collect(),
            names_more: sums.len().saturating_sub(MAX_NAMES) as u64,
            hits: ids.filter_map(|id| self.timeline.reference(self.trace, id)).collect(),
            density: found.density,
        }
    }
}
