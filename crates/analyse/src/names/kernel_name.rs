//! Short display forms of GPU kernel names.
//!
//! A C++ kernel name says the same thing three times (template arguments, argument list, lambda
//! signatures) and hides the one word that matters. [`short`] keeps that word. It is for reading, not for
//! grouping: two different kernels (say, two vector widths of one template) may share a short form.
//! Everything here is total and close to linear in the input: names come from files no one vouches for.

mod arguments;
mod library;
mod mangled;
mod source;
mod vocabulary;

#[cfg(test)]
mod tests;

use library::squeezed;
use mangled::{last_mangled_identifier, without_suffix};
use source::Source;

pub use mangled::demangled;

/// A short display form of a kernel name: no return type, no argument list, no namespaces, and of the
/// template arguments only those that tell one kernel from another.
///
/// ```
/// let name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, \
///             std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)";
/// let short = stepscope_analyse::names::kernel_name::short(name);
/// assert_eq!(short, "vectorized_elementwise_kernel<FillFunctor<float>>");
/// ```
pub fn short(name: &str) -> String {
    let name = name.trim();
    // The parentheses of a copy are not an argument list.
    if name.starts_with("Memcpy ") || name.starts_with("Memset ") {
        return name.to_owned();
    }
    let full = demangled(name);
    let full = match last_mangled_identifier(&full) {
        Some(identifier) => identifier,
        None => without_suffix(&full),
    };
    if !full.contains(['<', '(']) && !full.contains("::") {
        return squeezed(full);
    }
    let shown = arguments::kernel(&Source::new(full));
    if shown.is_empty() { full.to_owned() } else { shown }
}
