//! The type of a matrix kernel's inputs, recognized by its name.

use super::kernel_uses_tensor_cores;
use crate::names::kernel_name::demangled;

/// The type of a matrix kernel's inputs, where its name gives it away: `bf16`, `fp16`, `tf32`, `fp8`,
/// `int8`, `fp32` or `fp64`.
///
/// Only multiplications, convolutions and attention are answered; elsewhere a type in the name may belong
/// to anything. `None` also where the name is known to mislead: cuDNN's attention kernels say `f16` for
/// every 16-bit type, and mixed formats have no single answer.
pub fn precision(name: &str) -> Option<&'static str> {
    if let Some(rest) = name.strip_prefix("Cijk_") {
        return tensile_precision(rest.split('_').nth(2)?);
    }
    let name = demangled(name).to_ascii_lowercase();
    if let Some(engine) = OLD_CONVOLUTIONS.iter().find_map(|mark| name.split_once(mark)) {
        let first = engine.1.split([',', '>']).next().unwrap_or("").trim();
        return match first {
            "float" => Some("fp32"),
            "__half" | "half" => Some("fp16"),
            _ => None,
        };
    }
    let on_cuda_cores = ["simt", "ffma", "sgemm", "dgemm", "hgemm", "scudnn"];
    let matrix = kernel_uses_tensor_cores(&name) || on_cuda_cores.iter().any(|mark| name.contains(mark));
    let misleading = ["native_sdpa", "convolve_sgemm", "marlin", "e2m1"];
    if !matrix || misleading.iter().any(|mark| name.contains(mark)) {
        return None;
    }
    if let Some(rest) = name.strip_prefix("nvjet_") {
        return nvjet_precision(rest);
    }
    // The batched GEMMs of TensorRT-LLM begin with the type of their output.
    let outputs = if name.starts_with("bmm_") { 2 } else { 0 };
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).skip(outputs);
    // `f32f32_tf32f32_f32`: what is stored, then what is multiplied.
    if words.clone().any(|word| word.starts_with("tf32")) {
        return Some("tf32");
    }
    words.find_map(word_precision).or_else(|| {
        // Without any type a 16x8x8 product that accumulates in `float` is the TF32 one.
        name.contains("cutlass_80_tensorop_s1688gemm").then_some("tf32")
    })
}

/// cuDNN's convolutions of before tensor cores, whose first template argument is the type.
const OLD_CONVOLUTIONS: [&str; 4] =
    ["convolve_sgemm<", "dgrad_engine<", "wgrad_alg0_engine<", "wgrad_alg1_engine<"];

/// How a word that names a type begins, and the type.
const PRECISION_PREFIXES: &[(&str, &str)] = &[
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("fp16", "fp16"),
    ("f16", "fp16"),
    ("h884", "fp16"),
    ("h1688", "fp16"),
    ("h16816", "fp16"),
    ("tf32", "tf32"),
    ("tfloat32", "tf32"),
    ("e4m3", "fp8"),
    ("e5m2", "fp8"),
    ("fp8", "fp8"),
    ("int8", "int8"),
    ("i8", "int8"),
    ("i16832", "int8"),
    ("f32", "fp32"),
    ("sgemm", "fp32"),
    ("scudnn", "fp32"),
    ("f64", "fp64"),
    ("d884", "fp64"),
    ("dgemm", "fp64"),
];

fn word_precision(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("qkv").unwrap_or(word);
    // CuTe's atoms put the accumulator first: `F32BF16BF16`.
    let word = match word.strip_prefix("f32") {
        Some(rest) if !rest.is_empty() && !rest.starts_with("f32") => rest,
        _ => word,
    };
    if matches!(word, "half" | "float16" | "hgemm") {
        return Some("fp16");
    }
    PRECISION_PREFIXES.iter().find(|(start, _)| word.starts_with(start)).map(|(_, precision)| *precision)
}

/// Letters for types, inputs first: `tst` is bf16 with `float` inside, `hsh` the same in fp16.
fn nvjet_precision(rest: &str) -> Option<&'static str> {
    let types = rest.split('_').find(|field| !field.starts_with("sm"))?;
    match types {
        "tst" | "tss" => Some("bf16"),
        "hsh" | "hss" | "hhh" => Some("fp16"),
        _ if types.starts_with("qq") => Some("fp8"),
        _ => None,
    }
}

/// Tensile's letters: input, output, compute, then `B` for batched (`BBS`, `HHS`, `SB`).
fn tensile_precision(types: &str) -> Option<&'static str> {
    match types {
        "SB" | "S" => Some("fp32"),
        "DB" | "D" => Some("fp64"),
        "BBS" | "BSS" | "B" => Some("bf16"),
        "HHS" | "HSS" | "HB" | "H" => Some("fp16"),
        _ if types.starts_with("F8") || types.starts_with("B8") => Some("fp8"),
        _ if types.starts_with("I8") => Some("int8"),
        _ => None,
    }
}
