# SPDX-License-Identifier: Apache-2.0
"""Judges a model: what hewn makes of it, beside what ONNX says.

What ONNX says is computed a node at a time, and then again with every rounded value moved a little (Monte Carlo arithmetic): how far a
result goes then is how far rounding may take it, and an integer, a comparison or a shape that changes is one that rounding decides.
"""

import dataclasses
import os
import pathlib
import re
import sys

import hewn
import ml_dtypes
import numpy as np
import records
from child import forked
from onnx import helper
from oracle import Unknown, evaluate

# What a result may be off, in steps of its type: of its own size, of the largest element's (and no less than LEAST: onnxruntime's
# sigmoid is exact to so much, not relatively), and as multiples of what moving all values by MOVED_STEPS makes of it.
OWN_STEPS, LARGEST_STEPS, LEAST, SPREADS = 64, 16, 0.1, 16
# Of types whose steps are wide.
NARROW_OWN_STEPS, NARROW_LARGEST_STEPS = 4, 2
MOVES, MOVED_STEPS = (
    32,
    4,
)  # a tie that rounding decides goes the other way in half of the moves, also where there are 100,000 of them
# Verdicts that are findings; 'refused' and 'status' are too, where the table of ops says nothing of a limit.
WRONG = ("wrong", "wrong at -O0 too", "crash", "hang", "inconsistent")
REFUSED = ("refused", "status")


@dataclasses.dataclass
class Verdict:
    kind: str
    text: str = ""
    output: str = ""
    binding: int = 0

    def like(self, other):
        """Whether this is the same finding: of one kind, and for the same reason where a reason is told."""
        return self.kind == other.kind and (self.kind.startswith("wrong") or self.reason() == other.reason())

    def reason(self):
        return "".join(c for c in self.text if not c.isdigit())[:60]


def machine_lacks(target):
    """Why this machine does not run what is compiled for an x86 target; '' where it does."""
    flags = set()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":")[1].split())
            break
    wanted = {"x86-64-v3": {"avx2", "fma", "bmi2"}, "x86-64-v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}}
    level, *features = target.split("+")
    missing = wanted.get(level, set()) - flags
    names = {"vnni": "avx512_vnni", "bf16": "avx512_bf16", "amx": "amx_tile"}
    missing |= {f for f in features if names.get(f, f) not in flags}
    return ", ".join(sorted(missing))


def run_hewn(model, feeds, target, optimize=True):
    """In a child: for each set of inputs the outputs, or the text of the status."""

    def answers(module):
        found = []
        for feed in feeds:
            try:
                found.append({k: np.array(v) for k, v in module.run(feed).items()})
            except hewn.RunError as problem:
                found.append(str(problem))
        return found

    def work():
        if target.startswith("sm_"):
            sys.path.append(str(records.ROOT / "test/Emulator"))
            import emulated

            with emulated.compiled(model, target) as module:
                return answers(module)
        return answers(hewn.compile(model, target=target.split(","), optimize=optimize))

    return forked(work)


def refusal(error, text):
    """What it means that there is no artifact: a limit, or that passes do not agree with each other, as MLIR's verifiers say by an op's name."""
    if error != "CompileError":
        return "crash"
    return "inconsistent" if re.search(r"internal error|'\w+\.\w+' op |LLVM IR", text) else "refused"


def undefined(model, values):
    """Where the model does what ONNX does not define: then no result is wrong."""
    for node in model.graph.node:
        operands = [values.get(name) for name in node.input if name]
        if node.op_type in ("Cast", "CastLike") and node.output[0] in values:
            source, result = operands[0], values[node.output[0]]
            if isinstance(source, list) or result.dtype not in records.INTS or source.dtype in records.INTS:
                continue
            info, wide = np.iinfo(result.dtype), source.astype(np.float64)
            if wide.size and not (
                np.isfinite(wide).all() and wide.min() > info.min - 1 and wide.max() < float(info.max)
            ):
                return f"{node.op_type} of what {result.dtype} cannot hold"
    for name, value in values.items():
        if (
            isinstance(value, np.ndarray)
            and value.dtype in records.FLOATS
            and not np.isfinite(value.astype(np.float64)).all()
        ):
            return f"{name} is not finite"
    return ""


def steps_of(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def far_integers(got, want, off, moved):
    """Which integers are not what rounding makes of them. A quantized sum of several ties is one of many: each as likely, few of them seen
    among what was moved. So bytes may be off by as much, and as many of them, as are in some moved result."""
    if not moved:
        return off
    off = off & ~np.any([m != want for m in moved], axis=0)
    if got.dtype.itemsize > 1 or got.dtype == bool or not off.any():
        return off
    gap = [np.abs(m.astype(np.int64) - want) for m in moved]
    within = np.abs(got.astype(np.int64) - want)[off].max() <= max(g.max() for g in gap)
    return off & False if within and off.sum() <= max(np.count_nonzero(g) for g in gap) else off


def far(got, want, moved=()):
    """Which elements are further off than rounding takes them; a text where not even the types or shapes agree."""
    if not isinstance(want, np.ndarray) or got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, not {getattr(want, 'dtype', 'a list')}{list(getattr(want, 'shape', []))}"
    if any(m.shape != want.shape for m in moved):
        return np.zeros(want.shape, bool)
    floats = want.dtype in records.FLOATS or str(want.dtype).startswith("float")
    kind = np.float64 if floats else None
    a, b = (np.asarray(x, kind) if kind else x for x in (got, want))
    with np.errstate(all="ignore"):
        same = (a == b) | ((a != a) & (b != b))
        if not floats:
            return far_integers(a, b, ~same, moved)
        finite = np.abs(b[np.isfinite(b)])
        step = steps_of(want.dtype)
        own, largest = (OWN_STEPS, LARGEST_STEPS) if step < 1e-5 else (NARROW_OWN_STEPS, NARROW_LARGEST_STEPS)
        allowed = step * (own * np.abs(b) + largest * finite.max(initial=LEAST))
        for other in moved:
            wide = other.astype(np.float64)
            allowed = np.maximum(allowed, SPREADS * np.abs(wide - b)) if wide.shape == b.shape else np.inf
            allowed = np.where(np.isfinite(allowed) & (np.isfinite(wide) == np.isfinite(b)), allowed, np.inf)
        return ~same & ~(np.abs(a - b) <= allowed)


def first_far(got, values, moved=()):
    """The name of an output that is off, and how; None where all are right."""
    for name, result in got.items():
        mask = far(result, values[name], [m[name] for m in moved])
        if isinstance(mask, str):
            return name, mask
        if mask.any():
            where = tuple(int(i) for i in np.argwhere(mask)[0])
            told = f"{int(mask.sum())} of {mask.size} elements, {name}{list(where)} is {result[where]}, not {values[name][where]}"
            return name, told
    return None


class Judge:
    """Beside an oracle; `target` is an x86 target, several with commas, or a GPU's for the emulator."""

    def __init__(self, oracle, target="host"):
        self.oracle, self.target = oracle, target

    def judge(self, case):
        wanted = [self.wanted(case.model, feed) for feed in case.feeds]
        if not any(isinstance(w, dict) for w in wanted):
            return Verdict("unknown", wanted[0] if wanted else "no inputs")
        kind, found = run_hewn(case.model, case.feeds, self.target)
        if kind == "raised":
            return Verdict(refusal(*found), f"{found[0]}: {found[1]}")
        if kind != "ok":
            return Verdict(kind, found)
        worst = Verdict("right")
        for i, (got, values) in enumerate(zip(found, wanted)):
            verdict = self.of_run(case, i, got, values)
            if verdict.kind in WRONG:
                return verdict
            if verdict.kind != "right":
                worst = verdict
        return worst

    def wanted(self, model, feed, **how):
        """All values by name, or why nobody can tell."""
        try:
            return evaluate(self.oracle, model, feed, **how)
        except Unknown as problem:
            return str(problem)

    def of_run(self, case, i, got, values):
        if isinstance(values, str):
            return Verdict("right") if isinstance(got, str) else Verdict("answered", values, "", i)
        if isinstance(got, str):
            return Verdict("status", got, "", i)
        if first_far(got, values) is None:
            return Verdict("right")
        random = np.random.default_rng(i)
        moved = [self.wanted(case.model, case.feeds[i], random=random, steps=MOVED_STEPS) for _ in range(MOVES)]
        if any(isinstance(m, str) for m in moved):
            return Verdict("rounding decides", next(m for m in moved if isinstance(m, str)), "", i)
        wrong = first_far(got, values, moved)
        if wrong is None:
            return Verdict("rounding decides", "", "", i)
        if reason := undefined(case.model, values):
            return Verdict("undefined", reason, wrong[0], i)
        if self.as_reference(case, i, got, values, moved):
            return Verdict("oracles disagree", wrong[1], wrong[0], i)
        return Verdict(
            "wrong" if self.naive_is_right(case, i, values, moved) else "wrong at -O0 too", wrong[1], wrong[0], i
        )

    def as_reference(self, case, i, got, values, moved):
        """Whether each output is as one of the oracles has it."""
        reference = self.wanted(case.model, case.feeds[i], reference=True)
        if not isinstance(reference, dict):
            return False
        off = {k: v for k, v in got.items() if first_far({k: v}, values, moved)}
        return not first_far(off, reference, [{k: far_as(reference[k], values[k], m[k]) for k in off} for m in moved])

    def naive_is_right(self, case, i, values, moved):
        kind, plain = run_hewn(case.model, [case.feeds[i]], "host", optimize=False)
        return kind == "ok" and isinstance(plain[0], dict) and first_far(plain[0], values, moved) is None


def far_as(other, value, moved):
    """A moved value, as far from another oracle's as it is from this one's."""
    if (
        not isinstance(other, np.ndarray)
        or other.shape != value.shape
        or value.dtype not in records.FLOATS
        or moved.shape != value.shape
    ):
        return other
    with np.errstate(all="ignore"):
        return (other.astype(np.float64) + (moved.astype(np.float64) - value.astype(np.float64))).astype(other.dtype)


def same_types(model, feeds):
    """Feeds as the model's inputs say."""
    types = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    return {name: np.asarray(value, types.get(name)) for name, value in feeds.items() if name in types}


def emulator():
    """The path of the emulated driver: named by the environment, or that of a build beside the tools."""
    if "HEWN_EMULATOR" not in os.environ:
        tools = pathlib.Path(os.environ.get("HEWN_TOOLS", records.ROOT / "build/dev/bin"))
        os.environ["HEWN_EMULATOR"] = str(tools.parent / "test/emulator/libcuda.so.1")
    return os.environ["HEWN_EMULATOR"]
