//! Keys as they are pressed. `stty` sets the terminal's mode and puts it back.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::failure::Failure;
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Key {
    Char(char),
    Enter,
    Backspace,
    Escape,
    /// No one types any more.
    End,
}

/// Listens until it is dropped, which puts the terminal's mode back.
pub(in crate::commands) struct Keys {
    pub(in crate::commands) pressed: Receiver<Key>,
    before: String,
}

impl Keys {
    pub(in crate::commands) fn listen() -> Result<Keys, Failure> {
        let failed =
            || Failure::wrong_use("the terminal's mode cannot be set", "use --once for a table instead");
        let saved = stty(&["-g"]).ok_or_else(failed)?;
        stty(&["-icanon", "-echo", "min", "1"]).ok_or_else(failed)?;
        let (send, pressed) = channel();
        // Blocked in a read for as long as no one types; it ends with the process.
        std::thread::spawn(move || {
            let mut bytes = [0; 64];
            loop {
                let read = std::io::stdin().read(&mut bytes).unwrap_or(0);
                let keys = if read == 0 { vec![Key::End] } else { keys_of(&bytes[..read]) };
                if keys.into_iter().any(|key| send.send(key).is_err()) || read == 0 {
                    return;
                }
            }
        });
        Ok(Keys { pressed, before: saved.trim().to_owned() })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        stty(&[&self.before]);
    }
}

fn stty(words: &[&str]) -> Option<String> {
    let output =
        Command::new("stty").args(words).stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Keys of what a terminal sent at once. Arrows and the like begin with an escape and have no use here.
fn keys_of(bytes: &[u8]) -> Vec<Key> {
    if bytes == [0x1b] {
        return vec![Key::Escape];
    }
    if bytes.first() == Some(&0x1b) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .filter_map(|c| match c {
            '\r' | '\n' => Some(Key::Enter),
            '\u{7f}' | '\u{8}' => Some(Key::Backspace),
            '\u{4}' => Some(Key::End),
            c if c.is_control() => None,
            c => Some(Key::Char(c)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_arrows_are_not() {
        assert_eq!(keys_of(b"q"), [Key::Char('q')]);
        assert_eq!(keys_of(b"/a\r"), [Key::Char('/'), Key::Char('a'), Key::Enter]);
        assert_eq!(keys_of(b"\x1b[A"), []);
        assert_eq!(keys_of(b"\x1b"), [Key::Escape]);
        assert_eq!(keys_of("ä\x7f".as_bytes()), [Key::Char('ä'), Key::Backspace]);
    }
}
