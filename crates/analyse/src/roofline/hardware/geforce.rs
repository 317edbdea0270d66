//! NVIDIA's GeForce cards.
//!
//! Rates of `half`, `bfloat16` and 8-bit floats are those with sums in `float`, which these cards do at half
//! the rate of sums in `half`.

use super::Hardware;
use super::row::{NONE, PCIE5, Row};

/// A GeForce card from its `float` rate, from which the rest follows by a fixed factor since the RTX 30 series.
const fn geforce(name: &'static str, fp32: f64, memory_gbs: f64, memory_gb: u32, units: u32) -> Hardware {
    Hardware {
        name,
        fp32,
        tf32: Some(fp32),
        fp16: Some(2.0 * fp32),
        bf16: Some(2.0 * fp32),
        int8: Some(8.0 * fp32),
        memory_gbs,
        memory_gb,
        units,
        ..NONE
    }
}

/// With 8-bit floats.
const fn ada(name: &'static str, fp32: f64, memory_gbs: f64, memory_gb: u32, units: u32) -> Hardware {
    Hardware { fp8: Some(4.0 * fp32), ..geforce(name, fp32, memory_gbs, memory_gb, units) }
}

/// With 4-bit floats.
const fn blackwell(name: &'static str, fp32: f64, memory_gbs: f64, memory_gb: u32, units: u32) -> Hardware {
    Hardware { fp4: Some(16.0 * fp32), host_bus_gbs: PCIE5, ..ada(name, fp32, memory_gbs, memory_gb, units) }
}

pub(super) static ROWS: &[Row] = &[
    // "NVIDIA Ampere GA102 GPU Architecture" and the product pages of the smaller models.
    (&["rtx", "3090", "ti"], geforce("RTX 3090 Ti", 40.0, 1008.0, 24, 84)),
    (&["rtx", "3090"], geforce("RTX 3090", 35.6, 936.0, 24, 82)),
    (&["rtx", "3080", "ti"], geforce("RTX 3080 Ti", 34.1, 912.0, 12, 80)),
    (&["rtx", "3080"], geforce("RTX 3080", 29.8, 760.0, 10, 68)),
    (&["rtx", "3070", "ti"], geforce("RTX 3070 Ti", 21.7, 608.0, 8, 48)),
    (&["rtx", "3070"], geforce("RTX 3070", 20.3, 448.0, 8, 46)),
    (&["rtx", "3060", "ti"], geforce("RTX 3060 Ti", 16.2, 448.0, 8, 38)),
    (&["rtx", "3060"], geforce("RTX 3060", 12.7, 360.0, 12, 28)),
    // "NVIDIA Ada GPU Architecture" and the product pages of the smaller models.
    (&["rtx", "4090"], ada("RTX 4090", 82.6, 1008.0, 24, 128)),
    (&["rtx", "4080", "super"], ada("RTX 4080 SUPER", 52.2, 736.0, 16, 80)),
    (&["rtx", "4080"], ada("RTX 4080", 48.7, 716.8, 16, 76)),
    (&["rtx", "4070", "ti", "super"], ada("RTX 4070 Ti SUPER", 44.1, 672.0, 16, 66)),
    (&["rtx", "4070", "ti"], ada("RTX 4070 Ti", 40.1, 504.0, 12, 60)),
    (&["rtx", "4070", "super"], ada("RTX 4070 SUPER", 35.5, 504.0, 12, 56)),
    (&["rtx", "4070"], ada("RTX 4070", 29.1, 504.0, 12, 46)),
    (&["rtx", "4060", "ti"], Hardware { host_bus_gbs: 16.0, ..ada("RTX 4060 Ti", 22.1, 288.0, 8, 34) }),
    (&["rtx", "4060"], Hardware { host_bus_gbs: 16.0, ..ada("RTX 4060", 15.1, 272.0, 8, 24) }),
    // "NVIDIA RTX Blackwell GPU Architecture" and the product pages of the smaller models.
    (&["rtx", "5090"], blackwell("RTX 5090", 104.8, 1792.0, 32, 170)),
    (&["rtx", "5080"], blackwell("RTX 5080", 56.3, 960.0, 16, 84)),
    (&["rtx", "5070", "ti"], blackwell("RTX 5070 Ti", 43.9, 896.0, 16, 70)),
    (&["rtx", "5070"], blackwell("RTX 5070", 30.9, 672.0, 12, 48)),
    (&["rtx", "5060", "ti"], Hardware { host_bus_gbs: 32.0, ..blackwell("RTX 5060 Ti", 23.7, 448.0, 16, 36) }),
];
