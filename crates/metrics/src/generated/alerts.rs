//! Rules for Prometheus: how fast error budgets are used up, over two windows each, and a few plain alarms.

use std::fmt::Write;

use stepscope_service::thresholds::{
    BURN_WINDOWS_MINUTES, FAST_BURN_MINUTES, FAST_BURN_TIMES, SLOW_BURN_MINUTES, SLOW_BURN_TIMES,
};

const GROUP_BY: &str = "job, route, target";

struct Alert {
    name: &'static str,
    expr: String,
    hold: &'static str,
    severity: &'static str,
    summary: &'static str,
    description: &'static str,
}

/// `5m`, `6h`.
fn window(minutes: i64) -> String {
    if minutes % 60 == 0 { format!("{}h", minutes / 60) } else { format!("{minutes}m") }
}

/// Two windows: the long one says that it matters, the short one that it goes on.
fn burns(minutes: [i64; 2], factor: f64) -> String {
    let [short, long] = minutes.map(window);
    format!(
        "route_target:stepscope_sla_burn:rate{short} > {factor}\nand\nroute_target:stepscope_sla_burn:rate{long} > {factor}"
    )
}

fn all() -> Vec<Alert> {
    vec![
        Alert {
            name: "StepscopeBudgetBurnsFast",
            expr: burns(FAST_BURN_MINUTES, FAST_BURN_TIMES),
            hold: "",
            severity: "page",
            summary: "{{ $labels.route }} uses up its error budget fast",
            description: "{{ $labels.target }} is missed {{ $value | humanize }} times as often as is allowed: the budget of 30 days lasts two.",
        },
        Alert {
            name: "StepscopeBudgetBurnsSlowly",
            expr: burns(SLOW_BURN_MINUTES, SLOW_BURN_TIMES),
            hold: "",
            severity: "ticket",
            summary: "{{ $labels.route }} uses up its error budget",
            description: "{{ $labels.target }} is missed {{ $value | humanize }} times as often as is allowed: the budget of 30 days lasts five.",
        },
        Alert {
            name: "StepscopeTargetMissed",
            expr: format!(
                "sum by ({GROUP_BY}) (increase(stepscope_sla_missed_total[5m])) > 0\nunless on ({GROUP_BY})\nstepscope_sla_allowed_ratio"
            ),
            hold: "",
            severity: "ticket",
            summary: "{{ $labels.route }} misses a target that no request may miss",
            description: "{{ $labels.target }} was missed in the last five minutes, by about {{ $value | humanize }} of the requests.",
        },
        Alert {
            name: "StepscopeRequestsFail",
            expr: "sum by (job, route) (rate(stepscope_request_errors_total[5m]))\n/\nsum by (job, route) (rate(stepscope_requests_total[5m]))\n> 0.05".to_owned(),
            hold: "5m",
            severity: "page",
            summary: "Requests of {{ $labels.route }} fail",
            description: "{{ $value | humanizePercentage }} of the requests of the last five minutes failed.",
        },
        Alert {
            name: "StepscopeMemoryGrows",
            expr: "stepscope_process_resident_memory_max_bytes\n> 1.5 * (stepscope_process_resident_memory_max_bytes offset 1d)".to_owned(),
            hold: "30m",
            severity: "ticket",
            summary: "A process of {{ $labels.job }} holds half as much again as a day ago",
            description: "The largest process holds {{ $value | humanize1024 }}B.",
        },
        Alert {
            name: "StepscopeRequestsLost",
            expr: "increase(stepscope_requests_lost_total[1h]) > 0".to_owned(),
            hold: "",
            severity: "ticket",
            summary: "Requests of {{ $labels.job }} are counted nowhere",
            description: "The directory of the service could not be written for more than an hour.",
        },
        Alert {
            name: "StepscopeExportTroubled",
            expr: "stepscope_export_troubles > 0".to_owned(),
            hold: "15m",
            severity: "ticket",
            summary: "Some files of {{ $labels.job }} cannot be read or written",
            description: "`stepscope production report` on the service's directory says which.",
        },
    ]
}

/// The rules as YAML.
pub fn alerts() -> String {
    let mut out = String::from(
        "# Rules for the metrics of stepscope production export.\n# Made by code: UPDATE_DOCS=1 cargo test -p stepscope-metrics\ngroups:\n  - name: stepscope-burn-rates\n    rules:\n",
    );
    for window in BURN_WINDOWS_MINUTES.map(window) {
        let _ = writeln!(out, "      - record: route_target:stepscope_sla_burn:rate{window}");
        let rate = |name: &str| format!("sum by ({GROUP_BY}) (rate({name}[{window}]))");
        let expr = format!(
            "{}\n/\n{}\n/ on ({GROUP_BY})\nmax by ({GROUP_BY}) (stepscope_sla_allowed_ratio)",
            rate("stepscope_sla_missed_total"),
            rate("stepscope_sla_requests_total")
        );
        block(&mut out, "expr", &expr, 8);
    }
    out.push_str("  - name: stepscope-alerts\n    rules:\n");
    for alert in all() {
        let _ = writeln!(out, "      - alert: {}", alert.name);
        block(&mut out, "expr", &alert.expr, 8);
        if !alert.hold.is_empty() {
            let _ = writeln!(out, "        for: {}", alert.hold);
        }
        let _ = writeln!(out, "        labels:\n          severity: {}", alert.severity);
        let _ = writeln!(out, "        annotations:");
        let _ = writeln!(out, "          summary: \"{}\"", alert.summary);
        let _ = writeln!(out, "          description: \"{}\"", alert.description);
    }
    out
}

fn block(out: &mut String, key: &str, text: &str, indent: usize) {
    let space = " ".repeat(indent);
    let _ = writeln!(out, "{space}{key}: |");
    for line in text.lines() {
        let _ = writeln!(out, "{space}  {line}");
    }
}
