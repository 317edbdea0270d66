//! One field of a row, without making anything of the others: what a table is sorted by.

use std::cmp::Ordering;

use serde::ser::{Impossible, SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The value of a field; `None` if the row has no such field.
pub(crate) fn field<R: Serialize>(row: &R, name: &str) -> Option<Value> {
    let mut found = None;
    // The only failures are rows that are no objects: they have no fields.
    let _ = row.serialize(Finder { name, found: &mut found });
    found
}

/// The names of a row's fields, in order.
pub(crate) fn names<R: Serialize>(row: &R) -> Vec<String> {
    let value = serde_json::to_value(row).unwrap_or_default();
    value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// Numbers fall, texts rise, what is missing comes last.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => b.cmp(&a),
            _ => {
                let float = |v: &serde_json::Number| v.as_f64().unwrap_or(0.0);
                float(b).total_cmp(&float(a))
            }
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => b.cmp(a),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        _ => Ordering::Equal,
    }
}

struct Finder<'a> {
    name: &'a str,
    found: &'a mut Option<Value>,
}

impl Finder<'_> {
    fn look<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        if key == self.name {
            *self.found = serde_json::to_value(value).ok();
        }
    }
}

type NoObject = serde::de::value::Error;

fn no_object<T>() -> Result<T, NoObject> {
    Err(serde::de::Error::custom("not an object"))
}

impl<'a> Serializer for Finder<'a> {
    type Ok = ();
    type Error = NoObject;
    type SerializeSeq = Impossible<(), NoObject>;
    type SerializeTuple = Impossible<(), NoObject>;
    type SerializeTupleStruct = Impossible<(), NoObject>;
    type SerializeTupleVariant = Impossible<(), NoObject>;
    type SerializeMap = MapFinder<'a>;
    type SerializeStruct = Finder<'a>;
    type SerializeStructVariant = Impossible<(), NoObject>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NoObject> {
        Ok(self)
    }
    // Rows with flattened parts come as maps.
    fn serialize_map(self, _: Option<usize>) -> Result<MapFinder<'a>, NoObject> {
        Ok(MapFinder { finder: self, key: String::new() })
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NoObject> {
        value.serialize(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NoObject> {
        value.serialize(self)
    }
    fn serialize_bool(self, _: bool) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_i8(self, _: i8) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_i16(self, _: i16) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_i32(self, _: i32) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_i64(self, _: i64) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_u8(self, _: u8) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_u16(self, _: u16) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_u32(self, _: u32) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_u64(self, _: u64) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_f32(self, _: f32) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_f64(self, _: f64) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_char(self, _: char) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_str(self, _: &str) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_none(self) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_unit(self) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NoObject> {
        no_object()
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, NoObject> {
        no_object()
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, NoObject> {
        no_object()
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, NoObject> {
        no_object()
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NoObject> {
        no_object()
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NoObject> {
        no_object()
    }
}

impl SerializeStruct for Finder<'_> {
    type Ok = ();
    type Error = NoObject;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), NoObject> {
        self.look(key, value);
        Ok(())
    }
    fn end(self) -> Result<(), NoObject> {
        Ok(())
    }
}

struct MapFinder<'a> {
    finder: Finder<'a>,
    key: String,
}

impl SerializeMap for MapFinder<'_> {
    type Ok = ();
    type Error = NoObject;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NoObject> {
        let key = serde_json::to_value(key).unwrap_or_default();
        self.key = key.as_str().unwrap_or_default().to_owned();
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoObject> {
        let key = std::mem::take(&mut self.key);
        self.finder.look(&key, value);
        Ok(())
    }
    fn end(self) -> Result<(), NoObject> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Inner {
        bytes: u64,
    }

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        #[serde(flatten)]
        inner: Inner,
        share: Option<f64>,
    }

    #[test]
    fn fields_are_found_also_in_flattened_parts() {
        let row = Row { name: "a", inner: Inner { bytes: 7 }, share: None };
        assert_eq!(field(&row, "name"), Some("a".into()));
        assert_eq!(field(&row, "bytes"), Some(7.into()));
        assert_eq!(field(&row, "share"), Some(Value::Null));
        assert_eq!(field(&row, "inner"), None);
        assert_eq!(field(&row.inner, "bytes"), Some(7.into()));
        assert_eq!(field(&3, "bytes"), None);
        assert_eq!(names(&row), ["name", "bytes", "share"]);
    }
}
