#!/usr/bin/env bash
# Installs packages into an environment.
#   scripts/python-install.sh PYTHON WHAT...     (PYTHON: the environment's; WHAT: as `pip install` takes it)
# uv takes 20 s for PyTorch and its friends where pip takes more than two minutes; where it fails, pip may know more.
set -euo pipefail
python="$1"
shift
folder="$(cd "$(dirname "$0")/.." && pwd)/target/python"
uv="$folder/uv"
mkdir -p "$folder"

install_with_uv() {
  local index
  (
    flock 8
    [ -x "$uv/bin/uv" ] || { "$python" -m venv "$uv" && "$uv/bin/python" -m pip install --quiet --disable-pip-version-check uv; }
  ) 8>"$folder/.uv.lock" || return 1
  # The index that pip was told to use.
  index="${PIP_INDEX_URL:-$("$uv/bin/python" -m pip config get global.index-url 2>/dev/null || true)}"
  env ${index:+UV_DEFAULT_INDEX="$index"} UV_CACHE_DIR="$folder/uv-cache" "$uv/bin/uv" pip install --quiet --python "$python" "$@"
}

install_with_pip() {
  "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip
  "$python" -m pip install --quiet --disable-pip-version-check --no-compile "$@"
}

install_with_uv "$@" >&2 || install_with_pip "$@" >&2
