use super::*;
use crate::testing::exemplar;

fn with(variables: &[(&str, &str)], endpoint: Option<&str>) -> Result<Settings, Problem> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Settings::new(endpoint, &["x-key=7".to_owned()], None, "directory", &variable)
}

#[test]
fn variables_are_obeyed_and_arguments_come_first() {
    let usual = with(&[], None).unwrap();
    assert_eq!(usual.metrics.to_string(), "http://127.0.0.1:4318/v1/metrics");
    assert_eq!(usual.traces.to_string(), "http://127.0.0.1:4318/v1/traces");
    assert_eq!(usual.resource, [("service.name".to_owned(), "directory".to_owned())]);
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:9/"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://tempo:3/push"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,X-Key=2,b=two%20words"),
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=prod"),
    ];
    let found = with(&variables, None).unwrap();
    assert_eq!(found.metrics.to_string(), "http://collector:9/v1/metrics");
    assert_eq!(found.traces.to_string(), "http://tempo:3/push");
    let resource: Vec<String> = found.resource.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(resource, ["service.name=shop", "deployment.environment=prod"]);
    let shown = format!("{:?}", found.metrics);
    assert!(shown.contains("two words") && shown.contains("\"7\"") && !shown.contains("\"2\""), "{shown}");
    let given = with(&variables, Some("http://[::1]:4318")).unwrap();
    assert_eq!(given.traces.to_string(), "http://[::1]:4318/v1/traces");
    let grpc = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    assert!(with(&grpc, None).unwrap_err().hint.contains("http/protobuf"));
    assert!(with(&grpc, Some("http://a")).is_ok());
    let tls = with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a")], None).unwrap();
    assert_eq!(tls.metrics.to_string(), "https://a/v1/metrics");
    let own = [("OTEL_EXPORTER_OTLP_HEADERS", "a=1"), ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=3")];
    let own = with(&own, None).unwrap();
    assert!(format!("{:?}", own.metrics).contains("\"1\"") && format!("{:?}", own.traces).contains("\"3\""));
    assert!(with(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "2500")], None).is_ok());
    for wrong in ["0", "2s"] {
        let error = with(&[("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", wrong)], None).unwrap_err();
        assert!(error.what.ends_with(wrong) && error.hint.contains("10000"), "{error}");
    }
    let missing =
        [("OTEL_EXPORTER_OTLP_CERTIFICATE", "nowhere.pem"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a")];
    assert!(with(&missing, None).unwrap_err().what.ends_with("nowhere.pem"));
}

#[test]
fn ids_are_the_callers_or_always_the_same() {
    let one = exemplar("/a", "42", 1_000_000_000_000, 5);
    assert_eq!(traces::trace_id(&one), traces::trace_id(&one.clone()));
    let other = exemplar("/a", "43", 1_000_000_000_000, 5);
    assert_ne!(traces::trace_id(&one), traces::trace_id(&other));
    let hex = "0af7651916cd43dd8448eb211c80319c";
    let expected: Vec<u8> =
        (0..16).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
    for id in [hex.to_owned(), format!("00-{hex}-b7ad6b7169203331-01")] {
        assert_eq!(traces::trace_id(&exemplar("/a", &id, 7, 5)).to_vec(), expected);
    }
    for id in ["00000000000000000000000000000000", "00-x-y-01", "é".repeat(16).as_str()] {
        assert_ne!(traces::trace_id(&exemplar("/a", id, 7, 5)), [0; 16]);
    }
}
