//! Sums of hours that may be removed one day, kept in the directory itself: so that counters go on where they were when
//! the exporter starts again.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use stepscope_ground::write_whole;

use crate::totals::Totals;

/// The file. Its name is not that of an hour, so monitors, reports and retention leave it alone.
const FILE_NAME: &str = "stepscope-exported.json";
/// The version that is written; others are not read.
const SCHEMA_VERSION: u32 = 1;
/// A longer file is not ours: 250 routes with eight regions each take some 4 MiB.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedTotals {
    schema: u32,
    /// The first minute that was ever counted.
    pub began: Option<i64>,
    /// Hours that are in the totals and still in the directory: they count no second time.
    pub hours: BTreeSet<i64>,
    /// Their sums, and those of hours that are gone.
    pub totals: Totals,
}

impl SavedTotals {
    pub(crate) fn new(began: Option<i64>, hours: BTreeSet<i64>, totals: Totals) -> Self {
        Self { schema: SCHEMA_VERSION, began, hours, totals }
    }

    /// What a directory has; nothing if there is no such file. Damage is said, and counts as nothing.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, String> {
        let mut text = Vec::new();
        let opened = File::open(folder.join(FILE_NAME));
        match opened.and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{FILE_NAME} cannot be read: {error}")),
            Ok(_) => {}
        }
        match serde_json::from_slice::<Self>(&text) {
            Ok(kept) if kept.schema == SCHEMA_VERSION && kept.totals.is_sane() => Ok(Some(kept)),
            _ => Err(format!(
                "{FILE_NAME} is damaged, or of another version: counters begin with what else there is"
            )),
        }
    }

    /// Replaces the file as a whole, unless it holds more.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        if let Ok(Some(there)) = Self::read(folder)
            && there.totals.requests() > self.totals.requests()
        {
            // Written by a later reader; what is in memory here goes on counting all the same.
            return Ok(());
        }
        write_whole(&folder.join(FILE_NAME), &serde_json::to_vec(self)?)
    }
}
