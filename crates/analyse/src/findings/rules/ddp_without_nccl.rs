//! Device tensors are reduced by a library for host memory.

use stepscope_model::{Kind, Ns, SliceId};

use crate::causes::cause::Cause;
use crate::findings::{
    Amount, Confidence, Context, Evidence, Finding, Rule, Severity, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::names::comm::is_comm_kernel;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "ddp_without_nccl",
    about: "Ranks exchange GPU tensors through gloo or MPI, that is, through host memory.",
    thresholds: thresholds! {
        "ddp_without_nccl.min_share" = 0.01, "share of the steps in ranges of gloo or MPI";
    },
    answers: &["communication"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    if context.streams().is_empty() || !has_nccl_device(context) {
        return Vec::new();
    }
    let mut is_staged =
        ByName::new(trace, |name| ["gloo:", "mpi:", "ucc:"].iter().any(|b| name.starts_with(b)));
    let mut is_nccl_range = ByName::new(trace, |name| name.starts_with("nccl:"));
    let mut is_nccl_kernel = ByName::new(trace, is_comm_kernel);
    let (mut ranges, mut on_device): (Vec<SliceId>, bool) = (Vec::new(), false);
    for id in slices.ids() {
        let name = slices.name(id);
        if is_nccl_range.get(name) || (slices.kind(id) == Kind::Kernel && is_nccl_kernel.get(name)) {
            return Vec::new();
        }
        if is_staged.get(name) {
            match slices.kind(id) {
                Kind::HostAnnotation | Kind::HostOp => ranges.push(id),
                Kind::DeviceAnnotation => on_device = true,
                _ => {}
            }
        }
    }
    // Gloo is right for tensors on the host: only device work inside of its ranges, or DDP itself, says otherwise.
    let ddp = trace.strings().find("DistributedDataParallel.forward").is_some();
    if ranges.is_empty() || !(on_device || ddp) {
        return Vec::new();
    }
    let spent = ranges.iter().map(|&id| slices.dur(id)).sum::<Ns>().0;
    let wall = context.steps().wall_ns();
    if (spent as f64) < context.threshold("ddp_without_nccl.min_share") * wall as f64 {
        return Vec::new();
    }
    let idle =
        context.account().devices.iter().map(|row| row.causes.get(Cause::Host(Activity::Communication))).max();
    let exposed = idle.unwrap_or(0) / (context.counted_steps() as i64).max(1);
    let distributed = trace.meta().distributed.as_ref();
    let backend = distributed.and_then(|d| d.backend.clone());
    let backend =
        backend.unwrap_or_else(|| trace.name(ranges[0]).split(':').next().unwrap_or("gloo").to_owned());
    // What it costs is said by the rule for exposed communication; here only how much it matters.
    let mut finding = context.remark(RULE.name);
    finding.severity =
        context.severity(exposed as f64 / context.step_ns().max(1) as f64).unwrap_or(Severity::Info);
    finding.confidence = if on_device { Confidence::High } else { Confidence::Medium };
    finding.title = format!("Ranks exchange GPU tensors over {backend} instead of NCCL");
    finding.evidence = evidence! {
        "backend" => Amount::Text(backend),
            "The communication library: as the file describes the job, otherwise from the names of its ranges.";
        "its ranges" => Amount::Count(ranges.len() as u64), "Host ranges of the library in the recording.";
        "time in them" => Amount::Ns(spent), "Summed time of these ranges.";
        "device idle meanwhile, per step" => Amount::Ns(exposed),
            "Time per step in which a device was idle and the host in communication.";
    };
    if let Some(world) = distributed.and_then(|d| d.world_size) {
        finding.evidence.push(Evidence::new(
            "ranks",
            Amount::Count(world.max(0) as u64),
            "The world size in the file.",
        ));
    }
    finding.why = "Gloo and MPI work in host memory: each tensor is copied from the device, reduced by the CPU, sent over sockets \
                   and copied back. NCCL (RCCL on AMD) moves data directly between devices and runs beside computation."
        .to_owned();
    finding.fix =
        "Use the NCCL backend for device tensors; keep gloo for host tensors only. NCCL needs one device per rank: ranks \
                   that share a device must stay with gloo."
            .to_owned();
    finding.code = Some(
        "torch.distributed.init_process_group(\"nccl\")\n\
         # or, if host tensors are exchanged too:\n\
         torch.distributed.init_process_group(\"cpu:gloo,cuda:nccl\")"
            .to_owned(),
    );
    finding.verify =
        "Record again: ranges should be named nccl:… and their kernels should run beside computation."
            .to_owned();
    finding.slices = context.shown(ranges);
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

/// Whether the devices are of a kind that NCCL or RCCL drives: NVIDIA from compute capability 3.5 on, or AMD. Where the
/// file describes no device, the names of runtime calls tell.
fn has_nccl_device(context: &Context<'_>) -> bool {
    let capabilities: Vec<_> =
        context.trace().meta().devices.iter().filter_map(|d| d.compute_major.zip(d.compute_minor)).collect();
    if !capabilities.is_empty() {
        return capabilities.iter().any(|&capability| capability >= (3, 5));
    }
    let slices = context.trace().slices();
    let mut runs = ByName::new(context.trace(), |call| call.starts_with("cuda") || call.starts_with("hip"));
    slices.ids().any(|id| slices.kind(id).is_runtime() && runs.get(slices.name(id)))
}
