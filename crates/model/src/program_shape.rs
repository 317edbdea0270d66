//! Shapes of the results of a compiled program's instructions.

/// The type of an array's elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementType {
    /// The compiler's name for it (`bf16`).
    pub name: &'static str,
    /// 0 for what is not a number.
    pub bits: u64,
}

impl Default for ElementType {
    fn default() -> ElementType {
        ElementType { name: "invalid", bits: 0 }
    }
}

/// The shape of a result: an array, or a tuple of shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResultShape {
    pub element: ElementType,
    /// How many elements an array has in each dimension.
    pub dims: Vec<u64>,
    /// The shapes that a tuple is made of.
    pub parts: Vec<ResultShape>,
}

impl ResultShape {
    /// How many elements an array has.
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1, |product: u64, &size| product.saturating_mul(size))
    }

    /// Bytes of an array, or of all parts of a tuple.
    pub fn bytes(&self) -> u64 {
        let own = match self.element.bits {
            0 => 0,
            bits => self.elements().saturating_mul(bits).div_ceil(8),
        };
        self.parts.iter().fold(own, |sum, part| sum.saturating_add(part.bytes()))
    }

    /// The array that it is, or the first of a tuple.
    pub fn first(&self) -> &ResultShape {
        self.parts.first().unwrap_or(self)
    }

    /// A part of a tuple, a part of that part, and so on.
    pub fn at(&self, path: &[u64]) -> Option<&ResultShape> {
        path.iter().try_fold(self, |shape, &part| shape.parts.get(usize::try_from(part).ok()?))
    }

    /// `bf16[8,512]`.
    pub fn text(&self) -> String {
        if !self.parts.is_empty() {
            let shown: Vec<String> = self.parts.iter().take(4).map(ResultShape::text).collect();
            let more = if self.parts.len() > 4 { ", …" } else { "" };
            return format!("({}{more})", shown.join(", "));
        }
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        format!("{}[{}]", self.element.name, dims.join(","))
    }
}
