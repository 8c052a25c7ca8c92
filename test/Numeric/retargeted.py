# SPDX-License-Identifier: Apache-2.0
"""Runs code for processors with AVX-512 and AMX on processors without these instructions.

No user-mode emulator of Debian 12 supports them (qemu-user 7.2, valgrind 3.19). The LLVM IR that
hewn emits for such a target has the target's layouts, vector widths, masks and dot products, and a
few intrinsics. This module replaces the intrinsics by functions. It also replaces masked accesses
that are wider than a register of this processor. LLVM then optimizes the IR again and selects this
processor's instructions. Only LLVM's instruction selection for AVX-512 is not tested.

Retargeting takes about a second per model. Therefore, by default, one of eight tests that need it
runs. HEWN_WIDER=0/1 runs all of them.
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
# Feature bits of services.h that this processor supports, and the name by which LLVM knows a
# processor with these features.
HERE_BITS, HERE = (
    (0b110111, "skylake-avx512") if HAS_DOTS else (0b000111, "x86-64-v4") if HAS_V4 else (0b011, "x86-64-v3")
)
HERE_REGISTER = 64 if HAS_V4 else 32  # bytes
HERE_FEATURES = "+avx512vnni,+avx512bf16" if HAS_DOTS else ""


def lanes(start, step, count):
    return "<" + ", ".join(f"i32 {start + step * i}" for i in range(count)) + ">"


def picked(of, kind, width, starts, step):
    """Emits IR that extracts 16 lanes of a vector, with stride `step`, once from each start
    lane."""
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
    """Emits the body of a function that multiplies integer vectors a and b. It returns 16 sums of
    `per` adjacent products each. `left` is the instruction that extends a. The function adds the
    sums to s if s is an argument."""
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


# Functions that replace instructions: the name of the intrinsic after llvm.x86, and the definition.
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


# Functions that split a masked access into two of half as many lanes. They are not inlined:
# otherwise LLVM's optimizer would see the constant masks of the caller.
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
    """Replaces calls of one masked access by calls of a function that performs two accesses of half
    as many lanes."""
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
    """Replaces masked accesses that are wider than a register of this processor by functions.

    LLVM 22 splits such accesses itself. But without AVX-512 it loads a full half even if all lanes
    of that half are masked out, which is wrong. hewn emits no access that is wider than a register
    of its target, but here the code runs on another processor.
    """
    accesses = re.compile(r"@llvm\.masked\.(load|store)\.v(\d+)(i|f|bf)(\d+)\.p0\(")
    while True:
        found = [(int(n), what, kind, int(bits)) for what, n, kind, bits in accesses.findall(text)]
        wide = [access for access in found if access[0] * access[3] > 8 * HERE_REGISTER]
        if not wide:
            return text
        count, *access = max(wide)  # the two halves of the split access may be too wide as well
        text = halved(text, count, *access)


def retargeted(text):
    """Rewrites the LLVM IR text of one module for this processor."""
    text = narrowed(text)
    text = re.sub(r'"target-cpu"="[^"]*"', f'"target-cpu"="{HERE}"', text)
    text = re.sub(r'"target-features"="[^"]*"', f'"target-features"="{HERE_FEATURES}"', text)
    # The model's record in the IR lists the CPU features that its code requires. The rewritten
    # record keeps only the features of this processor.
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


def link(text, library, optimize="-O1"):
    """Links the LLVM IR text of a model to `library` with this processor's instructions. Returns
    the number of modules that use AMX tiles. The folder must contain the weights file that the text
    names."""
    modules = re.split(r"(?=^; ModuleID)", text, flags=re.M)[1:]
    model = re.search(r"^@([\w.$]+) = constant { i32, i32, ptr, ptr, ptr, ptr, i32", text, flags=re.M)[1]
    sources = [pathlib.Path(__file__).parent / "Contract" / "emulate_tiles.c"]
    with tempfile.TemporaryDirectory(prefix="hewn-") as folder:
        for i, module in enumerate(modules):
            sources.append(pathlib.Path(folder) / f"{i}.ll")
            sources[-1].write_text(retargeted(module))
        runtime = TOOLS.parent / "lib" / "libhewn_runtime.a"
        # The linker takes the archives with third-party libraries only if the model calls their
        # functions.
        parts = sorted(set(runtime.parent.glob("libhewn_*.a")) - {runtime})
        archive = ["-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive", *parts]
        archive += ["--rtlib=compiler-rt", "-lm", "-lpthread"]
        # The runtime finds a library's model under this symbol.
        entry = [f"-Wl,--defsym=hewn_model_main={model}", "-Wl,--export-dynamic"]
        flags = [optimize, "-fPIC", "-Wno-override-module", "-shared"]
        subprocess.run([CLANG, *flags, *sources, *archive, *entry, "-o", library], check=True)
    return sum("x86_amx" in module for module in modules)


def build(model, folder, target, flags=(), optimize="-O1"):
    """Builds the library of a model for `target` with this processor's instructions. Returns its
    path and the number of modules that use AMX tiles."""
    path = folder / "m.onnx"
    onnx.save(model, path)
    command = [TOOLS / "hewn", "compile", path, f"--target={target}", *flags]
    # The compiler also writes the weights file, whose name is in the IR text.
    subprocess.run([*command, "-o", folder / "libm.so"], check=True)
    subprocess.run([*command, "--emit=llvm", "-o", folder / "m.ll"], check=True)
    return folder / "libm.so", link((folder / "m.ll").read_text(), folder / "libm.so", optimize)


def choose():
    """Skips the running test if this machine can't run retargeted code, or if the test is not in
    the selected shard (HEWN_WIDER)."""
    if not HAS_V3:
        pytest.skip("AVX-512 code is retargeted to AVX2, which this machine lacks")
    i, n = map(int, os.environ.get("HEWN_WIDER", "1/8").split("/"))
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    if zlib.crc32(test.encode()) % n != i:
        pytest.skip(f"retargeted code: only shard {i} of {n} of its tests runs (HEWN_WIDER=0/1 runs all)")


def compiled(model, target, precision="highest", threads=1, quantize=None):
    """Compiles a model for a target with more instructions than this processor, retargets it and
    loads it. `quantize` is a dict, the content of a quantization file."""
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
