#!/usr/bin/env python3
"""Training stops and goes on, and nothing is lost: checkpoints.py --build=BUILD [--part] [--kills=N] [--seed=S]

1. A run that goes on after a checkpoint ends with the weights of one that was never stopped, to the bit on the same mesh; on other meshes, schedules and ZeRO
   stages its losses are the same to 1e-5 (in 16 bits, whose sums are rounded elsewhere: 2e-3).
2. Runs are killed at random moments, half of them while a checkpoint is written: the launcher, or a rank with --elastic=restart. Whatever is left resumes, every
   loss is that of a run that was never killed, to the bit, and nothing is left behind.
3. A checkpoint with one byte changed, in each kind of place, is refused with file, place and offset; so is a file that was cut.
"""
import argparse
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import table


class Programs:
    """Compiled once each; runs them."""

    def __init__(self, build):
        self.build, self.place = build, build / "numerics" / "checkpoints"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.compiled = {}

    def compile(self, model, mesh, flags="", target="cpu"):
        key = model, mesh, flags, target
        if key not in self.compiled:
            out = self.place / f"out{len(self.compiled)}"
            command = [self.build / "bin/p3dc", table.INPUTS / f"{model}.mlir", f"--mesh={mesh}", f"--target={target}", *flags.split(), "-o", out]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            self.compiled[key] = out
        return self.compiled[key]

    def command(self, program, model, steps, *flags):
        return [self.build / "bin/p3d-run", program, f"--steps={steps}", f"--data={table.INPUTS / f'{model}.safetensors'}", *flags]

    def run(self, program, model, steps, *flags, expect=0):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.build / "lib/emulator")}
        done = subprocess.run(self.command(program, model, steps, *flags), capture_output=True, text=True, env=environment)
        if done.returncode != expect:
            sys.exit(f"{' '.join(map(str, done.args))}: exit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


def losses(path):
    return {entry["step"]: (entry["loss"], entry.get("grad_norm")) for entry in map(json.loads, path.read_text().splitlines())}


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def try_resuming(programs, model, mesh, flags, others, target="cpu", steps=13):
    """Steps after a checkpoint of the third, on the same mesh and on others (of the CPU target)."""
    place, program = programs.place / "resume", programs.compile(model, mesh, flags, target)
    shutil.rmtree(place, ignore_errors=True)
    start = f"--params={table.INPUTS / f'{model}.safetensors'}"
    programs.run(program, model, steps, start, f"--save={place}", "--save-every=3", f"--log={programs.place}/whole.jsonl", f"--export={programs.place}/whole.safetensors")
    whole = losses(programs.place / "whole.jsonl")
    programs.run(program, model, steps, f"--resume={place}/step_3", f"--log={programs.place}/rest.jsonl", f"--export={programs.place}/rest.safetensors")
    rest = losses(programs.place / "rest.jsonl")
    check(rest == {step: values for step, values in whole.items() if step > 3}, f"{model} {mesh} {flags}: losses after a checkpoint differ: {whole} {rest}")
    check((programs.place / "rest.safetensors").read_bytes() == (programs.place / "whole.safetensors").read_bytes(), f"{model} {mesh} {flags}: weights differ")
    print(f"ok      {model} {mesh} {flags} {target}: the same bits after step 3", flush=True)
    for other, otherFlags in others:
        program = programs.compile(model, other, otherFlags)
        programs.run(program, model, steps, f"--resume={place}/step_3", f"--log={programs.place}/other.jsonl")
        # Sums in another order round weights of 16 bits to others, and each step carries that on: of these the first steps tell whether all was read.
        limit, last = (2e-3, 8) if model.endswith("bf16") else (1e-5, steps)
        worst = max(abs(loss / whole[step][0] - 1) for step, (loss, _) in losses(programs.place / "other.jsonl").items() if step <= last)
        check(worst < limit, f"{model} {mesh} {flags} read by {other} {otherFlags}: losses differ by {worst:.1e}")
        print(f"ok      {model} {mesh} {flags} read by {other} {otherFlags}: losses differ by {worst:.1e}", flush=True)


def ranks_of(program):
    return subprocess.run(["pgrep", "-f", f"{program}/bin/stage"], capture_output=True, text=True).stdout.split()


def kill(process, victims, save, inWriting):
    """At a random moment; with `inWriting` as soon as a checkpoint is being written. Whether there was anything to kill."""
    while inWriting and process.poll() is None and not list(save.glob(".step_*.tmp")):
        time.sleep(0.0002)
    alive = victims() if process.poll() is None else []
    return bool(alive) and subprocess.run(["kill", "-9", alive], capture_output=True).returncode == 0


def try_kills(programs, kills, seed, steps):
    model, every = "gpt2_tiny", 2
    program, choose = programs.compile(model, "2x2x1", "--microbatches=2"), random.Random(seed)
    programs.run(program, model, steps, f"--log={programs.place}/whole.jsonl", f"--export={programs.place}/whole.safetensors")
    whole = losses(programs.place / "whole.jsonl")
    save, log, export = programs.place / "killed", programs.place / "killed.jsonl", programs.place / "killed.safetensors"
    done = finished = inWriting = 0
    while done < kills or not export.exists():
        if not save.exists():
            export.unlink(missing_ok=True)
            log.unlink(missing_ok=True)
        flags = [f"--save={save}", f"--save-every={every}", "--keep-last=3", f"--log={log}", f"--export={export}"]
        if (save / "latest").exists():
            flags.append(f"--resume={save}")
        killsRank = choose.random() < 0.5
        if killsRank:
            flags.append("--elastic=restart")
        process = subprocess.Popen(programs.command(program, model, steps, *flags), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        victims = (lambda: choose.choice(ranks_of(program) or [""])) if killsRank else lambda: str(process.pid)
        while done < kills and process.poll() is None:
            time.sleep(choose.uniform(0, 0.4))
            waits = choose.random() < 0.5
            if kill(process, victims, save, waits):
                done += 1
                inWriting += waits
        errors = process.communicate()[1]
        check(process.returncode in (0, -signal.SIGKILL), f"exit code {process.returncode} after kill {done}: {errors}")
        deadline = time.monotonic() + 5
        while (left := ranks_of(program)) and time.monotonic() < deadline:
            time.sleep(0.01)
        check(not left, f"processes {left} are left after kill {done}")
        if log.exists():
            lines = {}
            for line in log.read_text().splitlines():
                if line.endswith("}"):
                    entry = json.loads(line)
                    lines[entry["step"]] = (entry["loss"], entry.get("grad_norm"))
            wrong = [step for step, values in lines.items() if whole[step] != values]
            check(not wrong, f"after kill {done} the losses of steps {wrong[:5]} are others")
        if process.returncode == 0:
            finished += 1
            check(export.read_bytes() == (programs.place / "whole.safetensors").read_bytes(), f"after kill {done} the weights are others")
            left = [path.name for path in [*save.iterdir(), *programs.place.iterdir()] if "tmp" in path.name]
            check(not left, f"files {left} are left")
            if done < kills:
                shutil.rmtree(save)
                export.unlink()
    print(f"ok      {done} kills, {inWriting} of them while a checkpoint was written; {finished} runs of {steps} steps ended with the bits of one that was not killed")


def try_damage(programs):
    model = "gpt2_tiny"
    program, whole = programs.compile(model, "1x1x1"), programs.place / "sound"
    programs.run(program, model, 2, f"--save={whole}")
    step = whole / "step_2"

    def refused(what, name, change, *expected):
        place = programs.place / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(whole, place)
        path = place / name
        data = bytearray(path.read_bytes())
        data = change(data)
        path.write_bytes(data)
        text = programs.run(program, model, 4, f"--resume={place}", expect=1)
        for part in (str(path) if name != "latest" else str(place), *expected):
            check(part in text, f"{what}: expected \"{part}\" in: {text}")
        print(f"ok      refused: {what}", flush=True)

    def flip(at):
        def change(data):
            data[at] ^= 1
            return data
        return change

    for name, tensor in [("params.safetensors", "params.wte"), ("optimizer.safetensors", "v.wte")]:
        file = f"step_2/{name}"
        raw = (step / name).read_bytes()
        length, = struct.unpack("<Q", raw[:8])
        header = json.loads(raw[8:8 + length])
        first, last = (8 + length + offset for offset in header[tensor]["data_offsets"])
        refused(f"{name}, the length of its header", file, flip(1), "header")
        refused(f"{name}, a name in its header", file, flip(raw.index(b"wte", 8)), "header, bytes 0 to")
        refused(f"{name}, an offset in its header", file, flip(raw.index(b"data_offsets", 8) + 15), "")
        refused(f"{name}, the first byte of a tensor", file, flip(first), f"tensor {tensor}, bytes {first} to {last}")
        refused(f"{name}, the last byte of a tensor", file, flip(last - 1), f"tensor {tensor}, bytes {first} to {last}")
        refused(f"{name}, cut", file, lambda data: data[:-5], "cut short")
    state = (step / "state.json").read_text()
    refused("state.json, a digit of the step", "step_2/state.json", flip(state.index('"step": ') + 8), 'field "checksum"')
    refused("state.json, a checksum of a tensor", "step_2/state.json", flip(state.index('"params.wte": "') + 15), 'field "checksum"')
    refused("state.json, its own checksum", "step_2/state.json", flip(state.index('"checksum": "') + 13), 'field "checksum"')
    refused("state.json, cut", "step_2/state.json", lambda data: data[:-20], "is not JSON at offset")
    refused("latest, another name", "latest", lambda data: bytearray(b"step_7\n"), "step_7")
    refused("latest, a path", "latest", lambda data: bytearray(b"../sound/step_2\n"), "../sound/step_2")


parser = argparse.ArgumentParser()
parser.add_argument("--build", type=Path, required=True)
parser.add_argument("--part", action="store_true")
parser.add_argument("--kills", type=int)
parser.add_argument("--seed", type=int, default=1)
arguments = parser.parse_args()
programs = Programs(arguments.build.resolve())
try_damage(programs)
try_resuming(programs, "llama_tiny", "4x4x2" if not arguments.part else "2x2x2", "--schedule=zb-h1 --zero=1", [("1x1x1", ""), ("2x1x4", "--zero=2"), ("1x6x1", "")])
try_resuming(programs, "llama_tiny_bf16", "2x2x2", "--zero=2", [("1x2x1", ""), ("1x1x4", "--zero=3")])
if not arguments.part:
    try_resuming(programs, "gpt2_tiny", "2x2x2", "--schedule=interleaved --chunks=2 --zero=3", [("4x1x2", ""), ("1x4x1", "--schedule=gpipe --recompute=full")])
    try_resuming(programs, "mlp_regression", "1x1x2", "--optimizer=sgd", [("1x2x1", "--optimizer=sgd")])
if (programs.build / "lib/p3d/base-cuda.o").exists() and (programs.build / "lib/emulator").exists():
    try_resuming(programs, "llama_tiny_bf16", "1x1x2", "--zero=1", [("1x2x1", "")], target="cuda", steps=4)
try_kills(programs, arguments.kills or (6 if arguments.part else 100), arguments.seed, 200 if arguments.part else 1000)
