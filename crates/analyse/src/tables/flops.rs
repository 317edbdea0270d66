//! Floating-point operations of an operator, counted from its input shapes.
//!
//! These are the formulas behind PyTorch's `with_flops`: they know seven operators and nothing of attention,
//! backward convolutions or 8-bit products. A multiplication with an addition counts as two. An operator they do
//! not know counts as none, which means "not counted", never "free".

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Attr, Input, SliceId, StrId, Trace, parse_shapes};

use crate::names::shapes::texts;
use crate::scope::definition::{Definition, definitions};

/// What the numbers here mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "flops", "FLOPs" =>
        "Floating-point operations by PyTorch's with_flops formulas, from the recorded input shapes: mm and addmm 2*M*K*N; \
         bmm and baddbmm 2*B*M*K*N; conv2d 2*N*Hout*Wout*kH*kW*Cin*Cout/groups; add and mul one per element of the first \
         input. Every other operator counts as 0, which means not counted.";
};

/// How the operations of an operator are counted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// One matrix product; the matrices are these two inputs.
    Product(usize, usize),
    /// A batch of matrix products; likewise.
    Batched(usize, usize),
    Conv2d,
    /// One operation for each element of the first input.
    Elementwise,
}

/// The formula of an operator, if there is one. In-place and `out=` forms have other names and none.
pub fn formula(op: &str) -> Option<Formula> {
    Some(match op {
        "aten::mm" => Formula::Product(0, 1),
        "aten::addmm" => Formula::Product(1, 2),
        "aten::bmm" => Formula::Batched(0, 1),
        "aten::baddbmm" => Formula::Batched(1, 2),
        "aten::conv2d" => Formula::Conv2d,
        "aten::add" | "aten::mul" => Formula::Elementwise,
        _ => return None,
    })
}

/// `Input type` of what is not a single tensor, in the words of all PyTorch versions.
const NOT_TENSORS: &[&str] =
    &["", "Scalar", "ScalarList", "TensorList", "GenericList", "Int", "Double", "Bool", "String", "None"];

/// The operations of one call. `types` and `concrete` are the texts of `Input type` and `Concrete Inputs`.
/// `None` where the shapes do not fit the formula, a parameter is missing, or the count passes 64 bits.
pub fn count(formula: Formula, inputs: &[Input], types: Option<&str>, concrete: Option<&str>) -> Option<u64> {
    let types = types.map(texts).unwrap_or_default();
    let tensor = |i: usize| {
        // A number's `[]` looks like a tensor without dimensions; only its type tells them apart.
        let sizes = inputs.get(i)?.tensor()?;
        let is_tensor = !sizes.is_empty() || types.get(i).is_none_or(|t| !NOT_TENSORS.contains(&t.as_str()));
        is_tensor.then_some(sizes)
    };
    match formula {
        Formula::Elementwise => product(tensor(0)?),
        Formula::Product(a, b) => {
            let (a, b) = (tensor(a)?, tensor(b)?);
            2u64.checked_mul(product(a)?.checked_div(size(*a.last()?)?)?)?.checked_mul(non_empty(b)?)
        }
        Formula::Batched(a, b) => {
            let (a, b) = (tensor(a)?, tensor(b)?);
            let rows = product(a)?.checked_div(size(*a.last()?)?)?.checked_div(size(*a.first()?)?)?;
            2u64.checked_mul(rows)?.checked_mul(non_empty(b)?)
        }
        Formula::Conv2d => conv2d(tensor(0)?, tensor(1)?, &texts(concrete?)),
    }
}

/// Inputs are (input, weight, bias, stride, padding, dilation, groups); the last four are concrete values.
fn conv2d(input: &[i64], weight: &[i64], concrete: &[String]) -> Option<u64> {
    let (&[batch, channels, height, width], &[out_channels, _, kernel_h, kernel_w]) = (input, weight) else {
        return None;
    };
    let pair = |i: usize| match integers(concrete.get(i)?)?[..] {
        [h, w] => Some((h, w)),
        _ => None,
    };
    let (stride, padding, dilation) = (pair(3)?, pair(4)?, pair(5)?);
    let groups: i64 = concrete.get(6)?.trim().parse().ok()?;
    // Division toward zero, as integers do it: a window that does not fit is dropped.
    let out = |size: i64, kernel: i64, stride: i64, padding: i64, dilation: i64| {
        let reach = dilation.checked_mul(kernel.checked_sub(1)?)?;
        let room = size.checked_add(padding.checked_mul(2)?)?.checked_sub(reach)?.checked_sub(1)?;
        room.checked_div(stride)?.checked_add(1)
    };
    let out_h = out(height, kernel_h, stride.0, padding.0, dilation.0)?;
    let out_w = out(width, kernel_w, stride.1, padding.1, dilation.1)?;
    let all = product(&[2, batch, out_h, out_w, kernel_h, kernel_w, channels, out_channels])?;
    all.checked_div(size(groups)?)
}

fn size(n: i64) -> Option<u64> {
    u64::try_from(n).ok()
}

fn product(sizes: &[i64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |all, &n| all.checked_mul(size(n)?))
}

fn non_empty(sizes: &[i64]) -> Option<u64> {
    if sizes.is_empty() { None } else { product(sizes) }
}

fn integers(text: &str) -> Option<Vec<i64>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').map(|n| n.trim().parse().ok()).collect()
}

/// The counts of a trace: calls with the same name, shapes and parameters are counted once.
pub struct Flops<'a> {
    trace: &'a Trace,
    known: HashMap<(Formula, StrId, StrId, StrId), u64, RandomState>,
}

impl<'a> Flops<'a> {
    /// Nothing is counted yet.
    pub fn new(trace: &'a Trace) -> Self {
        Flops { trace, known: HashMap::default() }
    }

    /// The operations of one call; 0 where they cannot be known.
    pub fn count_call(&mut self, id: SliceId, formula: Formula) -> u64 {
        let args = self.trace.args(id);
        let Some(dims) = args.text_id(Attr::InputShapes) else { return 0 };
        let text = |attr| args.text_id(attr).unwrap_or_default();
        let types = text(Attr::InputTypes);
        let concrete = if formula == Formula::Conv2d { text(Attr::ConcreteInputs) } else { StrId::EMPTY };
        let trace = self.trace;
        *self.known.entry((formula, dims, types, concrete)).or_insert_with(|| {
            let given = |id: StrId| Some(trace.text(id)).filter(|text| !text.is_empty());
            parse_shapes(trace.text(dims))
                .and_then(|inputs| count(formula, &inputs, given(types), given(concrete)))
                .unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flops(op: &str, dims: &str, concrete: &str) -> Option<u64> {
        count(formula(op)?, &parse_shapes(dims)?, None, Some(concrete))
    }

    #[test]
    fn worked_answers() {
        // PyTorch 2.11's own: fixtures conv_fast_loader, one call each.
        assert_eq!(flops("aten::mm", "[[64, 1000], [1000, 512]]", ""), Some(65_536_000));
        assert_eq!(flops("aten::addmm", "[[1000], [64, 512], [512, 1000], [], []]", ""), Some(65_536_000));
        let concrete = r#"["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"]"#;
        let dims = "[[64, 3, 224, 224], [64, 3, 7, 7], [64], [], [], [], []]";
        assert_eq!(flops("aten::conv2d", dims, concrete), Some(90_634_715_136 / 6));
        assert_eq!(flops("aten::add", "[[], [], []]", ""), Some(1));
        assert_eq!(flops("aten::bmm", "[[8, 2, 3], [8, 3, 5]]", ""), Some(2 * 8 * 2 * 3 * 5));
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(flops("aten::mm", "[[], []]", ""), None);
        assert_eq!(flops("aten::mm", "[[4, 0], [0, 4]]", ""), None);
        assert_eq!(flops("aten::mm", "[[9000000000, 9000000000], [9000000000, 2]]", ""), None);
        assert_eq!(flops("aten::conv2d", "[[1, 1, 4, 4], [1, 1, 2, 2]]", "[]"), None);
        let zero_stride = r#"["", "", "", "[0, 0]", "[3, 3]", "[1, 1]", "0"]"#;
        assert_eq!(flops("aten::conv2d", "[[1, 1, 4, 4], [1, 1, 2, 2]]", zero_stride), None);
        assert_eq!(formula("aten::mul_"), None);
        let scalar =
            count(Formula::Elementwise, &parse_shapes("[[], []]").unwrap(), Some(r#"["Scalar"]"#), None);
        assert_eq!(scalar, None);
    }
}
