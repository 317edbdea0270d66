//! Recordings, and the files they are written to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stepscope_formats::{Beside, XlaEvents, splice, write_chrome_with, write_events};
use stepscope_ground::lock;
use stepscope_model::{Attr, Document, StartUpParts, Tag, Trace};
use stepscope_record::{CounterValue, Recording as Inner, clock};

use crate::errors;
use crate::monitor::Monitor;
use crate::trace::NativeTrace;

const JOURNAL_EVERY: Duration = Duration::from_secs(1);
/// Traces are text with much in common: a higher level takes longer and saves little.
const LEVEL: Compression = Compression::new(4);

/// Categories of events that are not a region.
const FRAMES: [&str; 2] = ["python_function", "Trace"];

/// Packages, each with the nanoseconds of its import.
type Imports = Vec<(String, i64)>;

/// A thread, or a lane beside one.
#[derive(IntoPyObject)]
enum Thread {
    Numbered(Option<i64>),
    Named(String),
}

/// What is recorded between a start and a stop.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct Recording {
    inner: Arc<Mutex<Inner>>,
    journal: Option<PathBuf>,
    writer: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Recording {
    /// The recording itself, for others that add to it.
    pub(crate) fn shared(&self) -> Arc<Mutex<Inner>> {
        self.inner.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn begin_steps_with_calls(&self, profiles: &[&XlaEvents]) {
        let began = |thread, at_ns| profiles.iter().find_map(|profile| profile.call_began(thread, at_ns));
        self.lock().begin_steps_with_calls(began);
    }

    fn made(&self, metadata: BTreeMap<String, String>) -> Trace {
        let inner = self.lock();
        let base = inner.start_ns().unwrap_or_else(clock::now_ns);
        let mut entries = vec![
            ("schemaVersion".to_owned(), "1".to_owned()),
            ("displayTimeUnit".to_owned(), "\"ms\"".to_owned()),
            ("baseTimeNanoseconds".to_owned(), base.to_string()),
        ];
        entries.extend(metadata);
        inner.trace(base, &entries)
    }
}

#[pymethods]
impl Recording {
    #[new]
    #[pyo3(signature = (monitor = None, journal = None))]
    fn new(monitor: Option<PyRef<'_, Monitor>>, journal: Option<PathBuf>) -> Recording {
        let monitor = monitor.map(|monitor| monitor.inner.clone());
        Recording { inner: Arc::new(Mutex::new(Inner::new(monitor))), journal, writer: Mutex::new(None) }
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            self.lock().start();
            let Some(path) = &self.journal else { return Ok(()) };
            let thread = keep_journal(self.inner.clone(), path)
                .map_err(|error| errors::writing(&error, &path.display().to_string()))?;
            *lock(&self.writer) = Some(thread);
            Ok(())
        })
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            let writer = lock(&self.writer).take();
            if let Some((stop, thread)) = writer {
                drop(stop);
                let _ = thread.join();
            }
            self.lock().stop();
            // What is in the journal is in the trace that is written next.
            if let Some(path) = &self.journal {
                let _ = std::fs::remove_file(path);
            }
        });
    }

    fn forget_after_fork(&self) {
        if let Ok(mut inner) = self.inner.try_lock() {
            inner.forget_after_fork();
        }
        if let Ok(mut writer) = self.writer.try_lock() {
            std::mem::forget(writer.take());
        }
    }

    #[getter]
    fn start_ns(&self) -> Option<i64> {
        self.lock().start_ns()
    }

    #[getter]
    fn stop_ns(&self) -> Option<i64> {
        self.lock().stop_ns()
    }

    #[getter]
    fn regions(&self) -> usize {
        self.lock().region_count()
    }

    #[getter]
    fn steps(&self) -> usize {
        self.lock().step_count()
    }

    /// Regions, steps, slices and samples.
    #[getter]
    fn slices(&self) -> usize {
        self.lock().slice_count()
    }

    #[getter]
    fn lost_regions(&self) -> u64 {
        self.lock().lost_regions()
    }

    /// What was seen of child processes: their names, how many more there was no room for, and why some may not be looked at.
    #[getter]
    fn children(&self) -> (Vec<String>, u64, Option<String>) {
        let inner = self.lock();
        let Some(seen) = inner.children() else { return (Vec::new(), 0, None) };
        let seen = lock(seen);
        (seen.child_names(), seen.dropped_processes, seen.denied().map(str::to_owned))
    }

    fn step(&self, number: i64, start_ns: i64, end_ns: i64) {
        self.lock().add_step(number, start_ns, end_ns);
    }

    #[pyo3(signature = (name, start_ns, end_ns, category = "user_annotation", args = None))]
    fn slice(
        &self,
        py: Python<'_>,
        name: String,
        start_ns: i64,
        end_ns: i64,
        category: &str,
        args: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut kept = Vec::new();
        if let Some(args) = args {
            let dumps = py.import("json")?.getattr("dumps")?;
            for (key, value) in args {
                kept.push((key.str()?.to_string(), dumps.call1((value,))?.extract()?));
            }
        }
        self.lock().add_slice(name, category.to_owned(), start_ns, end_ns, kept);
        Ok(())
    }

    #[pyo3(signature = (thread_id, thread_name, at_ns, stack, cpu_ns = None))]
    fn sample(&self, thread_id: u32, thread_name: &str, at_ns: i64, stack: Vec<String>, cpu_ns: Option<i64>) {
        let stack: Vec<&str> = stack.iter().map(String::as_str).collect();
        self.lock().sample(thread_id, thread_name, at_ns, cpu_ns, &stack);
    }

    /// What was taken for steps was none.
    fn drop_steps(&self) {
        self.lock().drop_steps();
    }

    /// What a thread did between two moments, without the stretches in `own`, as nanoseconds by name, and the packages
    /// whose imports took longest; None if it was hardly sampled.
    fn start_up(
        &self,
        thread_id: u32,
        start_ns: i64,
        end_ns: i64,
        own: Vec<(i64, i64)>,
    ) -> Option<(BTreeMap<&'static str, i64>, Imports)> {
        let parts = self.lock().start_up(thread_id, (start_ns, end_ns), &own)?;
        let StartUpParts { imports_ns, longest_imports, weights_ns, device_start_ns, compilation_ns } = parts;
        let times = BTreeMap::from([
            ("imports_ns", imports_ns),
            ("weights_ns", weights_ns),
            ("device_start_ns", device_start_ns),
            ("compilation_ns", compilation_ns),
        ]);
        Some((times, longest_imports.into_iter().map(|import| (import.package, import.import_ns)).collect()))
    }

    fn counter(&self, name: String, at_ns: i64, value: f64) {
        self.lock().count(CounterValue { name, at_ns, value });
    }

    /// All of it, to be asked about.
    fn trace(&self, py: Python<'_>) -> NativeTrace {
        py.detach(|| NativeTrace::from_document(Document::Trace(self.made(BTreeMap::new())), PathBuf::new()))
    }

    /// Regions and steps: name, thread, start and length in microseconds since the recording began, and where they were
    /// entered. Without the frames of samples.
    fn events(&self, py: Python<'_>) -> Vec<(String, Thread, f64, f64, String)> {
        let trace = py.detach(|| self.made(BTreeMap::new()));
        let slices = trace.slices();
        let ours = slices.ids().filter(|&id| !FRAMES.contains(&trace.category(slices.cat(id))));
        ours.map(|id| {
            let thread = match trace.lanes().get(slices.lane(id)).key.thread {
                Tag::Str(text) => Thread::Named(trace.text(text).to_owned()),
                other => Thread::Numbered(other.as_int()),
            };
            let stack = trace.args(id).text(Attr::CallStack).unwrap_or_default();
            let start_ns = slices.start(id).0 + trace.origin().0;
            let (start_us, dur_us) = (start_ns as f64 / 1e3, slices.dur(id).0 as f64 / 1e3);
            (trace.name(id).to_owned(), thread, start_us, dur_us, stack.to_owned())
        })
        .collect()
    }

    /// Writes all of it as a trace, with profiles of JAX and TensorFlow in it; the bytes written.
    #[pyo3(signature = (path, metadata, profiles = Vec::new()))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        metadata: BTreeMap<String, String>,
        profiles: Vec<PyRef<'_, XlaProfile>>,
    ) -> PyResult<u64> {
        let profiles: Vec<&XlaEvents> = profiles.iter().map(|profile| &profile.events).collect();
        py.detach(|| {
            self.begin_steps_with_calls(&profiles);
            let mut more = metadata;
            more.extend(XlaEvents::entries(&profiles)?);
            let trace = self.made(more);
            let base = self.lock().start_ns().unwrap_or_default();
            write_file(&path, |out| {
                write_chrome_with(&trace, |first, out| write_profiles(&profiles, base, first, out), out)
            })
        })
        .map_err(|error| errors::writing(&error, &path.display().to_string()))
    }

    /// Writes another profiler's file with ours in it, entries as JSON texts by name, and profiles of JAX and TensorFlow;
    /// the bytes written.
    #[pyo3(signature = (source, path, entries, profiles = Vec::new()))]
    fn splice(
        &self,
        py: Python<'_>,
        source: PathBuf,
        path: PathBuf,
        mut entries: BTreeMap<String, String>,
        profiles: Vec<PyRef<'_, XlaProfile>>,
    ) -> PyResult<u64> {
        let profiles: Vec<&XlaEvents> = profiles.iter().map(|profile| &profile.events).collect();
        py.detach(|| {
            let mut theirs = BufReader::with_capacity(1 << 18, File::open(&source)?);
            entries.extend(XlaEvents::entries(&profiles)?);
            self.begin_steps_with_calls(&profiles);
            let inner = self.lock();
            write_file(&path, |out| {
                splice(&mut theirs, out, &entries, |base, first, out| {
                    write_profiles(&profiles, base, first, out)?;
                    write_events(&inner.trace_beside(base), first, out)
                })
            })
        })
        .map_err(|error| errors::writing(&error, &path.display().to_string()))
    }
}

/// What JAX or TensorFlow recorded of this process, to be written into a trace.
#[pyclass(module = "stepscope._native", frozen)]
pub(crate) struct XlaProfile {
    events: XlaEvents,
}

#[pymethods]
impl XlaProfile {
    /// Reads a profile that began at about this moment. `marks_steps`: the trace that it becomes part of marks the steps.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, started_ns: i64, marks_steps: bool) -> PyResult<XlaProfile> {
        let beside = Beside { process: i64::from(std::process::id()), marks_steps };
        let events = py.detach(|| XlaEvents::open(&path, beside, started_ns));
        Ok(XlaProfile { events: events.map_err(|error| errors::reading(&error))? })
    }
}

fn write_profiles(
    profiles: &[&XlaEvents],
    base_ns: i64,
    first: &mut bool,
    out: &mut impl Write,
) -> io::Result<()> {
    profiles.iter().try_for_each(|profile| profile.write(base_ns, first, out))
}

/// Writes a file, compressed if its name says so; how many bytes it has. That a file is written whole or not at all is
/// Python's to see to (`stepscope._writing`), for everything it writes.
fn write_file(path: &Path, write: impl FnOnce(&mut Out) -> io::Result<()>) -> io::Result<u64> {
    let file = BufWriter::with_capacity(1 << 18, File::create(path)?);
    let mut out = match path.extension().is_some_and(|end| end == "gz") {
        true => Out::Gzip(Box::new(GzEncoder::new(file, LEVEL))),
        false => Out::Plain(file),
    };
    write(&mut out)?;
    out.finish()?;
    Ok(std::fs::metadata(path)?.len())
}

enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Out {
    fn finish(self) -> io::Result<()> {
        match self {
            Out::Plain(mut file) => file.flush(),
            Out::Gzip(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Plain(file) => file.write(bytes),
            Out::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Plain(file) => file.flush(),
            Out::Gzip(encoder) => encoder.flush(),
        }
    }
}

/// A file that grows while the recording goes on. If the process is killed it ends in the middle of its list, which
/// readers of such files accept.
fn keep_journal(recording: Arc<Mutex<Inner>>, path: &Path) -> io::Result<(Sender<()>, JoinHandle<()>)> {
    let mut file = File::create(path)?;
    let base = clock::now_ns();
    write!(file, "{{\"schemaVersion\": 1, \"baseTimeNanoseconds\": {base}, \"traceEvents\": [")?;
    let (stop, stopped) = channel::<()>();
    let thread = std::thread::Builder::new().name("stepscope".to_owned()).spawn(move || {
        let mut first = true;
        while stopped.recv_timeout(JOURNAL_EVERY) == Err(RecvTimeoutError::Timeout) {
            let new: Trace = lock(&recording).journal(base);
            let mut text = Vec::new();
            // In memory it cannot fail; a full disk ends the journal, not the program.
            let _ = write_events(&new, &mut first, &mut text);
            if file.write_all(&text).is_err() {
                return;
            }
        }
    })?;
    Ok((stop, thread))
}
