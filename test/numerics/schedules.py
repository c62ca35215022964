#!/usr/bin/env python3
"""Every schedule computes the same gradients: schedules.py --build=BUILD [--part]

Models of 12 layers with every batch from 1 to 12, by every schedule with every number of microbatches that divides the batch, on 2 to 4 stages and with 1 to 3 chunks: loss and
gradients of a step, compared with those that the interpreter makes of the whole step in double precision. Then llama_tiny and mlp_regression, 10 steps compared with the golden numbers.
--part: a row of each kind.
"""
import argparse
import array
import json
import random
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import table

sys.path.insert(0, str(table.INPUTS))
import make_inputs
import interpreter_test

LAYERS, SEQUENCE, VOCABULARY = 12, 4, 16
# f32 against double precision; of a gradient that is small, against the norm of all.
LOSS, GRADIENT = 1e-6, 2e-5
CONFIG = {"model_type": "gpt2", "n_layer": LAYERS, "n_embd": 8, "n_head": 2, "n_positions": SEQUENCE, "vocab_size": VOCABULARY, "activation_function": "gelu_new",
          "layer_norm_epsilon": 1e-5, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
GOLDEN_MODELS = ["llama_tiny", "mlp_regression"]


def schedules(stages, layers):
    """The flags of each schedule that this many stages and layers allow."""
    yield from ("--schedule=gpipe", "--schedule=1f1b", "--schedule=zb-h1", "--schedule=zb-h2", "--schedule=auto")
    yield from (f"--schedule=interleaved --chunks={chunks}" for chunks in (1, 2, 3) if stages * chunks <= layers)
    if 2 * stages <= layers:
        yield "--schedule=zb-v"


class Model:
    """A model of 12 layers with one batch, and what its step computes."""

    def __init__(self, build, place, batch):
        self.build, self.place = build, place / f"batch{batch}"
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.log = self.place / "log.txt"
        (self.place / "config.json").write_text(json.dumps(CONFIG))
        self.must(build / "bin/p3d-model", self.place / "config.json", f"--batch={batch}", f"--seq={SEQUENCE}", "-o", self.place / "model.mlir")
        self.must(build / "bin/p3dc", self.place / "model.mlir", "-o", self.place / "whole")
        self.write_tensors(batch)
        self.must(build / "bin/p3dc", self.place / "model.mlir", "--emit=autodiff", "-o", self.place / "step.mlir")
        self.must(build / "bin/p3dc-interpret", self.place / "step.mlir", f"--inputs={self.place}/tensors.safetensors", "-o", self.place / "results.safetensors")
        self.expected = make_inputs.read(self.place / "results.safetensors")

    def must(self, *command):
        code, text = table.run(command, self.log)
        if code != 0:
            sys.exit(f"{' '.join(map(str, command))}: {text}")

    def write_tensors(self, batch):
        """Weights that are no symmetric start, and tokens."""
        source, tensors = random.Random(batch), {}
        for name, parameter in json.loads((self.place / "whole/manifest.json").read_text())["params"]["names"].items():
            shape, count = parameter["shape"], 1
            for size in shape:
                count *= size
            centre = 1 if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")) else 0
            tensors[name] = ("F32", shape, array.array("f", (source.gauss(centre, 0.2) for _ in range(count))).tobytes())
        for name in ("batch.input_ids", "batch.labels"):
            tensors[name] = ("I32", [batch, SEQUENCE], array.array("i", (source.randrange(VOCABULARY) for _ in range(batch * SEQUENCE))).tobytes())
        make_inputs.write(self.place / "tensors.safetensors", tensors)

    def try_row(self, stages, microbatches, flags):
        out = self.place / "out"
        shutil.rmtree(out, ignore_errors=True)
        name = f"batch {self.place.name[5:]:>2} 1x{stages}x1 m {microbatches:2} {flags}"
        for command in ([self.build / "bin/p3dc", self.place / "model.mlir", f"--mesh=1x{stages}x1", f"--microbatches={microbatches}", *flags.split(), "-o", out],
                        [self.build / "bin/p3d-run", out, "--steps=1", f"--params={self.place}/tensors.safetensors", f"--data={self.place}/tensors.safetensors",
                         f"--log={self.place}/steps.jsonl", f"--dump-grads={out}/grads.safetensors"]):
            code, text = table.run(command, self.log)
            if code != 0:
                print(f"FAIL {name}: {table.last_line(text)}")
                return False
        loss = json.loads((self.place / "steps.jsonl").read_text().splitlines()[0])["loss"]
        worst, where = self.compare(make_inputs.read(out / "grads.safetensors"))
        error = abs(loss / interpreter_test.numbers(self.expected, "loss")[0] - 1)
        wrong = table.misplanned(self.place)
        fine = error <= LOSS and worst <= GRADIENT and not wrong
        print(f"{'ok  ' if fine else 'FAIL'} {name}: loss {error:.1e}  worst gradient {worst:.1e} ({where})  {'; '.join(wrong)}")
        return fine

    def compare(self, found):
        """The largest relative error of a gradient, and whose it is."""
        golden = {f"grads64.{name.removeprefix('grads.')}": value for name, value in self.expected.items() if name.startswith("grads.")}
        norms = [interpreter_test.math.hypot(*interpreter_test.numbers(golden, name)) for name in golden]
        golden["loss.f64"], golden["grad_norm64"] = self.expected["loss"], ("F64", [], array.array("d", [interpreter_test.math.hypot(*norms)]).tobytes())
        results = {name if name.startswith("grads.") else f"grads.{name}": value for name, value in found.items()}
        _, errors = interpreter_test.compare({**results, "loss": self.expected["loss"]}, golden)
        return max(errors)


def rows():
    for batch in range(1, 13):
        for stages in (2, 3, 4):
            for microbatches in (m for m in range(1, batch + 1) if batch % m == 0):
                for flags in schedules(stages, LAYERS):
                    yield batch, stages, microbatches, flags


def golden_rows():
    for model in GOLDEN_MODELS:
        layers = json.loads((table.INPUTS / f"{model}.json").read_text())["hyper"]["layers"]
        for stages in (2, 3, 4):
            for microbatches in (m for m in range(1, 9) if table.batch_size(model) % m == 0):
                for flags in schedules(stages, layers):
                    yield table.Row(model, f"1x{stages}x1", microbatches, flags=flags)
    # With all axes, and what is cut over dp.
    yield table.Row("llama_tiny", "2x2x2", 4, flags="--schedule=zb-h1 --zero=1")
    yield table.Row("llama_tiny", "2x2x2", 2, flags="--schedule=interleaved --zero=2 --sequence-parallel=on")
    yield table.Row("llama_tiny", "2x2x2", 4, flags="--schedule=zb-v --zero=3 --recompute=selective")
    yield table.Row("gpt2_tiny", "1x2x4", 2, flags="--schedule=zb-h2 --recompute=full")
    yield table.Row("llama_tiny_bf16", "2x2x2", 4, flags="--schedule=zb-v")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--part", action="store_true")
    arguments = parser.parse_args()
    place = arguments.build / "numerics" / ("schedules-part" if arguments.part else "schedules")
    chosen, golden = list(rows()), list(golden_rows())
    if arguments.part:
        # One of each schedule and number of stages, with microbatches that fill groups of stages and that do not.
        chosen = [row for row in chosen if row[0] == 6 and row[2] in (3, 6) and (row[1] + row[2]) % 2 == 0]
        golden = golden[-5:]
    models, results = {}, []
    for batch, *row in chosen:
        if batch not in models:
            models[batch] = Model(arguments.build, place, batch)
        results.append(models[batch].try_row(*row))
    if all(results):
        shutil.rmtree(place)
    results += [table.try_row(row, arguments.build) for row in golden]
    print(f"{len(results)} rows, {results.count(False)} not as expected")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
