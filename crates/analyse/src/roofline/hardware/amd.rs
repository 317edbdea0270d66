//! AMD's devices for servers.

use super::Hardware;
use super::row::{NONE, PCIE5, Row, device, rows};

const MI300X: Hardware = device! {
    NONE { name: "MI300X", fp64: Some(81.7), fp64_matrix: Some(163.4), fp32: 163.4, tf32: Some(653.7),
        fp16: Some(1307.4), bf16: Some(1307.4), fp8: Some(2614.9), int8: Some(2614.9), memory_gbs: 5300.0,
        memory_gb: 192, units: 304, host_bus_gbs: PCIE5, link_gbs: Some(448.0) }
};

/// A device of the MI250 is one of its two dies: each has half of what the data sheet prints.
const MI250X: Hardware = device! {
    NONE { name: "MI250X (one die)", fp64: Some(23.95), fp64_matrix: Some(47.85), fp32: 23.95,
        fp32_matrix: Some(47.85), fp16: Some(191.5), bf16: Some(191.5), int8: Some(191.5), memory_gbs: 1638.4,
        memory_gb: 64, units: 110 }
};

pub(super) static ROWS: &[Row] = rows! {
    // "AMD Instinct MI100", "MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI325X", "MI350X" and "MI355X"
    // data sheets.
    ["mi100"] NONE { name: "MI100", fp64: Some(11.5), fp32: 23.1, fp32_matrix: Some(46.1), fp16: Some(184.6),
        bf16: Some(92.3), int8: Some(184.6), memory_gbs: 1228.8, memory_gb: 32, units: 120 };
    ["mi210"] NONE { name: "MI210", fp64: Some(22.6), fp64_matrix: Some(45.3), fp32: 22.6,
        fp32_matrix: Some(45.3), fp16: Some(181.0), bf16: Some(181.0), int8: Some(181.0), memory_gbs: 1638.4,
        memory_gb: 64, units: 104 };
    // Drivers call either of the two "MI250X/MI250"; the faster is what no kernel should pass.
    ["mi250x"] MI250X;
    ["mi250"] MI250X { name: "MI250 (one die)", fp64: Some(22.65), fp64_matrix: Some(45.25), fp32: 22.65,
        fp32_matrix: Some(45.25), fp16: Some(181.05), bf16: Some(181.05), int8: Some(181.05), units: 104 };
    ["mi300a"] MI300X { name: "MI300A", fp64: Some(61.3), fp64_matrix: Some(122.6), fp32: 122.6,
        tf32: Some(490.3), fp16: Some(980.6), bf16: Some(980.6), fp8: Some(1961.2), int8: Some(1961.2),
        memory_gb: 128, units: 228, link_gbs: None };
    ["mi300x"] MI300X;
    ["mi325x"] MI300X { name: "MI325X", memory_gbs: 6000.0, memory_gb: 256 };
    ["mi350x"] MI300X { name: "MI350X", fp64: Some(72.1), fp64_matrix: Some(72.1), fp32: 144.2, tf32: None,
        fp16: Some(2306.9), bf16: Some(2306.9), fp8: Some(4613.7), int8: Some(4613.7), fp4: Some(9227.5),
        memory_gbs: 8000.0, memory_gb: 288, units: 256, link_gbs: Some(537.6) };
    ["mi355x"] MI300X { name: "MI355X", fp64: Some(78.6), fp64_matrix: Some(78.6), fp32: 157.3, tf32: None,
        fp16: Some(2516.6), bf16: Some(2516.6), fp8: Some(5033.2), int8: Some(5033.2), fp4: Some(10066.3),
        memory_gbs: 8000.0, memory_gb: 288, units: 256, link_gbs: Some(537.6) };
};
