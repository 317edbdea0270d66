//! Names of C++ and Rust functions as people wrote them, without their arguments.

use cpp_demangle::{DemangleOptions, Symbol};

/// A name longer than this says less than its start.
const MAX_NAME: usize = 400;
/// In names longer than this, what templates are filled with is left out: `at::native::sum<…>::call`.
const MAX_READABLE: usize = 80;
/// Mangled names longer than this are left as they are: a short text can stand for a very long one.
const MAX_MANGLED: usize = 4096;

/// What a symbol is called in its source; the symbol itself where it is not mangled.
pub(super) fn demangled(symbol: &str) -> String {
    // `name@@GLIBC_2.17`, and what compilers append to the pieces that they cut a function into.
    let plain = symbol.split('@').next().unwrap_or(symbol);
    let name = if plain.len() > MAX_MANGLED { None } else { rust(plain).or_else(|| cpp(plain)) };
    let name = name.unwrap_or_else(|| without_suffix(plain).to_owned());
    let name = if name.len() > MAX_READABLE { without_arguments(&name) } else { name };
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// A name without what is inside of angle brackets, but for those of operators and arrows.
fn without_arguments(name: &str) -> String {
    let (mut kept, mut depth) = (String::new(), 0usize);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let operator = [
            "operator<=>",
            "operator<<=",
            "operator>>=",
            "operator<<",
            "operator>>",
            "operator<=",
            "operator>=",
        ]
        .iter()
        .chain(&["operator->*", "operator->", "operator<", "operator>", "->"])
        .find(|text| rest.starts_with(**text));
        let taken = operator.map_or(c.len_utf8(), |text| text.len());
        match c {
            _ if operator.is_some() && depth == 0 => kept.push_str(&rest[..taken]),
            _ if operator.is_some() => {}
            '<' => {
                if depth == 0 {
                    kept.push_str("<…");
                }
                depth += 1;
            }
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    kept.push('>');
                }
            }
            c if depth == 0 => kept.push(c),
            _ => {}
        }
        rest = &rest[taken..];
    }
    kept
}

fn rust(symbol: &str) -> Option<String> {
    let found = rustc_demangle::try_demangle(symbol).ok()?;
    Some(format!("{found:#}"))
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    // A piece that was cut off has a suffix that the mangling does not know.
    let parsed = Symbol::new(symbol).or_else(|_| Symbol::new(without_suffix(symbol))).ok()?;
    parsed.demangle_with_options(&options).ok()
}

/// `deflate.part.0`, `_PyEval_EvalFrameDefault.cold`, `f.constprop.0.isra.0`.
fn without_suffix(symbol: &str) -> &str {
    let ends = [".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".localalias"];
    let first = ends.iter().filter_map(|end| symbol.find(end)).min();
    &symbol[..first.unwrap_or(symbol.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_people_wrote_them() {
        assert_eq!(demangled("deflate"), "deflate");
        assert_eq!(demangled("clock_nanosleep@@GLIBC_2.17"), "clock_nanosleep");
        assert_eq!(demangled("_PyEval_EvalFrameDefault.cold"), "_PyEval_EvalFrameDefault");
        assert_eq!(demangled("_ZN2at6native7add_outERKNS_6TensorES3_"), "at::native::add_out");
        assert_eq!(
            demangled("_ZN5torch8autograd6Engine11thread_mainEv.cold"),
            "torch::autograd::Engine::thread_main"
        );
        assert_eq!(demangled("_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
        assert_eq!(demangled("_Znonsense"), "_Znonsense");
        assert_eq!(without_arguments("a::b<int, c<d> >::operator<<<e>(f)"), "a::b<…>::operator<<<…>(f)");
        assert_eq!(without_arguments("a<(b->c)>::operator-><d>"), "a<…>::operator-><…>");
        assert_eq!(without_arguments("a<b"), "a<…");
        assert!(demangled(&"x".repeat(9000)).chars().count() <= MAX_NAME + 1);
    }
}
