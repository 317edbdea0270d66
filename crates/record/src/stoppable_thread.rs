//! A thread that runs until it is asked to stop.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

#[derive(Debug)]
pub struct StoppableThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StoppableThread {
    /// Runs `work`, which returns when the other end of its channel is gone.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(Receiver<()>) + Send + 'static,
    ) -> io::Result<StoppableThread> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(stopped))?;
        Ok(StoppableThread { stop: Some(stop), thread: Some(thread) })
    }

    /// Stops it and waits for its end.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Lets go of a thread that a forked child does not have.
    pub fn forget_after_fork(&mut self) {
        std::mem::forget(self.thread.take());
        std::mem::forget(self.stop.take());
    }
}
