//! Why this process may not read another, and the command that changes it.

use std::fs;

use super::command_line::command;
use super::error::{SpyError, Unreadable};

/// The number of the capability to look into other processes.
const SYS_PTRACE: u64 = 19;

/// What the system says about who may read whom.
struct Situation {
    own_uid: Option<u32>,
    their_uid: Option<u32>,
    may_trace: bool,
    yama: Option<u32>,
    in_container: bool,
}

/// A failure to read, in words.
pub(super) fn unreadable(pid: u32, error: Unreadable) -> SpyError {
    match error {
        Unreadable::Gone => SpyError::gone(pid),
        Unreadable::Denied => denied(pid),
        Unreadable::Address(_) | Unreadable::Nonsense => SpyError::new(
            format!("the Python of process {pid} is not ready, is ending, or is built in an unusual way"),
            "try again; if it stays so, name its Python build in a report",
        ),
    }
}

/// The error about a process whose threads may not be stopped.
pub(super) fn not_stopped(pid: u32) -> SpyError {
    let tracer = field(&pid.to_string(), "TracerPid").and_then(|text| text.parse::<u32>().ok());
    match tracer.filter(|tracer| *tracer != 0) {
        Some(tracer) => SpyError::new(
            format!("process {pid} is traced by process {tracer} ({}), and only one can", command(tracer)),
            "end that one, or leave --native and --blocking out: reading memory does not stop anything",
        ),
        None => denied(pid),
    }
}

/// The error about a process that may not be read.
pub(super) fn denied(pid: u32) -> SpyError {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
    let situation = Situation {
        own_uid: uid("self"),
        their_uid: uid(&pid.to_string()),
        may_trace: field("self", "CapEff")
            .and_then(|text| u64::from_str_radix(&text, 16).ok())
            .is_some_and(|all| all >> SYS_PTRACE & 1 == 1),
        yama: number("/proc/sys/kernel/yama/ptrace_scope"),
        in_container: fs::exists("/.dockerenv").unwrap_or(false)
            || fs::exists("/run/.containerenv").unwrap_or(false)
            || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
    };
    SpyError { denied: true, ..denial(pid, &situation) }
}

fn denial(pid: u32, situation: &Situation) -> SpyError {
    let Situation { own_uid, their_uid, may_trace, yama, in_container } = *situation;
    let container = "start the container with `docker run --cap-add=SYS_PTRACE …`; in Kubernetes add \
                     SYS_PTRACE to securityContext.capabilities.add";
    if own_uid == Some(0) && !may_trace {
        return SpyError::new("root may not read other processes in this container", container);
    }
    if own_uid != Some(0) && own_uid != their_uid && their_uid.is_some() {
        return SpyError::new(
            format!("process {pid} belongs to another user"),
            "run the same command with sudo in front",
        );
    }
    match yama {
        Some(3) => SpyError::new(
            "this system forbids reading other processes until it is rebooted (kernel.yama.ptrace_scope is 3)",
            "start the program with `stepscope run` or `stepscope record -- python …` instead",
        ),
        Some(2) if !may_trace => SpyError::new(
            "only root may read other processes here (kernel.yama.ptrace_scope is 2)",
            "run the same command with sudo in front",
        ),
        Some(1) if !may_trace => SpyError::new(
            "only a parent may read its child processes here (kernel.yama.ptrace_scope is 1)",
            "run the same command with sudo in front, or allow it until the next start: \
             `sudo sysctl kernel.yama.ptrace_scope=0`",
        ),
        _ if in_container => {
            SpyError::new(format!("process {pid} may not be read from this container"), container)
        }
        _ => SpyError::new(
            format!("process {pid} may not be read"),
            "run the same command with sudo in front; in a container, start it with --cap-add=SYS_PTRACE",
        ),
    }
}

fn uid(process: &str) -> Option<u32> {
    field(process, "Uid")?.split_ascii_whitespace().next()?.parse().ok()
}

/// A line of `/proc/PID/status`.
fn field(process: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_command() {
        let usual = Situation {
            own_uid: Some(1000),
            their_uid: Some(1000),
            may_trace: false,
            yama: None,
            in_container: false,
        };
        let hint = |situation: Situation| denial(7, &situation).problem.hint;
        assert!(hint(Situation { own_uid: Some(0), ..usual }).contains("--cap-add=SYS_PTRACE"));
        assert!(hint(Situation { their_uid: Some(0), ..usual }).contains("sudo"));
        assert!(hint(Situation { yama: Some(1), ..usual }).contains("sysctl kernel.yama.ptrace_scope=0"));
        assert!(hint(Situation { yama: Some(2), ..usual }).contains("sudo"));
        assert!(hint(Situation { yama: Some(3), ..usual }).contains("stepscope run"));
        assert!(hint(Situation { in_container: true, ..usual }).contains("docker run"));
        assert!(hint(usual).contains("sudo"));
    }
}
