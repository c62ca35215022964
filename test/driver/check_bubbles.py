#!/usr/bin/env python3
"""Compares bubbles of whole compiles with published ones: check_bubbles.py DIRECTORY [--all]

The times of arXiv 2401.10241, table 9, as --cost-table give the bubble rates of its table 5 in what --timeline writes; the search
is no worse than ZB-H1 with its memory and better than ZB-H2 with its. Two of the six rows, with --all each.
"""
import json
import subprocess
import sys
from pathlib import Path

ROWS = [  # p, m, milliseconds of F, B, W and a transfer, 1F1B, ZB-H1, ZB-H2
    (8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083),
    (16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397, 0.0672),
    (8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837),
    (8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0674, 0.0444),
    (16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088, 0.0516),
    (16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576, 0.0266),
]
CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 16, "n_positions": 8, "n_embd": 8, "n_layer": 16,
          "n_head": 1, "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
OUT = Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
config, model, table, trace = (OUT / name for name in ("config.json", "model.mlir", "costs.json", "trace.json"))


def bubble(p, m, *flags):
    command = ["p3dc", model, f"--mesh=1x{p}x1", f"--microbatches={m}", f"--cost-table={table}", f"--timeline={trace}", *flags]
    subprocess.run(command, check=True)
    return json.loads(trace.read_text())["otherData"]["bubble_span"]


config.write_text(json.dumps(CONFIG))
# A batch that all rows cut evenly.
subprocess.run(["p3d-model", config, "--batch=384", "--seq=8", "-o", model], check=True, stdout=subprocess.DEVNULL)
faults = []
for p, m, *times, h0, h1, h2 in ROWS if "--all" in sys.argv else ROWS[:2]:
    table.write_text(json.dumps(dict(zip(("F", "B", "W", "comm"), (t / 1000 for t in times)))))
    named = {name: bubble(p, m, f"--schedule={name}") for name in ("1f1b", "zb-h1", "zb-h2")}
    searched = [bubble(p, m, "--schedule=auto", f"--live={live}") for live in (p, 2 * p)]
    print(f"p={p} m={m}", *(f"{name} {x:.4f}" for name, x in named.items()), "auto", *(f"{x:.4f}" for x in searched))
    faults += [f"p={p} m={m}: {name} {x:.6f}, published {y}" for (name, x), y in zip(named.items(), (h0, h1, h2)) if abs(x - y) > 5.1e-5]
    if searched[0] > named["zb-h1"] + 1e-9 or searched[1] > named["zb-h2"] - 1e-4:
        faults.append(f"p={p} m={m}: auto {searched}, published orders {named}")
sys.exit("\n".join(faults) or 0)
