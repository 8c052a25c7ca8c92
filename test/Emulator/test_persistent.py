# SPDX-License-Identifier: Apache-2.0
"""Persistent kernels, whose blocks wait for each other at grid-wide barriers. Tests results, and
the effect of missing or early barriers."""

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
    """Returns two layers of the recurrent op. The second layer's outputs are the model's outputs;
    with `ends`, its final states are outputs too."""
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
    """Returns a chain of small matmuls. One matmul's result is used twice, and another one's only
    by a row-wise reduction."""
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
    """Returns a model of a backward scan with two states. With `shift`, a state takes the previous
    value of the other one. With `swap`, two more states exchange their values."""
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
    # In the wide models, the warps of a block share each reduction of a phase.
    "wide-rnn": recurrent("RNN", 1, directions=2, hidden=70, sequence=3),
    "wide-gru": recurrent("GRU", 3, hidden=70, sequence="n"),
    # In the large models, a row has more elements than a block has threads.
    "large-lstm": recurrent("LSTM", 4, hidden=200, sequence=3, ends=False),
    "large-gru": recurrent("GRU", 3, hidden=200, sequence=3, ends=False, linear_before_reset=1),
    "layers": layers(),
    "scan": scan(),
    # In the following scans, the loop of the persistent kernel copies its states between buffers.
    "scan-shift": scan(shift=True),
    "scan-swap": scan(swap=True),
    "large-scan-shift": scan(shift=True, width=400),
    "large-scan-swap": scan(swap=True, width=400),
    # In this model, the GEMM phases use fewer threads of a block than the other phases do.
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
        # The model runs twice, because the second run starts with the barrier counter that the
        # first run leaves.
        compare(module.run(feeds), want)


@pytest.mark.parametrize("name", ["scan", "scan-shift", "scan-swap"])
def test_no_steps(name):
    """For a sequence of length 0, the results of the recurrent model are the initial states."""
    reference = hewn.compile(MODELS[name])
    feeds = {"first": weights(2, 70), "x": np.zeros((0, 2, 70), np.float32)}
    with emulated.compiled(MODELS[name]) as module:
        compare(module.run(feeds), reference.run(feeds))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("sequence", [1, 2, 3])
@pytest.mark.parametrize("op, gates", [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_last_states_beside_another_loop(op, gates, sequence, target):
    """After an odd number of steps, a state is in the second of its two buffers, and the loop of
    the other direction writes there."""
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
    """Returns three matmuls of the same row, each followed by a softmax. A large value later in the
    model provides the memory to compute them in parallel."""
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
    """All matmuls run first, then all softmaxes, with one grid-wide barrier between them. Blocks
    prefetch weights while they wait at the first barrier."""
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
    """A phase with fewer threads than the block uses its own barrier for them. The other threads
    wait at the block's barrier."""
    few = re.compile(r"(@hewn\.simt\.barrier\.some\(i32 )1")
    assert is_caught(MODELS["mixed"], lambda text: few.sub(r"\g<1>0", text))
    assert "threads wait at one barrier with different thread counts" in capfd.readouterr().err


def test_copied_states():
    """Each step of the loop has two grid-wide barriers: one before its matmuls, which read the
    states of the previous step, and one before it overwrites these states."""
    name = "large-scan-shift"
    text = text_of(MODELS[name])
    loop = [found.span() for found in MEETING.finditer(text)][1:-1]
    assert len(loop) == 2
    for begin, end in loop:
        assert is_caught(MODELS[name], lambda text, begin=begin, end=end: text[:begin] + text[end:]), text[begin:end]


@pytest.mark.parametrize("name", MUTATED)
def test_meetings_wait_for_all(name):
    """The kernel gives wrong results if some grid-wide barrier expects one block less, if one block
    skips it, or if blocks do not wait at it."""
    for wrong in ("2147483646", "2147483645"):
        assert is_caught(MODELS[name], lambda text, wrong=wrong: text.replace("i32 -2147483647,", f"i32 -{wrong},"))
    assert is_caught(MODELS[name], lambda text: re.sub(r"icmp sgt (i32 %\d+, -1)", r"icmp eq \1", text))


# Models with resident weights: two consecutive loops, more tiles than blocks, and a single layer.
KEEPING = ["wide-rnn", "large-lstm", "wide-gru"]
KEEP = re.compile(r"^.*call void @joint\d+_\w+_keep\(.*\n", re.M)


@pytest.mark.parametrize("name", KEEPING)
def test_kept_constants(name):
    """The kernel loads resident weights into shared memory before the first step, in the order of
    the loops. Each step reads them there."""
    text = text_of(MODELS[name])
    places = [found.span() for found in KEEP.finditer(text)]
    assert places and len(re.findall(r"call void @joint\d+_\w+_kept\(", text)) == len(places)
    for begin, end in places:
        assert is_caught(MODELS[name], lambda text, begin=begin, end=end: text[:begin] + text[end:])
    # In this mutation of the kernel, each block loads the resident weights of another block.
    memory = re.compile(r"(define internal void @joint\d+_\w+_keep\(.*?)@hewn.simt.block\(\)", re.S)
    assert is_caught(MODELS[name], lambda text: memory.sub(r"\1@hewn.simt.blocks()", text))


def test_blocks_that_do_not_come(capfd):
    """If blocks do not reach some grid-wide barrier, the emulator reports the blocks that wait
    there."""
    lacking = re.compile(r"select i1 (%\d+), i32 (%\d+), i32 1")
    mutated = emulated.mutated(lambda text: lacking.sub(r"select i1 \1, i32 \2, i32 0", text))
    with mutated, emulated.compiled(MODELS["layers"]) as module:
        with pytest.raises(hewn.RunError, match="unspecified launch failure"):
            module.run(feeds_for(module.inputs))
        del module
    assert "3 blocks wait for others, of which 0 have ended" in capfd.readouterr().err


def test_devices_that_run_no_such_kernels():
    is_refused = pytest.raises(hewn.RunError, match="cooperative launches")
    with emulated.setting("FAIL", "no-meetings"), is_refused, emulated.compiled(MODELS["layers"]):
        pass


def test_a_view_of_what_the_host_makes():
    """A view of a value that the host computes stands between two launches of a persistent kernel.
    The view is neither in device memory nor an argument of the kernel."""
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
    """Kernels that run longer than a launch takes are not merged into a persistent kernel, so that
    each of them can use any number of blocks."""
    nodes = [helper.make_node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(3)]
    large = model(nodes, [("x0", TensorProto.FLOAT, [2048, 2048])], [("x3", FLOAT)], w=weights(2048, 2048))
    assert "_joint" not in text_of(large)
    assert "_joint" in text_of(layers())


def text_of(some):
    with emulated.compiled(some) as module:
        return module.artifact.with_suffix(".ll").read_text()
