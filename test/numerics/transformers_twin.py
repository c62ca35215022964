#!/usr/bin/env python3
"""From Hugging Face to training and back: python3 transformers_twin.py BUILD [FAMILY...]

For each family transformers makes a small random model and saves it, in one file or in several with an index. p3d-model writes the loss of the config.json as
it stands there and converts the weights, p3d-run trains three steps on a mesh and exports, p3d-model converts back, and from_pretrained reads that again.
1. The first loss is that of transformers on the weights that were saved.
2. Weights that were converted there and back are the same to the bit.
3. A fourth step's loss is that of transformers on the weights exported after three.
4. Log-probabilities of tokens by transformers are those of the interpreter, in double precision, on the exported weights: logits up to a constant of a row.
Skipped (77) where PyTorch or transformers is missing.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "frontend" / "python"))
try:
    import numpy
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
from p3d import safetensors_file

BATCH, SEQUENCE, STEPS, PROBES = 8, 16, 3, 6
LOSS_LIMIT, LOGIT_LIMIT = 2e-6, 1e-4
# The config, flags of p3d-model, the mesh, and how large a file may be.
FAMILIES = {
    "gpt2": ([], "1x2x2", None),
    "llama": (["--scan"], "2x2x1", "200KB"),
    "llama3": ([], "2x1x2", None),
    "mixtral": (["--scan"], "2x1x2", "100KB"),
}
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def tool(build, name, *arguments):
    done = subprocess.run([str(build / "bin" / name), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, done.args))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def save_random(config, directory, shard):
    """A model whose weights differ from each other, biases and scales too."""
    config = dict(config)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(config.pop("model_type"), **config)).float().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(directory, **({"max_shard_size": shard} if shard else {}))
    return model


def load(directory):
    model, info = transformers.AutoModelForCausalLM.from_pretrained(directory, output_loading_info=True)
    wrong = {what: names for what, names in info.items() if names}
    assert not wrong, wrong
    return model.float().eval()


def loss_of(model, ids, labels):
    with torch.no_grad():
        return model(input_ids=torch.tensor(ids), labels=torch.tensor(labels, dtype=torch.long), use_cache=False).loss.item()


def probe(build, model, weights, config, place):
    """The largest difference of the log-probability of a token."""
    tool(build, "p3d-model", config, "--batch=1", f"--seq={SEQUENCE}", "-o", place / "one.mlir")
    (place / "one.graph.mlir").write_text(tool(build, "p3dc", place / "one.mlir", "--emit=import"))
    chance, worst = random.Random(3), 0
    size = json.loads(Path(config).read_text())["vocab_size"]
    for _ in range(PROBES):
        ids = numpy.array([[chance.randrange(size) for _ in range(SEQUENCE)]], numpy.int32)
        position, token = chance.randrange(1, SEQUENCE), chance.randrange(size)
        labels = numpy.full_like(ids, -100)
        labels[0, position] = token
        safetensors_file.write(place / "probe.safetensors", {"batch.input_ids": ids, "batch.labels": labels})
        said = tool(build, "p3dc-interpret", place / "one.graph.mlir", f"--inputs={weights},{place / 'probe.safetensors'}")
        with torch.no_grad():
            logits = model(input_ids=torch.tensor(ids), use_cache=False).logits[0, position - 1].double()
        worst = max(worst, abs(float(said.split("=")[1]) + torch.log_softmax(logits, -1)[token].item()))
    return worst


def check(build, family, place):
    flags, mesh, shard = FAMILIES[family]
    source = place / "hf"
    model = save_random(json.loads((HERE.parent / "frontend" / "Inputs" / f"{family}.json").read_text()), source, shard)
    config = source / "config.json"
    weights = source / ("model.safetensors.index.json" if shard else "model.safetensors")
    tool(build, "p3d-model", config, f"--batch={BATCH}", f"--seq={SEQUENCE}", *flags, "-o", place / "model.mlir")
    # The parameters too in several files, which p3d-run reads by their index.
    tool(build, "p3d-model", f"--map={weights},{config}", "-o", place / "start.safetensors", *[flag for flag in flags if flag == "--scan"],
         *(["--shard-size=100KB"] if shard else []))
    start = place / ("start.safetensors.index.json" if shard else "start.safetensors")

    (place / "same").mkdir()
    tool(build, "p3d-model", f"--map={start},{config}", "-o", place / "same" / "model.safetensors", *(["--shard-size=50KB"] if shard else []))
    (place / "same" / "config.json").write_text(config.read_text())
    again = dict(load(place / "same").named_parameters())
    assert all(torch.equal(parameter, again[name]) for name, parameter in model.named_parameters()), "weights change on the way"

    ids = numpy.random.default_rng(2).integers(model.config.vocab_size, size=(BATCH, SEQUENCE), dtype=numpy.int32)
    labels = numpy.where(numpy.random.default_rng(4).random(ids.shape) < 0.3, -100, ids).astype(numpy.int32)
    safetensors_file.write(place / "batch.safetensors", {"batch.input_ids": ids, "batch.labels": labels})
    tool(build, "p3dc", place / "model.mlir", f"--mesh={mesh}", "-o", place / "out")

    def train(steps):
        tool(build, "p3d-run", place / "out", f"--steps={steps}", "--lr=0.01", f"--params={start}", f"--data={place}/batch.safetensors",
             f"--export={place}/end.safetensors", f"--log={place}/log.jsonl", "--timeout=300")
        return [json.loads(line)["loss"] for line in (place / "log.jsonl").read_text().splitlines()]
    after = train(STEPS + 1)[-1]
    losses = train(STEPS)

    (place / "back").mkdir()
    tool(build, "p3d-model", f"--map={place}/end.safetensors,{config}", "-o", place / "back" / "model.safetensors")
    (place / "back" / "config.json").write_text(config.read_text())
    trained = load(place / "back")
    tool(build, "p3d-model", f"--map={place}/back/model.safetensors", "-o", place / "plain.safetensors")
    first = abs(losses[0] / loss_of(model, ids, labels) - 1)
    last = abs(after / loss_of(trained, ids, labels) - 1)
    logits = probe(build, trained, place / "plain.safetensors", config, place)
    print(f"{family:8} {mesh}  loss {losses[0]:.6f} -> {after:.6f}; off transformers by {first:.1e} at the start, {last:.1e} behind {STEPS} steps; "
          f"log-probabilities by {logits:.1e}", flush=True)
    return first <= LOSS_LIMIT and last <= LOSS_LIMIT and logits <= LOGIT_LIMIT and after < losses[0]


def main():
    build, chosen = Path(sys.argv[1]).resolve(), sys.argv[2:] or FAMILIES
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    torch.set_num_threads(1)
    failed = []
    for family in chosen:
        with tempfile.TemporaryDirectory() as place:
            if not check(build, family, Path(place)):
                failed.append(family)
    sys.exit(f"off by more than {LOSS_LIMIT} or {LOGIT_LIMIT}: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
