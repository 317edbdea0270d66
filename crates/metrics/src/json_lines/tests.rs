use super::*;
use crate::testing::{block, folder, write};

/// 2026-08-14T01:00Z
const HOUR: i64 = 496_297;

fn written(lines: &mut JsonLines, now_ns: i64) -> Vec<Value> {
    let mut out = Vec::new();
    lines.write(now_ns, &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_minute_is_written_once_it_is_over() {
    let folder = folder("lines");
    let first = HOUR * 60;
    write(&folder, HOUR, 1, "minutes", &[block(first, 0, "/a", &[5_000_000, 150_000_000])]);
    write(&folder, HOUR, 2, "minutes", &[block(first, 0, "/a", &[5_000_000]), block(first + 1, 1, "/b", &[7])]);
    write(&folder, HOUR + 1, 2, "open", &[block(first + 60, 2, "/b", &[7, 8])]);
    let mut lines = JsonLines::new(ServiceDir::open(&folder).unwrap(), first);
    assert!(written(&mut lines, (first + 1) * MINUTE_NS + 4_000_000_000).is_empty());
    let found = written(&mut lines, (first + 1) * MINUTE_NS + 6_000_000_000);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["minute"], "2026-08-14T01:00Z");
    assert_eq!(
        (&found[0]["route"], &found[0]["requests"], &found[0]["errors"]),
        (&json!("/a"), &json!(3), &json!(1))
    );
    assert_eq!(found[0]["latency"]["max_ns"], json!(150_000_000));
    assert_eq!(found[0]["latency"]["sum_ns"], json!(160_000_000));
    assert_eq!(found[0]["targets"]["p95<100ms"], json!({"requests": 3, "missed": 1}));
    assert_eq!(found[0]["regions"]["inference"]["count"], json!(3));
    let rest = written(&mut lines, (first + 61) * MINUTE_NS + 6_000_000_000);
    let minutes: Vec<&str> = rest.iter().map(|line| line["minute"].as_str().unwrap()).collect();
    assert_eq!(minutes, ["2026-08-14T01:01Z", "2026-08-14T02:00Z"]);
    assert!(written(&mut lines, (first + 61) * MINUTE_NS + 7_000_000_000).is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}
