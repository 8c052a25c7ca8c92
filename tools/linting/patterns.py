# SPDX-License-Identifier: Apache-2.0
"""Rules of the architecture that single lines can break. docs/architecture.md states these rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linting.tree import Tree

# These regular expressions find figures of a target outside of lib/Target: constants that are named
# like a quantity of a target, and comparisons of a target's size with a number.
_MEASURES = (
    "rate|latency|cycles|percycle|megahertz|line(bytes|words)|(ahead|sector|cache|l[123]|(cache|sector)?line|"
    "prefetchdistance)(bytes|words)|registers|ports"
)
_SIZES = "vectorBytes|(vector|(max)?thread)?registers|l[123]Bytes|l1Ways|warp(size)?|processors|sharedBytes|processorSharedBytes"
_FIGURE = "a figure of a target: it belongs in the target's row in lib/Target, as a parameter of plan.target"

TARGET_ATTRIBUTES = "dialects/Plan/TargetAttrs.td"


@dataclass
class Pattern:
    """A rule on lines.

    A line that matches `regex` in a file of the top-level folders `within` is a violation, unless
    the path of the file starts with one of `allowed`.
    """

    message: str
    regex: str
    within: str
    allowed: tuple[str, ...] = ()


PATTERNS = [
    Pattern(
        "a CPython macro outside of the stable ABI, which wheels need",
        r"\bPy[A-Z][a-z]+_[A-Z][A-Z_]+\(",
        "python",
    ),
    Pattern(
        "reads an option or the environment",
        r"cl::(opt|list)\b|\bgetenv\(",
        "dialects lib runtime",
        # NO_COLOR, and the variables of MPI's launchers.
        ("lib/Tools/Models/Messages.cpp", "lib/Tools/Models/Ranks.cpp"),
    ),
    Pattern(
        "uses onnxruntime directly: use test/Numeric/sessions.py",
        r"InferenceSession\(",
        "test",
        # These tests may create sessions of onnxruntime directly: they test its interface, use
        # models without rounding errors, or test complete programs.
        (
            "test/Numeric/sessions.py",
            "test/Python/test_maps.py",
            "test/Python/test_onnxruntime.py",
            "test/Estimators/",
            "test/Programs/",
            "test/Install/wheel.py",
            "test/Triton/load.py",
        ),
    ),
    Pattern(
        "chooses a schedule again: read the attribute of the kernel",
        r"\b(chooseContractTile|winogradSchedule|attentionRowsInMemory|choose(Gpu(Attention)?|(Matrix|Thread)Contraction)|"
        r"choose(Row|Line)(Threads|Width)|chooseTile)\(",
        "lib",
        (
            "lib/Schedule/",
            "lib/Target/NVPTX/Schedule/",
            "lib/Codegen/AssignSchedules.cpp",
            *(f"lib/Target/NVPTX/Kernels/{name}" for name in ("ChooseSchedule.cpp", "Kernels.h", "NVPTXKernels.cpp")),
            "lib/Transforms/Fuse/SelectGpuTiles.cpp",
            # Its cost model compares two contractions before either of them exists.
            "lib/Transforms/Quantize/ProductCost.cpp",
            *(f"lib/Codegen/Contract/{name}.cpp" for name in ("ContractSchedule", "WinogradEngine", "AttentionEngine")),
        ),
    ),
    Pattern(
        "iterates over a part of a temporary, which is destroyed before the body (until C++23)",
        r"\bfor \([^;]*[^:]:\s*(llvm::reverse\([\w:]+\(|\*?[\w:]+\((?:[^()]|\([^()]*\))*\)->\w+\)|\*[\w:]+\()",
        "dialects lib tools runtime python integrations",
    ),
    Pattern(
        "names a control-flow op outside of dialects/Graph/Control: use ControlOpInterface",
        r'(?<!scf::)\b(If|Loop|Scan)Op\b|"graph\.(if|loop|scan)"',
        "dialects lib tools",
        ("dialects/Graph/Control/", "tools/linting/"),
    ),
    Pattern(
        _FIGURE,
        rf"\bconstexpr\b[^;()]*[\s,]k?(\w*[a-z](?=[A-Z]))?(?i:{_MEASURES}|\bline)\s*=\s*-?[0-9]",
        "dialects lib",
        ("lib/Target/",),
    ),
    Pattern(
        _FIGURE,
        rf"(?i:\b(get)?({_SIZES})(\(\))?)\s*([<>]=?|==|!=)\s*[1-9]",
        "dialects lib",
        # The verifiers of target attributes check ranges of figures.
        ("lib/Target/", "dialects/Plan/PlanDialect.cpp"),
    ),
    Pattern(
        "names a GPU runtime function: kernel generators create ops of the dialect simt, and a target lowers them",
        r"hewn\.simt\.|\bkSimt(?!Functions)[A-Z]\w*\b",
        "dialects lib",
        (
            "lib/Codegen/Passes.td",  # its description of the lowering names the functions
            *(f"lib/Codegen/GPU/{name}" for name in ("SimtFunctions.h", "LowerSimt.cpp")),
            *(f"lib/Target/NVPTX/NVPTXMachineOps.{ending}" for ending in ("h", "cpp")),
        ),
    ),
    Pattern(
        "names an op or an attribute in quotes: use the op's class, or the attribute's constant",
        r'^(?!.*StringLiteral).*"(graph|plan)\.[a-z_0-9]+"',
        "dialects lib tools",
        ("tools/linting/",),
    ),
    Pattern(
        "includes the header of an object format: use LinkerTool",
        r"#include [<\"](lld/|llvm/(BinaryFormat|Object)/(ELF|COFF|MachO|Wasm|XCOFF))",
        "dialects lib tools",
        ("lib/Target/",),
    ),
    Pattern(
        "includes the header of an operating system: use lib/Support/Files, or llvm/Support",
        r"#include <(dlfcn|elf|fcntl|link|poll|pthread|sched|signal|spawn|unistd|windows|(linux|mach|sys)/\w+)\.h>",
        "dialects lib tools",
        # Tools that measure processors, start processes or load MPI.
        (
            "lib/Support/",
            "lib/Target/",
            "lib/Tools/Models/ChildProcess.cpp",
            "lib/Tools/Models/Ranks.",
            "lib/Tools/Profile/Counters.cpp",
            "tools/measure/",
        ),
    ),
    Pattern(
        "includes LLVM outside of the compiler",
        r'#include [<"](mlir|llvm|lld)/',
        "include runtime python integrations",
    ),
]

#: Ops of the dialect graph that passes create. Passes may name only these ops, and query all other
#: ops by their op interfaces.
OPS_OF_PASSES = set("Constant DimValue Encode Group ReadSymbol Relayout Retype Scratch Spread Yield".split())
WITHOUT_OP_NAMES = (
    "lib/Schedule/",
    "lib/Transforms/",
    "lib/Codegen/",
    "lib/Target/",
    "lib/Pipelines/",
    "lib/Compiler/",
)

# An early return has no reason if neither the statement nor its condition reports one (a diagnostic,
# a remark, LDBG) or propagates a failure. The early returns counted below are in queries, whose
# callers report the reason (docs/decisions/remarks.md).
_RETURN = re.compile(r"^\s*return (std::nullopt|false|(llvm::|mlir::)?failure\(\)|\{\});")
_REASON = re.compile(
    r"LDBG\(\)|\b(missed|refuse|notifyMatchFailure|error|emitOpError|emitError|reportUnmet)\(|<<|\bfailed\(|wasInterrupted\(\)"
)
#: Maximum number of early returns without a reason in each folder. Changes may only lower a number.
RETURNS_WITHOUT_REASON = {
    "lib/Transforms/Batch": 1,
    "lib/Transforms/Fuse": 13,
    "lib/Transforms/Layout": 6,
    "lib/Transforms/Lower": 4,
    "lib/Transforms/Plan": 20,
    "lib/Transforms/Quantize": 31,
    "lib/Transforms/Simplify": 11,
    "lib/Schedule": 10,
    "lib/Codegen/Contract": 19,
    "lib/Codegen/Emit": 5,
    "lib/Codegen/GPU": 29,
    "lib/Codegen/Loops": 11,
    "lib/Codegen/Math": 6,
    "lib/Codegen/Program": 4,
    "lib/Codegen": 8,
}


def returns_without_reason(text: str) -> int:
    """Returns the number of early returns in a C++ source that report no reason."""
    lines, count = text.splitlines(), 0
    for number, line in enumerate(lines):
        if not _RETURN.match(line):
            continue
        first = number - 1
        while first > 0 and not re.search(r"[{};]\s*(//.*)?$", lines[first - 1]):
            first -= 1
        count += not _REASON.search("\n".join(lines[max(first, 0) : number]))
    return count


def op_names(tree: Tree) -> re.Pattern[str] | None:
    """Returns a regular expression that matches the class names of the ops to which the importer maps ONNX nodes."""
    found = set()
    for name in tree.names:
        if name.startswith("dialects/Graph/") and name.endswith(".td"):
            found |= set(re.findall(r"^def Graph_(\w+)Op\b", tree.text(name), re.M))
    found -= OPS_OF_PASSES
    return re.compile(rf"(?<![:\w])(?:(?:hewn::)?graph::)?({'|'.join(sorted(found))})Op\b") if found else None


def check(tree: Tree) -> Iterator[str]:
    """Yields each line that breaks a pattern or names an op, and each folder with too many early returns."""
    ops = op_names(tree)
    counts = dict.fromkeys(RETURNS_WITHOUT_REASON, 0)
    for name in tree.sources():
        text, top = tree.text(name), name.split("/")[0]
        patterns = [
            (p, re.compile(p.regex)) for p in PATTERNS if top in p.within.split() and not name.startswith(p.allowed)
        ]
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, regex in patterns:
                if regex.search(line):
                    yield f"{name}:{number}: {pattern.message}"
            if name == TARGET_ATTRIBUTES and re.search(r'DefaultValuedParameter<"int64_t", "[^0"]', line):
                yield f"{name}:{number}: a default is a figure of a target; 0 stands for a missing capability"
            if ops and name.startswith(WITHOUT_OP_NAMES) and (op := ops.search(re.sub(r"//.*", "", line))):
                yield f"{name}:{number}: names the op {op[1]}: query an op interface"
        if folder := next((f for f in RETURNS_WITHOUT_REASON if name.startswith(f + "/")), None):
            counts[folder] += returns_without_reason(text)
    for folder, known in RETURNS_WITHOUT_REASON.items():
        if counts[folder] > known:
            yield (
                f"{folder}: {counts[folder]} early returns without a reason, {known} are known: return an Eligibility or "
                "OrReason (lib/Support/Remarks.h), or raise the number in tools/linting/patterns.py for a query"
            )
