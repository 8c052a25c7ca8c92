# SPDX-License-Identifier: Apache-2.0
"""wheel.py WHEEL [EXTRA...]: installs a wheel into an empty environment on a system without LLVM,
and uses it: compiles from the shell and from Python, builds examples/c with find_package(hewn) from
the package's folder, and uninstalls the wheel. For each extra (torch, jax, keras, sklearn),
installs the wheel with the extra by pip into another environment, and compiles a model of that
framework there without a network.

HEWN_CMAKE is the path of CMake, if it is not in PATH. test_roots.py runs this script in root file
systems of other releases.

"Without LLVM" means a mount namespace whose /usr/lib/llvm-22 is empty; "without a network" means an
empty network namespace. If the system does not allow a namespace, the script prints a message and
continues without it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22")
MOST_BYTES = 40e6
# Libraries that every Linux system has: those of glibc, the dynamic loader, and GCC's unwinder.
EVERYWHERE = (
    "linux-vdso.so",
    "ld-linux-",
    "libc.so",
    "libm.so",
    "libdl.so",
    "libpthread.so",
    "librt.so",
    "libgcc_s.so",
)


# Extra -> program that compiles a model of the extra's framework and compares the results.
DOORS = {
    "torch": """
import hewn, hewn.dynamo, torch
net, x = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval(), torch.randn(8, 64)
with torch.inference_mode():
    wanted = net(x)
    torch.testing.assert_close(hewn.compile(net, example_inputs=x)(x), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(hewn.compile(torch.export.export(net, (x,)))(x), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.compile(net, backend="hewn")(x), wanted, rtol=1e-4, atol=1e-4)
assert hewn.dynamo.counts["compiled"] == 1 and hewn.dynamo.counts["fallbacks"] == 0, hewn.dynamo.counts
""",
    "jax": """
import hewn, jax.numpy as jnp, numpy as np
f, x = lambda x: jnp.tanh(x @ jnp.full((64, 4), 0.1)).sum(axis=0), np.random.default_rng(0).random((8, 64), np.float32)
np.testing.assert_allclose(np.asarray(hewn.compile(f, example_inputs=x)(x)), f(x), rtol=1e-4, atol=1e-4)
""",
    "keras": """
import hewn, keras, numpy as np
net, x = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(4, "relu")]), np.ones((8, 64), np.float32)
np.testing.assert_allclose(np.asarray(hewn.compile(net)(x)), net.predict(x, verbose=0), rtol=1e-4, atol=1e-4)
""",
    "sklearn": """
import hewn, numpy as np, sklearn.linear_model as linear
x = np.random.default_rng(0).random((40, 4), np.float32)
net = linear.LinearRegression().fit(x, x.sum(axis=1))
np.testing.assert_allclose(np.asarray(hewn.compile(net)(x)).ravel(), net.predict(x), rtol=1e-4, atol=1e-4)
""",
}


def run(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))} failed")
    return done.stdout


def must(truth: bool, what: str) -> None:
    if not truth:
        sys.exit(f"wheel: {what}")


def hide_llvm() -> None:
    """Restarts this process in a mount namespace without LLVM."""
    if os.environ.get("HEWN_LLVM_HIDDEN") or not LLVM.exists():
        return
    again = f"mount -t tmpfs none {LLVM} && exec env HEWN_LLVM_HIDDEN=1 {sys.executable} {' '.join(sys.argv)}"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", again])
    print("wheel: LLVM can't be hidden (unshare -m is not permitted): only ldd checks that nothing links it")


def check_links(package: pathlib.Path) -> None:
    """Checks that the executables and libraries of the package link only system libraries and files
    of the package."""
    for file in [*package.glob("*.so"), *package.glob("bin/*"), *package.glob("lib/*.so")]:
        for line in run("ldd", file).splitlines():
            name, _, where = line.strip().partition(" => ")
            inside = where.startswith(str(package))
            must(
                inside or pathlib.Path(name.split()[0]).name.startswith(EVERYWHERE), f"{file.name} wants {line.strip()}"
            )


def use(python: pathlib.Path, folder: pathlib.Path) -> None:
    model = ROOT / "examples/c/sobel.onnxtxt"
    hewn = python.parent / "hewn"
    run(hewn, "compile", model, "-o", folder / "libsobel.so", cwd=folder)
    must((folder / "libsobel.so").exists(), "hewn compile wrote no library")
    version = run(hewn, "--version")
    must(run(python, "-m", "hewn", "--version") == version, "python -m hewn is not hewn")
    run(python.parent / "hewn-opt", "--version")
    run(
        python,
        "-c",
        f"import hewn, numpy; m = hewn.compile({str(model)!r}); t = m.inputs[0]\n"
        "assert numpy.isfinite(m(numpy.ones([d if isinstance(d, int) else 2 for d in t.shape], t.dtype))).all()",
        cwd=folder,
    )
    run(
        python,
        "-c",
        "from hewn.compat import onnxruntime as ort; import hewn.compat.onnxruntime.capi.onnxruntime_pybind11_state as c\n"
        f"try: ort.InferenceSession({str(folder / 'none.onnx')!r})\n"
        "except c.NoSuchFile: pass",
        cwd=folder,
    )
    # The entry point through which torch.compile finds the backend, and the modules for other
    # frameworks' models.
    run(
        python,
        "-c",
        "import importlib.metadata as m, importlib.util as u, os, hewn.frontends\n"
        "(e,) = m.entry_points(group='torch_dynamo_backends')\n"
        "assert (e.name, e.value) == ('hewn', 'hewn.dynamo:backend') and u.find_spec('hewn.dynamo')\n"
        # imports torch
        "assert os.path.exists(os.path.dirname(u.find_spec('hewn.dynamo').origin) + '/running.py')",
        cwd=folder,
    )
    # Builds a CMake project with only the wheel and a C compiler.
    prefix = run(python, "-m", "hewn", "--cmake-dir").strip()
    cmake = os.environ.get("HEWN_CMAKE", "cmake")
    run(cmake, "-S", ROOT / "examples/c", "-B", folder / "c", f"-Dhewn_DIR={prefix}", "-DCMAKE_C_COMPILER=cc")
    run(cmake, "--build", folder / "c")
    must(
        run(folder / "c/edges") == (ROOT / "test/Install/edges.txt").read_text(), "examples/c printed a different image"
    )


def try_extra(wheel: pathlib.Path, extra: str) -> None:
    """Installs the wheel with an extra by pip, then compiles a model without a network. This fails
    if a converter or a compiler downloads something at run time."""
    must(extra in DOORS, f"unknown extra {extra}; known extras: {', '.join(DOORS)}")
    isolated = subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv/bin/python"
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[{extra}]")
        run(*(["unshare", "-n"] if isolated else []), python, "-c", DOORS[extra], cwd=folder)
    print(
        f"{wheel.name}[{extra}]: compiles, {'without a network' if isolated else 'with a network (unshare -n is not permitted)'}"
    )


def main() -> None:
    wheel = pathlib.Path(sys.argv[1]).resolve()
    os.environ.pop("PYTHONPATH", None)  # otherwise Python imports the package of the build
    os.environ["LD_BIND_NOW"] = "1"  # a function that this system's C library lacks is an error
    hide_llvm()
    size = wheel.stat().st_size
    must(size <= MOST_BYTES, f"{wheel.name} has {size / 1e6:.1f} MB, {MOST_BYTES / 1e6:.0f} are allowed")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv/bin/python"
        start = time.monotonic()
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
        installed = time.monotonic() - start
        package = pathlib.Path(run(python, "-c", "import hewn, os; print(os.path.dirname(hewn.__file__))").strip())
        check_links(package)
        use(python, folder)
        run(python, "-m", "pip", "uninstall", "-q", "-y", "hewn-compiler")
        left = [
            p
            for p in (*package.parent.glob("*hewn*"), *(folder / "venv/bin").glob("hewn*"))
            if "__pycache__" not in str(p)
        ]
        must(not left, f"pip uninstall left {left}")
        print(
            f"{wheel.name}: {size / 1e6:.1f} MB, installed in {installed:.1f} s, compiles, links and runs without LLVM, by Python {sys.version.split()[0]}"
        )
    for extra in sys.argv[2:]:
        try_extra(wheel, extra)


if __name__ == "__main__":
    main()
