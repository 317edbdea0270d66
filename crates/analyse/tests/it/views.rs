//! Tests of `views`.

mod flame;
mod memory;
mod timeline;
pub(crate) mod timeline_any;
mod timeline_area;
mod timeline_details;
mod timeline_golden;
mod timeline_hostile;
mod timeline_search;
pub(crate) mod timeline_tools;
