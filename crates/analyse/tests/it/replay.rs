//! Tests of `replay`.

mod critical_pieces;
mod recording;
