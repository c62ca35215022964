#!/usr/bin/env python3
"""ZeRO 0 to 3 train the same model, in the memory that was planned: python3 zero.py --build=BUILD [--part]

Every tiny model with --zero=0,1,2,3, by gpipe and by 1f1b, on 2x2x2 and 1x2x4, with one microbatch and with four where the batch has them: 10 steps, compared with
the golden numbers as table.py does. --part: one row of each stage of ZeRO, on each mesh and target.
"""
import argparse
import json
import re
import sys
from pathlib import Path

import table

MESHES = ["2x2x2", "1x2x4"]


def rows(models):
    for model in models:
        for mesh in MESHES:
            replica = table.batch_size(model) // int(mesh.split("x")[2])
            for microbatches in sorted({1, min(4, replica)}):
                for schedule in ["gpipe", "1f1b"]:
                    for zero in range(4):
                        yield table.Row(model, mesh, microbatches, flags=f"--zero={zero} --schedule={schedule}")


def part(build):
    """Tied weights in two stages, weights of 16 bits, shapes that fall into no equal shares, and devices."""
    yield table.Row("gpt2_tiny", "2x2x2", 4, flags="--zero=1 --schedule=gpipe")
    yield table.Row("llama_tiny_bf16", "2x2x2", 1, flags="--zero=1")
    yield table.Row("gpt2_tiny_oddvocab", "1x2x4", 2, flags="--zero=2")
    yield table.Row("llama_tiny", "2x2x2", 4, flags="--zero=3 --sequence-parallel=on")
    yield table.Row("hf_gpt2_tiny", "1x2x4", 2, flags="--zero=3 --schedule=gpipe")
    yield table.Row("llama_tiny_bf16", "2x2x2", 4, flags="--zero=2 --grad-reduce=bf16")
    yield table.Row("llama_tiny_bf16", "1x1x4", 2, flags="--grad-reduce=bf16")
    if (build / "lib/p3d/base-cuda.o").exists() and (build / "lib/emulator").exists():
        yield table.Row("llama_tiny_bf16", "1x1x2", 1, target="cuda", steps=2, flags="--zero=1 --grad-reduce=bf16")
        for zero in [1, 2, 3]:
            yield table.Row("gpt2_tiny", "1x2x2", 2, target="cuda", flags=f"--zero={zero}")


def try_memory(build):
    """The manifest's total is what the arena of a run takes, to the page; and what ZeRO cuts is a share of what it was."""
    place, found = build / "numerics" / "zero-memory", []
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
        page = -memory["total"] % 4096 + memory["total"]
        cut = [name for name, stage in (("optimizer", 1), ("grads", 2), ("params", 3)) if zero >= stage]
        share = all(abs(memory[name] - whole[name] / 4) < 0.03 * whole[name] for name in cut)
        right = used == page and share and memory["least"] <= memory["total"]
        print(f"{'ok  ' if right else 'FAIL'} zero={zero}: planned {memory}, used {used}")
        fine &= right
    return fine


def try_packing(build):
    """Temporaries take no more than 3 % beyond what is alive at once, of the whole arena."""
    fine, program = True, re.compile(r"exec\.program @(\w+) .*?arena (\d+).*?exec\.least_bytes = (\d+)")
    for model, flags in (("gpt2_124m", ["--zero=3"]), ("mixtral_tiny", ["--microbatches=1"]), ("gpt2_124m", ["--zero=2", "--target=cuda"])):
        code, text = table.run([build / "bin/p3dc", table.INPUTS / f"{model}.mlir", "--mesh=1x2x2", *flags, "--emit=memory"], build / "numerics" / "packing.txt")
        programs = program.findall(text)
        right = code == 0 and len(programs) == 2 and all(0 <= int(arena) - int(least) <= 0.03 * int(least) for _, arena, least in programs)
        print(f"{'ok  ' if right else 'FAIL'} {model} {' '.join(flags)}: arena and least {programs}")
        fine &= right
    (build / "numerics" / "packing.txt").unlink()
    return fine


def main():
    models = sorted(path.name.removesuffix(".golden.safetensors") for path in table.INPUTS.glob("*.golden.safetensors"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--models", help="only these, separated by commas")
    arguments = parser.parse_args()
    chosen = table.choose(arguments.models, models, "model")
    results = [table.try_row(row, arguments.build) for row in (part(arguments.build) if arguments.part else rows(chosen))]
    results += [try_memory(arguments.build), try_packing(arguments.build)]
    print(f"{len(results)} rows, {results.count(False)} not as expected")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
