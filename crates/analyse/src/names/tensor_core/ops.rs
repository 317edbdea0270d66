//! PyTorch operators that multiply matrices.

/// Whether a PyTorch operator can use tensor cores, given inputs of a suitable type and size.
///
/// These are the operators that autocast casts down on CUDA, without the elementwise `prelu`, and with
/// what they call underneath, the scaled and grouped products, attention, and the backward operators.
pub fn op_is_eligible(op: &str) -> bool {
    let Some(op) = op.strip_prefix("aten::") else {
        return false;
    };
    AUTOCAST_OPS.contains(&op)
        || NEWER_PRODUCTS.contains(&op)
        || is_library_convolution_or_rnn(op)
        || is_attention(op)
}

/// Operators that autocast runs in lower precision and that multiply matrices, as far as the TensorBoard
/// plugin knows them.
const AUTOCAST_OPS: &[&str] = &[
    "_convolution",
    "_convolution_nogroup",
    "convolution",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linear",
    "matmul",
    "mm",
    "mv",
    "bmm",
    "addmm",
    "addmv",
    "addr",
    "addbmm",
    "baddbmm",
    "chain_matmul",
    "linalg_multi_dot",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
];

/// Products that the TensorBoard plugin does not know: spelled differently, or newer than it.
const NEWER_PRODUCTS: &[&str] = &[
    "einsum",
    "linear_backward",
    "matmul_backward",
    "addmm_",
    "addbmm_",
    "baddbmm_",
    "_addmm_activation",
    "_scaled_mm",
    "_scaled_mm_v2",
    "_grouped_mm",
    "_scaled_grouped_mm",
    "_scaled_grouped_mm_v2",
    "_int_mm",
    "_weight_int4pack_mm",
    "_weight_int8pack_mm",
    "_cslt_sparse_mm",
    "_sparse_semi_structured_linear",
    "_sparse_semi_structured_mm",
    "_sparse_semi_structured_addmm",
];

fn is_library_convolution_or_rnn(op: &str) -> bool {
    if matches!(op, "convolution_backward" | "convolution_overrideable" | "_convolution_mode" | "lstm" | "gru")
    {
        return true;
    }
    let Some(op) = op.strip_prefix("cudnn_").or_else(|| op.strip_prefix("miopen_")) else {
        return matches!(op, "_cudnn_rnn" | "_cudnn_rnn_backward");
    };
    op.starts_with("convolution") || op.starts_with("rnn")
}

/// Without the `_backward` that some of them have too.
const ATTENTION_OPS: &[&str] = &[
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_flash_attention",
    "_flash_attention_forward",
    "_efficient_attention",
    "_efficient_attention_forward",
    "_cudnn_attention",
    "_cudnn_attention_forward",
];

fn is_attention(op: &str) -> bool {
    let op = op.strip_suffix("_backward").unwrap_or(op);
    ATTENTION_OPS.contains(&op)
}
