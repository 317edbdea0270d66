//! From a request's query to a question.

use stepscope_ask::Ask;
use stepscope_ask::write::Page;
use stepscope_ground::Problem;

/// A query as a list of names and values.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The question in a query, and the page of it.
pub(crate) fn parse(question: &str, query: &str) -> Result<(Ask, Option<Page>), Problem> {
    let mut ask = Ask::new(question)?;
    let (mut part, mut offset, mut limit) = (None, 0, usize::MAX);
    for (key, value) in pairs(query) {
        match key.as_str() {
            "part" => part = Some(value),
            "offset" => offset = number(&key, &value)?,
            "limit" => limit = number(&key, &value)?,
            // The page counts in floating numbers.
            "from" | "to" => ask.set(&key, value.split('.').next().unwrap_or_default())?,
            option => ask.set(option, &value)?,
        }
    }
    Ok((ask, part.map(|part| Page { part, offset, limit })))
}

/// A number among the options.
pub(crate) fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, Problem> {
    value.parse().map_err(|_| Problem::new(format!("{key} is not a number: {value}"), "give a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_questions_are_asked() {
        assert!(parse("export", "").is_err());
        assert!(parse("ops", "output=/etc/passwd").is_err());
        let (ask, page) = parse("ops", "by=shape&part=ops&offset=5&limit=10&filter=%5Ea%26b").unwrap();
        assert_eq!(ask.question().name, "ops");
        assert_eq!(page, Some(Page { part: "ops".into(), offset: 5, limit: 10 }));
    }
}
