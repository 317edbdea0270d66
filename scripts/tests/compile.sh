#!/usr/bin/env bash
# The compiler of our own crates where CI builds them for tests (cargo's RUSTC_WORKSPACE_WRAPPER): Clippy, which compiles as
# rustc does and lints on the way. A pass for the lints alone takes two minutes more.
# CLIPPY_ARGS says how it lints; cargo has to see it, too, or takes all of it for out of date.
# A crate is compiled once more for its unit tests, which run for seconds: that time it is not optimized.
set -euo pipefail

if [[ " $* " == *" --crate-name stepscope_"* && " $* " == *" --test "* ]]; then
  set -- "${@/opt-level=1/opt-level=0}"
fi
exec clippy-driver "$@"
