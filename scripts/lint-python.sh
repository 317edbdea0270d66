#!/usr/bin/env bash
# Mistakes, order of imports, formatting and types of the Python package.
#   scripts/lint-python.sh          reports what is wrong
#   scripts/lint-python.sh --fix    fixes what it can
set -euo pipefail
cd "$(dirname "$0")/.."
environment="$(scripts/python-environment.sh lint python/requirements-lint.txt)"

if [ "${1:-}" = --fix ]; then
  "$environment/bin/ruff" check --quiet --fix python || true
  "$environment/bin/ruff" format --quiet python
fi
"$environment/bin/ruff" check --quiet python
"$environment/bin/ruff" format --quiet --check python
"$environment/bin/mypy" --no-error-summary --cache-dir target/python/mypy python/stepscope
