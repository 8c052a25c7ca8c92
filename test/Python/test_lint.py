# SPDX-License-Identifier: Apache-2.0
"""Tests that each rule of tools/lint reports a line that breaks the rule, and accepts a line that
does not."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
from linting import patterns  # noqa: E402

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
    "dialects/Plan/TargetAttrs.td": ['let parameters = (ins DefaultValuedParameter<"int64_t", "512">:$rate);'],
}
NO_FIGURES = {
    "lib/Schedule/a.cpp": [
        "double rate = double(costs.getMmaProductsPerCycle()), cycles = 0;",
        "constexpr int64_t minRows = 4, maxColumns = 128;",
        "if (costs.getGridBarrierCycles() == 0 || target.getL1Ways() == 0)",
        "int64_t most = registers / 2;",
    ],
    "lib/Target/X86/b.cpp": ["constexpr int64_t l2BytesPerCycle = 48;"],
    "dialects/Plan/TargetAttrs.td": [
        'let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$warpgroupProductsPerCycle);'
    ],
}


def lint(root, files):
    """Runs tools/lint on a repository with the files `files`, a dict from names to lists of lines.
    Returns the output."""
    for name, lines in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = {".py": "#", ".txt": "#", ".md": "<!--"}.get(path.suffix, "//")
        path.write_text(f"{mark} SPDX-License-Identifier: Apache-2.0\n" + "\n".join(lines) + "\n")
        page = path.parent / "README.md"
        if not page.exists():
            page.write_text("A page.\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    return subprocess.run([ROOT / "tools" / "lint", root], capture_output=True, text=True).stdout


def test_figures(tmp_path):
    text = lint(tmp_path, FIGURES)
    for name, lines in FIGURES.items():
        for number in range(2, len(lines) + 2):
            assert re.search(rf"^{re.escape(name)}:{number}: .*figure of a target", text, re.M), lines[number - 2]


def test_no_figures(tmp_path):
    assert "figure of a target" not in lint(tmp_path, NO_FIGURES)


# For each pattern rule: a line that breaks it, and a file in which this line is allowed.
PATTERNS = [
    ("lib/Compiler/a.cpp", 'getenv("HEWN");', "tools/a.cpp", "reads an option or the environment"),
    ("test/Numeric/a.py", "s = Inference" + "Session(path)", "test/Numeric/sessions.py", "uses onnxruntime directly"),
    ("lib/Codegen/Loops/a.cpp", "plan::chooseContractTile(op, s);", "lib/Schedule/a.cpp", "chooses a schedule again"),
    ("lib/Transforms/Layout/a.cpp", "chooseGpu(op);", "lib/Codegen/AssignSchedules.cpp", "chooses a schedule again"),
    ("lib/Codegen/GPU/a.cpp", "chooseTile(op);", "lib/Transforms/Fuse/SelectGpuTiles.cpp", "chooses a schedule again"),
    ("lib/Transforms/a.cpp", "isa<graph::LoopOp>(op);", "dialects/Graph/Control/a.cpp", "names a control-flow op"),
    ("lib/Codegen/GPU/a.cpp", 'call("hewn.simt.barrier");', "lib/Codegen/GPU/LowerSimt.cpp", "names a GPU runtime"),
    ("lib/Transforms/a.cpp", 'build("graph.relu");', "test/a.cpp", "names an op or an attribute in quotes"),
    ("runtime/a.c", "#include <llvm/IR/Module.h>", "lib/Codegen/a.cpp", "includes LLVM outside"),
    ("lib/Codegen/a.cpp", '#include "llvm/Object/ELFObjectFile.h"', "lib/Target/a.cpp", "header of an object format"),
    ("lib/Compiler/a.cpp", "#include <sys/stat.h>", "lib/Support/a.cpp", "header of an operating system"),
    ("python/a.cpp", "PyTuple_GET_ITEM(x, 0);", "lib/Codegen/b.cpp", "stable ABI"),
    ("lib/Codegen/a.cpp", "for (auto x : f()->items)", "test/b.cpp", "a part of a temporary"),
]


def numbered(name, i):
    return name.replace("/a.", f"/a{i}.")


def test_patterns(tmp_path):
    bad = lint(tmp_path / "bad", {numbered(name, i): [line] for i, (name, line, _, _) in enumerate(PATTERNS)})
    good = lint(tmp_path / "good", {numbered(name, i): [line] for i, (_, line, name, _) in enumerate(PATTERNS)})
    for i, (name, _, allowed, message) in enumerate(PATTERNS):
        assert re.search(f"^{re.escape(numbered(name, i))}:2: .*{message}", bad, re.M), bad
        assert not re.search(f"^{re.escape(numbered(allowed, i))}:2: .*{message}", good, re.M), good


def test_every_pattern_is_tested():
    messages = {pattern.message for pattern in patterns.PATTERNS if "figure of a target" not in pattern.message}
    tested = {m for m in messages if any(message in m for _, _, _, message in PATTERNS)}
    assert messages == tested


LIBRARIES = {
    "lib/Support": ["hewn_add_library(HewnSupport SOURCES", "  a.cpp)"],
    "lib/Schedule": ["hewn_add_library(HewnSchedule DEPENDS HewnSupport SOURCES a.cpp)"],
    "lib/Codegen": ["hewn_add_library(HewnCodegen TABLEGEN HewnIncGen DEPENDS HewnSchedule SOURCES a.cpp)"],
}


def test_layers(tmp_path):
    files = {f"{folder}/CMakeLists.txt": lines for folder, lines in LIBRARIES.items()}
    includes = ['#include "lib/Support/Json.h"', '#include "lib/Schedule/Tile.h"', '#include "lib/Codegen/Tasks.h"']
    files |= {f"{folder}/a.cpp": includes for folder in LIBRARIES}
    files["lib/Other/a.cpp"] = []
    files["runtime/a.c"] = ['#include "lib/Support/Json.h"', '#include "include/hewn/runtime.h"']
    found = [line for line in lint(tmp_path, files).splitlines() if "link" in line or "declares" in line]
    assert sorted(found) == [
        "lib/Other/a.cpp: no CMakeLists.txt declares a library for its folder",
        "lib/Schedule/a.cpp:4: the library of lib/Schedule does not link that of lib/Codegen",
        "lib/Support/a.cpp:3: the library of lib/Support does not link that of lib/Schedule",
        "lib/Support/a.cpp:4: the library of lib/Support does not link that of lib/Codegen",
        "runtime/a.c:2: the library of runtime does not link that of lib/Support",
    ]


RETURNS = {
    "silent": ["bool f() {", "  if (a)", "    return false;", "  return std::nullopt;", "}"],
    "explained": [
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


@pytest.mark.parametrize("kind, more", [("silent", 2), ("explained", 0)])
def test_returns_without_a_reason(tmp_path, kind, more):
    known = patterns.RETURNS_WITHOUT_REASON["lib/Transforms/Batch"]
    files = {"lib/Transforms/Batch/a.cpp": RETURNS["silent"] * (known // 2) + ["  return false;"] * (known % 2)}
    assert "without a reason" not in lint(tmp_path / "known", files)
    text = lint(tmp_path / "more", files | {"lib/Transforms/Batch/b.cpp": RETURNS[kind]})
    assert (f"lib/Transforms/Batch: {known + more} early returns without a reason" in text) == bool(more)


def test_op_names(tmp_path):
    folders = ["lib/Transforms", "lib/Codegen", "lib/Schedule", "lib/Pipelines"]
    bad = ["isa<graph::ReluOp>(op);", "auto relu = dyn_cast<ReluOp>(op);"]
    good = ["isa<graph::ConstantOp>(op);", "arith::ReluOp::create(b);", "// unlike ReluOp"]
    files = {f"{folder}/a.cpp": [*bad, *good] for folder in folders}
    ops = {"dialects/Graph/a.td": ["def Graph_ReluOp : A;\ndef Graph_ConstantOp : A;"]}
    found = [line for line in lint(tmp_path, files | ops).splitlines() if "names the op" in line]
    assert found == [
        f"{f}/a.cpp:{n}: names the op Relu: query an op interface" for f in sorted(folders) for n in (2, 3)
    ]


def test_sizes(tmp_path):
    files = {
        "lib/Codegen/long.cpp": [""] * 800,
        "lib/Codegen/utils.h": [],
        "dialects/Graph/a.td": [""] * 400,
        "tools/a.py": ["def f():", *["    x = 1"] * 100, "def g():", *["    x = 1"] * 99],
    }
    text = lint(tmp_path, files | {f"lib/Wide/{chr(97 + i)}x.cpp": [] for i in range(25)})
    assert "lib/Codegen/long.cpp: 801 lines; the limit is 800" in text
    assert "dialects/Graph/a.td: 401 lines; the limit is 400" in text
    assert "lib/Codegen/utils.h: the name does not say" in text
    assert "lib/Wide: 25 entries; the limit is 24" in text
    assert "tools/a.py:2: function of 101 lines" in text and text.count("function of") == 1
    (tmp_path / "lib/Codegen/utils.h").write_text("int x;\n")
    (tmp_path / "lib/Wide/README.md").unlink()
    text = lint(tmp_path, {})
    assert "lib/Codegen/utils.h: no SPDX line at its start" in text and "lib/Wide: no README.md" in text


# For each rule of vocabulary and grammar, a text that breaks it.
BROKEN = [
    "The pass runs behind the fusion.",
    "Nobody reads the result.",
    "The caller is told the size.",
    "The pass asks the target.",
    "The operand is looked at.",
    "The row lies in memory.",
    "A sum is made of partials.",
    "The size is known when run.",
    "The codes are packed.",
    "Each limb has a scale.",
    "Elements are added along the sum.",
    "The kernel computes products of rows.",
    "A matrix of few rows.",
    "The matrix is turned.",
    "Threads meet once.",
    "A joint kernel.",
    "It calls a part of the runtime.",
    "The dim is cut.",
    "Each band has a halo.",
    "The picture is read.",
    "By minimal filtering of blocks.",
    "The border is zero.",
    "The kernel moves elements.",
    "The pass composes the op.",
    "The kernel reads fetched boxes.",
    "The pass hands on the value.",
    "Each site is quantized.",
    "There is evidence of the range.",
    "The pass widens operands.",
    "The rooms of the library.",
    "The machine's vectors are long.",
    "A grid runs the kernel.",
    "All kinds of op are supported.",
    "The memory at hand is small.",
    "First words. What is read stays.",
    "It returns the same of the operand.",
    "One pass adds ops, and so do the others.",
    "Returns the user; null if there is none; none is fine.",
    "Types of unlike widths.",
]
FINE = [
    "Returns null if the op has no users.",
    "The GEMM accumulates along the K dimension.",
    "The status code and the exit codes are documented.",
    '`behind` and "the border" are quoted.',
    "A call site is a location in the source.",
]


def test_prose_rules_can_fail(tmp_path):
    texts = {f"lib/Codegen/a{i}.cpp": [f"// {text}", "int x;"] for i, text in enumerate(BROKEN)}
    found = lint(tmp_path / "cpp", texts)
    missing = [text for i, text in enumerate(BROKEN) if f"lib/Codegen/a{i}.cpp:2: '" not in found]
    assert not missing
    from linting import prose

    messages = [message for message, _, _ in prose._RULES]
    assert not [message for message in messages if f": {message}" not in found]


@pytest.mark.parametrize(
    "ending, form", [("cpp", "// {}"), ("py", "# {}"), ("py", 'def f():\n    """{}"""'), ("md", "{}")]
)
def test_prose_in_each_language(tmp_path, ending, form):
    good = lint(tmp_path / "good", {f"tools/a{i}.{ending}": [form.format(t)] for i, t in enumerate(FINE)})
    assert "no violations" in good
    bad = lint(tmp_path / "bad", {f"tools/a.{ending}": [form.format(BROKEN[0])]})
    assert "'behind': write" in bad


def test_width(tmp_path):
    text = "word " * 20
    files = {
        "lib/Codegen/a.cpp": [f"// {text}", f"int x; // {text}", "// RUN: " + text],
        "lib/Codegen/b.md": [text + "more", f"| {text * 2} |", "```", text * 2, "```"],
        "lib/Codegen/c.py": [f"# {text}"],
    }
    found = re.findall(r"(\S+): prose of", lint(tmp_path, files))
    assert sorted(found) == ["lib/Codegen/a.cpp:2", "lib/Codegen/b.md:2", "lib/Codegen/c.py:2"]


def test_spelling(tmp_path):
    text = lint(tmp_path, {"tools/a.py": ["# The " + "reci" + "eved value of atLeast(kInf)."]})
    assert "tools/a.py:2: " + "reci" + "eved: write received" in text and text.count("\n") == 1


def body(count):
    return ["  use({0});" for _ in range(count)]


CPP_FUNCTIONS = {
    "function": (["void f() {", "}"], "f"),
    "method": (["namespace a {", "struct B {", "void f() const {", "}", "};", "}"], "f"),
    "constructor": (["struct A { int x; A(); };", "A::A() : x(1) {", "}"], "A"),
}


@pytest.mark.parametrize("form", CPP_FUNCTIONS)
def test_tidy_reports_long_functions_and_names(tmp_path, form):
    if not shutil.which("clang-tidy-22"):
        pytest.skip("clang-tidy-22 is not installed: run tools/setup")
    lines, name = CPP_FUNCTIONS[form]
    at = next(i for i, line in enumerate(lines) if line.startswith("}"))
    folder = tmp_path / "lib"
    folder.mkdir()
    shutil.copy(ROOT / ".clang-tidy", tmp_path)
    for file, count in (("short", 98), ("long", 102)):
        text = ["struct Use { int x; }; void use(Use);", *lines[:at], *body(count), *lines[at:]]
        (folder / f"{file}.cpp").write_text("\n".join(text) + "\n")
    (folder / "names.cpp").write_text("struct bad_name {};\nint BadFunction() { return 0; }\n")
    commands = [
        {"directory": str(folder), "file": str(path), "command": f"clang++-22 -std=c++20 -c {path}"}
        for path in folder.iterdir()
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(commands))
    environment = {**os.environ, "HEWN_BUILD": str(tmp_path)}
    run = subprocess.run([ROOT / "tools/checks/tidy"], env=environment, capture_output=True, text=True)
    assert run.returncode != 0
    found = run.stdout
    assert f"function '{name}' exceeds recommended size" in found and "long.cpp" in found and "short.cpp" not in found
    assert "bad_name" in found and "BadFunction" in found
