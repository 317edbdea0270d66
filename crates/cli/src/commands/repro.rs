//! `stepscope repro`: a Python script that times one operator alone, with the inputs it had in the trace.
//!
//! Nothing of a trace becomes code: its texts are written as Python's literals of texts, numbers and lists.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};

use serde_json::Value;
use stepscope_analyse::tables::inputs::{CallRow, DEFINITIONS, NoCalls, calls_by_input};
use stepscope_ask::Ask;

use crate::args::Repro;
use crate::failure::Failure;
use crate::input::{Place, choose, warn};

/// The script without its data.
const SCRIPT: &str = include_str!("repro/script.py");

/// The lines of it that the data replaces.
const DATA: &str = "OP = \"\"\nTRACE = \"\"\nCALLS: list[dict] = []\n";

pub(super) fn run(args: &Repro, out: &mut dyn Write) -> Result<(), Failure> {
    if !is_callable(&args.op) {
        return Err(Failure::wrong_use(
            format!("PyTorch cannot call this by its name: {}", args.op),
            "name an operator as `stepscope ops` shows it, with its library: aten::addmm",
        ));
    }
    let place = Place { path: args.path.as_deref(), rank: args.rank, max_text_bytes: args.max_text_bytes };
    let run = choose(&place, None)?;
    warn(run.trace());
    let options = args.step.as_deref().map(|steps| ("step", steps));
    let selection = Ask::with("ops", options)?.selection(&run)?;
    let rows = calls_by_input(run.trace(), &args.op, &selection).map_err(|why| refusal(&args.op, why))?;
    let (all, top) = (rows.len(), if args.top == 0 { usize::MAX } else { args.top });
    let text = script(&args.op, &run.trace().meta().source.path, &rows[..all.min(top)], all);
    match args.output.as_ref().filter(|path| path.as_os_str() != "-") {
        None => Ok(out.write_all(text.as_bytes())?),
        Some(path) => fs::write(path, text).map_err(|error| {
            Failure::Output(io::Error::new(error.kind(), format!("{error}: {}", path.display())))
        }),
    }
}

/// Whether `torch.ops` has a place for such a name.
fn is_callable(op: &str) -> bool {
    let is_word = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    op.split_once("::").is_some_and(|(library, name)| is_word(library) && is_word(name))
}

fn refusal(op: &str, why: NoCalls) -> Failure {
    match why {
        NoCalls::Unknown(near) if near.is_empty() => Failure::wrong_use(
            format!("the trace has no operator of this name: {op}"),
            "`stepscope ops` lists the operators",
        ),
        NoCalls::Unknown(near) => Failure::wrong_use(
            format!("the trace has no operator of this name: {op}"),
            format!("did you mean {}?", near.join(", ")),
        ),
        NoCalls::NotSelected => Failure::wrong_use(
            format!("no call of this operator begins in these steps: {op}"),
            "leave out --step, or name other steps",
        ),
        NoCalls::NoShapes => Failure::wrong_use(
            format!("the trace does not have the inputs of this operator: {op}"),
            "record with torch.profiler.profile(record_shapes=True)",
        ),
    }
}

fn script(op: &str, path: &str, rows: &[CallRow<'_>], all: usize) -> String {
    let mut data = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(data, "OP = {}", literal(&Value::from(op)));
    let _ = writeln!(data, "TRACE = {}", literal(&Value::from(path)));
    let device = DEFINITIONS.iter().find(|d| d.field == "device_ns").map_or("", |d| d.text);
    let _ = writeln!(data, "# Times are of one call, in nanoseconds. {device}");
    if rows.len() < all {
        let _ = writeln!(data, "# The {} most expensive of {all} inputs; --top 0 writes all.", rows.len());
    }
    data.push_str("CALLS: list[dict] = [\n");
    for row in rows {
        let calls = i64::try_from(row.calls).unwrap_or(i64::MAX).max(1);
        let _ = writeln!(data, "    {{");
        let _ = writeln!(data, "        \"calls\": {},", row.calls);
        let _ = writeln!(data, "        \"device_ns\": {},", row.device_ns / calls);
        let _ = writeln!(data, "        \"host_ns\": {},", row.host_ns / calls);
        let overload = row.overload.map_or(Value::Null, Value::from);
        let _ = writeln!(data, "        \"overload\": {},", literal(&overload));
        for (key, text) in [
            ("shapes", Some(row.shapes)),
            ("types", row.types),
            ("strides", row.strides),
            ("values", row.values),
        ] {
            let list: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
            let list = list.filter(Value::is_array).unwrap_or(Value::Null);
            let _ = writeln!(data, "        \"{key}\": {},", literal(&list));
        }
        let _ = writeln!(data, "    }},");
    }
    data.push_str("]\n");
    SCRIPT.replacen(DATA, &data, 1)
}

/// A value as Python writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            // Only ASCII: Python and JSON write these texts alike.
            let mut quoted = String::with_capacity(text.len() + 2);
            quoted.push('"');
            for c in text.chars() {
                match c {
                    '"' | '\\' => quoted.extend(['\\', c]),
                    ' '..='~' => quoted.push(c),
                    _ => {
                        let _ = write!(quoted, "\\U{:08x}", u32::from(c));
                    }
                }
            }
            quoted.push('"');
            quoted
        }
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        // No input is recorded as an object.
        Value::Object(_) => "None".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_a_place_for_its_data() {
        assert_eq!(SCRIPT.matches(DATA).count(), 1);
        let row = CallRow {
            calls: 4,
            device_ns: 400,
            host_ns: 80,
            overload: None,
            shapes: "[[2, 3], []]",
            types: Some(r#"["float", "Scalar"]"#),
            strides: None,
            values: Some(r#"["", "1"]"#),
        };
        let text = script("aten::add", "a.json", &[row], 1);
        assert!(text.contains("OP = \"aten::add\"\n"), "{text}");
        assert!(text.contains("\"device_ns\": 100,\n"), "{text}");
        assert!(text.contains("\"shapes\": [[2, 3], []],\n"), "{text}");
        assert!(text.contains("\"values\": [\"\", \"1\"],\n"), "{text}");
        assert!(text.contains("\"strides\": None,\n"), "{text}");
    }

    #[test]
    fn texts_of_a_trace_stay_texts() {
        let hostile = "\"\nimport os\\\u{1f4a3}";
        let text = script("aten::add", hostile, &[], 0);
        assert!(text.contains(r#"TRACE = "\"\U0000000aimport os\\\U0001f4a3""#), "{text}");
        assert!(!text.contains("\nimport os"), "{text}");
    }

    #[test]
    fn only_names_that_torch_can_have_are_called() {
        for (name, callable) in [
            ("aten::addmm", true),
            ("vllm::rms_norm", true),
            ("AddmmBackward0", false),
            ("autograd::engine::evaluate_function: AddmmBackward0", false),
            ("aten::", false),
            ("aten::1", false),
            ("", false),
        ] {
            assert_eq!(is_callable(name), callable, "{name}");
        }
    }
}
