#!/usr/bin/env python3
"""Whatever is cut or computed again, the same model is trained in the memory that was planned: python3 memory.py --build=BUILD [--part]

Every tiny model with --zero=0,1,2,3 and --recompute=none,selective,full, by each schedule, on 2x2x2 and 1x2x4, with one microbatch and with four where the batch
has them: 10 steps, compared with the golden numbers as table.py does, and the memory of each stage with its plan. What is computed again has to be what it was: losses and
gradients are the same to the bit. --part: some rows, which together have each value on each mesh, and devices.
"""
import argparse
import json
import re
import shutil
import sys
from pathlib import Path

import schedules
import table

MESHES = ["2x2x2", "1x2x4"]
RECOMPUTE = ["none", "selective", "full"]


def rows(models):
    for model in models:
        layers = json.loads((table.INPUTS / f"{model}.json").read_text())["hyper"].get("layers", 4)  # those from libraries have 4
        for mesh in MESHES:
            replica = table.batch_size(model) // int(mesh.split("x")[2])
            for microbatches in sorted({1, min(4, replica)}):
                for schedule in schedules.schedules(2, layers):
                    for zero in range(4):
                        for recompute in RECOMPUTE:
                            yield table.Row(model, mesh, microbatches, flags=f"{schedule} --zero={zero} --recompute={recompute}")


def part(build):
    """Tied weights in two stages, weights of 16 bits, shapes that fall into no equal shares, and devices."""
    for recompute in RECOMPUTE:
        yield table.Row("gpt2_tiny", "2x2x2", 4, flags=f"--zero=1 --schedule=zb-v --recompute={recompute}")
        yield table.Row("llama_tiny_bf16", "1x2x4", 2, flags=f"--zero=3 --recompute={recompute}")
        yield table.Row("mixtral_tiny", "2x2x1", 1, flags=f"--sequence-parallel=on --recompute={recompute}")
    yield table.Row("mixtral_tiny", "2x2x2", 1, flags="--zero=2 --recompute=full")
    yield table.Row("llama_tiny_bf16", "2x2x2", 1, flags="--zero=1")
    yield table.Row("gpt2_tiny_oddvocab", "1x2x4", 2, flags="--zero=2")
    yield table.Row("llama_tiny", "2x2x2", 4, flags="--zero=3 --sequence-parallel=on")
    yield table.Row("hf_gpt2_tiny", "1x2x4", 2, flags="--zero=3 --schedule=gpipe")
    yield table.Row("gpt_tiny_explicit_attention_mask", "1x2x2", 4, flags="--zero=2 --schedule=interleaved --chunks=2")  # skips over chunks
    yield table.Row("llama_tiny_bf16", "2x2x2", 4, flags="--zero=2 --grad-reduce=bf16")
    yield table.Row("llama_tiny_bf16", "1x1x4", 2, flags="--grad-reduce=bf16")
    if (build / "lib/p3d/base-cuda.o").exists() and (build / "lib/emulator").exists():
        yield table.Row("llama_tiny_bf16", "1x1x2", 1, target="cuda", steps=2, flags="--zero=1 --grad-reduce=bf16")
        yield table.Row("llama_tiny", "2x1x2", 2, target="cuda", steps=2, flags="--zero=2 --sequence-parallel=on")
        yield table.Row("gpt2_tiny", "1x1x2", 4, target="cuda", steps=2, flags="--zero=2")  # sums over one row
        yield table.Row("gpt2_tiny", "1x2x2", 4, target="cuda", steps=2, flags="--zero=2 --schedule=zb-v")
        for zero, recompute in [(1, "none"), (2, "full"), (3, "selective")]:
            yield table.Row("gpt2_tiny", "1x2x2", 2, target="cuda", flags=f"--zero={zero} --recompute={recompute}")


class Same:
    """Compares rows that differ in what they compute again alone: the numbers of the first that came by are those of all.

    But for sums that dp cuts and that are then multiplied: they are completed where their values are used, which are other places in the backward pass if they are
    computed there.
    """

    def __init__(self):
        self.first = {}

    def __call__(self, row, place):
        if row.model == "mixtral_tiny" and row.axes()[2] > 1:
            return None
        losses = [json.loads(line)["loss"] for line in (place / "steps.jsonl").read_text().splitlines()]
        made = losses, (place / "grads.safetensors").read_bytes(), (place / "final.safetensors").read_bytes()
        first = self.first.setdefault(re.sub(r"-recompute-\w+", "", row.name()), (row, made))
        if made == first[1]:
            return None
        what = "losses" if made[0] != first[1][0] else "gradients" if made[1] != first[1][1] else "weights"
        return f"{what} are not those of {first[0].flags}"


def try_memory(build):
    """The manifest's total is what the arena of a run takes, and what ZeRO cuts is a share of what it was."""
    place, found = build / "numerics" / "memory-of-zero", []
    place.mkdir(parents=True, exist_ok=True)
    for zero in range(4):
        data = table.INPUTS / "gpt2_tiny.safetensors"
        for command in ([build / "bin/p3dc", table.INPUTS / "gpt2_tiny.mlir", "--mesh=1x1x4", f"--zero={zero}", "-o", place / "out"],
                        [build / "bin/p3d-run", place / "out", "--steps=2", f"--data={data}", f"--log={place}/steps.jsonl"]):
            code, text = table.run(command, place / "log.txt")
            if code != 0:
                print(f"FAIL {' '.join(map(str, command))}: {text}")
                return False
        memory = json.loads((place / "out/manifest.json").read_text())["ranks"][0]["memory"]
        used = json.loads((place / "steps.jsonl").read_text().splitlines()[-1])["memory_bytes"]
        found.append((zero, memory, used))
    fine, (_, whole, _) = True, found[0]
    for zero, memory, used in found:
        cut = [name for name, stage in (("optimizer", 1), ("grads", 2), ("params", 3)) if zero >= stage]
        share = all(abs(memory[name] - whole[name] / 4) < 0.03 * whole[name] for name in cut)
        right = used == memory["total"] and share and memory["least"] <= memory["total"]
        print(f"{'ok  ' if right else 'FAIL'} zero={zero}: planned {memory}, used {used}")
        fine &= right
    return fine


LLAMA_70B = {"model_type": "llama", "vocab_size": 128256, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
             "num_key_value_heads": 8, "max_position_embeddings": 8192, "rope_theta": 500000.0, "tie_word_embeddings": False}


def packing_rows(place):
    """A model, a mesh, flags, and how far an arena may be above the bound: Llama-3-70B by each schedule, whatever is cut or computed again, and models whose temporaries are a large part.

    Temporaries that are large when few activations are left do not go where these were: this costs what the last rows allow.
    """
    llama = place / "llama3_70b.mlir"
    for zero in range(4):
        for recompute in RECOMPUTE:
            yield llama, "4x4x2", [f"--zero={zero}", f"--recompute={recompute}"], 0.03
    yield llama, "4x4x2", ["--zero=3", "--recompute=full", "--target=cuda"], 0.03
    for schedule in ("gpipe", "zb-h1", "zb-h2", "interleaved --chunks=2", "zb-v", "auto"):
        yield llama, "4x4x2", ["--zero=1", "--microbatches=8", *f"--schedule={schedule}".split()], 0.03
    for model, flags, limit in (("gpt2_124m", ["--zero=3"], 0.1), ("mixtral_tiny", ["--microbatches=1"], 0.04), ("gpt2_124m", ["--zero=2", "--target=cuda"], 0.11)):
        yield table.INPUTS / f"{model}.mlir", "1x2x2", flags, limit


def try_packing(build):
    """Arenas take little more than what is alive at once, and temporaries at most 3 %."""
    place, fine = build / "numerics" / "packing", True
    place.mkdir(parents=True, exist_ok=True)
    (place / "llama3_70b.json").write_text(json.dumps(LLAMA_70B))
    code, text = table.run([build / "bin/p3d-model", place / "llama3_70b.json", "--batch=16", "--seq=4096", "--dtype=bf16", "--scan", "-o", place / "llama3_70b.mlir"], place / "log.txt")
    for model, mesh, flags, limit in packing_rows(place):
        code, text = table.run([build / "bin/p3dc", model, f"--mesh={mesh}", *flags, "--emit=memory"], place / "log.txt")
        arenas, temporaries = [], []
        for program in text.split("exec.program @")[1:]:
            arenas.append((int(re.search(r"arena (\d+)", program)[1]), int(re.search(r"exec\.least_bytes = (\d+)", program)[1])))
            tasks = re.findall(r"exec\.task .*scratch (\d+) .*exec\.alive_bytes = (\d+)", program)
            temporaries.append(tuple(max(map(int, bytes)) for bytes in zip(*tasks)))  # tasks have the same memory
        right = code == 0 and len(arenas) == int(mesh.split("x")[1])
        right &= all(0 <= bytes - least <= most * least for pairs, most in ((arenas, limit), (temporaries, 0.03)) for bytes, least in pairs)
        print(f"{'ok  ' if right else 'FAIL'} {model.stem} {' '.join(flags)}: arenas {', '.join(f'{bytes} {bytes / least - 1:+.2%}' for bytes, least in arenas)}; "
              f"temporaries {', '.join(f'{bytes / least - 1:+.2%}' for bytes, least in temporaries)}", flush=True)
        fine &= right
    shutil.rmtree(place)
    return fine


def main():
    models = sorted(path.name.removesuffix(".golden.safetensors") for path in table.INPUTS.glob("*.golden.safetensors"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--models", help="only these, separated by commas")
    arguments = parser.parse_args()
    chosen = table.choose(arguments.models, models, "model")
    same = Same()
    results = [table.try_row(row, arguments.build, same) for row in (part(arguments.build) if arguments.part else rows(chosen))]
    results += [try_memory(arguments.build), try_packing(arguments.build)]
    print(f"{len(results)} rows, {results.count(False)} not as expected")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
