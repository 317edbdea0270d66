#!/usr/bin/env bash
# Measures what counting requests of a service costs, with a release wheel, next to its peers.
#   scripts/bench/production.sh [OPTIONS of production.py]
set -euo pipefail
cd "$(dirname "$0")/../.."
wheels=target/python/wheels-release
if [ -z "$(ls "$wheels"/*.whl 2>/dev/null)" ] || [ -n "$(find crates python/stepscope -newer "$(ls "$wheels"/*.whl)" \( -name '*.rs' -o -name '*.py' \) -print -quit)" ]; then
  build="$(scripts/python-environment.sh build python/requirements-build.txt)"
  rm -rf "$wheels"
  "$build/bin/maturin" build --release --locked --quiet --out "$wheels"
fi
place="$(scripts/python-environment.sh services python/tests/requirements-services.txt)"
"$place/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
"$place/bin/python" scripts/bench/production.py "$@"
