//! What is kept of a C++ kernel's name: the function, and of its template arguments those that tell.

use super::source::{Name, NameSegment, Range, Source};
use super::vocabulary::{is_integer, is_noise, is_scalar, is_transparent, telling};

/// Deeper template arguments are cut off: no one reads them, and the stack is finite.
const MAX_DEPTH: usize = 16;
/// How many levels of template arguments are still worth a column.
const MAX_SHOWN_DEPTH: usize = 3;

/// How deep in template arguments: as counted on the screen, and as counted on the stack.
#[derive(Clone, Copy, Default)]
struct Depth {
    shown: usize,
    nested: usize,
}

impl Depth {
    fn inside_shown(self) -> Self {
        Self { shown: self.shown + 1, nested: self.nested + 1 }
    }

    fn inside_transparent(self) -> Self {
        Self { nested: self.nested + 1, ..self }
    }

    /// How many class arguments are shown: `multi_tensor_apply_kernel` needs two, nested ones rarely do.
    fn things(self) -> usize {
        if self.shown == 0 { 2 } else { 1 }
    }
}

/// The kernel itself; empty where the text names nothing. Launch wrappers of template libraries give way to
/// what they launch.
pub(super) fn kernel(source: &Source<'_>) -> String {
    let Some(name) = source.name((source.after_return_type(), source.text.len())) else {
        return String::new();
    };
    let subject = name.subject();
    if is_transparent(subject.name) {
        let mut picked = PickedArguments::new(source);
        picked.arguments_of(&name, Depth::default());
        if !picked.things.is_empty() {
            return picked.things.swap_remove(0);
        }
    }
    let shown = thing(source, &name, Depth::default());
    // `kernel` alone says nothing; the namespace does.
    let generic = matches!(subject.name, "kernel" | "Kernel" | "Kernel2" | "globalKernel" | "run");
    let mut spaces = name.parts[..name.subject].iter().rev();
    match spaces.find(|part| !matches!(part.name, "impl" | "detail" | "internal")) {
        Some(space) if generic && !space.name.starts_with('(') => format!("{}::{shown}", space.name),
        _ => shown,
    }
}

/// A function or class, with what tells it from others of its name.
fn thing(source: &Source<'_>, name: &Name<'_>, depth: Depth) -> String {
    let subject = name.subject();
    let mut picked = PickedArguments::new(source);
    if depth.shown < MAX_SHOWN_DEPTH {
        picked.arguments_of(name, depth);
    }
    if let Some(arguments) = picked.joined() {
        return format!("{}<{arguments}>", subject.name);
    }
    if let Some(argument) = name.parts.iter().rev().find_map(|part| lambda_scalar(source, part)) {
        return format!("{}({argument})", subject.name);
    }
    match lone_number(source, subject) {
        Some(size) if depth.shown > 0 => format!("{}<{size}>", subject.name),
        _ => subject.name.to_owned(),
    }
}

/// A number that is the only template argument: the 4 of `OpaqueType<4>`.
fn lone_number<'a>(source: &Source<'a>, part: &NameSegment<'a>) -> Option<&'a str> {
    let (start, end) = part.template?;
    let number = source.text[start..end].trim_end_matches(['u', 'l']);
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// The element type among a lambda's arguments: often the only trace of a kernel's element type.
fn lambda_scalar<'a>(source: &Source<'a>, part: &NameSegment<'a>) -> Option<&'a str> {
    if !part.is_lambda() {
        return None;
    }
    let arguments = match part.params {
        Some((start, end)) => &source.text[start..end],
        None => part.name.split_once('(')?.1,
    };
    let arguments = arguments.split(')').next()?;
    let types = arguments.split(',').filter_map(|argument| argument.trim().rsplit("::").next());
    // On equal terms the first argument wins, and `max_by_key` would take the last.
    types.filter(|name| is_scalar(name)).rev().max_by_key(|name| telling(name))
}

/// What is worth showing of one list of template arguments.
struct PickedArguments<'s, 'a> {
    source: &'s Source<'a>,
    /// The most telling plain type.
    scalar: Option<&'a str>,
    /// Classes and functions, ready to be shown.
    things: Vec<String>,
}

impl<'s, 'a> PickedArguments<'s, 'a> {
    fn new(source: &'s Source<'a>) -> Self {
        Self { source, scalar: None, things: Vec::new() }
    }

    fn arguments_of(&mut self, name: &Name<'a>, depth: Depth) {
        if depth.nested <= MAX_DEPTH {
            for list in name.templates() {
                self.list(list, depth);
            }
        }
    }

    fn list(&mut self, (start, end): Range, depth: Depth) {
        let mut from = start;
        while from < end {
            let mut to = from;
            while to < end && self.source.text.as_bytes()[to] != b',' {
                to = self.source.group_end(to, end).unwrap_or(to) + 1;
            }
            self.argument((from, to), depth);
            from = to + 1;
        }
    }

    fn argument(&mut self, (from, to): Range, depth: Depth) {
        let argument = self.source.text[from..to].trim_start();
        let from = to - argument.len();
        if is_value_or_pointer(argument.trim_end()) {
            return;
        }
        let Some(name) = self.source.name((from, to)) else {
            return;
        };
        let subject = *name.subject();
        if subject.template.is_none() && subject.params.is_none() && is_scalar(subject.name) {
            if self.scalar.is_none_or(|old| telling(old) < telling(subject.name)) {
                self.scalar = Some(subject.name);
            }
            return;
        }
        if is_noise(subject.name) || name.parts.last().is_some_and(|last| last.name.starts_with("Policy")) {
            return;
        }
        if is_transparent(subject.name) {
            self.arguments_of(&name, depth.inside_transparent());
        } else if subject.name.ends_with("kernel_traits") {
            // FlashAttention: the head size comes first.
            let size = subject.template.and_then(|(start, end)| self.source.text[start..end].split(',').next());
            if let Some(size) = size.filter(|_| self.things.is_empty()) {
                self.things.push(size.to_owned());
            }
            self.arguments_of(&name, depth.inside_transparent());
        } else if self.things.len() < depth.things() {
            let thing = thing(self.source, &name, depth.inside_shown());
            if !self.things.contains(&thing) {
                self.things.push(thing);
            }
        }
    }

    /// What goes between the angle brackets, if anything does.
    fn joined(mut self) -> Option<String> {
        let Some(first) = self.things.first() else {
            return self.scalar.map(str::to_owned);
        };
        // Once is enough: `BinaryOpScalarFunctor<float>, multiplies`.
        let repeated = first.rfind('<').map(|at| first[at..].to_owned());
        for thing in &mut self.things[1..] {
            if let Some(name) = repeated.as_deref().and_then(|args| thing.strip_suffix(args)) {
                *thing = name.to_owned();
            }
        }
        let said = |scalar: &str| {
            let mut words =
                self.things.iter().flat_map(|thing| thing.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.any(|word| word == scalar)
        };
        if let Some(scalar) = self.scalar.filter(|scalar| !is_integer(scalar) && !said(scalar)) {
            self.things.insert(0, scalar.to_owned());
        }
        Some(self.things.join(", "))
    }
}

/// Sizes, flags, function addresses and pointers: they tell variants apart, not kernels.
fn is_value_or_pointer(argument: &str) -> bool {
    let cast = argument.starts_with('(') && !argument.starts_with("(anonymous");
    let number = argument.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '!' | '&'));
    cast || number || argument.ends_with('*') || matches!(argument, "" | "true" | "false")
}
