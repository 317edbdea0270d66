//! The roofline beside TraceLens' `unified_perf_summary`, call group by call group.
//!
//! Where its definitions are others, they are written here as what they add to or take from ours ([`theirs`]);
//! with that every number agrees to a millionth. Its times are differences of floats of the size of the
//! timestamps, so they are compared with the same slices added the same way, and with ours to a nanosecond a
//! slice.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_analyse::roofline::{Family, OpCost, OpCosts, op_costs};
use stepscope_analyse::scope::selection::Selection;
use stepscope_model::{Kind, Ns, SliceId, Trace};

use crate::csv;
use crate::data::{peer, read};
use crate::roofline::costs::argument;

/// Traces of TraceLens' own tests and where its reports lie beside them. Those that are not there are skipped.
const CASES: &[(&str, &str)] = &[
    ("h100/Qwen_Qwen1.5-0.5B-Chat__1016005", "_perf_report_csvs"),
    ("h100/gaunernst_bert-small-uncased__1016001", "_perf_report_csvs"),
    ("h100/Falconsai_nsfw_image_detection__1016002", "_perf_report_csvs"),
    ("h100/facebook_timesformer-base-finetuned-k400__1016002", "_perf_report_csvs"),
    ("h100/google_owlv2-large-patch14-ensemble__1016001", "_perf_report_csvs"),
    ("mi300/Qwen_Qwen1.5-0.5B-Chat__1016005", "_perf_report_csvs"),
    ("mi300/gaunernst_bert-small-uncased__1016001", "_perf_report_csvs"),
    ("mi300/Falconsai_nsfw_image_detection__1016002", "_perf_report_csvs"),
    ("mi300/facebook_timesformer-base-finetuned-k400__1016002", "_perf_report_csvs"),
    ("mi300/google_owlv2-large-patch14-ensemble__1016001", "_perf_report_csvs"),
    ("mi300/resnet_act_checkpoint", "_recompute_perf_report_csvs"),
    ("perf_model/normalization/normalization_layer_test", "_perf_report_csvs"),
    ("torch_compile_triton/trace", "_perf_report_csvs"),
];

/// Operators that TraceLens costs a level further out (the norms, `linalg_norm`) or further in (what `relu_`,
/// `masked_fill`, `where` and `mse_loss` call) than we do, and what it has a model for and we have none.
const ELSEWHERE: &[&str] = &[
    "aten::layer_norm",
    "aten::batch_norm",
    "aten::group_norm",
    "aten::instance_norm",
    "aten::linalg_norm",
    "aten::clamp_min_",
    "aten::copy_",
    "aten::mean",
    "aten::upsample_nearest1d",
];

/// Name, sizes, types, strides and values of a call: what makes a row there.
type Key = [String; 5];

fn plain(text: &str) -> String {
    let text = text.replace('(', "[").replace(')', "]").replace('"', "'");
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.replace(",]", "]")
}

/// What TraceLens counts for a call, from ours; `None` where its definition is another altogether.
fn theirs(trace: &Trace, op: &OpCost) -> Option<(f64, f64)> {
    let types = argument(trace, op.slice, "Input type");
    let width = |text: &str| match text {
        "c10::BFloat16" | "c10::Half" => 2.0,
        "float" | "int" => 4.0,
        "bool" => 1.0,
        _ => 8.0,
    };
    let widths: Vec<f64> = types.split('"').skip(1).step_by(2).map(width).collect();
    let (flops, bytes) = (op.cost.flops as f64, op.cost.bytes() as f64);
    let strides = argument(trace, op.slice, "Input Strides");
    // It counts a dimension that was expanded as if each element lay in memory.
    let expanded = strides.contains("[0") || strides.contains(" 0");
    Some(match (trace.name(op.slice), op.cost.family) {
        // One more operation for each result, for the bias.
        ("aten::addmm", _) => (flops + op.cost.written as f64 / widths[1], bytes),
        // Moving an element counts as an operation.
        ("aten::copy_", _) if !expanded => (op.cost.written as f64 / widths[0], bytes),
        // A reduction along dimensions is counted as if all elements became one.
        (_, Family::Reduction) => (flops, op.cost.read as f64 + widths[0]),
        // The bias of a convolution is not read.
        ("aten::convolution", _) => {
            let dims = plain(argument(trace, op.slice, "Input Dims"));
            let bias = dims.split("],[").nth(2).and_then(|bias| bias.parse::<f64>().ok());
            (flops, bytes - bias.unwrap_or(0.0) * widths[0])
        }
        // Backward its two kernels each read the output's gradient: written, three tensors; read, two and two.
        ("aten::convolution_backward", _) => {
            let dims = plain(argument(trace, op.slice, "Input Dims"));
            let grad = dims.trim_start_matches('[').split(']').next()?;
            let grad: f64 = grad.split(',').map(|n| n.parse::<f64>().unwrap()).product();
            let values = argument(trace, op.slice, "Concrete Inputs");
            // Only where all but the bias is wanted: it does not look at the mask.
            values.contains("[True, True, False]").then_some((flops, bytes + grad * widths[0]))?
        }
        // Statistics there are a channel's where ours are a row's, and operations are counted otherwise.
        (_, Family::Normalization) => return None,
        // Which tensors are overwritten is guessed there and not here.
        (_, Family::Compiled) => return None,
        // The result in place has the type of what it is written to; there the wider of both.
        ("aten::add_", _) if widths[0] != widths[1] => return None,
        _ if expanded => return None,
        _ => (flops, bytes),
    })
}

/// A time as a program reads it that parses the file's decimal microseconds as a float.
fn float_us(time: Ns) -> f64 {
    format!("{}.{:03}", time.0 / 1000, time.0 % 1000).parse().unwrap()
}

fn float_times(trace: &Trace, costs: &OpCosts, op: &OpCost, counts: impl Fn(Kind) -> bool) -> f64 {
    let slices = trace.slices();
    let length = |id: SliceId| {
        let start = float_us(slices.start(id) + trace.origin());
        start + float_us(slices.dur(id)) - start
    };
    costs.kernels_of(op).iter().filter(|&&id| counts(slices.kind(id))).map(|&id| length(id)).sum()
}

#[derive(Default, Debug)]
struct Compared {
    rows: usize,
    figures: usize,
    otherwise: BTreeMap<String, usize>,
    without_fills: usize,
    elsewhere: usize,
    wrong: Vec<String>,
}

impl Compared {
    fn close(&mut self, ours: f64, theirs: f64, what: &str, figure: &str) {
        self.figures += 1;
        if (ours - theirs).abs() > 1e-6 * theirs.abs() {
            self.wrong.push(format!("{what} {figure}: {ours}, expected {theirs}"));
        }
    }
}

fn compare(trace: &Trace, table: &csv::Table, name: &str, compared: &mut Compared) {
    let costs = op_costs(trace, &Selection::all());
    let mut groups: BTreeMap<Key, Vec<&OpCost>> = BTreeMap::new();
    for op in &costs.ops {
        let text = |key| plain(argument(trace, op.slice, key));
        let [dims, types] = [text("Input Dims"), text("Input type")];
        let key =
            [trace.name(op.slice).to_owned(), dims, types, text("Input Strides"), text("Concrete Inputs")];
        groups.entry(key).or_default().push(op);
    }
    // A forward call and its recomputation are two rows there.
    let mut rows: BTreeMap<Key, Vec<csv::Row<'_>>> = BTreeMap::new();
    for row in table.rows().filter(|row| row.get("has_perf_model") == "True") {
        let [dims, types] = [plain(row.get("Input Dims")), plain(row.get("Input type"))];
        let (strides, values) = (plain(row.get("Input Strides")), plain(row.get("Concrete Inputs")));
        rows.entry([row.get("name").to_owned(), dims, types, strides, values]).or_default().push(row);
    }
    for (key, rows) in rows {
        let what = format!("{name} {} {}", key[0], key[1]);
        let Some(ops) = groups.get(&key) else {
            assert!(ELSEWHERE.contains(&key[0].as_str()), "{what} has no cost");
            compared.elsewhere += rows.len();
            continue;
        };
        let number = |row: &csv::Row<'_>, column| row.get(column).parse::<f64>().unwrap();
        let sum = |column| rows.iter().map(|row| number(row, column)).sum::<f64>();
        compared.rows += rows.len();
        assert_eq!(ops.len() as f64, sum("operation_count"), "{what}");

        let theirs_us = sum("Kernel Time (µs)_sum");
        let mut times: Vec<f64> = ops.iter().map(|op| float_times(trace, &costs, op, |_| true)).collect();
        if (times.iter().sum::<f64>() - theirs_us).abs() > 1e-6 * theirs_us {
            // On ROCm it does not find some of the fills.
            assert!(
                !name.starts_with("h100"),
                "{what}: {} us, expected {theirs_us}",
                times.iter().sum::<f64>()
            );
            times = ops.iter().map(|op| float_times(trace, &costs, op, |kind| kind != Kind::Memset)).collect();
            compared.without_fills += 1;
        } else {
            let (exact, slices) = ops.iter().fold((0, 0), |sum, op| (sum.0 + op.device_ns, sum.1 + op.kernels));
            assert!((exact as f64 / 1e3 - theirs_us).abs() <= 1e-3 * f64::from(slices), "{what}: {exact} ns");
        }
        compared.close(times.iter().sum(), theirs_us, &what, "time");

        // It does not know how wide a `bool` is.
        let has_bytes = !rows[0].get("Data Moved (MB)").is_empty();
        let Some((flops, bytes)) = theirs(trace, ops[0]).filter(|_| has_bytes) else {
            *compared.otherwise.entry(key[0].clone()).or_default() += 1;
            continue;
        };
        compared.close(flops / 1e9, number(&rows[0], "GFLOPS"), &what, "GFLOP");
        compared.close(bytes / 1048576.0, number(&rows[0], "Data Moved (MB)"), &what, "MiB");
        if let [row] = &rows[..] {
            // The mean of the calls' rates, not the rate of all.
            let mean = |amount: f64| times.iter().map(|us| amount / us / 1e6).sum::<f64>() / times.len() as f64;
            compared.close(mean(flops), number(row, "TFLOPS/s_mean"), &what, "TFLOP/s");
            compared.close(mean(bytes), number(row, "TB/s_mean"), &what, "TB/s");
            let us = times.iter().sum::<f64>() / times.len() as f64;
            compared.close(us, number(row, "Kernel Time (µs)_mean"), &what, "mean time");
        }
    }
}

#[test]
fn unified_perf_summaries_match() {
    let mut compared = Compared::default();
    let (mut read_reports, mut absent) = (BTreeSet::new(), Vec::new());
    for (name, suffix) in CASES {
        let Some(report) = peer(&format!("tracelens/{name}{suffix}/unified_perf_summary.csv")) else { return };
        let Some(path) = peer(&format!("tracelens/{name}.json.gz")) else { return };
        if !report.exists() || !path.exists() {
            absent.push(*name);
            continue;
        }
        compare(&read(&path), &csv::read(&report), name, &mut compared);
        read_reports.insert(*name);
    }
    println!("{} reports: {compared:?}", read_reports.len());
    if !absent.is_empty() {
        println!("skipped: no report or trace of {}", absent.join(", "));
    }
    assert!(compared.wrong.is_empty(), "{:#?}", compared.wrong);
    assert!(read_reports.contains("h100/Qwen_Qwen1.5-0.5B-Chat__1016005"));
    assert!(compared.rows >= 33 && compared.figures >= 33 * 6, "{compared:?}");
}

/// TraceLens' `Normalization` names the inner operator too. Its statistics are one for each channel (here 512)
/// and six tensors of them, where a layer has one mean and one deviation for each row (here 141).
#[test]
fn normalization_report_matches() {
    let folder = "tracelens/h100/gaunernst_bert-small-uncased__1016001";
    let Some(report) = peer(&format!("{folder}_perf_report_csvs/Normalization.csv")) else { return };
    let trace = read(&peer(&format!("{folder}.json.gz")).unwrap());
    let table = csv::read(&report);
    let row = table.rows().find(|row| row.get("name") == "aten::native_layer_norm").unwrap();
    let number = |column| row.get(column).parse::<f64>().unwrap();
    let costs = op_costs(&trace, &Selection::all());
    let norms = costs.ops.iter().filter(|op| op.cost.family == Family::Normalization);
    let norms: Vec<&OpCost> = norms.collect();
    assert_eq!(norms.len() as f64, number("name_count"));
    let us: f64 = norms.iter().map(|op| float_times(&trace, &costs, op, |_| true)).sum();
    assert!((us - number("Kernel Time (µs)_sum")).abs() <= 1e-6 * us);

    let (elements, channels, rows) = (141 * 512, 512, 141);
    assert_eq!((5 * elements + 6 * channels) as f64 / 1e9, number("GFLOPS_first"));
    assert_eq!(norms[0].cost.flops, 7 * elements);
    assert_eq!((2 * (2 * elements + 6 * channels)) as f64 / 1048576.0, number("Data Moved (MB)_first"));
    assert_eq!(norms[0].cost.bytes(), 2 * (2 * elements + 2 * channels) + 4 * 2 * rows);
}
