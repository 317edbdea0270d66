//! A picture of memory as bytes: a JSON text that says what follows, then columns that a browser reads in place.

use schemars::JsonSchema;
use serde::Serialize;

use super::lines::{Lines, MemoryPlace};
use super::picture::Picture;
use super::{MemoryAxis, PictureQuery};

/// Lines of a picture that are named, those with most pixels.
const MAX_PLACES: usize = 500;

/// A line of the program in a picture.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DrawnPlace {
    pub place: MemoryPlace,
    /// Its share of the pixels that show something.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PictureHead {
    /// What the horizontal axis counts.
    pub axis: MemoryAxis,
    pub from: f64,
    pub to: f64,
    /// Bytes at the lower edge.
    pub low: u64,
    /// Bytes at the upper edge.
    pub high: u64,
    pub columns: u32,
    pub rows: u32,
    /// States that are shown.
    pub states: u32,
    pub runs: u32,
    /// Allocations in at least one pixel.
    pub drawn: u32,
    /// Allocations alive in some state of the window.
    pub alive: u64,
    /// Lines by their pixels, the most first. Those beyond the last share the number after it.
    pub places: Vec<DrawnPlace>,
    /// How many lines are not named.
    pub other_places: u64,
}

/// What a state of a picture needs beside its sum.
pub(super) struct Moment {
    pub(super) at_ns: i64,
    pub(super) reserved: u64,
}

/// Writes a picture. Everything begins at a multiple of 8 bytes: numbers of 8, then of 4, then of 2.
pub(super) fn write(
    picture: &Picture,
    query: &PictureQuery,
    places: &Lines,
    place_of: impl Fn(u32) -> u32,
    moment: impl Fn(u32) -> Moment,
) -> Vec<u8> {
    let mut pixels = vec![0u64; places.len()];
    let numbers: Vec<u32> = picture.drawn.iter().map(|band| place_of(band.id)).collect();
    for (&number, &more) in numbers.iter().zip(&picture.pixels) {
        pixels[number as usize] += more;
    }
    let all: u64 = pixels.iter().sum();
    let mut order: Vec<u32> = (0..places.len() as u32).filter(|&n| pixels[n as usize] > 0).collect();
    order.sort_by_key(|&number| (std::cmp::Reverse(pixels[number as usize]), number));
    let named = order.len().min(MAX_PLACES);
    let mut rank = vec![named as u32; places.len()];
    order.iter().take(named).enumerate().for_each(|(at, &number)| rank[number as usize] = at as u32);
    let share = |number: u32| pixels[number as usize] as f64 / all.max(1) as f64;
    let drawn_place = |&number: &u32| DrawnPlace { place: places.place(number).clone(), share: share(number) };
    let head = PictureHead {
        axis: query.axis,
        from: query.from,
        to: query.to,
        low: query.frame.low,
        high: query.frame.high,
        columns: picture.shows.len() as u32,
        rows: query.frame.rows,
        states: picture.columns.len() as u32,
        runs: picture.runs.len() as u32,
        drawn: picture.drawn.len() as u32,
        alive: picture.alive,
        places: order.iter().take(named).map(drawn_place).collect(),
        other_places: (order.len() - named) as u64,
    };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let mut out = (head.len() as u64).to_le_bytes().to_vec();
    out.extend(&head);
    out.resize(out.len().next_multiple_of(8), 0);
    let moments: Vec<Moment> = picture.columns.iter().map(|column| moment(column.state)).collect();
    let mut wide = |number: u64| out.extend((number as f64).to_le_bytes());
    moments.iter().for_each(|moment| wide(moment.at_ns.max(0) as u64));
    picture.columns.iter().for_each(|column| wide(column.total));
    moments.iter().for_each(|moment| wide(moment.reserved));
    picture.drawn.iter().for_each(|band| wide(band.bytes));
    picture.lowest.iter().for_each(|&lowest| wide(lowest));
    let mut number = |number: u32| out.extend(number.to_le_bytes());
    picture.columns.iter().for_each(|column| number(column.state));
    picture.columns.iter().for_each(|column| number(column.first_run));
    picture.shows.iter().for_each(|&column| number(column));
    picture.drawn.iter().for_each(|band| number(band.id));
    numbers.iter().for_each(|&place| number(rank[place as usize]));
    picture.runs.iter().for_each(|run| number(run.drawn));
    picture.runs.iter().for_each(|run| out.extend(run.end_row.to_le_bytes()));
    out
}
