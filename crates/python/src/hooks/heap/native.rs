//! What libraries call instead of the system's allocator while memory is tracked.

use std::ffi::{c_char, c_int, c_void};

use super::libraries::{self, HOOKS, Hook};
use super::state::{self, AllocationSource};

unsafe extern "C" {
    fn memalign(align: usize, size: usize) -> *mut c_void;
    fn valloc(size: usize) -> *mut c_void;
    fn pvalloc(size: usize) -> *mut c_void;
    fn reallocarray(old: *mut c_void, count: usize, each: usize) -> *mut c_void;
}

#[inline]
fn record_allocation(address: *mut c_void, size: usize) {
    state::allocated(address as usize, size, AllocationSource::Native);
}

// SAFETY, for all of these: they are called as the functions whose names they have, and call those with the same values.
// This library itself is never patched, so that these names mean the system's functions here.

unsafe extern "C" fn hook_malloc(size: usize) -> *mut c_void {
    let made = unsafe { libc::malloc(size) };
    record_allocation(made, size);
    made
}

unsafe extern "C" fn hook_calloc(count: usize, each: usize) -> *mut c_void {
    let made = unsafe { libc::calloc(count, each) };
    record_allocation(made, count.saturating_mul(each));
    made
}

unsafe extern "C" fn hook_realloc(old: *mut c_void, size: usize) -> *mut c_void {
    let before = state::freed(old as usize);
    let made = unsafe { libc::realloc(old, size) };
    match before {
        Some(before) if made.is_null() && size > 0 => state::restore(old as usize, before),
        _ => record_allocation(made, size),
    }
    made
}

unsafe extern "C" fn hook_reallocarray(old: *mut c_void, count: usize, each: usize) -> *mut c_void {
    let before = state::freed(old as usize);
    let made = unsafe { reallocarray(old, count, each) };
    match before {
        Some(before) if made.is_null() && count > 0 && each > 0 => state::restore(old as usize, before),
        _ => record_allocation(made, count.saturating_mul(each)),
    }
    made
}

unsafe extern "C" fn hook_free(old: *mut c_void) {
    state::freed(old as usize);
    unsafe { libc::free(old) }
}

unsafe extern "C" fn hook_posix_memalign(made: *mut *mut c_void, align: usize, size: usize) -> c_int {
    let failed = unsafe { libc::posix_memalign(made, align, size) };
    if failed == 0 {
        record_allocation(unsafe { *made }, size);
    }
    failed
}

unsafe extern "C" fn hook_aligned_alloc(align: usize, size: usize) -> *mut c_void {
    let made = unsafe { libc::aligned_alloc(align, size) };
    record_allocation(made, size);
    made
}

unsafe extern "C" fn hook_memalign(align: usize, size: usize) -> *mut c_void {
    let made = unsafe { memalign(align, size) };
    record_allocation(made, size);
    made
}

unsafe extern "C" fn hook_valloc(size: usize) -> *mut c_void {
    let made = unsafe { valloc(size) };
    record_allocation(made, size);
    made
}

unsafe extern "C" fn hook_pvalloc(size: usize) -> *mut c_void {
    let made = unsafe { pvalloc(size) };
    record_allocation(made, size);
    made
}

unsafe extern "C" fn hook_mmap(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let made = unsafe { libc::mmap(address, size, protection, flags, file, offset) };
    // Room that is only set aside, and files, take no memory of their own.
    if made != libc::MAP_FAILED && flags & libc::MAP_ANONYMOUS != 0 && protection & libc::PROT_WRITE != 0 {
        state::mapped(made as usize, size);
    }
    made
}

unsafe extern "C" fn hook_munmap(address: *mut c_void, size: usize) -> c_int {
    state::unmapped(address as usize, size);
    unsafe { libc::munmap(address, size) }
}

unsafe extern "C" fn hook_dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    let made = unsafe { libc::dlopen(path, flags) };
    if !made.is_null() && state::is_active() {
        libraries::patch_new(hooks());
    }
    made
}

pub(super) fn hooks() -> [Hook; HOOKS] {
    [
        (b"malloc", hook_malloc as *const () as usize, libc::malloc as *const () as usize),
        (b"calloc", hook_calloc as *const () as usize, libc::calloc as *const () as usize),
        (b"realloc", hook_realloc as *const () as usize, libc::realloc as *const () as usize),
        (b"reallocarray", hook_reallocarray as *const () as usize, reallocarray as *const () as usize),
        (b"free", hook_free as *const () as usize, libc::free as *const () as usize),
        (
            b"posix_memalign",
            hook_posix_memalign as *const () as usize,
            libc::posix_memalign as *const () as usize,
        ),
        (b"aligned_alloc", hook_aligned_alloc as *const () as usize, libc::aligned_alloc as *const () as usize),
        (b"memalign", hook_memalign as *const () as usize, memalign as *const () as usize),
        (b"valloc", hook_valloc as *const () as usize, valloc as *const () as usize),
        (b"pvalloc", hook_pvalloc as *const () as usize, pvalloc as *const () as usize),
        (b"mmap", hook_mmap as *const () as usize, libc::mmap as *const () as usize),
        (b"mmap64", hook_mmap as *const () as usize, libc::mmap as *const () as usize),
        (b"munmap", hook_munmap as *const () as usize, libc::munmap as *const () as usize),
        (b"dlopen", hook_dlopen as *const () as usize, libc::dlopen as *const () as usize),
    ]
}
