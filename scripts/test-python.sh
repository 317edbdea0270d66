#!/usr/bin/env bash
# The Python package.
#   scripts/test-python.sh            all of it, as users get it: one wheel, on every Python, without PyTorch and with it
#   scripts/test-python.sh plain      only without PyTorch
#   scripts/test-python.sh fast       the working tree in place, one Python, without PyTorch: while you work
#   scripts/test-python.sh build      only a release wheel, in the environment with PyTorch: for measurements
set -euo pipefail
cd "$(dirname "$0")/.."
group="${1:-all}"
place=target/python
cargo="${CARGO:-cargo}"
mkdir -p "$place"

environment() { scripts/python-environment.sh "$@"; }

# What has been done took this long.
SECONDS=0
took() { # what
  echo "$1: $SECONDS s"
  SECONDS=0
}

if [ "$group" = fast ]; then
  plain="$(environment plain python/tests/requirements.txt)"
  "$cargo" build --quiet --locked -p stepscope-python
  cp target/debug/lib_native.so python/stepscope/_native.abi3.so
  took "built the module"
  PYTHONPATH="$PWD/python" "$plain/bin/python" -m pytest python/tests
  took "tests without PyTorch"
  exit 0
fi

# Tests are content with the build that `cargo test` has made most of; measurements are not.
profile="--profile dev"
[ "$group" = build ] && profile="--release"
build="$(environment build python/requirements-build.txt)"
rm -rf "$place/wheels"
"$build/bin/maturin" build $profile --locked --quiet --out "$place/wheels"
wheel="$(ls "$place"/wheels/*.whl)"
took "built the wheel"

with_wheel() { # environment
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
}

if [ "$group" = build ]; then
  frameworks="$(environment frameworks python/tests/requirements-frameworks.txt)"
  with_wheel "$frameworks"
  rm -rf "$place/frameworks"
  ln -s "$(basename "$frameworks")" "$place/frameworks"
  exit 0
fi

plain="$(environment plain python/tests/requirements.txt)"
with_wheel "$plain"
took "environment without PyTorch"
STEPSCOPE_WHEEL="$PWD/$wheel" "$plain/bin/python" -m pytest python/tests
took "tests without PyTorch"

# Every other Python on this machine that we promise to work with. A wheel is a zip file and the package needs nothing
# else, so it is unpacked once instead of being installed for each.
rm -rf "$place/unpacked"
"$plain/bin/python" -m zipfile -e "$wheel" "$place/unpacked"
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
  other=""
  # A name on the path may be a stand-in for a Python that is not chosen.
  for found in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if [ -z "$other" ] && "$found" -c '' 2>/dev/null; then other="$found"; fi
  done
  if [ -z "$other" ]; then
    echo "skipped: Python $version is not installed"
    continue
  fi
  # Without site-packages: nothing else is there.
  PYTHONPATH="$place/unpacked" "$other" -S python/tests/smoke.py
done
took "smoke tests on every Python"

if [ "$group" = plain ]; then
  echo "skipped: tests with PyTorch"
  exit 0
fi
frameworks="$(environment frameworks python/tests/requirements-frameworks.txt)"
with_wheel "$frameworks"
took "environment with PyTorch"
# What does not care whether PyTorch is there has been tested above.
"$frameworks/bin/python" -m pytest python/tests --beside-frameworks
took "tests with PyTorch"

jax="$(environment jax python/tests/requirements-jax.txt)"
with_wheel "$jax"
took "environment with JAX and TensorFlow"
"$jax/bin/python" -m pytest python/tests/performance/test_jax.py
# One framework per process: which one a program uses is told by what it has imported.
"$jax/bin/python" -m pytest python/tests/xla/test_jax.py
"$jax/bin/python" -m pytest python/tests/xla/test_tensorflow.py
KERAS_BACKEND=tensorflow "$jax/bin/python" -m pytest python/tests/xla/test_keras.py
KERAS_BACKEND=jax "$jax/bin/python" -m pytest python/tests/xla/test_keras.py
"$jax/bin/python" -m pytest python/tests/xla/test_verdicts.py
# XProf is a program of its own here, and reads what JAX and TensorFlow record in theirs.
xprof="$(environment xprof python/tests/requirements-xprof.txt)"
STEPSCOPE_XPROF_PYTHON="$PWD/$xprof/bin/python" "$jax/bin/python" -m pytest python/tests/xla/test_xprof.py
took "tests with JAX and TensorFlow"

services="$(environment services python/tests/requirements-services.txt)"
with_wheel "$services"
took "environment with servers"
"$services/bin/python" -m pytest python/tests/production
took "tests with servers"
