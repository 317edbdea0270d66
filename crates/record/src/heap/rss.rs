//! How much of this process is in memory, as the system says it.

use std::fs::File;

/// The file that says it, kept open.
#[derive(Debug)]
pub struct Rss {
    file: File,
    page: u64,
}

impl Rss {
    /// None where the system has no such file.
    pub fn open() -> Option<Rss> {
        let file = File::open("/proc/self/statm").ok()?;
        Some(Rss { file, page: rustix::param::page_size() as u64 })
    }

    /// Bytes in memory now.
    pub fn read(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let mut text = [0u8; 128];
            let length = std::os::unix::fs::FileExt::read_at(&self.file, &mut text, 0).ok()?;
            let second = text.get(..length)?.split(|byte| *byte == b' ').nth(1)?;
            let pages = second.iter().try_fold(0u64, |sum, digit| {
                digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0'))
            })?;
            Some(pages * self.page)
        }
        #[cfg(not(unix))]
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_to_is_in_memory() {
        let rss = Rss::open().unwrap();
        let before = rss.read().unwrap();
        let filled = vec![1u8; 64 << 20];
        let after = rss.read().unwrap();
        assert!(after >= before + filled.len() as u64 * 9 / 10, "{before} {after}");
    }
}
