#!/usr/bin/env bash
# All Rust tests. Many of them watch real processes, and a busy machine may be late once: tests that fail are named and run
# again, alone. One that fails twice is broken.
#   scripts/test-rust.sh [options of cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
said="$(mktemp)"
trap 'rm -f "$said"' EXIT

"$cargo" test --workspace --locked --no-fail-fast "$@" 2>&1 | tee "$said" && exit 0

# A program of tests that crashed does not say which of them it was: that is never tried again.
crashed=$(($(grep -c '^error: .*test failed, to rerun pass' "$said" || true) - $(grep -c '^test result: FAILED' "$said" || true)))
mapfile -t failed < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$said" | sort -u)
if [ "$crashed" != 0 ] || [ ${#failed[@]} = 0 ]; then exit 1; fi

printf '\nfailed, and tried again alone:\n'
printf '  %s\n' "${failed[@]}"
"$cargo" test --workspace --locked "$@" -- --exact --test-threads 1 "${failed[@]}"
printf '\npassed only when tried again:\n'
printf '  %s\n' "${failed[@]}"
