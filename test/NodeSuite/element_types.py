# SPDX-License-Identifier: Apache-2.0
"""Which element types each op of ONNX's takes: its own cases with one type parameter after another set to each type it may have.

element_types.py            writes docs/generated/onnx-types.md anew; a test compares
"""

import collections
import pathlib
import warnings

import hewn
import onnx
from onnx import TensorProto, defs
from onnx.backend.test.loader import load_model_tests

PAGE = pathlib.Path(__file__).parents[2] / "docs/generated/onnx-types.md"
# Types that no tensor of hewn's has.
NEVER = ("complex64", "complex128", "float6e2m3", "float6e3m2")
# Not tried: what another type would be another case for.
APART = {
    "BitCast": "both types are of one width",
    "LabelEncoder": "its attributes have the types",
    "TfIdfVectorizer": "its attributes have the types",
}
HEAD = """# Element types

What ops of ONNX's do not take, though ONNX lets them have it. All others take each type that ONNX gives them but complex numbers and floats
of six bits. Made by `test/NodeSuite/element_types.py`, which sets the types in ONNX's own cases of each op's last version, and compiles.

| op | parameter | does not take | since |
| --- | --- | --- | --- |
"""


def enum(name):
    return TensorProto.DataType.Value(name.upper())


def innermost(text):
    """What is in seq(..), optional(..) and tensor(..)."""
    while text.endswith(")"):
        text = text[text.index("(") + 1 : -1]
    return text


def allowed(constraint):
    """Names of element types; those of sequences and optional values too."""
    names = [innermost(t) for t in constraint.allowed_type_strs]
    return list(dict.fromkeys(n for n in names if n not in NEVER and n.upper() in TensorProto.DataType.keys()))


def cases():
    """Models of one node by op, of the last opset of each."""
    found = collections.defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes some of its cases with overflows
        loaded = load_model_tests(kind="node")
    for case in loaded:
        model = case.model or onnx.load(pathlib.Path(case.model_dir) / "model.onnx")
        if len(model.graph.node) == 1 and model.graph.node[0].op_type not in APART:
            found[model.graph.node[0].domain, model.graph.node[0].op_type].append(model)
    for (domain, op), models in sorted(found.items()):
        # What a body computes has types of its own ops.
        if any(a.type == onnx.AttributeProto.GRAPH for m in models for a in m.graph.node[0].attribute):
            continue
        versions = [next(o.version for o in m.opset_import if o.domain == domain) for m in models]
        schema = defs.get_schema(op, max(versions), domain)
        yield op, schema, [m for m, version in zip(models, versions) if version == max(versions)]


def tensor_types(type_proto):
    """The tensor type in a type, whatever it is in."""
    kind = type_proto.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        type_proto = getattr(type_proto, kind).elem_type
        kind = type_proto.WhichOneof("value")
    return [type_proto.tensor_type] if kind == "tensor_type" else []


def names_of(schema, node, letters):
    """The values of a node whose type one of the parameters is."""
    found = set()
    for formal, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for i, name in enumerate(names):
            if name and innermost(formal[min(i, len(formal) - 1)].type_str) in letters:
                found.add(name)
    return found


def with_type(model, schema, letters, name):
    """The model with another type, or None where nothing in it has the parameters'."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph, node = changed.graph, changed.graph.node[0]
    tensors = [
        tensor for v in graph.input if v.name in names_of(schema, node, letters) for tensor in tensor_types(v.type)
    ]
    for tensor in tensors:
        tensor.elem_type = enum(name)
    for attribute in node.attribute:
        if not tensors and attribute.name in ("to", "dtype", "output_dtype"):
            attribute.i = enum(name)
            tensors.append(attribute)
    for value in graph.output:
        value.type.Clear()  # it follows
    return changed if tensors else None


def refusal(models, schema, letters, name):
    """Why no case is compiled, '' where one is; None where none has the parameters."""
    reason = None
    for model in models:
        changed = with_type(model, schema, letters, name)
        if changed is None:
            continue
        try:
            hewn._compile(changed, emit="asm", target="x86-64-v2")
            return ""
        except hewn.CompileError as problem:
            reason = reason or str(problem).splitlines()[0].split("): ")[-1].removeprefix("error: ")
    return reason


def alike(schema, constraint):
    """This parameter, and those that may have the same element types: of a sequence and what is put into it."""
    return [c.type_param_str for c in schema.type_constraints if set(allowed(c)) == set(allowed(constraint))]


def rows():
    for op, schema, models in cases():
        for constraint in schema.type_constraints:
            refused = collections.defaultdict(list)
            for name in allowed(constraint):
                reason = refusal(models, schema, [constraint.type_param_str], name)
                if reason and refusal(models, schema, alike(schema, constraint), name):
                    refused[reason].append(name)
            for reason, names in refused.items():
                yield f"| {op} | {constraint.type_param_str} | {', '.join(names)} | {reason} |"


def page():
    apart = "".join(f"- {op}: {why}\n" for op, why in APART.items())
    listed = "".join(f"{row}\n" for row in rows())
    return f"{HEAD}{listed}\nNot tried:\n{apart}"


if __name__ == "__main__":
    PAGE.write_text(page())
