#!/usr/bin/env python3
"""Training speed of a model on one device: gpt2.py --build=BUILD [MODEL.mlir...]

Compiles each model for 1x1x1, trains it on random tokens from random parameters, as it is and as one CUDA graph, and prints tokens/s and the
model's share of the device's peak (MFU: model_flops_per_step of the manifest over step time and peak). Fails where a run fails, a loss is not
finite or the loss does not fall.

--model-command=COMMAND takes the model from a generator: a command that writes a text to the path put behind it, such as
"build/bin/p3d-model gpt2.json --batch=16 --seq=1024 --dtype=bf16 -o". Without it and without a model: GPT-2 124M in f32, batch 8.
"""
import argparse
import array
import json
import math
import random
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WARM_UP = 3  # steps that find kernels, algorithms and memory
# Dense peaks in FLOP/s by the device's name, as its data sheet has them. Products of f32 are not made in TF32.
PEAKS = [
    (r"A100", {"bf16": 312e12, "f32": 19.5e12}),
    (r"H100 80GB HBM3", {"bf16": 989e12, "f32": 67e12}),
    (r"H200$", {"bf16": 989e12, "f32": 67e12}),
    (r"B200", {"bf16": 2250e12, "f32": 75e12}),
]
# What others reach, to be read beside the figures here.
FIELD = ["llm.c class, GPT-2 124M, bf16, one H100: about 468000 tokens/s, 38 % MFU",
         "llm.c class, GPT-2 1558M, bf16, one H100: about 47700 tokens/s, 47 % MFU"]


def peak_of(device, dtype):
    """None where the table does not know the device."""
    return next((peaks[dtype] for name, peaks in PEAKS if re.search(name, device)), None)


def check_the_table():
    """Names as drivers give them: the table must not take one device for another."""
    return (peak_of("NVIDIA H200", "bf16") == 989e12 and peak_of("NVIDIA A100-SXM4-80GB", "f32") == 19.5e12
            and peak_of("NVIDIA H100 PCIe", "bf16") is None and peak_of("NVIDIA H200 NVL", "bf16") is None)


def dtype_of(model):
    """In what the products are made."""
    products = [line for line in model.read_text().splitlines() if "dot_general" in line]
    return "bf16" if any("xbf16>" in line for line in products) else "f32"


def write_tokens(path, vocabulary, count):
    """Seeded, small tokens often and large ones seldom, so that there is something to learn."""
    generator = random.Random(1)
    path.write_bytes(array.array("i", (int(vocabulary * generator.random() ** 3) for _ in range(count))).tobytes())


def run(command, what):
    """The output; the end of this program with the command and its output where it fails."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{what} failed with exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def train(arguments, place, flags):
    """The steps that the run logged."""
    log = place / "steps.jsonl"
    run([arguments.build / "bin" / "p3d-run", place / "out", f"--steps={arguments.steps}", f"--data={place}/tokens.bin", "--lr=0.0006",
         f"--log={log}", "--timeout=120", *flags], "training")
    return [json.loads(line) for line in log.read_text().splitlines()]


def speed(steps, manifest, device, dtype):
    """A line of text, and whether the run trained."""
    losses = [step["loss"] for step in steps]
    seconds = statistics.median(step["step_ms"] for step in steps[WARM_UP:]) / 1e3
    flops, peak = manifest.get("model_flops_per_step"), peak_of(device, dtype)
    text = f"{seconds * 1e3:.1f} ms a step, {manifest['tokens_per_step'] / seconds:.0f} tokens/s, "
    if not flops:
        text += "no MFU: the manifest has no model_flops_per_step"
    elif not peak:
        text += f"no MFU: the peak of \"{device}\" is not in the table of gpt2.py"
    else:
        text += f"MFU {100 * flops / seconds / peak:.1f} % of {peak / 1e12:g} TFLOP/s"
    trains = all(map(math.isfinite, losses)) and losses[-1] < losses[0]
    return f"{text}; loss {losses[0]:.3f} to {losses[-1]:.3f}" + ("" if trains else ": it must fall"), trains


def measure(model, arguments, place):
    """Prints the facts and the figures of a model; whether all is well."""
    run([arguments.build / "bin" / "p3dc", model, "--mesh=1x1x1", "--target=cuda", f"--gpu-arch={arguments.gpu_arch}", "-o", place / "out"], "compilation")
    manifest, dtype = json.loads((place / "out" / "manifest.json").read_text()), dtype_of(model)
    tokens, batch = manifest["tokens_per_step"], manifest["global_batch"]
    print(f"{model.name}: {manifest['params']['total'] / 1e6:.1f}M parameters, products in {dtype}, batch {batch} x {tokens // batch} tokens, one device: {arguments.device}")
    write_tokens(place / "tokens.bin", arguments.vocabulary, min(8 * tokens, 1 << 20) + tokens // batch + 1)
    fine = True
    for name, flags in (("stream", []), ("graph", ["--cuda-graph"])):
        text, trains = speed(train(arguments, place, flags), manifest, arguments.device, dtype)
        fine &= trains
        print(f"  {name:7}{text}", flush=True)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.mlir")
    parser.add_argument("--build", type=Path, default=Path("build"), help="build directory (build)")
    parser.add_argument("--device", default="unknown", help="the device's name, which tells its peak")
    parser.add_argument("--gpu-arch", default="sm_80", help="passed to p3dc (sm_80)")
    parser.add_argument("--steps", type=int, default=20, help="steps of each run (20)")
    parser.add_argument("--vocabulary", type=int, default=50257, help="tokens are smaller than this (50257)")
    parser.add_argument("--model-command", help="writes a model to the path put behind it")
    arguments = parser.parse_args()
    if arguments.steps <= WARM_UP:
        sys.exit(f"gpt2.py: --steps={arguments.steps}: expected more than the {WARM_UP} of the warm-up")
    if not check_the_table():
        sys.exit("gpt2.py: the table of peaks gives a device the peak of another")
    place = arguments.build / "gpu"
    place.mkdir(parents=True, exist_ok=True)
    models = list(arguments.models)
    if arguments.model_command:
        models.append(place / "generated.mlir")
        run([*shlex.split(arguments.model_command), models[-1]], "the generator of the model")
    results = [measure(model, arguments, place) for model in models or [ROOT / "test" / "Inputs" / "gpt2_124m.mlir"]]
    print("\n".join(["the field, for comparison:"] + FIELD))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
