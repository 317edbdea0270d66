//! A profile as part of a Chrome trace of the same process: its events among the others, on their clock.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, Ns, Tag, Trace};

use crate::chunks::with_text;
use crate::kineto::{write_events_at, write_names, xla_entries};
use crate::xplane::{Beside, RawProgram, read_beside};
use crate::{OpenOptions, ReadError};

/// What the names of JAX's calls of compiled functions begin with.
const CALL: &str = "PjitFunction(";

/// What JAX or TensorFlow recorded, to be written into another trace.
pub struct XlaEvents {
    trace: Trace,
    programs: Vec<RawProgram>,
    base_ns: i64,
    /// When each thread was in calls of compiled functions, outermost ones, in order.
    calls: HashMap<i64, Vec<(Ns, Ns)>, RandomState>,
}

impl XlaEvents {
    /// Reads a profile. Its times count from the moment that it names; where it names none, from `started_ns`, in
    /// nanoseconds since 1970.
    pub fn open(path: &Path, beside: Beside, started_ns: i64) -> Result<XlaEvents, ReadError> {
        let name = path.display().to_string();
        let options = OpenOptions::default();
        let file = File::open(path).map_err(|error| ReadError::open(&name, error))?;
        let (trace, programs) =
            with_text(file, &name, &options, |_, text| read_beside(text, &name, &options, beside))?;
        let base_ns = trace.meta().base_ns.unwrap_or(started_ns);
        let calls = calls(&trace, base_ns);
        Ok(XlaEvents { trace, programs, base_ns, calls })
    }

    /// Top-level entries for the trace that these profiles are written into, to stand before its events. The run is that
    /// of the first one.
    pub fn entries(profiles: &[&XlaEvents]) -> io::Result<Vec<(String, String)>> {
        let programs = profiles.iter().flat_map(|profile| &profile.programs);
        profiles.first().map_or(Ok(Vec::new()), |first| xla_entries(first.trace.meta(), programs))
    }

    /// When the call of a compiled function began that a thread was in at a moment, both since 1970.
    pub fn call_began(&self, thread: u32, at_ns: i64) -> Option<i64> {
        let calls = self.calls.get(&i64::from(thread))?;
        let last = calls.partition_point(|call| call.0.0 <= at_ns).checked_sub(1)?;
        (at_ns <= calls[last].1.0).then_some(calls[last].0.0)
    }

    /// Writes the events, with commas between them, into a trace that counts from `base_ns`.
    pub fn write(&self, base_ns: i64, first: &mut bool, out: &mut impl Write) -> io::Result<()> {
        let later = Ns(self.base_ns.saturating_sub(base_ns));
        write_names(&self.trace, first, out)?;
        write_events_at(&self.trace, later, first, out)
    }
}

fn calls(trace: &Trace, base_ns: i64) -> HashMap<i64, Vec<(Ns, Ns)>, RandomState> {
    let (slices, to_unix) = (trace.slices(), Ns(base_ns) + trace.origin());
    let mut found: HashMap<i64, Vec<(Ns, Ns)>, RandomState> = HashMap::default();
    for (lane, info) in trace.lanes().iter() {
        let Tag::Int(thread) = info.key.thread else { continue };
        let mut calls: Vec<(Ns, Ns)> = Vec::new();
        for id in slices.of_lane(lane).filter(|&id| slices.kind(id) == Kind::FrameworkCall) {
            let (start, end) = (slices.start(id) + to_unix, slices.end(id) + to_unix);
            let is_outermost = calls.last().is_none_or(|last| last.1 <= start);
            if is_outermost && trace.name(id).starts_with(CALL) {
                calls.push((start, end));
            }
        }
        if !calls.is_empty() {
            found.insert(thread, calls);
        }
    }
    found
}
