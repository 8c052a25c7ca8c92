# SPDX-License-Identifier: Apache-2.0
"""Tests the HTML files without a browser. A file is well-formed and self-contained, has all
regions, and escapes hostile names."""

import html.parser
import json
import os
import platform
import re
import subprocess

import onnx
import pytest
from conftest import HOSTILE, TOOL, chain, hewn

VOID = {"meta", "input", "br", "img", "link", "hr"}
REGIONS = {
    "explain": ["overview", "next", "graph", "kernels", "arena", "undone", "compile"],
    "profile": ["overview", "next", "roofline", "timeline", "graph", "kernels", "arena", "undone"],
    "report": ["outputs", "curve", "layers", "quantization"],
}
KINDS = [(key, kind) for key in ("hostile", "many") for kind in REGIONS]


class Reader(html.parser.HTMLParser):
    """Collects elements, attributes and text. Raises an error if elements are not properly nested."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append((tuple(self.open), data))


def read(pages, key, kind):
    return Reader(getattr(pages, f"{key}_{kind}").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("key", "kind"), KINDS)
def test_a_page_is_well_formed_and_whole(pages, key, kind):
    page = read(pages, key, kind)
    assert len(page.ids) == len(set(page.ids))
    assert [attributes["id"] for tag, attributes in page.elements if tag == "section"][: len(REGIONS[kind])] == REGIONS[
        kind
    ]
    tags = [tag for tag, _ in page.elements]
    scripts = [attributes for tag, attributes in page.elements if tag == "script" and "type" not in attributes]
    assert len(scripts) == tags.count("style") == tags.count("main") == tags.count("h1") == 1
    assert not {"img", "link", "iframe", "object", "embed", "base", "form", "audio", "video"} & set(tags)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"<{tag} {name}>"
            assert name not in ("src", "srcset", "action", "data", "xlink:href"), f"<{tag} {name}>"
            if name == "href":
                assert value[0] == "#" and value[1:] in page.ids, f"leads nowhere: {value}"
            if name in ("for", "aria-labelledby"):
                assert value in page.ids
            if name == "style":
                assert "url" not in value and ":" in value
        if "data-item" in attributes or attributes.get("role") in ("group", "img"):
            assert attributes["aria-label"].strip()
    text = getattr(pages, f"{key}_{kind}").read_text()
    assert "http:" not in text and "https:" not in text and "@import" not in text and "url(" not in text
    policy = next(
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy


@pytest.mark.parametrize("kind", REGIONS)
def test_hostile_names_are_text(pages, kind):
    """Hostile names appear as text, and none of them creates an element or an attribute."""
    page = read(pages, "hostile", kind)
    shown = "".join(data for _, data in page.text) + "".join(a.get("aria-label", "") for _, a in page.elements)
    assert f"{HOSTILE} product 1" in shown
    source = pages.hostile_explain.read_text()
    assert HOSTILE not in source and "<img" not in source
    if kind != "report":
        assert "hostile & co.onnx" in shown


def test_the_record_and_the_trace_have_hostile_names_as_they_are(pages):
    done = hewn("explain", pages.folder / "hostile & co.onnx", "--json")
    record = json.loads(done.stdout)
    nodes = {node for kernel in record["variants"][0]["kernels"] for node in kernel["nodes"]}
    expected = {f"{HOSTILE} {kind} {i}" for kind in ("product", "softmax") for i in range(3)}
    assert nodes == expected
    events = json.loads((pages.folder / "hostile.json").read_text())["traceEvents"]
    assert {node for event in events for node in event["args"].get("nodes", [])} == expected


def test_a_page_says_what_json_says(pages):
    """The page shows what the JSON record contains: every kernel with its number of launches, and
    each buffer of the arena with its size in bytes."""
    record = json.loads(hewn("explain", pages.folder / "many.onnx", "--json").stdout)
    (variant,) = record["variants"]
    page = read(pages, "many", "explain")
    names = [data for stack, data in page.text if stack[-1:] == ("span",) and "td" in stack]
    for kernel in variant["kernels"]:
        assert kernel["name"] in names
    (arena,) = variant["arenas"]
    labels = [attributes["aria-label"] for tag, attributes in page.elements if tag == "rect"]
    assert len(labels) == len(arena["layout"]["blocks"])
    for block, label in zip(arena["layout"]["blocks"], labels):
        assert f"of node {block['node']}\n" in label and f"computed by {block['kernel']}" in label
        assert block["values"][0] in label and re.search(r"\n[0-9.]+ [kM]?B at ", label)


def test_profile_puts_kernels_beside_the_roofline(pages, tmp_path):
    done = hewn("profile", pages.folder / "many.onnx", "--seconds", 0, "--json", "--dim", "rows=40")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    machine = record["machine"]
    assert machine["threads"] == 1 and 0 < machine["seconds"] < 60 and machine["peaks"][0]["multiplies"] == "f32"
    assert all(peak["flop_per_second"] > 1e8 for peak in machine["peaks"])
    sizes = [one["bytes"] for one in machine["bandwidths"]]
    assert sizes == sorted(sizes) and all(one["bytes_per_second"] > 1e7 for one in machine["bandwidths"])
    kernels = record["fastest_run"]["kernels"]
    products = [kernel for kernel in kernels if kernel["multiplies"] == "f32"]
    assert len(products) == 26
    peak = machine["peaks"][0]["flop_per_second"]
    for kernel in products:
        assert (
            kernel["flop"] > 0
            and kernel["bytes"] > kernel["constant_bytes"] > 0
            and kernel["roof"] in ("compute", "memory")
        )
        computing = 1e3 * kernel["flop"] * kernel["launches"] / peak
        assert kernel["least_milliseconds"] >= computing * (1 - 1e-9)
        assert (kernel["roof"] == "compute") == (kernel["least_milliseconds"] <= computing * (1 + 1e-9))
    rows = {kernel["flop"] // 2 for kernel in products}
    assert rows == {40 * (8 + 8 * i) * (16 + 8 * i) for i in range(26)}
    assert (record["counted_runs"] > 0) == (record["counters_unavailable"] is None)
    for kernel in kernels:
        assert (kernel["counters"] is None) == (record["counted_runs"] == 0)
        if kernel["counters"]:
            assert kernel["counters"]["cycles"] > 0 and kernel["counters"]["instructions"] > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_suggestions_have_evidence(pages, threads):
    """The page has at most three suggestions, sorted by the time that they save. The JSON record
    contains each of them."""
    record = json.loads(
        hewn(
            "profile", pages.folder / "many.onnx", "--seconds", 0, "--json", "--dim", "rows=400", "--threads", threads
        ).stdout
    )
    total = record["fastest_run"]["milliseconds"]
    saved = [one["saves_at_most_milliseconds"] or 0 for one in record["suggestions"]]
    assert len(saved) <= 3 and saved == sorted(saved, reverse=True) and all(0 <= most <= total for most in saved)
    for one in record["suggestions"]:
        assert one["title"] and re.search(r"\d|'", one["evidence"]) and one["try"].lstrip().startswith("--")
    assert not any(one["try"].startswith("--dim") for one in record["suggestions"]), "its dims are bound"
    processors = len(os.sched_getaffinity(0))
    if threads >= processors:
        assert not any(one["try"].startswith("--threads") for one in record["suggestions"])


def test_naive_code_is_told_first_to_be_compiled_with_optimizations(pages, tmp_path):
    done = hewn("explain", pages.folder / "many.onnx", "-O0", "--html", tmp_path / "p.html")
    assert done.returncode == 0, done.stderr
    assert "Compile with optimizations" in (tmp_path / "p.html").read_text()
    assert "Compile with optimizations" not in pages.many_explain.read_text()


def test_a_size_that_nobody_said_is_a_suggestion(pages, tmp_path):
    done = hewn("profile", pages.folder / "many.onnx", "--seconds", 0, "--html", tmp_path / "p.html")
    assert done.returncode == 0 and "warning" in done.stderr
    assert "--dim rows=8" in (tmp_path / "p.html").read_text()


def test_a_library_is_profiled_without_what_only_the_compiler_knows(pages, tmp_path):
    hewn("compile", pages.folder / "many.onnx", "-o", tmp_path / "many.so")
    done = hewn(
        "profile",
        tmp_path / "many.so",
        "--seconds",
        0,
        "--threads",
        2,
        "--dim",
        "rows=4",
        "--html",
        tmp_path / "p.html",
    )
    assert done.returncode == 0, done.stderr
    page = Reader((tmp_path / "p.html").read_text())
    empty = [attributes for tag, attributes in page.elements if attributes.get("class") == "empty"]
    assert len(empty) >= 2 and "profile the model (.onnx)" in "".join(data for _, data in page.text)


def test_machines_that_are_not_here_have_no_roof(pages, tmp_path):
    other = (
        ("neoverse-n1", "this machine does not run code for 'neoverse-n1'")
        if platform.machine() == "x86_64"
        else ("x86-64-v3", "this machine does not run code for 'x86-64-v3'")
    )
    for target, why in (other, ("sm_80", "'sm_80' is a GPU, whose rates are not measured")):
        done = hewn(
            "explain", pages.folder / "many.onnx", "--target", target, "--dim", "rows=4", "--html", tmp_path / "p.html"
        )
        assert done.returncode == 0, done.stderr
        page = Reader((tmp_path / "p.html").read_text())
        assert why in "".join(data for _, data in page.text)


def test_several_machines_have_a_table_each(pages, tmp_path):
    done = hewn("explain", pages.folder / "many.onnx", "--target", "x86-64-v3,x86-64-v2", "--html", tmp_path / "p.html")
    assert done.returncode == 0, done.stderr
    page = Reader((tmp_path / "p.html").read_text())
    headings = [data for stack, data in page.text if stack[-1:] == ("h3",)]
    assert headings.count("x86-64-v3") == headings.count("x86-64-v2") == 3
    assert [tag for tag, attributes in page.elements if attributes.get("aria-label") == "Kernels"] == ["table", "table"]


def test_a_model_without_kernels_has_a_page(tmp_path):
    graph = onnx.parser.parse_graph("g (float[4] x) => (float[4] y) { y = Identity(x) }")
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10),
        tmp_path / "m.onnx",
    )
    for arguments in (["explain"], ["profile", "--seconds", 0]):
        done = hewn(*arguments, tmp_path / "m.onnx", "--html", tmp_path / "p.html")
        assert done.returncode == 0, done.stderr
        Reader((tmp_path / "p.html").read_text())


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "{}", "--html"],
        ["profile", "{}", "--seconds", "0", "--html"],
        ["profile", "{}", "--seconds", "0", "--trace"],
    ],
)
def test_what_can_not_be_written_is_one_error(tmp_path, arguments):
    model = tmp_path / "m.onnx"
    onnx.save(chain(1, 8, "n"), model)
    before = model.read_bytes()
    (tmp_path / "folder").mkdir()
    arguments = [argument.format(model) for argument in arguments]
    for path, why in (
        (tmp_path / "none" / "p.html", "does not exist"),
        (tmp_path / "folder", "a folder"),
        (model, "is also the model or another file of this command"),
    ):
        done = hewn(*arguments, path)
        assert done.returncode == 1 and done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ") and str(path) in line and why in line
    assert model.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "m.onnx"]


def test_two_files_of_a_profile_are_two(tmp_path):
    onnx.save(chain(1, 8, "n"), tmp_path / "m.onnx")
    done = hewn("profile", tmp_path / "m.onnx", "--html", tmp_path / "p", "--trace", tmp_path / "p")
    assert done.returncode == 1 and "another file of this command" in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    """If the disk is full, the command keeps the previous page."""
    onnx.save(chain(1, 8, "n"), tmp_path / "m.onnx")
    (tmp_path / "p.html").write_text("before")
    command = f'ulimit -f 4; "$0" explain "{tmp_path}/m.onnx" --html "{tmp_path}/p.html"'
    done = subprocess.run(["bash", "-c", command, TOOL], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.startswith("error: ")
    assert (tmp_path / "p.html").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "p.html"]
