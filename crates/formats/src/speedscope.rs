//! Writes weighted stacks in speedscope's file format.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;

/// Stacks with weights in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Shown as the profile's title.
    pub name: String,
    /// Frames from the root to the leaf, and the weight.
    pub stacks: Vec<(Vec<String>, i64)>,
}

/// Writes one `sampled` profile: a sample per distinct stack.
pub fn write_speedscope(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    let mut frames: Vec<&str> = Vec::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut samples = Vec::with_capacity(profile.stacks.len());
    for (stack, _) in &profile.stacks {
        let sample: Vec<usize> = stack
            .iter()
            .map(|frame| {
                *ids.entry(frame).or_insert_with(|| {
                    frames.push(frame);
                    frames.len() - 1
                })
            })
            .collect();
        samples.push(sample);
    }
    let weights: Vec<i64> = profile.stacks.iter().map(|(_, weight)| *weight).collect();
    // Durations come from the file: their sum may pass any number.
    let total = weights.iter().fold(0i64, |sum, &weight| sum.saturating_add(weight));
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profile.name,
        "exporter": concat!("stepscope ", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() },
        "profiles": [{
            "type": "sampled",
            "name": profile.name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": total,
            "samples": samples,
            "weights": weights,
        }],
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_stops_at_the_end() {
        let stack = |name: &str| (vec![name.to_owned()], i64::MAX);
        let profile = Profile { name: String::new(), stacks: vec![stack("a"), stack("b")] };
        let mut out = Vec::new();
        write_speedscope(&profile, &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["profiles"][0]["endValue"], i64::MAX);
    }
}
