//! The bytes of tiles, written down: the page's own test reads the same file.

use std::path::PathBuf;

use serde_json::{Value, json};
use stepscope_analyse::views::timeline::{TileKey, wire_header};
use stepscope_model::{Kind, PointKind, Trace};
use stepscope_testkit::{Point, RunBuilder, Slice};

use crate::views::timeline_tools::{Tile, decode, timeline};

fn trace() -> Trace {
    let mut run = RunBuilder::in_nanoseconds();
    run.add(Slice::new(Kind::HostAnnotation, "ProfilerStep#1", (1_000, 9_000)));
    for i in 0..20 {
        let at = 1_100 + 350 * i;
        run.add(Slice::new(Kind::HostOp, "aten::mm", (at, at + 200 + i)).external(i + 1));
        run.add(
            Slice::new(Kind::Runtime, "cudaLaunchKernel", (at + 20, at + 60))
                .correlation(i + 1)
                .external(i + 1),
        );
        run.add(
            Slice::new(Kind::Kernel, "nvjet_sm90_tst_64x24", (at + 90, at + 90 + 7 * i))
                .correlation(i + 1)
                .external(i + 1),
        );
    }
    run.add(Slice::new(Kind::Kernel, "relu", (1_200, 1_400)));
    run.mark(Point::new(PointKind::Instant, "[memory]", 1, 2_000));
    run.mark(Point::new(PointKind::Instant, "[memory]", 1, 2_001));
    run.finish()
}

fn as_json(tile: &Tile) -> Value {
    json!({
        "row": tile.row, "level": tile.level, "index": tile.index,
        "start": tile.start, "end": tile.end, "id": tile.id, "name": tile.name, "count": tile.count,
        "busy": tile.busy, "category": tile.category, "flags": tile.flags,
    })
}

#[test]
fn tiles_have_the_bytes_that_the_page_reads() {
    let trace = trace();
    let timeline = timeline(&trace);
    let rows = timeline.layout(&trace).rows.len() as u32;
    // Whole rows in one tile, a coarse and a fine part of each, a row that there is none of, and a far index.
    let mut keys: Vec<TileKey> = Vec::new();
    for row in 0..=rows {
        keys.extend([(5, 0), (2, 1), (1, 2), (0, 3), (12, 0)].map(|(level, index)| TileKey {
            row,
            level,
            index,
        }));
    }
    keys.push(TileKey { row: 1, level: 0, index: 1 << 40 });
    keys.push(TileKey { row: 1, level: 60, index: 0 });
    let mut bytes = wire_header(keys.len() as u32).to_vec();
    keys.iter().for_each(|&key| timeline.tile(&trace, key, &mut bytes));
    let tiles = decode(&bytes);
    tiles.iter().for_each(Tile::assert_in_order);
    let mut names: Vec<u32> = tiles.iter().flat_map(|tile| tile.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let names: serde_json::Map<String, Value> =
        names.iter().map(|&id| (id.to_string(), json!(timeline.name(&trace, id)))).collect();
    let told = json!({ "tiles": tiles.iter().map(as_json).collect::<Vec<_>>(), "names": names });
    let mut told = serde_json::to_string(&told).unwrap();
    told.push('\n');

    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../ui/tests/golden");
    let (binary, text) = (folder.join("tiles.bin"), folder.join("tiles.json"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&binary, &bytes).unwrap();
        std::fs::write(&text, &told).unwrap();
    }
    let same = std::fs::read(&binary).is_ok_and(|held| held == bytes);
    assert!(same, "ui/tests/golden/tiles.bin holds other bytes (UPDATE_DOCS=1 writes it)");
    let same = std::fs::read_to_string(&text).is_ok_and(|held| held == told);
    assert!(same, "ui/tests/golden/tiles.json should hold this (UPDATE_DOCS=1 writes it): {told}");
}
