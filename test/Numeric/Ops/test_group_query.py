# SPDX-License-Identifier: Apache-2.0
"""com.microsoft's GroupQueryAttention, compared with onnxruntime."""

import hewn
import numpy as np
import pytest
from onnx import TensorProto, helper
from sessions import oracle

SIZE, LONGEST = 16, 64


def floats(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def tables(turned):
    angles = np.arange(LONGEST)[:, None] / 100.0 ** (np.arange(turned // 2) / turned)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class Case:
    """A case has `past` entries in a cache of capacity `room`, and `new` entries. A sequence of the
    batch may be shorter by up to `behind`."""

    def __init__(
        self, past, new, room=None, heads=4, kv=2, behind=(0,), rotary=0, packed=False, bias=False, **attributes
    ):
        self.past, self.new, self.room = past, new, past if room is None else room
        self.heads, self.kv, self.behind, self.packed, self.rotary = heads, kv, behind, packed, rotary
        self.attributes = {"num_heads": heads, "kv_num_heads": kv, **attributes}
        batch, total = len(behind), past + new
        feeds = {
            "q": floats(batch, new, heads * SIZE, seed=1),
            "k": floats(batch, new, kv * SIZE, seed=2),
            "v": floats(batch, new, kv * SIZE, seed=3),
            "pk": floats(batch, kv, self.room, SIZE, seed=4),
            "pv": floats(batch, kv, self.room, SIZE, seed=5),
            "lengths": np.array([total - 1 - b for b in behind], np.int32),
            "total": np.array([total], np.int32),
        }
        if packed:
            feeds["q"] = np.concatenate([feeds.pop("q"), feeds.pop("k"), feeds.pop("v")], 2)
        if rotary:
            feeds["cos"], feeds["sin"] = tables(rotary)
            self.attributes["do_rotary"] = 1
        if bias:
            feeds["bias"] = floats(1, 1, new, max(total, self.room), seed=6)
        self.feeds = feeds

    def model(self, symbols):
        names = ["q", "k", "v", "pk", "pv", "lengths", "total", "cos", "sin", "", "bias"]
        names = [n if n in self.feeds else "" for n in names]
        while not names[-1]:
            names.pop()
        dims = {"q": ("b", "s", 0), "k": ("b", "s", 0), "v": ("b", "s", 0), "lengths": ("b",), "bias": (0, 0, "s", "t")}
        dims |= {"pk": ("b", 0, "p", 0), "pv": ("b", 0, "p", 0)}
        inputs = []
        for name, value in self.feeds.items():
            shape = value.shape
            if symbols and name in dims:
                shape = [d or size for d, size in zip(dims[name], shape)]
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, shape))
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "k1", "v1")]
        node = helper.make_node(
            "GroupQueryAttention", names, ["y", "k1", "v1"], domain="com.microsoft", **self.attributes
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "group_query", inputs, outputs)
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


CASES = {
    "prompt": Case(0, 7),
    "prompt-padded": Case(0, 7, behind=(0, 3, 6), rotary=16),
    "decode": Case(9, 1, rotary=16),
    "decode-batch": Case(9, 1, behind=(0, 4, 8), rotary=16),
    "several": Case(5, 3, rotary=16),
    "room": Case(9, 1, room=32, behind=(0, 4), rotary=16),
    "packed": Case(9, 1, packed=True, rotary=16, rotary_interleaved=1),
    "window": Case(20, 1, local_window_size=6, rotary=16),
    "window-prompt": Case(0, 20, local_window_size=6),
    "one-kv": Case(6, 1, heads=6, kv=1, scale=0.3),
    "softcap": Case(6, 1, softcap=2.0),
    "bias": Case(6, 2, bias=True),
}


@pytest.mark.parametrize("symbols", [False, True], ids=["fixed", "symbols"])
@pytest.mark.parametrize("name", CASES)
def test_beside_onnxruntime(name, symbols):
    case = CASES[name]
    y, k, v = oracle(case.model(True), case.feeds)
    got = hewn.compile(case.model(symbols)).run(case.feeds)
    for b, behind in enumerate(case.behind):
        reached = case.past + case.new - behind
        # The comparison omits results after a sequence's end: ONNX does not define them for queries
        # and keys that are padding.
        queries = min(case.new, reached)
        np.testing.assert_allclose(got["y"][b, :queries], y[b, :queries], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got["k1"][b, :, :reached], k[b, :, :reached], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got["v1"][b, :, :reached], v[b, :, :reached], rtol=1e-4, atol=1e-5)
    assert got["k1"].shape == k.shape


def test_lengths_that_are_wrong():
    """Sequence lengths larger than the number of keys, or than the table of rotary angles, are
    errors."""
    for case in (Case(9, 1), Case(LONGEST, 1, rotary=16)):
        module = hewn.compile(case.model(True))
        with pytest.raises(hewn.RunError, match="is above the highest valid value"):
            module.run(case.feeds if case.rotary else {**case.feeds, "lengths": np.array([1000], np.int32)})


def test_what_is_refused():
    with pytest.raises(hewn.CompileError, match="smooth softmax"):
        hewn.compile(Case(9, 1, smooth_softmax=1).model(False))
