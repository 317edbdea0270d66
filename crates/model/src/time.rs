//! Time as an integer of nanoseconds: no float touches a timestamp before the last digit printed.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use bytemuck::NoUninit;

/// Nanoseconds: a point (since the trace's first event) or a length.
#[derive(Copy, Clone, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, NoUninit)]
#[repr(transparent)]
pub struct Ns(pub i64);

impl Ns {
    /// No time at all.
    pub const ZERO: Ns = Ns(0);
    /// The latest representable point; ranges that never end use it.
    pub const MAX: Ns = Ns(i64::MAX);
    /// The earliest representable point.
    pub const MIN: Ns = Ns(i64::MIN);
}

impl Add for Ns {
    type Output = Ns;
    fn add(self, other: Ns) -> Ns {
        Ns(self.0.saturating_add(other.0))
    }
}

impl Sub for Ns {
    type Output = Ns;
    fn sub(self, other: Ns) -> Ns {
        Ns(self.0.saturating_sub(other.0))
    }
}

impl Neg for Ns {
    type Output = Ns;
    fn neg(self) -> Ns {
        Ns(self.0.saturating_neg())
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Ns) {
        *self = *self + other;
    }
}

impl SubAssign for Ns {
    fn sub_assign(&mut self, other: Ns) {
        *self = *self - other;
    }
}

impl Sum for Ns {
    fn sum<I: Iterator<Item = Ns>>(iter: I) -> Ns {
        iter.fold(Ns::ZERO, Add::add)
    }
}
