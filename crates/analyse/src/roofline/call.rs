//! One call of an operator as the profiler recorded it: sizes, types, strides and plain values of its inputs.
//!
//! Everything here answers `None` where the record is missing or odd; all arithmetic is checked, because sizes
//! are whatever a file says.

use stepscope_model::{Input, parse_shapes};

use super::number::{self, Element};
use crate::names::shapes::texts as list;

/// The recorded inputs of one call.
pub(super) struct Call {
    inputs: Vec<Input>,
    strides: Vec<Input>,
    types: Vec<String>,
    concrete: Vec<String>,
    /// The element type of lists of tensors, where a kernel's name gave it.
    list_element: Option<Element>,
}

/// The texts of a call's arguments, empty where there is none.
#[derive(Copy, Clone, Default)]
pub(super) struct Texts<'a> {
    pub(super) dims: &'a str,
    pub(super) types: &'a str,
    pub(super) strides: &'a str,
    pub(super) concrete: &'a str,
}

impl Call {
    /// Reads the texts; `None` without sizes.
    pub(super) fn read(texts: Texts<'_>, list_element: Option<Element>) -> Option<Call> {
        Some(Call {
            inputs: parse_shapes(texts.dims)?,
            strides: parse_shapes(texts.strides).unwrap_or_default(),
            types: list(texts.types),
            concrete: list(texts.concrete),
            list_element,
        })
    }

    /// How many inputs there are, tensors or not.
    pub(super) fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The sizes of an input that is a tensor. A number's `[]` looks like a tensor without dimensions; only its
    /// type tells them apart, so a tensor needs a known type.
    pub(super) fn sizes(&self, i: usize) -> Option<&[i64]> {
        self.element(i)?;
        self.inputs.get(i)?.tensor()
    }

    /// The element type of an input that is a tensor.
    pub(super) fn element(&self, i: usize) -> Option<Element> {
        number::of_type(self.types.get(i)?)
    }

    /// Elements of an input that is a tensor.
    pub(super) fn elements(&self, i: usize) -> Option<u64> {
        product(self.sizes(i)?)
    }

    /// Elements of a tensor that lie in memory: a dimension that was expanded has a stride of zero and one
    /// element, however long it is.
    pub(super) fn stored(&self, i: usize) -> Option<u64> {
        let sizes = self.sizes(i)?;
        match self.strides.get(i).and_then(Input::tensor) {
            Some(strides) if strides.len() == sizes.len() => sizes
                .iter()
                .zip(strides)
                .filter(|(_, stride)| **stride != 0)
                .try_fold(1u64, |all, (&n, _)| all.checked_mul(size(n)?)),
            _ => product(sizes),
        }
    }

    /// Bytes of a tensor that lie in memory.
    pub(super) fn bytes(&self, i: usize) -> Option<u64> {
        self.stored(i)?.checked_mul(self.element(i)?.bytes)
    }

    /// The same, zero for an input that is absent or no tensor.
    pub(super) fn bytes_if(&self, i: usize) -> Option<u64> {
        if self.sizes(i).is_some() { self.bytes(i) } else { Some(0) }
    }

    /// Bytes of all tensors among some inputs.
    pub(super) fn bytes_of(&self, inputs: impl IntoIterator<Item = usize>) -> Option<u64> {
        inputs.into_iter().try_fold(0u64, |all, i| all.checked_add(self.bytes_if(i)?))
    }

    /// Elements and bytes of a list of tensors; `None` if its sizes or its element type are not known.
    pub(super) fn list(&self, i: usize) -> Option<(u64, u64)> {
        let Input::List(tensors) = self.inputs.get(i)? else { return None };
        let elements = tensors.iter().try_fold(0u64, |all, sizes| all.checked_add(product(sizes)?))?;
        Some((elements, elements.checked_mul(self.list_element?.bytes)?))
    }

    /// The sizes of each tensor of a list.
    pub(super) fn list_sizes(&self, i: usize) -> Option<&[Vec<i64>]> {
        match self.inputs.get(i)? {
            Input::List(tensors) => Some(tensors),
            Input::Tensor(_) => None,
        }
    }

    /// The element type of lists.
    pub(super) fn list_element(&self) -> Option<Element> {
        self.list_element
    }

    /// A concrete value's text; `None` where it is empty.
    pub(super) fn value(&self, i: usize) -> Option<&str> {
        self.concrete.get(i).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// A concrete integer.
    pub(super) fn int(&self, i: usize) -> Option<i64> {
        self.value(i)?.parse().ok()
    }

    /// A concrete truth value.
    pub(super) fn flag(&self, i: usize) -> Option<bool> {
        match self.value(i)? {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        }
    }

    /// A concrete list of integers, or one integer as a list of one.
    pub(super) fn ints(&self, i: usize) -> Option<Vec<i64>> {
        let text = self.value(i)?;
        match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some("") => Some(Vec::new()),
            Some(inner) => inner.split(',').map(|n| n.trim().parse().ok()).collect(),
            None => Some(vec![text.parse().ok()?]),
        }
    }

    /// A concrete list of truth values (`[True, False, True]`), such as which gradients are wanted.
    pub(super) fn flags(&self, i: usize) -> Option<Vec<bool>> {
        let inner = self.value(i)?.strip_prefix('[')?.strip_suffix(']')?;
        let flag = |text: &str| match text.trim() {
            "True" | "true" | "1" => Some(true),
            "False" | "false" | "0" => Some(false),
            _ => None,
        };
        inner.split(',').map(flag).collect()
    }
}

/// A size as a count; `None` if it is negative.
pub(super) fn size(n: i64) -> Option<u64> {
    u64::try_from(n).ok()
}

/// The elements of a tensor of these sizes.
pub(super) fn product(sizes: &[i64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |all, &n| all.checked_mul(size(n)?))
}

/// The product of counts.
pub(super) fn times(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(1u64, |all, &n| all.checked_mul(n))
}

pub(super) fn sum(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(0u64, |all, &n| all.checked_add(n))
}

/// The sizes two tensors have together once the smaller is repeated along the larger; `None` if they do not
/// fit.
pub(super) fn broadcast(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let offset = long.len() - short.len();
    let mut out = long.to_vec();
    for (o, &s) in out[offset..].iter_mut().zip(short) {
        *o = match (*o, s) {
            (l, s) if l == s => l,
            (1, s) => s,
            (l, 1) => l,
            _ => return None,
        };
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_every_kind() {
        let call = Call::read(
            Texts {
                dims: "[[8, 512], [512], [], [], [[2, 3], [4]]]",
                types: r#"["float", "c10::BFloat16", "Scalar", "", "TensorList"]"#,
                strides: "[[512, 1], [0], [], [], [[3, 1], [1]]]",
                concrete: r#"["", "", "True", "[2, 3]", "7"]"#,
            },
            number::of_type("float"),
        )
        .unwrap();
        assert_eq!((call.elements(0), call.bytes(0)), (Some(4096), Some(16384)));
        // Expanded: 512 elements, one in memory.
        assert_eq!((call.elements(1), call.stored(1), call.bytes(1)), (Some(512), Some(1), Some(2)));
        assert_eq!((call.sizes(2), call.bytes_if(2), call.bytes_if(9)), (None, Some(0), Some(0)));
        assert_eq!(call.list(4), Some((10, 40)));
        assert_eq!((call.flag(2), call.ints(3), call.int(4)), (Some(true), Some(vec![2, 3]), Some(7)));
        assert_eq!(call.ints(4), Some(vec![7]));
    }

    #[test]
    fn hostile_sizes_are_no_sizes() {
        let huge = Texts { dims: "[[9000000000, 9000000000, 9000000000], [-4]]", ..Texts::default() };
        let call = Call::read(Texts { types: r#"["float", "float"]"#, ..huge }, None).unwrap();
        assert_eq!((call.elements(0), call.bytes(0), call.elements(1)), (None, None, None));
        assert!(Call::read(Texts::default(), None).is_none());
        assert_eq!(broadcast(&[4, 1], &[3]), Some(vec![4, 3]));
        assert_eq!(broadcast(&[4, 2], &[3]), None);
        assert_eq!(broadcast(&[], &[]), Some(vec![]));
    }
}
