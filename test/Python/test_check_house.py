# SPDX-License-Identifier: Apache-2.0
"""tools/check-house finds what may not be, in a tree that has nothing else: each of its rules can fail."""

import re
import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "tools" / "check-house"

FIGURES = {
    "lib/Schedule/a.cpp": [
        "constexpr double cacheRate = 48, sharedRate = 128;",
        "constexpr double l2BytesPerCycle = 48, sharedBytesPerCycle = 128;",
        "constexpr double splitOverheadCycles = 2500;",
        "constexpr int64_t cacheLineBytes = 64;",
        "constexpr int64_t prefetchDistanceBytes = 1024;",
        "bool isWide = grid.getWarpSize() == 32;",
        "int64_t rows = limits.getMaxThreadRegisters() > 128 ? 8 : 4;",
        "constexpr double first = 1, launchLatency = 3000;",
        "inline constexpr int64_t kMostThreadRegisters = 255;",
        "static constexpr int64_t kLineWords = 16;",
        "constexpr int64_t line = 64;",
        "int64_t most = registers >= 32 ? 14 : 7;",
        "bool isShort = target.getVectorBytes() <= 16;",
    ],
    "dialects/Plan/Machine.td": ['let parameters = (ins DefaultValuedParameter<"int64_t", "512">:$rate);'],
}
FINE = {
    "lib/Schedule/a.cpp": [
        "double rate = double(costs.getMmaProductsPerCycle()), cycles = 0;",
        "constexpr int64_t fewRows = 4, mostColumns = 128;",
        "if (costs.getGridBarrierCycles() == 0 || target.getL1Ways() == 0)",
        "int64_t most = registers / 2;",
    ],
    "lib/Target/X86/b.cpp": ["constexpr int64_t l2BytesPerCycle = 48;"],
    "dialects/Plan/Machine.td": [
        'let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$warpgroupProductsPerCycle);'
    ],
}


def found(root, files):
    for name, lines in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = "#" if path.suffix == ".py" else "//"
        path.write_text(f"{mark} SPDX-License-Identifier: Apache-2.0\n" + "\n".join(lines) + "\n")
        (path.parent / "README.md").write_text("A page.\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    return subprocess.run([CHECK, root], capture_output=True, text=True).stdout


@pytest.mark.parametrize("line", ["Value piece;", "RankedTensorType pieceType();", "// A piece of", "struct Pieces;"])
def test_finds_words(tmp_path, line):
    name = "lib/Schedule/a.cpp"
    assert f"{name}:2: says piece" in found(tmp_path, {name: [line]})


@pytest.mark.parametrize("name, line", [(name, line) for name, lines in FIGURES.items() for line in lines])
def test_finds_figures(tmp_path, name, line):
    text = found(tmp_path, {name: [line]})
    assert f"{name}:2: " in text and "figure of a machine" in text


def test_leaves_others(tmp_path):
    text = found(tmp_path, FINE)
    assert "figure of a machine" not in text
    assert "files keep the rules" in text


# One line that breaks each other rule about what is said where, the same line where it may stand, and what is told.
PHRASES = [
    ("lib/Codegen/a.cpp", "bool avx = true;", "lib/Target/Some/a.cpp", "names a machine"),
    ("dialects/Grid/a.td", 'def A : Op<"wgmma">;', "lib/Target/Some/a.td", "names a machine"),
    ("lib/Transforms/a.cpp", 'if (arch == "neoverse-n1")', "lib/Target/Some/a.cpp", "names a machine"),
    ("lib/Compiler/a.cpp", "#define EM_X86_64 62", "lib/Target/Some/a.cpp", "names a machine"),
    ("lib/Compiler/a.cpp", 'getenv("HEWN");', "tools/a.cpp", "reads an option or the environment"),
    ("test/Numeric/a.py", "s = Inference" + "Session(path)", "test/Numeric/sessions.py", "asks onnxruntime beside"),
    ("lib/Codegen/Loops/a.cpp", "plan::chooseContractTile(op, shape);", "lib/Schedule/a.cpp", "asks for a schedule"),
    ("lib/Transforms/Layout/a.cpp", "chooseGrid(op);", "lib/Codegen/DecideKernels.cpp", "asks for a schedule"),
    ("lib/Codegen/Grid/a.cpp", "chooseTile(op);", "lib/Transforms/Fuse/ChooseTiles.cpp", "asks for a schedule"),
    ("lib/Transforms/a.cpp", "isa<graph::LoopOp>(op);", "dialects/Graph/Control/a.cpp", "names an op of control flow"),
    ("lib/Codegen/Grid/a.cpp", 'call("hewn.grid.barrier");', "lib/Codegen/Grid/LowerGrid.cpp", "by its name"),
    ("lib/Target/NVPTX/a.cpp", 'getFunction("hewn.grid.lines");', "lib/Codegen/Grid/LowerGrid.cpp", "by its name"),
    ("lib/Transforms/a.cpp", 'build("graph.relu");', "test/a.cpp", "names an op or attribute of ours in quotes"),
    ("runtime/a.c", "#include <llvm/IR/Module.h>", "lib/Codegen/a.cpp", "includes LLVM"),
    ("lib/Transforms/a.cpp", '#include "lib/Codegen/Tasks.h"', "lib/Target/X86/a.cpp", "may not include from"),
    ("dialects/Graph/a.cpp", '#include "dialects/Plan/Plan.h"', "lib/Codegen/a.cpp", "may not include from"),
]
OPS = "def Graph_ReluOp : A;\ndef Graph_ConstantOp : A;"


def numbered(name, i):
    return name.replace("/a.", f"/a{i}.")


def test_finds_phrases(tmp_path):
    bad = found(tmp_path / "bad", {numbered(name, i): [line] for i, (name, line, _, _) in enumerate(PHRASES)})
    good = found(tmp_path / "good", {numbered(name, i): [line] for i, (_, line, name, _) in enumerate(PHRASES)})
    for i, (name, _, allowed, told) in enumerate(PHRASES):
        assert re.search(f"^{re.escape(numbered(name, i))}:2: .*{told}", bad, re.M), bad
        assert not re.search(f"^{re.escape(numbered(allowed, i))}:2: .*{told}", good, re.M), good


def test_finds_folders_without_a_room(tmp_path):
    text = found(
        tmp_path, {name: ["int a;"] for name in ("lib/Target/Some/a.cpp", "lib/Target/a.cpp", "lib/Codegen/New/a.cpp")}
    )
    assert "lib/Target/Some/a.cpp: is in no room" in text and text.count("is in no room") == 1


ANSWERED = {
    "silent": ["bool f() {", "  if (a)", "    return false;", "  return std::nullopt;", "}"],
    "said": [
        "bool f() {",
        '  if (a) return no("why");',
        "  if (failed(g()))",
        "    return failure();",
        "  if (b) {",
        '    LDBG() << "b" <<',
        '      " is there";',
        "    return std::nullopt;",
        "  }",
        "}",
    ],
}


@pytest.mark.parametrize("kind, more", [("silent", 2), ("said", 0)])
def test_counts_answers_without_a_reason(tmp_path, kind, more):
    known = int(re.search(r'"lib/Transforms/Batch": (\d+)', CHECK.read_text())[1])
    files = {"lib/Transforms/Batch/a.cpp": ANSWERED["silent"] * (known // 2) + ["  return false;"] * (known % 2)}
    assert "files keep the rules" in found(tmp_path / "known", files)
    text = found(tmp_path / "more", files | {"lib/Transforms/Batch/b.cpp": ANSWERED[kind]})
    assert (f"lib/Transforms/Batch: {known + more} answers without a reason" in text) == bool(more)


def test_finds_ops(tmp_path):
    rooms = ["lib/Transforms", "lib/Codegen", "lib/Schedule", "lib/Pipelines"]
    lines = ["isa<graph::ReluOp>(op);", "auto relu = dyn_cast<ReluOp>(op);"]
    fine = ["isa<graph::ConstantOp>(op);", "arith::ReluOp::create(b);", "// unlike ReluOp"]
    files = {f"{room}/a.cpp": [*lines, *fine] for room in rooms}
    told = found(tmp_path, files | {"dialects/Graph/a.td": [OPS]}).splitlines()
    assert told == [
        f"{room}/a.cpp:{number}: names the op Relu: passes and engines ask what kind an op is"
        for room in sorted(rooms)
        for number in (2, 3)
    ]


def test_finds_headers_of_rooms_that_are_built_later(tmp_path):
    files = {
        "lib/Transforms/Quantize/a.cpp": ['#include "lib/Transforms/Fuse/Passes.h"', '#include "lib/Support/Json.h"'],
        "lib/Transforms/Fuse/a.cpp": ['#include "lib/Transforms/Quantize/Passes.h"'],
    }
    order = "foreach(room\n  lib/Support\n  lib/Transforms/Quantize\n  lib/Transforms/Fuse)\nendforeach()\n"
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "CMakeLists.txt").write_text(order)
    told = [line for line in found(tmp_path, files).splitlines() if "is built before" in line]
    assert told == [
        "lib/Transforms/Quantize/a.cpp:2: lib/Transforms/Quantize is built before lib/Transforms/Fuse, whose generated headers it can't include"
    ]


def test_finds_forms(tmp_path):
    files = {"lib/Codegen/long.cpp": [""] * 800, "lib/Codegen/utils.h": [], "dialects/Graph/a.td": [""] * 400}
    text = found(tmp_path, files | {f"lib/Wide/{chr(97 + i)}x.cpp": [] for i in range(25)})
    assert "lib/Codegen/long.cpp: 801 lines, 800 are allowed" in text
    assert "dialects/Graph/a.td: 401 lines, 400 are allowed" in text
    assert "lib/Codegen/utils.h: a name that says nothing" in text
    assert "lib/Wide: 25 things, 24 are allowed" in text
    (tmp_path / "lib/Codegen/utils.h").write_text("int x;\n")
    (tmp_path / "lib/Wide/README.md").unlink()
    text = found(tmp_path, {})
    assert "lib/Codegen/utils.h: no SPDX line at its head" in text and "lib/Wide: no README.md" in text


def body(count):
    return ["  use({0});" for _ in range(count)]


FUNCTIONS = {
    "function": ["static int f(int (*g)(int), int y) {", "%", "}"],
    "method with braces around": [
        "namespace a {",
        "struct B : C {",
        "  int f() const {",
        "%",
        "  }",
        "};",
        "} // namespace a",
    ],
    "constructor": ["A::A(int x)", "    : x(x), y{2} {", "%", "}"],
    "signature of two lines": ["template <typename T>", "int f(T &t,", "      int y) {", "%", "}"],
}


def with_body(lines, count):
    return [each for line in lines for each in (body(count) if line == "%" else [line])]


@pytest.mark.parametrize("form", FUNCTIONS)
def test_finds_long_functions(tmp_path, form):
    # 100 lines with all that is not the body.
    own = len(FUNCTIONS[form]) - 1 - (4 if "around" in form else 0)
    fits = found(tmp_path / "fits", {"lib/Codegen/a.cpp": with_body(FUNCTIONS[form], 100 - own)})
    assert "a function of" not in fits
    long = found(tmp_path / "long", {"lib/Codegen/a.cpp": with_body(FUNCTIONS[form], 101 - own)})
    assert "a function of 101 lines" in long


def test_leaves_long_classes_and_tables(tmp_path):
    methods = [f"  int f{i}() {{ return {i}; }}" for i in range(120)]
    rows = [f"    {{{i}, f({i})}}," for i in range(120)]
    lines = ["class A : public B<int (*)(int)> {", *methods, "};", "static const Row rows[] = {", *rows, "};"]
    lines += ["// int f() {", 'const char *text = "int g() {";', *["int x;"] * 120]
    assert "files keep the rules" in found(tmp_path, {"lib/Codegen/a.cpp": lines})
