//! What goes with the metrics, made by code so that it names those that exist: a dashboard for Grafana and rules for
//! Prometheus. `docs/grafana-dashboard.json` and `docs/prometheus-alerts.yml` are these.

mod alerts;
mod dashboard;

pub use alerts::alerts;
pub use dashboard::dashboard;
