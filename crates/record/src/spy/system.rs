//! The system calls that need unsafe code; everything else of this crate has none.

#![allow(unsafe_code, reason = "see above")]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// An address and a length.
pub(super) type Piece = (u64, usize);

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

/// The registers that say where a thread is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) instruction: u64,
    /// The end of its stack.
    pub(super) stack: u64,
    /// The frame pointer, where code keeps one.
    pub(super) frame: u64,
    /// Where a function without a frame returns to; only some processors have that.
    pub(super) link: u64,
}

/// What became of a thread that was asked to stop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    NotYet,
    /// It is stopped; this signal was on its way and has to be passed on (0: none).
    Still(i32),
    Ended,
}

/// Asks a thread to stop; it does so soon.
#[cfg(target_os = "linux")]
pub(super) fn ask_to_stop(thread: u32) -> io::Result<()> {
    trace(libc::PTRACE_SEIZE, thread, 0)?;
    trace(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Whether it has stopped. `reap`: take note of its end too; the end of a child of ours is noted elsewhere.
#[cfg(target_os = "linux")]
pub(super) fn halted(thread: u32, reap: bool) -> io::Result<Halt> {
    let ends = if reap { libc::WEXITED } else { 0 };
    let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL | ends;
    // SAFETY: all zeros are a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to `info` only.
    if unsafe { libc::waitid(libc::P_PID, thread, &raw mut info, options) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled in what waitid fills in, or left zeros.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok(match info.si_code {
        _ if pid == 0 => Halt::NotYet,
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED => Halt::Ended,
        // The bits above the signal say which event it is; none: the signal itself is about to be delivered.
        _ if status >> 8 == 0 => Halt::Still(status & 0x7f),
        _ => Halt::Still(0),
    })
}

/// Whether a child of ours has ended. Unlike waiting for it, this takes no notice of its stops.
#[cfg(target_os = "linux")]
pub fn has_ended(child: u32) -> bool {
    // SAFETY: all zeros are a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes to `info` only.
    let asked = unsafe { libc::waitid(libc::P_PID, child, &raw mut info, options) };
    if asked != 0 {
        // No one to wait for: it was waited for already, or is on its way out of another's hands.
        return !std::path::Path::new(&format!("/proc/{child}")).exists();
    }
    // A child whose thread was asked to stop, and does so only now, is reported however little that was asked for.
    matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED)
}

/// Other systems stop nothing.
#[cfg(not(target_os = "linux"))]
pub fn has_ended(_: u32) -> bool {
    true
}

/// Lets a stopped thread go on.
#[cfg(target_os = "linux")]
pub(super) fn let_go(thread: u32, signal: i32) -> io::Result<()> {
    trace(libc::PTRACE_DETACH, thread, signal)
}

#[cfg(target_os = "linux")]
fn trace(request: libc::c_uint, thread: u32, data: i32) -> io::Result<()> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: these requests read and write no memory of ours.
    let done = unsafe { libc::ptrace(request, thread, none, data as usize as *mut libc::c_void) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The registers of a stopped thread.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn registers(thread: u32) -> io::Result<Registers> {
    const GENERAL: usize = 1;
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: all zeros are valid registers.
    let mut all: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut place =
        libc::iovec { iov_base: (&raw mut all).cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: the kernel writes at most `iov_len` bytes to `all`.
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_GETREGSET,
            thread,
            GENERAL as *mut libc::c_void,
            (&raw mut place).cast::<libc::c_void>(),
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    #[cfg(target_arch = "x86_64")]
    let found = Registers { instruction: all.rip, stack: all.rsp, frame: all.rbp, link: 0 };
    #[cfg(target_arch = "aarch64")]
    let found = Registers { instruction: all.pc, stack: all.sp, frame: all.regs[29], link: all.regs[30] };
    Ok(found)
}

/// Other processors' registers are not known.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn registers(_: u32) -> io::Result<Registers> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn ask_to_stop(_: u32) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn halted(_: u32, _: bool) -> io::Result<Halt> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn let_go(_: u32, _: i32) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Whether a second request to end is only noted, like the first.
static IGNORE_STOPS: AtomicBool = AtomicBool::new(false);
/// The request to end that came last, if it was not Ctrl-C.
static END_REQUEST: AtomicI32 = AtomicI32::new(0);

/// From now on a second request to end does not end this process either: the program that it watches decides.
pub fn ignore_stops() {
    IGNORE_STOPS.store(true, Ordering::Relaxed);
}

/// A request to end that came to this process alone, once: SIGTERM or SIGHUP. Ctrl-C in a terminal goes to all.
pub fn requested_end() -> Option<i32> {
    Some(END_REQUEST.swap(0, Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// From now on Ctrl-C and polite requests to end are noted, and end nothing: [`interrupted`] says so. A second one ends the process.
#[cfg(target_os = "linux")]
pub fn notice_interrupts() {
    extern "C" fn note(signal: libc::c_int) {
        if signal != libc::SIGINT {
            END_REQUEST.store(signal, Ordering::Relaxed);
        }
        if INTERRUPTED.swap(true, Ordering::Relaxed) && !IGNORE_STOPS.load(Ordering::Relaxed) {
            // SAFETY: both may be called in a handler.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only touches an atomic, and calls what may be called in a handler.
        let before = unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        if signal == libc::SIGHUP && before == libc::SIG_IGN {
            // Under nohup it stays unheard.
            // SAFETY: as it was.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// Other systems end the program as ever.
#[cfg(not(target_os = "linux"))]
pub fn notice_interrupts() {}

/// Whether Ctrl-C was pressed since [`notice_interrupts`].
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_stops_has_not_ended() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(!has_ended(child.id()));
        ask_to_stop(child.id()).unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") t ") {
            std::thread::yield_now();
        }
        assert!(!has_ended(child.id()));
        assert_eq!(halted(child.id(), false).unwrap(), Halt::Still(0));
        let_go(child.id(), 0).unwrap();
        child.kill().unwrap();
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().code().is_none() && has_ended(child.id()));
    }
}
