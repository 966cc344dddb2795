//! JSON as nettoll writes it: every file, message and answer by one writer, so that a type's code
//! for it is compiled once, whatever its layout. All is read by `serde_json::from_slice`.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Layout of JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// A line for each value, indented by its depth; all on one line otherwise.
    pub indented: bool,
    /// Significant digits of numbers that are not whole; `None`: as many as say the value exactly.
    pub digits: Option<usize>,
}

impl Layout {
    /// All on one line.
    pub const COMPACT: Self = Self { indented: false, digits: None };
    /// A line for each value.
    pub const INDENTED: Self = Self { indented: true, digits: None };
}

/// A value as JSON, without a newline at its end.
///
/// # Errors
/// A map with keys that are no texts.
pub fn write<T: Serialize + ?Sized>(value: &T, layout: Layout) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(128);
    append(&mut bytes, value, layout)?;
    Ok(bytes)
}

/// Writes a value behind what `bytes` has.
///
/// # Errors
/// A map with keys that are no texts; `bytes` then has a part of it.
pub fn append<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T, layout: Layout) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(bytes, Lines { layout, depth: 0, filled: false }))
}

/// Writes the lines of a [`Layout`].
struct Lines {
    layout: Layout,
    depth: usize,
    /// The list or the object that ends now holds something.
    filled: bool,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth -= 1;
        if self.filled {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn part<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> Result<()> {
        if !self.layout.indented {
            return Ok(());
        }
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        let shown = self.layout.digits.and_then(|digits| format!("{value:.0$e}", digits.saturating_sub(1)).parse().ok());
        CompactFormatter.write_f64(writer, shown.unwrap_or(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.part(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.part(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(if self.layout.indented { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, write};
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    fn text(value: &Value, layout: Layout) -> String {
        String::from_utf8(write(value, layout).unwrap()).unwrap()
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from);
            prop_oneof![list, prop::collection::btree_map(".*", inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect()))]
        })
    }

    proptest! {
        #[test]
        fn both_layouts_are_those_of_serde_json(value in values()) {
            prop_assert_eq!(text(&value, Layout::COMPACT), serde_json::to_string(&value).unwrap());
            prop_assert_eq!(text(&value, Layout::INDENTED), serde_json::to_string_pretty(&value).unwrap());
        }
    }

    #[test]
    fn digits_beyond_those_asked_for_are_rounded_and_counts_are_whole() {
        let value = json!([1.234_567_89, 123_456_789, 2.0e-7, 98_765_432.1]);
        let layout = Layout { digits: Some(4), ..Layout::COMPACT };
        assert_eq!(text(&value, layout), "[1.235,123456789,2e-7,98770000.0]");
    }
}
