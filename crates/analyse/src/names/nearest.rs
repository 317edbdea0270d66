//! Known names close to an unknown one, for hints.

/// The few of `known` that come nearest to `name`, nearest first; none if nothing is near.
///
/// A name that contains the other one (`mm` and `aten::mm`) is near, whatever its length; else letters are compared.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    // Long names are compared by their beginnings, so that a hostile one costs no time.
    let wanted: String = wanted.chars().take(80).collect();
    let mut near: Vec<(bool, usize, &str)> = Vec::new();
    for candidate in known {
        let lower: String = candidate.to_lowercase().chars().take(80).collect();
        let holds =
            !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower) && lower.len() > 2);
        let apart = distance(&wanted, &lower);
        if holds || apart <= wanted.chars().count() / 3 + 1 {
            near.push((!holds, apart, candidate));
        }
    }
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(most).map(|n| n.2).collect()
}

/// How many letters differ, as Levenshtein counts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let swap = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = swap.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let known = ["aten::mm", "aten::addmm", "aten::add", "aten::_softmax", "Optimizer.step#Adam.step"];
        assert_eq!(nearest("mm", known, 3), ["aten::mm", "aten::addmm"]);
        assert_eq!(nearest("aten::MM", known, 1), ["aten::mm"]);
        assert_eq!(nearest("aten::sofmax", known, 1), ["aten::_softmax"]);
        assert_eq!(nearest("zzzzzzzz", known, 3), Vec::<&str>::new());
        assert_eq!(nearest("", known, 3), Vec::<&str>::new());
    }
}
