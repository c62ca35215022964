#!/usr/bin/env python3
"""Compares what p3d-model writes with transformers, PyTorch and JAX: python3 compare_model.py BUILD [CASE...]

For each case the model of transformers is made from the config, with seeded weights, and gives loss and gradients of a batch with
labels of -100. The text of p3d-model has to give the same: compiled by XLA; through jax.grad; and as 8 ranks of p3dc, which
differentiate and partition it themselves. Prints one line for each case. Skipped (77) where PyTorch, transformers or JAX is missing.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "frontend" / "python"), str(HERE.parent / "Inputs")]
try:
    import jax
    import numpy
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import make_inputs
import stablehlo_in_jax
from p3d import safetensors_file

BATCH, SEQUENCE = 8, 16
LOSS_LIMIT, GRADIENT_LIMIT = 1e-6, 2e-5  # f32 on both sides

LLAMA, LLAMA3, GPT2, MIXTRAL = (json.loads((HERE / "Inputs" / f"{name}.json").read_text()) for name in ("llama", "llama3", "gpt2", "mixtral"))
NO_DROPOUT = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
CASES = {
    "gpt2": GPT2,
    "gpt2 untied, exact gelu": {**GPT2, "tie_word_embeddings": False, "activation_function": "gelu", "n_inner": 48, "n_positions": 16},
    "gpt2 relu": {**GPT2, "activation_function": "relu"},
    "gpt2 quick_gelu": {**GPT2, "activation_function": "quick_gelu"},
    "llama": LLAMA,
    "llama tied, as many key heads": {**LLAMA, "tie_word_embeddings": True, "num_key_value_heads": 8},
    "llama linear scaling": {**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "llama 3 scaling, biases, head_dim, tied": LLAMA3,
    "llama rope_parameters, gelu": {
        **{key: value for key, value in LLAMA.items() if key != "rope_theta"}, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
        "hidden_act": "gelu_pytorch_tanh"},
    "mixtral": MIXTRAL,
    "mixtral balance loss": {**MIXTRAL, "output_router_logits": True, "router_aux_loss_coef": 0.5},
    "mixtral top 3 of 5": {**MIXTRAL, "num_local_experts": 5, "num_experts_per_tok": 3, "num_hidden_layers": 2, "sliding_window": 16},
}


def tool(build, name, *arguments):
    done = subprocess.run([str(build / "bin" / name), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def reference_model(config):
    """The model of transformers with weights that differ from each other."""
    config = dict(config)
    settings = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    model = transformers.AutoModelForCausalLM.from_config(settings, attn_implementation="eager").float().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            is_scale = parameter.ndim == 1 and name.endswith("weight")
            parameter.copy_(1 + 0.2 * noise if is_scale else noise * (0.2 if parameter.ndim == 1 else parameter.shape[-1] ** -0.5))
    return model


def reference(model, vocabulary):
    """Batch, loss and gradients by name."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(vocabulary, (BATCH, SEQUENCE), generator=generator)
    labels = torch.where(torch.rand((BATCH, SEQUENCE), generator=generator) < 0.3, -100, ids)
    loss = model(input_ids=ids, labels=labels, use_cache=False).loss
    loss.backward()
    batch = {"input_ids": ids.int().numpy(), "labels": labels.int().numpy()}
    named = dict(model.named_parameters())
    return (batch, loss.item(), {name: parameter.detach().numpy() for name, parameter in named.items()},
            {name: parameter.grad.numpy() for name, parameter in named.items()})


def stack(tensors, names):
    """`tensors` under `names`, where a name without a number is that of a stack."""
    result = {}
    for name in names:
        pattern = re.compile("^" + re.sub(r"(layers|h)\\\.", r"\1\\.(\\d+)\\.", re.escape(name)) + "$")
        if name in tensors:
            result[name] = tensors[name]
        else:
            layers = {int(match[1]): tensors[match[0]] for match in map(pattern.match, tensors) if match}
            result[name] = numpy.stack([layers[layer] for layer in range(len(layers))])
    return result


def worst(gradients, expected):
    """The largest relative error of a tensor and its name; of one that is all but zero, relative to what a tensor has on average."""
    usual = numpy.sqrt(sum(float((value ** 2).sum()) for value in expected.values()) / len(expected))
    return max((float(numpy.linalg.norm(gradients[name] - value)) / max(float(numpy.linalg.norm(value)), 1e-3 * usual), name)
               for name, value in expected.items())


def ranks(build, directory, mesh):
    """Loss and gradients of the rank programs."""
    tool(build, "p3dc", directory / "model.mlir", f"--mesh={mesh}", "-o", directory / "out")
    tool(build, "p3d-run", directory / "out", "--steps=1", f"--params={directory}/model.safetensors", f"--data={directory}/model.safetensors",
         f"--dump-grads={directory}/grads.safetensors", f"--log={directory}/log.jsonl", "--clip=0", "--timeout=120")
    loss = json.loads((directory / "log.jsonl").read_text().splitlines()[0])["loss"]
    tensors = make_inputs.read(directory / "grads.safetensors")
    return loss, {name.removeprefix("grads."): numpy.frombuffer(data, numpy.float32).reshape(shape)
                  for name, (_, shape, data) in tensors.items() if name.startswith("grads.")}


def compare(build, config, flags, directory):
    model = reference_model(config)
    batch, loss, parameters, gradients = reference(model, config["vocab_size"])
    (directory / "config.json").write_text(json.dumps(config))
    tool(build, "p3d-model", directory / "config.json", f"--batch={BATCH}", f"--seq={SEQUENCE}", *flags, "-o", directory / "model.mlir")
    text = (directory / "model.mlir").read_text()
    main = next(line for line in text.splitlines() if "@main(" in line)
    names = re.findall(r"params\['([^']*)'\]", main)
    parameters, gradients = stack(parameters, names), stack(gradients, names)
    assert re.findall(r"batch\['([^']*)'\]", main) == list(batch)
    safetensors_file.write(directory / "model.safetensors", {**{f"params.{name}": value for name, value in parameters.items()},
                                                             **{f"batch.{name}": value for name, value in batch.items()}})

    values = [parameters[name] for name in names]
    by_xla = float(stablehlo_in_jax.compile_and_run(text, [*values, *batch.values()])[0])
    by_jax, jax_gradients = stablehlo_in_jax.loss_and_gradients(text, values, list(batch.values()))
    # Three layers are no two equal stages; a balance loss is a product of sums over the batch, which pp would cut into microbatches.
    has_stages = config.get("num_hidden_layers") != 3 and not config.get("output_router_logits")
    by_ranks, rank_gradients = ranks(build, directory, "2x2x2" if has_stages else "2x1x4")
    losses = {"XLA": by_xla, "jax.grad": by_jax, "8 ranks": by_ranks}
    errors = {who: abs(value - loss) / abs(loss) for who, value in losses.items()}
    grads = {"jax.grad": worst(dict(zip(names, jax_gradients)), gradients), "8 ranks": worst(rank_gradients, gradients)}
    print(f"  transformers {loss:.8f}; loss off by " + ", ".join(f"{error:.1e} ({who})" for who, error in errors.items()) +
          "; gradients by " + ", ".join(f"{error:.1e} ({who}, {name})" for who, (error, name) in grads.items()))
    return all(error <= LOSS_LIMIT for error in errors.values()) and all(error <= GRADIENT_LIMIT for error, _ in grads.values())


def main():
    build, chosen = Path(sys.argv[1]), sys.argv[2:]
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, jax {jax.__version__}")
    failed = []
    for name, config in CASES.items():
        for flags in [[], ["--scan"]]:
            label = " ".join([name, *flags])
            if chosen and label not in chosen:
                continue
            print(label, flush=True)
            with tempfile.TemporaryDirectory() as directory:
                if not compare(build, config, flags, Path(directory)):
                    failed.append(label)
    if failed:
        sys.exit(f"beyond the limits, {LOSS_LIMIT} for a loss and {GRADIENT_LIMIT} for a gradient: {', '.join(failed)}")


if __name__ == "__main__":
    main()
