#!/usr/bin/env python3
"""Training in f16, whose range is small: loss_scale.py --build=BUILD

1. Llama in f16 has the gradients and the ten losses of arithmetic in f64, to what f16 can tell, on any mesh, schedule, ZeRO stage and target; without a scale small
   gradients are lost.
2. A gradient that overflows on one rank of one stage is no update on any: weights and states keep their bits, the scale is halved until the step fits, and from there on
   the run is one, to the bit, that began with that scale.
3. A checkpoint in between goes on with the same bits: scale, steps since, and the number of updates that Adam counts.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import table

ROWS, INPUTS, WIDTH, LAYERS, OUTPUTS = 16, 16, 24, 5, 8


def perceptron():
    """Layers in f16 whose loss also sums `c` times what the first product gives: c alone decides how large the gradient of the first weights is."""
    sizes = [INPUTS, *[WIDTH] * LAYERS, OUTPUTS]
    weights = [f"{a}x{b}" for a, b in zip(sizes, sizes[1:])]
    names = [f"params['w{i}']" for i in range(len(weights))] + ["batch['x']", "batch['c']", "batch['y']"]
    shapes = weights + [f"{ROWS}x{INPUTS}", f"{ROWS}x{WIDTH}", f"{ROWS}x{OUTPUTS}"]
    arguments = [f'%arg{i}: tensor<{shape}xf32> loc("{name}")' for i, (name, shape) in enumerate(zip(names, shapes))]
    x, c, y = (f"%arg{len(weights) + i}" for i in range(3))
    wide, out = f"tensor<{ROWS}x{WIDTH}xf32>", f"tensor<{ROWS}x{OUTPUTS}xf32>"
    add = "applies stablehlo.add across dimensions = [0, 1]"
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>",
             f"%h0 = stablehlo.convert {x} : (tensor<{ROWS}x{INPUTS}xf32>) -> tensor<{ROWS}x{INPUTS}xf16>"]
    for i, shape in enumerate(weights):
        before, behind = f"tensor<{ROWS}x{sizes[i]}xf16>", f"tensor<{ROWS}x{sizes[i + 1]}xf16>"
        lines += [f"%v{i} = stablehlo.convert %arg{i} : (tensor<{shape}xf32>) -> tensor<{shape}xf16>",
                  f"%a{i} = stablehlo.dot_general %h{i}, %v{i}, contracting_dims = [1] x [0] : ({before}, tensor<{shape}xf16>) -> {behind}"]
        if i == 0:
            lines += [f"%first = stablehlo.convert %a0 : ({behind}) -> {wide}", f"%weighted = stablehlo.multiply %first, {c} : {wide}",
                      f"%more = stablehlo.reduce(%weighted init: %zero) {add} : ({wide}, tensor<f32>) -> tensor<f32>"]
        lines.append(f"%h{i + 1} = stablehlo.tanh %a{i} : {behind}")
    lines += [f"%last = stablehlo.convert %h{len(weights)} : (tensor<{ROWS}x{OUTPUTS}xf16>) -> {out}", f"%off = stablehlo.subtract %last, {y} : {out}",
              f"%squares = stablehlo.multiply %off, %off : {out}", f"%sum = stablehlo.reduce(%squares init: %zero) {add} : ({out}, tensor<f32>) -> tensor<f32>",
              "%both = stablehlo.add %sum, %more : tensor<f32>", f"%count = stablehlo.constant dense<{float(ROWS * OUTPUTS)}> : tensor<f32>",
              "%loss = stablehlo.divide %both, %count : tensor<f32>", "return %loss : tensor<f32>"]
    return "module @perceptron {\n  func.func public @main(" + ", ".join(arguments) + ") -> tensor<f32> {\n    " + "\n    ".join(lines) + "\n  }\n}\n"


def write_batch(path, largest):
    """Small numbers; one element of c, of the last row and column, is `largest`."""
    tensors = {"batch.x": ([ROWS, INPUTS], [((7 * i) % 23 - 11) / 16 for i in range(ROWS * INPUTS)]),
               "batch.c": ([ROWS, WIDTH], [0.0] * (ROWS * WIDTH - 1) + [largest]),
               "batch.y": ([ROWS, OUTPUTS], [((5 * i) % 17 - 8) / 8 for i in range(ROWS * OUTPUTS)])}
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


class Case:
    """A program in a place of its own."""

    def __init__(self, build, name, model, mesh, flags="", target="cpu"):
        self.build, self.place, self.what = build, build / "numerics" / "loss_scale" / name, f"{mesh} {flags} {target}"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        (self.place / "model.mlir").write_text(model)
        self.row = table.Row("", mesh, 1, target)
        self.training = [flag for flag in table.TRAINING if "sgd" not in flags or not flag.startswith(("--betas", "--eps"))]
        self.command([build / "bin/p3dc", self.place / "model.mlir", f"--mesh={mesh}", f"--target={target}", *flags.split(), "-o", self.place / "out"])

    def command(self, words, expect=0):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, **table.environment_of(self.row, self.build)})
        check(done.returncode == expect, f"{' '.join(done.args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def run(self, name, *flags, expect=0):
        """Steps, as the log has them."""
        given = {flag.split("=")[0] for flag in flags}
        usual = [flag for flag in self.training if flag.split("=")[0] not in given]
        self.said = self.command([self.build / "bin/p3d-run", self.place / "out", *usual, f"--log={self.place}/{name}.jsonl",
                                  f"--export={self.place}/{name}.safetensors", *flags], expect)
        if expect:
            return []
        return [json.loads(line) for line in (self.place / f"{name}.jsonl").read_text().splitlines()]

    def weights(self, name):
        return (self.place / f"{name}.safetensors").read_bytes()


def numbers(steps):
    return [(entry["loss"], entry["grad_norm"]) for entry in steps]


def try_golden(build, mesh, flags="", target="cpu", steps=10):
    """The text of the model in bf16, in f16."""
    source, weights = table.INPUTS / "llama_tiny_bf16.mlir", table.INPUTS / "llama_tiny_bf16.safetensors"
    case = Case(build, f"llama-{mesh}-{target}", source.read_text().replace("bf16", "f16"), mesh, flags, target)
    files = [f"--params={weights}", f"--data={weights}"]
    log = case.run("steps", f"--steps={steps}", *files, f"--dump-grads={case.place}/grads.safetensors")
    check(all(entry["loss_scale"] == 65536 and "skipped" not in entry for entry in log), f"{case.what}: the first scale is too large: {log}")
    text = case.command([build / "bin/check-golden", f"--golden={table.INPUTS}/llama_tiny_bf16.golden.safetensors", f"--params={weights}", f"--log={case.place}/steps.jsonl",
                         f"--grads={case.place}/grads.safetensors", f"--steps={steps}", "--limits=f16"])
    print(f"ok      llama {case.what}: {table.last_line(text)}", flush=True)
    if target == "cpu" and mesh == "2x2x2":
        print(f"ok      llama {case.what}: {table.last_line(case.command([build / 'bin/p3d-run', case.place / 'out', '--verify', *files]))}", flush=True)


def try_overflow(build, mesh, flags="", target="cpu"):
    case = Case(build, f"overflow-{mesh}-{target}", perceptron(), mesh, flags, target)
    # 65536 / 128 times this is 8 times as much as f16 holds.
    write_batch(case.place / "large.safetensors", 1000.0)
    data, save = f"--data={case.place}/large.safetensors", f"--save={case.place}/save"
    case.run("start", "--steps=1", "--lr=0", "--loss-scale=1", data)
    steps = case.run("dynamic", "--steps=8", data, save, "--save-every=1")
    check([entry["loss_scale"] for entry in steps] == [65536, 32768, 16384] + [8192] * 5, f"{case.what}: scales are {[entry['loss_scale'] for entry in steps]}")
    check([entry.get("skipped", False) for entry in steps] == [True] * 3 + [False] * 5, f"{case.what}: wrong steps are skipped: {steps}")
    check(len({entry["loss"] for entry in steps[:4]}) == 1 and steps[4]["loss"] != steps[3]["loss"], f"{case.what}: losses are {steps}")
    # What was skipped has changed no weight and no state.
    skipped = case.place / "save/step_3"
    check((skipped / "params.safetensors").read_bytes() == case.weights("start"), f"{case.what}: skipped steps have changed weights")
    states = (skipped / "optimizer.safetensors").read_bytes()
    check(not any(states[8 + struct.unpack("<Q", states[:8])[0]:]), f"{case.what}: skipped steps have changed the optimizer's state")
    state = json.loads((skipped / "state.json").read_text())
    check((state["updates"], state["loss_scale"], state["loss_scale_good_steps"]) == (0, 8192, 0), f"{case.what}: state.json is {state}")
    # And from there on nothing tells that there were any.
    fixed = case.run("fixed", "--steps=5", data, "--loss-scale=8192")
    check(numbers(fixed) == numbers(steps[3:]) and case.weights("fixed") == case.weights("dynamic"), f"{case.what}: {numbers(fixed)} in place of {numbers(steps[3:])}")
    for step in (2, 5):
        rest = case.run(f"rest{step}", "--steps=8", data, f"--resume={case.place}/save/step_{step}")
        check(numbers(rest) == numbers(steps[step:]) and case.weights(f"rest{step}") == case.weights("dynamic"), f"{case.what}: other numbers after the checkpoint of step {step}")
    # Without clipping, and at a scale that stays too large, nothing moves either; powers of two change no bit.
    never = case.run("never", "--steps=2", data, "--loss-scale=65536", "--clip=0")
    check(all(entry["skipped"] for entry in never) and case.weights("never") == case.weights("start"), f"{case.what}: without clipping an overflow is no reason to skip")
    check("skipped: the gradient is not finite with --loss-scale=65536" in case.said, f"{case.what}: a skipped step does not say why: {case.said}")
    # Gradients are those of the first step that has some, of the loss itself.
    case.run("none", "--steps=2", data, f"--dump-grads={case.place}/none-grads.safetensors", expect=1)
    check("in no step the gradient was finite; more --steps let --loss-scale fall further" in case.said, f"{case.what}: {case.said}")
    check(not (case.place / "none-grads.safetensors").exists(), f"{case.what}: gradients of no step are written")
    case.run("some", "--steps=4", data, f"--dump-grads={case.place}/some-grads.safetensors")
    case.run("first", "--steps=1", data, "--loss-scale=256", f"--dump-grads={case.place}/first-grads.safetensors")
    check((case.place / "some-grads.safetensors").read_bytes() == (case.place / "first-grads.safetensors").read_bytes(), f"{case.what}: gradients depend on the scale")
    write_batch(case.place / "small.safetensors", 1.0)
    small = [case.run(f"scale{scale}", "--steps=3", f"--data={case.place}/small.safetensors", f"--loss-scale={scale}") for scale in (1024, 4096)]
    check(numbers(small[0]) == numbers(small[1]) and case.weights("scale1024") == case.weights("scale4096"), f"{case.what}: powers of two give other bits")
    print(f"ok      overflow {case.what}: skipped on all ranks, then as if it had not been", flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--build", type=Path, required=True)
build = parser.parse_args().build.resolve()
try_golden(build, "1x1x1")
try_golden(build, "2x2x2", "--schedule=zb-h1 --microbatches=2")
try_golden(build, "1x2x2", "--schedule=interleaved --chunks=2 --zero=3 --recompute=full")
try_golden(build, "4x1x2", "--sequence-parallel=on --zero=2")
try_overflow(build, "1x1x1")
try_overflow(build, "2x2x2", "--microbatches=2")
try_overflow(build, "2x2x2", "--microbatches=2 --schedule=zb-h1 --zero=1")
try_overflow(build, "1x2x2", "--zero=3 --optimizer=sgd")
if (build / "lib/p3d/base-cuda.o").exists() and (build / "lib/emulator/libcuda.so.1").exists():
    try_golden(build, "2x1x2", "--zero=1", "cuda", 2)
    try_overflow(build, "1x2x2", "", "cuda")
