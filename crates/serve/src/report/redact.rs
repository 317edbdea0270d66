//! Takes out what says where and whose a program is: folders in paths, and arguments.

use serde_json::Value;

/// Redacts every text of a value; fields named `args` are emptied.
pub(super) fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => {
            for (key, field) in fields {
                match (key.as_str(), field) {
                    ("args", Value::Array(args)) => args.clear(),
                    // Our own words hold no path, and may hold a slash.
                    ("definitions" | "definition" | "why" | "fix" | "verify", _) => {}
                    (_, field) => redact(field),
                }
            }
        }
        _ => {}
    }
}

/// The text with the last part of every path only.
pub(super) fn redact_text(text: &str) -> String {
    if !text.contains(['/', '\\']) {
        return text.to_owned();
    }
    let mut pieces = text.split(".py(").peekable();
    let mut redacted = String::new();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            redacted.push_str(&redact_words(piece));
        } else if redacted.is_empty() {
            redacted = format!("{}.py(", last_part(piece));
        } else {
            push_next_frame(&mut redacted, piece);
        }
    }
    redacted
}

/// What follows a Python frame, `path(line): function`, up to the line of the next one: blanks may be part of its path.
fn push_next_frame(redacted: &mut String, text: &str) {
    const BETWEEN: &str = " + ";
    let before = &text[..text.find(['/', '\\']).unwrap_or(text.len())];
    let joined = before.rfind(BETWEEN).map(|at| at + BETWEEN.len());
    let start = joined.or_else(|| Some(before.rfind(' ')? + 1)).unwrap_or(0);
    redacted.push_str(&text[..start]);
    redacted.push_str(last_part(&text[start..]));
    redacted.push_str(".py(");
}

fn redact_words(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || "\"'(),;[]{}<>=".contains(c);
    text.split_inclusive(is_gap)
        .map(|word| {
            let end = word.trim_end_matches(is_gap);
            if is_path(end) { format!("{}{}", last_part(end), &word[end.len()..]) } else { word.to_owned() }
        })
        .collect()
}

/// Absolute, or leading to a file of a kind that programs have.
fn is_path(word: &str) -> bool {
    const ENDINGS: [&str; 9] = [".py", ".so", ".json", ".cpp", ".cu", ".cc", ".h", ".gz", ".pt"];
    let absolute = word.starts_with(['/', '~', '\\']) || word.get(1..3) == Some(":\\");
    word.contains(['/', '\\']) && (absolute || ENDINGS.iter().any(|ending| word.contains(ending)))
}

fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_and_names_stay() {
        for (text, want) in [
            ("/home/ann/secret project/train.py(12): step", "train.py(12): step"),
            ("aten::mm", "aten::mm"),
            ("/a/x.py(1): f + /home/ann/my work/y.py(2): g in /data/z.bin", "x.py(1): f + y.py(2): g in z.bin"),
            ("my plan/x.py(1): f + their plan/y.py(2): g", "x.py(1): f + y.py(2): g"),
            ("x.py(1): f, /home/ann/y.py(2): g", "x.py(1): f, y.py(2): g"),
            ("runs/ann/exp7/a.pt.trace.json.gz", "a.pt.trace.json.gz"),
            ("C:\\Users\\ann\\x.py(3): f", "x.py(3): f"),
            ("copy/fill at 3 GB/s", "copy/fill at 3 GB/s"),
            ("open '/data/ann/x.bin' failed", "open 'x.bin' failed"),
        ] {
            assert_eq!(redact_text(text), want);
        }
    }

    #[test]
    fn arguments_go_and_definitions_stay() {
        let mut value =
            serde_json::json!({"args": [["file", "/a/b"]], "definition": "see /proc/x", "name": "/a/b/c.so"});
        redact(&mut value);
        assert_eq!(value, serde_json::json!({"args": [], "definition": "see /proc/x", "name": "c.so"}));
    }
}
