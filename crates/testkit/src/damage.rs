//! Where a test damages a file: everywhere at night, in places spread evenly by day.

/// All of some cases at night, and every third of them by day.
pub fn cases<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(if is_nightly() { 1 } else { 3 })
}

/// Whether what takes long runs too: `make test-nightly`.
pub fn is_nightly() -> bool {
    std::env::var_os("STEPSCOPE_NIGHTLY").is_some_and(|value| value == "1")
}

/// The positions of a file of so many bytes: each at night, else one in `every`.
pub fn places(len: usize, every: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by(if is_nightly() { 1 } else { every })
}

/// The bits of the byte at a position: each at night, else one, another from byte to byte.
pub fn bits(at: usize) -> impl Iterator<Item = u8> {
    let chosen = at % 8;
    (0..8_u8).filter(move |&bit| is_nightly() || usize::from(bit) == chosen).map(|bit| 1 << bit)
}
