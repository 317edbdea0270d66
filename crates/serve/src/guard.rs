//! Who may ask: only this user's browser, through the address that was printed.
//!
//! The token keeps out other users of the machine; the checks of `Host` and of where a request comes from keep out web
//! pages that point a name of theirs, or a form, at this port.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// A token of 24 random bytes, as letters and digits.
pub(crate) fn token() -> Result<String, getrandom::Error> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes)?;
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    Ok(bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect())
}

/// Whether two texts are equal, in a time that does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// Whether a request names this machine and comes from a page of ours, or from none.
///
/// A link to the page itself may stand anywhere: in a notebook, in a chat. Following it shows the page in a window of its
/// own (it cannot be framed), where no other page can read it. So that is let through for documents, and for nothing else.
///
/// A port is not compared: through `ssh -L` it is another. Names other than `localhost` are how a foreign page would
/// come here (DNS rebinding); addresses cannot be rebound.
pub(crate) fn is_ours(headers: &HeaderMap, document: bool) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
    let Some(host) = text(header::HOST) else { return false };
    let own_origin = match text(header::ORIGIN) {
        None => true,
        Some(origin) => origin.strip_prefix("http://") == Some(host),
    };
    let fetch = |what: &'static str| text(HeaderName::from_static(what));
    let own_page = fetch("sec-fetch-site").is_none_or(|from| from == "same-origin" || from == "none");
    let followed =
        document && fetch("sec-fetch-mode") == Some("navigate") && fetch("sec-fetch-dest") == Some("document");
    names_us(host) && own_origin && (own_page || followed)
}

fn names_us(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

/// Headers of every answer: nothing is loaded from elsewhere, framed, sniffed or sent on.
pub(crate) fn headers() -> [(HeaderName, HeaderValue); 6] {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(pairs: &[(&'static str, &'static str)]) -> bool {
        asks_for(false, pairs)
    }

    fn asks_for(document: bool, pairs: &[(&'static str, &'static str)]) -> bool {
        let pairs = pairs.iter().map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v)));
        is_ours(&pairs.collect(), document)
    }

    #[test]
    fn a_link_to_the_page_may_stand_anywhere() {
        let link = [
            ("host", "127.0.0.1:7007"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(asks_for(true, &link));
        // What the page itself asks for is asked by no one else, and the page is not framed.
        assert!(!asks_for(false, &link));
        assert!(!asks_for(true, &link[..3]));
        let framed = ("sec-fetch-dest", "iframe");
        assert!(!asks_for(true, &[link[0], link[1], link[2], framed]));
        assert!(!asks_for(true, &[("host", "evil.example"), link[1], link[2], link[3]]));
    }

    #[test]
    fn only_this_machine_and_its_own_pages() {
        assert!(asks(&[("host", "127.0.0.1:7007")]));
        assert!(asks(&[("host", "localhost:9000"), ("sec-fetch-site", "same-origin")]));
        assert!(asks(&[("host", "[::1]:7007"), ("origin", "http://[::1]:7007")]));
        assert!(asks(&[("host", "localhost"), ("sec-fetch-site", "none")]));
        assert!(!asks(&[("host", "evil.example:7007")]));
        assert!(!asks(&[("host", "127.0.0.1.evil.example")]));
        assert!(!asks(&[]));
        assert!(!asks(&[("host", "127.0.0.1:7007"), ("origin", "http://evil.example")]));
        assert!(!asks(&[("host", "127.0.0.1:7007"), ("origin", "null")]));
        assert!(!asks(&[("host", "127.0.0.1:7007"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert_eq!(a.len(), 24);
        assert_ne!(a, b);
        assert!(same(&a, &a) && !same(&a, &b) && !same(&a, &a[1..]));
    }
}
