//! Where to send to and as whom: from arguments, else from the variables that every OpenTelemetry program obeys.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use stepscope_ground::Problem;

use crate::client::{Destination, Retry};

const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:4318";
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct Settings {
    pub metrics: Destination,
    pub traces: Destination,
    /// Who sends: `service.name` and more.
    pub resource: Vec<(String, String)>,
    pub retry: Retry,
}

impl Settings {
    /// `endpoint`, `headers` (`NAME=VALUE`) and `service` come before the variables `OTEL_EXPORTER_OTLP_ENDPOINT`,
    /// `…_HEADERS`, `…_TIMEOUT` and `…_CERTIFICATE` (and `OTEL_EXPORTER_OTLP_METRICS_…`, `OTEL_EXPORTER_OTLP_TRACES_…`),
    /// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. Without a name the service is called `fallback`.
    pub fn new(
        endpoint: Option<&str>,
        headers: &[String],
        service: Option<&str>,
        fallback: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Problem> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if endpoint.is_none()
            && let Some(protocol) = variable("OTEL_EXPORTER_OTLP_PROTOCOL")
            && protocol.trim() != "http/protobuf"
        {
            return Err(Problem::new(
                format!("OTEL_EXPORTER_OTLP_PROTOCOL asks for {}", protocol.trim()),
                "only http/protobuf is known here: set that, or give --endpoint http://127.0.0.1:4318",
            ));
        }
        let mut given = Vec::new();
        for header in headers {
            let (name, value) = header.split_once('=').ok_or_else(|| {
                Problem::new(format!("this is not a header: {header}"), "write --header NAME=VALUE")
            })?;
            given.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let base = endpoint.map(str::to_owned).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let base = base.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
        let to = |signal: &str, path: &str| {
            let own = |name: &str| variable(&format!("OTEL_EXPORTER_OTLP_{signal}_{name}"));
            let either = |name: &str| own(name).or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")));
            // A variable of one signal holds the whole URL.
            let url = own("ENDPOINT").filter(|_| endpoint.is_none());
            let url = url.unwrap_or_else(|| format!("{}{path}", base.trim().trim_end_matches('/')));
            let mut headers = pairs(&either("HEADERS").unwrap_or_default());
            headers.retain(|(known, _)| !given.iter().any(|(name, _)| known.eq_ignore_ascii_case(name)));
            headers.extend(given.iter().cloned());
            let within = either("TIMEOUT").map_or(Ok(USUAL_TIMEOUT), |text| timeout(&text))?;
            Destination::new(url.trim(), &headers, within, either("CERTIFICATE").as_deref(), &variable)
        };
        let mut resource = variable("OTEL_RESOURCE_ATTRIBUTES").map_or_else(Vec::new, |text| pairs(&text));
        let named = service.map(str::to_owned).or_else(|| variable("OTEL_SERVICE_NAME"));
        let is_name = |(key, _): &(String, String)| key == "service.name";
        if named.is_some() || !resource.iter().any(is_name) {
            resource.retain(|pair| !is_name(pair));
            resource.insert(0, ("service.name".to_owned(), named.unwrap_or_else(|| fallback.to_owned())));
        }
        resource.truncate(64);
        Ok(Self {
            metrics: to("METRICS", "/v1/metrics")?,
            traces: to("TRACES", "/v1/traces")?,
            resource,
            retry: Retry::default(),
        })
    }
}

fn timeout(text: &str) -> Result<Duration, Problem> {
    let ms = text.trim().parse().ok().filter(|ms| *ms > 0);
    ms.map(Duration::from_millis).ok_or_else(|| {
        Problem::new(
            format!("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds: {}", text.trim()),
            "write 10000 for ten seconds",
        )
    })
}

/// `a=1,b=two%20words`.
fn pairs(text: &str) -> Vec<(String, String)> {
    let each = text.split(',').filter_map(|pair| pair.split_once('='));
    let each = each.map(|(key, value)| {
        (key.trim().to_owned(), percent_decode_str(value.trim()).decode_utf8_lossy().into_owned())
    });
    each.filter(|(key, _)| !key.is_empty()).collect()
}
