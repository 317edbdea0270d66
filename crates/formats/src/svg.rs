//! A flame graph as one SVG file that a browser shows without anything else: hover names a frame, a click zooms, a search
//! marks what matches.
//!
//! Frames are placed in parts of the whole, so the picture is as wide as its window; a short script places them anew when
//! someone zooms. Without scripts (in a README, in a mail) it is a still picture.

mod layout;
mod page;

use std::io::{self, Write};

use stepscope_model::{Profile, ValueUnit};

use layout::{Bar, Layout};

#[derive(Clone, Debug)]
pub struct SvgOptions {
    pub title: String,
    /// Frames with less than this share of the whole are left out.
    pub min_share: f64,
    /// Most frames, the largest first.
    pub max_frames: usize,
    /// Most frames of a stack.
    pub max_depth: usize,
    /// Another of the profile's values that the one drawn is compared with: frames are colored by how their share of the
    /// whole has changed.
    pub before: Option<usize>,
}

impl Default for SvgOptions {
    fn default() -> SvgOptions {
        SvgOptions {
            title: String::new(),
            min_share: 1.0 / 5_000.0,
            max_frames: 20_000,
            max_depth: 256,
            before: None,
        }
    }
}

/// Draws one of a profile's values.
pub fn write_svg(
    profile: &Profile,
    value: usize,
    options: &SvgOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let layout = Layout::new(profile, value, options);
    let unit = profile.values().get(value).map_or(ValueUnit::Plain, |kind| kind.unit);
    page::write(profile, &layout, unit, options, out)
}
