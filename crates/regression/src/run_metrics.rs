//! The metrics of a run that was recorded.

use stepscope_analyse::run::Run;
use stepscope_analyse::tables::kernels::{KernelsQuery, kernels};
use stepscope_analyse::tables::modules;
use stepscope_analyse::tables::regions::{self, Query};

use crate::measurement::Repeat;

/// So many names of each kind are kept, the longest first: a baseline is a small file.
const MAX_NAMES: usize = 200;

/// All metrics of a run. What the recording does not show is left out.
pub fn run_metrics(run: &Run) -> Repeat {
    let mut repeat = Repeat { source: Some(run.trace().meta().source.path.clone()), ..Repeat::default() };
    let steps = run.steps();
    if !steps.synthetic {
        repeat.put("step_time", steps.counted().map(|step| (step.end_ns - step.start_ns) as f64));
    }
    if let Some((start, end)) = run.trace().extent() {
        repeat.put("wall_time", [(end - start).0 as f64]);
    }
    let count = steps.steps.len().max(1) as f64;
    let launched: u64 = steps.steps.iter().map(|step| step.device_slices).sum();
    if launched > 0 {
        repeat.put("launches_per_step", [launched as f64 / count]);
    }
    let busy = run.gpu().devices.iter().filter_map(|device| device.utilization);
    if let Some(least) = busy.min_by(f64::total_cmp) {
        repeat.put("gpu_utilization", [least]);
    }
    let memory = run.memory().devices.iter();
    // PyTorch's number for the host is 0; without a number it is not known to be a device.
    let peaks = memory.filter(|d| d.device_type.is_some_and(|kind| kind != 0)).map(|d| d.peak_allocated_bytes);
    repeat.put("peak_gpu_memory", peaks.max().map(|bytes| bytes as f64));
    repeat.put("flops_utilization", run.mfu());
    repeat.put("samples_per_s", run.samples().and_then(|samples| samples.per_s()));
    put_named(run, &mut repeat, count);
    repeat
}

fn put_named(run: &Run, repeat: &mut Repeat, steps: f64) {
    // On the device if it ran anything there: what a host spends on an operator is another question.
    let spent = |host: i64, device: i64| if device > 0 { device } else { host };
    let mut put = |kind: &str, mut rows: Vec<(String, i64)>| {
        rows.retain(|(_, ns)| *ns > 0);
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for (name, ns) in rows.into_iter().take(MAX_NAMES) {
            repeat.put(&format!("{kind}:{name}"), [ns as f64 / steps]);
        }
    };
    let ops = run.ops();
    put(
        "op",
        ops.ops.iter().map(|op| (op.name.clone(), spent(op.host_total_ns, op.device_total_ns))).collect(),
    );
    let selection = run.selection().clone();
    let found = kernels(run.trace(), &KernelsQuery { selection: selection.clone(), ..KernelsQuery::default() });
    put("kernel", found.rows.into_iter().map(|row| (row.name, row.total_ns)).collect());
    let query = Query { selection: &selection, steps: run.steps(), pytorch: ops };
    let found = regions::regions(run.trace(), run.host(), run.tree(), &query);
    put("region", found.regions.into_iter().map(|r| (r.name, spent(r.host_ns, r.device_ns))).collect());
    let found = modules::analyze(run.trace(), &selection);
    let of_module = |m: modules::Module| {
        let device = m.device_total_ns + m.backward_device_ns;
        (m.path, spent(m.host_total_ns + m.backward_host_ns, device))
    };
    put("module", found.modules.into_iter().map(of_module).collect());
}
