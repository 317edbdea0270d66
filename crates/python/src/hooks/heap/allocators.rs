//! Python's own allocators: what they hand out is passed to the state.
//!
//! Each function is a static one that passes on the context it was given, so that a thread which reads an allocator while
//! it is changed calls a whole one whatever it sees.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::state::{self, AllocationSource};

/// What CPython's headers call `PyMemAllocatorEx`.
#[repr(C)]
#[derive(Copy, Clone)]
pub(super) struct Allocator {
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void),
}

/// How allocators are read and set.
#[derive(Copy, Clone)]
pub(super) struct Access {
    pub(super) get: unsafe extern "C" fn(c_int, *mut Allocator),
    pub(super) set: unsafe extern "C" fn(c_int, *mut Allocator),
}

/// Another thread may use the raw allocator while it is looked at; not every time.
const MAX_TRIES: usize = 5;

const RAW: usize = 0;
const MEM: usize = 1;
const OBJ: usize = 2;

/// What Python's small allocator takes from its pools; it asks the raw one for more.
const MAX_SMALL_BYTES: usize = 512;

struct Originals(UnsafeCell<[Option<Allocator>; 3]>);
// SAFETY: written by holders of the interpreter while no hook is there.
unsafe impl Sync for Originals {}
static ORIGINALS: Originals = Originals(UnsafeCell::new([None; 3]));
/// Whether large memory of the other domains comes from the raw one at the same address, which then tells of it.
static LARGE_IS_RAW: AtomicBool = AtomicBool::new(false);
/// The last address that each hook handed out while that was found out.
static PROBED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
static PROBING: AtomicBool = AtomicBool::new(false);
/// Whether a hook is in a domain: it stays where someone put another one around it.
static IS_IN: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

#[inline]
fn original(domain: usize) -> &'static Allocator {
    // SAFETY: hooks are there only while the original is.
    unsafe { (&(*ORIGINALS.0.get()))[domain].as_ref().unwrap_unchecked() }
}

const fn source(domain: usize) -> AllocationSource {
    if domain == RAW { AllocationSource::Native } else { AllocationSource::Python }
}

#[inline]
fn tells(domain: usize, size: usize) -> bool {
    domain == RAW || size <= MAX_SMALL_BYTES || !LARGE_IS_RAW.load(Ordering::Relaxed)
}

#[inline]
fn record_allocation(domain: usize, address: *mut c_void, size: usize) {
    if tells(domain, size) {
        state::allocated(address as usize, size, source(domain));
    }
    if PROBING.load(Ordering::Relaxed) {
        PROBED[domain].store(address as usize, Ordering::Relaxed);
    }
}

unsafe extern "C" fn malloc<const DOMAIN: usize>(context: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the original is called with what was given.
    let made = unsafe { (original(DOMAIN).malloc)(context, size) };
    record_allocation(DOMAIN, made, size);
    made
}

unsafe extern "C" fn calloc<const DOMAIN: usize>(
    context: *mut c_void,
    count: usize,
    each: usize,
) -> *mut c_void {
    // SAFETY: as above.
    let made = unsafe { (original(DOMAIN).calloc)(context, count, each) };
    record_allocation(DOMAIN, made, count.saturating_mul(each));
    made
}

unsafe extern "C" fn realloc<const DOMAIN: usize>(
    context: *mut c_void,
    old: *mut c_void,
    size: usize,
) -> *mut c_void {
    if DOMAIN != RAW {
        state::with_interpreter();
    }
    let before = state::freed(old as usize);
    // SAFETY: as above.
    let made = unsafe { (original(DOMAIN).realloc)(context, old, size) };
    match before {
        Some(before) if made.is_null() => state::restore(old as usize, before),
        _ => record_allocation(DOMAIN, made, size),
    }
    made
}

unsafe extern "C" fn free<const DOMAIN: usize>(context: *mut c_void, old: *mut c_void) {
    if DOMAIN != RAW {
        state::with_interpreter();
    }
    state::freed(old as usize);
    // SAFETY: as above.
    unsafe { (original(DOMAIN).free)(context, old) }
}

fn hook(domain: usize, context: *mut c_void) -> Allocator {
    match domain {
        RAW => Allocator {
            context,
            malloc: malloc::<RAW>,
            calloc: calloc::<RAW>,
            realloc: realloc::<RAW>,
            free: free::<RAW>,
        },
        MEM => Allocator {
            context,
            malloc: malloc::<MEM>,
            calloc: calloc::<MEM>,
            realloc: realloc::<MEM>,
            free: free::<MEM>,
        },
        _ => Allocator {
            context,
            malloc: malloc::<OBJ>,
            calloc: calloc::<OBJ>,
            realloc: realloc::<OBJ>,
            free: free::<OBJ>,
        },
    }
}

/// Has an allocator hand out a piece: what each of the hooks handed out meanwhile, or 0.
///
/// # Safety
/// The allocator is whole, and the interpreter is held.
unsafe fn probe(allocator: &Allocator, size: usize) -> [usize; 3] {
    PROBED.iter().for_each(|probed| probed.store(0, Ordering::Relaxed));
    PROBING.store(true, Ordering::Relaxed);
    // SAFETY: as promised.
    unsafe {
        let piece = (allocator.malloc)(allocator.context, size);
        PROBING.store(false, Ordering::Relaxed);
        let seen = std::array::from_fn(|domain| PROBED[domain].load(Ordering::Relaxed));
        (allocator.free)(allocator.context, piece);
        seen
    }
}

/// Puts the hooks in.
///
/// # Safety
/// The interpreter is held, and the hooks are not in.
pub(super) unsafe fn install(access: Access) {
    // SAFETY: as promised. An original is there before its hook is.
    unsafe {
        for domain in [RAW, MEM, OBJ] {
            let mut found = std::mem::MaybeUninit::<Allocator>::uninit();
            (access.get)(domain as c_int, found.as_mut_ptr());
            let found = found.assume_init();
            // One that was left in may be gone by now: whoever was there before us put back what was there before them.
            if IS_IN[domain].swap(true, Ordering::Relaxed) && probe(&found, MAX_SMALL_BYTES / 2)[domain] != 0 {
                continue;
            }
            (*ORIGINALS.0.get())[domain] = Some(found);
            let mut ours = hook(domain, found.context);
            (access.set)(domain as c_int, &raw mut ours);
        }
        // A large piece from the allocator of objects: does the raw one hand it out, or something around it, or nothing?
        let seen: [[usize; 3]; MAX_TRIES] =
            std::array::from_fn(|_| probe(&hook(OBJ, original(OBJ).context), 4 * MAX_SMALL_BYTES));
        let is_same = seen.iter().any(|[raw, _, objects]| raw == objects && *raw != 0);
        LARGE_IS_RAW.store(is_same, Ordering::Relaxed);
        if !is_same && seen.iter().all(|[raw, ..]| *raw != 0) {
            // Python's debugging allocators put something around each piece: what they ask for would count twice.
            let mut found = *original(RAW);
            (access.set)(RAW as c_int, &raw mut found);
            IS_IN[RAW].store(false, Ordering::Relaxed);
        }
    }
}

/// Takes them out, where no one put others around them. Whether they were still asked: who was there before us may have
/// put back what was there before them.
///
/// # Safety
/// The interpreter is held.
pub(super) unsafe fn remove(access: Access) -> bool {
    let mut asked = true;
    for domain in [RAW, MEM, OBJ] {
        if !IS_IN[domain].load(Ordering::Relaxed) {
            continue;
        }
        // SAFETY: as promised.
        unsafe {
            let mut found = std::mem::MaybeUninit::<Allocator>::uninit();
            (access.get)(domain as c_int, found.as_mut_ptr());
            let found = found.assume_init();
            if found.malloc as usize == hook(domain, found.context).malloc as usize {
                let mut before = *original(domain);
                (access.set)(domain as c_int, &raw mut before);
                IS_IN[domain].store(false, Ordering::Relaxed);
            } else {
                asked &= probe(&found, MAX_SMALL_BYTES / 2)[domain] != 0;
            }
        }
    }
    asked
}
