//! What the server asks of the program: which traces there are, and how to read one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

use stepscope_analyse::findings::Thresholds;
use stepscope_formats::{OpenOptions, Progress, ReadError, discover, open};
use stepscope_ground::Problem;
use stepscope_serve::{Backend, PendingRun, RunFile, SourceFiles};
use stepscope_service::{Hours, ServiceDir};

use crate::config;
use crate::failure::Failure;

/// The traces at some paths.
pub(crate) struct Files {
    paths: Vec<PathBuf>,
    max_text_bytes: Option<u64>,
    /// The directory of a service among them.
    service: Option<Hours>,
    thresholds: Arc<Thresholds>,
}

impl Files {
    /// Fails if one of the paths leads nowhere; a folder may be empty yet.
    pub(crate) fn new(paths: &[PathBuf], max_text_bytes: Option<u64>) -> Result<Files, Failure> {
        let services: Vec<&PathBuf> = paths.iter().filter(|path| ServiceDir::is_one(path)).collect();
        if services.len() > 1 {
            return Err(Failure::wrong_use(
                "only one directory of a service can be shown at a time",
                "start `stepscope view` once for each",
            ));
        }
        let service = services.first().map(ServiceDir::open).transpose()?.map(Hours::new);
        for path in paths {
            match discover(path) {
                Ok(_) | Err(ReadError::NoTraces { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Files {
            paths: paths.to_vec(),
            max_text_bytes,
            service,
            thresholds: config::configured_thresholds(None)?,
        })
    }

    /// Whether something new could appear.
    pub(crate) fn has_folder(&self) -> bool {
        self.paths.iter().any(|path| path.is_dir())
    }

    /// What tells a trace from the others: its path below the folder that was given, or its name.
    fn label(&self, root: &Path, path: &Path) -> String {
        let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
        let name = below.map_or_else(|| path.file_name().map(PathBuf::from), |below| Some(below.to_owned()));
        let mut label = name.unwrap_or_else(|| path.to_owned());
        if self.paths.len() > 1
            && below.is_some()
            && let Some(folder) = root.file_name()
        {
            label = Path::new(folder).join(label);
        }
        let label = label.display().to_string();
        match label.find(".pt.trace.json").or_else(|| label.find(".json")) {
            Some(at) if at > 0 => label[..at].to_owned(),
            _ => label,
        }
    }
}

impl Backend for Files {
    fn discover(&self) -> Result<Vec<RunFile>, Problem> {
        let mut all = Vec::new();
        for root in &self.paths {
            let files = match discover(root) {
                Ok(files) => files,
                Err(ReadError::NoTraces { .. }) => continue,
                Err(error) => return Err(problem(&error.into())),
            };
            for file in files {
                let modified = std::fs::metadata(&file.path).and_then(|info| info.modified()).ok();
                let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                let label = self.label(root, &file.path);
                let modified_ms = since.map(|since| since.as_millis() as u64);
                all.push(RunFile { path: file.path, label, bytes: file.bytes, modified_ms, recording: false });
            }
        }
        Ok(all)
    }

    fn service(&self) -> Option<&Hours> {
        self.service.as_ref()
    }

    fn sources(&self) -> SourceFiles {
        crate::sources::source_files()
    }

    fn thresholds(&self) -> Arc<Thresholds> {
        self.thresholds.clone()
    }

    fn open(&self, path: &Path) -> PendingRun {
        let progress = Arc::new(Progress::default());
        let mut options = OpenOptions { progress: Some(progress.clone()), ..OpenOptions::default() };
        if let Some(limit) = self.max_text_bytes {
            options.max_text_bytes = limit;
        }
        let path = path.to_owned();
        PendingRun {
            progress: Box::new(move || {
                (progress.read.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed))
            }),
            read: Box::new(move || open(&path, &options).map_err(|error| problem(&error.into()))),
        }
    }
}

fn problem(failure: &Failure) -> Problem {
    Problem::new(failure.to_string(), failure.hint().unwrap_or_default())
}
