//! The dashboard of a service in one file: all routes, and each of those with most of the time.

use std::collections::BTreeMap;

use stepscope_ground::Problem;
use stepscope_service::dashboard::ServiceDashboard;
use stepscope_service::{Hours, Period};

use super::html;
use super::pack::pack;
use crate::messages::{ReportMade, ServiceOpened, SessionInfo};

/// Routes that can be chosen in the file.
const MAX_ROUTES: usize = 20;

/// Writes the dashboard of a service over a period as one file.
pub fn service_report(hours: &Hours, period: Period, version: &str) -> Result<Vec<u8>, Problem> {
    let make =
        |route: Option<&str>| ServiceDashboard::make(hours, period, route).map(ServiceDashboard::for_later);
    let mut all = make(None)?;
    let mut largest: Vec<(String, f64)> =
        all.routes.iter().map(|row| (row.route.clone(), row.time_share)).collect();
    largest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if largest.len() > MAX_ROUTES {
        all.notes.push(format!(
            "this file has the details of the {MAX_ROUTES} routes with the most time; `stepscope view` shows the others"
        ));
    }
    let name = all.name.clone();
    let mut dashboards = BTreeMap::new();
    for (route, _) in largest.into_iter().take(MAX_ROUTES) {
        let dashboard = make(Some(&route))?;
        dashboards.insert(route, dashboard);
    }
    dashboards.insert(String::new(), all);
    let opened = SessionInfo {
        version,
        watching: false,
        runs: Vec::new(),
        history: false,
        service: Some(ServiceOpened { name: name.clone() }),
        problem: None,
        report: Some(ReportMade { made: &name, left_out: &[] }),
    };
    let sections = [pack("services", &dashboards)?, pack("meta", &opened)?];
    Ok(html::bundle()?.with(&name, &sections))
}
