//! What the synthetic program does: a transformer layer, its gradients, and an optimiser.

use crate::calls::{self, Call};
use crate::optree::{ALLOC, NODE, Op, node, op};

/// A piece of the model: what it does forward, and backward in the order the engine runs it.
#[derive(Debug)]
pub(crate) struct Block {
    /// The module's class, as a stack frame shows it.
    pub(crate) module: &'static str,
    /// The source file and line of its `forward`.
    pub(crate) source: &'static str,
    pub(crate) native: &'static str,
    pub(crate) forward: &'static [Op],
    pub(crate) backward: &'static [Op],
}

const EMPTY: Op = op!("aten::empty", "LSSSSU", ALLOC, [], []);
const EMPTY_STRIDED: Op = op!("aten::empty_strided", "LLSSUS", ALLOC, [], []);
const AS_STRIDED: Op = op!("aten::as_strided", "WLLS", 0, [], []);
const VIEW: Op = op!("aten::view", "TL", 0, [], []);
const VIEW_NODE: Op = op!("aten::view", "TL", NODE, [], []);
const RESHAPE: Op = op!("aten::reshape", "TL", 0, [], [VIEW]);
const TRANSPOSE: Op = op!("aten::transpose", "WSS", 0, [], [AS_STRIDED]);
const T: Op = op!("aten::t", "W", 0, [], [TRANSPOSE]);
const SELECT: Op = op!("aten::select", "TSS", 0, [], [AS_STRIDED]);
const COPY_CAST: Op = op!("aten::copy_", "WFS", 0, [Call::Launch(&calls::COPY_CAST)], []);
const COPY: Op = op!("aten::copy_", "FWS", 0, [Call::Launch(&calls::COPY)], []);
const TO: Op =
    op!("aten::to", "FSSSU", NODE, [], [op!("aten::_to_copy", "FSSSUSU", 0, [], [EMPTY_STRIDED, COPY_CAST])]);
const SUM: Op = op!("aten::sum", "TLSU", ALLOC, [Call::Launch(&calls::REDUCE)], [AS_STRIDED]);
const MM: Op = op!("aten::mm", "TW", ALLOC, [Call::Launch(&calls::GEMM_NN)], []);
const MM_T: Op = op!("aten::mm", "WT", ALLOC, [Call::Launch(&calls::GEMM_NT)], []);

const VIEW_GRAD: Op = node!("ViewBackward0", "T", [RESHAPE]);
const TO_GRAD: Op = node!(
    "ToCopyBackward0",
    "T",
    [op!("aten::to", "TSSUUSSU", 0, [], [op!("aten::_to_copy", "TSSUUSU", 0, [], [EMPTY_STRIDED, COPY])])]
);
const ACCUMULATE: Op = op!(
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "",
    0,
    [],
    [op!("torch::autograd::AccumulateGrad", "F", 0, [], [op!("aten::detach", "F", 0, [], [])])]
);
const PERMUTE_GRAD: Op = node!("PermuteBackward0", "T", [op!("aten::permute", "TL", 0, [], [AS_STRIDED])]);

static NORM: Block = Block {
    module: "LayerNorm",
    source: "torch/nn/modules/normalization.py(217)",
    native: "layer_norm",
    forward: &[op!(
        "aten::layer_norm",
        "TLFFSS",
        0,
        [],
        [op!(
            "aten::native_layer_norm",
            "TLFFS",
            NODE,
            [Call::Launch(&calls::NORM)],
            [EMPTY, EMPTY, EMPTY, VIEW, VIEW]
        )]
    )],
    backward: &[
        node!(
            "NativeLayerNormBackward0",
            "FUU",
            [op!(
                "aten::native_layer_norm_backward",
                "FFLFFFFL",
                ALLOC,
                [Call::Launch(&calls::NORM_GRAD), Call::Launch(&calls::GAMMA_GRAD)],
                [EMPTY, EMPTY]
            )]
        ),
        ACCUMULATE,
        ACCUMULATE,
    ],
};

static LINEAR: Block = Block {
    module: "Linear",
    source: "torch/nn/modules/linear.py(134)",
    native: "linear",
    forward: &[op!(
        "aten::linear",
        "TWB",
        0,
        [],
        [
            TO,
            TO,
            op!(
                "aten::linear",
                "TWB",
                0,
                [],
                [
                    VIEW_NODE,
                    op!("aten::t", "W", NODE, [], [TRANSPOSE]),
                    op!(
                        "aten::addmm",
                        "BTWSS",
                        NODE | ALLOC,
                        [Call::Query(&calls::ERROR_STRING), Call::Launch(&calls::GEMM_BIAS)],
                        []
                    ),
                    VIEW_NODE,
                ]
            ),
        ]
    )],
    backward: &[
        VIEW_GRAD,
        node!("AddmmBackward0", "T", [T, MM, T, MM_T, SUM]),
        node!("TBackward0", "W", [T]),
        VIEW_GRAD,
        TO_GRAD,
        ACCUMULATE,
        TO_GRAD,
        ACCUMULATE,
    ],
};

static ATTENTION: Block = Block {
    module: "Attention",
    source: "model.py(71)",
    native: "scaled_dot_product_attention",
    forward: &[
        op!("aten::permute", "TL", NODE, [], [AS_STRIDED]),
        op!("aten::unbind", "TS", NODE, [], [SELECT, SELECT, SELECT]),
        op!(
            "aten::scaled_dot_product_attention",
            "TTTUSSUS",
            0,
            [],
            [op!(
                "aten::_scaled_dot_product_cudnn_attention",
                "TTTUSSSSU",
                NODE,
                [],
                [op!(
                    "aten::_cudnn_attention_forward",
                    "TTTUUUSSSSSSU",
                    0,
                    [Call::Query(&calls::IS_CAPTURING), Call::Launch(&calls::ATTENTION)],
                    [EMPTY, EMPTY, op!("aten::empty_like", "TSSSSS", 0, [], [EMPTY_STRIDED])]
                )]
            )]
        ),
        op!("aten::transpose", "TSS", NODE, [], [AS_STRIDED]),
    ],
    backward: &[
        node!("TransposeBackward0", "T", [op!("aten::transpose", "TSS", 0, [], [AS_STRIDED])]),
        node!(
            "ScaledDotProductCudnnAttentionBackward0",
            "TU",
            [op!(
                "aten::_scaled_dot_product_cudnn_attention_backward",
                "TTTTTFSSUUUSSSS",
                ALLOC,
                [Call::Launch(&calls::FILL), Call::Launch(&calls::ATTENTION_GRAD)],
                [EMPTY, EMPTY]
            )]
        ),
        node!(
            "UnbindBackward0",
            "TTT",
            [op!("aten::stack", "LS", ALLOC, [Call::Launch(&calls::COPY)], [VIEW])]
        ),
        PERMUTE_GRAD,
    ],
};

static GELU: Block = Block {
    module: "GELU",
    source: "torch/nn/modules/activation.py(826)",
    native: "gelu",
    forward: &[op!("aten::gelu", "TS", NODE | ALLOC, [Call::Launch(&calls::GELU)], [])],
    backward: &[node!(
        "GeluBackward0",
        "T",
        [op!("aten::gelu_backward", "TTS", ALLOC, [Call::Launch(&calls::GELU_GRAD)], [])]
    )],
};

static RESIDUAL: Block = Block {
    module: "Residual",
    source: "model.py(94)",
    native: "add",
    forward: &[op!("aten::add", "FFS", NODE | ALLOC, [Call::Launch(&calls::ADD)], [])],
    backward: &[node!("AddBackward0", "F", [op!("aten::add_", "FFS", 0, [Call::Launch(&calls::ADD)], [])])],
};

pub(crate) static LAYER: [&Block; 11] =
    [&NORM, &LINEAR, &ATTENTION, &LINEAR, &RESIDUAL, &NORM, &LINEAR, &GELU, &LINEAR, &RESIDUAL, &GELU];

pub(crate) static LOAD: &[Op] = &[op!(
    "aten::to",
    "FSSUUSSU",
    0,
    [],
    [op!(
        "aten::_to_copy",
        "FSSUUSU",
        0,
        [],
        [
            EMPTY_STRIDED,
            op!("aten::copy_", "FFS", 0, [Call::Launch(&calls::COPY_IN), Call::Sync(&calls::STREAM_SYNC)], [])
        ]
    )]
)];

pub(crate) static UPDATE: &[Op] = &[
    op!("aten::_foreach_add_", "LS", 0, [Call::Launch(&calls::ADD)], []),
    op!("aten::_fused_adamw_", "LLLLLLSSSSSSSUU", ALLOC, [Call::Launch(&calls::ADAM)], [EMPTY_STRIDED, VIEW]),
];

/// Reads the loss back, which waits for the device.
pub(crate) static READ_LOSS: &[Op] = &[op!(
    "aten::item",
    "F",
    0,
    [],
    [op!(
        "aten::_local_scalar_dense",
        "F",
        0,
        [Call::Launch(&calls::COPY_OUT), Call::Sync(&calls::STREAM_SYNC)],
        []
    )]
)];

/// Cheap single operators that fill a step up to its exact number of events.
pub(crate) static FILLERS: [Op; 3] = [
    op!("aten::detach", "T", 0, [], []),
    op!("aten::lift_fresh", "F", 0, [], []),
    op!("aten::result_type", "TS", 0, [], []),
];

/// Sizes of the tensors a block works on: rows, columns, outputs.
pub(crate) static SHAPES: [[u64; 3]; 4] =
    [[256, 512, 1_536], [256, 512, 512], [256, 512, 2_048], [256, 2_048, 512]];
