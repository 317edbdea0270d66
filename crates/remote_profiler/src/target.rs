//! Where a profiler server listens.

use std::fmt;

use stepscope_ground::Problem;

const HINT: &str = "give a host and a port, such as localhost:9999; a port alone is one of this machine";

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// A name or an address; one of IPv6 without its brackets.
    pub host: String,
    pub port: u16,
}

impl Target {
    /// `host:port`, `[::1]:port`, `port`, each with or without `grpc://` before it.
    pub fn parse(text: &str) -> Result<Target, Problem> {
        let wrong = |why: &str| Problem::new(format!("{why}: {text}"), HINT);
        let rest = text.trim();
        let rest = rest.strip_prefix("grpc://").or_else(|| rest.strip_prefix("http://")).unwrap_or(rest);
        let rest = rest.trim_end_matches('/');
        if rest.contains("://") {
            return Err(wrong("unsupported address"));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) => (host, port),
            None if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => ("localhost", rest),
            None => return Err(wrong("there is no port")),
        };
        let port = port.parse::<u16>().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| wrong("the port must be a number from 1 to 65535"))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if bare.is_none() && host.contains(':') {
            return Err(wrong("an IPv6 address needs brackets before the port"));
        }
        let host = bare.unwrap_or(host);
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:%".contains(&b);
        if host.is_empty() || !host.bytes().all(plain) {
            return Err(wrong("this is not the name of a host"));
        }
        Ok(Target { host: host.to_owned(), port })
    }

    /// What its file is called, before the ending: `localhost_9999`, as other clients call it.
    pub fn file_stem(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let host: String = self.host.chars().map(plain).collect();
        format!("{host}_{}", self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The targets of some words, each with one or several after commas, each once.
pub fn targets<'a>(parsed: impl IntoIterator<Item = &'a str>) -> Result<Vec<Target>, Problem> {
    let mut found: Vec<Target> = Vec::new();
    for word in parsed.into_iter().flat_map(|parsed| parsed.split(',')).filter(|word| !word.trim().is_empty()) {
        let target = Target::parse(word)?;
        // Two may share a name on disk without being the same.
        if let Some(first) = found.iter().find(|first| first.file_stem() == target.file_stem()) {
            return Err(Problem::new(
                format!("{first} and {target} would be written to the same file"),
                "name each host once",
            ));
        }
        found.push(target);
    }
    if found.is_empty() {
        return Err(Problem::new("no host is given", HINT));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, String> {
        Target::parse(text).map(|target| format!("{target} {}", target.file_stem())).map_err(|error| error.what)
    }

    #[test]
    fn hosts_have_ports() {
        assert_eq!(parsed("localhost:9999").as_deref(), Ok("localhost:9999 localhost_9999"));
        assert_eq!(parsed("grpc://gpu-1.lab:6009").as_deref(), Ok("gpu-1.lab:6009 gpu-1.lab_6009"));
        assert_eq!(parsed("http://gpu-1:6009/").as_deref(), Ok("gpu-1:6009 gpu-1_6009"));
        assert_eq!(parsed("9999").as_deref(), Ok("localhost:9999 localhost_9999"));
        assert_eq!(parsed("[::1]:9999").as_deref(), Ok("[::1]:9999 __1_9999"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert_eq!(parsed("gpu-1"), Err("there is no port: gpu-1".to_owned()));
        for port in ["a:0", "a:65536", "a:x", "a:"] {
            assert_eq!(parsed(port), Err(format!("the port must be a number from 1 to 65535: {port}")));
        }
        assert_eq!(parsed("::1:9"), Err("an IPv6 address needs brackets before the port: ::1:9".to_owned()));
        assert_eq!(parsed("a b:9"), Err("this is not the name of a host: a b:9".to_owned()));
        assert_eq!(parsed("../a:9"), Err("this is not the name of a host: ../a:9".to_owned()));
        assert_eq!(parsed("ssh://a:9"), Err("unsupported address: ssh://a:9".to_owned()));
    }

    #[test]
    fn lists_are_taken_apart() {
        let found = targets(["a:1,b:2", "c:3"]).unwrap();
        assert_eq!(found.iter().map(Target::to_string).collect::<Vec<_>>(), ["a:1", "b:2", "c:3"]);
        assert!(targets(["a:1", "a:1"]).unwrap_err().what.contains("same file"));
        assert_eq!(targets([" , "]).unwrap_err().what, "no host is given");
    }
}
