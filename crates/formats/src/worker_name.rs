//! The worker and the span that the name of a trace carries.

use std::path::Path;

use stepscope_model::Source;

/// Worker and span from a name such as `host_1234.1700000000000000000.pt.trace.json.gz`.
pub(crate) fn name_parts(path: &str, source: &mut Source) {
    let name = Path::new(path).file_name().map(|n| n.to_string_lossy()).unwrap_or_default();
    let Some(at) = name.find(".pt.trace.json") else { return };
    let stem = &name[..at];
    match stem.rsplit_once('.') {
        Some((worker, span)) if span.len() >= 6 && span.bytes().all(|b| b.is_ascii_digit()) => {
            source.worker = Some(worker.to_owned());
            source.span = Some(span.to_owned());
        }
        _ => source.worker = Some(stem.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str) -> (Option<String>, Option<String>) {
        let mut source = Source::default();
        name_parts(name, &mut source);
        (source.worker, source.span)
    }

    #[test]
    fn names_carry_worker_and_span() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(parts("a/host_12.1700000000123.pt.trace.json.gz"), (some("host_12"), some("1700000000123")));
        assert_eq!(parts("rank0.pt.trace.json"), (some("rank0"), None));
        assert_eq!(parts("trace.json"), (None, None));
    }
}
