#!/usr/bin/env python3
"""Writes a safetensors file with one fault: edit_tensors.py IN OUT KIND [NAME [VALUE]]

KIND: drop NAME; reshape NAME (reversed dimensions); retype NAME (halved to F16); set NAME VALUE (its first element, an int32);
header (a length that the file does not have); cut (the last bytes missing).
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Inputs"))
sys.dont_write_bytecode = True
import make_inputs

source, target, kind, name, value = (sys.argv[1:] + [None] * 2)[:5]
if kind in ("header", "cut"):
    data = Path(source).read_bytes()
    Path(target).write_bytes(struct.pack("<Q", 1 << 40) + data[8:] if kind == "header" else data[:-1000])
    sys.exit()
tensors = make_inputs.read(Path(source))
dtype, shape, data = tensors.pop(name)
if kind == "reshape":
    tensors[name] = dtype, shape[::-1], data
elif kind == "retype":
    tensors[name] = "F16", shape, data[: len(data) // 2]
elif kind == "set":
    tensors[name] = dtype, shape, struct.pack("<i", int(value)) + data[4:]
make_inputs.write(Path(target), tensors)
