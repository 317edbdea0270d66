#!/usr/bin/env bash
# The package as it is shipped, in an environment, for measurements; prints the environment's Python.
#   scripts/release-wheel.sh NAME REQUIREMENTS     (as scripts/python-environment.sh; PYTHON chooses the interpreter)
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=target/python/wheels-release
if [ -z "$(ls "$wheels"/*.whl 2>/dev/null)" ] || [ -n "$(find crates python/stepscope -newer "$(ls "$wheels"/*.whl)" \( -name '*.rs' -o -name '*.py' \) -print -quit)" ]; then
  build="$(env -u PYTHON scripts/python-environment.sh build python/requirements-build.txt)"
  rm -rf "$wheels"
  "$build/bin/maturin" build --profile release --locked --quiet --out "$wheels" >&2
fi
place="$(scripts/python-environment.sh "$@")"
scripts/python-install.sh "$place/bin/python" --force-reinstall --no-deps "$wheels"/*.whl
echo "$place/bin/python"
