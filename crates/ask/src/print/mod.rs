//! Everything that is shown to a person: units, tables, bars and plots.
//!
//! Three rules hold throughout.
//!
//! * Nothing here writes to the process's own streams: a writer is passed in, together with a [`Screen`]
//!   that says how wide the output is and what it can show.
//! * Text that came out of a trace is cleaned ([`clean()`]) before it reaches a terminal, because a kernel may
//!   be named anything, including an escape sequence.
//! * Color only repeats what is already said in words, glyphs or position.

mod ascii;
mod axis;
mod bar;
mod clean;
mod columns;
mod csv;
mod heading;
mod json;
mod layout;
mod line;
mod markdown;
mod measure;
mod plot;
mod render;
mod role;
mod screen;
mod section;
mod spark;
mod stacked;
mod table;
pub mod units;

pub use ascii::ascii;
pub use bar::{ascii_bar, bar};
pub use clean::clean;
pub use columns::Columns;
pub use csv::csv;
pub use heading::{heading, note};
pub use json::json;
pub use markdown::{escaped as markdown_text, markdown};
pub use measure::{end_ellipsis, middle_ellipsis, width, wrap};
pub use plot::{Plot, area_plot};
pub use role::{Palette, Role};
pub use screen::Screen;
pub use section::{LABEL_COLUMNS, labelled, lines_of};
pub use spark::sparkline;
pub use stacked::{split_cells, stacked_bar, stacked_legend, stacked_line};
pub use table::{Align, Cell, Column, KEEP, Shorten, Table};
