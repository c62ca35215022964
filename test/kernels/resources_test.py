#!/usr/bin/env python3
"""Runs kernels/resources.py on what ptxas might say: figures are printed, a spill that no head mentions is an error."""
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "kernels" / "resources.py"
LOG = """ptxas info    : Compiling entry function 'p3d_softmax_bf16' for 'sm_80'
ptxas info    : Function properties for p3d_softmax_bf16
    {spill} bytes stack frame, {spill} bytes spill stores, {spill} bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 128 bytes smem, 372 bytes cmem[0]
"""


def run(directory, *flags):
    result = subprocess.run([sys.executable, SCRIPT, directory, *flags], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def expect(condition, got):
    if not condition:
        sys.exit(f"resources_test.py: unexpected: {got}")


with tempfile.TemporaryDirectory() as directory:
    got = run(directory)
    expect(got[0] == 1 and "has no logs of kernels; build p3d_cuda_kernels first" in got[1], got)
    log = Path(directory) / "Softmax.log"
    log.write_text(LOG.format(spill=0))
    got = run(directory)
    expect(got[0] == 0 and "50% of 1024-thread blocks" in got[1], got)
    got = run(directory, "--table")
    expect(got[0] == 0 and "| `p3d_softmax_bf16` | 1024 | 64 | 128 | 50% | 92% |" in got[1], got)
    log.write_text(LOG.format(spill=8))
    got = run(directory)
    expect(got[0] == 1 and "p3d_softmax_bf16 spills 16 bytes on sm_80, and the head of Softmax.cu does not say so" in got[1], got)
