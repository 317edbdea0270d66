//! Encoding and decoding JSON.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "json",
    about: "A plain Python program spends much of its time encoding or decoding JSON.",
    thresholds: thresholds! {
        "json.min_share" = 0.1, "share of the run in json";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "json.min_share",
    what: "JSON",
    doing: "encoding and decoding JSON",
    why: "The json module builds every object in Python's own types, one by one; with indent= or default= it encodes in pure Python.",
    fix: "Encode and decode less often: keep the objects, cache what was read, or store rows in a binary format such as Parquet. \
          Where JSON has to stay, orjson has the same two functions and is usually several times as fast. It returns bytes without spaces, and takes \
          options instead of keywords (sort_keys=True is option=orjson.OPT_SORT_KEYS).",
};

fn is_json(function: Function<'_>) -> bool {
    function.is_in("json/") || function.is_in("simplejson/") || function.is_native(&["_json."])
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_json));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let encodes =
            spent.entered.first().is_some_and(|(name, _)| name.contains("dump") || name.contains("encode"));
        let code = match encodes {
            true => "data = orjson.dumps(value)  # bytes; pip install orjson; not: json.dumps(value)",
            false => "value = orjson.loads(text)  # pip install orjson; not: json.loads(text)",
        };
        finding.code = Some(code.to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
