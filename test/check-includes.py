#!/usr/bin/env python3
"""Checks who includes whom: python3 check-includes.py [ROOT]

The table below is the layering of the project: the runtime and the kernels know nothing of MLIR, a dialect nothing of the passes,
a phase nothing of another phase. Prints FILE:LINE: error: ... for each include that the table does not allow, exit code 1 if any.
"""
import re
import sys
from pathlib import Path

ABI = "runtime/include/p3d/"  # the one edge between the compiler and the runtime, and how both read sizes
LIBRARIES = ("mlir/", "llvm/", "llvm-c/", "mlir-c/", "lld/", "clang/")

# Where a file is: what it may include of ours, and whether LLVM and MLIR. `{part}` is its own second directory. The first row
# that fits holds.
RULES = [
    ("kernels/", ["kernels/", ABI], False),
    ("runtime/", ["runtime/", "kernels/"], False),
    ("dialects/Pipe/", ["dialects/Pipe/", "dialects/Dist/"], True),
    # Commands say over which axis and on which kind of buffer they work.
    ("dialects/Exec/", ["dialects/Exec/", "dialects/Pipe/", "dialects/Dist/"], True),
    ("dialects/", ["dialects/{part}/"], True),
    # Emitted code calls the kernels by their C ABI, and lays out the plans that they take.
    ("passes/Lower/", ["dialects/", "passes/Lower/", "passes/Support/", ABI, "kernels/Kernels.h"], True),
    ("passes/", ["dialects/", "passes/{part}/", "passes/Support/", ABI], True),
    # Weights are converted with the reader and writer of the runtime.
    ("compiler/tools/ConvertWeights", ["compiler/tools/", "frontend/", "runtime/Data/", "runtime/DType.h", "runtime/Error.h"], True),
    ("compiler/tools/", ["compiler/", "dialects/", "passes/", "frontend/", ABI], True),
    ("compiler/", ["compiler/", "dialects/", "passes/", ABI], True),
    # Models are written in the dialect that comes in.
    ("frontend/", ["frontend/", "dialects/StableHLO/"], True),
    ("test/", ["test/", "compiler/", "dialects/", "passes/", "runtime/", "kernels/", "frontend/"], True),
]
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s+["<]([^">]+)[">]')
SUFFIXES = {".h", ".c", ".cc", ".cpp", ".cu", ".cuh", ".td"}


def complaint(file, included):
    """Why `file` may not include `included`, or None. Both are relative to the root."""
    for place, ours, may_use_libraries in RULES:
        if not file.startswith(place):
            continue
        if included.startswith(LIBRARIES):
            return None if may_use_libraries else f"{place} may not include LLVM or MLIR"
        if not included.startswith(tuple(rule[0].split("/")[0] + "/" for rule in RULES)):
            return None  # of another library, the system, or beside the file
        allowed = [name.format(part=file.split("/")[1]) for name in ours]
        return None if included.startswith(tuple(allowed)) else f"{place} may include {', '.join(allowed)} only"
    return "no rule says what this directory may include; add a row to RULES"


def check(root):
    faults = 0
    tops = {rule[0].split("/")[0] for rule in RULES}
    for path in sorted(path for top in tops for path in (root / top).rglob("*") if path.suffix in SUFFIXES):
        file = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            why = match and complaint(file, match[1])
            if why:
                print(f"{file}:{number}: error: includes {match[1]}, but {why}")
                faults += 1
    return faults


def check_the_check():
    """The table must refuse what it is there to refuse."""
    refused = [("runtime/Error.h", "llvm/ADT/StringRef.h"), ("kernels/cpu/Gemm.h", "runtime/Error.h"),
               ("dialects/Graph/GraphOps.h", "dialects/Dist/DistOps.h"), ("dialects/Graph/GraphOps.h", "passes/Shard/Passes.h"),
               ("passes/Shard/Shard.cpp", "passes/Import/Passes.h"), ("compiler/Driver.cpp", "runtime/Error.h")]
    allowed = [("dialects/Pipe/PipeOps.h", "dialects/Dist/DistOps.h"), ("passes/Shard/Shard.cpp", "passes/Support/Locations.h"),
               ("passes/Lower/Describe.cpp", ABI), ("runtime/Error.h", "fmt/format.h"), ("test/unit/A.cpp", "passes/Shard/Passes.h")]
    return all(complaint(*pair) for pair in refused) and not any(complaint(*pair) for pair in allowed)


if __name__ == "__main__":
    if not check_the_check():
        sys.exit("check-includes.py: the table of rules does not refuse and allow what it should")
    sys.exit(1 if check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)) else 0)
