#!/usr/bin/env python3
"""Weights of tiny checkpoints through p3d-model --map, both ways: python3 check_weights.py DIRECTORY

What the tensors have to be is computed here again, byte by byte: names, stacks, the matrices of experts, files and their index, types.
Then each refusal, word for word. Files are written to DIRECTORY; nothing but the Python library is needed.
"""
import json
import random
import re
import resource
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Inputs"))
import make_inputs

OUT = Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
CONFIGS = {name: HERE / "Inputs" / f"{name}.json" for name in ("gpt2", "llama", "llama3", "mixtral")}
SIZES = {"F32": 4, "BF16": 2, "F16": 2}


def names_of(name):
    """{name: shape} of a checkpoint as Hugging Face saves it."""
    c = json.loads(CONFIGS[name].read_text())
    tensors = {}
    if name == "gpt2":
        h, v, n, layers = c["n_embd"], c["vocab_size"], c["n_positions"], c["n_layer"]
        tensors |= {"transformer.wte.weight": [v, h], "transformer.wpe.weight": [n, h]}
        for i in range(layers):
            for part, shape in {"ln_1": [h], "ln_2": [h], "attn.c_attn": [h, 3 * h], "attn.c_proj": [h, h], "mlp.c_fc": [h, 4 * h], "mlp.c_proj": [4 * h, h]}.items():
                tensors |= {f"transformer.h.{i}.{part}.weight": shape, f"transformer.h.{i}.{part}.bias": shape[-1:]}
        return tensors | {"transformer.ln_f.weight": [h], "transformer.ln_f.bias": [h]}
    h, f, v = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    d = c.get("head_dim", h // c["num_attention_heads"])
    q, k = d * c["num_attention_heads"], d * c["num_key_value_heads"]
    tensors["model.embed_tokens.weight"] = [v, h]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        linear = {"self_attn.q_proj": [q, h], "self_attn.k_proj": [k, h], "self_attn.v_proj": [k, h], "self_attn.o_proj": [h, q]}
        if name == "mixtral":
            tensors[layer + "block_sparse_moe.gate.weight"] = [c["num_local_experts"], h]
            for e in range(c["num_local_experts"]):
                tensors |= {f"{layer}block_sparse_moe.experts.{e}.{w}.weight": [h, f] if w == "w2" else [f, h] for w in ("w1", "w2", "w3")}
        else:
            linear |= {"mlp.gate_proj": [f, h], "mlp.up_proj": [f, h], "mlp.down_proj": [h, f]}
        for part, shape in linear.items():
            tensors[f"{layer}{part}.weight"] = shape
            if c.get("attention_bias"):
                tensors[f"{layer}{part}.bias"] = shape[:1]
        tensors |= {layer + "input_layernorm.weight": [h], layer + "post_attention_layernorm.weight": [h]}
    return tensors | {"model.norm.weight": [h]} | ({} if c.get("tie_word_embeddings") else {"lm_head.weight": [v, h]})


def count(shape):
    return 1 if not shape else shape[0] * count(shape[1:])


def checkpoint(name):
    chance = random.Random(name)
    return {tensor: ("F32", shape, struct.pack(f"<{count(shape)}f", *(chance.gauss(0, 1) for _ in range(count(shape)))))
            for tensor, shape in names_of(name).items()}


def unstacked(tensors):
    """What the parameters of a model that is not stacked have to be."""
    result = {}
    for name, (dtype, shape, data) in tensors.items():
        expert = re.fullmatch(r"(.*)\.block_sparse_moe\.experts\.0\.w([12])\.weight", name)
        if expert:
            layer, which = expert.groups()
            matrices = [f"{layer}.block_sparse_moe.experts.{e}.w{w}.weight" for e in range(4) for w in ("13" if which == "1" else "2")]
            rows = shape[0] * (2 if which == "1" else 1)
            whole = f"params.{layer}.mlp.experts.{'gate_up' if which == '1' else 'down'}_proj"
            result[whole] = (dtype, [4, rows, shape[1]], b"".join(tensors[matrix][2] for matrix in matrices))
        elif ".experts." not in name:
            result["params." + name.replace("block_sparse_moe.gate", "mlp.gate")] = (dtype, shape, data)
    return result


def stacked(parameters):
    result, layers = {}, {}
    for name, tensor in parameters.items():
        match = re.fullmatch(r"(params\.(?:transformer\.h|model\.layers))\.(\d+)\.(.*)", name)
        if match:
            layers.setdefault(f"{match[1]}.{match[3]}", {})[int(match[2])] = tensor
        else:
            result[name] = tensor
    for name, by_layer in layers.items():
        dtype, shape, _ = by_layer[0]
        result[name] = (dtype, [len(by_layer), *shape], b"".join(by_layer[layer][2] for layer in range(len(by_layer))))
    return result


def model(*arguments, limit=None):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run(["p3d-model", *map(str, arguments)], capture_output=True, text=True, cwd=OUT, preexec_fn=prepare if limit else None)


def map_weights(*arguments):
    done = model(*arguments)
    assert done.returncode == 0, done.stderr
    return done


def write(tensors, name="in.safetensors"):
    make_inputs.write(OUT / name, tensors)
    return name


def read(name):
    """The tensors of a file or of an index."""
    if not name.endswith(".index.json"):
        return make_inputs.read(OUT / name)
    index, tensors = json.loads((OUT / name).read_text()), {}
    files = set(index["weight_map"].values())
    assert files == {f"{name.removesuffix('.safetensors.index.json')}-{i + 1:05}-of-{len(files):05}.safetensors" for i in range(len(files))}, files
    for file in files:
        held = make_inputs.read(OUT / file)
        assert all(index["weight_map"][tensor] == file for tensor in held)
        tensors |= held
    assert index["metadata"]["total_size"] == sum(len(data) for _, _, data in tensors.values())
    return tensors


def no_leftovers():
    assert not list(OUT.glob("*.tmp")), list(OUT.glob("*.tmp"))


def remove(*patterns):
    for pattern in patterns:
        for path in OUT.glob(pattern):
            path.unlink()


def check_family(name):
    config, tensors = CONFIGS[name], checkpoint(name)
    parameters = unstacked(tensors)
    source = write(tensors)
    base = "transformer." if name == "gpt2" else "model."
    for with_config in ("", f",{config}"):
        for flags, expected in (([], parameters), (["--scan"], stacked(parameters))):
            said = map_weights(f"--map={source}{with_config}", "-o", "ours.safetensors", *flags).stdout
            assert "layers, from Hugging Face's names to p3d-model's parameters" + (" in stacks: " if flags else ": ") in said, said
            assert said.endswith(f" parameters in {len(expected)} tensors\n"), said
            assert read("ours.safetensors") == expected, name
            said = map_weights(f"--map=ours.safetensors{with_config}", "-o", "back.safetensors").stdout
            assert "from p3d-model's parameters" + (" in stacks" if flags else "") + " to Hugging Face's names: " in said, said
            assert read("back.safetensors") == tensors, name
            # What p3d-model writes takes these parameters, and no others.
            module = map_weights(config, "--batch=2", "--seq=8", *flags).stdout
            arguments = re.findall(r"tensor<([0-9x]*)xf32> loc\(\"(params)\['([^']*)'\]\"\)", next(line for line in module.splitlines() if "@main(" in line))
            assert {f"{root}.{leaf}": [int(size) for size in sizes.split("x")] for sizes, root, leaf in arguments} == {
                leaf: shape for leaf, (_, shape, _) in expected.items()}, name
        # Of the model without a head, whose names have no prefix; and the names of the newest code, experts fused.
        map_weights(f"--map={write({leaf.removeprefix(base): tensor for leaf, tensor in tensors.items()}, 'bare.safetensors')}{with_config}", "-o", "ours.safetensors")
        assert read("ours.safetensors") == parameters, name
        map_weights(f"--map={write({leaf.removeprefix('params.'): tensor for leaf, tensor in parameters.items()}, 'state.safetensors')}{with_config}", "-o", "ours.safetensors")
        assert read("ours.safetensors") == parameters, name
    check_tables(name, tensors, parameters)
    check_shards(name, tensors, parameters)
    check_types(name, tensors, parameters)


def check_tables(name, tensors, parameters):
    """Tables that are no parameters, and a head that repeats the embedding."""
    layer = "transformer.h.1.attn.bias" if name == "gpt2" else "model.layers.1.self_attn.rotary_emb.inv_freq"
    said = map_weights(f"--map={write(tensors | {layer: ('U8', [1, 1, 4, 4], bytes(16))})},{CONFIGS[name]}", "-o", "ours.safetensors").stderr
    assert f"in.safetensors: note: 1 tables that the model makes itself are left out, '{layer}' first\n" == said, said
    assert read("ours.safetensors") == parameters
    embedding = "transformer.wte.weight" if name == "gpt2" else "model.embed_tokens.weight"
    if "lm_head.weight" not in tensors:
        for config in ("", f",{CONFIGS[name]}"):
            said = map_weights(f"--map={write(tensors | {'lm_head.weight': tensors[embedding]})}{config}", "-o", "ours.safetensors").stderr
            assert f"'lm_head.weight' repeats '{embedding}' and is left out; a model that does not tie them needs its config.json" in said, said
            assert read("ours.safetensors") == parameters


def check_shards(name, tensors, parameters):
    remove("*.safetensors", "*.index.json")
    done = map_weights(f"--map={write(tensors)}", "-o", "ours.safetensors", "--shard-size=40KB")
    assert done.stdout.startswith("ours.safetensors.index.json: "), done.stdout
    assert read("ours.safetensors.index.json") == parameters
    for path in OUT.glob("ours-*.safetensors"):
        held = make_inputs.read(path)
        assert len(held) == 1 or sum(len(data) for _, _, data in held.values()) <= 40000, path
    # By the name of the index or of the file that it stands for.
    for given in ("ours.safetensors.index.json", "ours.safetensors"):
        map_weights(f"--map={given},{CONFIGS[name]}", "-o", "back.safetensors")
        assert read("back.safetensors") == tensors
    remove("ours-*.safetensors", "ours.safetensors.index.json")
    no_leftovers()


def convert(data, dtype):
    numbers = struct.unpack(f"<{len(data) // 4}f", data)
    if dtype == "F16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    return struct.pack(f"<{len(numbers)}H", *map(make_inputs.to_bf16, numbers))


def check_types(name, tensors, parameters):
    for dtype in ("BF16", "F16"):
        narrow = {leaf: (dtype, shape, convert(data, dtype)) for leaf, (_, shape, data) in parameters.items()}
        map_weights(f"--map={write(tensors)}", "-o", "narrow.safetensors", f"--dtype={dtype.lower()}", "--scan")
        assert read("narrow.safetensors") == stacked(narrow), (name, dtype)
        map_weights("--map=narrow.safetensors", "-o", "wide.safetensors", "--dtype=f32")
        map_weights("--map=wide.safetensors", "-o", "again.safetensors", f"--dtype={dtype.lower()}")
        assert read("again.safetensors") == narrow, (name, dtype)


def refused(expected, *arguments, limit=None):
    before = {path.name for path in OUT.iterdir()}
    done = model(*arguments, limit=limit)
    assert done.returncode == 1 and expected in done.stderr, f"expected: {expected}\nfound:    {done.stderr}"
    assert {path.name for path in OUT.iterdir()} == before, "a refusal left files"


def without(tensors, *names):
    return {name: tensor for name, tensor in tensors.items() if name not in names}


def check_refusals():
    remove("*")
    gpt2, llama, mixtral = checkpoint("gpt2"), checkpoint("llama"), checkpoint("mixtral")
    to = ["-o", "out.safetensors"]
    norm, query, head = "model.layers.2.input_layernorm.weight", "model.layers.0.self_attn.q_proj.weight", "lm_head.weight"
    some = ("F32", [3], bytes(12))

    def tensors(expected, tensors, *flags, config=""):
        refused(expected, f"--map={write(tensors)}{config}", *to, *flags)

    of_llama = f",{CONFIGS['llama']}"
    for config in ("", of_llama):
        tensors(f"error: '{norm}' is missing; expected [64]: give all of the checkpoint, and its own config.json", without(llama, norm), config=config)
        tensors(f"error: '{norm}' is [3], expected [64]: the config is another model's, or the tensor is damaged", llama | {norm: some}, config=config)
        tensors("error: 'model.layers.0.self_attn.q_norm.weight' is no parameter of a \"llama\" of 4 layers; nothing is dropped: remove it if the loss does "
                "not need it, or export the model with frontend/python", llama | {"model.layers.0.self_attn.q_norm.weight": some}, config=config)
    # A layer that is all missing shows by the config, one too many by its number.
    last = [name for name in llama if name.startswith("model.layers.3.")]
    tensors(f"error: '{last[0]}' is missing", without(llama, *last), config=of_llama)
    tensors("error: 'model.layers.123456789.x' is no parameter of a", llama | {"model.layers.123456789.x": some}, config=of_llama)
    tensors("error: and 7 more tensors", without(llama, *last, *(name.replace(".3.", ".2.") for name in last[:8])), config=of_llama)
    tensors(f"error: '{query}' is missing", without(llama, query))
    tensors("error: 'model.layers.0.block_sparse_moe.experts.2.w3.weight' is missing", without(mixtral, "model.layers.0.block_sparse_moe.experts.2.w3.weight"))
    tensors("error: 'norm.weight' and 'model.norm.weight' are the same parameter; remove one of them", llama | {"norm.weight": llama["model.norm.weight"]})
    tensors("error: 'params.x' stands beside names of the other side: all begin with 'params.', as p3d-run writes them, or none", llama | {"params.x": some})
    tensors("error: no tensor has a name of one of gpt2, llama, mixtral; other models keep the names of frontend/python", {"bert.embeddings": some})
    tensors("error: no tensor has a name of one of", {})
    tensors(f"error: 'lm_head.weight' differs from 'transformer.wte.weight', which the config ties to it; set \"tie_word_embeddings\": false in it",
            gpt2 | {head: ("F32", [64, 32], bytes(8192))}, config=f",{CONFIGS['gpt2']}")
    tensors(f"error: '{head}' is missing", without(llama, head), config=of_llama)
    tensors("llama.json: error: the names of tensors are of a \"gpt2\", but the config is of another model; give its own config.json", gpt2, config=of_llama)
    tensors("error: No such file or directory", llama, config=",none.json")
    (OUT / "list.json").write_text("[]")
    tensors("error: found no object {...} of JSON", llama, config=",list.json")

    # Types.
    tensors(f"error: tensor {norm} has type I64, expected F32, BF16 or F16", llama | {norm: ("I64", [64], bytes(512))})
    tensors(f"error: tensor {norm} has type F64, expected F32, BF16 or F16", llama | {norm: ("F64", [64], bytes(512))}, "--dtype=f32")
    tensors(f"error: params.model.layers.input_layernorm.weight is made of tensors of several types: model.layers.0.input_layernorm.weight is F32, {norm} is BF16; "
            "--dtype makes them one", llama | {norm: ("BF16", [64], bytes(128))}, "--scan")
    large = struct.pack("<64f", *[1.0] * 40, 70000.0, *[0.0] * 23)
    tensors(f"error: tensor {norm} holds 70000 at element 40, beyond what F16 can hold; write BF16 or F32", llama | {norm: ("F32", [64], large)}, "--dtype=f16")

    # Back.
    ours = unstacked(llama)
    stacks = stacked(ours)
    tensors("error: --scan stacks the parameters of p3d-model, and these are to get Hugging Face's names; leave it out", ours, "--scan")
    tensors(f"error: '{norm}' is missing", without(ours, "params." + norm))
    gate = "params.model.layers.mlp.gate_proj.weight"
    tensors(f"error: '{gate}' is [64, 96] in each layer, expected [96, 64]: the config is another model's, or the tensor is damaged", stacks | {gate: ("F32", [4, 64, 96], stacks[gate][2])}, config=of_llama)
    short = {**stacks, gate: ("F32", [3, 96, 64], stacks[gate][2][: 3 * 96 * 64 * 4])}
    tensors("error: 'model.layers.3.mlp.gate_proj.weight' is missing", short)
    more = {**stacks, gate: ("F32", [5, 96, 64], stacks[gate][2] + bytes(96 * 64 * 4))}
    tensors(f"error: '{gate}' is no parameter of a \"llama\" of 4 layers", more, config=of_llama)
    tensors("error: 'params.model.extra' is no parameter", ours | {"params.model.extra": some})

    # An index and its files.
    write(llama)
    map_weights("--map=in.safetensors", "-o", "cut.safetensors", "--shard-size=200KB")
    text = (OUT / "cut.safetensors.index.json").read_text()

    def index(expected, text):
        (OUT / "bad.safetensors.index.json").write_text(text)
        refused("bad.safetensors.index.json: " + expected, "--map=bad.safetensors", *to)

    index("index is not JSON at offset", text[:-4])
    index('has no object "weight_map" that says which tensor is in which file', "{}")
    index('puts tensor params.lm_head.weight into "../x", expected the name of a file beside the index', json.dumps({"weight_map": {"params.lm_head.weight": "../x"}}))
    index("puts tensor a into 3, expected the name of a file beside the index", json.dumps({"weight_map": {"a": 3}}))
    parsed = json.loads(text)
    index("tensor params.extra is not in cut-00001-of-00003.safetensors, where the index puts it",
          json.dumps({"weight_map": parsed["weight_map"] | {"params.extra": "cut-00001-of-00003.safetensors"}}))
    (OUT / "bad.safetensors.index.json").write_text(json.dumps({"weight_map": without(parsed["weight_map"], "params.lm_head.weight")}))
    refused("holds tensor params.lm_head.weight, which bad.safetensors.index.json does not put there", "--map=bad.safetensors", *to)
    (OUT / "cut-00002-of-00003.safetensors").rename(OUT / "elsewhere")
    refused("cut-00002-of-00003.safetensors: cannot be opened: No such file or directory", "--map=cut.safetensors", *to)
    remove("bad*", "cut*")

    # What is written.
    (OUT / "there.safetensors").write_text("")
    refused("there.safetensors: is there already and would be read in place of the 3 files that its size of at most 200000 bytes asks for; remove it, or name another",
            "--map=in.safetensors", "-o", "there.safetensors", "--shard-size=200KB")
    refused("/dev/null: is no regular file; name one, or a new one", "--map=in.safetensors", "-o", "/dev/null")
    refused("none/x: cannot be written: No such file or directory", "--map=in.safetensors", "-o", "none/x")
    for size in ("5GiB", "100KB"):  # as of a full disk
        refused("cannot be written: File too large", "--map=in.safetensors", *to, f"--shard-size={size}", limit=90000)

    # The command line.
    refused("error: --map needs the name of a file to write, -o OUT.safetensors", "--map=in.safetensors")
    refused("error: --map takes no --batch", "--map=in.safetensors", *to, "--batch=2")
    refused("error: --map takes no --seq", "--map=in.safetensors", *to, "--seq=2")
    refused("error: --map takes no CONFIG.json but behind a comma, --map=IN,CONFIG.json", CONFIGS["llama"], "--map=in.safetensors", *to)
    refused("error: --shard-size=-1: expected a size such as 5GiB", "--map=in.safetensors", *to, "--shard-size=-1")
    refused("error: which model? give a CONFIG.json, or weights with --map", "--batch=2", "--seq=8")
    refused("error: --batch=N is missing", CONFIGS["llama"], "--seq=8")
    refused("error: --shard-size has no effect without --map", CONFIGS["llama"], "--batch=2", "--seq=8", "--shard-size=1KiB")
    no_leftovers()


for family in CONFIGS:
    check_family(family)
check_refusals()
print("weights of", ", ".join(CONFIGS), "go both ways")
