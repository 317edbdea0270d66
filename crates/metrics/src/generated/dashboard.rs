//! A dashboard for Grafana: traffic, errors, latencies, regions, budgets and memory.

use serde_json::{Value, json};

/// Widths of Grafana's grid.
const FULL_WIDTH: u32 = 24;
const HALF_WIDTH: u32 = 12;
const CHART_HEIGHT: u32 = 8;

const SELECTOR: &str = "job=~\"$job\", route=~\"$route\"";

struct Chart {
    title: &'static str,
    about: &'static str,
    unit: &'static str,
    width: u32,
    stacked: bool,
    /// Queries with their legends.
    queries: Vec<(String, &'static str)>,
}

fn rate(name: &str, by: &str) -> String {
    format!("sum by ({by}) (rate({name}{{{SELECTOR}}}[$__rate_interval]))")
}

fn quantile(share: &str, name: &str, by: &str) -> String {
    format!("histogram_quantile({share}, {})", rate(&format!("{name}_bucket"), &format!("{by}, le")))
}

fn charts() -> Vec<Chart> {
    let latency = "stepscope_request_duration_seconds";
    let quantiles = [("p50", "0.5"), ("p95", "0.95"), ("p99", "0.99")];
    let mut charts = vec![
        Chart {
            title: "Requests",
            about: "Requests that ended, per second.",
            unit: "reqps",
            width: HALF_WIDTH,
            stacked: true,
            queries: vec![(rate("stepscope_requests_total", "route"), "{{route}}")],
        },
        Chart {
            title: "Errors",
            about: "Share of requests that failed.",
            unit: "percentunit",
            width: HALF_WIDTH,
            stacked: false,
            queries: vec![(
                format!(
                    "{} / {}",
                    rate("stepscope_request_errors_total", "route"),
                    rate("stepscope_requests_total", "route")
                ),
                "{{route}}",
            )],
        },
    ];
    for (name, share) in quantiles {
        charts.push(Chart {
            title: match name {
                "p50" => "Latency, p50",
                "p95" => "Latency, p95",
                _ => "Latency, p99",
            },
            about: "From classic buckets. With native histograms, leave `_bucket` and `le` out: 1.4% off at the most.",
            unit: "s",
            width: 8,
            stacked: false,
            queries: vec![(quantile(share, latency, "route"), "{{route}}")],
        });
    }
    charts.extend([
        Chart {
            title: "Time per request, by region",
            about: "Without regions inside; what no region covers is not shown.",
            unit: "s",
            width: HALF_WIDTH,
            stacked: true,
            queries: vec![(
                format!(
                    "{} / on (route) group_left () {}",
                    rate("stepscope_region_self_seconds_total", "route, region"),
                    rate("stepscope_requests_total", "route")
                ),
                "{{route}} {{region}}",
            )],
        },
        Chart {
            title: "Regions, p95",
            about: "How long regions were open, regions inside them included.",
            unit: "s",
            width: HALF_WIDTH,
            stacked: false,
            queries: vec![(
                quantile("0.95", "stepscope_region_duration_seconds", "route, region"),
                "{{route}} {{region}}",
            )],
        },
        Chart {
            title: "Error budgets: burn rate",
            about: "How many times as fast as allowed a budget is used up; over 14.4 it lasts two days instead of thirty. Needs the rules in prometheus-alerts.yml.",
            unit: "none",
            width: HALF_WIDTH,
            stacked: false,
            queries: vec![
                (format!("route_target:stepscope_sla_burn:rate5m{{{SELECTOR}}}"), "{{route}} {{target}} 5 min"),
                (format!("route_target:stepscope_sla_burn:rate1h{{{SELECTOR}}}"), "{{route}} {{target}} 1 h"),
            ],
        },
        Chart {
            title: "Targets: missed",
            about: "Share of requests that missed a target, over the time shown.",
            unit: "percentunit",
            width: HALF_WIDTH,
            stacked: false,
            queries: vec![(
                format!(
                    "{} / {}",
                    rate("stepscope_sla_missed_total", "route, target"),
                    rate("stepscope_sla_requests_total", "route, target")
                ),
                "{{route}} {{target}}",
            )],
        },
        Chart {
            title: "Samples and tokens",
            about: "Per second.",
            unit: "ops",
            width: 8,
            stacked: false,
            queries: vec![
                (rate("stepscope_samples_total", "route"), "{{route}} samples"),
                (rate("stepscope_tokens_total", "route"), "{{route}} tokens"),
            ],
        },
        Chart {
            title: "Memory",
            about: "Of processes that answered requests in the last five minutes.",
            unit: "bytes",
            width: 8,
            stacked: false,
            queries: vec![
                ("sum by (job) (stepscope_process_resident_memory_bytes{job=~\"$job\"})".to_owned(), "{{job}} together"),
                ("max by (job) (stepscope_process_resident_memory_max_bytes{job=~\"$job\"})".to_owned(), "{{job}} largest"),
            ],
        },
        Chart {
            title: "Processors and processes",
            about: "Processors in use, and processes that answered requests in the last five minutes.",
            unit: "none",
            width: 8,
            stacked: false,
            queries: vec![
                (
                    "sum by (job) (rate(stepscope_process_cpu_seconds_total{job=~\"$job\"}[$__rate_interval]))".to_owned(),
                    "{{job}} processors",
                ),
                ("sum by (job) (stepscope_processes{job=~\"$job\"})".to_owned(), "{{job}} processes"),
            ],
        },
    ]);
    charts
}

fn variable(name: &str, label: &str, query: &str) -> Value {
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": true,
        "includeAll": true,
        "allValue": ".*",
        "current": {"selected": true, "text": ["All"], "value": ["$__all"]},
    })
}

/// The dashboard as JSON, to be imported.
pub fn dashboard() -> String {
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for (at, chart) in charts().into_iter().enumerate() {
        if x + chart.width > FULL_WIDTH {
            (x, y) = (0, y + CHART_HEIGHT);
        }
        let targets: Vec<Value> = chart
            .queries
            .iter()
            .zip('A'..)
            .map(|((query, legend), name)| {
                json!({
                    "refId": name.to_string(),
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "expr": query,
                    "legendFormat": legend,
                    "range": true,
                })
            })
            .collect();
        let stacking = if chart.stacked { "normal" } else { "none" };
        panels.push(json!({
            "id": at + 1,
            "type": "timeseries",
            "title": chart.title,
            "description": chart.about,
            "gridPos": {"x": x, "y": y, "w": chart.width, "h": CHART_HEIGHT},
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "fieldConfig": {
                "defaults": {
                    "unit": chart.unit,
                    "min": 0,
                    "custom": {"fillOpacity": if chart.stacked { 30 } else { 0 }, "stacking": {"mode": stacking}},
                },
                "overrides": [],
            },
            "options": {
                "legend": {"displayMode": "list", "placement": "bottom"},
                "tooltip": {"mode": "multi", "sort": "desc"},
            },
            "targets": targets,
        }));
        x += chart.width;
    }
    let dashboard = json!({
        "title": "Stepscope: requests of a service",
        "uid": "stepscope-service",
        "tags": ["stepscope"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}},
            variable("job", "Service", "label_values(stepscope_requests_total, job)"),
            variable("route", "Route", "label_values(stepscope_requests_total{job=~\"$job\"}, route)"),
        ]},
        "annotations": {"list": []},
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}
