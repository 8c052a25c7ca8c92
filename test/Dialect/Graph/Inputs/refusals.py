# SPDX-License-Identifier: Apache-2.0
"""refusals.py HEWN_OPT TESTS DIALECT: checks that the verifier rejects some form of every op of the
graph dialect.

Either a file in TESTS expects an error at the op, or, for an op whose result type is inferred, each
valid form there is tried with an impossible result type. DIALECT is the folder of the .td files."""

import re
import subprocess
import sys
from pathlib import Path

ODD = "tensor<3x1x4x1x5x9x2xi3>"
# Ops of which the verifier rejects no form that the parser accepts, with the reason.
NOTHING = {"graph.yield": "the op around it compares what it yields with its results"}
FORM = re.compile(r"^  %[\w, %]+ = (graph\.\w+) .*-> \(?tensor<[^()]*>\)?$")
EXPECTED = re.compile(r"expected-error(?:-re)? ?@(?:below|\+(\d+))")


def forms(chunk: str):
    """Yields each tensor op of the chunk's functions, as a function that ends with the op."""
    lines = chunk.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("func.func ")]
    aliases = [line for line in lines if re.match(r"[#!]\w+ = ", line)]
    for head, end in zip(heads, [*heads[1:], len(lines)]):
        signature = re.match(r"func\.func @\w+\(.*?\)(?= ->| \{$)", lines[head])
        # one op per line
        body = re.sub(r"\n {4,}(?=[^%\s])", " ", "\n".join(lines[head + 1 : end])).splitlines()
        for i, line in enumerate(body):
            if signature and (form := FORM.match(line)):
                count = line.split(" = ")[0].count("%")
                odd = re.sub(r"-> \(?tensor<[^()]*>\)?$", f"-> ({', '.join([ODD] * count)})", line)
                yield form[1], "\n".join([*aliases, signature[0] + " {", *body[:i], odd, "  return", "}"])


def expected(text: str):
    """Yields the ops at which the test expects an error."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if found := EXPECTED.search(line):
            at = i + int(found[1] or 1)
            while at < len(lines) and lines[at].lstrip().startswith("//"):
                at += 1
            yield from re.findall(r"\bgraph\.[a-z_0-9]+", lines[at] if at < len(lines) else "")


def ops(folder: Path):
    """Yields the ops that the dialect's .td files define."""
    for path in folder.rglob("*.td"):
        for mnemonic in re.findall(r'\ndef\s+\w+Op\s*:\s*\w+<"(\w+)"', path.read_text()):
            yield f"graph.{mnemonic}"


def main() -> int:
    opt, tests, dialect = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    texts = [path.read_text() for path in sorted(tests.glob("*.mlir"))]
    tried = [
        form for text in texts for chunk in text.split("// -----") if "expected-" not in chunk for form in forms(chunk)
    ]
    run = subprocess.run(
        [opt, "--split-input-file", "-o", "/dev/null"],
        input="\n// -----\n".join(text for _, text in tried),
        capture_output=True,
        text=True,
    )
    refused = {op for text in texts for op in expected(text)} | set(
        re.findall(r"error: '(graph\.\w+)' op ", run.stderr)
    )
    others = [
        line for line in run.stderr.splitlines() if " error: " in line and not re.search(r"'graph\.\w+' op ", line)
    ]
    wrong = [f"{op}: no form of it is refused" for op in sorted(set(ops(dialect)) - refused - set(NOTHING))]
    wrong += [
        f"{op}: is refused, and is listed as one that nothing is wrong with" for op in sorted(refused & set(NOTHING))
    ]
    wrong += [f"no form: {line}" for line in others]
    print(*wrong, f"{len(tried)} forms; {len(refused)} ops are refused in some form", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
