//! A function by its name and its file, and whether it is one of those that are meant.

use super::library_file::is_library_file;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    pub name: &'a str,
    pub file: &'a str,
}

impl Function<'_> {
    /// Whether its file is this one of the standard library or of a package: `json/decoder.py`, or all of `json/`.
    pub fn is_in(&self, place: &str) -> bool {
        let found = match place.ends_with('/') {
            true => self.file.find(place),
            false => self.file.strip_suffix(place).map(str::len),
        };
        found.is_some_and(|at| at == 0 || matches!(self.file.as_bytes()[at - 1], b'/' | b'\\' | b' '))
            && is_library_file(self.file)
    }

    /// Whether it is not Python's, and its name has one of these words.
    pub fn is_native(&self, words: &[&str]) -> bool {
        self.file.is_empty() && words.iter().any(|word| self.name.contains(word))
    }
}
