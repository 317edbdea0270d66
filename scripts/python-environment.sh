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

mkdir -p target/python
exec 9>"target/python/.$name.lock"
flock 9
if [ ! -e "$place/.made" ]; then
  # Those of earlier requirements are of no use any more; one that was interrupted is made anew.
  rm -rf "target/python/$name"-????????????
  # Without pip, which takes longer to install than most of what it would install here.
  "$python" -m venv --without-pip "$place" >&2
  scripts/python-install.sh "$place/bin/python" -r "$requirements" 9>&-
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
