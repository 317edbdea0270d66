#!/usr/bin/env bash
# Tests that watch processes and clocks, many times beside a busy loop on every core. Nothing is tried twice here: what
# fails on a busy machine depends on luck.
#   scripts/tests/busy.sh [TIMES]
set -euo pipefail
cd "$(dirname "$0")/../.."
times="${1:-20}"
cargo="${CARGO:-cargo}"
scripts/setup-nextest.sh
"$cargo" nextest run --profile busy --workspace --lib --tests --locked --no-run

loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true' EXIT
for _ in $(seq "$(nproc)"); do
  (while :; do :; done) &
  loops+=($!)
done

failed=0
for round in $(seq "$times"); do
  echo "── round $round of $times, beside ${#loops[@]} busy loops ──"
  "$cargo" nextest run --profile busy --workspace --lib --tests --locked || failed=$((failed + 1))
done
echo "$((times - failed)) of $times rounds passed"
[ "$failed" = 0 ]
