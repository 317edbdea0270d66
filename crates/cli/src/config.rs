//! The user's settings: a TOML file that turns rules off and changes the thresholds of findings.
//!
//! ```toml
//! [findings]
//! off = ["low_utilization"]
//!
//! [findings.thresholds]
//! "data_loading.min_share" = 0.1
//! ```
//!
//! An unknown key is an error: a misspelled threshold would otherwise seem to be in effect.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::names::nearest::nearest;
use stepscope_ground::Problem;
use toml::{Table, Value};

use crate::input::remark;

/// The file that is read from the current folder if no other is asked for.
const DEFAULT_FILE: &str = "stepscope.toml";
/// No settings are this long.
const MAX_BYTES: u64 = 1 << 20;
const EXAMPLE: &str = "write it as [findings] off = [\"rule\"] and [findings.thresholds] \"rule.threshold\" = 0.1; `stepscope findings --list` lists the names";

/// What findings are judged by, whoever asks: the file asked for, else `stepscope.toml` here if there is one, else the
/// defaults.
pub fn thresholds(asked: Option<&Path>) -> Result<Arc<Thresholds>, Problem> {
    let usual = Path::new(DEFAULT_FILE);
    match asked.or_else(|| usual.is_file().then_some(usual)) {
        Some(path) => {
            read(path).and_then(|text| parse(&text)).map(Arc::new).map_err(|problem| in_file(path, problem))
        }
        None => Ok(Arc::default()),
    }
}

/// The same for a command, which says so where no one asked for the file.
pub(crate) fn configured_thresholds(asked: Option<&Path>) -> Result<Arc<Thresholds>, Problem> {
    if asked.is_none() && Path::new(DEFAULT_FILE).is_file() {
        remark("using thresholds from ./stepscope.toml");
    }
    thresholds(asked)
}

fn in_file(path: &Path, problem: Problem) -> Problem {
    Problem { what: format!("{}: {}", path.display(), problem.what), ..problem }
}

fn read(path: &Path) -> Result<String, Problem> {
    let mut text = String::new();
    let length = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    let wrong = |what: &str, hint: &str| Err(Problem::new(what, hint));
    match length {
        Ok(length) if length as u64 > MAX_BYTES => wrong("too long for a settings file", EXAMPLE),
        Ok(_) => Ok(text),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => {
                wrong("no such file", "give --config the path of a TOML file, or leave it out")
            }
            io::ErrorKind::InvalidData => wrong("not UTF-8 text", EXAMPLE),
            _ => wrong(&format!("cannot be read: {error}"), "give --config a TOML file you can read"),
        },
    }
}

fn parse(text: &str) -> Result<Thresholds, Problem> {
    let table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        Problem::new(format!("{place}not TOML: {}", error.message()), EXAMPLE)
    })?;
    let mut thresholds = Thresholds::default();
    known_keys(&table, "", &["findings"])?;
    let Some(findings) = table.get("findings") else { return Ok(thresholds) };
    let findings = as_table(findings, "findings")?;
    known_keys(findings, "findings.", &["off", "thresholds"])?;
    if let Some(off) = findings.get("off") {
        let wrong = || {
            let hint = "for example off = [\"low_utilization\"]; `stepscope findings --list` lists the names";
            Problem::new("findings.off must be a list of rule names", hint)
        };
        for rule in off.as_array().ok_or_else(wrong)? {
            let rule = rule.as_str().ok_or_else(wrong)?;
            thresholds.switch_off(rule).map_err(listed)?;
        }
    }
    if let Some(set) = findings.get("thresholds") {
        set_all(&mut thresholds, as_table(set, "findings.thresholds")?, "")?;
    }
    Ok(thresholds)
}

/// Thresholds by name. `a.b = 1` and `"a.b" = 1` are the same here, though TOML reads the first as a table.
fn set_all(thresholds: &mut Thresholds, table: &Table, before: &str) -> Result<(), Problem> {
    for (key, value) in table {
        let name = format!("{before}{key}");
        let number = match value {
            Value::Table(inner) => {
                set_all(thresholds, inner, &format!("{name}."))?;
                continue;
            }
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            other => {
                let what = format!("the threshold {name} must be a number, not {}", kind(other));
                return Err(Problem::new(what, "for example \"data_loading.min_share\" = 0.1"));
            }
        };
        thresholds.set(&name, number).map_err(listed)?;
    }
    Ok(())
}

fn listed(what: String) -> Problem {
    Problem::new(what, "`stepscope findings --list` shows all rules and thresholds")
}

fn as_table<'a>(value: &'a Value, name: &str) -> Result<&'a Table, Problem> {
    value
        .as_table()
        .ok_or_else(|| Problem::new(format!("{name} must be a table, not {}", kind(value)), EXAMPLE))
}

fn known_keys(table: &Table, before: &str, known: &[&str]) -> Result<(), Problem> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let meant = match nearest(key, known.iter().copied(), 1).first() {
                Some(near) => format!("did you mean '{before}{near}'?"),
                None => format!("valid here: {}", known.join(", ")),
            };
            Err(Problem::new(format!("there is no setting '{before}{key}'; {meant}"), EXAMPLE))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse(text).err().map(|m| format!("{} | {}", m.what, m.hint)).unwrap_or_default()
    }

    #[test]
    fn rules_and_thresholds_are_set() {
        let text = "[findings]\noff = ['data_loading']\n[findings.thresholds]\n'severity.high' = 0.5\nseverity.low = 0\n";
        let found = parse(text).ok().unwrap();
        assert!(!found.is_on("data_loading"));
        assert_eq!((found.get("severity.high"), found.get("severity.low")), (0.5, 0.0));
        assert_eq!(parse("").ok().unwrap(), Thresholds::default());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("[findings", "line 1: not TOML"),
            ("\n[finding]\n", "did you mean 'findings'"),
            ("[findings]\nof = []", "did you mean 'findings.off'"),
            ("findings = 3", "must be a table, not a number"),
            ("[findings]\noff = 'x'", "must be a list of rule names"),
            ("[findings]\noff = [1]", "must be a list of rule names"),
            ("[findings]\noff = ['data_laoding']", "did you mean 'data_loading'"),
            ("[findings.thresholds]\n'severity.hihg' = 1", "did you mean 'severity.high'"),
            ("[findings.thresholds]\n'severity.high' = 'x'", "must be a number, not a string"),
            ("[findings.thresholds]\n'severity.high' = nan", "must be a number of 0 or more"),
            ("[findings.thresholds]\n'severity.high' = -1", "must be a number of 0 or more"),
        ] {
            assert!(wrong(text).contains(says), "{text}: {}", wrong(text));
        }
    }
}
