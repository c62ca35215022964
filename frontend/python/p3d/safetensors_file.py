"""Writes safetensors files with nothing but numpy: 8 bytes of header length, a JSON header, the tensors without gaps."""
import json
import struct

import numpy

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
    "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}


def write(path, tensors):
    """Writes `tensors`, a dictionary of arrays, under their names."""
    arrays = {name: numpy.asarray(array, order="C") for name, array in tensors.items()}
    header, offset = {}, 0
    for name, array in arrays.items():
        dtype = DTYPES.get(array.dtype.name)
        if dtype is None:
            raise TypeError(f"{name}: safetensors has no type for {array.dtype.name}")
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in arrays.values():
            file.write(array.tobytes())
