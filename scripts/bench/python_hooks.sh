#!/usr/bin/env bash
# Measures what profiling Python costs, calls, lines and memory: a release wheel, on Python 3.11 and 3.13 where they are installed.
#   scripts/bench/python_hooks.sh [OPTIONS of python_hooks.py]
set -euo pipefail
cd "$(dirname "$0")/../.."
pythons=()
for version in 3.11 3.13; do
  for found in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if "$found" -c '' 2>/dev/null; then
      pythons+=("$(PYTHON="$found" scripts/release-wheel.sh "hooks-$version" scripts/bench/requirements-hooks.txt)")
      break
    fi
  done
done
python3 scripts/bench/python_hooks.py "$@" "${pythons[@]}"
