//! A capture from its beginning to its end: all hosts at the same time, each into a file of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use stepscope_ground::{Problem, WholeFile};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::call::{Connection, Method};
use crate::reply::{Damage, Reply};
use crate::request::{ProfileRequest, Tracers, of_session};
use crate::run_folder::{RunFolder, cannot_write};
use crate::target::Target;

/// How often progress is reported and Ctrl-C is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Bounds, all of which a caller may move.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long a connection may take.
    pub connect: Duration,
    /// How long a server may be silent once its recording should be over. Large profiles take a while to be put together.
    pub silence: Duration,
    /// How large the profile of one host may be. It goes to disk as it arrives; memory holds at most 4 MiB of it per host.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        // No server can send more than 2 GiB: that is where protocol buffers end.
        Limits { connect: Duration::from_secs(5), silence: Duration::from_secs(300), max_bytes: 2 << 30 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// Record for this long, beginning this much later.
    Record { duration: Duration, delay: Duration },
    /// What continuous profiling has recorded until now.
    Snapshot,
}

/// A capture to be made.
#[derive(Clone, Debug)]
pub struct Plan {
    pub targets: Vec<Target>,
    /// Files go to `plugins/profile/<time>` in this folder.
    pub folder: PathBuf,
    /// The folder, on its own machine, of a server too old to send a profile; None for the same path as here.
    pub remote_folder: Option<String>,
    pub want: CaptureMode,
    pub tracers: Tracers,
    pub limits: Limits,
}

/// How far a capture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Recording begins after this time.
    Waiting(Duration),
    /// So much of the time is over.
    Recording(Duration),
    /// The servers put their profiles together.
    Collecting,
    /// Bytes that have arrived, of so many.
    Receiving(u64, u64),
}

pub trait Watch {
    /// How far it is; called often.
    fn stage(&mut self, stage: Stage);
    /// Whether to end the recording now and keep what there is; asked often.
    fn wants_to_stop(&mut self) -> bool;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFile {
    /// Whose profile it is.
    pub target: Target,
    /// Where it is: here, or on the machine of the target.
    pub path: PathBuf,
    /// Its size; None if the server was too old to send it and wrote it on its own machine.
    pub bytes: Option<u64>,
}

/// What came of a capture.
#[derive(Clone, Debug)]
pub struct CaptureResult {
    pub folder: PathBuf,
    /// The files, in the order of the plan.
    pub files: Vec<CapturedFile>,
    /// What went wrong with the other hosts.
    pub failures: Vec<Problem>,
    /// Whether recording was stopped before its time.
    pub stopped_early: bool,
}

/// Captures all targets at the same time. An error if none could be; of several, those that could be are kept.
pub fn capture(plan: &Plan, watch: &mut dyn Watch) -> Result<CaptureResult, Problem> {
    runtime()?.block_on(capture_all(plan, watch))
}

/// Lets all targets record from now on, until a snapshot is asked for.
pub fn start_continuous(targets: &[Target], tracers: Tracers, limits: &Limits) -> Result<(), Problem> {
    runtime()?.block_on(async {
        let connections = connect_all(targets, limits).await?;
        for (started, connection) in connections.iter().enumerate() {
            let session = format!("stepscope_{}", nanoseconds(SystemTime::now()));
            let request = ProfileRequest {
                target: &connection.target,
                tracers,
                duration_ms: 0,
                start_ns: 0,
                session: &session,
                repository: "",
            };
            if let Err(error) = short(connection, Method::StartContinuous, &request.encode(), limits).await {
                // All or none: it would be unknown which ones record.
                for connection in &connections[..started] {
                    let _ = short(connection, Method::StopContinuous, &[], limits).await;
                }
                return Err(error);
            }
        }
        Ok(())
    })
}

/// Ends what [`start_continuous`] began.
pub fn stop_continuous(targets: &[Target], limits: &Limits) -> Result<(), Problem> {
    runtime()?.block_on(async {
        for connection in connect_all(targets, limits).await? {
            short(&connection, Method::StopContinuous, &[], limits).await?;
        }
        Ok(())
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    Builder::new_current_thread().enable_all().build().map_err(|error| {
        Problem::new(format!("no network connections can be made: {error}"), "close some files or programs")
    })
}

/// A call whose answer is of no interest.
async fn short(
    connection: &Connection,
    method: Method,
    message: &[u8],
    limits: &Limits,
) -> Result<(), Problem> {
    connection.call(method, message, limits.silence, limits.silence, |_| Ok(())).await
}

/// A connection to each; if one cannot be reached, nothing is recorded anywhere.
async fn connect_all(targets: &[Target], limits: &Limits) -> Result<Vec<Connection>, Problem> {
    let mut opening = JoinSet::new();
    for (at, target) in targets.iter().cloned().enumerate() {
        let within = limits.connect;
        opening.spawn(async move { (at, Connection::open(target, within).await) });
    }
    let mut opened: Vec<(usize, Result<Connection, Problem>)> = Vec::new();
    while let Some(Ok(one)) = opening.join_next().await {
        opened.push(one);
    }
    opened.sort_by_key(|(at, _)| *at);
    opened.into_iter().map(|(_, opened)| opened).collect()
}

/// What one host has sent so far.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    /// 0 until it is known.
    expected: AtomicU64,
}

async fn capture_all(plan: &Plan, watch: &mut dyn Watch) -> Result<CaptureResult, Problem> {
    let connections = connect_all(&plan.targets, &plan.limits).await?;
    let now = SystemTime::now();
    let run = RunFolder::make(&plan.folder, now)?;
    let (duration, delay) = match plan.want {
        CaptureMode::Record { duration, delay } => (duration, delay),
        CaptureMode::Snapshot => (Duration::ZERO, Duration::ZERO),
    };
    let start_ns = if delay.is_zero() { 0 } else { nanoseconds(now + delay) };
    let repository = repository(plan)?;
    let mut receiving = JoinSet::new();
    let mut arrived = Vec::new();
    for (at, connection) in connections.iter().cloned().enumerate() {
        let progress = Arc::new(Progress::default());
        arrived.push(progress.clone());
        let (method, message) = match plan.want {
            CaptureMode::Snapshot => (Method::Snapshot, Vec::new()),
            CaptureMode::Record { .. } => {
                let request = ProfileRequest {
                    target: &connection.target,
                    tracers: plan.tracers,
                    duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1),
                    start_ns,
                    session: &run.session,
                    repository: &repository,
                };
                (Method::Profile, request.encode())
            }
        };
        let path = run.file(&connection.target.file_stem());
        let elsewhere = format!("{repository}/{}", run.session);
        let (limits, within) = (plan.limits, delay + duration + plan.limits.silence);
        receiving.spawn(async move {
            let one = HostCapture { connection, method, message, path, elsewhere, limits, within, progress };
            (at, one.receive().await)
        });
    }

    let began = Instant::now();
    let mut stopped_early = false;
    let mut received = Vec::new();
    loop {
        match timeout(POLL_INTERVAL, receiving.join_next()).await {
            Ok(Some(Ok(one))) => received.push(one),
            // A task cannot fail otherwise than by its result.
            Ok(Some(Err(_))) => {}
            Ok(None) => break,
            Err(_) => {}
        }
        watch.stage(stage(began.elapsed(), delay, duration, stopped_early, &arrived));
        if !stopped_early && began.elapsed() < delay + duration && watch.wants_to_stop() {
            stopped_early = true;
            for connection in &connections {
                let (connection, message, limits) = (connection.clone(), of_session(&run.session), plan.limits);
                // Its answer says nothing; what matters is that the other call ends.
                tokio::spawn(async move { short(&connection, Method::Terminate, &message, &limits).await });
            }
        }
    }
    received.sort_by_key(|(at, _)| *at);
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for (_, one) in received {
        match one {
            Ok(file) => files.push(file),
            Err(error) => failures.push(error),
        }
    }
    if files.is_empty()
        && let Some(first) = failures.first()
    {
        return Err(first.clone());
    }
    Ok(CaptureResult { folder: run.path.clone(), files, failures, stopped_early })
}

fn stage(
    elapsed: Duration,
    delay: Duration,
    duration: Duration,
    stopped: bool,
    arrived: &[Arc<Progress>],
) -> Stage {
    let sum = |of: fn(&Progress) -> &AtomicU64| {
        arrived.iter().map(|one| of(one).load(Ordering::Relaxed)).sum::<u64>()
    };
    let (bytes, expected) = (sum(|one| &one.bytes), sum(|one| &one.expected));
    match elapsed.checked_sub(delay) {
        _ if expected > 0 => Stage::Receiving(bytes, expected),
        _ if stopped => Stage::Collecting,
        None => Stage::Waiting(delay - elapsed),
        Some(recorded) if recorded < duration => Stage::Recording(recorded),
        Some(_) => Stage::Collecting,
    }
}

/// The folder that a server too old to send writes to: an absolute path, since it has a working directory of its own.
fn repository(plan: &Plan) -> Result<String, Problem> {
    let folder = match &plan.remote_folder {
        Some(folder) => folder.trim_end_matches('/').to_owned(),
        None => {
            let folder =
                std::path::absolute(&plan.folder).map_err(|error| cannot_write(&plan.folder, &error))?;
            folder.display().to_string()
        }
    };
    Ok(format!("{folder}/plugins/profile"))
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The profile of one host, on its way into its file.
struct HostCapture {
    connection: Connection,
    method: Method,
    message: Vec<u8>,
    path: PathBuf,
    /// The folder of a server that does not send.
    elsewhere: String,
    limits: Limits,
    within: Duration,
    progress: Arc<Progress>,
}

impl HostCapture {
    async fn receive(self) -> Result<CapturedFile, Problem> {
        let target = &self.connection.target;
        let mut reply = Reply::new(WholeFile::new(&self.path), self.limits.max_bytes);
        let called =
            self.connection.call(self.method, &self.message, self.within, self.limits.silence, |piece| {
                reply.push(piece).map_err(|damage| self.damaged(damage))?;
                self.progress.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                self.progress.expected.store(reply.expected.unwrap_or(0), Ordering::Relaxed);
                Ok(())
            });
        called.await?;
        let (is_empty, bytes) = (reply.is_empty, reply.profile_bytes);
        let part = reply.finish().map_err(|damage| self.damaged(damage))?;
        if is_empty {
            return Err(Problem::new(
                format!("nothing was recorded at {target}: the program did no work that its profiler sees"),
                "capture while it trains, or for longer with --duration 10s",
            ));
        }
        let sent = part.has_begun();
        if sent {
            part.keep().map_err(|error| cannot_write(&self.path, &error))?;
        }
        match bytes {
            Some(bytes) if sent => {
                Ok(CapturedFile { target: target.clone(), path: self.path.clone(), bytes: Some(bytes) })
            }
            // Continuous profiling always sends; an answer without a profile is an empty one.
            _ if self.method == Method::Snapshot || bytes.is_some() => Err(Problem::new(
                format!("the profiler server at {target} sent an empty profile"),
                "capture again while the program works",
            )),
            _ => Ok(self.written_there()),
        }
    }

    /// A server that knows nothing of sending a profile has written it to a folder: one that this machine has too, or not.
    fn written_there(&self) -> CapturedFile {
        let target = self.connection.target.clone();
        if let Some(info) = non_empty(&self.path) {
            return CapturedFile { target, path: self.path.clone(), bytes: Some(info) };
        }
        let path = PathBuf::from(format!("{}/{}.xplane.pb", self.elsewhere, target.file_stem()));
        CapturedFile { target, path, bytes: None }
    }

    fn damaged(&self, damage: Damage) -> Problem {
        let target = &self.connection.target;
        match damage {
            Damage::Malformed(why) => Problem::new(
                format!("the answer of {target} is damaged: {why}"),
                "capture again; if that does not help, what listens there is not a profiler server",
            ),
            Damage::TooLarge(bytes) => Problem::new(
                format!(
                    "the profile of {target} is larger than the limit: {bytes} bytes, where {} are allowed",
                    self.limits.max_bytes
                ),
                "record for less time with --duration, or raise --max-size",
            ),
            Damage::Write(error, kind) => cannot_write(&self.path, &std::io::Error::new(kind, error)),
        }
    }
}

fn non_empty(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|info| info.len()).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_follows_from_the_time_and_from_what_has_arrived() {
        let ms = Duration::from_millis;
        let arrived = [Arc::new(Progress::default()), Arc::new(Progress::default())];
        let at = |elapsed: u64, stopped: bool| stage(ms(elapsed), ms(300), ms(100), stopped, &arrived);
        assert_eq!(at(0, false), Stage::Waiting(ms(300)));
        assert_eq!(at(299, false), Stage::Waiting(ms(1)));
        assert_eq!(at(300, false), Stage::Recording(ms(0)));
        assert_eq!(at(399, false), Stage::Recording(ms(99)));
        assert_eq!(at(400, false), Stage::Collecting);
        assert_eq!(at(350, true), Stage::Collecting);
        arrived[1].expected.store(70, Ordering::Relaxed);
        arrived[1].bytes.store(7, Ordering::Relaxed);
        assert_eq!(at(400, false), Stage::Receiving(7, 70));
    }
}
