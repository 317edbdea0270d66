//! The name of a Python function as traces write it, taken apart.

/// What a thread that waits is called, where the recording knows: a frame inside of the one that waits.
pub const WAITING: &str = "(waiting)";

/// A function and where it starts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PythonFrame<'a> {
    pub name: &'a str,
    pub file: &'a str,
    /// The line, or 0.
    pub line: u32,
}

/// `train.py(12): step`, as PyTorch and our recordings write, or `step (train.py:12)`, as VizTracer does. Whatever else
/// is a name.
pub fn python_frame(text: &str) -> PythonFrame<'_> {
    python(text).or_else(|| viztracer(text)).unwrap_or(PythonFrame { name: text, file: "", line: 0 })
}

fn python(text: &str) -> Option<PythonFrame<'_>> {
    let (place, name) = text.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    (!file.is_empty() && !name.is_empty()).then_some(PythonFrame { name, file, line })
}

fn viztracer(text: &str) -> Option<PythonFrame<'_>> {
    let (name, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!file.is_empty() && !name.is_empty()).then_some(PythonFrame { name, file, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let of = |text| {
            let PythonFrame { name, file, line } = python_frame(text);
            (name, file, line)
        };
        assert_eq!(of("torch/nn/linear.py(114): forward"), ("forward", "torch/nn/linear.py", 114));
        assert_eq!(of("<string>(1): <module>"), ("<module>", "<string>", 1));
        assert_eq!(of("Loader.__init__ (demo.py:5)"), ("Loader.__init__", "demo.py", 5));
        for name in ["<built-in method mm>", "nn.Module: Linear_0", "f (x)", "(12): x", "a(b): c"] {
            assert_eq!(of(name), (name, "", 0));
        }
    }
}
