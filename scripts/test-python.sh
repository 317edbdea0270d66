#!/usr/bin/env bash
# The Python package, as users get it: one wheel, built once and installed into fresh environments.
#   scripts/test-python.sh            all of it
#   scripts/test-python.sh plain      without PyTorch alone
#   scripts/test-python.sh build      only the environments, with the package in them
set -euo pipefail
cd "$(dirname "$0")/.."
group="${1:-all}"
place=target/python
python="${PYTHON:-python3}"
mkdir -p "$place"

# An environment, made anew when what it holds has changed.
environment() { # name requirements
  local venv="$place/$1" mark="$place/$1.made"
  if [ ! -x "$venv/bin/python" ] || ! cmp -s "$2" "$mark"; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2"
    cp "$2" "$mark"
  fi
}

with_wheel() { # environment
  "$place/$1/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
}

echo "maturin>=1.9,<2" > "$place/build.txt"
environment build "$place/build.txt"
# Tests are content with the build that `cargo test` has made most of; figures are not.
profile="--profile dev"
[ "$group" = build ] && profile="--release"
rm -rf "$place/wheels"
"$place/build/bin/maturin" build $profile --quiet --out "$place/wheels"
wheel="$(ls "$place"/wheels/*.whl)"

environment plain python/tests/requirements.txt
with_wheel plain
if [ "$group" = build ]; then
  environment frameworks python/tests/requirements-frameworks.txt
  with_wheel frameworks
  exit 0
fi
"$place/plain/bin/python" -m pytest python/tests

# Every other Python on this machine that we promise to work with.
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
  other=""
  # A name on the path may be a stand-in for a Python that is not chosen.
  for found in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    if [ -z "$other" ] && "$found" -c 'import venv' 2>/dev/null; then other="$found"; fi
  done
  if [ -z "$other" ]; then
    echo "skipped: Python $version is not here"
    continue
  fi
  "$other" -m venv --clear "$place/smoke"
  "$place/smoke/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$wheel"
  "$place/smoke/bin/python" python/tests/smoke.py
done

if [ "$group" = plain ]; then
  echo "skipped: the tests with PyTorch"
  exit 0
fi
environment frameworks python/tests/requirements-frameworks.txt
with_wheel frameworks
"$place/frameworks/bin/python" -m pytest python/tests

environment jax python/tests/requirements-jax.txt
with_wheel jax
"$place/jax/bin/python" -m pytest python/tests/performance/test_jax.py
