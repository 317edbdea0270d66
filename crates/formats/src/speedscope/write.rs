//! Writes a profile in speedscope's format.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_model::{FrameId, Profile, StackId};

use super::UNITS;

/// Writes a `sampled` profile for each part of the profile and each of its values.
pub fn write_speedscope(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let frames: Vec<Value> = profile.stacks.frames().map(|(id, _)| frame(profile, id)).collect();
    // A profile whose parts have no names is one part.
    let parts: Vec<&str> = match profile.parts.as_slice() {
        [] => vec![""],
        parts => parts.iter().map(String::as_str).collect(),
    };
    let mut profiles = Vec::new();
    for (part, part_name) in parts.iter().enumerate() {
        for (value, kind) in profile.values().iter().enumerate() {
            let unit = UNITS.iter().find(|(_, unit, power)| *unit == kind.unit && *power == 0);
            let rows = || profile.samples().iter().filter(|sample| sample.part == part);
            let weights: Vec<i64> = rows().map(|sample| sample.amounts[value]).collect();
            // Amounts come from files: their sum may pass any number.
            let total = weights.iter().fold(0i64, |sum, &weight| sum.saturating_add(weight));
            let samples: Vec<Vec<usize>> = rows().map(|sample| numbers(profile, sample.stack)).collect();
            profiles.push(json!({
                "type": "sampled",
                "name": if part_name.is_empty() { profile.name.as_str() } else { part_name },
                "unit": unit.map_or("none", |(name, ..)| name),
                "startValue": 0,
                "endValue": total,
                "samples": samples,
                "weights": weights,
            }));
        }
    }
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profile.name,
        "exporter": concat!("stepscope ", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

fn frame(profile: &Profile, id: FrameId) -> Value {
    let frame = profile.stacks.get(id);
    let mut object = json!({ "name": profile.stacks.name(id) });
    let file = profile.stacks.text(frame.file);
    if !file.is_empty() {
        object["file"] = json!(file);
    }
    if frame.line > 0 {
        object["line"] = json!(frame.line);
    }
    object
}

fn numbers(profile: &Profile, stack: StackId) -> Vec<usize> {
    profile.stacks.unwind(stack).into_iter().map(FrameId::index).collect()
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Frame, Sample, ValueKind, ValueUnit};

    use super::*;

    #[test]
    fn the_total_stops_at_the_end() {
        let mut profile =
            Profile::new(vec![ValueKind { name: "time".to_owned(), unit: ValueUnit::Nanoseconds }]);
        for name in ["a", "b"] {
            let name = profile.stacks.intern(name);
            let frame = profile.stacks.frame(Frame { name, ..Frame::default() });
            let stack = profile.stacks.push(StackId::EMPTY, frame);
            profile.add(Sample::new(0, stack, &[i64::MAX]));
        }
        let mut out = Vec::new();
        write_speedscope(&profile, &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["profiles"][0]["endValue"], i64::MAX);
    }
}
