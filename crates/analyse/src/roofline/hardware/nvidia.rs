//! NVIDIA's devices for servers and workstations. Rates printed only for sparse matrices are halved.

use super::Hardware;
use super::row::{NONE, PCIE3, PCIE5, Row, device, rows};

const V100: Hardware = device! {
    NONE { name: "V100 SXM2", fp64: Some(7.8), fp32: 15.7, fp16: Some(125.0), memory_gbs: 900.0, memory_gb: 32,
        units: 80, host_bus_gbs: PCIE3, link_gbs: Some(150.0) }
};

const A100: Hardware = device! {
    NONE { name: "A100 SXM 80 GB", fp64: Some(9.7), fp64_matrix: Some(19.5), fp32: 19.5, tf32: Some(156.0),
        fp16: Some(312.0), bf16: Some(312.0), int8: Some(624.0), memory_gbs: 2039.0, memory_gb: 80, units: 108,
        link_gbs: Some(300.0) }
};

const H100: Hardware = device! {
    NONE { name: "H100 SXM", fp64: Some(33.5), fp64_matrix: Some(66.9), fp32: 66.9, tf32: Some(494.7),
        fp16: Some(989.4), bf16: Some(989.4), fp8: Some(1978.9), int8: Some(1978.9), memory_gbs: 3350.0,
        memory_gb: 80, units: 132, host_bus_gbs: PCIE5, link_gbs: Some(450.0) }
};

/// The H100 and the H200 as a card of two slots run at the same, lower clock.
const H100_NVL: Hardware = device! {
    H100 { name: "H100 NVL", fp64: Some(30.0), fp64_matrix: Some(60.0), fp32: 60.0, tf32: Some(417.5),
        fp16: Some(835.5), bf16: Some(835.5), fp8: Some(1670.5), int8: Some(1670.5), memory_gbs: 3900.0,
        memory_gb: 94, link_gbs: Some(300.0) }
};

const B200: Hardware = device! {
    NONE { name: "B200", fp64: Some(37.0), fp64_matrix: Some(37.0), fp32: 75.0, tf32: Some(1125.0),
        fp16: Some(2250.0), bf16: Some(2250.0), fp8: Some(4500.0), int8: Some(4500.0), fp4: Some(9000.0),
        memory_gbs: 8000.0, memory_gb: 180, units: 148, host_bus_gbs: PCIE5, link_gbs: Some(900.0) }
};

pub(super) static ROWS: &[Row] = rows! {
    // "NVIDIA Tesla V100 GPU Accelerator" and "NVIDIA V100S" data sheets.
    ["v100", "sxm2"] V100;
    // The DGX Station's has the same rates.
    ["v100", "dgxs"] V100;
    ["v100s"] V100 { name: "V100S PCIe", fp64: Some(8.2), fp32: 16.4, fp16: Some(130.0), memory_gbs: 1134.0,
        link_gbs: None };
    ["v100", "pcie"] V100 { name: "V100 PCIe", fp64: Some(7.0), fp32: 14.0, fp16: Some(112.0), link_gbs: None };
    // "NVIDIA T4 Tensor Core GPU" data sheet.
    ["t4"] NONE { name: "T4", fp32: 8.1, fp16: Some(65.0), int8: Some(130.0), memory_gbs: 320.0, memory_gb: 16,
        units: 40, host_bus_gbs: PCIE3 };
    // "NVIDIA A100 Tensor Core GPU" data sheet.
    ["a100", "sxm4", "40gb"] A100 { name: "A100 SXM 40 GB", memory_gbs: 1555.0, memory_gb: 40 };
    ["a100", "sxm4"] A100;
    ["a100", "pcie", "80gb"] A100 { name: "A100 PCIe 80 GB", memory_gbs: 1935.0 };
    ["a100", "pcie", "40gb"] A100 { name: "A100 PCIe 40 GB", memory_gbs: 1555.0, memory_gb: 40 };
    // "NVIDIA A30", "NVIDIA A10", "NVIDIA A10G", "NVIDIA A40" and "NVIDIA RTX A6000" data sheets.
    ["a30"] NONE { name: "A30", fp64: Some(5.2), fp64_matrix: Some(10.3), fp32: 10.3, tf32: Some(82.0),
        fp16: Some(165.0), bf16: Some(165.0), int8: Some(330.0), memory_gbs: 933.0, memory_gb: 24, units: 56,
        link_gbs: Some(100.0) };
    ["a10"] NONE { name: "A10", fp32: 31.2, tf32: Some(62.5), fp16: Some(125.0), bf16: Some(125.0),
        int8: Some(250.0), memory_gbs: 600.0, memory_gb: 24, units: 72 };
    ["a10g"] NONE { name: "A10G", fp32: 35.0, tf32: Some(35.0), fp16: Some(70.0), bf16: Some(70.0),
        int8: Some(140.0), memory_gbs: 600.0, memory_gb: 24, units: 80 };
    ["a40"] NONE { name: "A40", fp32: 37.4, tf32: Some(74.8), fp16: Some(149.7), bf16: Some(149.7),
        int8: Some(299.3), memory_gbs: 696.0, memory_gb: 48, units: 84 };
    ["rtx", "a6000"] NONE { name: "RTX A6000", fp32: 38.7, tf32: Some(77.4), fp16: Some(154.8),
        bf16: Some(154.8), int8: Some(309.7), memory_gbs: 768.0, memory_gb: 48, units: 84 };
    // "NVIDIA L4", "NVIDIA L40", "NVIDIA L40S" and "NVIDIA RTX 6000 Ada Generation" data sheets.
    ["l4"] NONE { name: "L4", fp32: 30.3, tf32: Some(60.0), fp16: Some(121.0), bf16: Some(121.0),
        fp8: Some(242.5), int8: Some(242.5), memory_gbs: 300.0, memory_gb: 24, units: 58 };
    ["l40"] NONE { name: "L40", fp32: 90.5, tf32: Some(90.5), fp16: Some(181.05), bf16: Some(181.05),
        fp8: Some(362.0), int8: Some(362.0), memory_gbs: 864.0, memory_gb: 48, units: 142 };
    ["l40s"] NONE { name: "L40S", fp32: 91.6, tf32: Some(183.0), fp16: Some(362.05), bf16: Some(362.05),
        fp8: Some(733.0), int8: Some(733.0), memory_gbs: 864.0, memory_gb: 48, units: 142 };
    ["rtx", "6000", "ada"] NONE { name: "RTX 6000 Ada", fp32: 91.1, tf32: Some(182.1), fp16: Some(364.2),
        bf16: Some(364.2), fp8: Some(728.5), int8: Some(728.5), memory_gbs: 960.0, memory_gb: 48, units: 142 };
    // "NVIDIA H100 Tensor Core GPU" data sheet and "NVIDIA H100 Tensor Core GPU Architecture" (dense rates).
    ["h100", "nvl"] H100_NVL;
    ["h100", "pcie"] H100 { name: "H100 PCIe", fp64: Some(25.6), fp64_matrix: Some(51.2), fp32: 51.2,
        tf32: Some(378.0), fp16: Some(756.0), bf16: Some(756.0), fp8: Some(1513.0), int8: Some(1513.0),
        memory_gbs: 2039.0, units: 114, link_gbs: Some(300.0) };
    ["h100", "80gb", "hbm3"] H100;
    ["h100", "sxm5"] H100;
    // "NVIDIA H200 Tensor Core GPU" data sheet.
    ["h200", "nvl"] H100_NVL { name: "H200 NVL", memory_gbs: 4800.0, memory_gb: 141, link_gbs: Some(450.0) };
    ["h200"] H100 { name: "H200 SXM", memory_gbs: 4800.0, memory_gb: 141 };
    // "NVIDIA GH200 Grace Hopper Superchip" data sheet; the host is on NVLink-C2C.
    ["gh200", "144g"] H100 { name: "GH200 144 GB", memory_gbs: 4900.0, memory_gb: 144, host_bus_gbs: 450.0 };
    ["gh200"] H100 { name: "GH200 96 GB", memory_gbs: 4000.0, memory_gb: 96, host_bus_gbs: 450.0 };
    // "NVIDIA HGX B200" and "NVIDIA GB200 NVL72" data sheets, divided by their eight and 72 devices.
    ["gb200"] B200 { name: "GB200", fp64: Some(40.0), fp64_matrix: Some(40.0), fp32: 80.0, tf32: Some(1250.0),
        fp16: Some(2500.0), bf16: Some(2500.0), fp8: Some(5000.0), int8: Some(5000.0), fp4: Some(10000.0),
        memory_gb: 186, host_bus_gbs: 450.0 };
    ["b200"] B200;
};
