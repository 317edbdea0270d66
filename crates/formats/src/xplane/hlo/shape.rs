//! Shapes of results.

use stepscope_ground::protobuf::{Field, Fields, numbers};

/// Tuples in tuples beyond this are not looked into.
const MAX_DEPTH: usize = 8;

/// The shape of a result: an array, or a tuple of shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) element: u64,
    pub(super) dims: Vec<u64>,
    pub(super) parts: Vec<Shape>,
}

/// Names and bits of the types of elements, by the number that XLA gives them.
const ELEMENTS: [(&str, u64); 34] = [
    ("invalid", 0),
    ("pred", 8),
    ("s8", 8),
    ("s16", 16),
    ("s32", 32),
    ("s64", 64),
    ("u8", 8),
    ("u16", 16),
    ("u32", 32),
    ("u64", 64),
    ("f16", 16),
    ("f32", 32),
    ("f64", 64),
    ("tuple", 0),
    ("opaque", 0),
    ("c64", 64),
    ("bf16", 16),
    ("token", 0),
    ("c128", 128),
    ("f8e5m2", 8),
    ("f8e4m3fn", 8),
    ("s4", 4),
    ("u4", 4),
    ("f8e4m3b11fnuz", 8),
    ("f8e5m2fnuz", 8),
    ("f8e4m3fnuz", 8),
    ("s2", 2),
    ("u2", 2),
    ("f8e4m3", 8),
    ("f8e3m4", 8),
    ("s1", 1),
    ("u1", 1),
    ("f4e2m1fn", 4),
    ("f8e8m0fnu", 8),
];

impl Shape {
    pub(super) fn read(message: &[u8]) -> Shape {
        read(message, MAX_DEPTH)
    }

    /// The name of the type of its elements.
    pub(super) fn element_name(&self) -> &'static str {
        ELEMENTS.get(self.element as usize).map_or("unknown", |element| element.0)
    }

    /// How many elements an array has.
    pub(super) fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |product: u64, &size| product.saturating_mul(size))
    }

    /// Bytes of an array, or of all parts of a tuple.
    pub(super) fn bytes(&self) -> u64 {
        let bits = ELEMENTS.get(self.element as usize).map_or(0, |element| element.1);
        let own = if bits == 0 { 0 } else { self.elements().saturating_mul(bits).div_ceil(8) };
        self.parts.iter().fold(own, |sum, part| sum.saturating_add(part.bytes()))
    }

    /// The array that it is, or the first of a tuple.
    pub(super) fn first(&self) -> &Shape {
        self.parts.first().unwrap_or(self)
    }

    /// The shape at a place: of a tuple its part, and so on.
    pub(super) fn at(&self, place: &[u64]) -> Option<&Shape> {
        place.iter().try_fold(self, |shape, &part| shape.parts.get(usize::try_from(part).ok()?))
    }

    /// `bf16[8,512]`.
    pub(super) fn text(&self) -> String {
        if !self.parts.is_empty() {
            let shown: Vec<String> = self.parts.iter().take(4).map(Shape::text).collect();
            let more = if self.parts.len() > 4 { ", …" } else { "" };
            return format!("({}{more})", shown.join(", "));
        }
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        format!("{}[{}]", self.element_name(), dims.join(","))
    }
}

fn read(message: &[u8], depth: usize) -> Shape {
    let mut shape = Shape::default();
    for field in Fields::new(message).flatten() {
        match field {
            (2, Field::Number(element)) => shape.element = element,
            (3, dims) => {
                // What came before the damage counts.
                let _ = numbers(dims, &mut shape.dims);
            }
            (4, Field::Bytes(part)) if depth > 0 => shape.parts.push(read(part, depth - 1)),
            _ => {}
        }
    }
    shape
}
