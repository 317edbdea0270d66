//! Writing protocol buffers: the few kinds of fields that requests have.

/// A message under construction. Fields that are at their default are left out, as everywhere.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn number(&mut self, field: u32, value: u64) -> &mut Message {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
        self
    }

    pub(crate) fn flag(&mut self, field: u32, value: bool) -> &mut Message {
        self.number(field, u64::from(value))
    }

    pub(crate) fn text(&mut self, field: u32, value: &str) -> &mut Message {
        if !value.is_empty() {
            self.bytes(field, value.as_bytes());
        }
        self
    }

    pub(crate) fn message(&mut self, field: u32, value: &Message) -> &mut Message {
        self.bytes(field, &value.0);
        self
    }

    pub(crate) fn finish(&self) -> &[u8] {
        &self.0
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint((u64::from(field) << 3) | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_specification_shows() {
        // The two examples of the protocol buffers' page on encoding: 150 in field 1, "testing" in field 2.
        let mut message = Message::default();
        message.number(1, 150).text(2, "testing");
        assert_eq!(message.finish(), b"\x08\x96\x01\x12\x07testing");
        let mut outer = Message::default();
        outer.number(5, 0).flag(6, false).text(7, "").message(3, Message::default().number(1, 150));
        assert_eq!(outer.finish(), b"\x1a\x03\x08\x96\x01");
        let mut large = Message::default();
        large.number(16, u64::MAX);
        assert_eq!(large.finish(), b"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }
}
