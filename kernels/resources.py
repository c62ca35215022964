#!/usr/bin/env python3
"""Prints what the CUDA kernels take of a multiprocessor: resources.py DIR [--table], DIR/<Op>.log being what ptxas -v said.

Exit code 1 if a kernel spills registers to local memory and the head of kernels/<Op>.cu does not contain the word "spills".
--table prints the table of kernels/README.md instead. Dynamic shared memory is not counted: that of attention leaves room for
the two blocks that its registers allow, that of the norms' gradients is at most 64 KB.
"""
import re
import sys
from pathlib import Path

# Per multiprocessor: registers, threads, shared memory, blocks, and memory bandwidth in bytes per ns (A100 80 GB, H100 SXM, B200).
DEVICES = {"sm_80": (65536, 2048, 164 * 1024, 32, 2039 / 108), "sm_90": (65536, 2048, 228 * 1024, 32, 3350 / 132),
           "sm_100": (65536, 2048, 228 * 1024, 32, 8000 / 148)}
LATENCY_NS = 650  # of a read from memory under load
PLAIN_COPY = 0.92  # the share of the nominal bandwidth that a plain copy reaches

# Bytes of independent reads that a thread has in flight; half of them where blocks wait for reductions of rows between reads.
IN_FLIGHT = {"p3d_adamw": 64, "p3d_sgd": 48, "p3d_add_bias": 16, "p3d_bias_gelu": 16, "p3d_bias_gelu_grad": 32, "p3d_column_sums": 16,
             "p3d_cross_entropy_max": 16, "p3d_cross_entropy_sum": 16, "p3d_cross_entropy_grad": 16, "p3d_gather_16": 16, "p3d_layer_norm": 16,
             "p3d_layer_norm_grad": 32, "p3d_rms_norm": 16, "p3d_rms_norm_grad": 32, "p3d_rope": 8, "p3d_scatter_add": 64,
             "p3d_softmax": 16, "p3d_softmax_grad": 32, "p3d_squared_norm": 16, "p3d_swiglu": 32, "p3d_swiglu_grad": 48}
TYPES = r"_(f32|bf16|f16|i32|i64|ui32)$"


def threads_of(source, kernel):
    """The most threads of a block, from the P3D_KERNEL(n) before the kernel's name."""
    family = re.sub(TYPES, "", kernel)
    family = re.sub(r"_\d+$", "_##", family)
    name = re.search(re.escape(family) + r"(##|_##|\()", source)
    place = name.start() if name else len(source)
    return [int(m[1]) for m in re.finditer(r"P3D_KERNEL(?:_BLOCKS)?\((\d+)", source) if m.start() < place][-1]


def occupancy(arch, registers, shared, threads):
    """The share of the multiprocessor's threads that can be there at once."""
    all_registers, all_threads, all_shared, blocks, _ = DEVICES[arch]
    per_warp = -(-registers * 32 // 256) * 256
    by_registers = all_registers // per_warp // (-(-threads // 32))
    by_shared = all_shared // (shared + 1024)
    return min(by_registers, by_shared, all_threads // threads, blocks) * threads / all_threads


def predicted_share(kernel, arch, share):
    """Of the memory bandwidth, by Little's law: bytes in flight over latency, at most what a plain copy reaches."""
    in_flight = IN_FLIGHT.get(re.sub(TYPES, "", kernel))
    if not in_flight:
        return None
    needed = DEVICES[arch][4] * LATENCY_NS
    return PLAIN_COPY * min(1, share * DEVICES[arch][1] * in_flight / needed)


def kernels_in(log):
    """(kernel, arch, registers, shared, spill) in the order of the log."""
    kernel = arch = None
    spill = 0
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            kernel, arch = match.groups()
        if match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spill = int(match[1]) + int(match[2])
        if match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            yield kernel, arch, int(match[1]), int(shared[1]) if shared else 0, spill


def figures(directory):
    """[(op, kernel, arch, registers, shared, spill, threads, occupancy)] of all kernels and devices."""
    rows = []
    for log in sorted(directory.glob("*.log")):
        source = (Path(__file__).parent / f"{log.stem}.cu").read_text()
        for kernel, arch, registers, shared, spill in kernels_in(log.read_text()):
            threads = threads_of(source, kernel)
            rows.append((log.stem, kernel, arch, registers, shared, spill, threads, occupancy(arch, registers, shared, threads)))
    return rows


def print_table(rows):
    """Markdown, a line per kernel; f16 is left out, its figures are those of bf16 within a few registers."""
    print("| kernel | threads | registers sm_80 / 90 / 100 | static shared | occupancy | predicted share of the bandwidth |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kernel in sorted({row[1] for row in rows if not row[1].endswith("_f16")}):
        mine = sorted((row for row in rows if row[1] == kernel), key=lambda row: list(DEVICES).index(row[2]))
        shares = [predicted_share(kernel, row[2], row[7]) for row in mine]
        print(f"| `{kernel}` | {mine[0][6]} | {' / '.join(str(row[3]) for row in mine)} | {mine[0][4]} | "
              f"{' / '.join(f'{row[7]:.0%}' for row in mine)} | "
              f"{' / '.join(f'{share:.0%}' for share in shares) if shares[0] is not None else ''} |")


def print_list(rows):
    faults = 0
    print(f"{'kernel':40} {'arch':7} registers  shared  spilled  occupancy")
    for op, kernel, arch, registers, shared, spill, threads, share in rows:
        print(f"{kernel:40} {arch:7} {registers:9} {shared:7} {spill:8} {share:9.0%} of {threads}-thread blocks")
        head = (Path(__file__).parent / f"{op}.cu").read_text().split("#include")[0]
        if spill and "spills" not in head:
            print(f"error: {kernel} spills {spill} bytes on {arch}, and the head of {op}.cu does not say so")
            faults += 1
    return faults


if __name__ == "__main__":
    found = figures(Path(sys.argv[1]))
    if not found:
        sys.exit(f"{sys.argv[1]} has no logs of kernels; build p3d_cuda_kernels first")
    if "--table" in sys.argv:
        print_table(found)
    else:
        sys.exit(1 if print_list(found) else 0)
