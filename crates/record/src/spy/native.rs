//! Native stacks: which C and C++ functions a stopped thread is in.
//!
//! While a thread is stopped, only its registers and the used end of its stack are copied. What takes time comes after it was let
//! go: unwinding the copy by the tables of each file (`framehop`), and looking functions up (`image.rs`). Files are opened as the
//! process sees them, and kept for all processes.

mod demangle;
mod image;
mod merge;
mod unwind;

use std::collections::HashMap as Map;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::elf::Bytes;
use super::find::{self, Mapping, VDSO};
use super::memory::{Memory, PAGE_BYTES};
use super::system::{Piece, Registers};
use image::Image;
pub(super) use merge::merged;
use stepscope_ground::lock;
use unwind::{UnwindTables, WalkEnd};

/// What is copied of a stack at first, and at most. More is copied as soon as a stack turns out to be deeper.
const FIRST_COPY: usize = 64 << 10;
const MAX_COPY: usize = 3 << 20;
/// Frames of one stack.
const MAX_FRAMES: usize = 32_768;
/// How often a process may be asked which files it has loaded.
const MAPS_EVERY: Duration = Duration::from_millis(500);
/// Addresses and threads that are remembered; then it begins anew.
const MAX_ADDRESSES: usize = 1 << 20;
const MAX_THREADS: usize = 1 << 14;
const MAX_VDSO: u64 = 64 << 10;

/// A frame of native code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct NativeFrame {
    /// Which function; see [`Native::function`].
    pub(super) function: usize,
    /// Its part of the stack.
    pub(super) stack: (u64, u64),
}

/// A native function, or a file where the function is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NativeFunction {
    /// Its name; none where no table has it.
    pub(super) name: Option<String>,
    /// The path of its file, as the process sees it.
    pub(super) file: String,
    /// Whether it is of the interpreter itself.
    pub(super) of_python: bool,
}

/// A thread, copied while it was stopped.
#[derive(Debug)]
pub(super) struct ThreadCopy {
    pub(super) thread: u32,
    registers: Registers,
    stack: Vec<u8>,
}

impl ThreadCopy {
    pub(super) fn stack_end(&self) -> u64 {
        self.registers.stack
    }
}

/// A file that is loaded.
#[derive(Debug)]
struct Module {
    moved: u64,
    image: Arc<Image>,
}

/// The native code of one process.
pub(super) struct Native {
    pid: u32,
    python_path: String,
    maps: Vec<Mapping>,
    maps_at: Option<Instant>,
    /// By path; none for what cannot be read.
    modules: HashMap<String, Option<Module>, RandomState>,
    unwinding: UnwindTables,
    functions: Vec<NativeFunction>,
    /// By file and where a function starts there.
    known: HashMap<(String, u64), usize, RandomState>,
    /// By address of code.
    at: HashMap<u64, usize, RandomState>,
    /// How much of a thread's stack to copy.
    copies: HashMap<u32, usize, RandomState>,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Native({})", self.pid)
    }
}

type Key = (u64, u64, u64, i64);

/// Images of all processes: those of a job have the same libraries.
static IMAGES: Mutex<Option<Map<Key, Arc<Image>>>> = Mutex::new(None);

impl Native {
    pub(super) fn new(pid: u32, python_path: &str) -> Native {
        Native {
            pid,
            python_path: python_path.to_owned(),
            maps: Vec::new(),
            maps_at: None,
            modules: HashMap::default(),
            unwinding: UnwindTables::default(),
            functions: Vec::new(),
            known: HashMap::default(),
            at: HashMap::default(),
            copies: HashMap::default(),
        }
    }

    /// Copies a thread that is stopped.
    pub(super) fn copy(&self, memory: &mut Memory, thread: u32) -> Option<ThreadCopy> {
        let registers = super::system::registers(thread).ok()?;
        let wanted = self.copies.get(&thread).copied().unwrap_or(FIRST_COPY) as u64;
        // Below the end of the stack is what a function without calls of its own may use.
        let start = registers.stack & !7;
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut at, end) = (start, start.checked_add(wanted)?);
        while at < end {
            let next = ((at / PAGE_BYTES) + 1) * PAGE_BYTES;
            pieces.push((at, (next.min(end) - at) as usize));
            at = next;
        }
        Some(ThreadCopy { thread, registers, stack: memory.pieces(&pieces) })
    }

    /// The frames of a copied thread, the innermost first; and whether more of its stack should have been copied, which is
    /// done the next time.
    pub(super) fn frames(&mut self, memory: &mut Memory, copied: &ThreadCopy) -> (Vec<NativeFrame>, bool) {
        let mut found: Vec<NativeFrame> = Vec::new();
        let start = copied.registers.stack & !7;
        let mut walk = self.unwinding.begin(&copied.registers);
        loop {
            let address = walk.lookup_address();
            let Some(function) = self.load(memory, address) else { break };
            let from = walk.stack();
            let step = self.unwinding.step(&mut walk, start, &copied.stack);
            let to = if step.is_ok() { walk.stack() } else { from };
            found.push(NativeFrame { function, stack: (from, to.max(from)) });
            match step {
                Ok(()) if found.len() < MAX_FRAMES => {}
                Err(WalkEnd::NotCopied) if copied.stack.len() < MAX_COPY => {
                    if self.copies.len() >= MAX_THREADS {
                        self.copies.clear();
                    }
                    let copies = self.copies.entry(copied.thread).or_insert(FIRST_COPY);
                    let grew = *copies <= copied.stack.len() + PAGE_BYTES as usize;
                    if grew {
                        *copies = (*copies * 4).min(MAX_COPY);
                    }
                    return (found, grew);
                }
                _ => break,
            }
        }
        (found, false)
    }

    pub(super) fn function(&self, index: usize) -> Option<&NativeFunction> {
        self.functions.get(index)
    }

    /// The function at an address, with its file's tables at hand for unwinding; none where there is no code.
    fn load(&mut self, memory: &mut Memory, address: u64) -> Option<usize> {
        if let Some(function) = self.at.get(&address) {
            return Some(*function);
        }
        let map = match self.mapping(address) {
            Some(map) => map,
            None => {
                // It may have been loaded since; or it is not an address of code.
                if self.maps_at.is_some_and(|at| at.elapsed() < MAPS_EVERY) {
                    return None;
                }
                self.maps = find::mappings(self.pid).unwrap_or_default();
                self.maps_at = Some(Instant::now());
                self.mapping(address)?
            }
        };
        if !self.modules.contains_key(&map.path) {
            let module = self.open(memory, &map);
            if let Some(module) = &module {
                let all = self.maps.iter().filter(|one| one.path == map.path);
                let (start, end) = all
                    .fold((map.start, map.end), |(start, end), one| (start.min(one.start), end.max(one.end)));
                self.unwinding.add(&map.path, start..end, module.moved, &module.image);
            }
            self.modules.insert(map.path.clone(), module);
        }
        let module = self.modules.get(&map.path).and_then(Option::as_ref);
        let found = module.and_then(|module| module.image.function(address.wrapping_sub(module.moved)));
        let starts = found.as_ref().map_or(u64::MAX, |function| function.address);
        let next = self.functions.len();
        let index = *self.known.entry((map.path.clone(), starts)).or_insert(next);
        if index == next {
            self.functions.push(NativeFunction {
                name: found.map(|function| function.name),
                of_python: map.path == self.python_path,
                file: map.path,
            });
        }
        if self.at.len() >= MAX_ADDRESSES {
            self.at.clear();
        }
        self.at.insert(address, index);
        Some(index)
    }

    fn mapping(&self, address: u64) -> Option<Mapping> {
        let after = self.maps.partition_point(|map| map.start <= address);
        let map = self.maps.get(after.checked_sub(1)?)?;
        (address < map.end && map.runs).then(|| map.clone())
    }

    fn open(&self, memory: &mut Memory, map: &Mapping) -> Option<Module> {
        let root = PathBuf::from(format!("/proc/{}/root", self.pid));
        if map.path == VDSO {
            let length = (map.end - map.start).min(MAX_VDSO);
            let bytes = memory.bytes(map.start, length as usize).ok()?;
            let image = Arc::new(Image::read(Bytes::Memory(bytes), &root).ok()?);
            return Some(Module { moved: map.start, image });
        }
        let executable = std::fs::read_link(format!("/proc/{}/exe", self.pid)).unwrap_or_default();
        let file = find::open(self.pid, &map.path, &executable.to_string_lossy(), &self.maps)?;
        let image = shared_image(file, &root)?;
        let moved = if image.elf.fixed { 0 } else { find::moved(&image.elf.loads, map)? };
        Some(Module { moved, image })
    }
}

fn shared_image(file: File, root: &Path) -> Option<Arc<Image>> {
    let key = Image::key(&file)?;
    let mut images = lock(&IMAGES);
    let images = images.get_or_insert_with(Map::new);
    if let Some(image) = images.get(&key) {
        return Some(image.clone());
    }
    let image = Arc::new(Image::read(Bytes::File(file), root).ok()?);
    images.insert(key, image.clone());
    Some(image)
}
