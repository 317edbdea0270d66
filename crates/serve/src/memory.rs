//! What the page asks about the memory of a snapshot.

use stepscope_analyse::memory::history::History;
use stepscope_analyse::memory::places::Places;
use stepscope_analyse::views::memory::picture::Frame;
use stepscope_analyse::views::memory::{MemoryAxis, MemoryView, PictureQuery, Stacked};
use stepscope_ground::Problem;
use stepscope_model::Snapshot;

use crate::cached_run::CachedRun;
use crate::question::{number, pairs};
use crate::reply::Reply;

/// What is asked about, of what the page may say.
struct MemoryQuery {
    picture: PictureQuery,
    state: u32,
    id: u32,
}
pub(crate) fn memory(run: &CachedRun, what: &str, query: &str) -> Option<Result<Reply, Problem>> {
    let answer = match what {
        "about" => about,
        "picture" => picture,
        "state" => state,
        "flame" => flame,
        "allocation" => allocation,
        _ => return None,
    };
    let none = || Problem::new("this file is not a memory snapshot", "open a file of _dump_snapshot");
    let Some(((snapshot, histories), view)) = run.snapshot().zip(run.memory_view()) else {
        return Some(Err(none()));
    };
    let of = SnapshotView { view, snapshot, histories, places: run.places() };
    Some(asked(query).and_then(|asked| answer(&of, &asked)))
}

struct SnapshotView<'a> {
    view: &'a MemoryView,
    snapshot: &'a Snapshot,
    histories: &'a [History],
    places: &'a Places,
}

type Answer = Result<Reply, Problem>;

fn no_device() -> Problem {
    Problem::new("the snapshot has no such device or allocation", "choose one of those that the page lists")
}

fn about(of: &SnapshotView<'_>, _: &MemoryQuery) -> Answer {
    Reply::json(&of.view.about(of.histories))
}

fn picture(of: &SnapshotView<'_>, asked: &MemoryQuery) -> Answer {
    let body = of.view.picture(of.histories, &asked.picture).ok_or_else(no_device)?;
    Ok(Reply { body, kind: "application/octet-stream" })
}

fn state(of: &SnapshotView<'_>, asked: &MemoryQuery) -> Answer {
    let found = of.view.instant((of.snapshot, of.histories), asked.picture.device, asked.state);
    Reply::json(&found.ok_or_else(no_device)?)
}

fn flame(of: &SnapshotView<'_>, asked: &MemoryQuery) -> Answer {
    let found = of.view.flame(of.histories, of.places, asked.picture.device, asked.state);
    Reply::json(&found.ok_or_else(no_device)?)
}

fn allocation(of: &SnapshotView<'_>, asked: &MemoryQuery) -> Answer {
    let (recorded, device) = ((of.snapshot, of.histories), asked.picture.device);
    let found = match asked.picture.stacked {
        Stacked::Segments => of.view.segment(recorded, device, asked.id),
        _ => of.view.allocation(recorded, device, asked.id),
    };
    Reply::json(&found.ok_or_else(no_device)?)
}

fn asked(query: &str) -> Result<MemoryQuery, Problem> {
    let mut picture = PictureQuery {
        device: 0,
        stacked: Stacked::Allocations,
        axis: MemoryAxis::Entry,
        from: 0.0,
        to: 1.0,
        columns: 1_000,
        frame: Frame { low: 0, high: 1, rows: 400 },
    };
    let (mut state, mut id) = (0, 0);
    for (key, value) in pairs(query) {
        // The page counts in floating numbers.
        let real = || number::<f64>(&key, &value).map(|real| if real.is_finite() { real } else { 0.0 });
        match key.as_str() {
            "device" => picture.device = number(&key, &value)?,
            "pool" => picture.stacked = pool(&value)?,
            "of" if value == "segments" => picture.stacked = Stacked::Segments,
            "axis" if value == "time" => picture.axis = MemoryAxis::Time,
            "from" => picture.from = real()?,
            "to" => picture.to = real()?,
            "columns" => picture.columns = number(&key, &value)?,
            "rows" => picture.frame.rows = number(&key, &value)?,
            "low" => picture.frame.low = real()? as u64,
            "high" => picture.frame.high = real()? as u64,
            "state" => state = number(&key, &value)?,
            "id" => id = number(&key, &value)?,
            _ => {}
        }
    }
    Ok(MemoryQuery { picture, state, id })
}

/// `0.1` as a pool.
fn pool(text: &str) -> Result<Stacked, Problem> {
    let wrong = || Problem::new(format!("there is no pool {text}"), "a pool is two numbers, like 0.1");
    let (a, b) = text.split_once('.').ok_or_else(wrong)?;
    match (a.parse(), b.parse()) {
        (Ok(a), Ok(b)) => Ok(Stacked::OfPool(a, b)),
        _ => Err(wrong()),
    }
}
