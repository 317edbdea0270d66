//! What the name of a copy says: which way it goes, and what memory the host's side is in.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// From one device to another.
    Peer,
    Other,
}

impl Direction {
    /// What it is called in tables.
    pub fn label(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::DeviceToDevice => "device to device",
            Direction::Peer => "device to another",
            Direction::Other => "other",
        }
    }
}

/// The host side of a copy.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostMemory {
    Pageable,
    Pinned,
    /// There is no host side, or the name does not say.
    Unknown,
}

/// What a copy's name says.
pub fn copy_name(name: &str) -> (Direction, HostMemory) {
    let lower = name.to_ascii_lowercase();
    let direction = if lower.contains("htod") || lower.contains("hosttodevice") {
        Direction::HostToDevice
    } else if lower.contains("dtoh") || lower.contains("devicetohost") {
        Direction::DeviceToHost
    } else if lower.contains("ptop") || lower.contains("peer") {
        Direction::Peer
    } else if lower.contains("dtod") || lower.contains("devicetodevice") {
        Direction::DeviceToDevice
    } else {
        Direction::Other
    };
    let memory = if lower.contains("pageable") {
        HostMemory::Pageable
    } else if lower.contains("pinned") {
        HostMemory::Pinned
    } else {
        HostMemory::Unknown
    };
    (direction, memory)
}
