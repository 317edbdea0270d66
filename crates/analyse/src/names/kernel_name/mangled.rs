//! Mangled C++ symbols to names.

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer mangled names are left alone: demangling hostile input is not worth the time.
const MAX_MANGLED: usize = 16 * 1024;
/// Substitutions let a few hundred mangled bytes stand for gigabytes, so the output is bounded too.
const MAX_DEMANGLED: usize = 128 * 1024;

/// The demangled C++ name, or the name itself when it is not mangled or cannot be demangled.
pub fn demangled(name: &str) -> Cow<'_, str> {
    if !name.starts_with("_Z") || name.len() > MAX_MANGLED {
        return Cow::Borrowed(name);
    }
    let Ok(symbol) = Symbol::new(without_suffix(name).as_bytes()) else {
        return Cow::Borrowed(name);
    };
    let mut out = Bounded(String::new());
    match symbol.structured_demangle(&mut out, &DemangleOptions::default()) {
        Ok(()) if !out.0.is_empty() => Cow::Owned(out.0),
        _ => Cow::Borrowed(name),
    }
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        if self.0.len() + s.len() > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(s);
        Ok(())
    }
}

/// ROCm names the kernel descriptor, not the function: `name.kd`.
pub(super) fn without_suffix(name: &str) -> &str {
    let name = name.strip_suffix(" [clone .kd]").unwrap_or(name);
    name.strip_suffix(".kd").unwrap_or(name)
}

/// When a symbol cannot be demangled, the last length-prefixed identifier of its name is the function.
pub(super) fn last_mangled_identifier(name: &str) -> Option<&str> {
    let symbol = name.strip_prefix("_Z")?;
    let nested = symbol.strip_prefix('N');
    let mut rest = nested.unwrap_or(symbol);
    let mut last = None;
    // Outside a namespace the second identifier is already the first argument's type.
    while (nested.is_some() || last.is_none()) && rest.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        let identifier = rest[digits..].get(..length)?;
        rest = &rest[digits + length..];
        last = Some(identifier);
    }
    last.filter(|identifier| !identifier.is_empty())
}
