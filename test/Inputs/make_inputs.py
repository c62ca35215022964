#!/usr/bin/env python3
"""Makes the inputs of the tests from a directory of model fixtures: python3 make_inputs.py FIXTURES [DIRECTORY]

FIXTURES holds NAME.mlir, NAME.json, NAME.safetensors, NAME.golden.safetensors and NAME.golden64.safetensors. The text, the
weights and the batch are copied; the two files of goldens become one, a third as large. README.md here says what it holds.
"""
import array
import json
import shutil
import struct
import sys
from pathlib import Path

TEXT_ONLY = ["gpt2_124m", "llama3_70b_scan"]


def read(path):
    """The tensors of a safetensors file: {name: (dtype, shape, bytes)}."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
    return tensors


def write(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def to_bf16(value):
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def gradient(shape, data, is_bf16):
    """F64 rounded to F32 (3e-8), or to BF16 (2e-3) where the limits are those of bf16 arithmetic."""
    values = array.array("d", data)
    if is_bf16:
        return ("BF16", shape, array.array("H", map(to_bf16, values)).tobytes())
    return ("F32", shape, array.array("f", values).tobytes())


def change(final, start):
    """The weights after training as what was added to those at the start, in steps of the largest change / 32767."""
    shape = final[1]
    moved = [b - a for a, b in zip(array.array("f", start[2]), array.array("f", final[2]))]
    step = max(map(abs, moved)) / 32767 or 1.0
    steps = array.array("h", (round(delta / step) for delta in moved))
    return ("I16", shape, steps.tobytes()), ("F64", [], struct.pack("<d", step))


def golden(fixtures, name, is_bf16):
    numbers = read(fixtures / f"{name}.golden.safetensors")
    start = read(fixtures / f"{name}.safetensors")
    kept = ["loss.f64", "loss.f32", "grad_norm64", "train.loss", "train.grad_norm"]
    result = {key: numbers[key] for key in kept}
    for key, (_, shape, data) in sorted(read(fixtures / f"{name}.golden64.safetensors").items()):
        result[key] = gradient(shape, data, is_bf16)
    if not is_bf16:
        for key in sorted(key for key in numbers if key.startswith("final.")):
            parameter = key.removeprefix("final.")
            steps, step = change(numbers[key], start[f"params.{parameter}"])
            result[f"change.{parameter}"], result[f"change_step.{parameter}"] = steps, step
    return result


def main():
    fixtures = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent
    names = sorted(path.name.removesuffix(".golden.safetensors") for path in fixtures.glob("*.golden.safetensors"))
    for name in names + TEXT_ONLY:
        for kind in ["mlir", "json"] + ([] if name in TEXT_ONLY else ["safetensors"]):
            shutil.copyfile(fixtures / f"{name}.{kind}", target / f"{name}.{kind}")
    for name in names:
        is_bf16 = json.loads((target / f"{name}.json").read_text())["hyper"].get("bf16", False)
        write(target / f"{name}.golden.safetensors", golden(fixtures, name, is_bf16))


if __name__ == "__main__":
    main()
