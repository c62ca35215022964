#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."
bash test/setup.sh
echo "== testing"
ctest --test-dir build --output-on-failure -j "$(nproc)"
