//! Short display forms of GPU kernel names.
//!
//! A C++ kernel name says the same thing three times (template arguments, argument list, lambda
//! signatures) and hides the one word that matters. [`short`] keeps that word. It is for reading, not for
//! grouping: two different kernels (say, two vector widths of one template) may share a short form.
//! Everything here is total and close to linear in the input: names come from files nobody vouches for.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer mangled names are left alone: demangling hostile input is not worth the time.
const MAX_MANGLED: usize = 16 * 1024;
/// Substitutions let a few hundred mangled bytes stand for gigabytes, so the output is bounded too.
const MAX_DEMANGLED: usize = 128 * 1024;
/// Deeper template arguments are cut off: nobody reads them, and the stack is finite.
const MAX_DEPTH: usize = 16;
/// How many levels of template arguments are still worth a column.
const MAX_SHOWN_DEPTH: usize = 3;

/// How deep in template arguments: as counted on the screen, and as counted on the stack.
#[derive(Clone, Copy, Default)]
struct Depth {
    shown: usize,
    nested: usize,
}

impl Depth {
    fn inside_shown(self) -> Self {
        Self { shown: self.shown + 1, nested: self.nested + 1 }
    }

    fn inside_transparent(self) -> Self {
        Self { nested: self.nested + 1, ..self }
    }

    /// How many class arguments are shown: `multi_tensor_apply_kernel` needs two, nested ones rarely do.
    fn things(self) -> usize {
        if self.shown == 0 { 2 } else { 1 }
    }
}

/// The demangled C++ name, or the name itself when it is not mangled or cannot be demangled.
pub fn demangled(name: &str) -> Cow<'_, str> {
    if !name.starts_with("_Z") || name.len() > MAX_MANGLED {
        return Cow::Borrowed(name);
    }
    let Ok(symbol) = Symbol::new(without_suffix(name).as_bytes()) else {
        return Cow::Borrowed(name);
    };
    let mut out = Bounded(String::new());
    match symbol.structured_demangle(&mut out, &DemangleOptions::default()) {
        Ok(()) if !out.0.is_empty() => Cow::Owned(out.0),
        _ => Cow::Borrowed(name),
    }
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        if self.0.len() + s.len() > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(s);
        Ok(())
    }
}

/// ROCm names the kernel descriptor, not the function: `name.kd`.
fn without_suffix(name: &str) -> &str {
    let name = name.strip_suffix(" [clone .kd]").unwrap_or(name);
    name.strip_suffix(".kd").unwrap_or(name)
}

/// A short display form of a kernel name: no return type, no argument list, no namespaces, and of the
/// template arguments only those that tell one kernel from another.
///
/// ```
/// let name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, \
///             std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)";
/// let short = stepscope_analyse::kernel_name::short(name);
/// assert_eq!(short, "vectorized_elementwise_kernel<FillFunctor<float>>");
/// ```
pub fn short(name: &str) -> String {
    let name = name.trim();
    // The parentheses of a copy are not an argument list.
    if name.starts_with("Memcpy ") || name.starts_with("Memset ") {
        return name.to_owned();
    }
    let full = demangled(name);
    let full = match last_mangled_identifier(&full) {
        Some(identifier) => identifier,
        None => without_suffix(&full),
    };
    if !full.contains(['<', '(']) && !full.contains("::") {
        return squeezed(full);
    }
    let source = Source::new(full);
    let shown = source.kernel(source.after_return_type());
    if shown.is_empty() { full.to_owned() } else { shown }
}

/// The name fitted into `width` characters: the middle gives way, because the head names the kernel and
/// the tail often its variant. The tail gets about a third.
pub fn ellipsize(name: &str, width: usize) -> String {
    // One character past the width is enough to know that it does not fit.
    if name.chars().nth(width).is_none() {
        return name.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else {
        return String::new();
    };
    let tail = kept / 3;
    let head_end = name.char_indices().nth(kept - tail).map_or(name.len(), |(at, _)| at);
    let tail_start = match tail {
        0 => name.len(),
        _ => name.char_indices().nth_back(tail - 1).map_or(0, |(at, _)| at),
    };
    format!("{}…{}", &name[..head_end], &name[tail_start..])
}

/// When a symbol cannot be demangled, the last length-prefixed identifier of its name is the function.
fn last_mangled_identifier(name: &str) -> Option<&str> {
    let symbol = name.strip_prefix("_Z")?;
    let nested = symbol.strip_prefix('N');
    let mut rest = nested.unwrap_or(symbol);
    let mut last = None;
    // Outside a namespace the second identifier is already the first argument's type.
    while (nested.is_some() || last.is_none()) && rest.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let identifier = rest[digits..].get(..length)?;
        rest = &rest[digits + length..];
        last = Some(identifier);
    }
    last.filter(|identifier| !identifier.is_empty())
}

/// Library kernels carry their whole build configuration in one identifier; keep what differs.
fn squeezed(name: &str) -> String {
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
    let types_end =
        fields.iter().position(|field| matches!(*field, "Bias" | "HA" | "S" | "AS" | "SAV" | "UserArgs"));
    let head = fields[..types_end.unwrap_or(tile).min(tile)].join("_");
    let instruction = fields[tile..].iter().find(|field| numbered(field, "MI"));
    Some(match instruction {
        Some(instruction) => format!("{head}_…_{}_{instruction}", fields[tile]),
        None => format!("{head}_…_{}", fields[tile]),
    })
}

/// cuBLAS and cuDNN `xmma` kernels: operation, type, layout, tile and the way K is split.
fn squeezed_xmma(name: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for field in name.split('_') {
        let is_type =
            |s: &str| s.ends_with("f16") || s.ends_with("f32") || s.ends_with("f64") || s.ends_with("i8");
        let redundant = matches!(field, "" | "implicit" | "execute" | "kernel" | "g1" | "5x" | "cublas" | "cudnn")
            || ["warpsize", "warpgroupsize", "stage", "align"].iter().any(|key| field.starts_with(key))
            // Inputs, outputs and accumulator follow one another; the first says which kernel it is.
            || kept.last() == Some(&field)
            || (is_type(field) && kept.last().is_some_and(|last| is_type(last)))
            // A convolution is always an implicit GEMM here.
            || (field == "gemm" && kept.last().is_some_and(|last| *last != "xmma"));
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

/// One `name<template>(params)` between two `::`; the ranges are those inside the brackets.
#[derive(Clone, Copy)]
struct Part<'a> {
    name: &'a str,
    template: Option<(usize, usize)>,
    params: Option<(usize, usize)>,
}

impl Part<'_> {
    fn is_lambda(&self) -> bool {
        ["{lambda", "'lambda", "[lambda"].iter().any(|form| self.name.starts_with(form))
    }
}

/// What is worth showing of one template's arguments.
#[derive(Default)]
struct Picked<'a> {
    scalar: Option<&'a str>,
    things: Vec<String>,
}

/// A name with its brackets matched once, so that every later step can jump over a group.
struct Source<'a> {
    text: &'a str,
    /// For each byte that opens a matched bracket the position of its end; zero elsewhere.
    close: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        let mut close = vec![0; text.len()];
        let mut open: Vec<(u8, usize)> = Vec::new();
        // How many of each kind are open, so that a stray bracket is dropped without searching.
        let mut waiting = [0usize; 3];
        let kind = |b: u8| match b {
            b'(' | b')' => 0,
            b'{' | b'}' => 1,
            _ => 2,
        };
        for (at, byte) in text.bytes().enumerate() {
            let before = &text.as_bytes()[..at];
            match byte {
                b'<' if !before.ends_with(b"operator") && !before.ends_with(b"operator<") => {
                    open.push((byte, at))
                }
                // A comparison inside parentheses or an arrow does not close a template.
                b'>' if !before.ends_with(b"-") && !before.ends_with(b"operator") => {
                    if let Some((_, start)) = open.pop_if(|(opener, _)| *opener == b'<') {
                        close[start] = at;
                    }
                }
                b'(' | b'{' | b'[' => {
                    waiting[kind(byte)] += 1;
                    open.push((byte, at));
                }
                b')' | b'}' | b']' if waiting[kind(byte)] > 0 => {
                    while let Some((opener, start)) = open.pop() {
                        if opener == b'<' {
                            continue;
                        }
                        waiting[kind(opener)] -= 1;
                        if kind(opener) == kind(byte) {
                            close[start] = at;
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        Self { text, close }
    }

    /// The end of the bracket group that opens at `at` and ends before `end`, if there is one.
    fn group_end(&self, at: usize, end: usize) -> Option<usize> {
        self.close.get(at).copied().filter(|&close| close > at && close < end)
    }

    /// Where the qualified name begins: past the last blank before the argument list.
    fn after_return_type(&self) -> usize {
        let (bytes, end) = (self.text.as_bytes(), self.text.len());
        let (mut at, mut start) = (0, 0);
        while at < end {
            if bytes[at] == b' ' {
                start = at + 1;
            }
            if let Some(close) = self.group_end(at, end) {
                let follows_name =
                    at > start && bytes[at - 1] != b':' && !self.text[..at].ends_with("decltype");
                if bytes[at] == b'(' && follows_name {
                    return start;
                }
                at = close;
            }
            at += 1;
        }
        // Without an argument list a blank may be anything, so only the obvious goes.
        if self.text.starts_with("void ") { "void ".len() } else { 0 }
    }

    /// The parts of a qualified name.
    fn parts(&self, start: usize, end: usize) -> Vec<Part<'a>> {
        let bytes = self.text.as_bytes();
        let mut parts = Vec::new();
        let (mut at, mut from, mut name_end) = (start, start, None);
        let (mut template, mut params) = (None, None);
        while at <= end {
            if at == end || (bytes[at] == b':' && at + 1 < end && bytes[at + 1] == b':') {
                let name = bare(&self.text[from..name_end.unwrap_or(at)]);
                parts.push(Part { name, template, params });
                at += 2;
                (from, name_end, template, params) = (at, None, None, None);
                continue;
            }
            if let Some(close) = self.group_end(at, end) {
                // A group that begins the part is its name: `(anonymous namespace)`, `{lambda()#1}`.
                let inside = (at + 1, close);
                let call = bytes[at] == b'('
                    && close == at + 1
                    && self.text[from..at].trim_end().ends_with("operator");
                if at > from && !call {
                    let slot = if bytes[at] == b'<' { &mut template } else { &mut params };
                    if matches!(bytes[at], b'<' | b'(') && slot.is_none() {
                        *slot = Some(inside);
                        name_end.get_or_insert(at);
                    }
                }
                at = close;
            }
            at += 1;
        }
        parts
    }

    /// Which part names the thing: the outermost function around a lambda, else the last real part.
    fn subject(parts: &[Part<'a>]) -> Option<usize> {
        let function = parts.iter().position(|part| part.params.is_some() && !part.is_lambda());
        match function {
            Some(at) if at > 0 && parts[at].name.starts_with("operator") => Some(at - 1),
            Some(at) => Some(at),
            None => parts.iter().rposition(|part| {
                !part.is_lambda() && !matches!(part.name, "" | "type" | "Params" | "Arguments" | "value_type")
            }),
        }
    }

    /// The kernel itself. Launch wrappers of template libraries give way to what they launch.
    fn kernel(&self, start: usize) -> String {
        let parts = self.parts(start, self.text.len());
        let Some(subject) = Self::subject(&parts) else {
            return String::new();
        };
        if is_transparent(parts[subject].name) {
            let mut picked = Picked::default();
            self.pick_part(&parts, subject, Depth::default(), &mut picked);
            if !picked.things.is_empty() {
                return picked.things.swap_remove(0);
            }
        }
        let shown = self.thing(&parts, subject, Depth::default());
        // `kernel` alone says nothing; the namespace does.
        let generic = matches!(parts[subject].name, "kernel" | "Kernel" | "Kernel2" | "globalKernel" | "run");
        let space =
            parts[..subject].iter().rev().find(|part| !matches!(part.name, "impl" | "detail" | "internal"));
        match space {
            Some(space) if generic && !space.name.starts_with('(') => format!("{}::{shown}", space.name),
            _ => shown,
        }
    }

    fn thing(&self, parts: &[Part<'a>], subject: usize, depth: Depth) -> String {
        let name = parts[subject].name;
        let mut picked = Picked::default();
        if depth.shown < MAX_SHOWN_DEPTH {
            self.pick_part(parts, subject, depth, &mut picked);
        }
        if picked.things.is_empty() && picked.scalar.is_none() {
            if let Some(argument) = parts.iter().rev().find_map(|part| self.lambda_scalar(part)) {
                return format!("{name}({argument})");
            }
            // A lone number is all there is to tell: `OpaqueType<4>`.
            let alone =
                parts[subject].template.map(|(start, end)| self.text[start..end].trim_end_matches(['u', 'l']));
            return match alone {
                Some(size)
                    if depth.shown > 0 && !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit()) =>
                {
                    format!("{name}<{size}>")
                }
                _ => name.to_owned(),
            };
        }
        format!("{name}<{}>", picked.joined())
    }

    fn pick_part(&self, parts: &[Part<'a>], subject: usize, depth: Depth, picked: &mut Picked<'a>) {
        // `functor::operator()<Op>(…)`: the call operator's own arguments say which operation.
        let call = parts.get(subject + 1).filter(|next| next.name.starts_with("operator"));
        for part in [Some(&parts[subject]), call].into_iter().flatten() {
            if let Some(range) = part.template {
                self.pick(range, depth, picked);
            }
        }
    }

    fn pick(&self, (start, end): (usize, usize), depth: Depth, picked: &mut Picked<'a>) {
        if depth.nested > MAX_DEPTH {
            return;
        }
        let mut from = start;
        while from < end {
            let mut to = from;
            while to < end && self.text.as_bytes()[to] != b',' {
                to = self.group_end(to, end).unwrap_or(to) + 1;
            }
            self.pick_one(from, to, depth, picked);
            from = to + 1;
        }
    }

    fn pick_one(&self, from: usize, to: usize, depth: Depth, picked: &mut Picked<'a>) {
        let argument = self.text[from..to].trim();
        let from = to - self.text[from..to].trim_start().len();
        let cast = argument.starts_with('(') && !argument.starts_with("(anonymous");
        let number = argument.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '!' | '&'));
        if argument.is_empty()
            || argument.ends_with('*')
            || cast
            || number
            || matches!(argument, "true" | "false")
        {
            return;
        }
        let parts = self.parts(from, to);
        let Some(subject) = Self::subject(&parts) else {
            return;
        };
        let (part, name) = (parts[subject], parts[subject].name);
        if part.template.is_none() && part.params.is_none() && is_scalar(name) {
            if picked.scalar.is_none_or(|old| telling(old) < telling(name)) {
                picked.scalar = Some(name);
            }
            return;
        }
        if is_noise(name) || parts.last().is_some_and(|last| last.name.starts_with("Policy")) {
            return;
        }
        if is_transparent(name) {
            self.pick_part(&parts, subject, depth.inside_transparent(), picked);
        } else if name.ends_with("kernel_traits") {
            // FlashAttention: the head size comes first.
            let size = part.template.and_then(|(start, end)| self.text[start..end].split(',').next());
            if let Some(size) = size.filter(|_| picked.things.is_empty()) {
                picked.things.push(size.to_owned());
            }
            self.pick_part(&parts, subject, depth.inside_transparent(), picked);
        } else if picked.things.len() < depth.things() {
            let thing = self.thing(&parts, subject, depth.inside_shown());
            if !picked.things.contains(&thing) {
                picked.things.push(thing);
            }
        }
    }

    /// The element type among a lambda's arguments: often the only trace of a kernel's element type.
    fn lambda_scalar(&self, part: &Part<'a>) -> Option<&'a str> {
        if !part.is_lambda() {
            return None;
        }
        let arguments = match part.params {
            Some((start, end)) => &self.text[start..end],
            None => part.name.split_once('(')?.1,
        };
        let arguments = arguments.split(')').next()?;
        let types = arguments.split(',').filter_map(|argument| argument.trim().rsplit("::").next());
        // On equal terms the first argument wins, and `max_by_key` would take the last.
        types.filter(|name| is_scalar(name)).rev().max_by_key(|name| telling(name))
    }
}

impl Picked<'_> {
    fn joined(mut self) -> String {
        if self.things.is_empty() {
            return self.scalar.unwrap_or_default().to_owned();
        }
        // Once is enough: `BinaryOpScalarFunctor<float>, multiplies`.
        let repeated = self.things[0].rfind('<').map(|at| self.things[0][at..].to_owned());
        for thing in &mut self.things[1..] {
            if let Some(name) = repeated.as_deref().and_then(|args| thing.strip_suffix(args)) {
                *thing = name.to_owned();
            }
        }
        let said = |scalar: &str| {
            let words =
                self.things.iter().flat_map(|thing| thing.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.into_iter().any(|word| word == scalar)
        };
        if let Some(scalar) = self.scalar.filter(|scalar| !is_integer(scalar) && !said(scalar)) {
            self.things.insert(0, scalar.to_owned());
        }
        self.things.join(", ")
    }
}

/// A type's name without what hangs on its end: `T const&` is `T`.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let shorter = text.trim_end_matches(['&', ' ']);
        let shorter = shorter.strip_suffix(" const").unwrap_or(shorter);
        if shorter.len() == text.len() {
            return text;
        }
        text = shorter;
    }
}

/// How much a type says: index types come and go, the accumulator is mostly `float`, and what is left is
/// the type people look for.
fn telling(scalar: &str) -> u8 {
    match scalar {
        "float" | "double" | "float2" | "float4" => 1,
        other if is_integer(other) => 0,
        _ => 2,
    }
}

const INTEGERS: &[&str] = &[
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "size_t",
    "int8_t",
    "uint8_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
];

fn is_integer(name: &str) -> bool {
    INTEGERS.contains(&name)
}

const FLOATS: &[&str] = &[
    "float",
    "double",
    "half",
    "Half",
    "__half",
    "half_t",
    "_Float16",
    "BFloat16",
    "bfloat16",
    "bfloat16_t",
    "__bf16",
    "__nv_bfloat16",
    "nv_bfloat16",
    "__hip_bfloat16",
    "hip_bfloat16",
    "tfloat32_t",
    "float2",
    "float4",
    "__half2",
    "__nv_bfloat162",
];

fn is_scalar(name: &str) -> bool {
    // The 8-bit types have a name per library: `Float8_e4m3fn`, `__nv_fp8_e4m3`, `float_e5m2_t`, …
    FLOATS.contains(&name) || name.contains("e4m3") || name.contains("e5m2") || is_integer(name)
}

/// Classes that only carry another one, whose arguments are read as if they stood in its place.
const TRANSPARENT: &[&str] = &[
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "gpu_index_kernel",
    "func_wrapper_t",
    "ReduceOp",
    "uniform_and_transform",
    "normal_and_transform",
    "_cuda_scatter_gather_internal_kernel",
    "Kernel",
    "Kernel2",
    "device_kernel",
    "ImplicitGemmMultistage",
    "ImplicitGemmPipelined",
    "trampoline_kernel",
    "kentry",
];

fn is_transparent(name: &str) -> bool {
    TRANSPARENT.contains(&name)
        || name.starts_with("enable_sm")
        || name.ends_with("Params")
        || name.ends_with("_params")
}

/// Classes that say how a kernel walks over memory rather than what it computes.
const NOISE: &[&str] = &[
    "array",
    "Array",
    "AlignedArray",
    "tuple",
    "C",
    "integral_constant",
    "sequence",
    "Sequence",
    "decltype",
    "void",
    "NullType",
    "InputValue",
    "TrivialOffsetCalculator",
    "OffsetCalculator",
    "LoadWithCast",
    "LoadWithoutCast",
    "StoreWithCast",
    "StoreWithoutCast",
    "ScanTileState",
    "ReduceByKeyScanTileState",
    "VSMemHelper",
    "counting_iterator",
    "identity_decomposer_t",
    "RowMajor",
    "ColumnMajor",
    "PassThrough",
    "GemmShape",
    "MatrixShape",
    "distribution_nullary_kernel",
    "CUDAGeneratorImpl",
    "default_config",
    "use_default",
];
const NOISE_STARTS: &[&str] = &["CollectiveEpilogue", "cublasGemvTensor", "Dispatch", "policy_hub"];
const NOISE_ENDS: &[&str] =
    &["Policy", "policy", "Metadata", "_config", "_selector", "TileScheduler", "ThreadMap", "Iterator"];

fn is_noise(name: &str) -> bool {
    NOISE.contains(&name)
        || NOISE_STARTS.iter().any(|start| name.starts_with(start))
        || NOISE_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::{demangled, ellipsize, short};

    #[test]
    fn elementwise_kernels_show_what_they_compute() {
        let cases = [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
                "vectorized_elementwise_kernel<FillFunctor<float>>",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
                "vectorized_elementwise_kernel<CUDAFunctor_add<BFloat16>>",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)",
                "vectorized_elementwise_kernel<AUnaryFunctor<MulFunctor<float>>>",
            ),
            (
                "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)",
                "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float)>",
            ),
            (
                "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
                "elementwise_kernel<CUDAFunctor_add<float>>",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::(anonymous namespace)::threshold_kernel_impl<c10::BFloat16>(at::TensorIteratorBase&, c10::BFloat16, c10::BFloat16)::{lambda(c10::BFloat16, c10::BFloat16)#1}>, std::array<char*, 3ul> >(int, int)",
                "vectorized_elementwise_kernel<BinaryFunctor<threshold_kernel_impl<BFloat16>>>",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn other_templates_keep_operation_and_type() {
        let cases = [
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float> >(at::native::(anonymous namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float>)",
                "multi_tensor_apply_kernel<PointwiseOpScalarListFunctor<float>, divides>",
            ),
            (
                "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 8> >(int)",
                "reduce_kernel<sum_functor<BFloat16>>",
            ),
            (
                "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, true, false>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
                "softmax_warp_forward<BFloat16>",
            ),
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(int)",
                "CatArrayBatchedCopy<OpaqueType<2>>",
            ),
            (
                "void cublasLt::epilogue::impl::globalKernel<8, 32, float, float, float, true, true, 1>(int, int, long, float*)",
                "epilogue::globalKernel<float>",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(cutlass_80_simt_sgemm_64x64_8x5_tn_align1::Params)",
                "cutlass_80_simt_sgemm_64x64_8x5_tn_align1",
            ),
            (
                "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)",
                "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
            ),
            (
                "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1> >, cutlass::bfloat16_t, float>, flash::CollectiveEpilogueFwd<int> > > >(int)",
                "FlashAttnFwdSm90<CollectiveMainloopFwdSm90<bfloat16_t>>",
            ),
            (
                "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::norm_kernel<c10::BFloat16, 8>(long)",
                "norm_kernel<BFloat16>",
            ),
            (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn library_names_lose_their_build_settings() {
        let cases = [
            (
                "sm90_xmma_wgrad_indexed_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
                "sm90_xmma_wgrad_indexed_bf16_nhwc_128x64x64_segment_k_off",
            ),
            (
                "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas",
                "sm80_xmma_gemm_f32_nn_n_64x64x8_ffma_split_k",
            ),
            (
                "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0",
                "cudnn_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1",
            ),
            (
                "Cijk_Ailk_Bjlk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT64x64x32_MI16x16x1_SN_LDSB0_WG64_4_1",
                "Cijk_Ailk_Bjlk_HHS_BH_…_MT64x64x32_MI16x16x1",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(short(name), expected);
        }
        for kept in [
            "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
            "triton_poi_fused_add_gelu_0",
            "Memcpy HtoD (Pinned -> Device)",
            "Memset (Device)",
            "a kernel with blanks",
        ] {
            assert_eq!(short(kept), kept);
        }
    }

    #[test]
    fn mangled_names_are_demangled_or_at_least_named() {
        assert_eq!(demangled("_ZN5space3fooEi"), "space::foo(int)");
        assert_eq!(demangled("_Znonsense"), "_Znonsense");
        assert_eq!(short("_ZN5space3fooIfEEvPT_.kd"), "foo<float>");
        // The unresolvable tail must not hide the function's name.
        assert_eq!(short("_ZN5space3fooI!!!"), "foo");
        assert_eq!(short("_Z3foo1a!!!"), "foo");
        assert_eq!(short("_Z0"), "_Z0");
        assert_eq!(demangled(&doubling_symbol(2)), "f(a, p<a, a>, p<p<a, a>, p<a, a> >)");
        assert_eq!(demangled(&doubling_symbol(200)), doubling_symbol(200));
    }

    #[test]
    fn ellipsis_fits_the_width_in_characters() {
        assert_eq!(ellipsize("abc", 3), "abc");
        assert_eq!(ellipsize("abcdefghij", 7), "abcd…ij");
        assert_eq!(ellipsize("ééééé", 4), "éé…é");
        assert_eq!(ellipsize("abc", 1), "…");
        assert_eq!(ellipsize("abc", 0), "");
        assert_eq!(ellipsize("", 0), "");
    }

    /// `f(a, p<a, a>, p<p<a, a>, p<a, a>>, …)`: each argument twice the one before, by substitution.
    fn doubling_symbol(arguments: u32) -> String {
        let digit = |value: u32| char::from_digit(value, 36).unwrap().to_ascii_uppercase();
        (1..arguments).fold("_Z1f1a1pIS_S_E".to_owned(), |symbol, at| {
            let (high, low) = ((2 * at - 1) / 36, (2 * at - 1) % 36);
            let sequence =
                if high > 0 { format!("{}{}", digit(high), digit(low)) } else { digit(low).to_string() };
            symbol + &format!("1pIS{sequence}_S{sequence}_E")
        })
    }

    #[test]
    fn hostile_names_are_survived() {
        let deep = 100_000;
        let hostile = [
            String::new(),
            "<".repeat(deep),
            ">".repeat(deep),
            "a<".repeat(deep) + &">".repeat(deep),
            "Kernel<".repeat(deep) + &">".repeat(deep),
            "f(".repeat(deep) + &")".repeat(deep),
            "(<{[".repeat(deep) + &"]})>".repeat(deep),
            "f<".to_owned() + &"A<int>,".repeat(deep) + ">(int)",
            "::".repeat(deep) + "f<>()",
            "_Z".to_owned() + &"N".repeat(deep),
            "_ZN3fooI".to_owned() + &"S_".repeat(4_000),
            "_Z99999999999999999999foo".to_owned(),
            doubling_symbol(200),
            "x".repeat(1 << 20),
            "é<ü>(ß)::".repeat(deep),
            "void ".to_owned(),
            "operator()<>()".to_owned(),
            "f<{lambda(".to_owned(),
        ];
        for name in &hostile {
            let shown = short(name);
            assert!(ellipsize(&shown, 60).chars().count() <= 60);
        }
    }
}
