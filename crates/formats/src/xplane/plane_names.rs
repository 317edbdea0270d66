//! A plane's names, looked up once: what its stats and its descriptions of events say.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::{StrId, TraceBuilder};

use super::keys::{Role, key, role};
use super::names::{NameKind, named, python_name};
use super::notes;
use super::plane::Plane;
use super::stat::text;

#[derive(Clone, Copy, Debug)]
pub(super) struct StatName {
    /// Its name, which is also the text that stats may refer to.
    pub(super) text: StrId,
    /// The key under which it is kept.
    pub(super) key: StrId,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EventDescription<'p> {
    /// Its name as it is shown.
    pub(super) name: StrId,
    pub(super) named: NameKind,
    /// The description, whose stats are those of every event.
    pub(super) message: &'p [u8],
    pub(super) has_stats: bool,
}

pub(super) struct PlaneNames<'p> {
    stats: HashMap<u64, StatName, RandomState>,
    events: HashMap<u64, EventDescription<'p>, RandomState>,
    /// Whether any of its events may have a step's number.
    pub(super) numbers_steps: bool,
}

impl<'p> PlaneNames<'p> {
    pub(super) fn new(plane: &'p Plane, builder: &mut TraceBuilder) -> PlaneNames<'p> {
        let mut known =
            PlaneNames { stats: HashMap::default(), events: HashMap::default(), numbers_steps: false };
        for (number, name) in plane.stat_names() {
            let name = intern(builder, name);
            let text = builder.text(name).to_owned();
            let role = role(&text);
            known.numbers_steps |= role == Role::StepNumber;
            known.stats.insert(number, StatName { text: name, key: key(builder, &text), role });
        }
        for (number, message) in plane.events() {
            let (mut name, mut has_stats) = (&[][..], false);
            for field in Fields::new(message).flatten() {
                match field {
                    (2, Field::Bytes(bytes)) => name = bytes,
                    (5, Field::Bytes(_)) => has_stats = true,
                    _ => {}
                }
            }
            let mut name = intern(builder, name);
            let text = builder.text(name);
            let named = named(text);
            if let Some(python) = python_name(text).filter(|_| named == NameKind::Python) {
                name = builder.intern(&python);
            }
            known.events.insert(number, EventDescription { name, named, message, has_stats });
        }
        known
    }

    pub(super) fn stat(&self, number: u64) -> Option<StatName> {
        self.stats.get(&number).copied()
    }

    /// The description of an event; one that is missing gets its number for a name, which is noted.
    pub(super) fn event(&mut self, number: u64, builder: &mut TraceBuilder, at: u64) -> EventDescription<'p> {
        *self.events.entry(number).or_insert_with(|| {
            builder.notes().add_with(notes::UNDESCRIBED, at, format!("description {number}"));
            let name = builder.intern(&format!("event {number}"));
            EventDescription { name, named: NameKind::Range, message: &[], has_stats: false }
        })
    }

    /// What the description of an event says its name is, if there is one.
    pub(super) fn named(&self, number: u64) -> Option<NameKind> {
        self.events.get(&number).map(|described| described.named)
    }
}

/// The id of a text, which is noted if it is not UTF-8.
pub(super) fn intern(builder: &mut TraceBuilder, bytes: &[u8]) -> StrId {
    let (text, valid) = text(bytes);
    if !valid {
        builder.notes().add_count(notes::INVALID_UTF8, 1);
    }
    builder.intern(&text)
}
