//! The system calls that need unsafe code; everything else of this crate has none.

#![allow(unsafe_code, reason = "see above")]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// An address and a length.
pub(super) type Piece = (u64, usize);

/// Whether somebody pressed Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Reads pieces of another process's memory into one buffer with one call: how many bytes, up to the first piece that is not
/// there. No more is written than the buffer holds.
#[cfg(target_os = "linux")]
pub(super) fn read_memory(pid: u32, pieces: &[Piece], into: &mut [u8]) -> io::Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let remote: Vec<libc::iovec> = pieces
        .iter()
        .map(|&(at, length)| libc::iovec { iov_base: at as usize as *mut libc::c_void, iov_len: length })
        .collect();
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: the kernel writes to `into` only, at most its length, and checks every address of the other process.
    let read =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), remote.len() as u64, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn read_memory(_: u32, _: &[Piece], _: &mut [u8]) -> io::Result<usize> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// From now on Ctrl-C and a polite request to end are noted, and end nothing: [`interrupted`] says so. A second one ends the process.
#[cfg(target_os = "linux")]
pub fn notice_interrupts() {
    extern "C" fn note(signal: libc::c_int) {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            // SAFETY: both may be called in a handler.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only touches an atomic, and calls what may be called in a handler.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Other systems end the program as ever.
#[cfg(not(target_os = "linux"))]
pub fn notice_interrupts() {}

/// Whether somebody pressed Ctrl-C since [`notice_interrupts`].
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
