#!/usr/bin/env bash
# An environment of Python with what a file of requirements names; prints its folder.
#   scripts/python-environment.sh NAME REQUIREMENTS
# It is made once and kept under target/python for as long as the requirements and the Python stay the same. Whoever asks
# while another makes it waits.
set -euo pipefail
cd "$(dirname "$0")/.."
name="$1" requirements="$2"
python="${PYTHON:-python3}"
key="$({ "$python" -VV; cat "$requirements"; } | sha256sum | cut -c1-12)"
place="target/python/$name-$key"

# uv takes 20 s for PyTorch and its friends where pip takes more than two minutes; where it fails, pip may know more.
install_with_uv() {
  local uv=target/python/uv index
  (
    flock 8
    [ -x "$uv/bin/uv" ] || { "$python" -m venv "$uv" && "$uv/bin/python" -m pip install --quiet --disable-pip-version-check uv; }
  ) 8>target/python/.uv.lock >&2 9>&- || return 1
  # The index that pip was told to use.
  index="${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}"
  env ${index:+UV_DEFAULT_INDEX="$index"} UV_CACHE_DIR="$PWD/target/python/uv-cache" \
    "$uv/bin/uv" pip install --quiet --python "$place/bin/python" -r "$requirements" >&2 9>&-
}

mkdir -p target/python
exec 9>"target/python/.$name.lock"
flock 9
if [ ! -e "$place/.made" ]; then
  # Those of earlier requirements are of no use any more; one that was interrupted is made anew.
  rm -rf "target/python/$name"-????????????
  "$python" -m venv "$place" >&2
  install_with_uv || "$place/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile -r "$requirements" >&2 9>&-
  # Most modules of PyTorch and TensorFlow are never imported here, and compiling them all takes a minute: only those that
  # come with their packages are, once, whatever the caller wants of bytecode.
  env -u PYTHONDONTWRITEBYTECODE "$place/bin/python" - "$requirements" >/dev/null 2>&1 9>&- <<'EOF'
import contextlib, importlib, re, sys

for line in open(sys.argv[1]):
    with contextlib.suppress(Exception):
        importlib.import_module(re.match(r"\w+", line)[0])
EOF
  touch "$place/.made"
fi
echo "$place"
