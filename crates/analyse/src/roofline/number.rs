//! The number formats of tensors: how wide an element is and which arithmetic it is multiplied in.

use schemars::JsonSchema;
use serde::Serialize;

/// A format that hardware has a peak rate for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// `double`.
    Fp64,
    /// `float`, multiplied as such.
    Fp32,
    /// `float` whose products are rounded to ten bits first, on tensor cores.
    Tf32,
    /// `half`.
    Fp16,
    /// `bfloat16`.
    Bf16,
    /// Any of the 8-bit floats.
    Fp8,
    /// 8-bit integers.
    Int8,
    /// Any of the 4-bit floats.
    Fp4,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Precision::Fp64 => "fp64",
            Precision::Fp32 => "fp32",
            Precision::Tf32 => "tf32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Int8 => "int8",
            Precision::Fp4 => "fp4",
        }
    }
}

/// Which part of a device does the arithmetic.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    /// Matrix products: tensor cores (AMD: matrix cores) where the format has them.
    Matrix,
    /// Everything else. Narrow formats are widened to `float` on the way in, so their peak is that of `float`.
    Vector,
}

/// An element type as PyTorch's profiler spells it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) bytes: u64,
    /// What a matrix product of it runs in; `None` for types that matrix products do not use.
    pub(super) precision: Option<Precision>,
}

const fn element(bytes: u64, precision: Option<Precision>) -> Option<Element> {
    Some(Element { bytes, precision })
}

/// The element type of an `Input type` text; `None` for what is not a tensor and for types unknown here.
pub(super) fn of_type(text: &str) -> Option<Element> {
    let text = text.strip_prefix("c10::").unwrap_or(text);
    match text {
        "double" => element(8, Some(Precision::Fp64)),
        "float" => element(4, Some(Precision::Fp32)),
        "Half" => element(2, Some(Precision::Fp16)),
        "BFloat16" => element(2, Some(Precision::Bf16)),
        "complex<double>" => element(16, Some(Precision::Fp64)),
        "complex<float>" => element(8, Some(Precision::Fp32)),
        "complex<Half>" | "complex<c10::Half>" => element(4, Some(Precision::Fp16)),
        "long int" | "long" | "unsigned long" => element(8, None),
        "int" | "unsigned int" => element(4, None),
        "short" | "short int" | "unsigned short" => element(2, None),
        "signed char" | "unsigned char" | "qint8" | "quint8" => element(1, Some(Precision::Int8)),
        "bool" => element(1, None),
        // Two values to a byte; the sizes the profiler writes are those of the bytes.
        _ if text.starts_with("Float4_") => element(1, Some(Precision::Fp4)),
        _ if text.starts_with("Float8_") => element(1, Some(Precision::Fp8)),
        _ => None,
    }
}

/// The element type of PyTorch's numbered scalar types, as they stand among the concrete inputs (`15`).
pub(super) fn of_scalar_type(number: i64) -> Option<Element> {
    match number {
        0 | 1 => element(1, Some(Precision::Int8)),
        2 => element(2, None),
        3 => element(4, None),
        4 => element(8, None),
        5 => element(2, Some(Precision::Fp16)),
        6 => element(4, Some(Precision::Fp32)),
        7 => element(8, Some(Precision::Fp64)),
        11 => element(1, None),
        15 => element(2, Some(Precision::Bf16)),
        23..=26 => element(1, Some(Precision::Fp8)),
        _ => None,
    }
}

/// The element type that a kernel's name gives away where the operator's own record does not: a list of tensors
/// has no type there. `OpaqueType<2u>` is all that copying kernels know of their elements.
pub(super) fn of_kernel(name: &str) -> Option<Element> {
    if let Some((_, rest)) = name.split_once("OpaqueType<") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return match digits.parse().ok()? {
            bytes @ (1 | 2 | 4 | 8 | 16) => element(bytes, None),
            _ => None,
        };
    }
    let is_list_kernel = name.contains("multi_tensor_apply") || name.contains("CatArray");
    if !is_list_kernel {
        return None;
    }
    // The first element type among the template's arguments is that of the list.
    let words = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| matches!(*word, "double" | "float" | "Half" | "BFloat16")).find_map(of_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_every_spelling() {
        let bytes = |text| of_type(text).map(|e| e.bytes);
        assert_eq!(bytes("c10::BFloat16"), Some(2));
        assert_eq!(bytes("float"), Some(4));
        assert_eq!(bytes("c10::Float8_e4m3fn"), Some(1));
        assert_eq!(bytes("long int"), Some(8));
        for no_tensor in ["", "Scalar", "ScalarList", "TensorList", "Float", "c10::"] {
            assert_eq!(bytes(no_tensor), None, "{no_tensor}");
        }
        assert_eq!(of_scalar_type(15).and_then(|e| e.precision), Some(Precision::Bf16));
        assert_eq!(of_scalar_type(-1), None);
    }

    #[test]
    fn kernels_that_name_their_elements() {
        let bytes = |name| of_kernel(name).map(|e| e.bytes);
        let cat = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous \
                   namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(...)";
        assert_eq!(bytes(cat), Some(2));
        let foreach = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous \
                       namespace)::TensorListMetadata<1>, at::native::(anonymous \
                       namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(...)";
        assert_eq!(bytes(foreach), Some(4));
        assert_eq!(bytes("OpaqueType<"), None);
        assert_eq!(bytes("OpaqueType<99999999999999999999999u>"), None);
        assert_eq!(bytes("void at::native::vectorized_elementwise_kernel<4, float>()"), None);
    }
}
