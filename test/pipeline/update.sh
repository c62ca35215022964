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
# Of the machine code's level one kernel, one block and one stage: the rest is alike.
parts='/llvm.func @kernel.tanh/,/^    }/p; /llvm.func @p3d_block.layer.fwd(%/,/^    }/p; /^  module @stage0/,/^  }/p'
{
  echo "// The model after the level lower: one kernel, the forward pass of a layer, and the first stage. This page is what the compiler prints; update.sh makes it."
  echo "// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=lower | sed -n '$parts' > %t && grep -v '^//' %s | diff - %t"
  "$build"/bin/p3dc model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=lower | sed -n "$parts"
} > 9-lower.mlir
