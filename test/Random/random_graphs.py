#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles random models and compares their results. Prints each finding with the command that
reproduces it, and reduces its model."""

import argparse
import collections
import dataclasses
import functools
import itertools
import os
import pathlib
import pickle
import random
import resource
import sys
import time
import traceback

import onnx
from compare import WRONG, Eligibility, Judge, emulator, machine_lacks, same_types
from generate import THEMES, Case, generate
from oracle import Oracle
from unfit import unfit

CASES_OF_A_CHILD, GIGABYTES = 250, 12


def file_case(path):
    """Loads the case of a model file NAME.onnx, with the inputs NAME.pkl."""
    path = pathlib.Path(path)
    model = onnx.load(path)
    return Case(path.name, model, [same_types(model, pickle.loads(path.with_suffix(".pkl").read_bytes()))])


def seed_case(seed, oracle, theme=None):
    return generate(seed, oracle, theme=theme)


def unfit_case(seed, oracle, theme=None):
    case = generate(seed, oracle, theme=theme)
    return case and unfit(case, seed)


def keep(case, folder, suffix=""):
    """Saves the model and its inputs, so that `file` can read them."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (case.name.replace(" ", "-").removesuffix(".onnx") + suffix + ".onnx")
    onnx.save(case.model, path)
    path.with_suffix(".pkl").write_bytes(pickle.dumps(case.feeds[0]))
    return path


@dataclasses.dataclass
class Found:
    """The verdict on one case for one target."""

    name: str
    verdict: Eligibility
    target: str
    case: Case = None


def judged(case, judges, choice, emulated):
    """Yields the verdict on a case, and sometimes a second one from the emulated GPU. For a
    finding, the verdict contains the case."""
    for i, judge in enumerate(judges):
        if i and choice.random() >= emulated:
            return
        verdict = judge.judge(case)
        yield Found(case.name, verdict, judge.target, case if verdict.kind in WRONG else None)
        if verdict.kind in WRONG:
            return


def hunt(make, numbers, target, seconds, emulated=0.0):
    """Generates and compares cases in child processes until the time is over. A crash of the
    reference therefore loses one case only."""
    numbers, end = collections.deque(numbers), time.monotonic() + seconds
    while numbers and time.monotonic() < end:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with os.fdopen(write, "wb") as file:
                try:
                    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
                    work(make, numbers, target, end, emulated, file)
                except MemoryError:
                    os._exit(1)
                except BaseException as problem:
                    traceback.print_exc()
                    pickle.dump(("failed", repr(problem)), file)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            while True:
                try:
                    what, value = pickle.load(file)
                except (EOFError, pickle.UnpicklingError):
                    break
                if what == "found":
                    yield value
                elif what == "failed":
                    raise RuntimeError(value)
                else:
                    current = numbers.popleft()
        status = os.waitpid(child, 0)[1]
        if status:
            yield Found(str(current), Eligibility("oracle crashes"), target)


def work(make, numbers, target, end, emulated, file):
    """Processes cases until the time is over, or a child has had its number of cases. That number
    is limited because onnxruntime's caches grow, and children inherit them."""
    oracle = Oracle()
    judges = [Judge(oracle, target)] + ([Judge(oracle, "sm_80")] if emulated else [])

    def send(*what):
        pickle.dump(what, file)
        file.flush()

    for number in itertools.islice(numbers, CASES_OF_A_CHILD):
        if time.monotonic() > end:
            return
        send("begun", number)
        case = make(number, oracle)
        for found in judged(case, judges, random.Random(number), emulated) if case else ():
            send("found", found)


def tell(found, again, folder=None, say=print):
    """Prints the findings, and returns the number of findings of each kind."""
    counts, texts, wrong, names = collections.Counter(), collections.Counter(), 0, set()
    for one in found:
        verdict, text = one.verdict, " ".join(one.verdict.text.split())
        counts[f"{verdict.kind} on {one.target}" if one.name in names else verdict.kind] += 1
        names.add(one.name)
        if verdict.kind in ("refused", "status", "answered", "oracle crashes"):
            texts[f"{verdict.kind}: {text[:110]}"] += 1
            say(f"# {one.name}: {verdict.kind}, {text[:200]}")
        if verdict.kind in WRONG:
            wrong += 1
            say(f"{one.name} ({one.target}): {verdict.kind}, {text}\n    {again(one)}")
            if folder:
                keep(one.case, folder)
    for text, count in texts.most_common(40):
        say(f"{count:5} {text}")
    return counts, wrong


def summary(counts, wrong):
    kinds = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    total = sum(n for kind, n in counts.items() if " on " not in kind)
    return f"{total} graphs, {wrong} wrong ({kinds})"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="models of seeds")
    run.add_argument("first", type=int)
    run.add_argument("count", type=int)
    folder = commands.add_parser(
        "folder", help="models that are there: NAME.onnx with NAME.pkl, as nnsmith/generate.py writes them"
    )
    folder.add_argument("folder")
    run.add_argument("--unfit", action="store_true", help="with dims left open, and inputs that do not fit")
    show = commands.add_parser("show", help="the model of a seed, as ONNX text")
    show.add_argument("seed", type=int)
    reduce = commands.add_parser("reduce", help="the smallest model that is wrong as this seed, or file, is")
    reduce.add_argument("what", help="a seed, or NAME.onnx beside NAME.pkl")
    for command in (run, folder):
        command.add_argument("--seconds", type=float, default=1e9, help="stop after so many")
        command.add_argument(
            "--emulated", type=float, default=0.0, help="this share of the models also on the emulated GPU"
        )
        command.add_argument("--keep", help="a folder for models that are wrong")
    for command in (run, show, reduce):
        command.add_argument("--theme", choices=sorted(THEMES), help="models of one kind only")
    for command in (run, folder, reduce):
        command.add_argument(
            "--target", default="host", help="x86-64-v2, x86-64-v3, x86-64-v4, portable, wasm32, sm_80, sm_90a, ..."
        )
    return parser.parse_args()


def main():
    options = arguments()
    script = f"{sys.executable} {sys.argv[0]}"
    if options.command == "show":
        print(onnx.printer.to_text(generate(options.seed, theme=options.theme).model))
        return 0
    if lacks := machine_lacks(options.target):
        print(f"not run: this machine has no {lacks}, which {options.target} needs")
        return 0
    if options.target.startswith("sm_") or getattr(options, "emulated", 0):
        emulator()
    if options.command == "reduce":
        import reduce

        by_seed = options.what.isdigit()
        case = generate(int(options.what), theme=options.theme) if by_seed else file_case(options.what)
        return reduce.report(case, options.target)
    if options.command == "run":
        make = functools.partial(unfit_case if options.unfit else seed_case, theme=options.theme)
        numbers = range(options.first, options.first + options.count)
    else:
        paths = sorted(pathlib.Path(options.folder).glob("*.onnx"))
        make, numbers = (lambda i, oracle: file_case(paths[i])), range(len(paths))

    def again(one):
        theme = f" --theme={options.theme}" if options.command == "run" and options.theme else ""
        if options.command == "run" and options.unfit:
            return f"{script} run {one.name.split()[-1]} 1 --unfit --target={one.target}{theme}"
        what = one.name.split()[-1] if options.command == "run" else pathlib.Path(options.folder) / one.name
        return f"{script} reduce {what} --target={one.target}{theme}"

    found = hunt(make, numbers, options.target, options.seconds, options.emulated)
    counts, wrong = tell(found, again, options.keep, lambda *a: print(*a, flush=True))
    print(summary(counts, wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
