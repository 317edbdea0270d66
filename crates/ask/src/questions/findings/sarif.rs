//! Findings as SARIF 2.1.0, the form in which code scanning reads results.

use serde_json::{Value, json};
use stepscope_analyse::findings::{Finding, RULES, Rule, Severity, Thresholds};

use super::{FindingList, words};

pub(super) fn document(found: &FindingList, thresholds: &Thresholds) -> Value {
    let rules: Vec<Value> = RULES.iter().map(|r| rule(r, thresholds)).collect();
    let results: Vec<Value> = found.shown.rows.iter().map(|f| result(f, found)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "stepscope",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                },
            },
            "artifacts": [{ "location": { "uri": uri(&found.path) } }],
            "results": results,
            "columnKind": "unicodeCodePoints",
            "properties": { "step_ns": found.step_ns, "steps": found.steps },
        }],
    })
}

fn rule(rule: &Rule, thresholds: &Thresholds) -> Value {
    let values: serde_json::Map<String, Value> =
        rule.thresholds.iter().map(|t| (t.name.to_owned(), json!(thresholds.get(t.name)))).collect();
    json!({
        "id": rule.name,
        "name": rule.name,
        "shortDescription": { "text": rule.about },
        "defaultConfiguration": { "level": "warning", "enabled": thresholds.is_on(rule.name) },
        "properties": { "tags": ["performance"], "thresholds": values },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn result(finding: &Finding, found: &FindingList) -> Value {
    let saves = words::saves(finding, found.whole).first().map(|text| format!(" ({text})")).unwrap_or_default();
    let text = format!("{}{saves}. {} {}", finding.title, finding.why, finding.fix);
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [{ "physicalLocation": place(finding, found) }],
        "properties": {
            "severity": finding.severity,
            "confidence": finding.confidence,
            "saves_ns": finding.saves_ns,
            "saves_share": finding.saves_share,
            "saves_unprofiled_ns": finding.saves_unprofiled_ns,
            "saves_unprofiled_share": finding.saves_unprofiled_share,
            "estimate": finding.estimate,
            "evidence": finding.evidence,
            "code": finding.code,
            "verify": finding.verify,
        },
    });
    if let (Some(at), Some(object)) =
        (RULES.iter().position(|r| r.name == finding.rule), result.as_object_mut())
    {
        object.insert("ruleIndex".to_owned(), json!(at));
    }
    result
}

/// The line of the program, or else the trace: a result without a place is not shown anywhere.
fn place(finding: &Finding, found: &FindingList) -> Value {
    match finding.source.as_deref().and_then(line_of) {
        Some((file, line)) => {
            json!({ "artifactLocation": { "uri": uri(file) }, "region": { "startLine": line } })
        }
        None => json!({ "artifactLocation": { "uri": uri(&found.path), "index": 0 } }),
    }
}

/// File and line of a Python frame (`train.py(12): step`).
fn line_of(frame: &str) -> Option<(&str, u64)> {
    let (before, _) = frame.split_once("): ")?;
    let (file, line) = before.rsplit_once('(')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// A path as a URI: absolute ones with a scheme, others relative to where the program ran.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut text = String::new();
    if path.starts_with('/') {
        text.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte))
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_places() {
        assert_eq!(line_of("src/train (1).py(12): step"), Some(("src/train (1).py", 12)));
        assert_eq!(line_of("<built-in method item>"), None);
        assert_eq!(line_of("a.py(0): f"), None);
        assert_eq!(line_of("a.py(x): f"), None);
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("/data/a b.json"), "file:///data/a%20b.json");
        assert_eq!(uri("src\\ä.py"), "src/%C3%A4.py");
        assert_eq!(uri("a:b%.py"), "a%3Ab%25.py");
    }
}
