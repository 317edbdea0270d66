//! Sending a message to a collector: one POST over HTTP or HTTPS, tried again where the collector asks for that.

mod reach;

use std::io::Read;
use std::time::{Duration, Instant};

use rustls::CertificateError;
use stepscope_ground::Problem;
use stepscope_ground::protobuf::{Field, Fields};
use ureq::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{HeaderName, HeaderValue, Response, Uri};
use ureq::{Agent, Body, Error};

/// More of an answer is not read.
const MAX_ANSWER: u64 = 64 << 10;
const HINT: &str = "check --endpoint, and the collector's own log";

/// Where to send to, and how to get there.
#[derive(Clone, Debug)]
pub struct Destination {
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    agent: Agent,
}

#[derive(Copy, Clone, Debug)]
pub struct Retry {
    pub attempts: u32,
    /// The first wait; each later one is twice as long.
    pub first: Duration,
    /// The longest wait, whatever the collector asks for.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_millis(500), longest: Duration::from_secs(8) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It arrived. The problem is the collector's, if it took only some of it.
    Taken(Option<Problem>),
    /// It was not taken; it may be sent again later.
    NotNow(Problem),
    /// The collector will not take it as it is.
    Refused(Problem),
}

impl Destination {
    /// Reads a URL. A path that is missing is `/`. `within`: how long one attempt may take. `certificate`: a file with the
    /// certificates that are trusted instead of the system's. Proxies come from `variable`, as for other programs.
    pub fn new(
        url: &str,
        headers: &[(String, String)],
        within: Duration,
        certificate: Option<&str>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Problem> {
        let uri = reach::uri(url)?;
        let header = |(name, value): &(String, String)| {
            let read = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            read.ok_or_else(|| {
                Problem::new(
                    format!("this is not an HTTP header: {name}"),
                    "write NAME=VALUE, with letters, digits and dashes in the name",
                )
            })
        };
        let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
        let config = Agent::config_builder()
            .timeout_global(Some(within))
            .http_status_as_error(false)
            // Headers may hold an access token: no one else gets it.
            .max_redirects(0)
            .user_agent(concat!("stepscope/", env!("CARGO_PKG_VERSION")))
            .proxy(reach::proxy(&uri, variable)?)
            .tls_config(reach::tls(&uri, certificate)?);
        Ok(Self { uri, headers, agent: config.build().new_agent() })
    }

    /// Sends, and tries again where that may help. `stop` ends the waiting.
    pub fn send(&self, body: &[u8], retry: Retry, stop: &dyn Fn() -> bool) -> SendOutcome {
        let mut wait = retry.first;
        let mut attempts = 1;
        loop {
            let (problem, asked) = match self.post(body) {
                Ok(mut answer) if answer.status().is_success() => {
                    return SendOutcome::Taken(partial_success(&beginning(&mut answer)));
                }
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let hint = match status {
                        401 | 403 => "give its access token, such as --header authorization=…",
                        _ => HINT,
                    };
                    let what = format!("the collector at {self} answers with status {status}");
                    let problem = Problem::new(what, hint);
                    // These ask to try again (OTLP); a gateway that has no collector behind it, too.
                    if !matches!(status, 429 | 502 | 503 | 504) {
                        return SendOutcome::Refused(problem);
                    }
                    (problem, retry_after(&answer))
                }
                Err(error) => match self.distrust(&error) {
                    Some(problem) => return SendOutcome::Refused(problem),
                    None => (self.unreachable(&error), None),
                },
            };
            if attempts >= retry.attempts || !pause(asked.unwrap_or(wait).min(retry.longest), stop) {
                return SendOutcome::NotNow(problem);
            }
            attempts += 1;
            wait = (wait * 2).min(retry.longest);
        }
    }

    fn post(&self, body: &[u8]) -> Result<Response<Body>, Error> {
        let mut request = self.agent.post(&self.uri).header(CONTENT_TYPE, "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        // Ten seconds from now a connection that is kept may be half closed.
        request.header(CONNECTION, "close").send(body)
    }

    /// What is wrong with its certificate, if anything is.
    fn distrust(&self, error: &Error) -> Option<Problem> {
        let rustls::Error::InvalidCertificate(why) = tls_error(error)? else { return None };
        let (why, hint) = match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                ("it has expired".to_owned(), "renew it, or check the clock of this machine")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ("it is for another name".to_owned(), "use the name that the certificate is for")
            }
            CertificateError::UnknownIssuer => (
                "it is not signed by an authority that this machine trusts".to_owned(),
                "set OTEL_EXPORTER_OTLP_CERTIFICATE to a PEM file with the certificate of who signed it",
            ),
            other => (other.to_string(), "ask whoever runs the collector"),
        };
        Some(Problem::new(format!("the certificate of the collector at {self} is not trusted: {why}"), hint))
    }

    fn unreachable(&self, error: &Error) -> Problem {
        let why = match error {
            Error::Timeout(_) => "it takes too long".to_owned(),
            Error::HostNotFound => "its name has no address".to_owned(),
            Error::Protocol(_) => "its answer is not HTTP".to_owned(),
            Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        let hint = match tls_error(error) {
            Some(_) => "check whether its URL begins with http:// or with https://",
            None => HINT,
        };
        Problem::new(format!("the collector at {self} cannot be reached: {why}"), hint)
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.uri.fmt(f)
    }
}

fn tls_error(error: &Error) -> Option<&rustls::Error> {
    match error {
        Error::Rustls(error) => Some(error),
        Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// As much of an answer as is read. Its status has been read, so what fails here changes nothing.
fn beginning(answer: &mut Response<Body>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = answer.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut bytes);
    bytes
}

fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Waits; false if it is to stop.
fn pause(wait: Duration, stop: &dyn Fn() -> bool) -> bool {
    let until = Instant::now() + wait;
    while Instant::now() < until {
        if stop() {
            return false;
        }
        std::thread::sleep(wait.min(Duration::from_millis(50)));
    }
    !stop()
}

/// The words of `partial_success` in an answer of OTLP: field 1 with how many were refused, and why.
fn partial_success(body: &[u8]) -> Option<Problem> {
    let (_, Field::Bytes(body)) = Fields::new(body).next()?.ok().filter(|(field, _)| *field == 1)? else {
        return None;
    };
    let (mut refused, mut why) = (0, String::new());
    for field in Fields::new(body) {
        match field.ok()? {
            (1, Field::Number(count)) => refused = count,
            (2, Field::Bytes(text)) => why = String::from_utf8_lossy(text).chars().take(200).collect(),
            _ => {}
        }
    }
    let what = format!("the collector refused {refused} of them: {why}");
    (refused > 0 || !why.is_empty()).then(|| Problem::new(what, "look into the collector's own log"))
}

#[cfg(test)]
mod tests;
