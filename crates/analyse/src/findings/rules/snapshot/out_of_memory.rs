//! A request for memory was refused.

use super::super::text::{percent, size};
use super::{bytes, device, histories, short, source};
use crate::findings::{Amount, Confidence, Context, Evidence, Finding, Rule, Severity, USUAL};
use crate::memory::history::Obstacle;
use crate::memory::out_of_memory::{OutOfMemory, out_of_memory};
use crate::memory::places::Line;

pub(in super::super) const RULE: Rule = Rule {
    name: "snapshot_out_of_memory",
    about: "In a memory snapshot, a request was refused: by a shortage, or because what was free lay in pieces or was set apart.",
    check,
    ..USUAL
};

const MAX_HOLDERS: usize = 5;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let found = histories(context).filter_map(|(snapshot, history)| {
        // Programs that catch the error and try again have many; the last one counts.
        out_of_memory(snapshot, history, context.places(), MAX_HOLDERS)
            .pop()
            .map(|last| (history.refusals.len(), last))
    });
    found.map(|(count, last)| finding(context, count, &last)).collect()
}

fn finding(context: &Context<'_>, count: usize, last: &OutOfMemory) -> Finding {
    let refusal = &last.refusal;
    let mut finding = context.remark(RULE.name);
    finding.severity = Severity::High;
    finding.confidence = Confidence::High;
    let asked = size(bytes(refusal.bytes));
    let why = match last.obstacle {
        Obstacle::Fragmentation => format!("{} was free, but in pieces", size(bytes(last.free))),
        Obstacle::SetApart => {
            format!("{} was free in one piece, but set apart", size(bytes(refusal.largest_gap)))
        }
        Obstacle::Shortage => format!("{} was missing", size(bytes(last.missing))),
    };
    let times = if count > 1 { format!(" (the last of {count} refused requests)") } else { String::new() };
    finding.title = format!("{}: out of memory, {asked} was asked for and {why}{times}", device(last.device));
    let sizes = [
        ("asked for", refusal.bytes, "Bytes of the request that was refused."),
        ("in use", refusal.level.allocated, "Bytes that the program held then."),
        ("reserved", refusal.level.reserved, "Bytes that the allocator had taken from the device then."),
        ("free inside", last.free, "Reserved bytes that nothing used then."),
        ("largest free piece", refusal.largest_gap, "The longest free stretch of one segment then."),
        ("left on the device", refusal.device_free, "What the device had left, as PyTorch recorded it."),
    ];
    for (label, value, definition) in sizes {
        finding.evidence.push(Evidence::new(label, Amount::Bytes(bytes(value)), definition));
    }
    for row in &last.holders {
        let line = Line { function: row.function.clone(), file: row.file.clone(), line: row.line };
        finding.evidence.push(Evidence::new(
            format!("held by {} ({}, a guess)", short(&line), row.category),
            Amount::Text(format!("{} ({})", size(bytes(row.held_bytes)), percent(row.held_share))),
            "Bytes in use then that this line allocated, and their share; what most of it was for is guessed from stacks.",
        ));
    }
    finding.why = match (last.obstacle, last.limited) {
        (Obstacle::SetApart, _) => "A free piece was large enough, but the allocator keeps the free memory of each stream and of each \
                                    memory pool (a CUDA graph has one) to itself."
            .to_owned(),
        (Obstacle::Fragmentation, _) => "What was free would have been enough, but not in one piece: tensors that stay alive lie between the free ones, \
                      and a segment cannot be joined with another."
            .to_owned(),
        (Obstacle::Shortage, true) => "The device had room, so a limit on this process refused the request \
                          (torch.cuda.set_per_process_memory_fraction)."
            .to_owned(),
        (Obstacle::Shortage, false) => "The device was full: what the program holds and what it asked for do not fit together.".to_owned(),
    };
    finding.fix = match last.obstacle {
        Obstacle::SetApart => "Give back what other streams and pools keep before this request (torch.cuda.empty_cache()), drop graphs \
                               that are not replayed any more, or do the work on one stream."
            .to_owned(),
        Obstacle::Fragmentation if last.expandable => "Segments can grow already: keep shapes to a few sizes, and allocate what lives long before what \
                                    lives short."
            .to_owned(),
        Obstacle::Fragmentation => "Let segments grow in place: then free pieces are given back and joined. This request would \
                                    probably have fit."
            .to_owned(),
        Obstacle::Shortage => advice(last),
    };
    finding.code = match last.obstacle {
        Obstacle::SetApart => Some("torch.cuda.empty_cache()  # before the work that needs it".to_owned()),
        Obstacle::Fragmentation if last.expandable => None,
        Obstacle::Fragmentation => {
            Some("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py".to_owned())
        }
        Obstacle::Shortage => code(last),
    };
    finding.verify = "Run again and take another snapshot at the end: `stepscope memory SNAPSHOT --oom` should find no refused request."
        .to_owned();
    finding.source = source(&last.line);
    finding
}

/// What most of the lines that hold the most hold.
fn main_category(last: &OutOfMemory) -> &'static str {
    let sum = |category: &str| -> u64 {
        last.holders.iter().filter(|row| row.category == category).map(|row| row.held_bytes).sum()
    };
    last.holders.iter().map(|row| row.category).max_by_key(|category| sum(category)).unwrap_or("unknown")
}

fn advice(last: &OutOfMemory) -> String {
    match main_category(last) {
        "activation" => "Most of it looks like activations (a guess from stacks): recompute them in the backward pass, train in bfloat16, \
                         or split the batch and accumulate gradients.",
        "gradient" => "Most of it looks like gradients (a guess from stacks): free them with zero_grad(set_to_none=True) before the next \
                       forward pass, or shard them over ranks.",
        "optimizer state" => "Most of it looks like the optimizer's state (a guess from stacks): use an optimizer with smaller state \
                              (8-bit Adam, Adafactor), or shard it over ranks.",
        "parameter" => "Most of it looks like parameters (a guess from stacks): load the model in bfloat16, or shard it over ranks.",
        "input" => "Most of it looks like inputs and other tensors that the program makes itself (a guess from stacks): use smaller \
                    batches, and drop what is not needed any more.",
        _ => "Drop what is not needed before this line, use smaller batches, or more devices.",
    }
    .to_owned()
}

fn code(last: &OutOfMemory) -> Option<String> {
    let code = match main_category(last) {
        "activation" => "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)  # in forward",
        "gradient" => "optimizer.zero_grad(set_to_none=True)  # right after optimizer.step()",
        "optimizer state" => "optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())",
        "parameter" => "model = model.to(torch.bfloat16)",
        _ => return None,
    };
    Some(code.to_owned())
}
