#!/usr/bin/env python3
"""Every kernel of kernels/CudaKernels.h has a line in the bench of the device, and every line works: bench_test.py BENCH

Runs all lines with tiny sizes on whatever driver LD_LIBRARY_PATH gives; ctest gives the emulated one. The speeds mean nothing there.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A call that enqueues a kernel takes a launcher first.
CALL = re.compile(r"\bvoid (p3d_cuda_\w+)\(p3d_launcher \*launcher,")


def without_lines(header, lines):
    """The kernels that a header declares and no line, named KERNEL/FORM, is about."""
    return sorted(set(CALL.findall(header)) - {line.split("/")[0] for line in lines})


def check_the_check():
    header = "void p3d_cuda_a(p3d_launcher *launcher, int x);\nvoid p3d_cuda_a_grad(p3d_launcher *launcher,\n int x);\nint64_t p3d_cuda_blocks(int n);"
    return without_lines(header, ["p3d_cuda_a/gpt2/f32"]) == ["p3d_cuda_a_grad"]


def main():
    if not check_the_check():
        sys.exit("bench_test.py: a kernel without a line is not noticed")
    bench = sys.argv[1]
    listed = subprocess.run([bench, "--benchmark_list_tests"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    missing = without_lines((ROOT / "kernels" / "CudaKernels.h").read_text(), listed)
    for kernel in missing:
        print(f"{kernel} of kernels/CudaKernels.h has no line; add one in test/gpu/bench")
    done = subprocess.run([bench, "--sizes=tiny", "--benchmark_format=json"], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        sys.exit(77)
    results = json.loads(done.stdout)["benchmarks"] if done.stdout else []
    bad = [line for line in results if line.get("error_occurred") or not line.get("share", 0) > 0]
    for line in bad:
        print(f"{line['name']}: {line.get('error_message', 'no time was taken')}")
    print(f"{len(results)} of {len(listed)} lines ran, {len(bad)} failed, {len(missing)} kernels have none")
    sys.exit(1 if missing or bad or done.returncode or len(results) != len(listed) else 0)


if __name__ == "__main__":
    main()
