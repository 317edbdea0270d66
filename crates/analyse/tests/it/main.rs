//! Checks of the analyses against worked answers, recorded traces and the figures of other tools.

// All of this crate is tests, helpers outside of test functions too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod any_findings;
mod any_trace;
mod causality;
mod critical_pieces;
mod csv;
mod data;
mod findings_docs;
mod findings_pairs;
mod findings_profile;
mod flame;
mod hostile_sizes;
mod hta;
mod hta_analyses;
mod hta_any;
mod hta_critical_path;
mod hta_worked;
mod kernels;
mod key_averages;
mod memory;
mod memory_window;
mod modules;
mod roofline;
mod roofline_tracelens;
mod run_info;
mod stacks;
mod steps;
mod tb_overview;
mod tb_tables;
mod timeline;
mod timeline_any;
mod timeline_area;
mod timeline_details;
mod timeline_golden;
mod timeline_hostile;
mod timeline_search;
mod timeline_speed;
mod timeline_tools;
mod tracelens;
mod worked;
