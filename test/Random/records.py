# SPDX-License-Identifier: Apache-2.0
"""Lists the ops that hewn imports, with their op category. Reads the ONNX records of dialects/Graph
and ONNX's schemas."""

import dataclasses
import functools
import json
import pathlib
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx

ROOT = pathlib.Path(__file__).parents[2]
KINDS = ("Elementwise", "Reduce", "Move", "Contract", "Part", "CountingPart")

# Element types by their names in ONNX's schemas. Strings and complex numbers are not included.
TYPES = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "bool": np.dtype(np.bool_),
    "float8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "float4e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "int2": np.dtype(ml_dtypes.int2),
    "uint2": np.dtype(ml_dtypes.uint2),
    "int4": np.dtype(ml_dtypes.int4),
    "uint4": np.dtype(ml_dtypes.uint4),
} | {f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
F16, F32, F64, BF16 = TYPES["float16"], TYPES["float"], TYPES["double"], TYPES["bfloat16"]
FLOATS = (F32, F16, BF16, F64)
INTS = tuple(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (64, 32, 16, 8))
BOOL, I64, I32, I8, U8 = (np.dtype(t) for t in (np.bool_, np.int64, np.int32, np.int8, np.uint8))
# Element types that ONNX's ops store, cast, copy and quantize, but in which no op computes.
STORED = tuple(t for n, t in TYPES.items() if n.startswith(("float8", "float4", "int2", "uint2", "int4", "uint4")))

# Ops that are in ONNX's domain, but that only onnxruntime defines.
UNSPECIFIED = ("SimplifiedLayerNormalization",)


def version_of(domain):
    """Returns the opset version for nodes of a domain other than ONNX's own."""
    return 4 if domain == "ai.onnx.ml" else 1


@dataclasses.dataclass(frozen=True)
class Op:
    """An op as a given opset defines it. `schema` is None if ONNX does not define the op
    (com.microsoft)."""

    domain: str
    name: str
    kind: str
    schema: object

    @property
    def full(self):
        return f"{self.domain}.{self.name}" if self.domain else self.name

    def types(self, letter="T"):
        """Returns the element types that a type parameter allows."""
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == letter:
                return [TYPES[t[7:-1]] for t in constraint.allowed_type_strs if t[7:-1] in TYPES]
        raise KeyError(f"{self.full} has no type parameter {letter}")

    def has_input(self, name):
        return any(i.name == name for i in self.schema.inputs)


@functools.cache
def rows():
    """Returns the ONNX records, each with the category of its graph op, or with '' if the importer
    decomposes the op into others."""
    sys.path.append(str(ROOT / "tools/generate"))
    import onnx_table

    tblgen = shutil.which("llvm-tblgen-22")
    include = pathlib.Path(tblgen).resolve().parents[1] / "include"
    command = [tblgen, "--dump-json", f"-I{include}", f"-I{ROOT}", str(ROOT / "dialects/Graph/Graph.td")]
    defs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    ops = {f"graph.{defs[name]['opName']}": defs[name] for name in defs["!instanceof"]["GraphOp"]}
    table = onnx_table.Table(defs).rows
    for row in table:
        classes = ops[row["graph"]]["!superclasses"] if row["graph"] else []
        row["kind"] = next((kind for kind in KINDS if kind in classes), "")
    return table


@functools.cache
def ops_of(opset):
    """Returns all ops that hewn imports from models of an opset, by full name."""
    found = {}
    for row in rows():
        version = opset if row["domain"] == "" else version_of(row["domain"])
        if row["since"] > version or (row["until"] and row["until"] < version):
            continue
        schema = None
        if row["domain"] != "com.microsoft":
            try:
                version = opset if row["domain"] == "" else onnx.defs.onnx_opset_version()
                schema = onnx.defs.get_schema(row["op"], version, row["domain"])
            except onnx.defs.SchemaError:
                if row["op"] not in UNSPECIFIED:
                    continue
            if schema is not None and schema.deprecated:
                continue
        op = Op(row["domain"], row["op"], row["kind"], schema)
        found[op.full] = op
    return found
