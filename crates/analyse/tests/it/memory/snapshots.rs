//! Snapshots of an allocator against the statistics that PyTorch kept meanwhile.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stepscope_analyse::memory::history::{History, Level};
use stepscope_analyse::memory::replay::histories;
use stepscope_formats::{OpenOptions, open};
use stepscope_model::{Document, Snapshot};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/memory")
}

fn snapshot(path: &Path) -> Snapshot {
    match open(path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display())) {
        Document::Snapshot(snapshot) => snapshot,
        other => panic!("{}: {:?}", path.display(), other.kind()),
    }
}

fn answers(path: &Path) -> Value {
    let json = path.to_string_lossy().replace(".pickle.gz", ".json");
    serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap()
}

fn one(path: &Path) -> History {
    let mut all = histories(&snapshot(path));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn level(stats: &Value, when: &str) -> Level {
    let of = |what: &str| stats[format!("{what}_bytes.all.{when}")].as_u64().unwrap();
    Level {
        allocated: of("allocated"),
        active: of("active"),
        requested: of("requested"),
        reserved: of("reserved"),
    }
}

#[test]
fn levels_and_peaks_are_pytorchs_to_the_byte() {
    let folder = std::env::var_os("STEPSCOPE_SNAPSHOTS").map_or_else(folder, PathBuf::from);
    let mut seen = 0;
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".pickle.gz") {
            continue;
        }
        let (history, answers) = (one(&path), answers(&path));
        let stats = &answers["stats"];
        let last = *history.levels.last().unwrap();
        println!("{name} {:?} unmatched {}", history.peak, history.unmatched);
        assert_eq!(last, level(stats, "current"), "{name} at the end");
        // A ring that has lost its beginning has lost that peak too.
        if history.at_start == Level::default() {
            assert_eq!(history.peak, level(stats, "peak"), "{name} at its peak");
            assert_eq!(history.unmatched, 0, "{name}");
            assert_eq!(
                history.allocations.len() as u64,
                stats["allocation.all.allocated"].as_u64().unwrap(),
                "{name}"
            );
            seen += 1;
        }
        let refused = stats["num_ooms"].as_u64().unwrap_or(0) as usize;
        assert_eq!(history.refusals.len(), refused, "{name}");
    }
    assert!(seen >= 8, "{seen}");
}
