#!/usr/bin/env bash
# Measures what counting requests of a service costs, with a release wheel, next to its peers.
#   scripts/bench/production.sh [OPTIONS of production.py]
set -euo pipefail
cd "$(dirname "$0")/../.."
python="$(scripts/release-wheel.sh services python/tests/requirements-services.txt)"
"$python" scripts/bench/production.py "$@"
