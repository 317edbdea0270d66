//! Top-level keys to what they say about the run.

use serde_json::Value;
use stepscope_model::{Device, Distributed, Meta, ProfilerOptions};

/// Values longer than this are not taken apart: a parsed value is many times the size of its text.
const MAX_BYTES: usize = 4 << 20;
/// No host has more devices; a list of millions is no list of devices.
const MAX_DEVICES: usize = 4096;

/// Reads the known keys; all of them stay reachable by name. Returns how many things were too long to be read.
pub(super) fn fill(meta: &mut Meta, entries: Vec<(String, String)>) -> u64 {
    let mut too_long = 0;
    for (key, text) in entries.iter().filter(|(key, _)| is_known(key)) {
        if text.len() > MAX_BYTES {
            too_long += 1;
            continue;
        }
        let value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        match key.as_str() {
            "baseTimeNanoseconds" => meta.base_ns = int(&value),
            "deviceProperties" => {
                too_long += u64::from(value.as_array().is_some_and(|list| list.len() > MAX_DEVICES));
                meta.devices = devices(&value);
            }
            "distributedInfo" => meta.distributed = distributed(&value),
            key => option(&mut meta.options, key, &value),
        }
    }
    meta.extra = entries;
    too_long
}

fn is_known(key: &str) -> bool {
    const KNOWN: &[&str] = &[
        "baseTimeNanoseconds",
        "deviceProperties",
        "distributedInfo",
        "record_shapes",
        "with_stack",
        "profile_memory",
        "with_flops",
        "with_modules",
    ];
    KNOWN.contains(&key)
}

fn option(options: &mut ProfilerOptions, key: &str, value: &Value) {
    let flag = match value {
        Value::Bool(b) => Some(*b),
        other => int(other).map(|v| v != 0),
    };
    match key {
        "record_shapes" => options.record_shapes = flag,
        "with_stack" => options.with_stack = flag,
        "profile_memory" => options.profile_memory = flag,
        "with_flops" => options.with_flops = flag,
        "with_modules" => options.with_modules = flag,
        _ => {}
    }
}

fn devices(value: &Value) -> Vec<Device> {
    let Some(list) = value.as_array() else { return Vec::new() };
    let device = |(at, v): (usize, &Value)| {
        let get = |key: &str| v.get(key).and_then(int);
        Device {
            index: get("id").unwrap_or(at as i64),
            name: v.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            total_memory_bytes: get("totalGlobalMem"),
            compute_major: get("computeMajor"),
            compute_minor: get("computeMinor"),
            sms: get("numSms"),
            warp_size: get("warpSize"),
            max_threads_per_sm: get("maxThreadsPerMultiprocessor"),
            max_threads_per_block: get("maxThreadsPerBlock"),
            registers_per_sm: get("regsPerMultiprocessor"),
            shared_memory_per_sm_bytes: get("sharedMemPerMultiprocessor"),
        }
    };
    list.iter().take(MAX_DEVICES).enumerate().map(device).collect()
}

fn distributed(value: &Value) -> Option<Distributed> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    value.as_object()?;
    Some(Distributed {
        backend: text("backend"),
        rank: value.get("rank").and_then(int),
        world_size: value.get("world_size").and_then(int),
        nccl_version: text("nccl_version"),
    })
}

/// An integer, also one that was quoted.
fn int(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
