# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/reference/invalid-input.md: which indices, lengths, axes and sizes of an op are
valid. Each row has a model, invalid values and the valid values next to them.

`python rows.py` prints the tables of the page.
"""

import functools
from dataclasses import dataclass, field

import numpy as np

F, I64, J = np.float32, np.int64, np.int32
FAR = 2**63 - 1


def ramp(*shape, dtype=F):
    """Returns the numbers 1, 2, 3, ... in this shape."""
    return np.arange(1, np.prod(shape, dtype=int) + 1).astype(dtype).reshape(shape)


def wave(*shape):
    """Returns floats in [-1, 1]."""
    return np.sin(ramp(*shape)).astype(F)


def ints(*values, dtype=I64):
    return np.array(values, dtype)


def scalar(value, dtype=I64):
    return np.array(value, dtype)


@dataclass
class Row:
    """An operand (or attribute) with a valid range.

    `text` are the nodes of a model in ONNX's text format. `inputs` are the arrays of its inputs;
    `varied` names the one that has the values `bad` and `good`. For an attribute, `varied` is empty
    and the values replace `{}` in `text`.
    """

    op: str
    operand: str
    valid: str  # the valid range, as the page states it
    text: str
    inputs: dict
    varied: str = ""
    bad: list = field(default_factory=list)
    good: list = field(default_factory=list)
    why: str = ""  # a pattern of the error message
    constant: bool = True  # an invalid constant is an error when compiling; otherwise, in the run
    dims: bool = True  # also compile the model with symbolic dims
    oracle: str = "reference"  # or onnxruntime, or numpy: `expected`
    expected: object = None  # function of the inputs
    opset: int = 23
    ir: int = 10

    @property
    def name(self):
        return f"{self.op}-{self.operand}".replace(" ", "_")

    def cases(self, value):
        """Returns the text and the inputs of the model for a value."""
        if self.varied:
            return self.text, {**self.inputs, self.varied: value}
        return self.text.replace("{}", value), self.inputs


def outside(values, highest):
    """Returns a pattern of the messages for values outside of [0, highest]."""
    run = f"above the highest valid value, {highest}|below the lowest valid value, 0"
    return f"value ({values}) is (outside of \\[0, {highest}\\]|{run})"


def recurrent(op, gates):
    outputs = "y, h"
    inputs = {"x": wave(3, 2, 4), "w": wave(1, gates * 5, 4), "r": wave(1, gates * 5, 5)}
    text = f"{outputs} = {op} <hidden_size = 5> (x, w, r, , lens)"
    return Row(
        op,
        "sequence_lens",
        "[0, seq_length]",
        text,
        inputs,
        "lens",
        [ints(4, 1, dtype=J), ints(3, -1, dtype=J)],
        [ints(3, 1, dtype=J), ints(0, 3, dtype=J)],
        outside("4|-1", 3),
        oracle="onnxruntime",
    )


def labels(op, attributes, bad, good):
    text = f"y = {op} <{attributes}> (x, labels)" if attributes else f"y = {op} (x, labels)"
    return text, {"x": wave(3, 5)}, "labels", bad, good


def inserted(x, position):
    tensors = [x, x]
    tensors.insert(int(position), -x)
    return np.concatenate(tensors)


def padded(x, pads, **how):
    """Pads x; negative pads remove elements first."""
    low, high = pads[: x.ndim], pads[x.ndim :]
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape))]
    return np.pad(x, [(max(a, 0), max(b, 0)) for a, b in zip(low, high)], **how)


X = ramp(4, 3)
CACHE = {"past": ramp(2, 6, 3), "update": ramp(2, 2, 3)}
BOXES = np.array([[0, 0, 2, 2], [1, 1, 3, 3]], F)
ANGLES = {"x": wave(2, 1, 3, 4), "cos": wave(5, 2), "sin": wave(5, 2)}
HEADS = {"q": wave(2, 3, 8), "k": wave(2, 4, 8), "v": wave(2, 4, 8)}
GQA = {
    "q": wave(2, 1, 8),
    "k": wave(2, 1, 8),
    "v": wave(2, 1, 8),
    "pk": wave(2, 2, 4, 4),
    "pv": wave(2, 2, 4, 4),
    "total": scalar(4, J),
}
EMBED = {"words": wave(5, 4), "places": wave(3, 4), "g": wave(4), "b": wave(4)}
BACK = "index (4|-5|-6|5) is outside of a dim of"
AXIS = "axis|axes|dim"
SEQUENCE = "s = SequenceConstruct(x, x)"
NMS = {"boxes": ramp(1, 3, 4), "scores": wave(1, 1, 3), "most": ints(3)}

# fmt: off
OPERANDS = [
    # Indices that count from the end if they are negative.
    Row("Gather", "indices", "[-s, s-1]", "y = Gather(x, i)", {"x": X}, "i", [ints(0, 4), ints(-5), ints(FAR)], [ints(3, -4)], BACK.replace("5)", f"5|{FAR})")),
    Row("GatherElements", "indices", "[-s, s-1]", "y = GatherElements(x, i)", {"x": X}, "i", [ints([0, 4, 1]), ints([-5, 0, 0])], [ints([3, -4, 1])], BACK),
    Row("GatherND", "indices", "[-s, s-1]", "y = GatherND(x, i)", {"x": X}, "i", [ints([4, 0]), ints([0, -4]), ints([0, 3])], [ints([3, 2]), ints([-4, -3])], "outside of a dim of", dims=False),
    Row("GatherND", "indices, batch_dims = 1", "[-s, s-1]", "y = GatherND <batch_dims = 1> (x, i)", {"x": ramp(2, 4, 3)}, "i", [ints([4], [0]), ints([0], [-5])], [ints([3], [-4])], BACK, dims=False),
    Row("ScatterElements", "indices", "[-s, s-1]", "y = ScatterElements(x, i, u)", {"x": X, "u": ramp(1, 3)}, "i", [ints([0, 4, 1]), ints([-5, 0, 0])], [ints([3, -4, 1])], BACK),
    Row("ScatterND", "indices", "[-s, s-1]", "y = ScatterND(x, i, u)", {"x": X, "u": ramp(1, 3)}, "i", [ints([4]), ints([-5])], [ints([3]), ints([-4])], BACK, dims=False),
    Row("com.microsoft.GatherBlockQuantized", "indices", "[-s, s-1]", "y = com.microsoft.GatherBlockQuantized <block_size = 16, bits = 8> (x, i, scale)", {"x": ramp(4, 32, dtype=np.uint8), "scale": wave(4, 2)}, "i", [ints(4), ints(-5)], [ints(3, -4)], BACK, oracle="onnxruntime", dims=False),
    # Indices that do not.
    Row("ai.onnx.ml.ArrayFeatureExtractor", "Y", "[0, s-1]", "y = ai.onnx.ml.ArrayFeatureExtractor(x, i)", {"x": X}, "i", [ints(3), ints(-1)], [ints(2, 0)], outside("3|-1", 2), oracle="onnxruntime"),
    Row("TensorScatter", "write_indices, mode linear", "[0, max_sequence_length - sequence_length]", "y = TensorScatter <axis = 1> (past, update, i)", CACHE, "i", [ints(0, 5), ints(-1, 0)], [ints(4, 0)], outside("5|-1", 4), opset=24, ir=11),
    Row("TensorScatter", "write_indices, mode circular", "any: modulo max_sequence_length", "y = TensorScatter <axis = 1, mode = \"circular\"> (past, update, i)", CACHE, "i", [], [ints(5, 0), ints(-1, 13)], opset=24, ir=11),
    Row("MaxUnpool", "I", "[0, elements of the output)", "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)", {"x": ramp(1, 1, 2, 2)}, "i", [ints([[[5, 7], [13, 16]]]).reshape(1, 1, 2, 2), ints([[[-1, 7], [13, 15]]]).reshape(1, 1, 2, 2)], [ints([[[0, 7], [13, 15]]]).reshape(1, 1, 2, 2)], outside("16|-1", 15)),
    Row("NegativeLogLikelihoodLoss", "target", "[0, C)", *labels("NegativeLogLikelihoodLoss", "", [ints(0, 5, 1), ints(0, -1, 1)], [ints(0, 4, 1)]), outside("5|-1", 4)),
    Row("NegativeLogLikelihoodLoss", "target, with ignore_index", "[0, C) or ignore_index", *labels("NegativeLogLikelihoodLoss", "ignore_index = 7", [ints(0, 5, 1), ints(0, -1, 1)], [ints(0, 4, 7)]), outside("5|-1", 4)),
    Row("SoftmaxCrossEntropyLoss", "labels", "[0, C)", *labels("SoftmaxCrossEntropyLoss", "", [ints(0, 5, 1), ints(0, -1, 1)], [ints(0, 4, 1)]), outside("5|-1", 4)),
    Row("SoftmaxCrossEntropyLoss", "labels, with ignore_index", "[0, C) or ignore_index", *labels("SoftmaxCrossEntropyLoss", "ignore_index = 7", [ints(0, 5, 1), ints(0, -1, 1)], [ints(0, 4, 7)]), outside("5|-1", 4)),
    Row("RotaryEmbedding", "position_ids", "[0, max_position_id]", "y = RotaryEmbedding(x, cos, sin, i)", ANGLES, "i", [ints([0, 1, 5], [0, 1, 2]), ints([0, -1, 2], [0, 1, 2])], [ints([0, 1, 4], [0, 1, 2])], outside("5|-1", 4), dims=False),
    Row("com.microsoft.RotaryEmbedding", "position_ids", "[0, max_position_id]", "y = com.microsoft.RotaryEmbedding(x, i, cos, sin)", ANGLES, "i", [ints([0, 1, 5], [0, 1, 2]), ints([0, -1, 2], [0, 1, 2])], [ints([0, 1, 4], [0, 1, 2])], outside("5|-1", 4), dims=False, oracle="onnxruntime"),
    Row("com.microsoft.EmbedLayerNormalization", "input_ids", "[0, s-1]", "y, m = com.microsoft.EmbedLayerNormalization(i, , words, places, , g, b)", EMBED, "i", [ints([5, 0, 1], dtype=J), ints([0, -1, 1], dtype=J)], [ints([4, 0, 1], dtype=J)], outside("5|-1", 4), dims=False, oracle="onnxruntime"),
    Row("com.microsoft.GroupQueryAttention", "seqlens_k", "[0, total_sequence_length)", "y, a, b = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2> (q, k, v, pk, pv, i, total)", GQA, "i", [ints(4, 0, dtype=J), ints(3, -1, dtype=J)], [ints(3, 0, dtype=J)], outside("4|-1", 3), constant=False, dims=False, oracle=""),
    Row("RoiAlign", "batch_indices", "[0, num_batches)", "y = RoiAlign <output_height = 2, output_width = 2> (x, rois, i)", {"x": wave(2, 1, 4, 4), "rois": BOXES}, "i", [ints(0, 2), ints(-1, 0)], [ints(1, 0)], "(value|index) (2|-1) is outside of", dims=False),
    Row("MaxRoiPool", "rois, batch index", "[0, num_batches)", "y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)", {"x": wave(2, 1, 4, 4)}, "rois", [np.array([[2, 0, 0, 2, 2]], F), np.array([[-1, 0, 0, 2, 2]], F)], [np.array([[1, 0, 0, 3, 3]], F)], "index (2|-1) is outside of", constant=False, dims=False, oracle="onnxruntime", opset=21),
    Row("OneHot", "indices", "any: a row of off_value outside of [-depth, depth-1]", "y = OneHot(i, depth, v)", {"depth": scalar(3), "v": ints(0, 1)}, "i", [], [ints(2, 3, -3, -4)]),
    Row("SequenceAt", "position", "[-n, n-1]", f"{SEQUENCE}\ny = SequenceAt(s, i)", {"x": X}, "i", [scalar(2), scalar(-3)], [scalar(1), scalar(-2)], "position (2|-3)|out of range|outside"),
    Row("SequenceErase", "position", "[-n, n-1]", f"{SEQUENCE}\nt = SequenceErase(s, i)\ny = SequenceLength(t)", {"x": X}, "i", [scalar(2), scalar(-3)], [scalar(1), scalar(-2)], "position (2|-3)|out of range|outside"),
    Row("SequenceInsert", "position", "[-n, n]", f"{SEQUENCE}\nn = Neg(x)\nt = SequenceInsert(s, n, i)\ny = ConcatFromSequence <axis = 0> (t)", {"x": X}, "i", [scalar(3), scalar(-3), scalar(FAR)], [scalar(2), scalar(-2)], "position|out of range|outside", dims=False, oracle="numpy", expected=inserted),
    # Lengths.
    recurrent("LSTM", 4), recurrent("GRU", 3), recurrent("RNN", 1),
    Row("ReverseSequence", "sequence_lens", "[0, s]", "y = ReverseSequence(x, i)", {"x": ramp(4, 2)}, "i", [ints(5, 1), ints(4, -1)], [ints(4, 0)], outside("5|-1", 4)),
    Row("Attention", "nonpad_kv_seqlen", "[0, kv_sequence_length]", "y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, , , , i)", HEADS, "i", [ints(5, 1), ints(4, -1)], [ints(4, 1)], outside("5|-1", 4), opset=24, ir=11, dims=False),
    Row("com.microsoft.MultiHeadAttention", "key_padding_mask [batch_size]", "[0, kv_sequence_length]", "y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v, , i)", HEADS, "i", [ints(5, 1, dtype=J), ints(4, -1, dtype=J)], [ints(4, 1, dtype=J)], outside("5|-1", 4), dims=False, oracle="onnxruntime"),
    Row("TopK", "K", "[0, s]", "y, i = TopK(x, k)", {"x": X}, "k", [ints(4), ints(-1)], [ints(3), ints(0)], "takes (4|-1|0)"),
    Row("Compress", "condition, its length", "at most s", "y = Compress <axis = 0> (x, c)", {"x": X}, "c", [np.array([1, 0, 1, 0, 0], bool)], [np.array([1, 0, 1, 1], bool)], "takes 5 elements along a dim that has 4"),
    Row("DFT", "dft_length", "at least 1", "y = DFT(x, n)", {"x": wave(1, 4, 2)}, "n", [scalar(0), scalar(-2)], [scalar(1), scalar(5)], "takes 1 elements along a dim that has (0|-2)|crops more", dims=False),
    Row("STFT", "frame_step", "at least 1", "y = STFT(x, n, , length)", {"x": wave(1, 8, 1), "length": scalar(4)}, "n", [scalar(0), scalar(-1)], [scalar(1)], "takes 1 elements along a dim that has (0|-1)", dims=False),
    Row("STFT", "frame_length", "at least 1, and the length of the window", "y = STFT(x, step, window, n)", {"x": wave(1, 8, 1), "step": scalar(2), "window": wave(4)}, "n", [scalar(0), scalar(-1), scalar(3), scalar(5)], [scalar(4)], "takes 1 elements|must be equal|do not broadcast|negative dim", dims=False),
    # Sizes.
    Row("Tile", "repeats", "at least 0", "y = Tile(x, n)", {"x": X}, "n", [ints(-1, 1)], [ints(0, 1), ints(2, 1)], "negative|takes 0 elements"),
    Row("Expand", "shape", "at least 0, broadcasts with input", "y = Expand(x, n)", {"x": ramp(1, 3)}, "n", [ints(-1, 3), ints(2, 2)], [ints(0, 3), ints(2, 1)], "negative|takes 0 elements|broadcast|neither 1", dims=False),
    Row("ConstantOfShape", "input", "at least 0", "y = ConstantOfShape(n)", {}, "n", [ints(2, -1)], [ints(2, 0)], "negative|takes 0 elements"),
    Row("Reshape", "shape", "at least 0, one -1; as many elements", "y = Reshape(x, n)", {"x": ramp(4, 3)}, "n", [ints(-1, -1), ints(-2, -6), ints(5, -1), ints(2, 5), ints(0, 4)], [ints(-1, 6), ints(0, -1)], ".", dims=False),
    Row("Reshape", "shape, of one element", "one -1", "y = Reshape(x, n)", {"x": ramp(1)}, "n", [ints(-1, -1)], [ints(1, -1)], ".", dims=False),
    Row("Split", "split", "at least 0, sum is s", "a, y = Split(x, n)", {"x": X}, "n", [ints(2, 3), ints(1, 2), ints(5, -1)], [ints(0, 4), ints(1, 3)], "parts|takes|equal|reads elements"),
    Row("SplitToSequence", "split, a list", "at least 0, sum is s", "s = SplitToSequence(x, n)\ny = SequenceAt(s, zero)", {"x": X, "zero": scalar(0)}, "n", [ints(2, 3), ints(1, 2), ints(5, -1)], [ints(1, 3)], "parts|add up|takes|equal|reads elements"),
    Row("SplitToSequence", "split, a scalar", "at least 1", "s = SplitToSequence(x, n)\ny = SequenceAt(s, zero)", {"x": X, "zero": scalar(0)}, "n", [scalar(0), scalar(-1)], [scalar(1), scalar(9)], "parts|add up"),
    Row("Slice", "steps", "not 0", "y = Slice(x, from, to, axes, n)", {"x": X, "from": ints(0), "to": ints(4), "axes": ints(0)}, "n", [ints(0)], [ints(1)], "step 0|takes 1"),
    Row("Slice", "starts, ends", "any: clamped", "y = Slice(x, n, to)", {"x": X, "to": ints(4)}, "n", [], [ints(9), ints(-9), ints(3)]),
    Row("Range", "delta", "not 0", "y = Range(a, b, n)", {"a": scalar(0), "b": scalar(5)}, "n", [scalar(0)], [scalar(2), scalar(-1)], "delta must not be 0|."),
    Row("Pad", "pads, mode reflect", "less than s", "y = Pad <mode = \"reflect\"> (x, n)", {"x": ramp(3, 4)}, "n", [ints(0, 4, 0, 0), ints(0, 0, 3, 0), ints(0, -2, 0, 2)], [ints(2, 3, 2, 3), ints(0, -2, 0, 1)], "reflects|takes", oracle="numpy", expected=functools.partial(padded, mode="reflect")),
    Row("Pad", "pads, mode wrap", "any if s > 0", "y = Pad <mode = \"wrap\"> (x, n)", {"x": ramp(3, 4)}, "n", [], [ints(0, 9, 0, 5)], oracle="numpy", expected=functools.partial(padded, mode="wrap")),
    Row("Pad", "pads, negative", "at most s removed", "y = Pad(x, n)", {"x": ramp(3, 4)}, "n", [ints(0, -3, 0, -2), ints(-4, 0, 0, 0)], [ints(0, -3, 0, -1)], "crops|takes", oracle="numpy", expected=padded),
    Row("CenterCropPad", "shape", "at least 0", "y = CenterCropPad(x, n)", {"x": X}, "n", [ints(-1, 3)], [ints(2, 3), ints(6, 1)], "negative|crops|takes"),
    Row("Resize", "sizes", "at least 1", "y = Resize(x, , , n)", {"x": ramp(1, 1, 4, 4)}, "n", [ints(1, 1, -1, 4)], [ints(1, 1, 1, 8)], ".", dims=False),
    Row("Resize", "scales", "above 0", "y = Resize(x, , n)", {"x": ramp(1, 1, 4, 4)}, "n", [np.array([1, 1, -1, 1], F), np.array([1, 1, 0, 1], F), np.array([1, 1, np.nan, 1], F)], [np.array([1, 1, 2, 0.5], F)], ".", dims=False),
    Row("AffineGrid", "size", "at least 0", "y = AffineGrid(x, n)", {"x": wave(1, 2, 3)}, "n", [ints(1, 1, -2, 3)], [ints(1, 1, 2, 3)], ".", dims=False),
    Row("OneHot", "depth", "at least 0", "y = OneHot(x, n, v)", {"x": ints(0, 1), "v": ints(0, 1)}, "n", [scalar(-1)], [scalar(2), scalar(0)], "takes 0 elements along a dim that has -1|negative dim -1"),
    Row("NonMaxSuppression", "iou_threshold", "[0, 1]", "y = NonMaxSuppression(boxes, scores, most, n)", NMS, "n", [np.array([1.5], F), np.array([-0.5], F), np.array([np.nan], F)], [np.array([1], F), np.array([0], F)], "iou_threshold is outside of \\[0, 1\\]", dims=False),
    Row("Dropout", "ratio, training mode", "[0, 1)", "y = Dropout <seed = 1> (x, n, t)\nz = Shape(y)", {"x": X, "t": np.array(True)}, "n", [scalar(1, F), scalar(-0.5, F)], [scalar(0, F)], "ratio is outside of [[]0, 1[)]|condition", constant=False),
    Row("QuantizeLinear", "y_scale, its length", "1 or s", "y = QuantizeLinear <axis = 0> (x, n)", {"x": X}, "n", [wave(3) + 2, wave(5) + 2], [wave(4) + 2, wave(1) + 2], "neither 1 nor|do not broadcast", dims=False),
    # Axes.
    *[Row(op, "axes", "[-r, r-1], each once", f"y = {op}(x, n)", {"x": x}, "n", bad, good, AXIS + "|index|condition|takes|equal", dims=False)
      for op, x, bad, good in [
        ("ReduceSum", X, [ints(2), ints(-3), ints(0, 0)], [ints(1), ints(-2)]),
        ("Squeeze", ramp(1, 3), [ints(2), ints(-3), ints(1)], [ints(0), ints(-2)]),
        ("Unsqueeze", ramp(4), [ints(2), ints(-3)], [ints(1), ints(-2)])]],
    Row("CumSum", "axis", "[-r, r-1]", "y = CumSum(x, n)", {"x": X}, "n", [scalar(2), scalar(-3)], [scalar(1), scalar(-2)], AXIS + "|takes"),
    Row("DFT", "axis", "[-r, r-2]", "y = DFT(x, , n)", {"x": wave(1, 4, 2)}, "n", [scalar(3), scalar(2), scalar(-4)], [scalar(1), scalar(-2)], AXIS + "|takes|equal", dims=False),
    Row("Slice", "axes", "[-r, r-1], each once", "y = Slice(x, from, to, n)", {"x": X, "from": ints(1), "to": ints(2)}, "n", [ints(2), ints(-3)], [ints(1), ints(-2)], AXIS + "|takes"),
    Row("Pad", "axes", "[-r, r-1], each once", "y = Pad(x, pads, , n)", {"x": X, "pads": ints(1, 1)}, "n", [ints(2), ints(-3)], [ints(1), ints(-2)], AXIS + "|takes"),
    # Any value is valid.
    Row("Trilu", "k", "any", "y = Trilu(x, n)", {"x": X}, "n", [], [scalar(9), scalar(-9)]),
    Row("BitShift", "Y", "any: 0 (or the sign) from the width on", "y = BitShift <direction = \"LEFT\"> (x, n)", {"x": ramp(2, dtype=np.uint32)}, "n", [], [ints(31, 32, dtype=np.uint32)], oracle="numpy", expected=lambda x, n: (x.astype(np.uint64) << n).astype(np.uint32)),
    Row("GridSample", "grid", "any: padding_mode", "y = GridSample(x, n)", {"x": wave(1, 1, 3, 3)}, "n", [], [np.full((1, 1, 2, 2), 3, F), np.full((1, 1, 2, 2), -0.5, F)], dims=False),
]

ATTRIBUTES = [
    *[Row(op, "axis", "[-r, r-1]", text, inputs, bad=["2", "-3"], good=["1", "-2"], why=AXIS, **more)
      for op, text, inputs, more in [
        ("Gather", "y = Gather <axis = {}> (x, i)", {"x": X, "i": ints(0)}, {}),
        ("GatherElements", "y = GatherElements <axis = {}> (x, i)", {"x": X, "i": ints([0])}, {"oracle": "onnxruntime"}),
        ("ScatterElements", "y = ScatterElements <axis = {}> (x, i, u)", {"x": X, "i": ints([0]), "u": ramp(1, 1)}, {"oracle": "onnxruntime"}),
        ("Concat", "y = Concat <axis = {}> (x, x)", {"x": X}, {}),
        ("Split", "y, z = Split <axis = {}, num_outputs = 2> (x)", {"x": ramp(4, 4)}, {}),
        ("Softmax", "y = Softmax <axis = {}> (x)", {"x": X}, {}),
        ("Hardmax", "y = Hardmax <axis = {}> (x)", {"x": X}, {}),
        ("LpNormalization", "y = LpNormalization <axis = {}> (x)", {"x": X}, {}),
        ("ArgMax", "y = ArgMax <axis = {}> (x)", {"x": X}, {}),
        ("TopK", "y, z = TopK <axis = {}> (x, k)", {"x": X, "k": ints(1)}, {}),
        ("Compress", "y = Compress <axis = {}> (x, c)", {"x": X, "c": np.array([1, 0, 1], bool)}, {}),
        ("Unique", "y = Unique <axis = {}> (x)", {"x": X}, {}),
        ("QuantizeLinear", "y = QuantizeLinear <axis = {}> (x, s, z)", {"x": ramp(3, 3), "s": wave(3) + 2, "z": ints(1, 2, 3, dtype=np.uint8)}, {}),
        ("DequantizeLinear", "y = DequantizeLinear <axis = {}> (x, s)", {"x": ramp(3, 3, dtype=np.uint8), "s": wave(3) + 2}, {}),
        ("LayerNormalization", "y = LayerNormalization <axis = {}> (x, g)", {"x": X, "g": ramp(1)}, {})]],
    Row("Flatten", "axis", "[-r, r]", "y = Flatten <axis = {}> (x)", {"x": X}, bad=["3", "-3"], good=["2", "-2"], why=AXIS),
    Row("OneHot", "axis", "[-r-1, r]", "y = OneHot <axis = {}> (x, n, v)", {"x": ints(0, 1), "n": scalar(3), "v": ints(0, 1)}, bad=["2", "-3"], good=["1", "-2"], why=AXIS),
    Row("Transpose", "perm", "each of 0 .. r-1 once", "y = Transpose <perm = [{}]> (x)", {"x": X}, bad=["0, 2", "0, 0", "0, -1", "0"], good=["1, 0"], why="order"),
    Row("GatherND", "batch_dims", "[0, min(q, r))", "y = GatherND <batch_dims = {}> (x, i)", {"x": ramp(2, 2, 2), "i": ints([[0], [1]], [[1], [0]])}, bad=["3", "-1"], good=["2", "0"], why="batch_dims|index"),
    Row("TensorScatter", "axis", "[-r, r-1], not 0", "y = TensorScatter <axis = {}> (past, update)", CACHE, bad=["3", "0", "-3", "-4"], good=["1", "-2"], why=AXIS, opset=24, ir=11),
    Row("TensorScatter", "mode", "linear or circular", "y = TensorScatter <mode = \"{}\"> (past, update)", CACHE, bad=["ring"], good=["circular"], why="mode 'ring' is neither linear nor circular", opset=24, ir=11),
    Row("ReverseSequence", "time_axis", "[-r, r-1], not batch_axis", "y = ReverseSequence <batch_axis = 1, time_axis = {}> (x, n)", {"x": X, "n": ints(1, 2, 3)}, bad=["2", "1", "-3"], good=["0"], why=AXIS),
    Row("Einsum", "equation", "each `...` has as many dims", "y = Einsum <equation = \"{}\"> (a, b)", {"a": ramp(2, 3, 4), "b": ramp(4, 5)}, bad=["...i,i...->...", "...ij,...jk->...ik"], good=["...i,ij->...j", "ab...,...j->abj"], why="'...' represents|does not match"),
    Row("GroupNormalization", "num_groups", "at least 1, divides C", "y = GroupNormalization <num_groups = {}> (x, s, b)", {"x": wave(1, 4, 3), "s": wave(4), "b": wave(4)}, bad=["0", "-1", "3", "8"], good=["2", "4"], why="."),
    Row("DepthToSpace", "blocksize", "at least 1, its square divides C", "y = DepthToSpace <blocksize = {}> (x)", {"x": ramp(1, 4, 1, 1)}, bad=["0", "-1", "3"], good=["2", "1"], why="divisible|block"),
    Row("SpaceToDepth", "blocksize", "at least 1, divides H and W", "y = SpaceToDepth <blocksize = {}> (x)", {"x": ramp(1, 1, 4, 4)}, bad=["0", "-1", "3"], good=["2", "4"], why="divisible|block"),
    Row("Split", "num_outputs", "the number of outputs", "y, z = Split <num_outputs = {}> (x)", {"x": X}, bad=["1", "3", "0"], good=["2"], why="num_outputs"),
    Row("Attention", "left_window_size", "at least -1", "y = Attention <q_num_heads = 2, kv_num_heads = 2, left_window_size = {}> (q, k, v)", HEADS, bad=["-2"], good=["-1", "1"], why="window", opset=25, ir=12, oracle=""),
    Row("Multinomial", "sample_size", "at least 0", "y = Multinomial <sample_size = {}> (x)", {"x": X}, bad=["-1"], good=["2"], why="number of samples", oracle=""),
    Row("RandomUniform", "shape", "at least 0", "y = RandomUniform <shape = [{}]> ()", {}, bad=["2, -1"], good=["2, 0"], why=".", oracle=""),
    Row("EyeLike", "k", "any", "y = EyeLike <k = {}> (x)", {"x": X}, good=["9", "-9"]),
    Row("Shape", "start", "any: clamped", "y = Shape <start = {}> (x)", {"x": X}, good=["9", "-9"]),
]
# fmt: on


def table(rows, header):
    lines = [f"| op | {header} | valid | invalid constant | invalid input |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        refused = "—" if not row.bad else "compile error" if row.constant else "run status"
        when = "—" if not row.bad or not row.varied else "run status"
        lines.append(f"| {row.op} | {row.operand} | {row.valid} | {refused} | {when} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(OPERANDS, "operand"), table(ATTRIBUTES, "attribute"), sep="\n\n")
