use stepscope_ask::write;

use super::*;
use crate::check::{Options, check};
use crate::condition::Condition;
use crate::measurement::{How, Measurement, Repeat};

fn checked() -> Checked {
    let measured = |by: f64| {
        let mut measurement = Measurement::new(How::Bare);
        for at in 0..6 {
            let mut repeat = Repeat::default();
            repeat.put("wall_time", [(100.0 + f64::from(at)) * 1e6 * by]);
            repeat.put("kernel:a<\"b\">&\u{1}", [1e6]);
            repeat.put("peak_gpu_memory", [1e9]);
            measurement.repeats.push(repeat);
        }
        measurement
    };
    let conditions = ["wall_time>+5%", "peak_gpu_memory>+2%", "kernel:a<\"b\">&\u{1}>+5%", "step_time>+1%"];
    let conditions: Vec<_> = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
    check(&conditions, Some(&measured(1.0)), &measured(1.5), &Options::default())
}

#[test]
fn every_form_names_every_condition() {
    let checked = checked();
    assert_eq!(sentence(&checked), "fail: 1 of 4 conditions broken");
    let words: Vec<&str> = checked.findings.iter().map(|f| f.outcome.word()).collect();
    assert_eq!(words, ["fail", "pass", "pass", "inconclusive"]);
    let answer = answer(&Arc::new(checked), "Performance | main");
    let text = write::markdown(&answer, false);
    assert!(
        text.starts_with("### ❌ Performance \\| main: fail: 1 of 4 conditions broken\n\n| Fails if |"),
        "{text}"
    );
    assert!(text.contains("| 102.5 ms | 153.8 ms | +50.0% |"), "{text}");
    let json = write::object(&answer, false);
    assert_eq!(json["outcome"], "fail");
    assert!((json["conditions"][0]["comparison"]["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9);
}

#[test]
fn junit_is_sound_xml_whatever_a_kernel_is_called() {
    let text = junit(&checked(), "main");
    assert!(text.contains("<testsuites tests=\"4\" failures=\"2\""), "{text}");
    assert!(text.contains("name=\"kernel:a&lt;&quot;b&quot;&gt;&amp;\u{fffd}&gt;+5%\""), "{text}");
    assert!(text.contains("<failure type=\"inconclusive\""));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn annotations_are_one_line_each() {
    let text = annotations(&checked());
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("::error title=wall_time>+5%25%3A fail::+50.0%25 ("), "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("::warning title=step_time>+1%25"), "{text}");
}
