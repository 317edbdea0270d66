//! Patches loaded libraries so that they call our hooks: each has a table of the functions of others that it calls, and the
//! entries of that table are rewritten.
//!
//! Left alone are this library, the one that has the allocator itself, and Python, whose allocators have hooks of their own.

use std::ffi::{CStr, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A function's name, what is called instead of it, and the function.
pub(super) type Hook = (&'static [u8], usize, usize);
pub(super) const HOOKS: usize = 14;

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_JMPREL: i64 = 23;

/// Entries that hold the address of a function: called through a table, kept in one, or in a variable.
#[cfg(target_arch = "x86_64")]
const KINDS: [u32; 3] = [7, 6, 1];
#[cfg(target_arch = "aarch64")]
const KINDS: [u32; 3] = [1026, 1025, 257];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const KINDS: [u32; 0] = [];

/// How many libraries had been loaded when they were last patched.
static LOADED: AtomicU64 = AtomicU64::new(0);
static PATCHING: Mutex<()> = Mutex::new(());
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Whether this machine's libraries are understood.
pub(super) fn can_patch() -> bool {
    !KINDS.is_empty() && cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))
}

struct Work {
    hooks: [Hook; HOOKS],
    into: bool,
    /// Libraries that are left alone, by where they begin.
    own: usize,
    allocator: usize,
    python: usize,
    loaded: u64,
}

/// Where the library begins that an address is in.
fn base_of(address: usize) -> usize {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the system fills it, or says that it did not.
    unsafe {
        if libc::dladdr(address as *const c_void, info.as_mut_ptr()) == 0 {
            return 0;
        }
        info.assume_init().dli_fbase as usize
    }
}

fn walk(hooks: [Hook; HOOKS], into: bool) -> u64 {
    let _alone = stepscope_ground::lock(&PATCHING);
    // SAFETY: it is asked for a number.
    PAGE.store(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as usize, Ordering::Relaxed);
    let mut work = Work {
        hooks,
        into,
        own: base_of(walk as *const () as usize),
        allocator: base_of(libc::malloc as *const () as usize),
        python: base_of(pyo3::ffi::PyMem_Malloc as *const () as usize),
        loaded: 0,
    };
    // SAFETY: the system calls `library` with each library that is loaded, and none goes away meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(library), (&raw mut work).cast()) };
    LOADED.store(work.loaded, Ordering::Relaxed);
    work.loaded
}

/// Puts the hooks into all libraries.
pub(super) fn patch(hooks: [Hook; HOOKS]) {
    walk(hooks, true);
}

/// Puts them into libraries that came since.
pub(super) fn patch_new(hooks: [Hook; HOOKS]) {
    let mut loaded = 0u64;
    // SAFETY: as above.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut loaded).cast()) };
    if loaded != LOADED.load(Ordering::Relaxed) {
        walk(hooks, true);
    }
}

/// Takes them out of all.
pub(super) fn restore(hooks: [Hook; HOOKS]) {
    walk(hooks, false);
}

unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the system calls this with a library and what was given to it.
    unsafe { *loaded.cast::<u64>() = (*info).dlpi_adds };
    1
}

unsafe extern "C" fn library(info: *mut libc::dl_phdr_info, _: usize, work: *mut c_void) -> c_int {
    // SAFETY: the system calls this with a library and what was given to it.
    unsafe {
        let (info, work) = (&*info, &mut *work.cast::<Work>());
        work.loaded = info.dlpi_adds;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let base = info.dlpi_addr as usize;
        let starts = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let page = PAGE.load(Ordering::Relaxed);
        let Some(begin) = starts.map(|header| base + (header.p_vaddr as usize & !(page - 1))).min() else {
            return 0;
        };
        let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
        let name = name.to_bytes();
        let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        if begin == work.own
            || begin == work.allocator
            || file.starts_with(b"ld-linux")
            || file.starts_with(b"linux-vdso")
            || file.starts_with(b"libc.so")
        {
            return 0;
        }
        // Python's own calls of the allocator are reported by its hooks; what it loads must be seen.
        let only_loading = begin == work.python;
        let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return 0 };
        let constant = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
        let constant = constant.map_or(0..0, |header| {
            let start = base + header.p_vaddr as usize;
            start..(start + header.p_memsz as usize) & !(page - 1)
        });
        tables(base, (base + dynamic.p_vaddr as usize) as *const Dynamic, |slot, name| {
            let Some((_, hook, real)) = work.hooks.iter().find(|(known, ..)| *known == name) else { return };
            let is_loading = name == b"dlopen";
            // Others that load look for libraries beside themselves, and would look beside us.
            if is_loading && !(only_loading || file.starts_with(b"_ctypes")) || !is_loading && only_loading {
                return;
            }
            let (from, to) = if work.into { (None, *hook) } else { (Some(*hook), *real) };
            write(slot, from, to, &constant, page);
        });
        0
    }
}

/// Calls `found` with each entry that holds the address of a function, and the function's name.
///
/// # Safety
/// `dynamic` is that of a library loaded at `base`.
unsafe fn tables(base: usize, mut dynamic: *const Dynamic, mut found: impl FnMut(*mut usize, &[u8])) {
    let (mut strings, mut symbols, mut jumps, mut others) = (0, 0, (0, 0), (0, 0));
    let mut strings_size = 0;
    // SAFETY: as promised: the list ends with a 0.
    unsafe {
        while (*dynamic).tag != 0 {
            let value = (*dynamic).value as usize;
            match (*dynamic).tag {
                DT_STRTAB => strings = value,
                DT_STRSZ => strings_size = value,
                DT_SYMTAB => symbols = value,
                DT_JMPREL => jumps.0 = value,
                DT_PLTRELSZ => jumps.1 = value,
                DT_RELA => others.0 = value,
                DT_RELASZ => others.1 = value,
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
    }
    if strings == 0 || symbols == 0 {
        return;
    }
    // The loader has made addresses of most of these; some systems leave them as they were.
    let address = |value: usize| if value < base { base + value } else { value };
    for (start, size) in [jumps, others] {
        if start == 0 {
            continue;
        }
        let count = size / size_of::<Relocation>();
        // SAFETY: the library says that so many lie there.
        let entries = unsafe { std::slice::from_raw_parts(address(start) as *const Relocation, count) };
        for entry in entries {
            let (kind, symbol) = (entry.info as u32, (entry.info >> 32) as usize);
            if !KINDS.contains(&kind) || symbol == 0 || entry.addend != 0 {
                continue;
            }
            // SAFETY: an entry names one of the library's symbols, and that a text of its.
            unsafe {
                let symbol = &*(address(symbols) as *const Symbol).add(symbol);
                // One that the library has itself is another allocator.
                if (symbol.name as usize) < strings_size && symbol.section == 0 {
                    let name = CStr::from_ptr((address(strings) + symbol.name as usize) as *const _);
                    found((base + entry.offset as usize) as *mut usize, name.to_bytes());
                }
            }
        }
    }
}

/// # Safety
/// The slot is an entry of a loaded library; `constant` is what of it may not be written to.
unsafe fn write(
    slot: *mut usize,
    from: Option<usize>,
    to: usize,
    constant: &std::ops::Range<usize>,
    page: usize,
) {
    // SAFETY: as promised. Whoever reads it meanwhile sees the old address or the new one.
    unsafe {
        let shared = &*slot.cast::<AtomicUsize>();
        let now = shared.load(Ordering::Relaxed);
        if now == to || from.is_some_and(|from| from != now) {
            return;
        }
        let is_constant = constant.contains(&(slot as usize));
        let start = (slot as usize & !(page - 1)) as *mut c_void;
        if is_constant && libc::mprotect(start, page, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        shared.store(to, Ordering::Relaxed);
        if is_constant {
            libc::mprotect(start, page, libc::PROT_READ);
        }
    }
}
