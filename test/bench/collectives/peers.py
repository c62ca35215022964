"""What run measures beside p3dc: all-reduce of f32 by gloo between processes, and JAX's psum over devices of one process.

`python3 peers.py NAME RANKS` answers requests of standard input as p3d_collectives_bench does: OPERATION BYTES CALLS, a line each,
with the seconds of a call, after one call that is checked.
"""
import os
import sys
import tempfile
import time


def numbers(count):
    """Of rank 0; rank r has r + 1 times as much, so that sums over 32 ranks are exact."""
    import numpy
    return (numpy.arange(count) % 1021).astype(numpy.float32)


def gloo_rank(rank, ranks, store, requests, answers):
    """One process: reads requests from a pipe, and rank 0 answers for all behind the barrier that ends them."""
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    for line in requests:
        _, size, calls = line.split()
        expected = torch.from_numpy(numbers(int(size) // 4))
        data = expected * (rank + 1)
        dist.all_reduce(data)
        if not torch.equal(data, expected * (ranks * (ranks + 1) // 2)):
            raise SystemExit("gloo: a wrong sum")
        data.zero_()
        dist.all_reduce(data)
        dist.barrier()
        start = time.monotonic()
        for _ in range(int(calls)):
            dist.all_reduce(data)
        seconds = torch.tensor(time.monotonic() - start)
        dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
        if rank == 0:
            print(seconds.item() / int(calls), file=answers, flush=True)


def gloo(ranks):
    import torch.distributed  # once, for all processes forked below
    with tempfile.TemporaryDirectory() as directory:
        pipes, children = [], []
        for rank in range(ranks):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                for pipe in pipes:
                    pipe.close()
                os.close(writing)
                with open(reading) as requests:
                    gloo_rank(rank, ranks, f"{directory}/store", requests, sys.stdout)
                os._exit(0)
            os.close(reading)
            pipes.append(open(writing, "w"))
            children.append(child)
        for line in sys.stdin:
            for pipe in pipes:
                pipe.write(line)
                pipe.flush()
        for pipe in pipes:
            pipe.close()
        for child in children:
            os.waitpid(child, 0)


def psum(ranks):
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={ranks}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy
    from jax.sharding import NamedSharding, PartitionSpec
    mesh = jax.make_mesh((ranks,), ("ranks",))
    reduce = jax.jit(jax.shard_map(lambda part: jax.lax.psum(part, "ranks"), mesh=mesh, in_specs=PartitionSpec("ranks"),
                                   out_specs=PartitionSpec("ranks"), check_vma=False))
    for line in sys.stdin:
        _, size, calls = line.split()
        expected = numbers(int(size) // 4)
        whole = numpy.stack([expected * (rank + 1) for rank in range(ranks)])
        data = jax.device_put(whole, NamedSharding(mesh, PartitionSpec("ranks")))
        if not (numpy.asarray(reduce(data)) == expected * (ranks * (ranks + 1) // 2)).all():
            raise SystemExit("psum: a wrong sum")
        reduce(data).block_until_ready()
        start = time.monotonic()
        for _ in range(int(calls)):
            reduce(data).block_until_ready()
        print((time.monotonic() - start) / int(calls), flush=True)


if __name__ == "__main__":
    {"gloo": gloo, "psum": psum}[sys.argv[1]](int(sys.argv[2]))
