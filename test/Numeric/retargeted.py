# SPDX-License-Identifier: Apache-2.0
"""Code for processors with AVX-512 and AMX, run on ones without.

No emulator that Debian 12 has knows these instructions in a process (qemu-user 7.2, valgrind 3.19). What hewn makes for such a processor is
LLVM IR with its layouts, widths, masks and products, and a few intrinsics: those become functions, the rest LLVM writes in the instructions
that are here. Only how LLVM selects AVX-512's instructions stays untested.

That takes a second a model, so of the tests that need it every eighth runs; HEWN_WIDER=0/1 runs them all.
"""

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


# Instructions as functions: the intrinsic behind llvm.x86, and its definition.
FUNCTIONS = {
    "avx512.pmaddw.d.512": f"""(<32 x i16> %a, <32 x i16> %b) alwaysinline {{
  %x = sext <32 x i16> %a to <32 x i32>
  %y = sext <32 x i16> %b to <32 x i32>
  %p = mul <32 x i32> %x, %y
{picked("p", "i32", 32, (0, 1), 2)}
  %sum = add <16 x i32> %p0, %p1
  ret <16 x i32> %sum
}}""",
    "avx512.vpdpbusd.512": f"""(<16 x i32> %s, <64 x i8> %a, <64 x i8> %b) alwaysinline {{
  %x = zext <64 x i8> %a to <64 x i32>
  %y = sext <64 x i8> %b to <64 x i32>
  %p = mul <64 x i32> %x, %y
{picked("p", "i32", 64, (0, 1, 2, 3), 4)}
  %s0 = add <16 x i32> %p0, %p1
  %s1 = add <16 x i32> %p2, %p3
  %s2 = add <16 x i32> %s0, %s1
  %sum = add <16 x i32> %s, %s2
  ret <16 x i32> %sum
}}""",
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


def retargeted(text):
    """LLVM's text of one module, for this processor."""
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


def build(model, folder, target, flags=()):
    """The library of a model for `target`, for this processor, and how many of its kernels have tiles."""
    path = folder / "m.onnx"
    onnx.save(model, path)
    command = [TOOLS / "hewn", "compile", path, f"--target={target}", *flags]
    subprocess.run([*command, "-o", folder / "m.o"], check=True)  # for the weights
    subprocess.run([*command, "--emit=llvm", "-o", folder / "m.ll"], check=True)
    modules = re.split(r"(?=^; ModuleID)", (folder / "m.ll").read_text(), flags=re.M)[1:]
    sources = [pathlib.Path(__file__).parent / "Contract" / "emulate_tiles.c"]
    for i, module in enumerate(modules):
        sources.append(folder / f"{i}.ll")
        sources[-1].write_text(retargeted(module))
    runtime = TOOLS.parent / "lib" / "libhewn_runtime.a"
    archive = ["-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive", "--rtlib=compiler-rt", "-lm", "-lpthread"]
    # As hewn's optimizer left it: a second one, for vectors in halves, makes wrong code of some convolutions.
    flags = ["-O0", "-fPIC", "-Wno-override-module", "-shared"]
    subprocess.run([CLANG, *flags, *sources, *archive, *ENTRY, "-o", folder / "m.so"], check=True)
    return folder / "m.so", sum("x86_amx" in module for module in modules)


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


def compiled(model, target, precision="highest", threads=1):
    """The loaded module of a model that is compiled for a processor that has more than this one."""
    choose()
    folder = tempfile.TemporaryDirectory(prefix="hewn-")
    library, _ = build(model, pathlib.Path(folder.name), target, [f"--float32-precision={precision}"])
    module = hewn.load(library, threads)
    weakref.finalize(module, folder.cleanup)
    return module
