//! Where to send to and as whom: from arguments, else from the variables that every OpenTelemetry program obeys.

use stepscope_ground::Problem;

use crate::client::{Destination, Retry};

/// Where collectors listen.
const USUAL: &str = "http://127.0.0.1:4318";

/// How to send.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For metrics.
    pub metrics: Destination,
    /// For traces.
    pub traces: Destination,
    /// Who sends: `service.name` and more.
    pub resource: Vec<(String, String)>,
    /// How often to try.
    pub retry: Retry,
}

impl Settings {
    /// `endpoint`, `headers` (`NAME=VALUE`) and `service` come before the variables `OTEL_EXPORTER_OTLP_ENDPOINT` (and
    /// `…_METRICS_ENDPOINT`, `…_TRACES_ENDPOINT`), `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and
    /// `OTEL_RESOURCE_ATTRIBUTES`. Without a name the service is called `fallback`.
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
        let mut all_headers = match variable("OTEL_EXPORTER_OTLP_HEADERS") {
            Some(text) => pairs(&text),
            None => Vec::new(),
        };
        for header in headers {
            let (name, value) = header.split_once('=').ok_or_else(|| {
                Problem::new(format!("this is not a header: {header}"), "write --header NAME=VALUE")
            })?;
            all_headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name.trim()));
            all_headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let base = endpoint.map(str::to_owned).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let base = base.unwrap_or_else(|| USUAL.to_owned());
        let to = |signal: &str, path: &str| {
            // A variable of one signal holds the whole URL.
            let own = variable(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).filter(|_| endpoint.is_none());
            let url = own.unwrap_or_else(|| format!("{}{path}", base.trim().trim_end_matches('/')));
            Destination::parse(url.trim(), all_headers.clone())
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

/// `a=1,b=two%20words`.
fn pairs(text: &str) -> Vec<(String, String)> {
    let each = text.split(',').filter_map(|pair| pair.split_once('='));
    let each = each.map(|(key, value)| (key.trim().to_owned(), unescaped(value.trim())));
    each.filter(|(key, _)| !key.is_empty()).collect()
}

/// Percent signs with two digits are the bytes that they name.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex =
            bytes.get(at + 1..at + 3).filter(|hex| bytes[at] == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        let byte =
            hex.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                found.push(byte);
                at += 3;
            }
            None => {
                found.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&found).into_owned()
}
