#!/usr/bin/env python3
"""Trains every tiny model on every mesh and compares with its golden numbers: python3 table.py --build=BUILD

A row is a model, a mesh and a number of microbatches: compile with p3dc, run 10 steps of all ranks with p3d-run, compare with
check-golden. Where a row cannot work, the expected outcome is a located error that says what would. Every row is printed;
exit code 1 if any comes out unexpectedly. What a failed row made is kept, with the commands that made it.

With --target=cuda the programs run on the emulated driver. --seeds=N then runs each row N times with other delays of its
streams: loss and gradients have to be the same to the bit. --driver=machine runs them on the GPUs of this machine instead.
--share-devices puts the stand-in of test/gpu in the place of NCCL, which refuses two ranks on one device; it works with either driver.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
MESHES = ["1x1x1", "2x1x1", "4x1x1", "8x1x1", "1x2x1", "1x4x1", "1x1x2", "2x2x2", "2x3x2", "4x4x2"]
TRAINING = ["--lr=0.001", "--betas=0.9,0.95", "--eps=1e-8", "--weight-decay=0.1", "--clip=1", "--timeout=120"]
SECONDS = 600  # for one command
LOCATED = re.compile(r"^\S+:\d+:\d+: error: (.*)", re.MULTILINE)


@dataclass
class Row:
    model: str
    mesh: str
    microbatches: int
    target: str = "cpu"
    steps: int = 10
    seeds: int = 1
    flags: str = ""
    driver: str = "emulated"
    shares_devices: bool = False
    gpu_arch: str = None

    def name(self):
        name = f"{self.model}-{self.mesh}-m{self.microbatches}"
        name += "" if self.target == "cpu" else "-shared" if self.shares_devices else f"-{self.driver}"
        return name + re.sub(r"[^a-z0-9]+", "-", self.flags).rstrip("-")  # tests that run side by side have places of their own

    def axes(self):
        return [int(size) for size in self.mesh.split("x")]


def batch_size(model):
    """Of the first input: 8x16xint32 has 8."""
    inputs = json.loads((INPUTS / f"{model}.json").read_text())["batch"]
    return int(next(iter(inputs.values())).split("x")[0])


def rows_of(model):
    """Every mesh with one microbatch and with the most that divide the replica's batch."""
    for mesh in MESHES:
        replica = batch_size(model) // int(mesh.split("x")[2])
        yield Row(model, mesh, 1)
        yield Row(model, mesh, replica)


def part_of(model, models):
    """Three of the model's rows, so that seven models in a row cover every mesh with either number of microbatches."""
    rows = list(rows_of(model))
    # Steps of 7 through the 20 rows mix small meshes with large ones.
    first = 3 * models.index(model)
    return [rows[7 * (first + i) % len(rows)] for i in range(3)]


def expected_error(row):
    """What the message of a row that cannot work has to hold; None for one that must work."""
    layers = json.loads((INPUTS / f"{row.model}.json").read_text())["hyper"].get("layers")
    _, stages, replicas = row.axes()
    if batch_size(row.model) % replicas:
        return ["batch"]
    if layers and stages > layers:
        return ["layer"]
    # Its balance loss is a product of two means over the whole batch.
    if row.model == "mixtral_tiny" and row.microbatches > 1:
        return ["graph.mul", "--microbatches=1"]
    return None


def run(command, log, **variables):
    """Exit code and output; the command and its output are added to `log`. `variables` are added to the environment."""
    with log.open("a") as file:
        file.write(f"$ {' '.join(map(str, command))}\n")
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                              env={**os.environ, **variables})
        code, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, text = 124, f"took more than {SECONDS} s\n"
    with log.open("a") as file:
        file.write(text)
    return code, text


def judge_error(row, code, text):
    """Whether a refusal says what it should."""
    wanted = expected_error(row)
    message = LOCATED.search(text)
    if code != 1 or not message:
        return False, f"p3dc exits {code} without a located error: {last_line(text)}"
    if wanted is None:
        return False, f"refused: {message[1]}"
    missing = [word for word in wanted if word not in text]
    if missing:
        return False, f"the error does not mention {', '.join(missing)}: {message[1]}"
    return True, f"refused as it must be: {message[1]}"


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no output"


def environment_of(row, build):
    """What the ranks of a row find beside the variables of this process."""
    if row.target == "cpu":
        return {}
    libraries, variables = [], {}
    if row.shares_devices:
        libraries.append(build.resolve() / "lib" / "shared-device-nccl")
        # What the stand-in needs, test/gpu/Nccl/DriverCarrier.cpp.
        variables = {"P3D_SHARE_DEVICES": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "32", "CUDA_MODULE_LOADING": "EAGER"}
    if row.driver == "emulated":
        libraries.append(build.resolve() / "lib" / "emulator")
        variables["P3D_EMULATOR_DEVICES"] = "2" if row.shares_devices else str(math.prod(row.axes()))
    elif "LD_LIBRARY_PATH" in os.environ:
        libraries.append(os.environ["LD_LIBRARY_PATH"])
    if libraries:
        variables["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    return variables


def misplanned(place):
    """The stages whose memory a run has not used to the byte as the manifest says, with both numbers."""
    ranks = json.loads((place / "out/manifest.json").read_text())["ranks"]
    planned = {rank["pp"]: rank["memory"]["total"] for rank in ranks}
    used = json.loads((place / "steps.jsonl").read_text().splitlines()[-1])["stage_memory_bytes"]
    return [f"stage {stage}: planned {planned[stage]} bytes, used {bytes}" for stage, bytes in enumerate(used) if bytes != planned[stage]]


def train(row, build, place):
    """Compiles, runs and compares one row: (as expected, what happened)."""
    log, bin, weights = place / "log.txt", build / "bin", INPUTS / f"{row.model}.safetensors"
    compile = [bin / "p3dc", INPUTS / f"{row.model}.mlir", f"--mesh={row.mesh}", f"--microbatches={row.microbatches}",
               f"--target={row.target}", *row.flags.split(), "-o", place / "out"] + ([f"--gpu-arch={row.gpu_arch}"] if row.gpu_arch else [])
    start = time.monotonic()
    code, text = run(compile, log)
    if code != 0:
        return judge_error(row, code, text)
    if expected_error(row):
        return False, "compiles, but must be refused"
    compiled = time.monotonic()
    training = [bin / "p3d-run", place / "out", f"--steps={row.steps}", *TRAINING, f"--params={weights}", f"--data={weights}",
                f"--log={place}/steps.jsonl", f"--dump-grads={place}/grads.safetensors", f"--export={place}/final.safetensors"]
    if row.target == "cuda" and row.seeds > 1:
        training.append("--deterministic")
    environment, first = environment_of(row, build), None
    for seed in range(row.seeds):
        code, text = run(training, log, **environment, P3D_EMULATOR_SEED=str(seed))
        if code != 0:
            return False, f"p3d-run exits {code}: {last_line(text)}"
        losses = [json.loads(line)["loss"] for line in (place / "steps.jsonl").read_text().splitlines()]
        made = losses, (place / "grads.safetensors").read_bytes()
        first = first or made
        if made != first:
            return False, f"other numbers with delays of seed {seed}: loss {losses[0]!r}, not {first[0][0]!r}"
    ran = time.monotonic()
    check = [bin / "check-golden", f"--golden={INPUTS}/{row.model}.golden.safetensors", f"--params={weights}",
             f"--log={place}/steps.jsonl", f"--grads={place}/grads.safetensors", f"--steps={row.steps}"]
    is_bf16 = json.loads((INPUTS / f"{row.model}.json").read_text())["hyper"].get("bf16")
    check += ["--limits=bf16"] if is_bf16 else [f"--export={place}/final.safetensors"] if row.steps == 10 else []
    code, text = run(check, log)
    if wrong := misplanned(place):
        return False, "; ".join(wrong)
    if row.seeds > 1 and code == 0:
        text = text.replace("OK", f"the same with {row.seeds} seeds  OK")
    return code == 0, f"{compiled - start:.1f} s + {ran - compiled:.1f} s  {last_line(text)}"


def try_row(row, build, compare=None):
    """Whether the row comes out as expected. `compare` says what is wrong with what a row has left in its place."""
    place = build / "numerics" / row.name()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    fine, text = train(row, build, place)
    if fine and compare and (place / "steps.jsonl").exists() and (wrong := compare(row, place)):
        fine, text = False, wrong
    if fine:
        shutil.rmtree(place)
    else:
        text += f"\n    see {place}/log.txt"
    print(f"{'ok  ' if fine else 'FAIL'} {row.model:32} {row.mesh} m {row.microbatches:<2} {text}", flush=True)
    return fine


def choose(text, known, what):
    chosen = text.split(",") if text else known
    for name in chosen:
        if name not in known:
            sys.exit(f"table.py: unknown {what} {name}; known are {', '.join(known)}")
    return chosen


def main():
    models = sorted(path.name.removesuffix(".golden.safetensors") for path in INPUTS.glob("*.golden.safetensors"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="build directory (build)")
    parser.add_argument("--models", help="only these, separated by commas")
    parser.add_argument("--meshes", help="only these, separated by commas")
    parser.add_argument("--part", action="store_true", help="three rows a model, which together cover every mesh")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="rows at a time (1)")
    parser.add_argument("--target", choices=["cpu", "cuda"], default="cpu", help="what the programs are compiled for (cpu)")
    parser.add_argument("--steps", type=int, default=10, help="steps of training (10)")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each row, with other delays on the emulated driver (1)")
    parser.add_argument("--flags", default="", help="more flags of p3dc")
    parser.add_argument("--driver", choices=["emulated", "machine"], default="emulated", help="what programs for cuda run on (emulated)")
    parser.add_argument("--share-devices", action="store_true", help="the stand-in of test/gpu in the place of NCCL")
    parser.add_argument("--gpu-arch", help="passed to p3dc")
    parser.add_argument("--one", action="store_true", help="only the rows with one microbatch")
    arguments = parser.parse_args()
    needed = ["bin/p3dc", "bin/p3d-run", "bin/check-golden"] + (["lib/shared-device-nccl/libnccl.so.2"] if arguments.share_devices else [])
    for file in needed:
        if not (arguments.build / file).exists():
            sys.exit(f"table.py: {arguments.build}/{file} is not built")
    if arguments.target == "cpu" and (arguments.driver == "machine" or arguments.share_devices or arguments.gpu_arch):
        sys.exit("table.py: --driver, --share-devices and --gpu-arch are for --target=cuda")
    meshes = choose(arguments.meshes, MESHES, "mesh")
    rows = [row for model in choose(arguments.models, models, "model")
            for row in (part_of(model, models) if arguments.part else rows_of(model)) if row.mesh in meshes]
    if arguments.one:
        rows = [row for row in rows if row.microbatches == 1]
    for row in rows:
        row.target, row.steps, row.seeds, row.flags = arguments.target, arguments.steps, arguments.seeds, arguments.flags
        row.driver, row.shares_devices, row.gpu_arch = arguments.driver, arguments.share_devices, arguments.gpu_arch
    if not rows:
        sys.exit("table.py: no row is chosen")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda row: try_row(row, arguments.build), rows))
    print(f"{len(rows)} rows, {results.count(True)} as expected, {results.count(False)} not")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
