//! Worked answers, by hand from the sizes.

use super::*;
use crate::roofline::call::Texts;
use crate::roofline::number::of_type;

/// A call by its sizes, a type for each (`""`: no tensor) and its plain values.
fn cost(name: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<Cost> {
    let quoted = |texts: &[&str]| {
        format!("[{}]", texts.iter().map(|t| format!("\"{t}\"")).collect::<Vec<_>>().join(", "))
    };
    let (types, concrete) = (quoted(types), quoted(concrete));
    let texts = Texts { dims, types: &types, strides: "", concrete: &concrete };
    let call = Call::read(texts, of_type("float"))?;
    (model(name)?.count)(short_name(name), &call)
}

fn parts(cost: Option<Cost>) -> Option<(u64, u64, u64)> {
    cost.map(|c| (c.flops, c.read, c.written))
}

const F: &str = "float";
const B: &str = "c10::BFloat16";
const L: &str = "long int";

#[test]
fn products() {
    let mm = cost("aten::mm", "[[64, 1000], [1000, 512]]", &[B, B], &[]).unwrap();
    assert_eq!((mm.flops, mm.read, mm.written), (65_536_000, 2 * (64_000 + 512_000), 2 * 64 * 512));
    assert_eq!((mm.precision, mm.pipe), (Precision::Bf16, Pipe::Matrix));
    // The bias is read, and not counted as arithmetic.
    let addmm = |beta| {
        cost("aten::addmm", "[[1000], [64, 512], [512, 1000], [], []]", &[B, B, B], &["", "", "", beta, "1"])
    };
    assert_eq!(parts(addmm("1")), Some((65_536_000, 2 * (1000 + 32_768 + 512_000), 128_000)));
    assert_eq!(parts(addmm("0")), Some((65_536_000, 2 * (32_768 + 512_000), 128_000)));
    let bmm = cost("aten::bmm", "[[8, 2, 3], [8, 3, 5]]", &[F, F], &[]);
    assert_eq!(parts(bmm), Some((480, 4 * (48 + 120), 320)));
    // (8, 4, 2, 3) @ (3, 5), repeated along both batches.
    let matmul = cost("aten::matmul", "[[8, 4, 2, 3], [3, 5]]", &[F, F], &[]);
    assert_eq!(matmul.map(|c| (c.flops, c.written)), Some((2 * 8 * 4 * 2 * 3 * 5, 4 * 320)));
    let linear = cost("aten::linear", "[[8, 16, 32], [64, 32], [64]]", &[F, F, F], &[]);
    assert_eq!(parts(linear), Some((2 * 128 * 32 * 64, 4 * (4096 + 2048 + 64), 4 * 128 * 64)));
    assert_eq!(parts(cost("aten::dot", "[[7], [7]]", &[F, F], &[])), Some((14, 56, 4)));
    assert_eq!(parts(cost("aten::mv", "[[7, 3], [3]]", &[F, F], &[])), Some((42, 96, 28)));
    // Eight bits in, sixteen out.
    let fp8 = "c10::Float8_e4m3fn";
    let scaled = cost(
        "aten::_scaled_mm",
        "[[16, 32], [32, 48], [], [], [], [], [], []]",
        &[fp8, fp8, F, F, "", "", "Scalar", "Scalar"],
        &["", "", "", "", "", "", "15", "True"],
    )
    .unwrap();
    assert_eq!(
        (scaled.flops, scaled.written, scaled.precision),
        (2 * 16 * 32 * 48, 2 * 16 * 48, Precision::Fp8)
    );
    assert_eq!(cost("aten::mm", "[[64, 1000], [999, 512]]", &[B, B], &[]), None);
}

#[test]
fn convolutions() {
    // 112 x 112 positions, 147 weights each; torch counts the same.
    let dims = "[[64, 3, 224, 224], [64, 3, 7, 7], [64], [], [], [], [], [], []]";
    let values = ["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"];
    let conv = cost("aten::convolution", dims, &[B, B, B, "", "", "", "", "", ""], &values).unwrap();
    let out = 64 * 64 * 112 * 112;
    assert_eq!(conv.flops, 2 * out * 147);
    assert_eq!((conv.read, conv.written), (2 * (64 * 3 * 224 * 224 + 64 * 147 + 64), 2 * out));
    // cuDNN's own names the padding first, and a group's weights see its channels alone.
    let dims = "[[1, 8, 10], [16, 2, 3], [], [], [], [], []]";
    let grouped = cost("aten::cudnn_convolution", dims, &[F, F], &["", "", "[1]", "[1]", "[1]", "4", ""]);
    assert_eq!(parts(grouped), Some((2 * 160 * 6, 4 * (80 + 96), 640)));
    // Transposed: each of 4*5 inputs spreads to 6*3 outputs; (5 - 1) * 2 + 3 = 11 long.
    let dims = "[[1, 4, 5], [4, 6, 3], [], [], [], [], [], [], []]";
    let values = ["", "", "", "[2]", "[0]", "[1]", "True", "[0]", "1"];
    let transposed = cost("aten::convolution", dims, &[F, F], &values);
    assert_eq!(parts(transposed), Some((2 * 20 * 18, 4 * (20 + 72), 4 * 66)));
    // Backward: as much as forward for each of two gradients; the third is a sum.
    let dims = "[[64, 512, 7, 7], [64, 256, 14, 14], [512, 256, 3, 3], [], [], [], [], [], [], [], []]";
    let mask = |mask| {
        let values = ["", "", "", "[512]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask];
        parts(cost("aten::convolution_backward", dims, &[B, B, B], &values))
    };
    let (grad, input, weight) = (64 * 512 * 49, 64 * 256 * 196, 512 * 256 * 9);
    let once = 2 * grad * 256 * 9;
    assert_eq!(
        mask("[True, True, True]"),
        Some((2 * once, 2 * (grad + input + weight), 2 * (input + weight + 512)))
    );
    assert_eq!(mask("[False, True, False]"), Some((once, 2 * (grad + input), 2 * weight)));
}

#[test]
fn attention() {
    let dims = "[[16, 16, 559, 64], [16, 16, 559, 64], [16, 16, 559, 64], [], [], [], []]";
    let flash = |causal| {
        let values = ["", "", "", "0.", causal, "False", "0.125"];
        cost("aten::_scaled_dot_product_flash_attention", dims, &[B, B, B], &values).unwrap()
    };
    // TraceLens' numbers of the Qwen trace: 10.239377408 GFLOP and 69.875 MiB.
    assert_eq!((flash("True").flops, flash("True").bytes()), (10_239_377_408, 69_875 * 1_048_576 / 1000));
    assert_eq!(flash("False").flops, 2 * 10_239_377_408);
    // Backward five products instead of two, one of them recomputed.
    let dims = "[[8, 12, 512, 64], [8, 12, 512, 64], [8, 12, 512, 64], [8, 12, 512, 64], [8, 12, 512, 64], \
                [8, 12, 512, 1], [], [], [], [], [], [], [], [], [], []]";
    let types = [B, B, B, B, B, F, L, L, "", "", "", "Scalar", "Scalar", "Scalar", "Scalar", ""];
    let values = ["", "", "", "", "", "", "", "", "", "", "", "512", "512", "0.", "True", ""];
    let back = cost("aten::_scaled_dot_product_cudnn_attention_backward", dims, &types, &values).unwrap();
    let product = 8 * 12 * 512 * 512 * 64;
    assert_eq!((back.flops, back.recomputed), (5 * product, product));
    let tensor = 2 * 8 * 12 * 512 * 64;
    assert_eq!((back.read, back.written), (5 * tensor, 3 * tensor));
    // Four queries, ten keys; heads behind positions. PyTorch's mask starts at the first key, flash_attn's ends
    // at the last: the square's half, and the six keys before it.
    let dims = "[[1, 4, 1, 1], [1, 10, 1, 1], [1, 10, 1, 1], [], [], [], [], [], [], []]";
    let values = ["", "", "", "", "", "4", "10", "0.", "True", "False"];
    let first = cost("aten::_flash_attention_forward", dims, &[B, B, B], &values).unwrap();
    assert_eq!(first.flops, 2 * 2 * 8);
    let last =
        cost("flash_attn::_flash_attn_forward", dims, &[B, B, B], &["", "", "", "0.", "1.", "True"]).unwrap();
    assert_eq!(last.flops, 2 * 2 * (40 - 8));
    // The lengths of packed sequences are not recorded.
    let packed = "[[4096, 12, 64], [4096, 12, 64], [4096, 12, 64], [9], [9], [], [], [], [], []]";
    let types = [B, B, B, "int", "int", "", "", "", "", ""];
    assert_eq!(cost("aten::_flash_attention_forward", packed, &types, &values), None);
}

#[test]
fn normalization_and_softmax() {
    let dims = "[[8, 512, 768], [], [768], [768], []]";
    let values = ["", "[768]", "", "", "1e-5"];
    let norm = cost("aten::native_layer_norm", dims, &[F, "ScalarList", F, F, "Scalar"], &values);
    let n = 8 * 512 * 768;
    assert_eq!(parts(norm), Some((7 * n, 4 * (n + 1536), 4 * (n + 2 * 4096))));
    let dims = "[[8, 512, 768], [8, 512, 768], [], [8, 512, 1], [8, 512, 1], [768], [768], []]";
    let values = ["", "", "[768]", "", "", "", "", "[True, True, True]"];
    let back = cost("aten::native_layer_norm_backward", dims, &[F, F, "", F, F, F, F, ""], &values);
    assert_eq!(parts(back), Some((13 * n, 4 * (2 * n + 2 * 4096 + 1536), 4 * (n + 1536))));
    let dims = "[[10, 64, 56, 56], [64], [64], [64], [64], [], [], []]";
    let batch = |training| {
        let values = ["", "", "", "", "", training, "0.1", "1e-5"];
        parts(cost("aten::native_batch_norm", dims, &[B, F, F, F, F], &values))
    };
    let n = 10 * 64 * 56 * 56;
    assert_eq!(batch("True"), Some((7 * n, 2 * n + 1024, 2 * n + 1024)));
    assert_eq!(batch("False"), Some((2 * n, 2 * n + 1024, 2 * n)));
    let softmax = cost("aten::_log_softmax", "[[64, 1000], [], []]", &[B], &["", "1", "True"]);
    assert_eq!(parts(softmax), Some((320_000, 128_000, 256_000)));
    let back =
        cost("aten::_softmax_backward_data", "[[64, 1000], [64, 1000], [], []]", &[F, F], &["", "", "1", "15"]);
    assert_eq!(parts(back), Some((256_000, 512_000, 128_000)));
}

#[test]
fn elementwise_and_reductions() {
    // TraceLens' numbers of the Qwen trace: 69.90911865234375 MiB, 0.06824493408203125 MiB.
    let mul = cost("aten::mul", "[[16, 559, 1024], [16, 559, 1]]", &[F, F], &[]).unwrap();
    assert_eq!((mul.flops, mul.bytes()), (9_158_656, 73_305_024));
    let add = cost("aten::add", "[[16, 559, 1], [], []]", &[F, "double", "Scalar"], &["", "", "1"]).unwrap();
    assert_eq!((add.flops, add.bytes(), add.precision), (8944, 71_560, Precision::Fp32));
    // In place, and compared with a number.
    assert_eq!(parts(cost("aten::add_", "[[4], [4], []]", &[B, F, ""], &[])), Some((4, 8 + 16, 8)));
    assert_eq!(
        parts(cost("aten::eq", "[[16, 559], []]", &[L, "Scalar"], &["", "1"])),
        Some((8944, 71_552, 8944))
    );
    assert_eq!(parts(cost("aten::where", "[[4], [4], []]", &["bool", B, B], &[])), Some((4, 4 + 8 + 2, 8)));
    assert_eq!(parts(cost("aten::native_dropout", "[[4], [], []]", &[B], &[])), Some((4, 8, 12)));
    assert_eq!(parts(cost("aten::copy_", "[[4, 8], [8], []]", &[B, F, ""], &[])), Some((0, 32, 64)));
    assert_eq!(parts(cost("aten::zero_", "[[4, 8]]", &[F], &[])), Some((0, 0, 128)));
    assert_eq!(parts(cost("aten::cat", "[[[2, 3], [4, 3]], []]", &["TensorList", ""], &[])), Some((0, 72, 72)));
    let sum = |dims: &str| parts(cost("aten::sum", "[[6, 5, 4], [], [], []]", &[F], &["", dims, "True", ""]));
    assert_eq!(
        (sum("[-1]"), sum("[0, 2]"), sum("")),
        (Some((120, 480, 120)), Some((120, 480, 20)), Some((120, 480, 4)))
    );
    assert_eq!(parts(cost("aten::argmax", "[[6, 5], [], []]", &[F], &["", "1", ""])), Some((30, 120, 48)));
    // The larger of two tensors is not a reduction.
    assert_eq!(parts(cost("aten::max", "[[6, 5], [6, 5]]", &[F, F], &[])), Some((30, 240, 120)));
}

#[test]
fn tables_losses_pools_and_updates() {
    let rows = cost("aten::index_select", "[[32000, 768], [], [4096]]", &[F, "", L], &["", "0", ""]);
    let moved = 4 * 4096 * 768;
    assert_eq!(parts(rows), Some((0, moved + 8 * 4096, moved)));
    let dims = "[[8, 512, 768], [8, 512], [], [], []]";
    let back = cost("aten::embedding_dense_backward", dims, &[F, L], &["", "", "32000", "-1", "False"]);
    assert_eq!(parts(back), Some((4096 * 768, moved + 8 * 4096, 4 * 32_000 * 768)));
    let dims = "[[64, 1000], [64], [], [], []]";
    let loss = cost("aten::nll_loss_forward", dims, &[F, L, ""], &["", "", "", "1", "-100"]);
    assert_eq!(parts(loss), Some((64, 256 + 512, 4)));
    let squares = cost("aten::mse_loss", "[[10, 1000], [10, 1000], []]", &[B, B, "Scalar"], &["", "", "1"]);
    assert_eq!(parts(squares), Some((30_000, 40_000, 2)));
    let dims = "[[64, 64, 112, 112], [], [], [], [], []]";
    let values = ["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"];
    let pool = cost("aten::max_pool2d_with_indices", dims, &[B], &values);
    let out = 64 * 64 * 56 * 56;
    assert_eq!(parts(pool), Some((9 * out, 2 * 4 * out, 10 * out)));
    // Ten elements in two tensors: parameters, gradients and both averages read, all but gradients written.
    let lists = "[[[2, 3], [4]], [[2, 3], [4]], [[2, 3], [4]], [[2, 3], [4]], [], [[], []], []]";
    let adam = cost("aten::_fused_adamw_", lists, &["TensorList"; 7], &[]);
    assert_eq!(parts(adam), Some((130, 160, 120)));
    let lerp = cost("aten::_foreach_lerp_", "[[[2, 3]], [[2, 3]], []]", &["TensorList", "TensorList", ""], &[]);
    assert_eq!(parts(lerp), Some((18, 48, 24)));
    // A list without sizes has no cost.
    assert_eq!(cost("aten::_foreach_add_", "[[], [], []]", &["TensorList", F, ""], &[]), None);
    // Rows 5 and 6 of a batch, all columns; how many a mask keeps is unknown.
    let index = |dims| parts(cost("aten::index", dims, &[F, "TensorList"], &[]));
    assert_eq!(index("[[10, 4], [[2]]]"), Some((0, 4 * 8 + 16, 4 * 8)));
    assert_eq!(index("[[10, 4], [[10, 4]]]"), None);
}

#[test]
fn hostile_calls_have_no_cost_and_do_no_harm() {
    let ops = [
        "mm",
        "addmm",
        "bmm",
        "linear",
        "matmul",
        "addbmm",
        "_scaled_mm",
        "dot",
        "mv",
        "convolution",
        "_convolution",
        "cudnn_convolution",
        "cudnn_convolution_transpose",
        "miopen_convolution",
        "convolution_backward",
        "conv2d",
        "_scaled_dot_product_flash_attention",
        "_efficient_attention_forward",
        "_flash_attention_backward",
        "scaled_dot_product_attention",
        "native_layer_norm",
        "native_layer_norm_backward",
        "native_group_norm",
        "native_batch_norm",
        "native_batch_norm_backward",
        "cudnn_batch_norm_backward",
        "_fused_rms_norm",
        "_softmax",
        "_softmax_backward_data",
        "nll_loss_forward",
        "nll_loss_backward",
        "index_select",
        "embedding",
        "gather",
        "embedding_dense_backward",
        "scatter_add_",
        "index",
        "index_put_",
        "index_add_",
        "copy_",
        "arange",
        "cat",
        "constant_pad_nd",
        "add",
        "where",
        "native_dropout",
        "addcmul_",
        "sum",
        "max",
        "linalg_vector_norm",
        "var_mean",
        "max_pool2d_with_indices",
        "max_pool2d_with_indices_backward",
        "avg_pool2d",
        "_foreach_add_",
        "_foreach_norm",
        "_fused_adamw_",
        "_fused_sgd_",
    ];
    let most = i64::MAX.to_string();
    let sizes = [
        "[]",
        "[0]",
        "[-1, 2]",
        "[3, 0, 3, 3]",
        "[4, 4, 4, 4]",
        "[[4, 4], []]",
        &format!("[{most}, {most}]"),
        &format!("[{most}]"),
        &format!("[2, {most}, 1, 1]"),
        &format!("[[{most}, 2], [{most}]]"),
    ];
    let values = [
        "",
        "0",
        "-1",
        "[0, 0]",
        "[-9, 3]",
        "True",
        "[True, False, True]",
        "[]",
        &most,
        &format!("[{most}, -{most}]"),
    ];
    for op in ops {
        let name = format!("aten::{op}");
        assert!(model(&name).is_some(), "{op}");
        for (s, size) in sizes.iter().enumerate() {
            for other in sizes {
                let inputs: Vec<&str> = (0..16).map(|i| if i % 3 == s % 3 { *size } else { other }).collect();
                let dims = format!("[{}]", inputs.join(", "));
                for value in values {
                    let _ = cost(&name, &dims, &[F; 16], &[value; 16]);
                }
            }
        }
        // Nothing recorded.
        assert_eq!(cost(&name, "[]", &[], &[]), None, "{op}");
        assert_eq!(cost(&name, "[[], [], []]", &["Scalar"; 3], &[]), None, "{op}");
    }
    assert!(model("aten::view").is_none() && model("mm").is_none() && model("").is_none());
}
