#!/usr/bin/env python3
"""A plan comes back as it was, is obeyed when edited, and refused with a reason where it cannot be: check_plan.py INPUTS SCRATCH"""
import json
import subprocess
import sys
from pathlib import Path

INPUTS, SCRATCH = (Path(argument) for argument in sys.argv[1:])
faults = []


def compile_model(model, *flags):
    return subprocess.run(["p3dc", INPUTS / f"{model}.mlir", *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def plan_of(model, mesh):
    out = SCRATCH / f"{model}-{mesh}"
    done = compile_model(model, f"--mesh={mesh}", "-o", out)
    if done.returncode:
        sys.exit(done.stderr)
    return out / "plan.json"


def edit(plan, change, name="edited.json"):
    text = json.loads(plan.read_text())
    change(text)
    (SCRATCH / name).write_text(json.dumps(text))
    return SCRATCH / name


def class_of(plan, argument, dim):
    return next(entry for entry in plan["classes"] if dim in entry["dims"].get(argument, []))


def comes_back(model, mesh):
    plan = plan_of(model, mesh)
    done = compile_model(model, f"--plan={plan}", "-o", SCRATCH / "again")
    if done.returncode or (SCRATCH / "again" / "plan.json").read_bytes() != plan.read_bytes():
        faults.append(f"{model} {mesh}: the plan comes back changed\n{done.stderr}")


def refused(plan, expected, *flags, model="llama_tiny"):
    done = compile_model(model, f"--plan={plan}", "--emit=shard", *flags)
    if done.returncode != 1 or expected not in done.stderr:
        faults.append(f"expected: {expected}\nfound, with exit code {done.returncode}: {done.stderr}")


def obeyed(plan, expected, model="llama_tiny"):
    done = compile_model(model, f"--plan={plan}", "--emit=shard")
    if done.returncode or expected not in done.stdout:
        faults.append(f"not obeyed: {expected}\n{done.stderr}")


for model, mesh in [("gpt2_tiny", "4x2x2"), ("llama_tiny", "8x1x1"), ("mixtral_tiny", "4x1x1"), ("bert_tiny_mlm", "4x1x2"), ("llama_tiny_scan", "2x2x1"),
                    ("hf_gpt2_tiny", "4x1x1"), ("mlp_regression", "2x1x2"), ("gpt2_tiny_oddvocab", "1x4x1")]:
    comes_back(model, mesh)

# The number of layers decides nothing about what is cut.
axes = [{tuple(sorted(entry["dims"])): entry["axis"] for entry in json.loads(plan_of(model, "4x1x1").read_text())["classes"]} for model in ("llama_tiny", "llama_tiny_l6")]
if axes[0] != axes[1]:
    faults.append(f"8 layers: {axes[0]}\n6 layers: {axes[1]}")

base = plan_of("llama_tiny", "4x2x1")


def leave_whole(plan, argument, dim):
    class_of(plan, argument, dim)["axis"] = None
    del plan["sharding"]


# Another choice: the feed-forward layers on every rank, the heads still cut.
whole_mlp = edit(base, lambda plan: leave_whole(plan, "params.layer_*.mlp.up", 1), "whole_mlp.json")
obeyed(whole_mlp, 'tensor<64x96xf32> {dist.sharding = #dist.sharding<[{},{}]>')
obeyed(whole_mlp, 'tensor<64x64xf32> {dist.sharding = #dist.sharding<[{},{tp:16}]>')
obeyed(edit(base, lambda plan: plan.update(microbatches=4)), "mb = 4")
obeyed(edit(base, lambda plan: plan["mesh"].update(tp=2)), "tp = 2, pp = 2")

refused(SCRATCH / "none.json", "No such file or directory")
(SCRATCH / "broken.json").write_text("{")
refused(SCRATCH / "broken.json", "broken.json: [1:1, byte=1]: Expected object key")
(SCRATCH / "list.json").write_text("[]")
refused(SCRATCH / "list.json", "holds no JSON object; expected a plan.json as p3dc writes it")
refused(edit(base, lambda plan: plan.update(streams=1)), 'field "streams" is unknown; a plan has version, model, mesh')
refused(edit(base, lambda plan: plan.update(version=2)), 'expected "version": 1')
refused(edit(base, lambda plan: plan.update(mesh="4x1x1")), 'expected "mesh": {"tp": 4, "pp": 4, "dp": 2}')
refused(edit(base, lambda plan: plan.update(schedule=1)), 'field "schedule" is no text')
refused(edit(base, lambda plan: plan.update(stages=["4"])), 'field "stages": "4" is no whole number')
refused(edit(base, lambda plan: plan.update(schedule="2f2b")), "--schedule=2f2b: expected")
refused(edit(base, lambda plan: plan.update(zero=4)), "--zero=4: expected")
refused(edit(base, lambda plan: plan.update(recompute="some")), "--recompute=some: expected")
refused(base, f"--mesh=2x2x1 contradicts --plan={base}, which says tp=4,pp=2,dp=1; leave out the flag, or change the plan", "--mesh=2x2x1")
refused(base, "which says 4,4; leave out the flag, or change the plan", "--stages=5,3")
refused(edit(base, lambda plan: plan["classes"][0]["dims"].update({"batch.one": [0]})), "class 0, batch.one: no argument of the model has this name")
refused(edit(base, lambda plan: plan.update(classes={})), '"classes" is no list of objects')
refused(edit(base, lambda plan: plan["classes"][0].pop("axis")), 'class 0 has no "dims" and "axis"')
refused(edit(base, lambda plan: plan["classes"][0].update(cut=True)), 'class 0: field "cut" is unknown; expected dims, axis or units')
refused(edit(base, lambda plan: plan["classes"][0]["dims"].update({"params.h*.w": [0]})), "params.h*.w: no argument of the model has this name")
refused(edit(base, lambda plan: plan["classes"][0]["dims"].update({"params.embed": 0})), "params.embed: expected a list of dimensions")
refused(edit(base, lambda plan: plan["classes"][0]["dims"].update({"params.embed": [2]})), "params.embed has no dimension 2, but 2 dimensions")
refused(edit(base, lambda plan: plan["classes"][0].update(units=7)), "falls into 128 parts, not 7; that is what the model has, and no decision")
refused(edit(base, lambda plan: plan["classes"][0].update(axis="pp")), 'axis "pp" cannot cut it; expected "tp" or null')
refused(edit(base, lambda plan: class_of(plan, "params.layer_*.mlp.up", 1).update(axis=None)), "but what must be cut alike is not: class")
refused(edit(base, lambda plan: plan.update(sharding=[])), '"sharding" is no object of parameters')
refused(edit(base, lambda plan: plan["sharding"].update({"params.w": []})), "sharding of params.w: no argument of the model has this name")
refused(edit(base, lambda plan: plan["sharding"].update({"params.embed": ["tp"]})), "sharding of params.embed: expected a list of 2 axes, null for a dimension that is whole")
refused(edit(base, lambda plan: plan["sharding"].update({"params.embed": ["ep", None]})), 'sharding of params.embed: axis "ep"; expected "tp", "tp_major" or null')
refused(edit(base, lambda plan: plan["sharding"].update({"params.embed": [None, "tp"]})), "sharding of params.embed: dimension 1 is cut over tp, but what must be cut alike is not")
refused(whole_mlp, "which --sequence-parallel=on forbids", "--sequence-parallel=on")
bert = plan_of("bert_tiny_mlm", "2x1x1")
refused(edit(bert, lambda plan: plan["sharding"].update({"params.embed.position": ["tp", None]})), "sharding of params.embed.position: dimension 0 is that of the sequence, which parameters have whole", model="bert_tiny_mlm")

if faults:
    sys.exit("\n".join(faults))
