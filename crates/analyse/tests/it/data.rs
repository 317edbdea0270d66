//! Where the traces of the tests lie.

use std::path::{Path, PathBuf};

use stepscope_formats::{OpenOptions, declare_keys, open_trace};
use stepscope_model::{Trace, TraceBuilder};

/// Reads a trace; a test has no use for one that cannot be read.
pub fn read(path: &Path) -> Trace {
    open_trace(path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Takes events that a test makes up, and knows what the keys of PyTorch's traces mean.
pub fn builder() -> TraceBuilder {
    let mut builder = TraceBuilder::new();
    declare_keys(&mut builder);
    builder
}

/// The recorded traces that have PyTorch's own answers beside them, by path.
pub fn fixtures() -> Vec<PathBuf> {
    let found = traces_in("2.11-h200");
    assert!(found.len() >= 10, "{found:?}");
    found
}

pub fn all_fixtures() -> Vec<PathBuf> {
    let sets = ["2.11-h200", "2.11-h200-features"];
    sets.into_iter().flat_map(traces_in).collect()
}

/// Recorded programs with planted faults and without, with shapes, by path.
pub fn twins() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch/2.11-h200-twins/seen");
    let cases = std::fs::read_dir(root).unwrap().map(|case| case.unwrap().path());
    let sides = |case: PathBuf| ["fault", "fixed"].map(|side| case.join(format!("{side}.shapes.json.zst")));
    let mut found: Vec<PathBuf> = cases.flat_map(sides).collect();
    found.sort();
    found
}

pub fn traces_in(set: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch").join(set);
    let mut found = Vec::new();
    for case in std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{set}: {e}")) {
        let files = std::fs::read_dir(case.unwrap().path()).unwrap().map(|file| file.unwrap().path());
        found.extend(files.filter(|file| file.to_string_lossy().ends_with(".pt.trace.json.gz")));
    }
    found.sort();
    found
}

/// A file of another tool's test data. Without the folder the test says so and passes.
pub fn peer(path: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("STEPSCOPE_PEER_DATA") else {
        println!("skipped: STEPSCOPE_PEER_DATA is not set");
        return None;
    };
    Some(Path::new(&root).join(path))
}
