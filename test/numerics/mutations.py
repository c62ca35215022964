#!/usr/bin/env python3
"""Breaks the order of a program for CUDA, one command at a time, and counts who notices: python3 mutations.py BUILD

The program is gpt2_tiny on 2x2x2 with two microbatches, as the level memory leaves it. A mutation removes a record, a wait, a
collective or a transfer, moves it before or behind its neighbour, gives a record or wait another stream, gives a collective
another axis, or swaps two collectives. --count=N takes N of them, drawn with --seed; --count=0 takes all. Each ends in one of:
  static    p3d-verify-memory or p3d-verify-streams rejects the program;
  both      the same, and the emulated driver reports it too; with --both only, which runs also what is rejected;
  emulator  a run on the emulated driver ends with a report: a race, collectives that do not match, a peer that does not come;
  result    the run ends well, but its losses or gradients differ from the unchanged program's;
  harmless  the same numbers to the bit with every seed of the driver's delays, and no report: what was removed was implied by
            another order, or what was moved or swapped has no order to keep. Its line is printed.
Exit code 1 if a mutation escapes: its numbers depend on the seed of the delays, yet no race is reported; or if it is reported with
one seed and passes with another, since the emulator judges by order, not by what happened to come first.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).resolve().parent.parent / "Inputs"
MODEL = "gpt2_tiny"
COMPILE = ["--mesh=2x2x2", "--microbatches=2", "--target=cuda"]
RANKS = 8
STEPS = 2  # what one step leaves undone shows in the next
SEEDS = [1, 2, 3]
VERDICTS = ["static", "both", "emulator", "result", "harmless", "escaped", "invalid"]
PATIENCE = 10  # seconds until a peer counts as missing

EVENT = re.compile(r"\s*exec\.(record|wait) ")
COLLECTIVE = re.compile(r"\s*exec\.(all_reduce|all_gather|reduce_scatter|all_to_all|send|recv)\b")
# What is no command: addresses, views, temporaries.
DEFINITION = re.compile(r"\s*(%\S+) = ")
BLOCK_EDGE = re.compile(r"\s*(exec\.(function|program|task|buffer|yield)\b|}|return)")
STREAM = re.compile(r"(?<=on ) *(compute|tp|dp|forward|backward|tied|norm)\b")
AXIS = re.compile(r"(?<=over ) *(tp|dp)\b")


@dataclass
class Mutation:
    kind: str
    what: str
    line: int  # from 1, of the unchanged program
    text: str
    program: str

    def __str__(self):
        return f"line {self.line}: {self.what}: {self.text}"


class Program:
    """Its lines, and every mutation of them."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.sites = [i for i, line in enumerate(self.lines) if EVENT.match(line) or COLLECTIVE.match(line)]

    def neighbour(self, at, step):
        """The next command in the same block, if the one at `at` can go past it; None otherwise."""
        i = at + step
        while not BLOCK_EDGE.match(self.lines[i]):
            definition = DEFINITION.match(self.lines[i])
            if not definition:
                return i
            if step < 0 and re.search(re.escape(definition[1]) + r"\b", self.lines[at]):
                return None
            i += step
        return None

    def make(self, what, at, changes):
        """`changes` gives new lines for old ones; one may be several or none."""
        lines = [new for i, old in enumerate(self.lines) for new in changes.get(i, [old])]
        kind = f"{what.split()[0]} {'event' if EVENT.match(self.lines[at]) else 'communication'}"
        return Mutation(kind, what, at + 1, self.lines[at].strip()[:110], "\n".join(lines) + "\n")

    def moves(self, at):
        for step, what in (-1, "move before"), (1, "move behind"):
            other = self.neighbour(at, step)
            if other is not None:
                lines = [self.lines[at], self.lines[other]] if step < 0 else [self.lines[other], self.lines[at]]
                yield self.make(f"{what} \"{self.lines[other].strip()[:60]}\"", at, {at: [], other: lines})

    def swaps(self):
        """Neighbouring collectives of a block change places, the events around them stay."""
        for at in self.sites:
            other = at + 1
            while not BLOCK_EDGE.match(self.lines[other]) and not COLLECTIVE.match(self.lines[other]):
                other += 1
            between = [DEFINITION.match(line) for line in self.lines[at:other]]
            is_defined = any(d and re.search(re.escape(d[1]) + r"\b", self.lines[other]) for d in between)
            if COLLECTIVE.match(self.lines[at]) and COLLECTIVE.match(self.lines[other]) and not is_defined:
                yield self.make(f"swap with line {other + 1}", at, {at: [self.lines[other]], other: [self.lines[at]]})

    def renames(self, at, pattern, names):
        old = pattern.search(self.lines[at])
        for name in names if old else []:
            if name != old[1]:
                yield self.make(f"rename {old[1]} to {name}", at, {at: [self.lines[at][: old.start()] + name + self.lines[at][old.end() :]]})

    def mutations(self):
        for at in self.sites:
            yield self.make("remove", at, {at: []})
            yield from self.moves(at)
            if EVENT.match(self.lines[at]):
                yield from self.renames(at, STREAM, ["compute", "tp", "dp", "forward", "backward"])
            else:
                yield from self.renames(at, AXIS, ["tp", "dp"])
        yield from self.swaps()


class Bench:
    """Checks programs and runs them; each of `jobs` runs has a directory of its own."""

    def __init__(self, build, place, jobs):
        self.build, self.place = build, place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        self.call("p3dc", INPUTS / f"{MODEL}.mlir", *COMPILE, f"--dump={place}/levels", "-o", place / "out")
        self.program = (place / "levels" / "memory.mlir").read_text()
        self.relink(self.program, place / "out")
        self.free = queue.Queue()
        for job in range(jobs):
            shutil.copytree(place / "out", place / f"out{job}", symlinks=True)
            self.free.put(place / f"out{job}")
        self.numbers = self.train(place / "out", SEEDS[0])[1]

    def start(self, tool, *arguments, **variables):
        return subprocess.run([self.build / "bin" / tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, **variables})

    def call(self, tool, *arguments):
        done = self.start(tool, *arguments)
        if done.returncode != 0:
            sys.exit(f"mutations.py: {tool} exits {done.returncode}: {done.stdout}")

    def relink(self, program, out):
        path = out / "memory.mlir"
        path.write_text(program)
        self.call("p3d-relink", path, out)

    def train(self, out, seed):
        """(report of a run that fails, numbers of one that does not)"""
        weights = INPUTS / f"{MODEL}.safetensors"
        done = self.start("p3d-run", out, f"--steps={STEPS}", "--lr=0.001", f"--params={weights}", f"--data={weights}", f"--timeout={2 * PATIENCE}", "--deterministic",
                          f"--log={out}/log", f"--dump-grads={out}/grads", f"--export={out}/final",
                          LD_LIBRARY_PATH=str(self.build / "lib" / "emulator"), P3D_EMULATOR_DEVICES=str(RANKS),
                          P3D_EMULATOR_TIMEOUT=str(PATIENCE), P3D_EMULATOR_SEED=str(seed))
        if done.returncode != 0:
            reports = [line for line in done.stdout.splitlines() if line.startswith("emulator:")] or done.stdout.splitlines() or ["no output"]
            return reports[0], None
        losses = re.findall(r'"(?:loss|grad_norm)":[^,]*', (out / "log").read_text())
        return None, (losses, (out / "grads").read_bytes(), (out / "final").read_bytes())

    def judge(self, mutation, both):
        """(one of VERDICTS, what was said)"""
        out = self.free.get()
        try:
            (out / "checked.mlir").write_text(mutation.program)
            checked = self.start("p3dc-opt", "-p3d-verify-memory", "-p3d-verify-streams", out / "checked.mlir", "-o", "/dev/null")
            if checked.returncode != 0:
                message = re.search(r"error: (.*)", checked.stdout)
                # The mutation itself is then wrong: it has to leave a program.
                if "'exec." not in checked.stdout:
                    return "invalid", checked.stdout
                return self.confirm(mutation, out, message[1]) if both else ("static", message[1])
            self.relink(mutation.program, out)
            runs = []
            for seed in SEEDS:
                runs.append(self.train(out, seed))
                if len(runs) == 1 and runs[0][0]:
                    return "emulator", runs[0][0]
            return self.compare(runs)
        finally:
            self.free.put(out)

    def confirm(self, mutation, out, message):
        """What the emulator says of a program that was rejected with `message`."""
        self.relink(mutation.program, out)
        report, _ = self.train(out, SEEDS[0])
        return ("both", f"{message}\n          {report}") if report else ("static", message)

    def compare(self, runs):
        reports = [report for report, _ in runs if report]
        if reports:
            return "escaped", f"reported with some seeds only: {reports[0]}"
        if any(numbers != runs[0][1] for _, numbers in runs):
            return "escaped", "the numbers depend on the delays, and no race is reported"
        return ("harmless", "") if runs[0][1] == self.numbers else ("result", "other numbers")


def choose(mutations, count, seed):
    """`count` of them, as many of each kind as there are; all for 0."""
    kinds = {}
    for mutation in mutations:
        kinds.setdefault(mutation.kind, []).append(mutation)
    draw = random.Random(seed)
    for group in kinds.values():
        draw.shuffle(group)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
    return [mutation for mutation in turns if mutation][: count or len(mutations)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--count", type=int, default=200, help="mutations to try; 0 for all (200)")
    parser.add_argument("--seed", type=int, default=1, help="which (1)")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="at a time (2)")
    parser.add_argument("--both", action="store_true", help="also run what the static checks reject")
    parser.add_argument("--verbose", action="store_true", help="print each mutation, not only those that nobody notices")
    arguments = parser.parse_args()
    start, build = time.monotonic(), arguments.build.resolve()
    bench = Bench(build, build / "numerics" / f"mutations-{arguments.count}-{arguments.seed}", arguments.jobs)
    if bench.numbers is None:
        sys.exit(f"mutations.py: the unchanged program fails: {bench.train(bench.place / 'out', SEEDS[0])[0]}")
    every = list(Program(bench.program).mutations())
    chosen = choose(every, arguments.count, arguments.seed)
    counts = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for mutation, (verdict, said) in zip(chosen, pool.map(lambda mutation: bench.judge(mutation, arguments.both), chosen)):
            counts[mutation.kind][verdict] += 1
            if arguments.verbose or verdict in ("harmless", "escaped", "invalid"):
                print(f"{verdict:9} {mutation}" + (f"\n          {said}" if said else ""), flush=True)
    total = sum(counts.values(), collections.Counter())
    for what, count in [*sorted(counts.items()), ("all", total)]:
        print(f"{what:22}" + "".join(f"{count[verdict]:5} {verdict}" for verdict in VERDICTS))
    print(f"{len(chosen)} of {len(every)} mutations in {time.monotonic() - start:.0f} s")
    failed = total["escaped"] + total["invalid"]
    if not failed:
        shutil.rmtree(bench.place)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
