# SPDX-License-Identifier: Apache-2.0
"""Compiles architectures with hewn.compile(module) and with torch.compile(module, backend="hewn"),
compares the results with torch's, and compares the times with torch and with inductor.

- `doors.py run RECORDS.jsonl [NAME ...] [--seconds N] [--again] [--without-inductor]` - `doors.py
table RECORDS.jsonl [-o docs/python/torch-speed.md]` - `doors.py check [NAME ...]` - `doors.py
memory [NAME]`

`run` measures the architectures that have no record in RECORDS, each in a separate process. `check`
compares the results of some architectures and exits with 1 if one is wrong. `memory` prints the
memory of a process for one architecture, with frozen parameters (constants of the compiled model)
and with lifted ones (its inputs).
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import sys
import tempfile
import time

import judging
from architectures import architectures
from doors_table import page
from exports import machine, versions
from measuring import LIMITS, Facts, best_times, forked, short

# Small architectures of each type from each library. All together take an hour on two cores.
NAMES = (
    "resnet18 mobilenet_v2 mobilenet_v3_small efficientnet_b0 densenet121 shufflenet_v2_x1_0 squeezenet1_1 mnasnet1_0 regnet_y_400mf "
    "convnext_tiny vit_b_32 swin_t "
    "ghostnet_100 mobilenetv4_conv_small repvgg_a0 convnextv2_atto starnet_s1 deit_tiny_patch16_224 xcit_nano_12_p16_224 "
    "poolformer_s12 efficientvit_b0 levit_128s mixer_s32_224 gmlp_ti16_224 "
    "bert roberta distilbert gpt2 llama t5 vit whisper"
).split()
CHECKED = ("mobilenet_v3_small", "xcit_nano_12_p16_224")
MOVES, TIMED_SECONDS = 16, 3.0
ENGINES = ("eager", "inductor", "module", "backend")


def chosen(names) -> list:
    known = {a.name: a for a in architectures()}
    if unknown := sorted(set(names) - known.keys()):
        sys.exit(f"doors.py: no architecture is named {', '.join(unknown)}; see exports.py list")
    return [known[name] for name in names or NAMES]


def compiled_runs(module, inputs, facts, with_inductor) -> dict:
    """Returns, for each engine, a function that runs the module. Each engine compiles the module in
    this call; its compile time and torch's warnings are recorded in `facts`."""
    import warnings

    import hewn
    import torch
    from exporting import tensors
    from hewn import dynamo

    def by_module():
        compiled = hewn.compile(module, example_inputs=inputs)
        return lambda: tensors(compiled.run(dict(zip((t.name for t in compiled.inputs), inputs))))

    def by_dynamo(backend):
        compiled = torch.compile(module, backend=backend)
        return lambda: compiled(*inputs)

    makers = {
        "module": by_module,
        "backend": lambda: by_dynamo(dynamo.backend),
    }
    if with_inductor:
        makers["inductor"] = lambda: by_dynamo("inductor")
    runs = {"eager": lambda: module(*inputs)}
    for name, maker in makers.items():
        facts.tell(step=name)
        start = time.monotonic()
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                runs[name] = maker()
                runs[name]()
            facts.tell(**{f"{name}_s": round(time.monotonic() - start, 1)})
            if reasons := [str(w.message) for w in told if w.category is dynamo.FallbackWarning]:
                facts.tell(fallback=short(reasons[0]))
        except Exception as problem:
            runs.pop(name, None)
            facts.tell(**{name: short(problem)})
    return runs


def judged(module, architecture, facts) -> None:
    """Records the verdict on the results of both entry points, hewn.compile and torch.compile: it
    is the verdict on the one with the larger error."""
    import exporting

    feed = architecture.feeds(architecture.sizes[-1])
    want = exporting.results(module, feed)
    worse = max(facts.get("module_error", 0.0), facts.get("backend_error", 0.0))

    def spread():
        furthest = 0.0
        for seed in range(MOVES):
            furthest = max(furthest, judging.error(exporting.moved_results(module, feed, seed), want))
            if worse <= judging.SPREADS * furthest:
                break
        facts.tell(spread=furthest)
        return furthest

    facts.tell(verdict=judging.verdict(worse, None, lambda: 0.0, spread))


def measure(architecture, facts, with_inductor) -> None:
    import exporting
    import torch
    from hewn import dynamo

    facts.tell(step="torch")
    module = exporting.module_of(architecture)
    facts.tell(parameters=sum(p.numel() for p in module.parameters()))
    inputs = exporting.given(architecture.feeds(architecture.sizes[-1]))
    with torch.no_grad():
        want = [y.numpy(force=True).copy() for y in module(*inputs)]
        runs = compiled_runs(module, inputs, facts, with_inductor)
        facts.tell(step="compare")
        for name in ENGINES[1:]:
            if name in runs:
                got = [y.numpy(force=True).copy() for y in runs[name]()]
                facts.tell(**{f"{name}_error": judging.error(got, want)})
        facts.tell(graphs=dynamo.counts["graphs"], compiled=dynamo.counts["compiled"], fallbacks=dynamo.counts["fallbacks"], functionalized=dynamo.counts["functionalized"])  # fmt: skip
        judged(module, architecture, facts)
        facts.tell(step="times")
        times = best_times(list(runs.values()), TIMED_SECONDS)
    facts.tell(step="", **{f"{name}_ms": round(ms, 4) for name, ms in zip(runs, times)})


def record(architecture, with_inductor=True) -> dict:
    with tempfile.TemporaryDirectory() as name:
        facts = Facts(pathlib.Path(name) / "facts.json")
        facts.tell(library=architecture.library, name=architecture.name)
        kind, said = forked(lambda: measure(architecture, facts, with_inductor), LIMITS)
        found = json.loads(facts.path.read_text())
        if kind != "ok":
            found["ended"] = short(said if isinstance(said, str) else ": ".join(said)) or kind
    return found


def is_right(found) -> bool:
    both = "module_error" in found and "backend_error" in found
    return both and not found.get("fallbacks") and found.get("verdict") in ("right", "rounding decides")


def run(said) -> None:
    lines = said.records.read_text().splitlines() if said.records.exists() else []
    done = {json.loads(line)["name"] for line in lines}
    left = [a for a in chosen(said.names) if said.again or a.name not in done]
    for package in ("torch", "torchvision", "timm", "transformers", "hewn.dynamo", "exporting"):
        importlib.import_module(package)  # imported once; each process is forked from this one
    about = {"versions": versions(), "machine": machine()}
    last = time.monotonic() + said.seconds
    for architecture in left:
        if time.monotonic() > last:
            break
        found = record(architecture, not said.without_inductor) | about
        with said.records.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print({k: v for k, v in found.items() if k not in ("versions", "machine")}, flush=True)


def table(said) -> None:
    found = {r["name"]: r for r in map(json.loads, said.records.read_text().splitlines())}
    text = page([found[a.name] for a in architectures() if a.name in found], judging.BOUND, judging.SPREADS)
    pathlib.Path(said.output).write_text(text) if said.output else print(text, end="")


def check(said) -> None:
    import torch  # noqa: F401

    wrong = []
    for architecture in chosen(said.names or CHECKED):
        found = record(architecture, with_inductor=False)
        print({k: found[k] for k in found if k != "parameters"}, flush=True)
        wrong += [] if is_right(found) else [architecture.name]
    print(f"wrong, or not compiled: {', '.join(wrong)}" if wrong else "all right")
    sys.exit(bool(wrong))


def held() -> dict[str, int]:
    """Returns two numbers in megabytes: the private memory of this process, and its resident memory
    of mapped files, which the system can drop."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return {"own": int(sizes["RssAnon"]) // 1024, "mapped": int(sizes["RssFile"]) // 1024}


def memory(said) -> None:
    import exporting
    import torch
    from hewn import dynamo

    (architecture,) = chosen([said.name])

    def told(parameters):
        module = exporting.module_of(architecture)
        inputs = exporting.given(architecture.feeds(architecture.sizes[-1]))
        weights = sum(p.numel() * p.element_size() for p in module.parameters()) >> 20
        options = {"parameters": parameters}
        run = torch.compile(module, backend=dynamo.backend, options=options) if parameters else module
        with torch.no_grad():
            run(*inputs)
            times = best_times([lambda: run(*inputs)], TIMED_SECONDS)
        return f"{parameters or 'eager'}: weights {weights} MB, held {held()} MB, {times[0]:.1f} ms"

    for parameters in (None, "freeze", "lift"):
        kind, said_of_it = forked(lambda chosen=parameters: told(chosen), LIMITS)
        if kind != "ok":
            sys.exit(f"doors.py: {parameters}: {kind}: {said_of_it}")
        print(said_of_it, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    running = parts.add_parser("run", help="measure the architectures that have no record")
    running.add_argument("records", type=pathlib.Path)
    running.add_argument("names", nargs="*")
    running.add_argument("--seconds", type=float, default=float("inf"))
    running.add_argument("--again", action="store_true", help="repeat architectures that have a record")
    running.add_argument(
        "--without-inductor", action="store_true", help="skip inductor, which compiles for a minute or more"
    )
    running.set_defaults(do=run)
    making = parts.add_parser("table", help="write docs/python/torch-speed.md from the records")
    making.add_argument("records", type=pathlib.Path)
    making.add_argument("-o", "--output")
    making.set_defaults(do=table)
    checking = parts.add_parser("check", help="compare results with torch's; exit with 1 if one is wrong")
    checking.add_argument("names", nargs="*")
    checking.set_defaults(do=check)
    holding = parts.add_parser("memory", help="print the memory with frozen and with lifted parameters")
    holding.add_argument("name", nargs="?", default="vit_b_32")
    holding.set_defaults(do=memory)
    said = parser.parse_args()
    said.do(said)


if __name__ == "__main__":
    main()
