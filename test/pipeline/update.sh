#!/usr/bin/env bash
# Writes the pages of this directory anew: update.sh BUILD_DIR. Read the difference before committing it.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
number=1
for level in import autodiff shard partition stage replicate schedule memory; do
  page=$number-$level.mlir
  {
    echo "// The model after the level $level. This page is what the compiler prints; update.sh makes it."
    echo "// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=$level > %t && grep -v '^//' %s | diff - %t"
    "$build"/bin/p3dc model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=$level
  } > "$page"
  number=$((number + 1))
done
