//! `torch.nn.DataParallel` instead of one process per device.

use stepscope_model::{Kind, SliceId};

use crate::findings::{
    Amount, Confidence, Context, Finding, Rule, Severity, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;

pub(super) const RULE: Rule = Rule {
    name: "data_parallel",
    about: "torch.nn.DataParallel drives several devices from one process.",
    thresholds: thresholds! {
        "data_parallel.devices" = 2.0, "busy devices in one process that make it medium; with fewer, it is only a remark";
    },
    answers: &["communication"],
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let host = || slices.ids().filter(|&id| slices.kind(id).is_host());
    let mut is_forward = ByName::new(trace, is_forward);
    let mut forwards: Vec<SliceId> = host().filter(|&id| is_forward.get(slices.name(id))).collect();
    let devices = context.account().devices.iter().filter(|row| row.device.is_some()).count();
    let enough = devices as f64 >= context.threshold("data_parallel.devices");
    let named = !forwards.is_empty();
    if !named {
        // Its autograd functions are known by name, but only all of them together are a sign.
        let of = |name: &str| host().find(|&id| slices.kind(id) == Kind::HostOp && trace.name(id) == name);
        let all: Option<Vec<SliceId>> = ["Scatter", "Broadcast", "Gather"].into_iter().map(of).collect();
        match all.filter(|_| enough) {
            Some(all) => forwards = all,
            None => return Vec::new(),
        }
    }
    let mut finding = context.remark(RULE.name);
    finding.severity = if enough { Severity::Medium } else { Severity::Info };
    finding.confidence = if named { Confidence::High } else { Confidence::Medium };
    finding.title = match devices {
        0 | 1 => "torch.nn.DataParallel is in use".to_owned(),
        n => format!("torch.nn.DataParallel drives {n} devices from one process"),
    };
    finding.evidence = evidence! {
        "devices" => Amount::Count(devices as u64), "Devices that were busy in this process.";
        "seen in" => Amount::Text(trace.name(forwards[0]).to_owned()),
            "The range that DataParallel records, a Python call of its file, or one of its autograd functions (Scatter, \
             Broadcast, Gather).";
    };
    finding.why = "In each step DataParallel copies the model to every device, splits the batch, runs one thread per device under a \
                   single GIL, and gathers outputs and gradients on the first device, which also uses the most \
                   memory. PyTorch advises against it."
        .to_owned();
    finding.fix =
        "Run one process per device with DistributedDataParallel: models stay in place, processes do not share a \
                   GIL, and gradients are reduced during the backward pass."
            .to_owned();
    finding.code = Some(
        "model = nn.parallel.DistributedDataParallel(model.to(device), device_ids=[device])\n\
         # before it, in each process (torchrun --nproc_per_node=8 program.py):\n\
         torch.distributed.init_process_group(\"nccl\")\n\
         device = int(os.environ[\"LOCAL_RANK\"])\n\
         torch.cuda.set_device(device)\n\
         loader = DataLoader(dataset, ..., sampler=torch.utils.data.DistributedSampler(dataset))"
            .to_owned(),
    );
    finding.verify =
        "Record each rank: `stepscope info` should show one device per process, and samples per second should grow nearly \
                      with the number of devices."
            .to_owned();
    finding.source = context.source(forwards[0]);
    finding.slices = context.shown(forwards);
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

fn is_forward(name: &str) -> bool {
    name == "DataParallel.forward"
        // Not its import, which every program has.
        || (name.starts_with("torch/nn/parallel/data_parallel.py(") && name.ends_with(": forward"))
        || name.starts_with("nn.Module: DataParallel_")
}
