//! Writes a profile in speedscope's format.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepscope_model::{FrameId, Profile, Sample};

use super::UNITS;

/// Frames of a stack that are written; the weight of deeper ones counts in the last.
const MAX_FRAMES: usize = 1_024;

/// Writes a `sampled` profile for each part of the profile and each of its values. It is written piece by piece: all stacks
/// together may be far larger than the profile, which shares their frames.
pub fn write_speedscope(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let frames: Vec<Value> = profile.stacks.frames().map(|(id, _)| frame(profile, id)).collect();
    let head = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profile.name,
        "exporter": concat!("stepscope ", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
    });
    let head = head.to_string();
    out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    out.write_all(b",\"profiles\":[")?;
    // A profile whose parts have no names is one part.
    let parts: Vec<&str> = match profile.parts.as_slice() {
        [] => vec![""],
        parts => parts.iter().map(String::as_str).collect(),
    };
    let cut = profile.stacks.cut(MAX_FRAMES);
    let mut first = true;
    for (part, part_name) in parts.iter().enumerate() {
        for (value, kind) in profile.values().iter().enumerate() {
            out.write_all(if first { b"" } else { b"," })?;
            first = false;
            let unit = UNITS.iter().find(|(_, unit, power)| *unit == kind.unit && *power == 0);
            let rows = || profile.samples().iter().filter(|sample| sample.part == part);
            let weight = |sample: &Sample<'_>| sample.amounts[value];
            // Amounts come from files: their sum may pass any number.
            let total = rows().fold(0i64, |sum, sample| sum.saturating_add(weight(&sample)));
            let head = json!({
                "type": "sampled",
                "name": if part_name.is_empty() { profile.name.as_str() } else { part_name },
                "unit": unit.map_or("none", |(name, ..)| name),
                "startValue": 0,
                "endValue": total,
            });
            let head = head.to_string();
            out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
            out.write_all(b",\"samples\":[")?;
            for (at, sample) in rows().enumerate() {
                out.write_all(if at == 0 { b"[" } else { b",[" })?;
                let stack = profile.stacks.unwind(cut[sample.stack.index()]);
                for (at, frame) in stack.into_iter().map(FrameId::index).enumerate() {
                    write!(out, "{}{frame}", if at == 0 { "" } else { "," })?;
                }
                out.write_all(b"]")?;
            }
            out.write_all(b"],\"weights\":[")?;
            for (at, sample) in rows().enumerate() {
                write!(out, "{}{}", if at == 0 { "" } else { "," }, weight(&sample))?;
            }
            out.write_all(b"]}")?;
        }
    }
    out.write_all(b"]}\n")
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

#[cfg(test)]
mod tests {
    use stepscope_model::{Frame, StackId, ValueKind, ValueUnit};

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
