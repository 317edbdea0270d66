//! What planes say about the run: versions, devices, when recording began.

use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::{Device, Framework, StrId, TraceBuilder};

use super::plane::Plane;
use super::plane_names::{PlaneNames, intern};
use super::stat::{StatValue, stat};
use super::trace_builder::XplaneBuilder;

pub(super) fn plane_stats<'p>(
    plane: &'p Plane,
    known: &'p PlaneNames<'_>,
    builder: &TraceBuilder,
) -> Vec<(String, StatValue<'p>)> {
    let named = plane.stats().filter_map(|message| {
        let (number, value) = stat(message)?;
        let name = builder.text(known.stat(number)?.text);
        (!name.is_empty()).then(|| (name.to_owned(), value))
    });
    named.collect()
}

/// A value as the text of JSON; none for messages.
fn json(value: StatValue<'_>, known: &PlaneNames<'_>, builder: &mut TraceBuilder) -> Option<String> {
    let quoted = |builder: &TraceBuilder, id: StrId| serde_json::to_string(builder.text(id)).ok();
    match value {
        StatValue::Int(int) => Some(int.to_string()),
        StatValue::Float(float) => Some(float.to_string()),
        StatValue::Text(bytes) => {
            let id = intern(builder, bytes);
            quoted(builder, id)
        }
        StatValue::Named(number) => quoted(builder, known.stat(number)?.text),
        StatValue::Bytes(_) => None,
    }
}

/// Keeps the stats of a plane that is about the run or its host.
pub(super) fn keep(out: &mut XplaneBuilder<'_>, plane: &Plane, known: &PlaneNames<'_>) {
    for (name, value) in plane_stats(plane, known, &out.builder) {
        if let (StatValue::Int(ns), "profile_start_time") = (value, name.as_str()) {
            out.builder.meta().base_ns = Some(ns);
        }
        if let (StatValue::Bytes(options), "profile_options") = (value, name.as_str()) {
            // python_tracer_level.
            let level = Fields::new(options).flatten().find_map(|field| match field {
                (4, Field::Number(level)) => Some(level),
                _ => None,
            });
            out.builder.meta().options.with_stack = Some(level.unwrap_or(0) > 0);
        }
        if let Some(text) = json(value, known, &mut out.builder) {
            let extra = &mut out.builder.meta().extra;
            if !extra.iter().any(|(key, _)| *key == name) && extra.len() < MAX_EXTRA {
                extra.push((name, text));
            }
        }
    }
}

/// No producer says more about a run.
const MAX_EXTRA: usize = 1024;

/// Describes the device of a plane; nothing is added where the plane says nothing but its vendor.
pub(super) fn device(out: &mut XplaneBuilder<'_>, plane: &Plane, known: &PlaneNames<'_>, index: i64) {
    let stats = plane_stats(plane, known, &out.builder);
    let int = |name: &str| {
        stats.iter().find_map(|(key, value)| match value {
            StatValue::Int(int) if key == name && *int >= 0 => Some(*int),
            _ => None,
        })
    };
    let text = |name: &str| {
        stats.iter().find_map(|(key, value)| match value {
            StatValue::Text(bytes) if key == name => Some(String::from_utf8_lossy(bytes).into_owned()),
            StatValue::Named(number) if key == name => {
                Some(out.builder.text(known.stat(*number)?.text).to_owned())
            }
            _ => None,
        })
    };
    let capability = int("compute_cap_major").zip(int("compute_cap_minor"));
    let (cores, clock_khz) = (int("core_count"), int("clock_rate"));
    let vendor = text("device_vendor").unwrap_or_default();
    let name = text("gpu_device_name").or_else(|| amd_name(&vendor, capability?, cores?, clock_khz));
    if name.is_none() && cores.is_none() {
        return;
    }
    let device = Device {
        index,
        name: name.unwrap_or(vendor.clone()),
        total_memory_bytes: int("memory_size"),
        compute_major: capability.map(|of| of.0),
        compute_minor: capability.map(|of| of.1),
        sms: cores,
        warp_size: match vendor.as_str() {
            "Nvidia" => Some(32),
            "AMD" => Some(64),
            _ => None,
        },
        ..Device::default()
    };
    if out.devices.insert(index) {
        out.builder.meta().devices.push(device);
    }
}

/// ROCm's profiler does not name its devices: which they are follows from their architecture, compute units and clock.
fn amd_name(vendor: &str, capability: (i64, i64), cores: i64, clock_khz: Option<i64>) -> Option<String> {
    if vendor != "AMD" {
        return None;
    }
    let name = match (capability, cores) {
        ((9, 4), 304) => "AMD Instinct MI300X",
        ((9, 4), 228) => "AMD Instinct MI300A",
        ((9, 5), 256) if clock_khz.is_some_and(|khz| khz >= 2_400_000) => "AMD Instinct MI355X",
        ((9, 5), 256) => "AMD Instinct MI350X",
        _ => return Some(format!("AMD gfx{}{}x", capability.0, capability.1)),
    };
    Some(name.to_owned())
}

/// Who recorded it, from what the planes say and what was seen.
pub(super) fn framework(out: &mut XplaneBuilder<'_>) {
    let seen = out.seen;
    let meta = out.builder.meta();
    let version = |name: &str| meta.extra(name).map(|json| json.trim_matches('"').to_owned());
    let (name, version) = match version("jax_version") {
        Some(version) => ("JAX", Some(version)),
        None if seen.tensorflow => ("TensorFlow", version("tensorflow_version")),
        None if seen.jax => ("JAX", None),
        // No one else writes such files.
        None => ("XLA", None),
    };
    meta.framework = Some(Framework { name: name.to_owned(), version });
    if meta.options.with_stack.is_none() && seen.python {
        meta.options.with_stack = Some(true);
    }
    meta.options.profile_memory = seen.memory.then_some(true);
}
