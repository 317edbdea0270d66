//! Finding a device by its name.
//!
//! Numbers are those of the makers' documents named above each group. A link's rate is half of what the maker
//! prints, which counts both directions.

use super::row::Row;
use super::{Hardware, amd, geforce, nvidia};

pub(super) fn all() -> impl Iterator<Item = &'static Hardware> {
    rows().map(|(_, hardware)| hardware)
}

pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    nvidia::ROWS.iter().chain(amd::ROWS).chain(geforce::ROWS)
}

/// Whether a word in a name says that a device has other numbers than its namesake.
pub(super) fn is_less(word: &str) -> bool {
    matches!(word, "mig" | "laptop" | "max" | "d" | "mobile")
}

pub(super) fn find(name: &str) -> Option<&'static Hardware> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    // A part of a device, a device of a laptop or for one country has other numbers than its namesake.
    if words.iter().any(|word| is_less(word)) {
        return None;
    }
    let has = |word: &&str| words.contains(word);
    rows().find(|(with, _)| with.iter().all(has)).map(|(_, hardware)| hardware)
}
