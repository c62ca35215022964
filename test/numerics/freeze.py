#!/usr/bin/env python3
"""Training with frozen weights: freeze.py --build=BUILD

The judge steps by itself: gradients of all weights by the double-precision interpretation of the model with none frozen, plain SGD on those that are trained. A compile with
--freeze has to end with these weights on any mesh, schedule and ZeRO stage, frozen ones to the bit those of the start, in checkpoints too. The norm is that of trained weights.
What is frozen takes no memory but its own: no gradient, no state, no message, and no backward pass before the first trained weight.
"""
import argparse
import array
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import table

sys.path.insert(0, str(table.INPUTS))
import make_inputs

STEPS, RATE = 2, 0.05


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def command(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(done.args)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def floats(tensors, name):
    dtype, _, data = tensors[name]
    return array.array({"F32": "f", "F64": "d"}[dtype], data)


class Judge:
    """SGD on the weights of `model` that `frozen` does not match."""

    def __init__(self, build, model, frozen, place):
        self.start = make_inputs.read(table.INPUTS / f"{model}.safetensors")
        self.parameters = [name for name in self.start if name.startswith("params.")]
        self.trained = [name for name in self.parameters if not re.search(frozen, name)]
        check(0 < len(self.trained) < len(self.parameters), f"{frozen} freezes all or nothing")
        command(build / "bin/p3dc", table.INPUTS / f"{model}.mlir", "--emit=autodiff", "-o", place / "step.mlir")
        tensors, self.losses, self.norms = dict(self.start), [], []
        weights = {name: list(floats(tensors, name)) for name in self.trained}
        for _ in range(STEPS):
            for name in self.trained:
                tensors[name] = ("F64", self.start[name][1], array.array("d", weights[name]).tobytes())
            make_inputs.write(place / "weights.safetensors", tensors)
            command(build / "bin/p3dc-interpret", place / "step.mlir", f"--inputs={place}/weights.safetensors", "-o", place / "results.safetensors")
            results = make_inputs.read(place / "results.safetensors")
            gradients = {name: floats(results, name.replace("params.", "grads.", 1)) for name in self.trained}
            self.losses.append(floats(results, "loss")[0])
            self.norms.append(math.hypot(*(g for gradient in gradients.values() for g in gradient)))
            for name in self.trained:
                weights[name] = [w - RATE * g for w, g in zip(weights[name], gradients[name])]
        self.weights = weights

    def compare(self, what, log, exported):
        for entry, loss, norm in zip(log, self.losses, self.norms):
            check(abs(entry["loss"] / loss - 1) < 1e-5 and abs(entry["grad_norm"] / norm - 1) < 1e-4, f"{what}: {entry} in place of loss {loss}, norm {norm}")
        moved = math.sqrt(sum(math.dist(self.weights[name], floats(self.start, name)) ** 2 for name in self.trained))
        worst = math.sqrt(sum(math.dist(self.weights[name], floats(exported, name)) ** 2 for name in self.trained)) / moved
        check(worst < 1e-4, f"{what}: trained weights are {worst:.1e} of their way from where they should be")
        for name in set(self.parameters) - set(self.trained):
            check(exported[name] == self.start[name], f"{what}: {name} is frozen and has changed")
        return worst


def run(build, model, mesh, frozen, flags, place):
    out, weights = place / "out", table.INPUTS / f"{model}.safetensors"
    command(build / "bin/p3dc", table.INPUTS / f"{model}.mlir", f"--mesh={mesh}", f"--freeze={frozen}", "--optimizer=sgd", *flags.split(), "-o", out)
    command(build / "bin/p3d-run", out, f"--steps={STEPS}", f"--lr={RATE}", "--weight-decay=0", "--clip=1000000", f"--params={weights}", f"--data={weights}",
            f"--log={place}/log.jsonl", f"--export={place}/end.safetensors", f"--save={place}/save")
    return [json.loads(line) for line in (place / "log.jsonl").read_text().splitlines()]


def try_freezing(build, model, frozen, meshes):
    place = build / "numerics" / "freeze"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    judge = Judge(build, model, frozen, place)
    for mesh, flags in meshes:
        what = f"{model} {mesh} --freeze={frozen} {flags}"
        log = run(build, model, mesh, frozen, flags, place)
        worst = judge.compare(what, log, make_inputs.read(place / "end.safetensors"))
        judge.compare(what + ", checkpoint", [], make_inputs.read(place / f"save/step_{STEPS}/params.safetensors"))
        print(f"ok      {what}: {len(judge.trained)} of {len(judge.parameters)} trained, {worst:.1e}", flush=True)


def manifest(build, place, *flags):
    command(build / "bin/p3dc", table.INPUTS / "llama_tiny.mlir", "--mesh=1x2x2", "--microbatches=2", "--stages=4,4", *flags, "-o", place / "out")
    return json.loads((place / "out/manifest.json").read_text())


def try_cost(build):
    """By the manifest: adapters (all norms trained), and the upper half of the layers."""
    place = build / "numerics" / "freeze"
    whole = manifest(build, place)
    norms = manifest(build, place, "--freeze=embed|attn\\.w|mlp\\.[^n]|lm_head")
    upper = manifest(build, place, "--freeze=embed|layer_[0-3]\\.")
    size = lambda made, entry: {rank["pp"]: rank["memory"][entry] for rank in made["ranks"]}
    sent = lambda made: sum(c["bytes"] for c in made["collectives"] if c["axis"] == "dp" and c["phase"] == "update")
    trained = {stage: 4 * sum(math.prod(entry["shape"]) for name, entry in whole["params"]["names"].items() if "norm" in name and stage in entry["stages"]) for stage in (0, 1)}
    check(all(trained[s] <= size(norms, "grads")[s] < 1.1 * trained[s] + 1024 for s in (0, 1)), f"gradients take {size(norms, 'grads')} bytes, norms have {trained}")
    check(sent(norms) < sent(whole) / 50, f"gradients of frozen weights are sent: {sent(norms)} bytes of {sent(whole)}")
    check(size(norms, "params") == size(whole, "params"), "frozen weights are held as they were")
    check(all(size(norms, "activations")[s] <= size(whole, "activations")[s] for s in (0, 1)), "more is kept than where all is trained")
    # Nothing of the lower half is differentiated.
    check((size(upper, "grads")[0], size(upper, "optimizer")[0]) == (0, 0), f"stage 0 has nothing to train and keeps {size(upper, 'grads')[0]} bytes")
    check(size(upper, "activations")[0] < size(whole, "activations")[0] / 4, f"stage 0 keeps activations: {size(upper, 'activations')[0]} bytes of {size(whole, 'activations')[0]}")
    check(all(t["from"] < t["to"] for t in upper["transfers"]), f"gradients are sent to a stage that has no use for them: {upper['transfers']}")
    print(f"ok      cost: gradients {size(whole, 'grads')} -> {size(norms, 'grads')} (norms), {size(upper, 'grads')} (upper half); dp sends {sent(whole)} -> {sent(norms)}, {sent(upper)} bytes; "
          f"activations {size(whole, 'activations')} -> {size(norms, 'activations')}, {size(upper, 'activations')}", flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--build", type=Path, required=True)
build = parser.parse_args().build.resolve()
try_freezing(build, "gpt2_tiny", r"mlp|h1\.attn", [("1x1x1", ""), ("2x2x2", "--schedule=zb-h1 --microbatches=2"), ("1x2x2", "--zero=3 --recompute=full")])
try_freezing(build, "llama_tiny", r"embed|layer_[0-3]\.", [("1x2x1", "--microbatches=4"), ("2x2x2", "--zero=2 --sequence-parallel=on"), ("1x4x1", "--schedule=zb-v --microbatches=4")])
try_freezing(build, "llama_tiny_scan", r"mlp|lm_head", [("2x2x1", "")])
try_cost(build)
