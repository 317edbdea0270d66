//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that gets its name once it is whole, and is gone otherwise. It is made when the first byte comes.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    part: PathBuf,
    file: Option<BufWriter<File>>,
}

impl WholeFile {
    /// A file that will be at this path. Until then it is beside it, hidden, under a name that no other process has.
    pub fn new(path: &Path) -> WholeFile {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        WholeFile { path: path.to_owned(), part, file: None }
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::with_capacity(1 << 18, File::create(&self.part)?),
        };
        Ok(self.file.insert(file))
    }

    /// All of it has come: it gets its name, also if it is empty. The file is open at its end.
    pub fn keep(mut self) -> io::Result<File> {
        self.open()?.flush()?;
        fs::rename(&self.part, &self.path)?;
        let file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// The unfinished file itself, for callers that write it in another way, or wants it on the disk before it gets its name.
    pub fn file(&mut self) -> io::Result<File> {
        let file = self.open()?;
        file.flush()?;
        file.get_ref().try_clone()
    }

    pub fn has_begun(&self) -> bool {
        self.file.is_some()
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is still in memory need not be written.
            let _ = file.into_parts();
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Writes these bytes to a file, or leaves what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::new(path);
    file.write_all(bytes)?;
    file.keep().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_whole_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("stepscope-whole-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.json");
        let names = || fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();

        let mut cut = WholeFile::new(&path);
        assert!(!cut.has_begun() && names().is_empty());
        cut.write_all(b"half").unwrap();
        assert!(cut.has_begun() && names().len() == 1 && !path.exists());
        drop(cut);
        assert!(names().is_empty());

        write_whole(&path, b"one").unwrap();
        let mut next = WholeFile::new(&path);
        next.write_all(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        next.keep().unwrap().write_all(b" more").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names().len()), (b"two more".to_vec(), 1));
        WholeFile::new(&path).keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");

        assert!(write_whole(&folder.join("none/b"), b"x").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
