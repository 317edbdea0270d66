//! Names that GPU libraries make up rather than C++: one long identifier, most of it build settings.

/// Library kernels carry their whole build configuration in one identifier; keep what differs.
pub(super) fn squeezed(name: &str) -> String {
    if name.starts_with("Cijk_") {
        return squeezed_tensile(name).unwrap_or_else(|| name.to_owned());
    }
    if let Some(rest) = name.strip_prefix("cudnn_generated_fort_native_") {
        let rest = rest.strip_suffix("_kernel0_0").unwrap_or(rest);
        return format!("cudnn_{}", rest.replace("_cga1x1x1", ""));
    }
    if name.contains("_xmma_") {
        return squeezed_xmma(name);
    }
    name.to_owned()
}

/// Tensile and hipBLASLt: layout and types, then macro tile and matrix instruction; the other fifty
/// settings only drown them.
fn squeezed_tensile(name: &str) -> Option<String> {
    let numbered = |field: &str, key: &str| {
        field.strip_prefix(key).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let fields: Vec<&str> = name.split('_').collect();
    let tile = fields.iter().position(|field| numbered(field, "MT"))?;
    let is_setting = |field: &&str| matches!(*field, "Bias" | "HA" | "S" | "AS" | "SAV" | "UserArgs");
    let types_end = fields[..tile].iter().position(is_setting).unwrap_or(tile);
    let head = fields[..types_end].join("_");
    let instruction = fields[tile..].iter().find(|field| numbered(field, "MI"));
    Some(match instruction {
        Some(instruction) => format!("{head}_…_{}_{instruction}", fields[tile]),
        None => format!("{head}_…_{}", fields[tile]),
    })
}

/// cuBLAS and cuDNN `xmma` kernels: operation, type, layout, tile and the way K is split.
fn squeezed_xmma(name: &str) -> String {
    let is_type = |s: &str| ["f16", "f32", "f64", "i8"].iter().any(|end| s.ends_with(end));
    let mut kept: Vec<&str> = Vec::new();
    for field in name.split('_') {
        let last = kept.last().copied();
        let redundant = matches!(field, "" | "implicit" | "execute" | "kernel" | "g1" | "5x" | "cublas" | "cudnn")
            || ["warpsize", "warpgroupsize", "stage", "align"].iter().any(|key| field.starts_with(key))
            || last == Some(field)
            // Inputs, outputs and accumulator follow one another; the first says which kernel it is.
            || (is_type(field) && last.is_some_and(is_type))
            // A convolution is always an implicit GEMM here.
            || (field == "gemm" && last.is_some_and(|last| last != "xmma"));
        if redundant {
            continue;
        }
        kept.push(match field.strip_prefix("tilesize").unwrap_or(field) {
            "bf16bf16" => "bf16",
            "f16f16" => "f16",
            "tf32tf32" | "tf32f32" => "tf32",
            "f32f32" => "f32",
            "f64f64" => "f64",
            // Filter layout and, one field later, output layout follow from the input's.
            "nhwckrsc" => "nhwc",
            other => other,
        });
    }
    kept.join("_")
}
