# SPDX-License-Identifier: Apache-2.0
"""Code for processors with AVX-512 and AMX, run on ones without.

No emulator that Debian 12 has knows these instructions in a process (qemu-user 7.2, valgrind 3.19). What hewn makes for such a processor is
LLVM IR with its layouts, widths, masks and products, and a few intrinsics: those become functions, and so do masked accesses of more than
a register of this one's; the rest LLVM optimizes again and writes in the instructions that are here. Only how LLVM selects AVX-512's
instructions stays untested.

That takes a second a model, so of the tests that need it every eighth runs; HEWN_WIDER=0/1 runs them all.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import weakref
import zlib

import hewn
import onnx
import pytest

TOOLS = pathlib.Path(os.environ.get("HEWN_TOOLS", pathlib.Path(hewn.__file__).parents[2] / "bin"))
CLANG = shutil.which("clang-22") or shutil.which("clang++-22")
FLAGS = pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
HAS_V3 = {"avx2", "fma", "f16c", "bmi2", "movbe"} <= set(FLAGS)
HAS_V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= set(FLAGS)
HAS_DOTS = HAS_V4 and {"avx512_vnni", "avx512_bf16"} <= set(FLAGS)
# Processors that this one does as, bits of services.h, and what LLVM calls them.
HERE_BITS, HERE = (
    (0b110111, "skylake-avx512") if HAS_DOTS else (0b000111, "x86-64-v4") if HAS_V4 else (0b011, "x86-64-v3")
)
HERE_REGISTER = 64 if HAS_V4 else 32  # bytes
HERE_FEATURES = "+avx512vnni,+avx512bf16" if HAS_DOTS else ""
# The name under which a library's model is found.
ENTRY = ["-Wl,--defsym=hewn_model_main=m", "-Wl,--export-dynamic"]


def lanes(start, step, count):
    return "<" + ", ".join(f"i32 {start + step * i}" for i in range(count)) + ">"


def picked(of, kind, width, starts, step):
    """Every `step`-th lane, from each start on."""
    return "\n".join(
        f"  %{of}{s} = shufflevector <{width} x {kind}> %{of}, <{width} x {kind}> poison, <16 x i32> {lanes(s, step, 16)}"
        for s in starts
    )


def permutation():
    steps = ["  %r_1 = freeze <16 x float> poison"]
    for i in range(16):
        before = f"%r{i - 1}" if i else "%r_1"
        steps += [
            f"  %n{i} = extractelement <16 x i32> %places, i64 {i}",
            f"  %m{i} = and i32 %n{i}, 15",
            f"  %e{i} = extractelement <16 x float> %x, i32 %m{i}",
            f"  %r{i} = insertelement <16 x float> {before}, float %e{i}, i64 {i}",
        ]
    return "\n".join(steps)


def products(integer, per, left, arguments):
    """Of integers a and b, of which a widens by `left`: 16 sums of `per` products of neighbours each, and of s where that is an argument."""
    count = 16 * per
    steps = [
        f"  %x = {left} <{count} x {integer}> %a to <{count} x i32>",
        f"  %y = sext <{count} x {integer}> %b to <{count} x i32>",
        f"  %p = mul <{count} x i32> %x, %y",
        picked("p", "i32", count, range(per), per),
    ]
    total, *rest = (["%s"] if "s" in arguments else []) + [f"%p{i}" for i in range(per)]
    for i, term in enumerate(rest):
        steps.append(f"  %sum{i} = add <16 x i32> {total}, {term}")
        total = f"%sum{i}"
    kinds = {"s": "<16 x i32>", "a": f"<{count} x {integer}>", "b": f"<{count} x {integer}>"}
    head = ", ".join(f"{kinds[name]} %{name}" for name in arguments)
    return "\n".join([f"({head}) alwaysinline {{", *steps, f"  ret <16 x i32> {total}", "}"])


# Instructions as functions: the intrinsic behind llvm.x86, and its definition.
FUNCTIONS = {
    "avx512.pmaddw.d.512": products("i16", 2, "sext", "ab"),
    "avx512.vpdpbusd.512": products("i8", 4, "zext", "sab"),
    "avx512bf16.dpbf16ps.512": f"""(<16 x float> %s, <32 x bfloat> %a, <32 x bfloat> %b) alwaysinline {{
  %x = fpext <32 x bfloat> %a to <32 x float>
  %y = fpext <32 x bfloat> %b to <32 x float>
{picked("x", "float", 32, (0, 1), 2)}
{picked("y", "float", 32, (0, 1), 2)}
  %odd = call <16 x float> @llvm.fma.v16f32(<16 x float> %x1, <16 x float> %y1, <16 x float> %s)
  %sum = call <16 x float> @llvm.fma.v16f32(<16 x float> %x0, <16 x float> %y0, <16 x float> %odd)
  ret <16 x float> %sum
}}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)""",
    "avx512.permvar.sf.512": f"""(<16 x float> %x, <16 x i32> %places) alwaysinline {{
{permutation()}
  ret <16 x float> %r15
}}""",
    "avx512.mask.scalef.ps.512": """(<16 x float> %x, <16 x float> %e, <16 x float> %off, i16 %mask, i32 %mode) alwaysinline {
  %floor = call <16 x float> @llvm.floor.v16f32(<16 x float> %e)
  %whole = fptosi <16 x float> %floor to <16 x i32>
  %y = call <16 x float> @llvm.ldexp.v16f32.v16i32(<16 x float> %x, <16 x i32> %whole)
  ret <16 x float> %y
}
declare <16 x float> @llvm.floor.v16f32(<16 x float>)
declare <16 x float> @llvm.ldexp.v16f32.v16i32(<16 x float>, <16 x i32>)""",
}
RESULTS = {name: "<16 x i32>" if "pm" in name or "busd" in name else "<16 x float>" for name in FUNCTIONS}

TILES = """
declare void @hewn_emulate_load(i16, i16, ptr, i64, ptr)
declare void @hewn_emulate_store(i16, i16, ptr, i64, ptr)
define internal <256 x i32> @emulate.tilezero(i16 %r, i16 %c) #0 { ret <256 x i32> zeroinitializer }
define internal <256 x i32> @emulate.tileloadd64(i16 %r, i16 %c, ptr %p, i64 %s) noinline #0 {
  %m = alloca <256 x i32>
  call void @hewn_emulate_load(i16 %r, i16 %c, ptr %p, i64 %s, ptr %m)
  %v = load <256 x i32>, ptr %m
  ret <256 x i32> %v
}
define internal void @emulate.tilestored64(i16 %r, i16 %c, ptr %p, i64 %s, <256 x i32> %v) noinline #0 {
  %m = alloca <256 x i32>
  store <256 x i32> %v, ptr %m
  call void @hewn_emulate_store(i16 %r, i16 %c, ptr %p, i64 %s, ptr %m)
  ret void
}
"""
PRODUCT = """
declare void @hewn_emulate_NAME(i16, i16, i16, ptr, ptr, ptr)
define internal <256 x i32> @emulate.NAME(i16 %r, i16 %c, i16 %k, <256 x i32> %s, <256 x i32> %a, <256 x i32> %b) noinline #0 {
  %ms = alloca <256 x i32>
  %ma = alloca <256 x i32>
  %mb = alloca <256 x i32>
  store <256 x i32> %s, ptr %ms
  store <256 x i32> %a, ptr %ma
  store <256 x i32> %b, ptr %mb
  call void @hewn_emulate_NAME(i16 %r, i16 %c, i16 %k, ptr %ms, ptr %ma, ptr %mb)
  %v = load <256 x i32>, ptr %ms
  ret <256 x i32> %v
}
"""


# A masked access by two of half as many lanes: what it does, and that it does not tell its callers' masks to LLVM's optimizer.
HALVES = {
    "load": """
define internal <N x T> @emulate.masked.load.NAME(ptr %p, <N x i1> %m, <N x T> %d) noinline #0 {
LANES
  %a = call <H x T> @llvm.masked.load.HALF(ptr align 1 %p, <H x i1> %m0, <H x T> %d0)
  %b = call <H x T> @llvm.masked.load.HALF(ptr align 1 %q, <H x i1> %m1, <H x T> %d1)
  %v = shufflevector <H x T> %a, <H x T> %b, <N x i32> ALL
  ret <N x T> %v
}
""",
    "store": """
define internal void @emulate.masked.store.NAME(<N x T> %d, ptr %p, <N x i1> %m) noinline #0 {
LANES
  call void @llvm.masked.store.HALF(<H x T> %d0, ptr align 1 %p, <H x i1> %m0)
  call void @llvm.masked.store.HALF(<H x T> %d1, ptr align 1 %q, <H x i1> %m1)
  ret void
}
""",
}
DECLARED = {
    "load": "declare <N x T> @llvm.masked.load.NAME(ptr, <N x i1>, <N x T>)\n",
    "store": "declare void @llvm.masked.store.NAME(<N x T>, ptr, <N x i1>)\n",
}
TYPES = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def halved(text, count, what, kind, bits):
    """Calls of one masked access as calls of a function that has two of half as many lanes."""
    half, size = count // 2, count // 2 * bits // 8
    name = f"@llvm.masked.{what}.v{count}{kind}{bits}.p0("
    text = re.sub(rf"^declare .*{re.escape(name)}.*\n", "", text, flags=re.M)
    text = text.replace(name, name.replace("@llvm", "@emulate"))
    parts = [f"  %q = getelementptr i8, ptr %p, i64 {size}"]
    for of, type in (("m", "i1"), ("d", "T")):
        for i in range(2):
            vector = f"<N x {type}>"
            parts.append(
                f"  %{of}{i} = shufflevector {vector} %{of}, {vector} poison, <H x i32> {lanes(half * i, 1, half)}"
            )
    made = HALVES[what].replace("LANES", "\n".join(parts)).replace("ALL", lanes(0, 1, count))
    if f"@llvm.masked.{what}.v{half}{kind}{bits}.p0(" not in text:
        made += DECLARED[what].replace("N x", f"{half} x").replace("NAME", "HALF")
    made = made.replace("NAME", f"v{count}{kind}{bits}.p0").replace("HALF", f"v{half}{kind}{bits}.p0")
    made = made.replace("<N x", f"<{count} x").replace("<H x", f"<{half} x")
    return text + made.replace("x T>", f"x {TYPES.get(kind + str(bits), kind + str(bits))}>")


def narrowed(text):
    """Masked accesses of more than a register of this processor as functions.

    LLVM 22 divides them itself, and without AVX-512 wrongly where it then finds a part that is masked out whole: it loads all of it.
    hewn's code has none that are wider than its target's registers, but those are the other processor's.
    """
    accesses = re.compile(r"@llvm\.masked\.(load|store)\.v(\d+)(i|f|bf)(\d+)\.p0\(")
    while True:
        found = [(int(n), what, kind, int(bits)) for what, n, kind, bits in accesses.findall(text)]
        wide = [access for access in found if access[0] * access[3] > 8 * HERE_REGISTER]
        if not wide:
            return text
        count, *access = max(wide)  # others may be its halves
        text = halved(text, count, *access)


def retargeted(text):
    """LLVM's text of one module, for this processor."""
    text = narrowed(text)
    text = re.sub(r'"target-cpu"="[^"]*"', f'"target-cpu"="{HERE}"', text)
    text = re.sub(r'"target-features"="[^"]*"', f'"target-features"="{HERE_FEATURES}"', text)
    # The record of the model says which instructions it needs: of these ours are left.
    needs = re.compile(r"^(@\.variants = .*?, i64) (\d+),", flags=re.M)
    text = needs.sub(lambda m: f"{m[1]} {int(m[2]) & HERE_BITS},", text, count=1)
    for name in FUNCTIONS if not HAS_DOTS else ():
        if f"@llvm.x86.{name}(" not in text:
            continue
        text = re.sub(rf"^declare .*@llvm\.x86\.{re.escape(name)}\(.*$", "", text, flags=re.M)
        text = text.replace(f"@llvm.x86.{name}(", f"@emulate.{name}(")
        body = FUNCTIONS[name]
        if re.search(r"^declare .*@llvm\.fma\.v16f32\(", text, flags=re.M):
            body = re.sub(r"^declare .*$", "", body, flags=re.M)
        text += f"\ndefine internal {RESULTS[name]} @emulate.{name}{body}\n"
    if "x86_amx" not in text:
        return text
    names = set(re.findall(r"@llvm\.x86\.(tdp\w+)\.internal", text))
    text = re.sub(r"^declare .*@llvm\.x86\.(tile|tdp).*$", "", text, flags=re.M)
    text = re.sub(r"@llvm\.x86\.(tile\w+|tdp\w+)\.internal", r"@emulate.\1", text)
    text = text.replace("x86_amx", "<256 x i32>")
    return text + TILES + "".join(PRODUCT.replace("NAME", name) for name in names)


def build(model, folder, target, flags=(), optimize="-O1"):
    """The library of a model for `target`, for this processor, and how many of its kernels have tiles."""
    path = folder / "m.onnx"
    onnx.save(model, path)
    command = [TOOLS / "hewn", "compile", path, f"--target={target}", *flags]
    subprocess.run([*command, "-o", folder / "libm.so"], check=True)  # for the weights, by the name that the text has
    subprocess.run([*command, "--emit=llvm", "-o", folder / "m.ll"], check=True)
    modules = re.split(r"(?=^; ModuleID)", (folder / "m.ll").read_text(), flags=re.M)[1:]
    sources = [pathlib.Path(__file__).parent / "Contract" / "emulate_tiles.c"]
    for i, module in enumerate(modules):
        sources.append(folder / f"{i}.ll")
        sources[-1].write_text(retargeted(module))
    runtime = TOOLS.parent / "lib" / "libhewn_runtime.a"
    archive = ["-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive", "--rtlib=compiler-rt", "-lm", "-lpthread"]
    flags = [optimize, "-fPIC", "-Wno-override-module", "-shared"]
    subprocess.run([CLANG, *flags, *sources, *archive, *ENTRY, "-o", folder / "libm.so"], check=True)
    return folder / "libm.so", sum("x86_amx" in module for module in modules)


def choose():
    """Skips the test that runs, where this machine can't run it so or it isn't one of those that are to run."""
    if not HAS_V3:
        pytest.skip("code for AVX-512 is run in AVX2's instructions, which this machine lacks")
    i, n = map(int, os.environ.get("HEWN_WIDER", "1/8").split("/"))
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    if zlib.crc32(test.encode()) % n != i:
        pytest.skip(
            f"code for more than this processor has: part {i} of {n} of its tests run here (HEWN_WIDER=0/1: all)"
        )


def compiled(model, target, precision="highest", threads=1, quantize=None):
    """The loaded module of a model that is compiled for a processor that has more than this one. `quantize`: a dict."""
    choose()
    folder = tempfile.TemporaryDirectory(prefix="hewn-")
    flags = [f"--float32-precision={precision}"]
    if quantize:
        text = pathlib.Path(folder.name) / "quantization.json"
        text.write_text(json.dumps(quantize))
        flags.append(f"--quantize={text}")
    library, _ = build(model, pathlib.Path(folder.name), target, flags)
    module = hewn.load(library, threads)
    weakref.finalize(module, folder.cleanup)
    return module
