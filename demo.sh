#!/usr/bin/env bash
# Installs, builds, then trains a Llama-shaped model on 32 rank processes of this CPU: 4-way tensor parallel, 4 pipeline stages, 2 replicas.
# The same model as one program on one rank shows that the numbers are those of one device. Then a byte-level GPT learns from a text of this machine.
set -euo pipefail
cd "$(dirname "$0")"
bash test/setup.sh p3dc p3d-run p3d-model p3d-data p3d-plot

model=test/Inputs/llama_tiny
steps=20
mkdir -p build/demo
train() { # mesh
  build/bin/p3d-run "build/demo/$1" --steps=$steps --params=$model.safetensors --data=$model.safetensors --log="build/demo/$1.jsonl"
}

echo
echo "== $model.mlir, exported by JAX, for 4 x 4 x 2 = 32 ranks"
build/bin/p3dc $model.mlir --mesh=4x4x2 -o build/demo/4x4x2
echo
echo "== $steps steps on 32 processes"
train 4x4x2
echo
echo "== the same on one rank"
build/bin/p3dc $model.mlir --mesh=1x1x1 -o build/demo/1x1x1 >/dev/null
train 1x1x1
echo
python3 - build/demo/4x4x2.jsonl build/demo/1x1x1.jsonl <<'EOF'
import json, sys
many, one = ([json.loads(line)["loss"] for line in open(path)] for path in sys.argv[1:])
print(f"first loss: {many[0]:.7f} on 32 ranks, {one[0]:.7f} on one; last: {many[-1]:.7f} and {one[-1]:.7f}")
worst = max(abs(a - b) / abs(b) for a, b in zip(many, one))
print(f"largest relative difference in {len(one)} steps: {worst:.1e}")
sys.exit(0 if len(many) == len(one) and worst < 1e-4 and one[-1] < one[0] else "the losses differ, or do not fall")
EOF
echo "build/demo/4x4x2 holds the programs (bin/), manifest.json and plan.json; try also"
echo "  build/bin/p3dc $model.mlir --mesh=4x4x2 --emit=shard"

echo
echo "== a byte-level GPT on 2 x 2 x 2 ranks learns the licences that Debian ships"
gpt=build/demo/gpt
rm -rf $gpt && mkdir $gpt
find /usr/share/common-licenses -type f | sort | xargs build/bin/p3d-data -o $gpt/train.bin --eval=$gpt/eval.bin
cat >$gpt/config.json <<'EOF'
{"model_type": "gpt2", "vocab_size": 256, "n_positions": 128, "n_embd": 128, "n_layer": 4, "n_head": 4, "activation_function": "gelu_new",
 "layer_norm_epsilon": 1e-5, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
EOF
build/bin/p3d-model $gpt/config.json --batch=8 --seq=128 -o $gpt/model.mlir
build/bin/p3dc $gpt/model.mlir --mesh=2x2x2 --zero=1 -o $gpt/2x2x2 >/dev/null
learn() { # flags
  build/bin/p3d-run $gpt/2x2x2 --steps=60 --data=$gpt/train.bin --eval-data=$gpt/eval.bin --eval-every=20 --lr=3e-3 --warmup=10 --log=$gpt/log.jsonl "$@"
}
learn --save=$gpt/checkpoints --save-every=40 2>/dev/null | grep -E "eval|saved"
echo "stopped after step 40, it goes on:"
learn --resume=$gpt/checkpoints/step_40 | grep -E "resumed|eval"
build/bin/p3d-plot $gpt/log.jsonl -o $gpt/loss.svg
