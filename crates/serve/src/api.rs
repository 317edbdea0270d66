//! What the page asks about a run, as functions from a path and a query to bytes. The server and the report use the same.

use stepscope_analyse::scope::selection::Selection;
use stepscope_analyse::tables::functions::value_of;
use stepscope_analyse::views::flame::{FlameQuery, FlameWeight, flame, profile_flame};
use stepscope_analyse::views::timeline::{self, Order, SearchQuery, TileKey};
use stepscope_ground::Problem;

use stepscope_ask::write;
use stepscope_model::DocumentKind;

use crate::cached_run::CachedRun;
use crate::memory::memory;
use crate::messages::{Counters, Names, PathPieces, ShownPages};
use crate::pages::shown;
use crate::path;
use crate::question::{self, Query, number, pairs};
use crate::reply::Reply;
use crate::source::source;

/// Most tiles of one request.
const MAX_TILES: usize = 512;
/// Most names of one request.
const MAX_NAMES: usize = 8_192;

/// Answers a request about a run; `None` if there is no such thing to ask.
pub(crate) fn reply(run: &CachedRun, path: &str, query: &str) -> Option<Result<Reply, Problem>> {
    let (what, rest) = path.split_once('/').unwrap_or((path, ""));
    Some(match what {
        "ask" => ask(run, rest, query),
        "csv" => csv(run, rest, query),
        "timeline" => Reply::json(&run.timeline().layout(run.trace())),
        "tiles" => tiles(run, query),
        "names" => names(run, query),
        "slice" => slice(run, rest),
        "area" => area(run, query),
        "search" => search(run, query),
        "counters" => counters(run, query),
        "flame" => flames(run, query),
        "path" => critical(run, query),
        "shown" => Reply::json(&ShownPages { pages: shown(run) }),
        "source" => source_of(run, query),
        "memory" => return memory(run, rest, query),
        _ => return None,
    })
}

fn ask(run: &CachedRun, question: &str, query: &str) -> Result<Reply, Problem> {
    let Query { ask, page, .. } = question::parse(question, query)?;
    let key = match page {
        // Pages of one answer are cut from the same rows.
        Some(_) => key(question, query, &["part", "offset", "limit"]),
        None => key(question, query, &[]),
    };
    Ok(Reply { body: run.ask_json(&key, &ask, page.as_ref())?, kind: "application/json" })
}

fn source_of(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let file = pairs(query).into_iter().find(|p| p.0 == "file").map(|p| p.1).unwrap_or_default();
    Reply::json(&source(run, &run.sources, &file)?)
}

fn csv(run: &CachedRun, question: &str, query: &str) -> Result<Reply, Problem> {
    let ask = question::parse(question, query)?.ask;
    let answer = run.ask(&format!("{question}?{query}&all"), &ask.all_rows())?;
    Ok(Reply { body: write::csv(&answer).into_bytes(), kind: "text/csv; charset=utf-8" })
}

fn key(question: &str, query: &str, without: &[&str]) -> String {
    let mut options = pairs(query);
    options.retain(|(name, _)| !without.contains(&name.as_str()));
    format!("{question}?{options:?}")
}

fn wrong(what: &str) -> Problem {
    Problem::new(format!("cannot understand '{what}'"), "")
}

fn tiles(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let asked = pairs(query).into_iter().find(|p| p.0 == "t").map(|p| p.1).unwrap_or_default();
    let keys: Vec<TileKey> =
        asked.split(',').take(MAX_TILES).map(tile_key).collect::<Option<_>>().ok_or_else(|| wrong(&asked))?;
    let mut body = timeline::wire_header(keys.len() as u32).to_vec();
    for key in keys {
        run.timeline().tile(run.trace(), key, &mut body);
    }
    Ok(Reply { body, kind: "application/octet-stream" })
}

fn tile_key(text: &str) -> Option<TileKey> {
    let mut parts = text.split('.');
    let key = TileKey {
        row: parts.next()?.parse().ok()?,
        level: parts.next()?.parse().ok()?,
        index: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(key)
}

fn names(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let asked = pairs(query).into_iter().find(|p| p.0 == "ids").map(|p| p.1).unwrap_or_default();
    let ids: Vec<u32> = asked
        .split(',')
        .take(MAX_NAMES)
        .map(|id| id.parse().ok())
        .collect::<Option<_>>()
        .ok_or_else(|| wrong(&asked))?;
    let names: Vec<&str> = ids.iter().map(|&id| run.timeline().name(run.trace(), id)).collect();
    Reply::json(&Names { names })
}

fn slice(run: &CachedRun, id: &str) -> Result<Reply, Problem> {
    let details = run.timeline().details(run.trace(), number("slice", id)?);
    Reply::json(&details.ok_or_else(|| Problem::new(format!("there is no slice {id}"), "search for its name"))?)
}

fn area(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let asked = Window::parse(query)?;
    let rows = pairs(query).into_iter().find(|p| p.0 == "rows").map(|p| p.1).unwrap_or_default();
    let rows = row_ranges(&rows).ok_or_else(|| wrong(&rows))?;
    Reply::json(&run.timeline().area(run.trace(), asked.from, asked.to, &rows))
}

/// From when to when, and in how many buckets.
struct Window {
    from: i64,
    to: i64,
    buckets: usize,
}

impl Window {
    fn parse(query: &str) -> Result<Window, Problem> {
        let mut window = Window { from: 0, to: i64::MAX, buckets: 1_000 };
        for (key, value) in pairs(query) {
            match key.as_str() {
                "from" => window.from = moment(&key, &value)?,
                "to" => window.to = moment(&key, &value)?,
                "buckets" => window.buckets = number::<usize>(&key, &value)?.clamp(1, 8_192),
                _ => {}
            }
        }
        Ok(window)
    }
}

/// The page counts in floating numbers.
fn moment(key: &str, value: &str) -> Result<i64, Problem> {
    Ok(number::<f64>(key, value)? as i64)
}

/// `0-5,9` as numbers.
fn row_ranges(text: &str) -> Option<Vec<u32>> {
    /// More rows than a page can hold are not asked for by a page.
    const MAX_ROWS: u32 = 1 << 20;
    let mut rows = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        rows.extend(first..=last.min(first.saturating_add(MAX_ROWS)));
        if rows.len() > MAX_ROWS as usize {
            return None;
        }
    }
    Some(rows)
}

fn search(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let mut asked = SearchQuery::default();
    for (key, value) in pairs(query) {
        match key.as_str() {
            "q" => asked.text = value,
            "exact" => asked.exact = true,
            "category" => asked.category = Some(number(&key, &value)?),
            "order" if value == "dur" => asked.order = Order::Duration,
            "after" => asked.after = moment(&key, &value)?,
            "limit" => asked.limit = number(&key, &value)?,
            _ => {}
        }
    }
    let hits = run.timeline().search(run.trace(), &asked);
    Reply::json(&hits.map_err(|why| {
        Problem::new(
            format!("not a regular expression: {why}"),
            "remove the slashes to search for literal text",
        )
    })?)
}

fn counters(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let asked = Window::parse(query)?;
    let counters = run.timeline().counters(run.trace(), asked.from, asked.to, asked.buckets);
    Reply::json(&Counters { counters })
}

fn critical(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let asked = Window::parse(query)?;
    let pieces = path::within(run.critical_path(), run.trace(), (asked.from, asked.to), asked.buckets);
    Reply::json(&PathPieces { pieces })
}

fn flames(run: &CachedRun, query: &str) -> Result<Reply, Problem> {
    let (mut weight, mut selection) = (FlameWeight::Host, Selection::all());
    for (key, value) in pairs(query) {
        match (key.as_str(), value.as_str()) {
            ("weight", "device") => weight = FlameWeight::Device,
            ("weight", "module") => weight = FlameWeight::Module,
            ("step", step) => selection = run.all_steps().selection(&[number(&key, step)?]),
            _ => {}
        }
    }
    if let Some(profile) = run.profile().filter(|_| run.kind() == DocumentKind::Profile) {
        let value = value_of(profile, None).unwrap_or(0);
        return Reply::json(&profile_flame(profile, value, &FlameQuery { weight, ..FlameQuery::default() }));
    }
    Reply::json(&flame(run.trace(), &FlameQuery { weight, selection, ..FlameQuery::default() }))
}
