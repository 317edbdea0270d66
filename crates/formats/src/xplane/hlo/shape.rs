//! Shapes of results.

use stepscope_ground::protobuf::{Field, Fields, numbers};
use stepscope_model::{ElementType, ResultShape};

/// Tuples in tuples beyond this are not looked into.
const MAX_TUPLE_DEPTH: usize = 8;

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

/// The shape in a serialized `ShapeProto`.
pub(super) fn shape(message: &[u8]) -> ResultShape {
    read(message, MAX_TUPLE_DEPTH)
}

fn read(message: &[u8], depth: usize) -> ResultShape {
    let mut shape = ResultShape::default();
    for field in Fields::new(message).flatten() {
        match field {
            (2, Field::Number(number)) => {
                let known = usize::try_from(number).ok().and_then(|number| ELEMENTS.get(number));
                let &(name, bits) = known.unwrap_or(&("unknown", 0));
                shape.element = ElementType { name, bits };
            }
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
