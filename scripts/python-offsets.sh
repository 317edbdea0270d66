#!/bin/sh
# Writes crates/record/src/spy/layouts.rs: where each installed CPython keeps what is read of another process.
# Usage: scripts/python-offsets.sh INCLUDE_FOLDER...   e.g. ~/.pyenv/versions/3.*/include/python3.*
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out="$here/../crates/record/src/spy/layouts.rs"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    echo "//! Where each CPython keeps what is read; written by \`scripts/python-offsets.sh\` from CPython's own headers."
    echo
    echo "use super::layout::{Attributes, Calls, Gil, Int, Keys, Layout, Lines, Locals, Position, TopFrame};"
    echo
    echo "/// One per minor version."
    echo "pub(super) const LAYOUTS: &[Layout] = &["
    for folder in "$@"; do
        cc -w -I"$folder" -I"$folder/internal" "$here/python_offsets.c" -o "$work/offsets"
        "$work/offsets"
    done
    echo "];"
} >"$work/layouts.rs"
rustfmt --edition 2024 --config-path "$here/.." "$work/layouts.rs"
mv "$work/layouts.rs" "$out"
