"""120, 31.4, 16.6 and 1.9 GB of parameters, gradients and optimizer state: a chain of 100 products of 75 million weights of bf16, by the plan of each stage of ZeRO."""
import re
import subprocess
import sys

LAYERS, WIDE, DEEP = 100, 10000, 7500
BYTES = {"bf16": 2, "f32": 4, "i32": 4}


def model():
    arguments = [f'%w{i}: tensor<{WIDE}x{DEEP}xbf16> loc("params[\'w{i}\']")' for i in range(LAYERS)]
    arguments.append(f'%x: tensor<64x{WIDE}xbf16> loc("batch[\'x\']")')
    yield f"func.func public @main({', '.join(arguments)}) -> tensor<f32> {{"
    value = "%x"
    for i in range(LAYERS):
        contracted, made = (0, DEEP) if i % 2 == 0 else (1, WIDE)
        yield (f"  %y{i} = stablehlo.dot_general {value}, %w{i}, contracting_dims = [1] x [{contracted}] : "
               f"(tensor<64x{WIDE if i % 2 == 0 else DEEP}xbf16>, tensor<{WIDE}x{DEEP}xbf16>) -> tensor<64x{made}xbf16>")
        value = f"%y{i}"
    last = WIDE if LAYERS % 2 == 0 else DEEP
    yield f"  %f = stablehlo.convert {value} : (tensor<64x{last}xbf16>) -> tensor<64x{last}xf32>"
    yield "  %zero = stablehlo.constant dense<0.0> : tensor<f32>"
    yield f"  %loss = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x{last}xf32>, tensor<f32>) -> tensor<f32>"
    yield "  return %loss : tensor<f32>"
    yield "}"


def gigabytes(zero):
    done = subprocess.run(["p3dc", "-", "--mesh=1x1x64", f"--zero={zero}", "--grad-reduce=bf16", "--emit=memory"], input="\n".join(model()),
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.stderr[:2000])
    total = 0
    for shape in re.findall(r"exec\.buffer +(?:parameter|gradient) @\S+ .*?memref<([^>]+)>", done.stdout):
        *dims, element = shape.split("x")
        elements = 1
        for size in dims:
            elements *= int(size)
        total += elements * BYTES[element]
    return total / 1e9


found = [round(gigabytes(zero), 1) for zero in range(4)]
if found != [120.0, 31.4, 16.6, 1.9]:
    sys.exit(f"GB of states by stage of ZeRO: {found}, expected 120, 31.4, 16.6, 1.9")
