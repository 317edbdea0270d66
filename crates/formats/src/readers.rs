//! The formats that can be read: one entry each, chosen by how a text begins, never by a file's name.

use crate::reader::Reader;
use crate::{
    calls, collapsed, heap, kineto, lprof, memory_timeline, mprof, pprof, pstats, snapshot, speedscope, xplane,
};

/// Every reader. The first whose format a text begins like reads it, so those that look closest come first.
pub const READERS: &[Reader] = &[
    calls::READER,
    pstats::READER,
    lprof::READER,
    snapshot::READER,
    pprof::READER,
    xplane::READER,
    heap::READER,
    mprof::READER,
    memory_timeline::READER,
    speedscope::READER,
    collapsed::READER,
    kineto::READER,
];

/// The reader of a text that begins like this.
pub(crate) fn find(head: &[u8]) -> Option<&'static Reader> {
    READERS.iter().find(|reader| (reader.begins)(head))
}

/// What can be read, in a sentence.
pub(crate) fn readable() -> String {
    let all: Vec<String> =
        READERS.iter().rev().map(|reader| format!("{} ({})", reader.name, reader.about)).collect();
    format!("stepscope reads {}; each plain, gzip or zstd", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_model::DocumentKind;

    fn found(head: &str) -> Option<DocumentKind> {
        find(head.as_bytes()).map(|reader| reader.yields)
    }

    #[test]
    fn content_decides() {
        for trace in
            ["", " \n", "{", "[", "\u{feff}[{\"ph\":", "{\"schemaVersion\": 1, \"traceEvents\": [", "[\n1 2"]
        {
            assert_eq!(found(trace), Some(DocumentKind::Trace), "{trace}");
        }
        for profile in [
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"#,
            r#" {"exporter": "x", "$schema" : "https://www.speedscope.app/file-format-schema.json"#,
            r#"{"shared":{"frames":[{"name":"a"}]},"profiles":["#,
            r#"{"profiles": [{"type": "sampled", "#,
            "main;read 12\nmain 3\n",
            "main 1",
            "[unknown];[libc];read 7\n",
            "a b;c (d.py:3) 1.5\r\n\r\n",
        ] {
            assert_eq!(found(profile), Some(DocumentKind::Profile), "{profile}");
        }
        for other in ["hello", "hello world\n", "name,count 5\nx\n", "12\n", "a;b 5x\n"] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn a_trace_that_mentions_speedscope_is_a_trace() {
        let text = r#"{"$schema": "https://www.speedscope.app/file-format-schema.json", "traceEvents": ["#;
        assert_eq!(found(text), Some(DocumentKind::Trace));
        assert_eq!(
            found(r#"{"args": {"$schema": "speedscope.app/file-format-schema"}, "#),
            Some(DocumentKind::Trace)
        );
    }

    #[test]
    fn the_sentence_names_every_format() {
        let sentence = readable();
        assert!(READERS.iter().all(|reader| sentence.contains(reader.name)), "{sentence}");
    }
}
