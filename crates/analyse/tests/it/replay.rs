//! Tests of `replay`.

mod critical_pieces;
