//! Units of counters: the one list that recorders write, readers recognize and views print.

/// What a counter's values are measured in.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    Bytes,
    BytesPerSecond,
    Percent,
    Watts,
    Joules,
    Celsius,
    Megahertz,
    /// Tasks of the system.
    Tasks,
    Threads,
    /// Off or on.
    Flag,
}

impl Unit {
    pub const ALL: [Unit; 10] = [
        Unit::Bytes,
        Unit::BytesPerSecond,
        Unit::Percent,
        Unit::Watts,
        Unit::Joules,
        Unit::Celsius,
        Unit::Megahertz,
        Unit::Tasks,
        Unit::Threads,
        Unit::Flag,
    ];

    /// How it is written after a value.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Percent => "%",
            Unit::Watts => "W",
            Unit::Joules => "J",
            Unit::Celsius => "°C",
            Unit::Megahertz => "MHz",
            Unit::Tasks => "tasks",
            Unit::Threads => "threads",
            Unit::Flag => "0 or 1",
        }
    }

    /// The unit that is written so, if there is one.
    pub fn of_symbol(text: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.symbol() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_tell_units_apart() {
        for unit in Unit::ALL {
            assert_eq!(Unit::of_symbol(unit.symbol()), Some(unit));
        }
        assert_eq!(Unit::of_symbol("length"), None);
    }
}
