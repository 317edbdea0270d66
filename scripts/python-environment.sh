#!/usr/bin/env bash
# An environment of Python with what a file of requirements names; prints its folder.
#   scripts/python-environment.sh NAME REQUIREMENTS
# It is made once and kept under target/python for as long as the requirements and the Python stay the same.
set -euo pipefail
cd "$(dirname "$0")/.."
name="$1" requirements="$2"
python="${PYTHON:-python3}"
key="$({ "$python" -VV; cat "$requirements"; } | sha256sum | cut -c1-12)"
place="target/python/$name-$key"

if [ ! -e "$place/.made" ]; then
  # Those of earlier requirements are of no use any more; one that was interrupted is made anew.
  rm -rf "target/python/$name"-????????????
  "$python" -m venv "$place" >&2
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2
  touch "$place/.made"
fi
echo "$place"
