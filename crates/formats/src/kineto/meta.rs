//! Top-level keys to what they say about the run.

use serde_json::Value;
use stepscope_model::{
    BareSteps, Device, Distributed, Meta, PackageImport, ProfilerOptions, ProgramPhases, StartUpParts,
    SteadyIterations,
};

/// Values longer than this are not taken apart: a parsed value is many times the size of its text.
const MAX_BYTES: usize = 4 << 20;
/// No host has more devices; a list of millions is not a list of devices.
const MAX_DEVICES: usize = 4096;

/// What our own recordings say of the steps before them.
const BARE_STEPS: &str = "stepscope_bare_steps";
/// What they say of the program around them.
const PHASES: &str = "stepscope_phases";
/// Iterations change once or twice; a list of more is not ours.
const MAX_STEADY: usize = 16;
const MAX_IMPORTS: usize = 16;

/// Reads the known keys; all of them stay reachable by name. Returns how many things were too long to be read.
pub(super) fn fill(meta: &mut Meta, mut entries: Vec<(String, String)>) -> u64 {
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
                let described = devices(&value);
                if !described.is_empty() {
                    meta.devices = described;
                }
            }
            "distributedInfo" => meta.distributed = distributed(&value),
            BARE_STEPS => meta.bare_steps = bare_steps(&value),
            PHASES => meta.phases = phases(&value),
            key => option(&mut meta.options, key, &value),
        }
    }
    entries.retain(|(key, _)| key != BARE_STEPS && key != PHASES);
    meta.extra = entries;
    too_long
}

fn is_known(key: &str) -> bool {
    const KNOWN_KEYS: &[&str] = &[
        "baseTimeNanoseconds",
        "deviceProperties",
        "distributedInfo",
        BARE_STEPS,
        PHASES,
        "record_shapes",
        "with_stack",
        "profile_memory",
        "with_flops",
        "with_modules",
    ];
    KNOWN_KEYS.contains(&key)
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

fn bare_steps(value: &Value) -> Option<BareSteps> {
    let host_ns = value.get("host_ns")?.as_array()?.iter().filter_map(int).filter(|ns| *ns > 0).collect();
    let device_ns = value.get("device_ns").and_then(int).filter(|ns| *ns > 0);
    Some(BareSteps { host_ns, device_ns })
}

/// What a recording says of its program, as the JSON text of a trace file; none if it is no such text.
pub fn read_phases(text: &str) -> Option<ProgramPhases> {
    phases(&serde_json::from_str(text).ok()?)
}

fn longest_imports(parts: &Value) -> Vec<PackageImport> {
    let list = parts.get("longest_imports").and_then(Value::as_array).into_iter().flatten().take(MAX_IMPORTS);
    list.filter_map(|import| {
        let package = import.get("package")?.as_str()?.to_owned();
        Some(PackageImport { package, import_ns: import.get("import_ns").and_then(int)?.max(0) })
    })
    .collect()
}

fn phases(value: &Value) -> Option<ProgramPhases> {
    let of = |value: &Value, key: &str| value.get(key).and_then(int).filter(|number| *number >= 0);
    let count = |value: &Value, key: &str| of(value, key).unwrap_or(0).unsigned_abs();
    let parts = value.get("start_up").filter(|parts| parts.is_object()).map(|parts| StartUpParts {
        imports_ns: of(parts, "imports_ns").unwrap_or(0),
        longest_imports: longest_imports(parts),
        weights_ns: of(parts, "weights_ns").unwrap_or(0),
        device_start_ns: of(parts, "device_start_ns").unwrap_or(0),
        compilation_ns: of(parts, "compilation_ns").unwrap_or(0),
    });
    let steady = value.get("steady").and_then(Value::as_array).into_iter().flatten().take(MAX_STEADY);
    let steady = steady.map(|steady| SteadyIterations {
        iterations: count(steady, "iterations"),
        iteration_ns: of(steady, "iteration_ns").filter(|ns| *ns > 0),
    });
    Some(ProgramPhases {
        start_up_ns: of(value, "start_up_ns")?,
        start_up: parts,
        warm_up_iterations: count(value, "warm_up_iterations"),
        warm_up_ns: of(value, "warm_up_ns").unwrap_or(0),
        steady: steady.collect(),
        pauses: count(value, "pauses"),
        pauses_ns: of(value, "pauses_ns").unwrap_or(0),
        after_last_ns: of(value, "after_last_ns"),
        last_step_is_cut: value.get("last_step_is_cut").and_then(Value::as_bool).unwrap_or(false),
    })
}

pub(super) fn devices(value: &Value) -> Vec<Device> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_whole_numbers_and_what_is_missing_is_unknown() {
        let text = r#"{"start_up_ns": 13300000000, "start_up": {"imports_ns": 2800000000, "weights_ns": -5},
            "warm_up_iterations": 19, "warm_up_ns": 950000000, "pauses": 2, "pauses_ns": 3100000000, "after_last_ns": 7,
            "steady": [{"iterations": 110, "iteration_ns": 12600000}, {"iterations": 4}], "last_step_is_cut": true}"#;
        let found = read_phases(text).unwrap();
        assert_eq!(found.start_up, Some(StartUpParts { imports_ns: 2_800_000_000, ..Default::default() }));
        assert_eq!(found.other_ns(), 10_500_000_000);
        assert_eq!((found.warm_up_iterations, found.warm_up_ns), (19, 950_000_000));
        let steady: Vec<_> = found.steady.iter().map(|s| (s.iterations, s.iteration_ns)).collect();
        assert_eq!(steady, [(110, Some(12_600_000)), (4, None)]);
        assert_eq!((found.pauses, found.pauses_ns, found.after_last_ns), (2, 3_100_000_000, Some(7)));
        assert!(found.last_step_is_cut);
        let least = read_phases(r#"{"start_up_ns": 5}"#).unwrap();
        assert_eq!(least, ProgramPhases { start_up_ns: 5, ..Default::default() });
        assert_eq!((least.start_up.clone(), least.after_last_ns, least.other_ns()), (None, None, 5));
    }

    #[test]
    fn what_is_no_record_of_phases_is_none() {
        for text in ["", "[]", "7", r#"{"start_up_ns": -1}"#, r#"{"start_up_ns": 1.5}"#, r#"{"steady": 4}"#] {
            assert_eq!(read_phases(text), None, "{text}");
        }
    }
}
