//! What an event's stats say: what is known of it, and the arguments under which all of it is kept.

use stepscope_ground::protobuf::{Field, Fields};
use stepscope_model::{ArgValue, StrId, TraceBuilder};

use super::keys::{Keys, Role, decimal};
use super::launch_texts::{self, Launch};
use super::plane_names::{EventDescription, PlaneNames, intern};
use super::stat::{StatValue, stat};

/// What the stats of one event say.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) correlation: Option<i64>,
    pub(super) step: Option<i64>,
    pub(super) root: bool,
    pub(super) begins: Option<(i64, i64)>,
    pub(super) ends: Option<(i64, i64)>,
    pub(super) runs_instruction: bool,
    pub(super) is_copy: bool,
    pub(super) is_fill: bool,
    pub(super) asynchronous: bool,
    pub(super) tensorflow: bool,
    pub(super) ours: bool,
    pub(super) thread: Option<i64>,
    pub(super) allocator: Option<StrId>,
    pub(super) allocation_bytes: Option<i64>,
    pub(super) impossible: bool,
    /// Where a copy takes from and puts to.
    pub(super) from: Option<StrId>,
    pub(super) to: Option<StrId>,
    pub(super) bytes: Option<i64>,
    producer_kind: i64,
    consumer_kind: i64,
    producer: Option<i64>,
    consumer: Option<i64>,
}

impl Facts {
    /// Reads an event's stats and those of its description, and pushes all of them as arguments.
    pub(super) fn read(
        event: &[u8],
        described: &EventDescription<'_>,
        known: &PlaneNames<'_>,
        keys: &Keys,
        builder: &mut TraceBuilder,
    ) -> Facts {
        let mut facts = Facts::default();
        if described.has_stats {
            let of_description = Fields::new(described.message).flatten();
            for field in of_description {
                if let (5, Field::Bytes(message)) = field {
                    facts.take(message, known, keys, builder);
                }
            }
        }
        for field in Fields::new(event).flatten() {
            if let (4, Field::Bytes(message)) = field {
                facts.take(message, known, keys, builder);
            }
        }
        // 0 is what is written where there is no arrow.
        facts.begins = facts.producer.filter(|&id| id != 0).map(|id| (facts.producer_kind, id));
        facts.ends = facts.consumer.filter(|&id| id != 0).map(|id| (facts.consumer_kind, id));
        facts
    }

    fn take(&mut self, message: &[u8], known: &PlaneNames<'_>, keys: &Keys, builder: &mut TraceBuilder) {
        let Some((number, value)) = stat(message) else { return };
        let Some(name) = known.stat(number) else { return };
        let int = match value {
            StatValue::Int(int) => Some(int),
            _ => None,
        };
        let word = match value {
            StatValue::Text(bytes) => Some(intern(builder, bytes)),
            StatValue::Named(number) => Some(known.stat(number).map_or(StrId::EMPTY, |stat| stat.text)),
            _ => None,
        };
        match name.role {
            Role::Correlation => self.correlation = int.filter(|&id| id != 0),
            Role::StepNumber => self.step = int,
            Role::Root => self.root = int.is_some_and(|root| root != 0),
            Role::ProducerKind => self.producer_kind = int.unwrap_or_default(),
            Role::Producer => self.producer = int,
            Role::ConsumerKind => self.consumer_kind = int.unwrap_or_default(),
            Role::Consumer => self.consumer = int,
            Role::Instruction => self.runs_instruction = true,
            Role::TensorFlow => self.tensorflow = true,
            Role::Ours => self.ours = true,
            Role::Thread => self.thread = int,
            Role::Allocator => self.allocator = word,
            Role::AllocationBytes => self.allocation_bytes = int,
            Role::KernelDetails => {
                if let Some(word) = word {
                    return self.launch(word, keys, builder);
                }
            }
            Role::CopyDetails | Role::FillDetails => {
                if let Some(word) = word {
                    self.is_copy |= name.role == Role::CopyDetails;
                    self.is_fill |= name.role == Role::FillDetails;
                    return self.copy(word, keys, builder);
                }
            }
            Role::Name | Role::Plain => {}
        }
        let value = match value {
            StatValue::Int(int) => ArgValue::Int(int),
            StatValue::Float(float) => match decimal(float) {
                Some(decimal) => decimal,
                None => ArgValue::Str(builder.intern(&float.to_string())),
            },
            StatValue::Text(_) | StatValue::Named(_) => ArgValue::Str(word.unwrap_or(StrId::EMPTY)),
            StatValue::Bytes(bytes) => ArgValue::Str(builder.intern(&format!("{} bytes", bytes.len()))),
        };
        let key = if name.role == Role::Name && self.correlation.is_some() { keys.op_path } else { name.key };
        builder.push_arg(key, value);
    }

    /// Takes apart how a kernel was launched.
    fn launch(&mut self, text: StrId, keys: &Keys, builder: &mut TraceBuilder) {
        let Launch { grid, block, registers, shared_bytes, private_bytes, occupancy, impossible } =
            launch_texts::launch(builder.text(text));
        self.impossible |= impossible;
        for (key, three) in [(keys.grid, grid), (keys.block, block)] {
            if let Some([x, y, z]) = three {
                let text = builder.intern(&format!("[{x}, {y}, {z}]"));
                builder.push_arg(key, ArgValue::Json(text));
            }
        }
        let numbers = [(keys.registers, registers), (keys.shared, shared_bytes), (keys.private, private_bytes)];
        for (key, number) in numbers {
            if let Some(number) = number {
                builder.push_arg(key, ArgValue::Int(number));
            }
        }
        if let Some(percent) = occupancy.and_then(decimal) {
            builder.push_arg(keys.occupancy, percent);
        }
    }

    /// Takes apart what a copy or a memset moved.
    fn copy(&mut self, text: StrId, keys: &Keys, builder: &mut TraceBuilder) {
        let text = builder.text(text).to_owned();
        let copy = launch_texts::copy(&text);
        self.asynchronous |= copy.asynchronous;
        self.bytes = copy.bytes;
        if let Some(bytes) = copy.bytes {
            builder.push_arg(keys.bytes, ArgValue::Int(bytes));
        }
        self.from = copy.from.map(|from| builder.intern(from));
        self.to = copy.to.map(|to| builder.intern(to));
        for (key, place) in [(keys.from, self.from), (keys.to, self.to)] {
            if let Some(place) = place {
                builder.push_arg(key, ArgValue::Str(place));
            }
        }
    }
}
