//! A command that runs a PyTorch program, changed so that the Python package counts its iterations.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// A script that names none of these starts as it is: to be counted costs it some 50 ms. A heuristic.
const WITH_ITERATIONS: [&str; 5] = ["torch", "lightning", "transformers", "accelerate", "diffusers"];
const HAS_PACKAGE: &str = "import importlib.util as u, sys; sys.exit(u.find_spec('stepscope._timed') is None)";

/// The command with the package in between; none if this is not Python, has no iterations, or lacks the package.
pub(super) fn counted(command: &[OsString]) -> Option<Vec<OsString>> {
    let (interpreter, words) = command.split_first()?;
    let name = Path::new(interpreter).file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    if !version.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let at = program_at(words)?;
    if words[at] != "-m" {
        let text = std::fs::read_to_string(&words[at]);
        text.ok().filter(|text| WITH_ITERATIONS.iter().any(|word| text.contains(word)))?;
    }
    let flags = &words[..at];
    let mut probe = Command::new(interpreter);
    probe
        .args(flags)
        .args(["-c", HAS_PACKAGE])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().ok().filter(std::process::ExitStatus::success)?;
    let ours = ["-m", "stepscope._timed"].map(OsString::from);
    let all = std::iter::once(interpreter).chain(flags).chain(&ours).chain(&words[at..]);
    Some(all.cloned().collect())
}

/// Where the program is named, after the flags of the interpreter: its path, or `-m`.
fn program_at(words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    loop {
        match words.get(at)?.to_str() {
            Some("-m") => return (words.len() > at + 1).then_some(at),
            Some("-W" | "-X") => at += 2,
            Some("-" | "--") => return None,
            // Of several letters in one word the last may be the one that names the program.
            Some(flag) if flag.starts_with('-') => match flag.contains(['c', 'm', 'h', 'V']) {
                true => return None,
                false => at += 1,
            },
            _ => return Some(at).filter(|&at| words[at] != OsStr::new("")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_comes_after_the_flags() {
        let at = |line: &str| program_at(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(at("train.py --lr 1"), Some(0));
        assert_eq!(at("-u -X importtime -m package.train"), Some(3));
        for none in ["-c pass", "-uc pass", "-", "-m", "-V", "-u"] {
            assert_eq!(at(none), None, "{none}");
        }
    }

    #[test]
    fn other_programs_start_as_they_are() {
        for line in ["./train.sh", "pythonic train.py", "python no_such_script.py", "python -c pass"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(counted(&words), None, "{line}");
        }
    }
}
