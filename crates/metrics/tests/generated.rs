//! `docs/grafana-dashboard.json` and `docs/prometheus-alerts.yml` are what the code makes, and name metrics that exist.

use std::collections::BTreeSet;
use std::path::PathBuf;

use stepscope_metrics::{FAMILIES, Kind, alerts, dashboard};

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn files_are_what_the_code_makes() {
    for (name, made) in [("grafana-dashboard.json", dashboard()), ("prometheus-alerts.yml", alerts())] {
        let path = docs().join(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == made,
            "docs/{name} is not what the code makes: UPDATE_DOCS=1 cargo test -p stepscope-metrics"
        );
    }
}

#[test]
fn queries_name_metrics_that_exist() {
    let mut known: BTreeSet<String> = (FAMILIES.iter())
        .flat_map(|about| match about.kind {
            Kind::Counter => vec![format!("{}_total", about.name)],
            Kind::Histogram => vec![format!("{}_bucket", about.name)],
            Kind::Info => vec![format!("{}_info", about.name)],
            Kind::Gauge => vec![about.name.to_owned()],
        })
        .collect();
    for window in ["5m", "30m", "1h", "6h"] {
        known.insert(format!("stepscope_sla_burn:rate{window}"));
    }
    for text in [dashboard(), alerts()] {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
        let named: BTreeSet<String> = words
            .map(|word| word.trim_start_matches("route_target:").to_owned())
            .filter(|w| w.starts_with("stepscope_"))
            .collect();
        assert!(named.len() > 8, "{named:?}");
        assert!(named.is_subset(&known), "{:?}", named.difference(&known));
    }
}

#[test]
fn charts_do_not_overlap() {
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard()).unwrap();
    let mut cells = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for x in place("x")..place("x") + place("w") {
            assert!(cells.insert((x, place("y"))), "{panel}");
        }
    }
}
