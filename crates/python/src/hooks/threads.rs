//! What is counted in each thread. Events come in bursts of one thread, so the last one is remembered.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pyo3::ffi;

use super::symbols::thread_number;

/// Past this many threads, those in which nothing is open are folded into the sum when another comes. A program may start
/// a hundred thousand of them.
const MAX_APART: usize = 64;

pub(super) struct Threads<T> {
    /// The thread that came last, as [`here`] tells them apart.
    last: usize,
    current: *mut T,
    /// Boxes, so that `current` stays where it is.
    by_number: HashMap<u64, Box<T>, RandomState>,
    fold_at: usize,
}

/// Where the storage of this thread is, which no other running thread has. Asking CPython for its own mark takes a twentieth
/// of the time of a program that is recorded, most of it on the way there.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline]
fn here() -> usize {
    let here: usize;
    // SAFETY: on this system the first word of a thread's storage is its own address.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) here, options(nostack, preserves_flags, pure, readonly));
    }
    here
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[inline]
fn here() -> usize {
    // SAFETY: only holders of the interpreter come here.
    unsafe { ffi::PyThreadState_Get() as usize }
}

impl<T> Threads<T> {
    pub(super) fn new() -> Threads<T> {
        Threads { last: 0, current: std::ptr::null_mut(), by_number: HashMap::default(), fold_at: MAX_APART }
    }

    /// What belongs to the thread that calls. `make` is asked once for each thread; `fold` takes one that can be let go of
    /// and says whether it has.
    ///
    /// # Safety
    /// The caller holds the interpreter.
    #[inline]
    pub(super) unsafe fn current(
        &mut self,
        make: impl FnOnce() -> T,
        fold: impl FnMut(&mut T) -> bool,
    ) -> &mut T {
        // SAFETY: as promised; `current` is the box of `last`.
        unsafe {
            let here = here();
            if here == self.last {
                return &mut *self.current;
            }
            self.current = self.other(ffi::PyThreadState_Get(), make, fold);
            self.last = here;
            &mut *self.current
        }
    }

    #[cold]
    fn other(
        &mut self,
        thread: *mut ffi::PyThreadState,
        make: impl FnOnce() -> T,
        mut fold: impl FnMut(&mut T) -> bool,
    ) -> *mut T {
        let number = thread_number(thread);
        if self.by_number.len() >= self.fold_at && !self.by_number.contains_key(&number) {
            self.by_number.retain(|_, known| !fold(known));
            // Those that are busy stay; looking at them again must not cost more than they did.
            self.fold_at = MAX_APART.max(2 * self.by_number.len());
        }
        &raw mut **self.by_number.entry(number).or_insert_with(|| Box::new(make()))
    }

    /// That of the thread that calls, if there is one.
    pub(super) fn known(&mut self) -> Option<&mut T> {
        // SAFETY: only holders of the interpreter come here.
        let number = thread_number(unsafe { ffi::PyThreadState_Get() });
        self.by_number.get_mut(&number).map(|known| &mut **known)
    }

    /// All of them, in the order in which the threads were made.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut T> {
        let mut all: Vec<_> = self.by_number.iter_mut().collect();
        all.sort_unstable_by_key(|(number, _)| **number);
        all.into_iter().map(|(_, known)| &mut **known)
    }
}
