//! Which pieces of two runs are the same thing: first those with the same place, then those that agree in less and less of it.
//!
//! Every piece ends up in one row, so the rows' changes add up to the change of the step.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Order;

use super::pieces::PiecePlace;
use crate::causes::cause::Cause;
use crate::names::kernel_name::short;

/// What two pieces were matched by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchLevel {
    /// Everything is the same.
    Place,
    /// The same module, operator and kernel; the shapes differ.
    Kernel,
    /// The same operator of the same module launches another kernel.
    Operator,
    /// The same operator and kernel, in another module.
    Moved,
    /// The same operator, with another kernel and elsewhere.
    OperatorElsewhere,
    /// The same name under another operator, or at another line.
    Name,
    /// Operators whose names are in the name of a fused kernel.
    Fused,
    /// The rest of one module.
    Module,
    /// Only one of the runs has it.
    Alone,
}

/// Pieces of both runs that are one thing, by their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) matched: MatchLevel,
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
}

type Agreement = (MatchLevel, fn(&PiecePlace) -> Option<[Option<String>; 4]>);

const AGREEMENTS: &[Agreement] = &[
    (MatchLevel::Place, |p| Some([module(p), p.op.clone(), p.name.clone(), p.shapes.clone()])),
    (MatchLevel::Kernel, |p| Some([module(p), p.op.clone(), p.name.clone(), None])),
    (MatchLevel::Operator, |p| p.op.is_some().then(|| [module(p), p.op.clone(), None, None])),
    (MatchLevel::Moved, |p| p.op.is_some().then(|| [None, p.op.clone(), p.name.clone(), None])),
    (MatchLevel::OperatorElsewhere, |p| p.op.is_some().then(|| [None, p.op.clone(), None, None])),
    (MatchLevel::Name, |p| Some([None, None, Some(loose(p.name.as_deref()?)), None])),
];

/// The module, and which pass.
fn module(place: &PiecePlace) -> Option<String> {
    let path = place.module.as_deref()?;
    Some(if place.backward { format!("backward of {path}") } else { path.to_owned() })
}

/// A name without what differs between two versions of a program: the line of a Python function, the number of a generated kernel.
fn loose(name: &str) -> String {
    if let Some((before, rest)) = name.split_once(".py(")
        && let Some((line, after)) = rest.split_once(')')
        && line.bytes().all(|b| b.is_ascii_digit())
    {
        return format!("{before}.py{after}");
    }
    let name = short(name);
    match name.rsplit_once('_') {
        Some((start, number)) if name.starts_with("triton_") && number.bytes().all(|b| b.is_ascii_digit()) => {
            start.to_owned()
        }
        _ => name,
    }
}

/// Matches two lists of places.
pub(super) fn matches(before: &[PiecePlace], after: &[PiecePlace]) -> Vec<Pair> {
    let mut found = Vec::new();
    let mut left: [Vec<usize>; 2] = [(0..before.len()).collect(), (0..after.len()).collect()];
    for (matched, agreement) in AGREEMENTS {
        let key = |place: &PiecePlace| agreement(place).map(|parts| (place.cause, parts));
        group(*matched, [before, after], &mut left, key, &mut found);
    }
    fused([before, after], &mut left, &mut found);
    let of_module = |place: &PiecePlace| Some((place.cause, module(place).filter(|_| place.cause.is_busy())?));
    group(MatchLevel::Module, [before, after], &mut left, of_module, &mut found);
    let [before, after] = left;
    found.extend(before.into_iter().map(|at| Pair {
        matched: MatchLevel::Alone,
        before: vec![at],
        after: Vec::new(),
    }));
    found.extend(after.into_iter().map(|at| Pair {
        matched: MatchLevel::Alone,
        before: Vec::new(),
        after: vec![at],
    }));
    found
}

/// Pieces of both sides with the same key are one thing.
fn group<K: std::hash::Hash + Eq + Ord>(
    matched: MatchLevel,
    places: [&[PiecePlace]; 2],
    left: &mut [Vec<usize>; 2],
    key: impl Fn(&PiecePlace) -> Option<K>,
    found: &mut Vec<Pair>,
) {
    let mut groups: HashMap<K, [Vec<usize>; 2], RandomState> = HashMap::default();
    for side in 0..2 {
        for &at in &left[side] {
            if let Some(key) = key(&places[side][at]) {
                groups.entry(key).or_default()[side].push(at);
            }
        }
    }
    let mut both: Vec<(K, [Vec<usize>; 2])> =
        groups.into_iter().filter(|(_, sides)| sides.iter().all(|side| !side.is_empty())).collect();
    both.order_by(|a, b| a.0.cmp(&b.0));
    take(both.into_iter().map(|(_, sides)| sides), matched, left, found);
}

fn take(
    groups: impl Iterator<Item = [Vec<usize>; 2]>,
    matched: MatchLevel,
    left: &mut [Vec<usize>; 2],
    found: &mut Vec<Pair>,
) {
    let first = found.len();
    found.extend(groups.map(|[before, after]| Pair { matched, before, after }));
    for (side, left) in left.iter_mut().enumerate() {
        let mut taken: Vec<usize> = (found[first..].iter())
            .flat_map(|pair| if side == 0 { &pair.before } else { &pair.after })
            .copied()
            .collect();
        taken.sort_unstable();
        left.retain(|at| taken.binary_search(at).is_err());
    }
}

/// The operators in the name of a kernel that a compiler made: `add`, `gelu` of `triton_poi_fused_add_gelu_0`.
fn parts_of_fused(name: &str) -> Option<Vec<&str>> {
    let rest = name.strip_prefix("triton_")?;
    let (_, rest) = rest.split_once("_fused_")?;
    Some(rest.split('_').filter(|part| part.len() > 1 && !part.bytes().all(|b| b.is_ascii_digit())).collect())
}

/// Operators that were fused, or are no longer: what is left of one run's operators and of the other's fused kernels, joined where a
/// kernel's name has an operator's.
fn fused(places: [&[PiecePlace]; 2], left: &mut [Vec<usize>; 2], found: &mut Vec<Pair>) {
    // Each group is known by the smallest word in it.
    let mut words = WordGroups::default();
    let mut members: Vec<(usize, usize, u32)> = Vec::new();
    let mut made = [false; 2];
    for side in 0..2 {
        for &at in &left[side] {
            let place = &places[side][at];
            let name = place.name.as_deref().filter(|_| place.cause == Cause::Kernel);
            let Some(parts) = name.and_then(parts_of_fused) else { continue };
            made[side] = true;
            let mut numbers = parts.iter().map(|part| words.number(part));
            let Some(first) = numbers.next() else { continue };
            let rest: Vec<u32> = numbers.collect();
            rest.into_iter().for_each(|other| words.join(first, other));
            members.push((side, at, first));
        }
    }
    for side in (0..2).filter(|side| made[1 - side]) {
        for &at in &left[side] {
            let place = &places[side][at];
            if place.name.as_deref().is_some_and(|name| parts_of_fused(name).is_some()) {
                continue;
            }
            let op = place.op.as_deref().filter(|_| place.cause == Cause::Kernel);
            let base = op.and_then(|op| op.rsplit("::").next()).map(|base| base.trim_matches('_'));
            let word = base.and_then(|base| base.split('_').find_map(|part| words.known(part)));
            if let Some(word) = word {
                members.push((side, at, word));
            }
        }
    }
    let mut groups: HashMap<u32, [Vec<usize>; 2], RandomState> = HashMap::default();
    for (side, at, word) in members {
        groups.entry(words.root(word)).or_default()[side].push(at);
    }
    let mut groups: Vec<(u32, [Vec<usize>; 2])> =
        groups.into_iter().filter(|(_, sides)| sides.iter().all(|side| !side.is_empty())).collect();
    groups.sort();
    take(groups.into_iter().map(|(_, sides)| sides), MatchLevel::Fused, left, found);
}

/// Words that belong together.
#[derive(Default)]
struct WordGroups {
    numbers: HashMap<String, u32, RandomState>,
    parents: Vec<u32>,
}

impl WordGroups {
    fn number(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.parents.len() as u32;
        self.numbers.insert(word.to_owned(), number);
        self.parents.push(number);
        number
    }

    fn known(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    fn root(&self, mut of: u32) -> u32 {
        while self.parents[of as usize] != of {
            of = self.parents[of as usize];
        }
        of
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(module: &str, op: &str, name: &str, shapes: &str) -> PiecePlace {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        PiecePlace {
            cause: Cause::Kernel,
            module: text(module),
            backward: false,
            op: text(op),
            name: text(name),
            shapes: text(shapes),
        }
    }

    fn pairs(before: &[PiecePlace], after: &[PiecePlace]) -> Vec<(MatchLevel, Vec<usize>, Vec<usize>)> {
        matches(before, after).into_iter().map(|pair| (pair.matched, pair.before, pair.after)).collect()
    }

    #[test]
    fn pieces_are_matched_by_less_and_less() {
        let before = [
            place("M/A", "aten::mm", "gemm_64", "[[8, 8]]"),
            place("M/A", "aten::relu", "relu_kernel", "[[8, 8]]"),
            place("M/B", "aten::softmax", "softmax_a", "[[8]]"),
            place("M/C", "aten::add", "add_kernel", ""),
            place("", "aten::gone", "gone_kernel", ""),
        ];
        let after = [
            place("M/A", "aten::mm", "gemm_64", "[[8, 8]]"),
            place("M/A", "aten::relu", "relu_kernel", "[[16, 8]]"),
            place("M/B", "aten::softmax", "softmax_b", "[[8]]"),
            place("M/D", "aten::add", "add_kernel", ""),
            place("", "aten::new", "new_kernel", ""),
        ];
        assert_eq!(
            pairs(&before, &after),
            [
                (MatchLevel::Place, vec![0], vec![0]),
                (MatchLevel::Kernel, vec![1], vec![1]),
                (MatchLevel::Operator, vec![2], vec![2]),
                (MatchLevel::Moved, vec![3], vec![3]),
                (MatchLevel::Alone, vec![4], vec![]),
                (MatchLevel::Alone, vec![], vec![4]),
            ]
        );
    }

    #[test]
    fn operators_are_found_in_the_kernels_they_were_fused_into() {
        let before = [
            place("", "aten::add", "add_kernel", ""),
            place("", "aten::gelu", "gelu_kernel", ""),
            place("", "aten::mm", "gemm", ""),
            place("", "aten::native_layer_norm", "norm_kernel", ""),
        ];
        let after = [
            place("", "Inductor", "triton_poi_fused_add_gelu_0", ""),
            place("", "Inductor", "triton_per_fused_native_layer_norm_1", ""),
            place("", "aten::mm", "gemm", ""),
        ];
        let found = pairs(&before, &after);
        assert_eq!(found[0], (MatchLevel::Place, vec![2], vec![2]));
        assert_eq!(
            found[1..],
            [(MatchLevel::Fused, vec![0, 1], vec![0]), (MatchLevel::Fused, vec![3], vec![1])]
        );
    }

    #[test]
    fn what_is_left_of_a_module_is_one_thing() {
        let before = [place("M/A", "aten::bmm", "one", ""), place("M/A", "aten::baddbmm", "two", "")];
        let after = [place("M/A", "aten::_flash_attention", "flash", "")];
        assert_eq!(pairs(&before, &after), [(MatchLevel::Module, vec![0, 1], vec![0])]);
    }

    #[test]
    fn names_match_without_lines_and_numbers() {
        assert_eq!(loose("train.py(12): forward"), loose("train.py(40): forward"));
        assert_ne!(loose("train.py(12): forward"), loose("train.py(12): backward"));
        assert_eq!(loose("triton_poi_fused_add_0"), loose("triton_poi_fused_add_12"));
    }
}
