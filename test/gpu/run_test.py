#!/usr/bin/env python3
"""test/gpu/run.sh says what it would do without a GPU, knows one when it is shown, fails when a section does, and runs: run_test.py BUILD

The runs are those of P3D_GPU_EMULATED; nvidia-smi is a script of this test's.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run.sh"
SECTIONS = ["kernels", "bench", "golden", "mesh", "gpt2"]
faults = []


def run(arguments, **variables):
    done = subprocess.run(["bash", RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **variables})
    return done.returncode, done.stdout


def expect(what, result, code, texts):
    """Notes a fault unless the run ended with `code` and said all `texts`."""
    missing = [text for text in texts if text not in result[1]]
    if result[0] != code or missing:
        faults.append(what)
        print(f"FAIL {what}: exit code {result[0]}, expected {code}; not said: {missing}\n{result[1]}")
    else:
        print(f"ok   {what}", flush=True)


def with_nvidia_smi(place, script):
    """PATH with an nvidia-smi that does this."""
    program = Path(place) / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{place}:{os.environ['PATH']}"


def main():
    build = sys.argv[1]
    with tempfile.TemporaryDirectory() as place:
        path = with_nvidia_smi(place, "exit 9")
        expect("without a GPU", run([], PATH=path, P3D_GPU_EMULATED=""), 77, ["there is no GPU here"] + [f"  {section} " for section in SECTIONS])
        expect("an unknown section", run(["kernel"], PATH=path), 1, ["there is no section kernel; expected --no-build or some of: kernels bench"])
        path = with_nvidia_smi(place, "echo 'NVIDIA H200, 9.0'; echo 'NVIDIA H200, 9.0'")
        empty = {"PATH": path, "P3D_GPU_EMULATED": "", "CUDA_VISIBLE_DEVICES": "", "P3D_BUILD": f"{place}/empty"}
        expect("a section that cannot run", run(["--no-build", "kernels"], **empty), 1, ["== 2 x NVIDIA H200 (sm_90)", "kernels  FAILED"])
        expect("a folder without a build", run(["kernels"], **empty), 1, ["/empty has no build.ninja; configure it with cmake", "build    FAILED"])
    expect("on the emulated driver", run(["--no-build", "kernels", "golden", "gpt2"], P3D_GPU_EMULATED="1", P3D_BUILD=build), 0,
           ["kernels  passed", "golden   passed", "gpt2     passed", "the field, for comparison"])
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
