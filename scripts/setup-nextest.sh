#!/usr/bin/env bash
# cargo-nextest, which runs the Rust tests: the one that is installed, else from crates.io (minutes, once).
set -euo pipefail
cargo="${CARGO:-cargo}"
if ! "$cargo" nextest --version >/dev/null 2>&1; then
  echo "no cargo-nextest found: installing it from crates.io, which takes a few minutes" >&2
  "$cargo" install --locked cargo-nextest
fi
