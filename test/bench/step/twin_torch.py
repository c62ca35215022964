"""GPT-2's training step in plain PyTorch: twin_torch.py MODEL.json eager|compiled THREADS; see step.py for the protocol."""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (y.view(b, s, self.heads, d // self.heads).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(d, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d)
        x = x + self.c_proj(y)
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(m["vocabulary"], m["width"]), nn.Embedding(m["positions"], m["width"])
        self.layers = nn.ModuleList(Block(m["width"], m["heads"]) for _ in range(m["layers"]))
        self.ln_f = nn.LayerNorm(m["width"])
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))


def main():
    m, form, threads = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt(m)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.95), fused=True)
    loss_of = torch.compile(model) if form == "compiled" else model
    batches = [torch.randint(m["vocabulary"], (m["batch"], m["sequence"])) for _ in range(8)]

    def step(i):
        loss = loss_of(batches[i % len(batches)])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    for i in range(2):
        step(i)
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for i in range(int(line)):
            start = time.perf_counter()
            step(i)
            times.append(time.perf_counter() - start)
        print(*times, flush=True)


main()
