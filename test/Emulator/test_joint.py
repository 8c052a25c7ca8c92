# SPDX-License-Identifier: Apache-2.0
"""Kernels of several launches, whose blocks wait for each other: numbers, and what a meeting too few or too early does."""

import re

import emulated
import hewn
import numpy as np
import pytest
from comparison import compare, feeds_for
from mutation import SCHEDULES, is_caught, on_host
from onnx import TensorProto, helper
from test_ptx import FLOAT, model

RANDOM = np.random.default_rng(3)


def weights(*shape):
    return (RANDOM.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def recurrent(op, mbarriers, directions=1, sequence=6, hidden=40, ends=True, **attributes):
    """Two layers of it, with all outputs of the second, its states' last values too if `ends`."""
    initial = {"h": weights(directions, 2, hidden)} | ({"c": weights(directions, 2, hidden)} if op == "LSTM" else {})
    nodes, constants, x, size = [], dict(initial), "x", 24
    outputs = ["y"] + (["last"] if ends else []) + (["cell"] if ends and op == "LSTM" else [])
    for layer in range(2):
        constants |= {
            f"w{layer}": weights(directions, mbarriers * hidden, size),
            f"r{layer}": weights(directions, mbarriers * hidden, hidden),
            f"b{layer}": weights(directions, 2 * mbarriers * hidden),
        }
        names = [f"{name}{layer}" for name in outputs] if layer == 0 else outputs
        nodes.append(
            helper.make_node(
                op,
                [x, f"w{layer}", f"r{layer}", f"b{layer}", "", *initial],
                names,
                hidden_size=hidden,
                direction="bidirectional" if directions == 2 else "forward",
                **attributes,
            )
        )
        constants["shape"] = np.array([0, 0, -1])
        nodes.append(helper.make_node("Transpose", [names[0]], [f"t{layer}"], perm=[0, 2, 1, 3]))
        nodes.append(helper.make_node("Reshape", [f"t{layer}", "shape"], [f"z{layer}"]))
        x, size = f"z{layer}", directions * hidden
    return model(nodes, [("x", FLOAT, [sequence, 2, 24])], [(name, FLOAT) for name in outputs], **constants)


def layers():
    """Small products one behind the other, of which one is read twice, and one by nobody else than a sum of rows."""
    constants = {f"w{i}": weights(96, 96) for i in range(3)}
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w1"], ["c"]),
        helper.make_node("MatMul", ["b", "w2"], ["d"]),
        helper.make_node("Softmax", ["c"], ["e"]),
        helper.make_node("Mul", ["e", "d"], ["y"]),
    ]
    return model(nodes, [("x", FLOAT, [2, 96])], [("y", FLOAT), ("b", FLOAT)], **constants)


def scan(shift=False, swap=False, width=70):
    """Two states, one of them of a computed value, from the end of the sequence; shift: one takes the other's last value, swap: two
    more change places."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["s", "w"], ["m"]),
            helper.make_node("Add", ["m", "x_t"], ["a"]),
            helper.make_node("Tanh", ["a"], ["s_out"]),
            helper.make_node("Identity", ["s"], ["t_out"]) if shift else helper.make_node("Add", ["t", "s"], ["t_out"]),
            helper.make_node("Mul", ["s_out", "t"], ["y_t" if not swap else "p_t"]),
            *(
                [
                    helper.make_node("Sub", ["p_t", "a_in"], ["y_t"]),
                    helper.make_node("Identity", ["b_in"], ["a_out"]),
                    helper.make_node("Identity", ["a_in"], ["b_out"]),
                ]
                if swap
                else []
            ),
        ],
        "body",
        [value(name, FLOAT, [2, width]) for name in ["s", "t", *(["a_in", "b_in"] if swap else []), "x_t"]],
        [value(name, FLOAT, [2, width]) for name in ["s_out", "t_out", *(["a_out", "b_out"] if swap else []), "y_t"]],
        [helper.make_tensor("w", FLOAT, [width, width], weights(width, width).tobytes(), raw=True)],
    )
    nodes = [
        helper.make_node("Mul", ["first", "first"], ["begin"]),
        helper.make_node(
            "Scan",
            ["begin", "zero", *(["first", "begin"] if swap else []), "x"],
            ["s_end", "t_end", *(["a_end", "b_end"] if swap else []), "y"],
            body=body,
            num_scan_inputs=1,
            scan_input_directions=[1],
            scan_output_directions=[1],
        ),
    ]
    inputs = [("first", FLOAT, [2, width]), ("x", FLOAT, ["n", 2, width])]
    outputs = [(name, FLOAT) for name in ["s_end", "t_end", *(["a_end", "b_end"] if swap else []), "y"]]
    return model(nodes, inputs, outputs, zero=np.zeros((2, width), np.float32))


MODELS = {
    "lstm": recurrent("LSTM", 4),
    "lstm-both-ways": recurrent("LSTM", 4, directions=2),
    "lstm-of-any-length": recurrent("LSTM", 4, sequence="n"),
    "gru": recurrent("GRU", 3, linear_before_reset=1),
    "gru-reset-before": recurrent("GRU", 3),
    "rnn": recurrent("RNN", 1, directions=2),
    # Sums that blocks share by warps.
    "wide-rnn": recurrent("RNN", 1, directions=2, hidden=70, sequence=3),
    "wide-gru": recurrent("GRU", 3, hidden=70, sequence="n"),
    # More elements than a block has threads.
    "large-lstm": recurrent("LSTM", 4, hidden=200, sequence=3, ends=False),
    "large-gru": recurrent("GRU", 3, hidden=200, sequence=3, ends=False, linear_before_reset=1),
    "layers": layers(),
    "scan": scan(),
    # States that are copied from one place to another.
    "scan-shift": scan(shift=True),
    "scan-swap": scan(swap=True),
    "large-scan-shift": scan(shift=True, width=400),
    "large-scan-swap": scan(swap=True, width=400),
    # Products of matrices, whose blocks have fewer threads, between what has others.
    "mixed": model(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Softmax", ["a"], ["b"], axis=0),
            helper.make_node("MatMul", ["b", "v"], ["y"]),
        ],
        [("x", FLOAT, [40, 64])],
        [("y", FLOAT)],
        w=weights(64, 96),
        v=weights(96, 64),
    ),
}


def launches_of(module, feeds):
    before = emulated.DRIVER.emulator_launches()
    result = module.run(feeds)
    return result, emulated.DRIVER.emulator_launches() - before


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", MODELS)
def test_one_kernel(name, schedule):
    feeds, want = on_host(MODELS[name])
    with emulated.compiled(MODELS[name]) as module, emulated.setting("SCHEDULE", schedule):
        got, launches = launches_of(module, feeds)
        compare(got, want)
        assert launches == 1
        compare(module.run(feeds), want)  # with the counter as the first run has left it


@pytest.mark.parametrize("name", ["scan", "scan-shift", "scan-swap"])
def test_no_steps(name):
    """States are what they began as."""
    reference = hewn.compile(MODELS[name])
    feeds = {"first": weights(2, 70), "x": np.zeros((0, 2, 70), np.float32)}
    with emulated.compiled(MODELS[name]) as module:
        compare(module.run(feeds), reference.run(feeds))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("sequence", [1, 2, 3])
@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_last_states_beside_another_loop(op, gates, sequence, target):
    """After an odd number of turns a state is not in its own place, and the other direction writes where it is then."""
    names = ["", "last"] + (["cell"] if op == "LSTM" else [])
    constants = {"w": weights(2, gates * 3, 2), "r": weights(2, gates * 3, 3)}
    node = helper.make_node(op, ["x", "w", "r"], names, hidden_size=3, direction="bidirectional")
    small = model([node], [("x", FLOAT, [sequence, 1, 2])], [(name, FLOAT) for name in names[1:]], **constants)
    feeds, want = on_host(small)
    with emulated.compiled(small, target) as module:
        compare(module.run(feeds), want)


MEETING = re.compile(r"^.*call void @joint\d+_meet\w*\(.*\n", re.M)
MUTATED = ["large-lstm", "large-gru", "layers", "mixed"]


@pytest.mark.parametrize("name", MUTATED)
def test_every_meeting_is_needed(name):
    text = text_of(MODELS[name])
    places = [found.span() for found in MEETING.finditer(text)]
    assert places
    for begin, end in places:
        assert is_caught(MODELS[name], lambda text, begin=begin, end=end: text[:begin] + text[end:]), text[begin:end]


def attention_inputs(width=96):
    """Three products of the same row, with a function behind each, and a wide value later on: else they would need more memory at once."""
    constants = {name: weights(width, width) for name in "qkv"} | {"w": weights(width, 1024), "z": weights(1024, 8)}
    nodes = [
        helper.make_node("Softmax", ["x"], ["n"]),
        helper.make_node("MatMul", ["n", "q"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"]),
        helper.make_node("MatMul", ["n", "k"], ["c"]),
        helper.make_node("Softmax", ["c"], ["d"]),
        helper.make_node("MatMul", ["n", "v"], ["e"]),
        helper.make_node("Concat", ["b", "d", "e"], ["f"], axis=0),
        helper.make_node("MatMul", ["f", "w"], ["g"]),
        helper.make_node("Softmax", ["g"], ["h"]),
        helper.make_node("MatMul", ["h", "z"], ["y"]),
    ]
    return model(nodes, [("x", FLOAT, [1, width])], [("y", FLOAT)], **constants)


def test_readers_of_one_value_meet_once():
    """All products, then all functions of them; while the first meeting lasts, blocks ask for weights."""
    built = attention_inputs()
    parts = re.findall(r"^ +call void @joint\d+_(\w+)\(", text_of(built), re.M)
    first = next(i for i, part in enumerate(parts) if part.startswith("matmul"))
    assert parts[first - 1] == "meet_prefetching"
    assert all(part.startswith("matmul") for part in parts[first : first + 3]), parts
    feeds, want = on_host(built)
    for schedule in SCHEDULES:
        with emulated.compiled(built) as module, emulated.setting("SCHEDULE", schedule):
            compare(module.run(feeds), want)


def test_parts_have_a_barrier_of_their_own(capfd):
    """Threads that are no part of it wait at the block's."""
    few = re.compile(r"(@hewn\.grid\.barrier\.some\(i32 )1")
    assert is_caught(MODELS["mixed"], lambda text: few.sub(r"\g<1>0", text))
    assert "threads come to one barrier for different numbers of them" in capfd.readouterr().err


def test_copied_states():
    """A step meets before its products, which read what the last one has handed over, and before it hands over what they read."""
    name = "large-scan-shift"
    text = text_of(MODELS[name])
    loop = [found.span() for found in MEETING.finditer(text)][1:-1]
    assert len(loop) == 2
    for begin, end in loop:
        assert is_caught(MODELS[name], lambda text, begin=begin, end=end: text[:begin] + text[end:]), text[begin:end]


@pytest.mark.parametrize("name", MUTATED)
def test_meetings_wait_for_all(name):
    """One block less is waited for, or one that does not come; those that wait don't look."""
    for wrong in ("2147483646", "2147483645"):
        assert is_caught(MODELS[name], lambda text, wrong=wrong: text.replace("i32 -2147483647,", f"i32 -{wrong},"))
    assert is_caught(MODELS[name], lambda text: re.sub(r"icmp sgt (i32 %\d+, -1)", r"icmp eq \1", text))


# Constants that blocks keep: of two loops one after another whose last part reads them, of more places than blocks, of one layer.
KEEPING = ["wide-rnn", "large-lstm", "wide-gru"]
KEEP = re.compile(r"^.*call void @joint\d+_\w+_keep\(.*\n", re.M)


@pytest.mark.parametrize("name", KEEPING)
def test_kept_constants(name):
    """They come before the first step, each to its own loop, and are read in each."""
    text = text_of(MODELS[name])
    places = [found.span() for found in KEEP.finditer(text)]
    assert places and len(re.findall(r"call void @joint\d+_\w+_kept\(", text)) == len(places)
    for begin, end in places:
        assert is_caught(MODELS[name], lambda text, begin=begin, end=end: text[:begin] + text[end:])
    # A block takes the places of another one for its own.
    memory = re.compile(r"(define internal void @joint\d+_\w+_keep\(.*?)@hewn.grid.block\(\)", re.S)
    assert is_caught(MODELS[name], lambda text: memory.sub(r"\1@hewn.grid.blocks()", text))


def test_blocks_that_do_not_come(capfd):
    """Where a meeting lacks some, who waits is found out."""
    lacking = re.compile(r"select i1 (%\d+), i32 (%\d+), i32 1")
    with emulated.mutated(lambda text: lacking.sub(r"select i1 \1, i32 \2, i32 0", text)):
        with emulated.compiled(MODELS["layers"]) as module:
            with pytest.raises(hewn.RunError, match="unspecified launch failure"):
                module.run(feeds_for(module.inputs))
            del module
    assert "3 blocks wait for others, of which 0 have ended" in capfd.readouterr().err


def test_devices_that_run_no_such_kernels():
    with emulated.setting("FAIL", "no-meetings"), pytest.raises(hewn.RunError, match="blocks wait for each other"):
        with emulated.compiled(MODELS["layers"]):
            pass


def test_a_view_of_what_the_host_makes():
    """Between launches that are joined; what it shows is no memory of the device, and no argument."""
    scattered = {"data": weights(3, 3), "places": RANDOM.integers(0, 3, (3, 3)), "updates": weights(3, 3)}
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[2, 0, 1]),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
        helper.make_node("ScatterElements", list(scattered), ["c"], axis=0),
        helper.make_node("Relu", ["b"], ["y"]),
        helper.make_node("Flatten", ["c"], ["z"], axis=0),
        helper.make_node("OneHot", ["indices", "depth", "values"], ["w"], axis=0),
    ]
    constants = scattered | {"indices": np.array([[1, 3]]), "depth": np.array(3), "shape": np.array([4, 30])}
    inputs = [("x", FLOAT, [5, 6, 4]), ("values", FLOAT, [2])]
    made = model(nodes, inputs, [(name, FLOAT) for name in "yzw"], **constants)
    feeds, want = on_host(made)
    with emulated.compiled(made) as module:
        compare(module.run(feeds), want)


def test_large_work_stays_alone():
    """What takes longer than launches cost has all blocks that it wants."""
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(3)]
    large = model(nodes, [("x0", TensorProto.FLOAT, [2048, 2048])], [("x3", FLOAT)], w=weights(2048, 2048))
    assert "_joint" not in text_of(large)
    assert "_joint" in text_of(layers())


def text_of(some):
    with emulated.compiled(some) as module:
        return module.artifact.with_suffix(".ll").read_text()
