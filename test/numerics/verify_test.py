#!/usr/bin/env python3
"""p3d-run --verify on right programs and on a wrong one: verify_test.py BUILD

What a run is verified against stands in the output directory as text, so a program is made wrong by changing its reference: the run has to end with
exit code 2 and name the operation that was changed.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
BUILD = Path(sys.argv[1])
faults = []


def compile_model(model, mesh, out, *flags):
    subprocess.run([BUILD / "bin" / "p3dc", INPUTS / f"{model}.mlir", f"--mesh={mesh}", *flags, "-o", out], check=True, stdout=subprocess.DEVNULL)


def verify(out, *flags):
    return subprocess.run([BUILD / "bin" / "p3d-run", out, "--verify", *flags], capture_output=True, text=True)


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
        expect("a wrong forward operation", verify(llama, data), 2, "WRONG", r"first that differs: graph\.rms_norm \(.*\) in block @layer\.fwd of layer0",
               "the programs do not compute the model")
        compile_model("llama_tiny", "2x2x2", llama)
        change(llama, "layer.bwd", "graph.attention_grad", 0, r"scale = \S+", "scale = 5.0e-01")
        expect("a wrong backward operation", verify(llama, data), 2, "WRONG", r"first that differs: graph\.\w+ \(.*\) in block @layer\.bwd, which gives grads\.layer_7")
        (llama / "verify" / "step.mlir").unlink()
        expect("no reference", verify(llama, data), 1, "--verify needs a compile that began with the model")
    sys.exit(f"{len(faults)} cases failed" if faults else 0)


if __name__ == "__main__":
    main()
