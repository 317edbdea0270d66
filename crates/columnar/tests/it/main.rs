//! Columnar tables of recorded traces, against the JSON of the same answers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; what tests share is a test too"
)]

mod events;
mod files;
mod tables;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use stepscope_analyse::run::Run;
use stepscope_columnar::Columns;
use stepscope_formats::{OpenOptions, open_trace};

fn run(case: &str) -> Arc<Run> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pytorch");
    Arc::new(Run::new(open_trace(&root.join(case), &OpenOptions::default()).unwrap()))
}

fn gpt() -> Arc<Run> {
    run("2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz")
}

fn stack() -> Arc<Run> {
    run("2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz")
}

fn cuda_graph() -> Arc<Run> {
    run("2.11-h200-features/cuda_graph/cuda_graph.pt.trace.json.gz")
}

fn rows(columns: &Columns) -> Vec<Value> {
    serde_json::from_slice(&columns.json().unwrap()).unwrap()
}
