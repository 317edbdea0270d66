//! What all hooks write to: one heap behind one lock, and what each thread remembers.
//!
//! A hook runs inside an allocator, so nothing here may allocate through one that is hooked, touch `errno` or wait for
//! Python. Our own memory comes from the allocator directly, since this library is never patched.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use pyo3::ffi;
use stepscope_record::clock::steady_ns;
use stepscope_record::heap::{Block, CodePosition, Heap, NodeId, Rss, Sampling, SamplingState};

use super::super::frames::Frames;
use super::filter::Filter;

/// Frames of a stack that are looked at, from the innermost on.
const MAX_FRAMES: usize = 512;
/// Frames that a thread remembers, from the outermost on: most stacks differ from the last one only at their end.
const MAX_KNOWN_FRAMES: usize = 96;

/// Whether hooks look at what they are given.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static EXACT: AtomicBool = AtomicBool::new(false);
/// Which tracking this is: what threads remember of another one is stale.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Code that was seen without the interpreter, and is still to be held on to.
static WAITING: AtomicBool = AtomicBool::new(false);
/// Bytes alive, for those who only want that.
static LIVE: AtomicU64 = AtomicU64::new(0);
static FILTER: Filter = Filter::new();

pub(super) struct HeapTracker {
    pub(super) heap: Heap,
    /// Code objects that stacks name. Each is held, or waits to be.
    codes: HashSet<usize, RandomState>,
    waiting: Vec<usize>,
    rss: Option<Rss>,
    started_ns: i64,
    /// When it ended, since the start.
    ended_ns: Option<u64>,
}

struct LockedState {
    taken: AtomicBool,
    tracked: UnsafeCell<Option<HeapTracker>>,
}

// SAFETY: only whoever has `taken` touches the rest.
unsafe impl Sync for LockedState {}

static STATE: LockedState = LockedState { taken: AtomicBool::new(false), tracked: UnsafeCell::new(None) };

/// Waiting for a lock of the standard library may set `errno`; giving way does not.
pub(super) fn with<T>(work: impl FnOnce(&mut Option<HeapTracker>) -> T) -> T {
    let mut tries = 0u32;
    while STATE.taken.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        tries += 1;
        if tries.is_multiple_of(64) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
    // SAFETY: the flag is ours.
    let result = work(unsafe { &mut *STATE.tracked.get() });
    STATE.taken.store(false, Ordering::Release);
    result
}

#[derive(Copy, Clone)]
struct KnownFrame {
    place: CodePosition,
    node: NodeId,
}

struct ThreadMemory {
    generation: Cell<u32>,
    sampling: Cell<SamplingState>,
    depth: Cell<usize>,
    frames: UnsafeCell<[KnownFrame; MAX_KNOWN_FRAMES]>,
    /// Whether this thread is in here already.
    busy: Cell<bool>,
}

const NOTHING: KnownFrame = KnownFrame { place: CodePosition { code: 0, at: 0 }, node: NodeId::ROOT };

thread_local! {
    // Without a destructor, so that it is there until the very end of a thread.
    static MEMORY: ThreadMemory = const {
        ThreadMemory {
            generation: Cell::new(0),
            sampling: Cell::new(SamplingState::NONE),
            depth: Cell::new(0),
            frames: UnsafeCell::new([NOTHING; MAX_KNOWN_FRAMES]),
            busy: Cell::new(false),
        }
    };
}

impl ThreadMemory {
    #[inline]
    fn freshen(&self, sampling: impl FnOnce() -> Sampling) {
        let generation = GENERATION.load(Ordering::Relaxed);
        if self.generation.get() != generation {
            self.generation.set(generation);
            self.depth.set(0);
            let seed = (steady_ns() as u64) ^ (std::ptr::from_ref(self) as u64).rotate_left(32);
            self.sampling.set(sampling().state(seed));
        }
    }

    #[inline]
    fn stack(&self, tracked: &mut HeapTracker, has_interpreter: impl Fn() -> bool) -> NodeId {
        // SAFETY: hooks are there only after the frames of this Python were understood.
        let Some(frames) = (unsafe { Frames::of_this_thread() }) else { return NodeId::ROOT };
        let mut seen = [const { MaybeUninit::<CodePosition>::uninit() }; MAX_FRAMES];
        let mut depth = 0;
        for place in frames.take(MAX_FRAMES) {
            seen[depth].write(place);
            depth += 1;
        }
        // SAFETY: so many were written.
        let frame = |from_outermost: usize| unsafe { seen[depth - 1 - from_outermost].assume_init() };
        // SAFETY: only this thread has it, and does not come here again before it is done.
        let remembered = unsafe { &mut *self.frames.get() };
        let most = depth.min(self.depth.get());
        let mut same = 0;
        while same < most && remembered[same].place == frame(same) {
            same += 1;
        }
        let mut node = if same == 0 { NodeId::ROOT } else { remembered[same - 1].node };
        for at in same..depth {
            let place = frame(at);
            let (child, is_new) = tracked.heap.stacks.child(node, place);
            if is_new {
                tracked.hold_on_to(place.code, &has_interpreter);
            }
            node = child;
            if let Some(remembered) = remembered.get_mut(at) {
                *remembered = KnownFrame { place, node };
            }
        }
        self.depth.set(depth.min(MAX_KNOWN_FRAMES));
        node
    }
}

impl HeapTracker {
    #[cold]
    fn hold_on_to(&mut self, code: usize, has_interpreter: &impl Fn() -> bool) {
        if !self.codes.insert(code) {
            return;
        }
        if has_interpreter() {
            // SAFETY: code of a frame is alive, and the interpreter is held.
            unsafe { ffi::Py_INCREF(code as *mut ffi::PyObject) };
        } else {
            self.waiting.push(code);
            WAITING.store(true, Ordering::Relaxed);
        }
    }

    /// # Safety
    /// The interpreter is held.
    pub(super) unsafe fn hold_waiting(&mut self) {
        WAITING.store(false, Ordering::Relaxed);
        for code in self.waiting.drain(..) {
            // SAFETY: it was on a stack, and nothing of Python's was freed since.
            unsafe { ffi::Py_INCREF(code as *mut ffi::PyObject) };
        }
    }

    /// Lets go of all code.
    ///
    /// # Safety
    /// The interpreter is held, and nothing is tracked any more.
    pub(super) unsafe fn let_go(&mut self) {
        // SAFETY: as promised; each was held once.
        unsafe { self.hold_waiting() };
        for code in self.codes.drain() {
            // SAFETY: as above.
            unsafe { ffi::Py_DECREF(code as *mut ffi::PyObject) };
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        (steady_ns() - self.started_ns).max(0) as u64
    }

    /// The same when it ended, or now.
    pub(super) fn end_ns(&self) -> u64 {
        self.ended_ns.unwrap_or_else(|| self.now_ns())
    }

    /// Adds a point to the curve.
    pub(super) fn take_sample(&mut self) {
        let now_ns = self.now_ns();
        let rss = self.rss.as_ref().and_then(Rss::read);
        self.heap.curve.add(now_ns, rss);
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum AllocationSource {
    /// Python's allocator, whose callers hold the interpreter.
    Python,
    Native,
}

impl AllocationSource {
    #[inline]
    fn has_interpreter(self) -> bool {
        // SAFETY: any thread may ask for it.
        self == AllocationSource::Python || unsafe { super::holds_interpreter() }
    }
}

/// Called by Python's allocator, whose callers hold the interpreter: code that was seen without it is held on to, before
/// anything of Python's can be freed.
#[inline]
pub(super) fn with_interpreter() {
    if WAITING.load(Ordering::Relaxed) {
        hold_waiting();
    }
}

#[cold]
fn hold_waiting() {
    with(|tracked| {
        if let Some(tracked) = tracked {
            // SAFETY: as said above.
            unsafe { tracked.hold_waiting() };
        }
    });
}

#[inline]
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

#[inline]
pub(super) fn allocated(address: usize, size: usize, source: AllocationSource) {
    if !is_active() || address == 0 {
        return;
    }
    MEMORY.with(|memory| {
        if !EXACT.load(Ordering::Relaxed) {
            if memory.generation.get() != GENERATION.load(Ordering::Relaxed) {
                renew(memory);
            }
            let mut sampling = memory.sampling.get();
            let takes = sampling.takes(size as u64);
            memory.sampling.set(sampling);
            if !takes {
                return;
            }
        }
        record(memory, source, |tracked, node| {
            FILTER.add(address);
            let started_ns = tracked.started_ns;
            let clock = || (steady_ns() - started_ns).max(0) as u64;
            tracked.heap.allocated(address, size as u64, node, clock)
        });
    });
}

#[cold]
fn renew(memory: &ThreadMemory) {
    let mean = MEAN.load(Ordering::Relaxed);
    memory.freshen(|| Sampling::every(mean));
}

static MEAN: AtomicU64 = AtomicU64::new(0);

#[inline]
fn record(
    memory: &ThreadMemory,
    source: AllocationSource,
    work: impl FnOnce(&mut HeapTracker, NodeId) -> bool,
) {
    if memory.busy.replace(true) {
        return;
    }
    if memory.generation.get() != GENERATION.load(Ordering::Relaxed) {
        renew(memory);
    }
    with(|tracked| {
        let Some(tracked) = tracked else { return };
        let node = memory.stack(tracked, || source.has_interpreter());
        if work(tracked, node) {
            tracked.take_sample();
        }
        LIVE.store(tracked.heap.live_bytes(), Ordering::Relaxed);
    });
    memory.busy.set(false);
}

/// Memory is about to be freed: what it was, for when that fails.
#[inline]
pub(super) fn freed(address: usize) -> Option<Block> {
    if !is_active() || address == 0 || !FILTER.may_have(address) {
        return None;
    }
    forget(address)
}

fn forget(address: usize) -> Option<Block> {
    with(|tracked| {
        let tracked = tracked.as_mut()?;
        let block = tracked.heap.freed(address)?;
        FILTER.remove(address);
        LIVE.store(tracked.heap.live_bytes(), Ordering::Relaxed);
        Some(block)
    })
}

/// It was not freed after all.
#[cold]
pub(super) fn restore(address: usize, block: Block) {
    with(|tracked| {
        if let Some(tracked) = tracked {
            FILTER.add(address);
            tracked.heap.restore(address, block);
        }
    });
}

pub(super) fn mapped(address: usize, size: usize) {
    if is_active() {
        MEMORY.with(|memory| {
            record(memory, AllocationSource::Native, |tracked, node| {
                let now_ns = tracked.now_ns();
                tracked.heap.mapped(address, size as u64, node, || now_ns)
            });
        });
    }
}

pub(super) fn unmapped(address: usize, size: usize) {
    if is_active() {
        with(|tracked| {
            if let Some(tracked) = tracked {
                tracked.heap.unmapped(address, size as u64);
            }
        });
    }
}

pub(crate) fn live_bytes() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Begins; 0 means every allocation.
pub(super) fn begin(mean_bytes: u64) {
    let sampling = Sampling::every(mean_bytes);
    FILTER.clear();
    let mut fresh = HeapTracker {
        heap: Heap::new(sampling),
        codes: HashSet::default(),
        waiting: Vec::new(),
        rss: Rss::open(),
        started_ns: steady_ns(),
        ended_ns: None,
    };
    fresh.take_sample();
    with(|tracked| *tracked = Some(fresh));
    MEAN.store(mean_bytes, Ordering::Relaxed);
    EXACT.store(mean_bytes == 0, Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    ACTIVE.store(true, Ordering::SeqCst);
}

pub(super) fn end() -> Option<HeapTracker> {
    ACTIVE.store(false, Ordering::SeqCst);
    with(|tracked| {
        if let Some(tracked) = tracked {
            tracked.take_sample();
            tracked.ended_ns = Some(tracked.now_ns());
        }
        tracked.take()
    })
}

/// In a forked child: nothing is tracked, and whoever had the lock is not here.
pub(super) fn in_child() {
    ACTIVE.store(false, Ordering::SeqCst);
    STATE.taken.store(false, Ordering::SeqCst);
}
