//! What JAX and TensorFlow recorded, in a trace of ours: their events are among the others, and what else their profile
//! says is in entries before the events.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};
use stepscope_ground::base64;
use stepscope_model::{Device, Framework, Meta, TraceBuilder};

use super::meta::devices;
use crate::xplane::{RawProgram, declare_stats, program};

/// The entry that says so.
const KEY: &str = "stepscope_xla";
/// Entries of compiled programs, each with a number behind it.
const PROGRAM_KEY: &str = "stepscope_xla_program_";
/// A program expands to no more than this many times its stored size.
const MAX_EXPANSION: u64 = 200;
/// What PyTorch alone records, and only where it differentiates or optimizes.
const TRAINING: [&str; 2] = ["autograd::engine::evaluate_function: ", "Optimizer.step#"];

/// The entries for a profile that says this about itself and holds these programs.
pub(crate) fn entries<'p>(
    meta: &Meta,
    programs: impl Iterator<Item = &'p RawProgram>,
) -> io::Result<Vec<(String, String)>> {
    let framework = meta.framework.clone().unwrap_or_default();
    let about: Map<String, Value> = meta
        .extra
        .iter()
        .filter_map(|(key, text)| Some((key.clone(), serde_json::from_str(text).ok()?)))
        .collect();
    let said = json!({
        "framework": framework.name,
        "version": framework.version,
        "devices": meta.devices.iter().map(device).collect::<Vec<_>>(),
        "about": about,
    });
    let mut all = vec![(KEY.to_owned(), said.to_string())];
    for (number, program) in programs.enumerate() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&program.message)?;
        let mut letters = Vec::new();
        base64::encode(&packed.finish()?, &mut letters);
        let text = json!([program.number, program.name, String::from_utf8_lossy(&letters)]).to_string();
        all.push((format!("{PROGRAM_KEY}{number}"), text));
    }
    Ok(all)
}

/// As other traces describe a device.
fn device(device: &Device) -> Value {
    json!({
        "id": device.index,
        "name": device.name,
        "totalGlobalMem": device.total_memory_bytes,
        "computeMajor": device.compute_major,
        "computeMinor": device.compute_minor,
        "numSms": device.sms,
        "warpSize": device.warp_size,
    })
}

/// Tells the builder what the keys of such events mean, where an entry before the events says that there are some.
pub(super) fn expect(key: &str, builder: &mut TraceBuilder) {
    if key == KEY {
        declare_stats(builder);
        builder.inherit_operators();
    }
}

/// Takes what such entries say out of them. Returns how many could not be read.
pub(super) fn take(builder: &mut TraceBuilder, entries: &mut Vec<(String, String)>) -> u64 {
    let mut unread = 0;
    let mut said = None;
    entries.retain(|(key, text)| {
        if key == KEY {
            said = serde_json::from_str::<Value>(text).ok();
            unread += u64::from(said.is_none());
        } else if key.starts_with(PROGRAM_KEY) {
            match unpacked(text) {
                Some((number, name, message)) => {
                    program(&message, number, &name).into_iter().for_each(|program| builder.program(program));
                }
                None => unread += 1,
            }
        } else {
            return true;
        }
        false
    });
    let Some(said) = said else { return unread };
    for (key, value) in said.get("about").and_then(Value::as_object).into_iter().flatten() {
        if !entries.iter().any(|(known, _)| known == key) {
            entries.push((key.clone(), value.to_string()));
        }
    }
    let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    // What PyTorch trains is PyTorch's run, whatever else computes in it. Where it only loads data, the run is the other's.
    let trains = builder.strings().iter().any(|(_, name)| TRAINING.iter().any(|own| name.starts_with(own)));
    let name = text("framework").filter(|_| !trains);
    builder.meta().framework = name.map(|name| Framework { name, version: text("version") });
    if let Some(list) = said.get("devices") {
        builder.meta().devices = devices(list);
    }
    unread
}

fn unpacked(text: &str) -> Option<(Option<i64>, String, Vec<u8>)> {
    let (number, name, letters): (Option<i64>, String, String) = serde_json::from_str(text).ok()?;
    let packed = base64::decode(letters.as_bytes())?;
    let most = (packed.len() as u64).saturating_mul(MAX_EXPANSION);
    let mut message = Vec::new();
    GzDecoder::new(&packed[..]).take(most).read_to_end(&mut message).ok()?;
    Some((number, name, message))
}
