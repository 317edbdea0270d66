#!/usr/bin/env bash
# Measures what profiling Python costs, calls, lines and memory: a release wheel, on Python 3.11 and 3.13 where they are installed.
#   scripts/bench/python_hooks.sh [OPTIONS of python_hooks.py]
set -euo pipefail
cd "$(dirname "$0")/../.."
wheels=target/python/wheels-release
if [ -z "$(ls "$wheels"/*.whl 2>/dev/null)" ] || [ -n "$(find crates python/stepscope -newer "$(ls "$wheels"/*.whl)" -name '*.rs' -print -quit)" ]; then
  build="$(scripts/python-environment.sh build python/requirements-build.txt)"
  rm -rf "$wheels"
  "$build/bin/maturin" build --release --locked --quiet --out "$wheels"
fi
pythons=()
for version in 3.11 3.13; do
  for found in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if "$found" -c '' 2>/dev/null; then
      place="$(PYTHON="$found" scripts/python-environment.sh "hooks-$version" scripts/bench/requirements-hooks.txt)"
      "$place/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
      pythons+=("$place/bin/python")
      break
    fi
  done
done
python3 scripts/bench/python_hooks.py "$@" "${pythons[@]}"
