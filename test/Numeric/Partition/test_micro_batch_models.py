# SPDX-License-Identifier: Apache-2.0
"""Random models whose batch dim is the first or second dim, or merged with the words or the heads.
Processing micro-batches must give the same result as processing the full batch."""

import numpy as np
import pytest
from split import Build, run_split, split, whole
from test_partition import pytestmark  # noqa: F401

WIDTH, HEADS, WORDS = 16, 4, 5


def same(got, want):
    """Compares results up to rounding: a micro-batch may add in another order."""
    assert set(got) == set(want)
    for name, value in want.items():
        assert got[name].dtype == value.dtype and got[name].shape == value.shape
        np.testing.assert_allclose(got[name], value, rtol=1e-6, atol=1e-6 * np.abs(value).max(initial=1))


class Walk:
    """Draws a model op by op. `lies` is the layout of the current value. It has one string per dim,
    outermost first, of the letters `b` (batch), `s` (words), `h` (heads) and `d` (features).
    Several letters in a string are dims that are merged into one."""

    def __init__(self, seed, batch="n", words="s"):
        self.b = Build(seed)
        self.random = np.random.default_rng(seed)
        self.feeds_of = {}
        self.batch, self.words = batch, words
        self.x = self.input("x", [batch, words, WIDTH])
        self.lies = ["b", "s", "d"]
        sizes = self.b("Shape", self.x)
        self.sizes = {
            "b": self.b("Slice", sizes, self.b.ints(0), self.b.ints(1)),
            "s": self.b("Slice", sizes, self.b.ints(1), self.b.ints(2)),
        }
        self.outputs = []

    def input(self, name, dims, whole_numbers=None):
        """Adds an input. If `whole_numbers` is given, its values are integers below that number."""
        self.feeds_of[name] = (dims, whole_numbers)
        kind = np.int64 if whole_numbers else np.float32
        return self.b.input(name, dims, np.zeros(0, kind))

    def width(self):
        return WIDTH // HEADS if "h" in "".join(self.lies) else WIDTH

    def shape(self, lies):
        """Builds a shape operand by concatenation. Dynamic dims are taken from the input's
        shape."""
        known = {"h": self.b.ints(HEADS), "d": self.b.ints(WIDTH // HEADS if "h" in "".join(lies) else WIDTH)}
        dims = []
        for group in lies:
            made = None
            for letter in group:
                dim = known.get(letter) or self.sizes[letter]
                made = dim if made is None else self.b("Mul", made, dim)
            dims.append(made)
        return self.b("Concat", *dims, axis=0)

    def reshape(self, lies):
        self.x, self.lies = self.b("Reshape", self.x, self.shape(lies)), lies

    def transpose(self, order):
        self.x = self.b("Transpose", self.x, perm=order)
        self.lies = [self.lies[i] for i in order]

    # Each of the following methods adds an op, if the layout of the current value allows it.

    def linear(self):
        if self.lies[-1] == "d":
            self.x = self.b(
                "Add", self.b("MatMul", self.x, self.b.weight(self.width(), self.width())), self.b.weight(self.width())
            )

    def activation(self):
        self.x = self.b(str(self.random.choice(["Relu", "Tanh", "Sigmoid"])), self.x)

    def softmax(self):
        if self.lies[-1] == "d":
            self.x = self.b("Softmax", self.x, axis=-1)

    def norm(self):
        if self.lies[-1] == "d":
            self.x = self.b(
                "LayerNormalization", self.x, self.b.weight(self.width()), self.b.weight(self.width()), axis=-1
            )

    def residual(self):
        before = self.x
        self.linear()
        self.x = self.b("Add", self.x, before)

    def scan_words(self):
        if "s" in self.lies:
            self.x = self.b("CumSum", self.x, self.b.constant(np.array(self.lies.index("s"), np.int64)))

    def merge(self):
        """Merges two adjacent dims."""
        if len(self.lies) < 3 or self.lies[-1] != "d":
            return
        at = int(self.random.integers(0, len(self.lies) - 2))
        self.reshape([*self.lies[:at], self.lies[at] + self.lies[at + 1], *self.lies[at + 2 :]])

    def take_apart(self):
        merged = [i for i, group in enumerate(self.lies) if len(group) > 1]
        if merged:
            at = int(self.random.choice(merged))
            cut = int(self.random.integers(1, len(self.lies[at])))
            self.reshape([*self.lies[:at], self.lies[at][:cut], self.lies[at][cut:], *self.lies[at + 1 :]])

    def heads(self):
        if "h" in "".join(self.lies):
            for _ in range(4):
                self.take_apart()
            self.transpose([self.lies.index(letter) for letter in "bshd"])
            self.reshape(["b", "s", "d"])
        elif self.lies[-1] == "d":
            self.reshape([*self.lies[:-1], "h", "d"])

    def turn(self):
        order = [int(i) for i in self.random.permutation(len(self.lies) - 1)]
        self.transpose([*order, len(order)])

    def attention(self):
        """Adds attention among the words of each batch element. Its operands have four dims, or
        three of which one is merged."""
        if sorted("".join(self.lies)) != sorted("bsd") or self.lies[-1] != "d":
            return
        for _ in range(2):
            self.take_apart()
        lies, order = list(self.lies), str(self.random.choice(["b-h-s", "bh-s", "hb-s"]))
        self.linear()
        made = []
        for _ in range(3):
            before, self.lies = self.x, list(lies)
            self.linear()
            self.reshape([*lies[:2], "h", "d"])
            wanted = "".join(order.replace("-", "")) + "d"
            self.transpose([self.lies.index(letter) for letter in wanted])
            self.reshape([*order.split("-"), "d"])
            made.append(self.x)
            self.x = before
        axes = len(order.split("-")) + 1
        turned = self.b("Transpose", made[1], perm=[*range(axes - 2), axes - 1, axes - 2])
        scores = self.b("Softmax", self.b("MatMul", made[0], turned), axis=-1)
        self.x, self.lies = self.b("MatMul", scores, made[2]), [*order.split("-"), "d"]
        if "b" not in self.lies:
            self.reshape([*order.split("-")[0], "s", "d"])
        self.transpose([self.lies.index(letter) for letter in [*lies[:2], "h", "d"]])
        self.reshape(lies)

    def recurrence(self):
        if sorted("".join(self.lies)) != sorted("bsd") or self.lies[-1] != "d":
            return
        for _ in range(2):
            self.take_apart()
        if self.lies[0] == "b":
            self.transpose([1, 0, 2])
        op = str(self.random.choice(["LSTM", "GRU", "RNN"]))
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        both = bool(self.random.integers(0, 2))
        size, count = (WIDTH // 2, 2) if both else (WIDTH, 1)
        b = self.b
        given = [
            self.x,
            b.weight(count, gates * size, WIDTH),
            b.weight(count, gates * size, size),
            b.weight(count, 2 * gates * size),
        ]
        if self.random.integers(0, 2):
            lengths = self.input(f"lengths{len(self.feeds_of)}", [self.batch], 2)
            given.append(b("Cast", lengths, to=6))
            if self.random.integers(0, 2):
                start = self.input(f"start{len(self.feeds_of)}", [self.batch, count, size])
                given.append(b("Transpose", start, perm=[1, 0, 2]))
        y, last = b(op, *given, outputs=2, hidden_size=size, direction="bidirectional" if both else "forward")
        self.x = b("Reshape", b("Transpose", y, perm=[0, 2, 1, 3]), self.shape(["s", "b", "d"]))
        self.lies = ["s", "b", "d"]
        if self.random.integers(0, 2):
            self.outputs.append(last)

    def masked(self):
        if self.lies == ["b", "s", "d"]:
            mask = self.input(f"mask{len(self.feeds_of)}", [self.batch, self.words])
            self.x = self.b("Mul", self.x, self.b("Unsqueeze", mask, self.b.ints(2)))

    def look_up(self):
        if self.lies == ["b", "s", "d"]:
            ids = self.input(f"ids{len(self.feeds_of)}", [self.batch, self.words, 1], 2)
            self.x = self.b("Add", self.x, self.b("GatherND", self.x, ids, batch_dims=1))

    def finish(self, flat):
        """Ends the model. The output has the batch as its first dim or, with `flat`, the current
        layout."""
        self.linear()
        if not flat:
            for _ in range(4):
                self.take_apart()
            self.transpose(
                [*(self.lies.index(x) for x in ("b", "s")), *(i for i, x in enumerate(self.lies) if x not in "bs")]
            )
        model, _ = self.b.model(self.x, *self.outputs)
        return model

    def feeds(self, count, words=WORDS):
        sizes = {"n": count, "s": words}
        random, made = np.random.default_rng(count), {}
        for name, (dims, most) in self.feeds_of.items():
            shape = [sizes.get(d, d) if isinstance(d, str) else d for d in dims]
            made[name] = random.integers(0, most, shape) if most else random.standard_normal(shape).astype(np.float32)
        return made


OPS = [
    "linear",
    "activation",
    "softmax",
    "norm",
    "residual",
    "scan_words",
    "merge",
    "take_apart",
    "heads",
    "turn",
    "attention",
    "recurrence",
    "masked",
    "look_up",
]


def drawn(seed, **sizes):
    walk = Walk(seed, **sizes)
    walk.linear()
    for name in walk.random.choice(OPS, 9):
        getattr(walk, str(name))()
    return walk


def counts(parts):
    return [0, 1, parts - 1, parts, parts + 1, 3 * parts + 2]


@pytest.mark.parametrize("seed", range(12))
def test_open_batches(seed, tmp_path):
    """Runs batch sizes of zero, sizes below the number of micro-batches, and sizes that this number
    does not divide."""
    parts = 2 + seed % 3
    walk = drawn(seed, words="s" if seed % 2 else WORDS)
    model = walk.finish(flat=seed % 3 == 0)
    library = split(model, f"pipeline=2,microbatches={parts}", tmp_path)
    for count in counts(parts):
        given = walk.feeds(count)
        same(run_split(library, given, tmp_path), whole(model, given))


@pytest.mark.parametrize("seed", range(20, 24))
def test_batches_of_a_number(seed, tmp_path):
    parts = 2 + seed % 3
    walk = drawn(seed, batch=parts * 2, words="s" if seed % 2 else WORDS)
    model = walk.finish(flat=False)
    given = walk.feeds(parts * 2)
    same(run_split(split(model, f"pipeline=2,microbatches={parts}", tmp_path), given, tmp_path), whole(model, given))
