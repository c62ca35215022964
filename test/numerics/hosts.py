#!/usr/bin/env python3
"""Ranks of the CPU on several hosts: hosts.py --build=BUILD mpirun|namespaces

mpirun: 32 ranks, each started by Open MPI, give the golden numbers of the model. namespaces: so do two hosts, which are network namespaces of this
machine with a cable between them; and when that is pulled in the midst of a run, both stop in time, name each other, and leave nothing behind. Where
there is no mpirun, or no namespace can be made, it says so and ends with 77.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import table

MODEL = "gpt2_tiny"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


class Trial:
    def __init__(self, build, name, mesh):
        self.build, self.place = build, build / "numerics" / name
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.weights = table.INPUTS / f"{MODEL}.safetensors"
        subprocess.run([build / "bin/p3dc", table.INPUTS / f"{MODEL}.mlir", f"--mesh={mesh}", "-o", self.place / "out"], check=True, stdout=subprocess.DEVNULL)

    def flags(self, steps, timeout=120):
        return [f"--steps={steps}", *table.TRAINING[:-1], f"--timeout={timeout}", f"--params={self.weights}", f"--data={self.weights}"]

    def files(self):
        return [f"--log={self.place}/steps.jsonl", f"--dump-grads={self.place}/grads.safetensors", f"--export={self.place}/final.safetensors"]

    def check_golden(self, what):
        command = [self.build / "bin/check-golden", f"--golden={table.INPUTS}/{MODEL}.golden.safetensors", f"--params={self.weights}", f"--log={self.place}/steps.jsonl",
                   f"--grads={self.place}/grads.safetensors", f"--export={self.place}/final.safetensors", "--steps=10"]
        done = subprocess.run(command, capture_output=True, text=True)
        check(done.returncode == 0, f"{what}: {done.stdout}{done.stderr}")
        print(f"ok      {what}: {table.last_line(done.stdout)}", flush=True)

    def ranks(self):
        return subprocess.run(["pgrep", "-f", f"{self.place}/out/bin/"], capture_output=True, text=True).stdout.split()

    def check_nothing_left(self):
        deadline = time.monotonic() + 10
        while self.ranks() and time.monotonic() < deadline:
            time.sleep(0.05)
        check(not self.ranks(), f"processes {self.ranks()} are left")
        left = [path.name for path in self.place.iterdir() if "tmp" in path.name]
        check(not left, f"files {left} are left")


def try_mpirun(build):
    if not shutil.which("mpirun"):
        skip("there is no mpirun; Debian has it in openmpi-bin")
    trial = Trial(build, "hosts-mpirun", "4x4x2")
    start = time.monotonic()
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", "32", trial.place / "out/bin/rank", *trial.flags(10), *trial.files()]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"mpirun ends with {done.returncode}: {done.stdout}{done.stderr}")
    trial.check_golden(f"mpirun -n 32, {time.monotonic() - start:.1f} s")
    trial.check_nothing_left()


class Namespaces:
    """Two, with a cable between them."""

    def __init__(self):
        self.names = [f"p3d-{os.getpid()}-{end}" for end in "ab"]
        self.addresses = ["10.83.0.1", "10.83.0.2"]

    def ip(self, *arguments):
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            skip(f"no network namespaces can be made here: ip {' '.join(arguments)}: {done.stderr.strip()}")

    def __enter__(self):
        if not shutil.which("ip"):
            skip("there is no ip; Debian has it in iproute2")
        if os.getuid() != 0:
            skip("only root makes network namespaces")
        for name in self.names:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        self.ip("link", "add", "cable", "netns", self.names[0], "type", "veth", "peer", "name", "cable", "netns", self.names[1])
        for name, address in zip(self.names, self.addresses):
            self.ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            self.ip("-n", name, "link", "set", "cable", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

    def pull(self):
        self.ip("-n", self.names[0], "link", "set", "cable", "down")

    def start(self, trial, flags, own_names):
        """p3d-run on both hosts, which call themselves one and two with `own_names`."""
        processes = []
        for number, namespace in enumerate(self.names):
            named = ["unshare", "--uts", "sh", "-c", f"hostname {['one', 'two'][number]}; exec \"$@\"", "_"] if own_names else []
            command = ["ip", "netns", "exec", namespace, *named, trial.build / "bin/p3d-run", trial.place / "out", "--ranks-per-host=4", *flags]
            environment = {**os.environ, "RANK": str(number), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": self.addresses[0], "MASTER_PORT": "29611"}
            output = (trial.place / f"output{number}").open("w")
            processes.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment))
        return processes


def outputs(trial):
    return [(trial.place / f"output{number}").read_text() for number in (0, 1)]


def try_namespaces(build):
    with Namespaces() as hosts:
        trial = Trial(build, "hosts-namespaces", "2x2x2")
        codes = [process.wait() for process in hosts.start(trial, trial.flags(10) + trial.files(), False)]
        check(codes == [0, 0], f"two hosts end with {codes}: {outputs(trial)}")
        trial.check_golden("two hosts of four ranks")

        timeout = 5
        processes = hosts.start(trial, trial.flags(1_000_000, timeout), True)
        deadline = time.monotonic() + 120
        while "step 20/" not in outputs(trial)[0] and time.monotonic() < deadline:
            time.sleep(0.05)
        check("step 20/" in outputs(trial)[0], f"no step in {outputs(trial)}")
        hosts.pull()
        start, codes, seconds = time.monotonic(), [], []
        for process in processes:
            codes.append(process.wait())
            seconds.append(time.monotonic() - start)
        root, other = outputs(trial)
        check(codes == [3, 3], f"exit codes {codes}: {root[-2000:]} {other[-2000:]}")
        # The deadline of the ranks, and two seconds for the other launcher to hear of it; more where the machine is busy.
        check(max(seconds) < timeout + 15, f"they took {seconds} s: {root[-2000:]} {other[-2000:]}")
        check(" holds up the others: rank " in root and " on two is at step " in root, f"the root says {root[-2000:]}")
        check(" on one, whose place is known on the host of rank 0 only" in other, f"the other host says {other[-2000:]}")
        for text in root, other:
            check(f" waited {timeout} s at step " in text, text[-2000:])
        trial.check_nothing_left()
        print(f"ok      cable pulled: both stop after {', '.join(f'{s:.1f}' for s in seconds)} s of a deadline of {timeout} s")
        print("        " + "\n        ".join(table.last_line(text) for text in (root, other)))


parser = argparse.ArgumentParser()
parser.add_argument("--build", type=Path, required=True)
parser.add_argument("trial", choices=["mpirun", "namespaces"])
arguments = parser.parse_args()
(try_mpirun if arguments.trial == "mpirun" else try_namespaces)(arguments.build.resolve())
