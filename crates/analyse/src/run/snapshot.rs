//! A run of a memory snapshot.

use std::sync::{Arc, OnceLock};

use stepscope_model::{DocumentKind, Snapshot, TraceBuilder};

use super::Run;
use crate::memory::heap_profile;
use crate::memory::history::{History, largest};
use crate::memory::places::Places;
use crate::memory::replay::histories;
use crate::views::memory::MemoryView;

impl Run {
    /// Looks at a snapshot: as a profile of the memory of the device that held most.
    pub(super) fn from_snapshot(snapshot: Snapshot) -> Run {
        let histories = histories(&snapshot);
        let places = Places::new(&snapshot);
        let profile =
            largest(&histories).map(|history| Arc::new(heap_profile::profile(&snapshot, history, &places)));
        let mut empty = TraceBuilder::new();
        empty.meta().source = snapshot.source.clone();
        *empty.notes() = snapshot.notes.clone();
        let trace = Arc::new(empty.finish());
        let run =
            Run::from_parts(DocumentKind::Profile, trace, OnceLock::from(profile), Some((snapshot, histories)));
        // No one else has it yet.
        let _ = run.whole.cached.places.set(places);
        run
    }

    /// Where the snapshot's memory was asked for; empty for another file.
    pub fn places(&self) -> &Places {
        self.whole.cached.places.get_or_init(Places::default)
    }

    /// The snapshot of the file and the histories of its devices, if it is one.
    pub fn snapshot(&self) -> Option<&(Snapshot, Vec<History>)> {
        self.whole.snapshot.as_ref()
    }

    /// What pictures of the snapshot's memory are made of, if the file is one.
    pub fn memory_view(&self) -> Option<&MemoryView> {
        let (snapshot, histories) = self.snapshot()?;
        Some(self.whole.cached.memory_view.get_or_init(|| MemoryView::new(snapshot, histories, self.places())))
    }
}
