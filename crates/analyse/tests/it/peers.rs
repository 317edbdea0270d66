//! Tests of `peers`.

mod hta;
mod hta_analyses;
mod hta_any;
mod hta_critical_path;
mod hta_worked;
mod tb_overview;
mod tb_tables;
mod tracelens;
mod xprof;
