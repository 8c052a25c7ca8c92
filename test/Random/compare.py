# SPDX-License-Identifier: Apache-2.0
"""Compares hewn's results for a model with the definition of ONNX, and returns a verdict.

The reference evaluates the model node by node. It evaluates it again several times with every
rounded value perturbed (Monte Carlo arithmetic). The spread of the results bounds the effect of
rounding. Integers, results of comparisons and shapes that change under perturbation are not
compared."""

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

# Error bounds, in steps (ulps) of the type. OWN_STEPS is relative to the element, LARGEST_STEPS to
# the largest element. The latter counts as at least LEAST, because onnxruntime's sigmoid has an
# absolute accuracy. SPREADS is a multiple of the spread caused by perturbations of MOVED_STEPS.
OWN_STEPS, LARGEST_STEPS, LEAST, SPREADS = 64, 16, 0.1, 16
# Error bounds of the comparison for element types of at most 16 bits, whose steps (ulps) are
# coarse.
NARROW_OWN_STEPS, NARROW_LARGEST_STEPS = 4, 2
# Number of perturbed evaluations of the reference. A tie in rounding changes in half of them, so
# that 32 evaluations detect all ties among 100,000.
MOVES, MOVED_STEPS = 32, 4
# Verdicts that are reported as findings. 'refused' and 'status' are reported as well, unless the
# table of ops documents a limit.
WRONG = ("wrong", "wrong at -O0 too", "crash", "hang", "inconsistent")
REFUSED = ("refused", "status")


@dataclasses.dataclass
class Eligibility:
    kind: str
    text: str = ""
    output: str = ""
    binding: int = 0

    def like(self, other):
        """Returns True if both are the same finding: they have the same kind and, unless results
        are wrong, the same reason."""
        return self.kind == other.kind and (self.kind.startswith("wrong") or self.reason() == other.reason())

    def reason(self):
        return "".join(c for c in self.text if not c.isdigit())[:60]


def machine_lacks(target):
    """Returns the features of an x86 target that this processor lacks, or ''."""
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
    """Runs hewn in a child process. For each set of inputs, returns the outputs or the error
    message."""

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
    """Returns the verdict for a failed compilation. The verdict is a documented limit, or an
    inconsistency between passes of the compiler, which MLIR's verifiers report with an op's
    name."""
    if error != "CompileError":
        return "crash"
    return "inconsistent" if re.search(r"internal error|'\w+\.\w+' op |LLVM IR", text) else "refused"


def undefined(model, values):
    """Returns the place where the model does something that ONNX does not define, so that any
    result is correct. Returns an empty text if there is none."""
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
    """Returns a mask of the integers whose errors rounding does not explain. With many ties, no
    perturbed result is likely to have the same pattern of rounding. Therefore bytes may differ by
    as much, and in as many elements, as in one of the perturbed results."""
    if not moved:
        return off
    off = off & ~np.any([m != want for m in moved], axis=0)
    if got.dtype.itemsize > 1 or got.dtype == bool or not off.any():
        return off
    gap = [np.abs(m.astype(np.int64) - want) for m in moved]
    within = np.abs(got.astype(np.int64) - want)[off].max() <= max(g.max() for g in gap)
    return off & False if within and off.sum() <= max(np.count_nonzero(g) for g in gap) else off


def far(got, want, moved=()):
    """Returns a mask of the elements whose error exceeds that of rounding, or a text if types or
    shapes differ."""
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
    """Returns the name and a description of the first output that has an error, or None."""
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
    """Compares hewn with a reference. `target` is an x86 target, several of them separated by
    commas, or a GPU target for the emulator."""

    def __init__(self, oracle, target="host"):
        self.oracle, self.target = oracle, target

    def judge(self, case):
        wanted = [self.wanted(case.model, feed) for feed in case.feeds]
        if not any(isinstance(w, dict) for w in wanted):
            return Eligibility("unknown", wanted[0] if wanted else "no inputs")
        kind, found = run_hewn(case.model, case.feeds, self.target)
        if kind == "raised":
            return Eligibility(refusal(*found), f"{found[0]}: {found[1]}")
        if kind != "ok":
            return Eligibility(kind, found)
        worst = Eligibility("right")
        for i, (got, values) in enumerate(zip(found, wanted)):
            verdict = self.of_run(case, i, got, values)
            if verdict.kind in WRONG:
                return verdict
            if verdict.kind != "right":
                worst = verdict
        return worst

    def wanted(self, model, feed, **how):
        """Returns all values by name, or the reason why the reference can't compute them."""
        try:
            return evaluate(self.oracle, model, feed, **how)
        except Unknown as problem:
            return str(problem)

    def of_run(self, case, i, got, values):
        if isinstance(values, str):
            return Eligibility("right") if isinstance(got, str) else Eligibility("answered", values, "", i)
        if isinstance(got, str):
            return Eligibility("status", got, "", i)
        if first_far(got, values) is None:
            return Eligibility("right")
        random = np.random.default_rng(i)
        moved = [self.wanted(case.model, case.feeds[i], random=random, steps=MOVED_STEPS) for _ in range(MOVES)]
        if any(isinstance(m, str) for m in moved):
            return Eligibility("rounding decides", next(m for m in moved if isinstance(m, str)), "", i)
        wrong = first_far(got, values, moved)
        if wrong is None:
            return Eligibility("rounding decides", "", "", i)
        if reason := undefined(case.model, values):
            return Eligibility("undefined", reason, wrong[0], i)
        if self.as_reference(case, i, got, values, moved):
            return Eligibility("oracles disagree", wrong[1], wrong[0], i)
        return Eligibility(
            "wrong" if self.naive_is_right(case, i, values, moved) else "wrong at -O0 too", wrong[1], wrong[0], i
        )

    def as_reference(self, case, i, got, values, moved):
        """Returns True if each output agrees with onnxruntime or with ONNX's reference."""
        reference = self.wanted(case.model, case.feeds[i], reference=True)
        if not isinstance(reference, dict):
            return False
        off = {k: v for k, v in got.items() if first_far({k: v}, values, moved)}
        return not first_far(off, reference, [{k: far_as(reference[k], values[k], m[k]) for k in off} for m in moved])

    def naive_is_right(self, case, i, values, moved):
        kind, plain = run_hewn(case.model, [case.feeds[i]], "host", optimize=False)
        return kind == "ok" and isinstance(plain[0], dict) and first_far(plain[0], values, moved) is None


def far_as(other, value, moved):
    """Shifts a perturbed value by the difference between the two references."""
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
    """Converts the inputs to the types that the model declares."""
    types = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    return {name: np.asarray(value, types.get(name)) for name, value in feeds.items() if name in types}


def emulator():
    """Returns the path of the emulated driver: HEWN_EMULATOR, or the library in the build folder of
    the tools."""
    if "HEWN_EMULATOR" not in os.environ:
        tools = pathlib.Path(os.environ.get("HEWN_TOOLS", records.ROOT / "build/dev/bin"))
        os.environ["HEWN_EMULATOR"] = str(tools.parent / "test/emulator/libcuda.so.1")
    return os.environ["HEWN_EMULATOR"]
