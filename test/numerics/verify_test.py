#!/usr/bin/env python3
"""p3d-run --verify on right programs and on a wrong one: verify_test.py BUILD

What a run is verified against stands in the output directory as text, so a program is made wrong by changing its reference: the run has to end with
exit code 2 and name the operation that was changed.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
BUILD = Path(sys.argv[1]).resolve()
EMULATOR = BUILD / "lib" / "emulator"
# What programs are compiled for, and what their runs find in the environment.
TARGETS = {"cpu": {}}
if (BUILD / "lib" / "p3d" / "base-cuda.o").exists() and EMULATOR.exists():
    TARGETS["cuda"] = {"LD_LIBRARY_PATH": str(EMULATOR)}
else:
    print("cuda: left out, this build has no CUDA target or no emulated driver")
faults = []


def compile_model(model, mesh, out, *flags):
    subprocess.run([BUILD / "bin" / "p3dc", INPUTS / f"{model}.mlir", f"--mesh={mesh}", *flags, "-o", out], check=True, stdout=subprocess.DEVNULL)


def verify(out, *flags, **variables):
    return subprocess.run([BUILD / "bin" / "p3d-run", out, "--verify", *flags], capture_output=True, text=True, env={**os.environ, **variables})


def expect(what, run, code, *texts):
    missing = [text for text in texts if not re.search(text, run.stdout + run.stderr)]
    fine = run.returncode == code and not missing
    print(f"{what:60} {'OK' if fine else 'FAIL'}", flush=True)
    if not fine:
        faults.append(what)
        print(f"exit code {run.returncode}, expected {code}; missing {missing}\n{run.stdout}{run.stderr}")


def change(out, block, operation, number, before, after):
    """In both references: in `block`, in operation `number` of its kind, `before` becomes `after`."""
    for path in (out / "verify" / "step.mlir", out / "verify" / "sharded.mlir"):
        text = path.read_text()
        start = text.index(f"graph.block @{block}(")
        end = text.index("graph.yield", start)
        lines = text[start:end].split("\n")
        place = [i for i, line in enumerate(lines) if f"{operation} " in line][number]
        changed = re.sub(before, after, lines[place])
        assert changed != lines[place], lines[place]
        lines[place] = changed
        path.write_text(text[:start] + "\n".join(lines) + text[end:])


ANNOTATED = """
module @annotated {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func public @main(%w: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['w']"),
                         %v: tensor<64x16xf32> loc("params['v']"),
                         %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']")) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %a = stablehlo.tanh %h : tensor<8x64xf32>
    %c = sdy.sharding_constraint %a <@mesh, [{"data"}, {}]> : tensor<8x64xf32>
    %o = stablehlo.dot_general %c, %v, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %d = sdy.sharding_constraint %o <@mesh, [{"data"}, {"model"}]> : tensor<8x16xf32>
    %q = stablehlo.multiply %d, %d : tensor<8x16xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}
"""


FUNCTIONS = ["exponential_minus_one", "log_plus_one", "cbrt", "sine", "cosine", "tanh", "logistic", "exponential", "sqrt", "rsqrt", "log", "floor", "abs"]


def functions_model():
    """A loss with each function of one scalar; arguments are positive, apart from each other, and of any size."""
    lines, total = [], "%zero"
    for i, name in enumerate([f"stablehlo.{function}" for function in FUNCTIONS] + ["chlo.erfc", "chlo.erf"]):
        kind = ": tensor<64xf32>" if name.startswith("stablehlo") else ": tensor<64xf32> -> tensor<64xf32>"
        lines.append(f"%f{i} = {name} %p {kind}")
        lines.append(f"%s{i} = stablehlo.reduce(%f{i} init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>")
        lines.append(f"%t{i} = stablehlo.add {total}, %s{i} : tensor<f32>")
        total = f"%t{i}"
    return f"""
module @functions {{
  func.func public @main(%w: tensor<64xf32> loc("params['w']"), %x: tensor<64xf32> loc("batch['x']")) -> tensor<f32> {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.multiply %w, %x : tensor<64xf32>
    {chr(10).join(lines)}
    return {total} : tensor<f32>
  }}
}}
"""


def write_tensor(path, name, shape, values):
    """A safetensors file of one f32 tensor."""
    data = struct.pack(f"<{len(values)}f", *values)
    header = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def check_functions(place):
    """Functions of the C library and of the device are those that the model names."""
    (place / "functions.mlir").write_text(functions_model())
    write_tensor(place / "w.safetensors", "params.w", [64], [0.05 + 0.04 * i for i in range(64)])
    write_tensor(place / "x.safetensors", "batch.x", [64], [1 + 0.3 * math.sin(i) for i in range(64)])
    for target, variables in TARGETS.items():
        subprocess.run([BUILD / "bin" / "p3dc", place / "functions.mlir", f"--target={target}", "-o", place / target], check=True, stdout=subprocess.DEVNULL)
        run = verify(place / target, f"--data={place}/x.safetensors", f"--params={place}/w.safetensors", **variables)
        expect(f"every function of a scalar, on {target}", run, 0, "verified")


def check_annotated(place):
    """Annotations inside decide where values lie, and nothing else."""
    (place / "annotated.mlir").write_text(ANNOTATED)
    sharded = subprocess.run([BUILD / "bin" / "p3dc", place / "annotated.mlir", "--mesh=2x1x2", "--emit=shard"], capture_output=True, text=True)
    expect("annotations inside are obeyed", sharded, 0, r"tanh.*<\[{dp:4},{tp:32}\]>", r"reshard.*to <\[{dp:4},{}\]> why .a sharding constraint of the user wants it so")
    batch = place / "batch.safetensors"
    write_tensor(batch, "batch.x", [8, 16], [math.sin(i) for i in range(128)])
    subprocess.run([BUILD / "bin" / "p3dc", place / "annotated.mlir", "--mesh=2x1x2", "-o", place / "annotated"], check=True, stdout=subprocess.DEVNULL)
    expect("annotated on 2x1x2", verify(place / "annotated", f"--data={batch}"), 0, "verified")


def check_devices(place):
    """Values are read between tasks, while transfers wait for their receivers."""
    if "cuda" not in TARGETS:
        return
    compile_model("llama_tiny", "1x2x1", place / "devices", "--target=cuda", "--microbatches=4")
    expect("llama_tiny on 1x2x1 devices", verify(place / "devices", f"--data={INPUTS}/llama_tiny.safetensors", "--seed=3", **TARGETS["cuda"]), 0, "verified: 2 ranks")


def main():
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for model, mesh, flags in (("llama_tiny", "2x2x2", ()), ("gpt2_tiny_oddvocab", "4x1x1", ()), ("mixtral_tiny", "2x1x2", ()),
                                   ("llama_tiny_bf16", "2x2x1", ()), ("llama_tiny_scan", "2x2x1", ("--schedule=gpipe",))):
            compile_model(model, mesh, place / model, *flags)
            expect(f"{model} on {mesh}, seeded", verify(place / model, f"--data={INPUTS}/{model}.safetensors", "--seed=3"), 0, "verified")
        llama, data = place / "llama_tiny", f"--data={INPUTS}/llama_tiny.safetensors"
        expect("given parameters", verify(llama, data, f"--params={INPUTS}/llama_tiny.safetensors"), 0, "verified: 8 ranks")
        expect("nothing but the step", verify(llama, data, "--lr=0.1"), 1, "--lr has no effect with --verify")
        change(llama, "layer.fwd", "graph.rms_norm", 1, r"epsilon = \S+", "epsilon = 1.0e-01")
        expect("a wrong forward operation", verify(llama, data), 2, "WRONG", r"first that differs: graph\.rms_norm \(.*\) in block @layer\.fwd of layer0: relative error .*, limit 1e-05",
               "the programs do not compute the model")
        compile_model("llama_tiny", "2x2x2", llama)
        change(llama, "layer.bwd", "graph.attention_grad", 0, r"scale = \S+", "scale = 5.0e-01")
        expect("a wrong backward operation", verify(llama, data), 2, "WRONG", r"first that differs: graph\.\w+ \(.*\) in block @layer\.bwd, which gives grads\.layer_7\S*: relative error")
        check_annotated(place)
        check_functions(place)
        check_devices(place)
        (llama / "verify" / "step.mlir").unlink()
        expect("no reference", verify(llama, data), 1, "--verify needs a compile that began with the model")
    sys.exit(f"{len(faults)} cases failed" if faults else 0)


if __name__ == "__main__":
    main()
