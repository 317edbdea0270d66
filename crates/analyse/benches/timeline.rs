//! How long a browser waits for the timeline: `cargo bench -p stepscope-analyse --bench timeline -- TRACE`.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use stepscope_analyse::steps::Steps;
use stepscope_analyse::views::timeline::{Order, SearchQuery, TileKey, Timeline};
use stepscope_formats::{OpenOptions, open_trace};

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let answer = work();
    println!("{what:40} {:?}", begun.elapsed());
    answer
}

fn main() -> ExitCode {
    // Cargo passes `--bench` to benches of its own harness and to this one alike.
    let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        eprintln!("usage: cargo bench -p stepscope-analyse --bench timeline -- TRACE");
        return ExitCode::SUCCESS;
    };
    let trace = timed("read", || open_trace(Path::new(&path), &OpenOptions::default()).unwrap());
    let steps = timed("steps", || Steps::find(&trace));
    let timeline = timed("new", || Timeline::new(&trace, &steps));
    let slices = trace.slices().len();
    println!("{slices} slices, {:.2} bytes a slice", timeline.heap_bytes() as f64 / slices as f64);
    let layout = timed("layout", || timeline.layout(&trace));
    println!("{} groups, {} rows", layout.groups.len(), layout.rows.len());
    let longest = layout.rows.iter().max_by_key(|r| r.count).unwrap();
    println!("longest row: {} slices", longest.count);
    // The lowest level at which one tile holds all of the trace.
    let top = (0..=54).find(|level| (512u128 << level) > layout.extent_ns as u128).unwrap();
    for round in ["cold", "warm"] {
        for down in [0, 4, 8, 12] {
            let mut bytes = Vec::new();
            let key = TileKey { row: longest.id, level: top - down, index: (1 << down) / 2 };
            timed(&format!("tile of the longest row, level {} {round}", key.level), || {
                timeline.tile(&trace, key, &mut bytes);
            });
        }
    }
    let mut bytes = Vec::new();
    timed("a tile of every row", || {
        layout
            .rows
            .iter()
            .for_each(|row| timeline.tile(&trace, TileKey { row: row.id, level: top, index: 0 }, &mut bytes));
    });
    let search = |text: &str, order: Order| {
        let query = SearchQuery { text: text.to_owned(), order, ..SearchQuery::default() };
        timeline.search(&trace, &query).unwrap().total
    };
    for text in ["aten::mm", "e", "/(add|mul)_?$/", "nothing like this"] {
        let found = timed(&format!("search {text}"), || search(text, Order::Start));
        println!("  {found} found");
    }
    timed("search e, longest first", || search("e", Order::Duration));
    let rows: Vec<u32> = (0..layout.rows.len() as u32).collect();
    let area = timed("area of everything", || timeline.area(&trace, 0, i64::MAX, &rows));
    println!("  {} slices, {} names", area.count, area.names.len());
    let tenth = layout.extent_ns / 10;
    timed("area of a tenth", || timeline.area(&trace, 4 * tenth, 5 * tenth, &rows));
    timed("details, the first", || timeline.details(&trace, slices as u32 / 2));
    for part in 1..6 {
        timed("details", || timeline.details(&trace, (slices * part / 6) as u32));
    }
    let outermost = trace.slices().ids().max_by_key(|&id| trace.slices().dur(id)).unwrap();
    timed("details of the longest slice", || timeline.details(&trace, outermost.index() as u32));
    timed("counters, the first", || timeline.counters(&trace, 0, layout.extent_ns, 1_000));
    timed("counters", || timeline.counters(&trace, 0, layout.extent_ns, 1_000));
    ExitCode::SUCCESS
}
