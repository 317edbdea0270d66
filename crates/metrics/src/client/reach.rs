//! The way to a collector: its URL, the proxy in between, and whom to trust.

use std::net::IpAddr;

use stepscope_ground::Problem;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Proxy, ProxyProtocol};

/// A URL that can be sent to.
pub(super) fn uri(url: &str) -> Result<Uri, Problem> {
    let fits = |uri: &Uri| {
        let place = uri.authority().map_or("", |authority| authority.as_str());
        let host = uri.host().unwrap_or_default();
        matches!(uri.scheme_str(), Some("http" | "https"))
            && !host.is_empty()
            && !place.contains('@')
            && (place.len() == host.len() || uri.port_u16().is_some())
    };
    url.parse().ok().filter(fits).ok_or_else(|| {
        let shown: String = url.chars().take(100).collect();
        Problem::new(
            format!("this is not a collector URL: {shown}"),
            "write http://127.0.0.1:4318, or https:// and the collector's name",
        )
    })
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// The proxy that the environment names for this URL. This machine is reached without one.
pub(super) fn proxy(uri: &Uri, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Proxy>, Problem> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    if host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback()) {
        return Ok(None);
    }
    let either = |name: &'static str| {
        let value = variable(name).or_else(|| variable(&name.to_lowercase()));
        value.filter(|value| !value.trim().is_empty()).map(|value| (name, value))
    };
    let mut exempt = Proxy::builder(ProxyProtocol::Http);
    for one in either("NO_PROXY").unwrap_or_default().1.split(',') {
        let one = one.trim();
        // A name covers all below it, as in other programs.
        exempt = exempt.no_proxy(one).no_proxy(&format!(".{}", one.trim_start_matches(['*', '.'])));
    }
    if exempt.build().is_ok_and(|exempt| exempt.is_no_proxy(uri)) {
        return Ok(None);
    }
    let own = either(if is_https(uri) { "HTTPS_PROXY" } else { "HTTP_PROXY" });
    let Some((name, value)) = own.or_else(|| either("ALL_PROXY")) else { return Ok(None) };
    let known = |proxy: &Proxy| matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https);
    match Proxy::new(value.trim()).ok().filter(known) {
        Some(proxy) => Ok(Some(proxy)),
        None => Err(Problem::new(
            format!("{name} is not the URL of an HTTP proxy"),
            "write http://HOST:PORT, or name the collector in NO_PROXY to reach it without one",
        )),
    }
}

/// Whom to trust: who is in the file, else whom the system trusts; where it trusts no one, whom Mozilla does.
pub(super) fn tls(uri: &Uri, certificate: Option<&str>) -> Result<TlsConfig, Problem> {
    let trusted: Vec<Certificate<'static>> = match certificate {
        _ if !is_https(uri) => Vec::new(),
        Some(path) => in_file(path)?,
        None => {
            let system = rustls_native_certs::load_native_certs().certs;
            system.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        }
    };
    let roots = if trusted.is_empty() { RootCerts::WebPki } else { trusted.into() };
    Ok(TlsConfig::builder().root_certs(roots).build())
}

fn in_file(path: &str) -> Result<Vec<Certificate<'static>>, Problem> {
    let hint = "set OTEL_EXPORTER_OTLP_CERTIFICATE to a PEM file with the certificates to trust";
    let pem = std::fs::read(path)
        .map_err(|error| Problem::new(format!("cannot read the certificate: {error}: {path}"), hint))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(found)) => Some(found),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&pem).filter_map(certificate).collect();
    match found.is_empty() {
        true => Err(Problem::new(format!("there is no certificate in this file: {path}"), hint)),
        false => Ok(found),
    }
}
