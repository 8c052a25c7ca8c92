# SPDX-License-Identifier: Apache-2.0
"""tools/check-house finds what may not be, in a tree that has nothing else: figures of machines, functions that are too long."""

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
    "lib/Target/Some/b.cpp": ["constexpr int64_t l2BytesPerCycle = 48;"],
    "dialects/Plan/Machine.td": [
        'let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$warpgroupProductsPerCycle);'
    ],
}


def found(root, files):
    for name, lines in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// SPDX-License-Identifier: Apache-2.0\n" + "\n".join(lines) + "\n")
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
