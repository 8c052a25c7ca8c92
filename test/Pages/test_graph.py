# SPDX-License-Identifier: Apache-2.0
"""Tests the graph of a model: in the record, in the data of a page, and in a browser by mouse and
keyboard."""

import json

import browser
import pytest
from conftest import HOSTILE, hewn
from test_browser import CONTRAST, OVERFLOW
from test_html import read

PROGRAM = browser.find()
needs_browser = pytest.mark.skipif(
    PROGRAM is None,
    reason=f"no browser: none of {', '.join(browser.NAMES)} is on the path (tools/setup installs the first), and HEWN_BROWSER names none",
)
GRAPH = "document.getElementById('model-graph').graph"
ITEM = f"{GRAPH}.model.items.find(item => item.words.includes('WORD'))"
PANEL = "document.querySelector('#model-graph aside')"
# Frames of a pan over a large graph, in milliseconds. A display with 60 Hz has frames of 16.7 ms;
# the bounds allow for a loaded machine.
MEDIAN_FRAME, MEDIAN_PAINT = 60, 12


def steps_of(body):
    """Returns all steps of a body of the record, including those in inner bodies."""
    for step in body["steps"]:
        yield step
        for inner in step.get("bodies", []):
            yield from steps_of(inner)


def test_the_record_has_the_graph(graphs):
    record = json.loads(hewn("explain", graphs.model, "--json").stdout)
    nodes = {node["name"]: node for node in record["nodes"]}
    assert nodes["first"] == {"name": "first", "op": "MatMul", "inputs": ["x", "w"], "outputs": ["m"]}
    assert nodes["choose"]["op"] == "If" and nodes["repeat"]["inputs"] == ["trips", "b"]
    (variant,) = record["variants"]
    graph = variant["graph"]
    assert graph["input_names"] == ["x"] and graph["output_names"] == ["z"]
    values = graph["values"]
    (x,) = graph["arguments"]
    assert values[x] == {
        "type": "tensor<?x16xf32>",
        "element_type": "f32",
        "shape": ["n", 16],
        "layout": None,
        "constant": False,
        "weight": None,
    }
    steps = list(steps_of(graph))
    choose = next(step for step in steps if "choose" in step["nodes"])
    repeat = next(step for step in steps if "repeat" in step["nodes"])
    assert len(choose["bodies"]) == 2 and len(repeat["bodies"]) == 1 and len(repeat["bodies"][0]["arguments"]) == 3
    for body, nodes in zip(choose["bodies"], ({"then_product", "then_sigmoid"}, {"else_product", "else_tanh"})):
        (step,) = body["steps"]
        assert {node.split("/")[-1] for node in step["nodes"]} == nodes and body["results"] == step["outputs"]
        (weight,) = [values[i] for i in step["inputs"] if values[i]["constant"]]
        assert weight["weight"] and weight["layout"] and weight["shape"] == [32, 32]
    # The launches of a kernel are numbered, and each is a step.
    launches = {}
    for step in steps:
        if "kernel" in step:
            assert step["launch"] == launches.get(step["kernel"], 0)
            launches[step["kernel"]] = step["launch"] + 1
    assert launches == {kernel["name"]: kernel["launches"] for kernel in variant["kernels"]}
    # Each value is an argument, a constant, or the output of one step.
    made = [value for step in steps for value in step["outputs"]]
    made += graph["arguments"] + [
        value for step in steps for body in step.get("bodies", []) for value in body["arguments"]
    ]
    assert sorted(made + [i for i, value in enumerate(values) if value["constant"]]) == list(range(len(values)))


def data_of(path):
    text = path.read_text()
    return json.loads(text.split('id="model-graph-data">')[1].split("</script>")[0])


@pytest.mark.parametrize("kind", ["explain", "profile"])
def test_the_page_has_the_graph_as_data(pages, graphs, kind):
    data = data_of(getattr(pages, f"hostile_{kind}"))
    assert [f"{HOSTILE} product 0", "MatMul"] in [node[:2] for node in data["nodes"]]
    control = data_of(getattr(graphs, f"control_{kind}"))
    (graph,) = control["graphs"]
    steps = graph["program"]["s"]
    assert [body["t"] for step in steps for body in step.get("b", [])] == ["then", "else", "body, for each step"]
    kernels = [step for step in steps if "k" in step]
    assert kernels and all(step["m"][1] > 0 for step in kernels)
    assert control["metrics"][0][0] == ("Lower bound of the time" if kind == "explain" else "Time")
    if kind == "profile":
        assert all(step["m"][0] > 0 for step in kernels)


def test_a_page_with_a_graph_is_small(graphs):
    assert graphs.control_explain.stat().st_size < 250_000
    assert graphs.large_explain.stat().st_size < 3_500_000


def test_a_page_without_a_graph_has_no_script_for_it(pages, tmp_path):
    """A report of quantization and the page of a library do not contain the layout library."""
    assert "dagre" not in pages.many_report.read_text()
    hewn("compile", pages.folder / "many.onnx", "-o", tmp_path / "many.so")
    hewn("profile", tmp_path / "many.so", "--seconds", 0, "--dim", "rows=4", "--html", tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert "dagre" not in text and "does not contain the graph" in text
    assert "graphlib" in pages.many_explain.read_text() and "Chris Pettitt" in pages.many_explain.read_text()


def test_the_graph_has_names_for_assistive_technology(pages):
    page = read(pages, "many", "explain")
    inside = [(tag, attributes) for tag, attributes in page.elements]
    (canvas,) = [attributes for tag, attributes in inside if tag == "canvas"]
    assert canvas["tabindex"] == "0" and canvas["aria-label"] and canvas["aria-describedby"] in page.ids
    labels = {attributes["for"] for tag, attributes in inside if tag == "label"}
    assert {"graph-search", "graph-color"} <= labels
    assert all(
        attributes.get("aria-label") for tag, attributes in inside if tag == "button" and "data-do" in attributes
    )


def open_graph(chromium, path, width=1440, **more):
    chromium.open(path, width, **more)
    chromium.until(f"{GRAPH}?.isReady() === true")
    chromium.run("document.getElementById('graph').scrollIntoView()")


def middle_of(chromium, word):
    box = chromium.run(f"{GRAPH}.rectangleOf({ITEM.replace('WORD', word)})")
    return box["left"] + box["width"] / 2, box["top"] + min(box["height"], 30) / 2


def selected(chromium):
    return chromium.run(f"{GRAPH}.selected?.title ?? null")


def search_for(chromium, text):
    chromium.run("document.querySelector('#model-graph canvas').focus()")
    chromium.key("/")
    assert chromium.run("document.activeElement.id") == "graph-search"
    chromium.call("Input.insertText", text=text)


@needs_browser
@pytest.mark.parametrize("kind", ["explain", "profile"])
def test_a_click_shows_the_kernel(graphs, chromium, kind):
    open_graph(chromium, getattr(graphs, f"control_{kind}"))
    assert chromium.run(f"{PANEL}.hidden")
    chromium.click(*middle_of(chromium, "matmul first"))
    assert selected(chromium) == "MatMul + Relu"
    text = chromium.run(f"{PANEL}.innerText")
    for part in (
        "matmul_relu",
        "MatMul first",
        "Relu relu",
        "Schedule",
        "#plan.contract",
        "FLOP per launch",
        "Remarks",
        "w: 16×32",
    ):
        assert part in text, part
    for part in ("Time of all launches", "Of its roof") if kind == "profile" else ("Lower bound of the time", "Roof"):
        assert part in text, part
    told = chromium.run("document.getElementById('graph-told').textContent")
    assert told.startswith("MatMul + Relu, matmul_relu, ") and told.endswith("s")
    assert chromium.run(OVERFLOW) == []
    for dark in False, True:
        chromium.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        assert chromium.run(CONTRAST)["found"] == []
    chromium.click(*middle_of(chromium, "reducesum sum"))
    assert selected(chromium) == "ReduceSum + Greater"
    chromium.run(f"[...{PANEL}.querySelectorAll('button.link')].find(b => b.textContent.startsWith('If')).click()")
    assert selected(chromium) == "If" and "choose" in chromium.run(f"{PANEL}.innerText")
    chromium.run(f"{PANEL}.querySelector('.close').click()")
    assert selected(chromium) is None and chromium.run(f"{PANEL}.hidden")
    assert chromium.complaints() == []


@needs_browser
def test_nodes_are_shown_inside_of_their_kernel(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    item = ITEM.replace("WORD", "matmul first")
    before = chromium.run(f"{item}.height")
    x, y = middle_of(chromium, "matmul first")
    chromium.click(x, y)
    chromium.key("e")
    nodes = chromium.run(f"{item}.visibleFlows().flatMap(flow => flow.items).map(node => [node.title, node.sub])")
    assert nodes == [["MatMul", "first"], ["Relu", "relu"]]
    assert chromium.run(f"{item}.inner[0].edges.map(edge => [edge.from.sub, edge.to.sub])") == [["first", "relu"]]
    assert chromium.run(f"{item}.height") > before + 60
    # The kernel stays where it was, and contains its nodes.
    assert middle_of(chromium, "matmul first")[1] == pytest.approx(y, abs=1)
    box, inner = (chromium.run(f"{GRAPH}.rectangleOf({one})") for one in (item, f"{item}.inner[0].items[1]"))
    assert box["left"] < inner["left"] and inner["left"] + inner["width"] < box["left"] + box["width"]
    assert box["top"] < inner["top"] and inner["top"] + inner["height"] < box["top"] + box["height"]
    chromium.click(inner["left"] + inner["width"] / 2, inner["top"] + inner["height"] / 2)
    assert selected(chromium) == "Relu" and "Fused into" in chromium.run(f"{PANEL}.innerText")
    chromium.key("e")
    assert chromium.run(f"{item}.height") == before and selected(chromium) == "MatMul + Relu"
    assert chromium.complaints() == []


@needs_browser
def test_search_finds_nodes_ops_and_kernels(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    status = "document.getElementById('graph-count').textContent"
    search_for(chromium, "Tanh")
    assert chromium.run(status) == "2 matches"
    found = []
    for number in (1, 2, 1):
        chromium.key("Enter")
        assert chromium.run(status) == f"{number} of 2"
        found.append(chromium.run(f"{GRAPH}.selected.nodes.map(n => document.getElementById('model-graph-data') && n)"))
        assert "Tanh" in chromium.run(f"{PANEL}.querySelector('mark').textContent")
    assert found[0] == found[2] != found[1]
    chromium.key("Escape")
    assert chromium.run("document.activeElement.tagName") == "CANVAS" and chromium.run(status) == ""
    for text, title in (("is_positive", "ReduceSum + Greater"), ("matmul_sigmoid", "MatMul + Sigmoid")):
        search_for(chromium, text)
        chromium.key("Enter")
        assert selected(chromium) == title
        chromium.key("Escape")
    search_for(chromium, "no such node")
    assert chromium.run(status) == "0 matches"
    assert chromium.complaints() == []


@needs_browser
def test_search_opens_the_body_of_a_loop(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    search_for(chromium, "repeat")
    chromium.key("Enter")
    chromium.key("Escape")
    chromium.key("e")
    assert chromium.run(f"{GRAPH}.selected.isOpen") is False
    search_for(chromium, "loop_tanh")
    chromium.key("Enter")
    assert selected(chromium) == "MatMul + Tanh" and chromium.run(f"{GRAPH}.selected.flow.owner.isOpen") is True


@needs_browser
def test_keys_walk_zoom_and_close(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    chromium.run("document.querySelector('#model-graph canvas').focus()")
    walked = []
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        chromium.key(key)
        walked.append(selected(chromium))
    assert walked == ["x", "MatMul + Relu", "ReduceSum + Greater", "If", "ReduceSum + Greater"]
    scale = chromium.run(f"{GRAPH}.view.scale")
    chromium.key("+")
    assert chromium.run(f"{GRAPH}.view.scale") == pytest.approx(1.25 * scale)
    chromium.key("-")
    assert chromium.run(f"{GRAPH}.view.scale") == pytest.approx(scale)
    chromium.key("Escape")
    assert selected(chromium) is None
    # Fits all of the graph into the canvas.
    chromium.key("0")
    boxes = chromium.run(f"{GRAPH}.model.flow.items.map(item => {GRAPH}.rectangleOf(item))")
    canvas = chromium.run(
        "(() => { const r = document.querySelector('#model-graph canvas').getBoundingClientRect(); return {left: r.left, top: r.top, right: r.right, bottom: r.bottom}; })()"
    )
    for box in boxes:
        assert canvas["left"] <= box["left"] and box["left"] + box["width"] <= canvas["right"]
        assert canvas["top"] <= box["top"] and box["top"] + box["height"] <= canvas["bottom"]
    # Boxes of a flow do not overlap.
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert (
                a["left"] >= b["left"] + b["width"]
                or b["left"] >= a["left"] + a["width"]
                or a["top"] >= b["top"] + b["height"]
                or b["top"] >= a["top"] + a["height"]
            )


@needs_browser
def test_the_mouse_moves_and_zooms(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    x, y = middle_of(chromium, "matmul first")
    view = chromium.run(f"({{...{GRAPH}.view}})")
    chromium.mouse("mousePressed", x, y, button="left", clickCount=1)
    for i in range(1, 6):
        chromium.mouse("mouseMoved", x + 10 * i, y + 4 * i, button="left", buttons=1)
    chromium.mouse("mouseReleased", x + 50, y + 20, button="left", clickCount=1)
    moved = chromium.run(f"({{...{GRAPH}.view}})")
    assert abs(moved["x"] - view["x"] - 50) < 12 and abs(moved["y"] - view["y"] - 20) < 6
    assert selected(chromium) is None, "a drag is no click"
    # The wheel scrolls the page, and zooms after a click into the graph.
    chromium.run("document.activeElement.blur()")
    chromium.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    assert chromium.run(f"{GRAPH}.view.scale") == moved["scale"]
    chromium.run("document.getElementById('graph').scrollIntoView()")
    chromium.click(*middle_of(chromium, "matmul first"))
    chromium.mouse("mouseWheel", *middle_of(chromium, "matmul first"), deltaX=0, deltaY=-100)
    chromium.until(f"{GRAPH}.view.scale > {moved['scale']} * 1.1")


@needs_browser
def test_two_fingers_zoom_and_one_moves(graphs, chromium):
    open_graph(chromium, graphs.control_explain, 400)
    x, y = middle_of(chromium, "matmul first")

    def touch(kind, *points):
        touches = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        chromium.call("Input.dispatchTouchEvent", type=kind, touchPoints=touches)

    scale = chromium.run(f"{GRAPH}.view.scale")
    touch("touchStart", (x - 20, y), (x + 20, y))
    for spread in (30, 40):
        touch("touchMove", (x - spread, y), (x + spread, y))
    touch("touchEnd")
    assert chromium.run(f"{GRAPH}.view.scale") > 1.5 * scale
    before = middle_of(chromium, "matmul first")
    touch("touchStart", before)
    for step in (10, 20, 30, 40):
        touch("touchMove", (before[0], before[1] + step))
    touch("touchEnd")
    after = middle_of(chromium, "matmul first")
    assert 20 < after[1] - before[1] < 60 and abs(after[0] - before[0]) < 2
    assert selected(chromium) is None and chromium.complaints() == []


@needs_browser
def test_readers_can_turn_motion_off(graphs, chromium):
    open_graph(chromium, graphs.control_explain)
    chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    there = chromium.run(
        f"""(() => {{
            const search = document.getElementById('graph-search');
            search.value = 'residual';
            search.dispatchEvent(new Event('input'));
            document.querySelector('[data-do=next]').click();
            const box = {GRAPH}.rectangleOf({GRAPH}.selected), canvas = document.querySelector('#model-graph canvas').getBoundingClientRect();
            return Math.abs(box.left + box.width / 2 - canvas.left - canvas.width / 2);
        }})()"""
    )
    assert there < 2


@needs_browser
def test_each_variant_has_a_graph(graphs, chromium, tmp_path):
    done = hewn("explain", graphs.model, "--target", "x86-64-v3,x86-64-v2", "--html", tmp_path / "p.html")
    assert done.returncode == 0, done.stderr
    open_graph(chromium, tmp_path / "p.html")
    options = chromium.run("[...document.querySelectorAll('#graph-variant option')].map(o => o.textContent)")
    assert options == ["x86-64-v3", "x86-64-v2"]
    schedules = []
    for i in range(2):
        chromium.run(
            f"(() => {{ const s = document.getElementById('graph-variant'); s.selectedIndex = {i}; s.dispatchEvent(new Event('change')); }})()"
        )
        chromium.until(f"{GRAPH}.isReady()")
        chromium.click(*middle_of(chromium, "matmul first"))
        schedules.append(chromium.run(f"{PANEL}.querySelector('code').textContent"))
    assert "lanes = 8" in schedules[0] and "lanes = 4" in schedules[1]
    assert chromium.complaints() == []


@needs_browser
def test_colors_follow_the_chosen_figure(graphs, chromium):
    open_graph(chromium, graphs.control_profile)
    legend = "document.querySelector('#model-graph .legend').innerText"
    seen = []
    for i in range(3):
        chromium.run(
            f"(() => {{ const s = document.getElementById('graph-color'); s.selectedIndex = {i}; s.dispatchEvent(new Event('change')); }})()"
        )
        seen.append(chromium.run(legend))
    assert "s" in seen[0].split()[3] and "B" in seen[1] and "FLOP" in seen[2] and len(set(seen)) == 3
    assert all(text.count("up to") == 5 for text in seen)


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1600])
def test_the_graph_fits_the_window(graphs, chromium, width, dark):
    open_graph(chromium, graphs.control_explain, width, dark=dark)
    chromium.click(*middle_of(chromium, "matmul first"))
    assert selected(chromium) == "MatMul + Relu"
    assert chromium.run("document.documentElement.scrollWidth") <= width and chromium.run(OVERFLOW) == []
    # The canvas shows boxes: not all of its pixels have one color.
    colors = """(() => { const c = document.querySelector('#model-graph canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return [seen.size, d[0]]; })()"""
    count, ground = chromium.run(colors)
    assert count > 50 and (ground < 64) == dark
    chromium.run("document.querySelector('[data-do=full]').click()")
    box = chromium.run(
        "(() => { const r = document.getElementById('model-graph').getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })()"
    )
    assert box == [0, 0, width, 900] and chromium.run(OVERFLOW) == []
    chromium.run("document.querySelector('#model-graph canvas').focus()")
    chromium.key("Escape")
    chromium.key("Escape")
    assert not chromium.run("document.getElementById('model-graph').classList.contains('full')")
    assert chromium.complaints() == []


@needs_browser
def test_hostile_names_are_text_in_the_panel(pages, chromium):
    open_graph(chromium, pages.hostile_explain)
    search_for(chromium, "product 1")
    chromium.key("Enter")
    assert f"{HOSTILE} product 1" in chromium.run(f"{PANEL}.innerText")
    assert chromium.run("document.images.length") == 0 and chromium.complaints() == []


@needs_browser
def test_five_thousand_nodes_are_fluid(graphs, chromium):
    chromium.open(graphs.large_explain, 1600)
    # The start of the graph is visible before the layout ends, and no task blocks the page.
    chromium.until(f"{GRAPH}?.model.flow.placed.length > 0")
    chromium.until(f"{GRAPH}.isReady()", 300)
    assert chromium.run(f"{GRAPH}.model.items.reduce((sum, item) => sum + item.nodes.length, 0)") == 5000
    pan = f"""(async () => {{
        const graph = {GRAPH}, frames = [], paints = [], median = list => list.sort((a, b) => a - b)[30];
        for (let i = 0, last = performance.now(); i < 60; ++i) {{
            graph.view.y -= 25;
            const begin = performance.now();
            graph.paint();
            paints.push(performance.now() - begin);
            await new Promise(requestAnimationFrame);
            frames.push(performance.now() - last);
            last = performance.now();
        }}
        return [median(frames), median(paints)];
    }})()"""
    chromium.run("document.getElementById('graph').scrollIntoView()")
    for action in (None, "fit", "open", "fit"):
        if action:
            chromium.run(f"document.querySelector('[data-do={action}]').click()")
            chromium.until(f"{GRAPH}.isReady()", 300)
        frame, paint = chromium.run(pan)
        assert frame < MEDIAN_FRAME and paint < MEDIAN_PAINT, (action, frame, paint)
    assert chromium.run(f"{GRAPH}.model.items.filter(item => item.isOpen).length") == 3000
    search_for(chromium, "node residual 777")
    chromium.key("Enter")
    assert chromium.run("document.getElementById('graph-count').textContent") == "1 of 1"
    assert "Add node residual 777" in chromium.run(f"{PANEL}.innerText")
    assert chromium.complaints() == []
