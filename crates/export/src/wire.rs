//! Writing protocol buffers: the few kinds of fields that Prometheus and OpenTelemetry need. A generated client of either
//! would bring some thirty crates along, to write a dozen messages.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const LENGTH: u32 = 2;

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn key(&mut self, field: u32, kind: u32) {
        varint(&mut self.bytes, u64::from(field << 3 | kind));
    }

    /// uint32, uint64, int64 that is not negative, bool, enum.
    pub(crate) fn number(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        varint(&mut self.bytes, value);
    }

    /// sint32, sint64.
    pub(crate) fn signed(&mut self, field: u32, value: i64) {
        self.number(field, zigzag(value));
    }

    /// fixed64, sfixed64.
    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, FIXED_64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// double.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// string, bytes.
    pub(crate) fn text(&mut self, field: u32, value: impl AsRef<[u8]>) {
        self.key(field, LENGTH);
        varint(&mut self.bytes, value.as_ref().len() as u64);
        self.bytes.extend_from_slice(value.as_ref());
    }

    /// A message inside.
    pub(crate) fn message(&mut self, field: u32, value: &Message) {
        self.text(field, &value.bytes);
    }

    /// Several uint64 in one field.
    pub(crate) fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut inside = Vec::new();
        values.into_iter().for_each(|value| varint(&mut inside, value));
        self.text(field, inside);
    }

    /// With its length before it, as messages stand one after the other in a stream.
    pub(crate) fn delimited(&self, out: &mut Vec<u8>) {
        varint(out, self.bytes.len() as u64);
        out.extend_from_slice(&self.bytes);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_documentation() {
        // The examples of "Encoding" in the documentation of protocol buffers: field 1 = 150, field 2 = "testing", and a
        // message in field 3 with the first of them; zigzag of -2 is 3.
        let mut inner = Message::new();
        inner.number(1, 150);
        assert_eq!(inner.clone().into_bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::new();
        outer.text(2, "testing");
        outer.message(3, &inner);
        outer.signed(4, -2);
        outer.packed(6, [3, 270, 86_942]);
        outer.double(5, 1.0);
        let mut expected = vec![0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        expected.extend([0x1a, 0x03, 0x08, 0x96, 0x01, 0x20, 0x03]);
        expected.extend([0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        expected.extend([0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        let mut stream = Vec::new();
        outer.delimited(&mut stream);
        assert_eq!(stream[0] as usize, expected.len());
        assert_eq!(stream[1..], expected);
        let mut most = Message::new();
        most.signed(1, i64::MIN);
        assert_eq!(most.into_bytes(), [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }
}
