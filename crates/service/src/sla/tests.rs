use super::*;

fn one(text: &str) -> Target {
    let mut targets = parse(text).unwrap();
    assert_eq!(targets.len(), 1);
    targets.remove(0)
}

#[test]
fn targets_are_read_from_text() {
    for (text, spelled, goal, allowed) in [
        ("p95<100ms", "p95<100ms", Goal::Latency { limit_ns: 99_999_999 }, 0.05),
        (" P99 <= 2 s", "p99<=2s", Goal::Latency { limit_ns: 2_000_000_000 }, 0.01),
        ("p99.9<1500us", "p99.9<1500us", Goal::Latency { limit_ns: 1_499_999 }, 0.001),
        ("p50<0.25", "p50<250ms", Goal::Latency { limit_ns: 249_999_999 }, 0.5),
        ("2.0", "each<=2s", Goal::Latency { limit_ns: 2_000_000_000 }, 0.0),
        ("max<1min", "each<60s", Goal::Latency { limit_ns: 59_999_999_999 }, 0.0),
        ("error_rate<1%", "error_rate<1%", Goal::Errors, 0.01),
        ("error_rate<0.001", "error_rate<0.001", Goal::Errors, 0.001),
    ] {
        let target = one(text);
        assert_eq!((target.text.as_str(), target.goal, target.allowed), (spelled, goal, allowed), "{text}");
        // What is printed can be read again.
        assert_eq!(one(&target.text), target);
    }
    assert_eq!(parse("p95<100ms, error_rate<1%").unwrap().len(), 2);
}

#[test]
fn what_is_no_target_says_what_one_looks_like() {
    for text in [
        "",
        ",",
        "fast",
        "p95",
        "p95>100ms",
        "p0<1s",
        "p100<1s",
        "p95<",
        "p95<-1s",
        "p95<1e300s",
        "error_rate<200%",
        "-1",
        "nan",
        "pnan<1s",
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.hint.contains("p95<100ms"), "{text}: {error}");
    }
    let many = ["p95<100ms"; 9].join(",");
    assert_eq!(parse(&many).unwrap_err().hint, "give 8 at most");
}

#[test]
fn a_request_at_the_limit_counts_as_it_is_written() {
    let ms = |n: u64| n * 1_000_000;
    assert!(one("p95<100ms").is_missed_by(ms(100), false));
    assert!(!one("p95<=100ms").is_missed_by(ms(100), false));
    // The document's rule: a violation is above two seconds.
    assert!(!one("2.0").is_missed_by(2_000_000_000, true));
    assert!(one("2.0").is_missed_by(2_000_000_001, false));
    assert!(one("error_rate<1%").is_missed_by(0, true) && !one("error_rate<1%").is_missed_by(ms(9_000), false));
}

#[test]
fn budgets_burn_by_what_is_allowed() {
    let target = one("p95<100ms");
    // 5 of 100 may be slow: exactly the budget. 10 of 100 are twice as fast as it allows.
    assert_eq!(target.burn_rate(100, 5), Some(1.0));
    assert_eq!(target.burn_rate(100, 10), Some(2.0));
    assert!(target.is_kept(100, 5) && !target.is_kept(100, 6));
    assert_eq!(target.burn_rate(0, 0), None);
    assert_eq!(one("2.0").burn_rate(100, 1), None);
    assert!(one("2.0").is_kept(100, 0) && !one("2.0").is_kept(100, 1));
}
