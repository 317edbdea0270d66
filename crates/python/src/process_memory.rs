//! Memory of this process, as it is read at both edges of a region.
//!
//! - What it holds (RSS), from the kernel.
//! - The most it has held since its program began: the kernel's high-water mark. If it rose while a region was open, it is
//!   the peak of the region, however short that was. It is never reset: others may read it too.
//! - What the C allocator holds free. What a program frees stays with the allocator as a rule, so that resident memory is
//!   the most that was ever needed at once. glibc tells (`mallinfo2`); it walks over its free pieces, so asking stops
//!   where that takes long.

mod slow_guard;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use pyo3::prelude::*;

use slow_guard::SlowGuard;

/// If the allocator takes longer than this, it is soon not asked again (a heuristic): tens of thousands of free pieces take
/// milliseconds.
const MAX_ALLOCATOR_TIME: Duration = Duration::from_micros(200);
/// Two readings in a row lag behind one another by some pages.
const MARK_LAG_BYTES: u64 = 1 << 20;

/// What this process holds, the most it has held, and what its allocator holds free: bytes, or nothing where the system
/// does not say.
#[pyfunction]
pub(crate) fn process_memory() -> (Option<u64>, Option<u64>, Option<u64>) {
    // What is free comes first: reading the rest allocates nothing.
    let free = allocator_free_bytes();
    (rss_bytes(), high_water_bytes(), free)
}

fn rss_bytes() -> Option<u64> {
    /// The open file, and the process that it is about: a forked child's is another.
    static STATM: Mutex<Option<(u32, File)>> = Mutex::new(None);
    let mut text = [0_u8; 128];
    let length = match STATM.try_lock() {
        Ok(mut open) => {
            let process = std::process::id();
            if open.as_ref().is_none_or(|(of, _)| *of != process) {
                *open = Some((process, File::open("/proc/self/statm").ok()?));
            }
            open.as_ref()?.1.read_at(&mut text, 0).ok()?
        }
        // Another thread is at it, or was when the process forked.
        Err(_) => File::open("/proc/self/statm").ok()?.read(&mut text).ok()?,
    };
    let pages: u64 = std::str::from_utf8(&text[..length]).ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

fn page_bytes() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    // SAFETY: it only answers.
    *PAGE.get_or_init(|| u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
}

/// The faster of two ways, unless it is of another program: one that a larger process started inherits that one's
/// `ru_maxrss`, which then says nothing for long. Such a mark is recognized by being above `VmHWM`.
fn high_water_bytes() -> Option<u64> {
    static INHERITED: OnceLock<bool> = OnceLock::new();
    // In this order: a mark only rises, so that one's own cannot be above what is read after it.
    let inherited = *INHERITED.get_or_init(|| match (usage_mark_bytes(), status_mark_bytes()) {
        (Some(usage), Some(own)) => usage > own + MARK_LAG_BYTES,
        _ => false,
    });
    if inherited { status_mark_bytes() } else { usage_mark_bytes() }
}

fn status_mark_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_ascii_whitespace().next()?;
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}

fn usage_mark_bytes() -> Option<u64> {
    const UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it writes one such structure, and all zeros is one.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    Some(u64::try_from(usage.ru_maxrss).ok()? * UNIT)
}

fn allocator_free_bytes() -> Option<u64> {
    static ALLOCATOR: SlowGuard = SlowGuard::new();
    ALLOCATOR.ask(MAX_ALLOCATOR_TIME, ask_allocator)
}

#[cfg(target_os = "linux")]
fn ask_allocator() -> Option<u64> {
    /// `struct mallinfo2`: its ninth member is what is free.
    #[repr(C)]
    struct AllocatorInfo([libc::size_t; 10]);
    const FREE: usize = 8;
    type Ask = unsafe extern "C" fn() -> AllocatorInfo;
    static ASK: OnceLock<Option<Ask>> = OnceLock::new();
    // Looked up, since musl and a glibc before 2.33 do not have it.
    let ask = (*ASK.get_or_init(|| {
        // SAFETY: the name is a C string; a function of that name has this type.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr());
            (!found.is_null()).then(|| std::mem::transmute::<*mut libc::c_void, Ask>(found))
        }
    }))?;
    // SAFETY: it only answers.
    Some(unsafe { ask() }.0[FREE] as u64)
}

#[cfg(not(target_os = "linux"))]
fn ask_allocator() -> Option<u64> {
    None
}
