//! Functions by name: `train_step`, `Model.*`, `loader.py:read`, `list.append`.

/// A name, and a file if one was given. Both may have `*` and `?`.
#[derive(Clone, Debug)]
pub struct Pattern {
    file: Option<String>,
    name: String,
}

impl Pattern {
    /// `read`, `loader.py:read` or `loader.py:`.
    pub fn new(text: &str) -> Pattern {
        match text.rsplit_once(':') {
            Some((file, name)) => {
                let name = if name.is_empty() { "*" } else { name };
                Pattern { file: Some(file.to_owned()), name: name.to_owned() }
            }
            None => Pattern { file: None, name: text.to_owned() },
        }
    }

    /// Whether a function of this file and name is meant.
    pub fn fits(&self, file: &str, name: &str) -> bool {
        ends_with(name, &self.name, '.')
            && self.file.as_deref().is_none_or(|wanted| ends_with(file, wanted, '/'))
    }
}

/// `list.append` for `<method 'append' of 'list' objects>`, and `time.sleep` for `<built-in method time.sleep>`.
pub fn plain_name(shown: &str) -> String {
    let inner = shown.trim_start_matches('<').trim_end_matches('>');
    if let Some((method, class)) = inner.strip_prefix("method '").and_then(|rest| rest.split_once("' of '")) {
        return format!("{}.{method}", class.trim_end_matches("' objects"));
    }
    inner.strip_prefix("built-in method ").unwrap_or(inner).to_owned()
}

/// Whether a text is like the pattern, or what follows one of its separators is: `Model.step` is like `step`.
fn ends_with(text: &str, pattern: &str, separator: char) -> bool {
    is_like(text.as_bytes(), pattern.as_bytes())
        || text.match_indices(separator).any(|(at, _)| is_like(&text.as_bytes()[at + 1..], pattern.as_bytes()))
}

/// `*` is any text, `?` any byte. It takes the length of the one times that of the other at the most.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                (p, t) = (at + 1, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_names_with_classes_and_files() {
        let fits = |pattern: &str, file: &str, name: &str| Pattern::new(pattern).fits(file, name);
        assert!(fits("step", "/a/train.py", "Model.step"));
        assert!(fits("Model.*", "/a/train.py", "Model.step"));
        assert!(fits("train.py:st?p", "/a/train.py", "Model.step"));
        assert!(fits("train.py:", "/a/train.py", "<module>"));
        assert!(fits("*/a/*:*", "/x/a/train.py", "f"));
        assert!(!fits("ste", "/a/train.py", "Model.step"));
        assert!(!fits("rain.py:step", "/a/train.py", "step"));
        assert!(!fits("Model.*", "/a/train.py", "step"));
    }

    #[test]
    fn built_in_functions_have_plain_names() {
        assert_eq!(plain_name("<method 'append' of 'list' objects>"), "list.append");
        assert_eq!(plain_name("<built-in method time.sleep>"), "time.sleep");
        assert_eq!(plain_name("<len>"), "len");
    }
}
