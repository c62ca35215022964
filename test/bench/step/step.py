#!/usr/bin/env python3
"""Tokens/s of whole training steps (f32, AdamW, clipping): p3dc beside PyTorch and JAX, runs taken in turn.

    python3 test/bench/step/step.py --build=build                     # all models, all peers that are installed
    python3 test/bench/step/step.py --models=small --peers=p3dc --json

Peers that cannot be imported are left out, and the output says so. --python=PATH is the interpreter that has them.
"""
import argparse
import array
import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODELS = {  # layers, width, heads, vocabulary, positions, sequence, batch
    "small": dict(layers=4, width=256, heads=4, vocabulary=8192, positions=256, sequence=256, batch=8),
    "gpt2": dict(layers=12, width=768, heads=12, vocabulary=50257, positions=1024, sequence=256, batch=4),
}
MESHES = {"p3dc 1x1x1": "1x1x1", "p3dc tp=4 dp=8": "tp=4,pp=1,dp=8", "p3dc 4x4x2": "4x4x2"}
TWINS = {  # command line of the twin behind the model
    "PyTorch eager": ["twin_torch.py", "eager"],
    "PyTorch compiled": ["twin_torch.py", "compiled"],
    "JAX": ["twin_jax.py", "1x1"],
    "JAX tp=4 dp=8": ["twin_jax.py", "4x8"],
}
GROUPS = {  # what is compared with what
    "one": ["p3dc 1x1x1", "PyTorch eager", "PyTorch compiled", "JAX"],
    "ranks": ["p3dc tp=4 dp=8", "p3dc 4x4x2", "JAX tp=4 dp=8"],
}


def parameters(m):
    """Of products: without positions."""
    return m["vocabulary"] * m["width"] + m["layers"] * (12 * m["width"] ** 2 + 13 * m["width"]) + 2 * m["width"]


def flops_per_token(m):
    """6 N and attention in full, forward and backward."""
    return 6 * parameters(m) + 12 * m["layers"] * m["width"] * m["sequence"]


def write_config(m, path):
    path.write_text(json.dumps({
        "model_type": "gpt2", "n_layer": m["layers"], "n_embd": m["width"], "n_head": m["heads"],
        "n_positions": m["positions"], "vocab_size": m["vocabulary"], "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True, "attn_pdrop": 0.0, "embd_pdrop": 0.0,
        "resid_pdrop": 0.0}))


class P3dc:
    """p3d-run for a few steps at a time; the first of each, which touches fresh memory, does not count."""

    def __init__(self, name, model, arguments, directory):
        m, mesh = MODELS[model], MESHES[name]
        self.name, self.tokens, self.steps = name, m["batch"] * m["sequence"], arguments.steps
        self.bin, self.out = Path(arguments.build) / "bin", directory / f"{model}-{mesh.replace(',', '-')}"
        config, text = directory / f"{model}.json", directory / f"{model}.mlir"
        self.data, self.log = directory / f"{model}.bin", directory / "log.jsonl"
        write_config(m, config)
        rng = random.Random(1)
        count = m["batch"] * (m["sequence"] + 1) * 64
        self.data.write_bytes(array.array("i", (rng.randrange(m["vocabulary"]) for _ in range(count))).tobytes())
        for command in (["p3d-model", config, f"--batch={m['batch']}", f"--seq={m['sequence']}", "-o", text],
                        ["p3dc", text, f"--mesh={mesh}", "-o", self.out]):
            done = subprocess.run([str(self.bin / command[0]), *map(str, command[1:])], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
        self.threads = [f"--threads={arguments.threads}"] if mesh == "1x1x1" else []

    def run(self):
        subprocess.run([str(self.bin / "p3d-run"), str(self.out), f"--steps={self.steps + 1}", f"--data={self.data}",
                        f"--log={self.log}", *self.threads], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        steps = [json.loads(line) for line in self.log.read_text().splitlines()]
        times = [step["step_ms"] for step in steps if "step_ms" in step][1:]
        return self.tokens / statistics.median(times) * 1e3

    def end(self):
        pass


class Twin:
    """A program that stays alive: a line asks it for N steps, and it answers with the seconds of each."""

    def __init__(self, name, model, arguments, directory):
        m = MODELS[model]
        self.name, self.tokens, self.steps = name, m["batch"] * m["sequence"], arguments.steps
        script, form = TWINS[name]
        environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), MKL_NUM_THREADS=str(arguments.threads))
        self.process = subprocess.Popen([arguments.python, str(HERE / script), json.dumps(m), form, str(arguments.threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment)
        ready = self.process.stdout.readline().strip()
        if ready != "ready":
            reason = self.process.stderr.read().strip().splitlines()
            raise RuntimeError(reason[-1] if reason else "it ended")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def run(self):
        self.process.stdin.write(f"{self.steps}\n")
        self.process.stdin.flush()
        return self.tokens / statistics.median(map(float, self.process.stdout.readline().split()))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class MatrixProducts:
    """GFLOP/s of the BLAS that ranks are linked with, one product of 1024 on each thread."""

    def __init__(self, build, threads):
        words = (Path(build) / "lib/p3d/link.txt").read_text().split()
        library = words[words.index("-rpath") - 1]
        if "OPENBLAS_CORETYPE" not in os.environ and "avx512vl" in Path("/proc/cpuinfo").read_text():
            os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"  # as ranks do where the library does not know the CPU
            self.blas = ctypes.CDLL(library)
            del os.environ["OPENBLAS_CORETYPE"]
        else:
            self.blas = ctypes.CDLL(library)
        for one_thread in "openblas_set_num_threads", "MKL_Set_Threading_Layer":  # as kernels/cpu/Blas.h does
            if hasattr(self.blas, one_thread):
                getattr(self.blas, one_thread)(1)
        self.size, self.threads = 1024, threads
        block = ctypes.c_float * self.size**2
        self.matrices = [[block(*([0.5] * self.size**2)) for _ in range(3)] for _ in range(threads)]

    def multiply(self, times, which):
        n, one = self.size, ctypes.c_float(1)
        a, b, c = self.matrices[which]
        for _ in range(times):
            self.blas.cblas_sgemm(101, 111, 111, n, n, n, one, a, n, b, n, ctypes.c_float(0), c, n)

    def run(self, times=20):
        workers = [threading.Thread(target=self.multiply, args=(times, i)) for i in range(self.threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return 2 * self.size**3 * times * self.threads / (time.perf_counter() - start) / 1e9


def start_peers(names, model, arguments, directory, left_out):
    peers = []
    for name in names:
        kind = P3dc if name in MESHES else Twin
        try:
            peers.append(kind(name, model, arguments, directory))
        except RuntimeError as reason:
            left_out[name] = str(reason)
    return peers


def measure(model, group, arguments, directory, products, left_out):
    names = [name for name in GROUPS[group] if any(name.lower().startswith(peer) for peer in arguments.peers)]
    peers = start_peers(names, model, arguments, directory, left_out)
    rates, blas = {peer.name: [] for peer in peers}, []
    for _ in range(arguments.runs):
        blas.append(products.run())
        for peer in peers:
            rates[peer.name].append(peer.run())
    for peer in peers:
        peer.end()
    gflops = statistics.median(blas)
    ours = statistics.median(rates[peers[0].name])
    row = lambda rate: {"tokens_per_s": round(rate, 1), "p3dc_times": round(ours / rate, 3),
                        "share": round(rate * flops_per_token(MODELS[model]) / gflops / 1e9, 3)}
    return {"model": model, "group": group, "sgemm_gflops": round(gflops, 1),
            "rows": {name: row(statistics.median(values)) for name, values in rates.items()}}


def print_table(tables, left_out):
    for table in tables:
        print(f"\n{table['model']}, {'one rank or process' if table['group'] == 'one' else '32 ranks or devices'}; "
              f"the BLAS reaches {table['sgemm_gflops']} GFLOP/s\n")
        print("| | tokens/s | p3dc is so many times as fast | share of the BLAS' rate |\n| --- | --- | --- | --- |")
        for name, row in table["rows"].items():
            print(f"| {name} | {row['tokens_per_s']} | {row['p3dc_times']} | {row['share']:.1%} |")
    for name, reason in left_out.items():
        print(f"\n{name} is left out: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--models", default="small,gpt2")
    parser.add_argument("--peers", default="p3dc,pytorch,jax")
    parser.add_argument("--groups", default="one,ranks", help="one: one rank; ranks: 32 ranks of the small model")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="of each run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--json", action="store_true", help="one line")
    arguments = parser.parse_args()
    arguments.peers = arguments.peers.lower().split(",")
    products, left_out, tables = MatrixProducts(arguments.build, arguments.threads), {}, []
    with tempfile.TemporaryDirectory() as directory:
        for model in arguments.models.split(","):
            for group in arguments.groups.split(","):
                if group == "one" or model == "small":
                    tables.append(measure(model, group, arguments, Path(directory), products, left_out))
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "runs": arguments.runs, "tables": tables, "left_out": left_out}))
    else:
        print_table(tables, left_out)


if __name__ == "__main__":
    main()
