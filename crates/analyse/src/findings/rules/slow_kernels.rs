//! A busy device whose kernels stay far below what the device can do.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Ns, Order, StrId};

use super::matrix::{good_ns, scale};
use super::text::percent;
use crate::causes::cause::Cause;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Evidence, Finding, Needs, Rule, USUAL, thresholds,
};
use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::roofline::{Family, OpCost, Precision};

pub(super) const RULE: Rule = Rule {
    name: "slow_kernels",
    about: "The device is busy, but with operators that reach little of what it can do. Needs record_shapes=True.",
    thresholds: thresholds! {
        "slow_kernels.min_busy" = 0.8, "share of the time without the profiler in which the device is busy";
        "slow_kernels.max_efficiency" = 0.5, "share of the roofline below which an operator is slow";
        "slow_kernels.min_us" = 20.0, "µs of device time per call";
    },
    trials: &["cudnn-benchmark", "compile"],
    needs: &[Needs::Shapes],
    answers: &["gpu"],
    check,
    ..USUAL
};

/// Calls of one operator with the same shapes.
struct Row<'a> {
    first: &'a OpCost,
    calls: u64,
    device_ns: i64,
    good_ns: f64,
    ideal_ns: f64,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    if busy_share(context) < context.threshold("slow_kernels.min_busy") {
        return Vec::new();
    }
    let trace = context.trace();
    let mut edit = Edit::new(trace);
    let mut rows: HashMap<(StrId, Option<StrId>), Row<'_>, RandomState> = HashMap::default();
    for op in &context.costs().ops {
        let (Some(ideal), Some(good)) = (op.ideal, good_ns(context, op, op.precision, 1.0)) else { continue };
        let efficiency = ideal.ns() / op.device_ns.max(1) as f64;
        let is_slow = efficiency < context.threshold("slow_kernels.max_efficiency")
            && op.device_ns as f64 >= context.threshold("slow_kernels.min_us") * 1e3
            && good < op.device_ns as f64;
        // A wider format is another rule's, and so is work that only moves data.
        let narrow = !matches!(op.precision, Precision::Fp32 | Precision::Fp64);
        // Convolutions of few channels stay below half of the roofline whatever one does.
        let matrix = matches!(op.cost.family, Family::Gemm | Family::Attention);
        if !is_slow || !matrix || !narrow {
            continue;
        }
        scale(context, &mut edit, op, good);
        let key = (trace.slices().name(op.slice), trace.args(op.slice).text_id(Attr::InputShapes));
        let row =
            rows.entry(key).or_insert(Row { first: op, calls: 0, device_ns: 0, good_ns: 0.0, ideal_ns: 0.0 });
        row.calls += 1;
        row.device_ns = row.device_ns.saturating_add(op.device_ns);
        row.good_ns += good;
        row.ideal_ns += ideal.ns();
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::UpperBound) else {
        return Vec::new();
    };
    let mut rows: Vec<Row<'_>> = rows.into_values().collect();
    rows.order_by(|a, b| {
        let lost = |row: &Row<'_>| row.device_ns as f64 - row.good_ns;
        lost(b).total_cmp(&lost(a)).then_with(|| a.first.slice.cmp(&b.first.slice))
    });
    let steps = context.steps().steps.len().max(1) as i64;
    let (sum, ideal) =
        (rows.iter().map(|r| Ns(r.device_ns)).sum::<Ns>().0, rows.iter().map(|r| r.ideal_ns).sum::<f64>());
    finding.confidence = Confidence::Low;
    finding.title = format!(
        "Slow kernels: {} of the device time goes to products that reach {} of what the device can do; \
         {} has the most to gain",
        percent(sum as f64 / context.costs().device_ns.max(1) as f64),
        percent(ideal / sum.max(1) as f64),
        trace.name(rows[0].first.slice)
    );
    for row in rows.iter().take(3) {
        let shapes = trace.args(row.first.slice).text(Attr::InputShapes).unwrap_or("");
        finding.evidence.push(Evidence::new(
            format!(
                "{} {shapes}, {} per step, {} of the roofline",
                trace.name(row.first.slice),
                row.calls / steps as u64,
                percent(row.ideal_ns / row.device_ns.max(1) as f64)
            ),
            Amount::Ns(((row.device_ns as f64 - row.good_ns) as i64) / steps),
            "Device time per step above what a well-made kernel would take: the thresholds assume.… say what such kernels \
             reach.",
        ));
    }
    let compiled = context.device_work().any(|work| trace.name(work).starts_with("triton_"));
    let own = kernel_family(trace.name(context.costs().kernels_of(rows[0].first)[0])) == KernelFamily::Other;
    finding.why = "The device has work all the time, so only faster kernels make the step shorter. These do \
                   less per second than large kernels of their kind usually do: the sizes do not fill the device, \
                   or the library chose a slow kernel."
        .to_owned();
    finding.fix = match (compiled, own) {
        (_, true) => "Compare the kernel with the library's own for the same sizes.",
        (true, _) => {
            "Let the compiler try more kernels, and look for sizes that fill the device better: multiples of 128 rows, a \
             larger batch, several products in one (for example q, k and v)."
        }
        (false, _) => {
            "Look for sizes that fill the device better: multiples of 128 rows, a larger batch, several products in one (for \
             example q, k and v). Then let a compiler or the library try more kernels."
        }
    }
    .to_owned();
    finding.code = Some(match compiled {
        true => "model = torch.compile(model, mode=\"max-autotune\")   # tries more kernels for each size"
            .to_owned(),
        false => "model = torch.compile(model, mode=\"max-autotune-no-cudagraphs\")   # tries more kernels"
            .to_owned(),
    });
    finding.verify = format!(
        "`stepscope repro --op {}` times these sizes alone; `stepscope roofline` shows the share before and after.",
        trace.name(rows[0].first.slice)
    );
    finding.slices = context.shown(context.costs().kernels_of(rows[0].first).iter().copied());
    vec![finding]
}

/// How much of the time without the profiler the busiest device works.
fn busy_share(context: &Context<'_>) -> f64 {
    let busy = |row: &crate::causes::account::AccountRow| row.causes.get(Cause::Kernel);
    let most = context.account().devices.iter().map(busy).max().unwrap_or(0);
    let per_step = most / (context.counted_steps() as i64).max(1);
    per_step as f64 / context.unprofiled().step_ns.max(1) as f64
}
