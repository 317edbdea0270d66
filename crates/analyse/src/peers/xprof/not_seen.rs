//! What XProf's rules leave out or take for something else, counted in the trace at hand.

use stepscope_model::{Attr, Domain, Kind, Ns, Trace};

use super::hlo::device_ops;
use super::op_name;
use super::recorded_name::recorded_name;
use super::saturating::{add, sum};
use super::steps::XprofSteps;
use crate::programs::ProgramWork;

/// What XProf does not see. Zero where there is nothing of the sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotSeen {
    /// Time of XLA's operators on the threads of a CPU, within XProf's steps: some operator ran on some thread.
    pub cpu_busy_ns: i64,
    pub cpu_steps_ns: i64,
    /// Time of kernels that multiply 16-bit numbers by their programs, and that XProf counts as 32-bit.
    pub half_as_32_ns: i64,
    pub kernels_ns: i64,
    /// Time of copies that XProf counts as compute, because of how they are named.
    pub copies_as_compute_ns: i64,
    /// How many bytes those and other copies moved; XProf shows none.
    pub copied_bytes: i64,
    /// Device time that is in no row of XProf's operators and instructions.
    pub without_hlo_ns: i64,
    pub device_ns: i64,
    /// Kernels whose registers, shared memory or occupancy XProf prints as 0 or not as they can be.
    pub undescribed_kernels: u64,
}

/// Looks at what XProf does not see.
pub fn not_seen(trace: &Trace, steps: &XprofSteps) -> NotSeen {
    let slices = trace.slices();
    let mut not_seen = NotSeen::default();
    let mut on_cpu: Vec<(Ns, Ns)> = Vec::new();
    let mut has_device = false;
    let programs = ProgramWork::new(trace);
    for (lane, described) in trace.lanes().iter() {
        let on_device = described.key.domain == Domain::Device;
        has_device |= on_device;
        for id in slices.of_lane(lane) {
            let (kind, dur) = (slices.kind(id), slices.dur(id).0);
            match kind {
                Kind::HostOp if !on_device && trace.args(id).text_id(Attr::Instruction).is_some() => {
                    on_cpu.push((slices.start(id), slices.end(id)));
                }
                Kind::Kernel => {
                    add(&mut not_seen.kernels_ns, dur);
                    let name = trace.name(id);
                    let cost = programs.cost_of(trace, id);
                    let is_half = cost.is_some_and(|cost| matches!(cost.element, "bf16" | "f16"));
                    if is_half && !name.contains("half") && !name.contains("fp16") {
                        add(&mut not_seen.half_as_32_ns, dur);
                    }
                    let args = trace.args(id);
                    let is_launched = args.text_id(Attr::Grid).is_some();
                    not_seen.undescribed_kernels +=
                        u64::from(is_launched && args.int(Attr::RegistersPerThread).is_none());
                }
                Kind::Memcpy => {
                    not_seen.copied_bytes =
                        not_seen.copied_bytes.saturating_add(trace.args(id).int(Attr::Bytes).unwrap_or(0));
                    if op_name::parse(&recorded_name(trace, id)).is_none() {
                        add(&mut not_seen.copies_as_compute_ns, dur);
                    }
                }
                _ => {}
            }
            if kind.is_device_work() {
                add(&mut not_seen.device_ns, dur);
            }
        }
    }
    not_seen.without_hlo_ns = not_seen.device_ns - device_ops(trace).busy_ns.min(not_seen.device_ns);
    if !has_device && !on_cpu.is_empty() {
        not_seen.cpu_steps_ns = sum(steps.spans.iter().map(|(start, end)| (*end - *start).0));
        not_seen.cpu_busy_ns = covered(on_cpu, &steps.spans);
    }
    not_seen
}

fn covered(mut times: Vec<(Ns, Ns)>, spans: &[(Ns, Ns)]) -> i64 {
    times.sort_unstable();
    let mut merged: Vec<(Ns, Ns)> = Vec::new();
    for (start, end) in times {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    let mut sums = vec![0i64];
    for &(start, end) in &merged {
        sums.push(sums[sums.len() - 1].saturating_add((end - start).0));
    }
    // Covered until a moment: spans may overlap, so that each is looked up, not walked through.
    let until = |at: Ns| {
        let begun = merged.partition_point(|&(start, _)| start < at);
        let beyond = begun.checked_sub(1).map_or(0, |last| (merged[last].1 - at).0.max(0));
        sums[begun].saturating_sub(beyond)
    };
    sum(spans.iter().map(|&(from, to)| until(to).saturating_sub(until(from))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_side_by_side_counts_once() {
        let times = vec![(Ns(0), Ns(10)), (Ns(5), Ns(12)), (Ns(20), Ns(30)), (Ns(40), Ns(50))];
        // 8 to 12, 20 to 25; 45 to 50.
        assert_eq!(covered(times, &[(Ns(8), Ns(25)), (Ns(45), Ns(60))]), 4 + 5 + 5);
    }
}
